/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The library for JavaScript, over reckon.js and reckon.wasm: in node, in a page or in a worker.
 *
 *     const reckon = await openReckon(createReckon, bytes);
 *     reckon.ask("plan", {model: "llama3-70b", system: "h100", accelerators: 64}).strategies[0]
 *
 * Options have the names of the command line, with '_' for '-' where that is easier.  Nothing is read
 * from a network or a disk: pass documents as objects, or as files along with the question.
 */

/* Invalid input; the message says how to correct it. */
class ReckonError extends Error {}
ReckonError.prototype.name = "ReckonError";

/* `createReckon`: of reckon.js; `wasmBinary`: the bytes of reckon.wasm. */
async function openReckon(createReckon, wasmBinary) {
  const module = await createReckon({wasmBinary, taken: {}, print() {}, printErr() {}});

  /* Texts in the memory of the library while `use` runs; null stays NULL. */
  function withTexts(texts, use) {
    const places = texts.map(text => {
      if (text === null) { return 0; }
      const size = module.lengthBytesUTF8(text) + 1, place = module._malloc(size);
      module.stringToUTF8(text, place, size);
      return place;
    });
    try { return use(...places); } finally { places.forEach(place => module._free(place)); }
  }

  function taken(place) {
    const text = place ? module.UTF8ToString(place) : null;
    module._free(place);
    return text;
  }

  function readFile(path) {
    try { return module.FS.readFile(path, {encoding: "utf8"}); } catch { return null; }
  }

  function remove(path) {
    try { module.FS.unlink(path); } catch { /* it was never written */ }
  }

  /*
   * Runs a command.  `files`: name and text of files that options may name; `progress(what, done,
   * total)`, where total is 0 if it is not known, stops a search by returning false.  Returns the
   * text that the command wrote, or the text of the file `output`; its remarks; and whether it found
   * an answer.  Throws ReckonError.
   */
  function run(command, options = {}, {files = {}, progress = () => true} = {}) {
    const name = key => typeof options[key] === "string" ? options[key] : null;
    const room = 2048, message = module._malloc(room);
    module.taken = {text: [], remarks: [], progress: (...at) => progress(...at) === false ? 0 : 1};
    Object.entries(files).forEach(([path, text]) => module.FS.writeFile(path, text));
    try {
      const status = withTexts(
        [command, name("method"), name("model"), name("system"), JSON.stringify(options)],
        (...places) => module._reckon_run(...places, message, room));
      if (status === 2) { throw new ReckonError(module.UTF8ToString(message)); }
      const decoder = new TextDecoder();
      const written = module.taken.text.map(piece => decoder.decode(piece, {stream: true})).join("");
      const text = options.output ? readFile(options.output) : written;
      return {text, remarks: module.taken.remarks, found: status === 0};
    } finally {
      module._free(message);
      [...Object.keys(files), ...(options.output ? [options.output] : [])].forEach(remove);
    }
  }

  return {
    run,
    version: module.UTF8ToString(module._reckon_version()),

    /* The answer of a command as an object. */
    ask(command, options = {}, extra) {
      return JSON.parse(run(command, {...options, json: true}, extra).text);
    },

    /* The JSON Schema of the options of a command. */
    schema(command) {
      const text = withTexts([command], place => taken(module._reckon_schema(place)));
      if (!text) { throw new ReckonError(`there is no command ${command}`); }
      return JSON.parse(text);
    },

    /* The names of the catalogue of a kind: "models", "systems", "accelerators", "stacks"... */
    catalogue(kind) {
      const names = [];
      for (let i = 0, entry; (entry = taken(module._reckon_entry(i))) !== null; i++) {
        if (entry.startsWith(`${kind}/`) && !entry.slice(kind.length + 1).includes("/")) {
          names.push(entry.slice(kind.length + 1));
        }
      }
      return names;
    },
  };
}

if (typeof module === "object" && module.exports) {
  module.exports = {openReckon, ReckonError};
}
