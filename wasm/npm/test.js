#!/usr/bin/env node
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The package as node sees it, installed in FOLDER: test.js FOLDER */
const assert = require("assert");
const path = require("path");
const {createRequire} = require("module");

const {open, ReckonError} = createRequire(path.join(path.resolve(process.argv[2]), "x.js"))("reckon-llm");
const job = {model: "llama3-8b", system: "h100", accelerators: 8, global_batch: 64};

async function main() {
  const reckon = await open();
  assert.match(reckon.version, /^\d+\.\d+\.\d+$/);
  assert(reckon.ask("plan", job).strategies[0].estimate.step_s > 0);
  assert(reckon.catalogue("models").includes("llama3-70b"));
  assert("global_batch" in reckon.schema("plan").properties);
  assert.match(reckon.run("timeline", {...job, output: "/step.svg"}).text, /^<svg.*<\/svg>\n$/s);
  assert.match(reckon.run("plan", {...job, output: "/plan.html"}).text, /^<!doctype html>/);
  assert.throws(() => reckon.ask("plan", {...job, model: "lama3-8b"}), ReckonError);
  assert.throws(() => reckon.schema("nothing"), ReckonError);
  const own = reckon.ask("show", {name: "llama3-8b"});
  assert.strictEqual(reckon.ask("plan", {...job, model: own}).strategies[0].estimate.step_s,
    reckon.ask("plan", job).strategies[0].estimate.step_s);
  const launch = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 " +
    "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 " +
    "--global-batch-size 64 --tensor-model-parallel-size 2 --bf16 --swiglu";
  const given = reckon.ask("estimate", {from: "/run.sh", system: "h100"}, {files: {"/run.sh": launch}});
  assert.strictEqual(given.strategy.tp, 2);
  for (const text of [launch, `#!/bin/sh\n${launch}\n`]) {
    assert.strictEqual(reckon.ask("estimate", {from: text, system: "h100"}).estimate.step_s, given.estimate.step_s);
  }
  const again = JSON.parse(reckon.run("estimate", {from: launch, system: "h100", output: "/plan.html"}).text
    .match(/id="question">([^]*?)<\/script>/)[1]);
  assert.deepStrictEqual(again.request, {from: launch, system: "h100"});
  assert.strictEqual(reckon.run("fit", {...job, model: "llama3-70b", json: true}).found, false);
  let told = 0; /* ten times a second, and this search takes seconds unless it is stopped */
  assert.throws(() => reckon.run("plan", {...job, model: "deepseek-v3", accelerators: 1024, exhaustive: true},
    {progress: () => ++told < 3 ? undefined : false}), ReckonError);
  assert.strictEqual(told, 3);
  console.log(`reckon-llm ${reckon.version}: ok`);
}

main();
