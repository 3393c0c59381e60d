#!/usr/bin/env node
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * Asks the WebAssembly build and the program the same questions:
 *
 *     questions.js WASM RECKON              ten questions, whose answers are equal byte for byte,
 *                                           except for the last digits of `run`, which simulates,
 *                                           and of percentiles and risks
 *     questions.js WASM RECKON COUNT SEED   random ones, whose numbers are equal to a relative 1e-12
 *
 * The first plan needs at most 300 ms of processor time.  WASM is the folder of reckon.js and
 * reckon.wasm.  The member "performance" of answers, which differs from run to run, is left out.
 */
const {spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");
const {openReckon, ReckonError} = require("../../wasm/library.js");

const SAME = 1e-12; /* exp, log, erfc and hypot of musl and glibc differ in the last place */

/* Members that these functions give: ends of residual intervals, and the share of runs past one. */
const ROUNDED = /("(?:step_p[19]0_s|memory_p[19]0_bytes|out_of_memory_risk)": )[^\s,}]+/g;

const TEN = [
  ["plan", {model: "llama3-70b", system: "h100", accelerators: 1024}],
  ["plan", {model: "deepseek-v3", system: "dgx-h100-superpod", accelerators: 256}],
  ["plan", {model: "llama3-8b", system: "tpu-v5p", accelerators: 64, framework: "maxtext"}],
  ["plan", {model: "llama3-70b", system: "h100", accelerators: 8}],
  ["estimate", {model: "llama3.1-405b", system: "h100-roce-24k", accelerators: 8192, tp: 8, pp: 16,
    "global-batch": 2048}],
  ["estimate", {model: "qwen3-30b-a3b", system: "b200", accelerators: 32, ep: 8, changes: true}],
  ["fit", {model: "llama3-8b", system: "a100", accelerators: 2}],
  ["run", {model: "llama3-8b", system: "h100", accelerators: 64, tokens: "1T", price: 2}],
  ["comm", {op: "all-reduce", system: "dgx-h100-superpod", ranks: 64}],
  ["explain", {model: "llama3-8b", system: "h100", accelerators: 8, "global-batch": 64}],
];

/* ---- asking ---------------------------------------------------------------------------------- */

const withoutPerformance = text => text.replace(/ *"performance": \{[^}]*\},?\n/, "");

function askProgram(program, command, options) {
  const words = Object.entries(options).filter(([, value]) => value !== false)
    .flatMap(([name, value]) => value === true ? [`--${name}`] : [`--${name}`, String(value)]);
  const {status, stdout, stderr} = spawnSync(program, [command, ...words, "--json"],
    {encoding: "utf8", maxBuffer: 1 << 28});
  if (status === null) { throw new Error(`${program} does not run`); }
  return status === 2 ? {error: stderr.trim().replace(/^reckon \S+: /, "")}
    : {text: withoutPerformance(stdout), found: status === 0};
}

function askLibrary(reckon, command, options) {
  try {
    const {text, found} = reckon.run(command, {...options, json: true});
    return {text: withoutPerformance(text), found};
  } catch (error) {
    if (!(error instanceof ReckonError)) { throw error; }
    return {error: error.message};
  }
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The first difference of two answers; null: none. */
function difference(a, b, at = "") {
  if (typeof a === "number" && typeof b === "number") {
    return Math.abs(a - b) <= SAME * Math.max(Math.abs(a), Math.abs(b)) ? null
      : `${at}: ${a} and ${b}`;
  }
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") {
    return a === b ? null : `${at}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  }
  const keys = Object.keys(a);
  if (keys.join() !== Object.keys(b).join()) { return `${at}: ${keys} and ${Object.keys(b)}`; }
  for (const key of keys) {
    const found = difference(a[key], b[key], `${at}/${key}`);
    if (found) { return found; }
  }
  return null;
}

/* The difference between answers of the program and the library; null: none. */
function compare(program, library, exactly) {
  if (program.error || library.error) {
    return program.error === library.error ? null : `${program.error} | ${library.error}`;
  }
  if (program.found !== library.found) { return "one found an answer, the other did not"; }
  const found = difference(JSON.parse(program.text), JSON.parse(library.text));
  const [one, other] = [program, library].map(({text}) => text.replace(ROUNDED, "$1"));
  return found || (exactly && one !== other ? "their texts differ" : null);
}

/* ---- time ------------------------------------------------------------------------------------- */

const FIRST_PLAN_MS = 300; /* of 70B on 1,024 accelerators, the first question after the start */

/* Processor time of this thread, which other work on the machine does not lengthen; ms. */
function threadTime() {
  const file = `/proc/${process.pid}/task/${process.pid}/schedstat`;
  return fs.existsSync(file) ? Number(fs.readFileSync(file, "utf8").split(" ")[0]) / 1e6 : NaN;
}

/* Whether the first plan is too slow. */
function isSlow(reckon) {
  const began = threadTime();
  askLibrary(reckon, ...TEN[0]);
  const took = threadTime() - began;
  console.log(`first plan: ${took.toFixed(0)} ms of processor time`);
  return took > FIRST_PLAN_MS;
}

/* ---- random questions ------------------------------------------------------------------------ */

/* Numbers from 0 to 1 (mulberry32). */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function* draw(reckon, count, seed) {
  const next = generator(seed), pick = list => list[Math.floor(next() * list.length)];
  const models = reckon.catalogue("models");
  const systems = [...reckon.catalogue("accelerators"), ...reckon.catalogue("systems")];
  const maybe = (share, name, values) => next() < share ? {[name]: pick(values)} : {};
  for (let i = 0; i < count; i++) {
    const command = pick(["plan", "estimate", "estimate", "estimate", "fit", "run"]);
    yield [command, {model: pick(models), system: pick(systems),
      accelerators: pick([8, 16, 32, 64, 128, 256]),
      ...maybe(0.6, "global-batch", [64, 256, 1024]), ...maybe(0.3, "seq", [2048, 8192, 32768]),
      ...maybe(0.5, "tp", [1, 2, 4, 8]), ...maybe(0.4, "pp", [1, 2, 4]),
      ...maybe(0.2, "micro-batch", [1, 2, 4]), ...maybe(0.2, "recompute", ["none", "selective", "full"]),
      ...maybe(0.2, "precision", ["fp8", "fp16", "fp32"]), ...maybe(0.2, "zero", [0, 1, 2, 3]),
      ...maybe(0.2, "framework", ["megatron", "torchtitan", "deepspeed", "huggingface"]),
      ...(command === "run" ? {tokens: pick(["1T", "300B"])} : {})}];
  }
}

async function main([wasm, program, count, seed = "1"]) {
  const reckon = await openReckon(require(path.resolve(wasm, "reckon.js")),
    fs.readFileSync(path.join(wasm, "reckon.wasm")));
  const questions = count ? draw(reckon, Number(count), Number(seed)) : TEN;
  let asked = 0, answered = 0, faults = isSlow(reckon) ? 1 : 0;
  for (const [command, options] of questions) {
    const expected = askProgram(program, command, options);
    const fault = compare(expected, askLibrary(reckon, command, options),
      !count && command !== "run");
    asked++;
    answered += expected.error ? 0 : 1;
    faults += fault ? 1 : 0;
    if (fault) { console.log(`${command} ${JSON.stringify(options)}: ${fault}`); }
  }
  console.log(`${asked} questions, ${answered} answered, ${faults} differ`);
  process.exitCode = faults > 0 || answered < asked / 4 ? 1 : 0;
}

main(process.argv.slice(2));
