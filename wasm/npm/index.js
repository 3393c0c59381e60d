/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* In node, open() reads reckon.wasm from this folder.  In a page or a worker: open(bytes). */
const {openReckon, ReckonError} = require("./library.js");
const createReckon = require("./reckon.js");

async function open(bytes) {
  return openReckon(createReckon, bytes || await require("fs").promises.readFile(`${__dirname}/reckon.wasm`));
}

module.exports = {open, ReckonError};
