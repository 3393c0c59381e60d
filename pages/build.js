#!/usr/bin/env node
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * Puts the explorer together, in one file that opens without a server:
 *
 *     build.js WASM OUTPUT      WASM: the folder of reckon.js and reckon.wasm (wasm/build.sh)
 *
 * Its look and what shows answers are those of the report (report.html).
 */
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

const [, , wasm, output] = process.argv;
const read = (...names) => fs.readFileSync(path.join(__dirname, ...names), "utf8");
const report = read("report.html");

/* The content of an element of the report. */
function contentOf(begin, end) {
  const from = report.indexOf(begin) + begin.length, to = report.indexOf(end, from);
  if (from < begin.length || to < 0) { throw new Error(`report.html has no ${begin}`); }
  return report.slice(from, to).trim();
}

const parts = {
  style: contentOf("<style>", "</style>"),
  parts: contentOf('<script id="parts">', "</script>"),
  explorer: read("question.js") + read("explorer.js"),
  worker: [fs.readFileSync(path.join(wasm, "reckon.js"), "utf8"),
    ...["library.js", "worker.js"].map(name => read("..", "wasm", name))].join("\n"),
  wasm: zlib.gzipSync(fs.readFileSync(path.join(wasm, "reckon.wasm")), {level: 9}).toString("base64"),
};
for (const [name, text] of Object.entries(parts)) {
  if (/<\/script/i.test(text)) { throw new Error(`${name} would end its element`); }
}
fs.writeFileSync(output, read("explorer.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]));
