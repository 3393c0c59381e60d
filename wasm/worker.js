/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The worker of the explorer; pages/build.js puts reckon.js and library.js before it.  The first
 * message is {id, bytes}, gzipped; the others are {id, command, options, files}.  Answers come in
 * order: {id, text, remarks, found} or {id, error}.
 */
let opened;

async function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function catalogues(reckon) {
  return Object.fromEntries(["models", "systems", "accelerators"].map(kind =>
    [kind, reckon.catalogue(kind)]));
}

async function answer({bytes, id, command, options, files}) {
  if (bytes) {
    opened = unzip(bytes).then(wasm => openReckon(createReckon, wasm));
    return {id, version: (await opened).version, ...catalogues(await opened)};
  }
  return {id, ...(await opened).run(command, options, {files})};
}

onmessage = async event => {
  try {
    postMessage(await answer(event.data));
  } catch (error) {
    const broken = !(error instanceof ReckonError);
    postMessage({id: event.data.id, broken, error: broken ? `reckon stopped: ${error}` : error.message});
  }
};
