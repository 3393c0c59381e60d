#!/usr/bin/env node
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The question of the explorer (pages/question.js), with answers of the program: question.js RECKON
 *
 * The options of each strategy of a plan give the same strategy; an address gives back its question; a
 * changed machine differs only in the change.
 */
const assert = require("assert");
const {execFileSync} = require("child_process");
const q = require("../../pages/question.js");

const program = process.argv[2];

function ask(command, options) {
  const words = Object.entries(options).flatMap(([name, value]) => value === true ? [`--${name}`]
    : name === "name" ? [value] : [`--${name}`, typeof value === "object" ? JSON.stringify(value) : String(value)]);
  return JSON.parse(execFileSync(program, [command, ...words, "--json"],
    {encoding: "utf8", maxBuffer: 1 << 28}));
}

function checkStrategies() {
  let count = 0;
  for (const options of [{model: "llama3-70b", system: "h100", accelerators: 1024},
    {model: "deepseek-v3", system: "dgx-h100-superpod", accelerators: 512},
    {model: "llama3-8b", system: "tpu-v5p", accelerators: 64},
    {model: "qwen3-30b-a3b", system: "b200", accelerators: 32},
    {model: "llama3-70b", system: "h100", accelerators: 64, framework: "torchtitan"},
    {model: "llama3-8b", system: "a100", accelerators: 8, framework: "deepspeed"},
    {model: "gpt3-175b", system: "mi300x", accelerators: 256}]) {
    for (const {label, strategy, estimate} of ask("plan", options).strategies) {
      const again = ask("estimate", q.strategyOptions(options, strategy));
      again.strategy.overlap = strategy.overlap; /* of absent groups */
      assert.deepStrictEqual([again.strategy, again.estimate.step_s], [strategy, estimate.step_s],
        `${options.model}, ${label}`);
      count++;
    }
  }
  assert(count > 20);
  return count;
}

function checkAddresses() {
  const document = JSON.stringify({name: "a&b=c#d é", tiers: []});
  const question = {...q.newQuestion(), model: document, batch: "512", more: "tp=8 recompute=none",
    machines: [{system: "h100-sxm", n: "64", net: "0.5"}, {system: document, n: "8", domain: "16"}]};
  assert.deepStrictEqual(q.questionOf(q.hashOf(question)), question);
  assert.deepStrictEqual(q.questionOf(""), q.newQuestion());
  const launch = q.questionOf(q.hashOf({...q.newQuestion(), model: "", launch: "torchrun\n"}));
  assert.deepStrictEqual([launch.model, launch.launch], ["", "torchrun\n"]);
}

async function checkMachines() {
  const show = async name => ask("show", {name});
  for (const system of ["h100-sxm", "dgx-h100-superpod", "gb200-nvl72-pod", "tpu-v5p", "mi300x"]) {
    const job = {model: "llama3-8b", accelerators: 64, tp: 2, "global-batch": 256};
    const step = async machine => ask("estimate", {...job, system: await q.changedSystem(
      {system, n: "64", ...machine}, show)}).estimate;
    const usual = ask("estimate", {...job, system}).estimate;
    const same = await step({net: "1"});
    assert.strictEqual(same.step_s, usual.step_s, system);
    assert((await step({rate: "2"})).step_s < usual.step_s, `${system}: faster memory`);
    assert((await step({net: "0.25", link: "0.25"})).step_s > usual.step_s, `${system}: slower links`);
    const larger = await step({hbm: "2"});
    assert(Math.abs(larger.memory_usable_bytes / usual.memory_usable_bytes - 2) < 1e-9, system);
  }
  const wide = await q.changedSystem({system: "dgx-h100-superpod", n: "64", domain: "64"}, show);
  assert.deepStrictEqual([wide.tiers[0].size, wide.accelerator.tiers[0].size], [64, 64]);
  const across = {model: "llama3-70b", accelerators: 64, tp: 16, "global-batch": 256};
  assert(ask("estimate", {...across, system: wide}).estimate.step_s <
    ask("estimate", {...across, system: "dgx-h100-superpod"}).estimate.step_s, "a wider domain");
}

function checkKinds() {
  assert.strictEqual(q.kindOf('{"architectures": ["LlamaForCausalLM"], "hidden_size": 1}'), "model");
  assert.strictEqual(q.kindOf(JSON.stringify(ask("show", {name: "llama3-8b"}))), "model");
  assert.strictEqual(q.kindOf(JSON.stringify(ask("show", {name: "h100-sxm"}))), "system");
  assert.strictEqual(q.kindOf(JSON.stringify(ask("show", {name: "frontier"}))), "system");
  assert.strictEqual(q.kindOf('{"train_batch_size": 8}'), "launch");
  assert.strictEqual(q.kindOf("null"), "launch");
  assert.strictEqual(q.kindOf("torchrun pretrain_gpt.py --num-layers 2"), "launch");
}

checkAddresses();
checkKinds();
const strategies = checkStrategies();
checkMachines().then(() => console.log(`${strategies} strategies`));
