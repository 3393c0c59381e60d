/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question of the explorer and its machines, as the address of the page and as options of the
 * library.  Nothing here knows the elements of the page.
 */

/* Changes to a machine: factors of its numbers, but the size of a domain is a number itself. */
const CHANGES = [
  {key: "net", label: "Network bandwidth"},
  {key: "link", label: "Bandwidth within a domain (NVLink)"},
  {key: "domain", label: "Accelerators per domain (NVLink)", sizes: true},
  {key: "hbm", label: "Memory capacity (HBM)"},
  {key: "rate", label: "Memory bandwidth (HBM)"},
];

/* Fields of the question, passed to the library as texts; "" is its default. */
const FIELDS = ["model", "batch", "seq", "framework", "precision", "tokens", "more"];

const newMachine = (system = "h100-sxm", n = "1024") => ({system, n});
const newQuestion = () => ({...Object.fromEntries(FIELDS.map(key => [key, ""])), model: "llama3-70b",
  launch: "", machines: [newMachine()]});

const isDocument = text => text.trim().startsWith("{");

/* ---- the address ----------------------------------------------------------------------------- */

function hashOf(question) {
  const pairs = [...FIELDS, "launch"].map(key => [key, question[key]]);
  question.machines.forEach((machine, i) => ["system", "n", ...CHANGES.map(c => c.key)].forEach(key =>
    pairs.push([i ? `${key}.${i + 1}` : key, machine[key]])));
  return new URLSearchParams(pairs.filter(([, value]) => value)).toString();
}

/* The question of an address; fields that it lacks have the values of a new one. */
function questionOf(hash) {
  const given = new URLSearchParams(hash), question = newQuestion();
  [...FIELDS, "launch"].forEach(key => { question[key] = given.get(key) || question[key]; });
  if (question.launch && !given.get("model")) { question.model = ""; }
  for (let i = 0; i === 0 || (i < 3 && given.get(`system.${i + 1}`)); i++) {
    const machine = newMachine();
    ["system", "n", ...CHANGES.map(c => c.key)].forEach(key => {
      const value = given.get(i ? `${key}.${i + 1}` : key);
      if (value) { machine[key] = value; }
    });
    question.machines[i] = machine;
  }
  return question;
}

/* ---- options of the library ------------------------------------------------------------------ */

const isChanged = machine => CHANGES.some(({key}) => Number(machine[key]) > 0);

/* A copy of an object with a number of it multiplied; what it lacks stays absent. */
function scaled(object, names, factor) {
  const copy = {...object};
  names.filter(name => typeof copy[name] === "number").forEach(name => { copy[name] *= factor; });
  return copy;
}

/*
 * The document of a machine with its changes.  `show` returns documents of the catalogue by name; a
 * tier of a cluster that is "as" one of the accelerator inherits the members that it lacks.
 */
async function changedSystem(machine, show) {
  const factor = key => Number(machine[key]) || 1;
  const document = isDocument(machine.system) ? JSON.parse(machine.system) : await show(machine.system);
  const inner = typeof document.accelerator === "string" ? await show(document.accelerator)
    : document.accelerator || document;
  const kinds = Object.fromEntries((inner.tiers || []).map(tier => [tier.name, tier.kind]));
  const tiers = list => list && list.map((tier, i) => {
    const outer = (tier.kind || kinds[tier.as]) === "fabric" || i > 0;
    const own = scaled(tier, ["bandwidth_GBps"], factor(outer ? "net" : "link"));
    return i === 0 && machine.domain && !outer ? {...own, size: Number(machine.domain)} : own;
  });
  const memory = scaled(scaled(inner.memory, ["capacity_GB", "capacity_GiB", "usable_GiB"],
    factor("hbm")), ["bandwidth_GBps"], factor("rate"));
  const changed = {...inner, memory, tiers: tiers(inner.tiers)};
  return inner === document ? changed
    : {...document, accelerator: changed, tiers: tiers(document.tiers)};
}

/* Words such as "tp=8 recompute=none" as options. */
function moreOptions(text) {
  return Object.fromEntries(text.split(/\s+/).filter(Boolean).map(word => {
    const [name, ...value] = word.replace(/^--/, "").split("=");
    return [name, value.length ? value.join("=") : true];
  }));
}

/* The options of a question on one of its machines; `system` is its name or its document. */
function optionsOf(question, machine, system) {
  const options = {system};
  if (question.model) {
    options.model = isDocument(question.model) ? JSON.parse(question.model) : question.model;
  }
  if (question.launch) { options.from = "/launch"; }
  if (machine.n) { options.accelerators = machine.n; }
  if (question.batch) { options["global-batch"] = question.batch; }
  ["seq", "framework", "precision"].filter(key => question[key])
    .forEach(key => { options[key] = question[key]; });
  return {...options, ...moreOptions(question.more)};
}

/* Members of a strategy in an answer that are options, where these have another name. */
const STRATEGY_OPTIONS = {tp: "tp", cp: "cp", cp_kind: "cp-kind", pp: "pp", vp: "vp", ep: "ep",
  etp: "etp", zero: "zero", hsdp_replicas: "hsdp", micro_batch: "micro-batch",
  global_batch: "global-batch", seq_tokens: "seq", schedule: "schedule", recompute: "recompute",
  recompute_modules: "recompute-modules", recompute_layers: "recompute-layers",
  rank_order: "order", offload: "offload", first_stage_layers: "first-stage-layers",
  last_stage_layers: "last-stage-layers", count_embedding: "count-embedding",
  count_head: "count-head", mtp_before_head: "mtp-before-head"};

/* The options of a strategy of the answer to `options`. */
function strategyOptions(options, strategy) {
  const own = Object.entries(STRATEGY_OPTIONS).map(([field, option]) => [option, strategy[field]])
    .filter(([option, value]) => value !== false && value !== undefined && (value !== 0 || option === "zero") &&
      !(value === "none" && ["recompute-modules", "cp-kind"].includes(option)))
    .map(([option, value]) => [option, typeof value === "string" ? value.replace(/\+/g, ",") : value]);
  const flags = strategy.tp > 1 ? {[strategy.sp ? "sequence-parallel" : "no-sp"]: true} : {};
  return {...options, ...Object.fromEntries(own), ...flags};
}

/* ---- words ----------------------------------------------------------------------------------- */

function nameOf(document) {
  if (!isDocument(document)) { return document; }
  try { return JSON.parse(document).name || "own document"; } catch { return "own document"; }
}

function machineName(machine) {
  const changes = CHANGES.filter(({key}) => machine[key])
    .map(({key, sizes}) => `${key} ${machine[key]}${sizes ? "" : " x"}`);
  return `${machine.n ? `${machine.n} × ` : ""}${nameOf(machine.system)}` +
    (changes.length ? `, ${changes.join(", ")}` : "");
}

/* The kind of a dropped file: a "system", a "model" or a "launch". */
function kindOf(text) {
  let document;
  try { document = JSON.parse(text); } catch { return "launch"; }
  const has = (...names) => names.some(name => document?.[name] !== undefined);
  if (has("tiers", "accelerator", "memory")) { return "system"; }
  return has("hidden_size", "n_embd", "d_model", "hidden", "layers", "text_config", "architectures")
    ? "model" : "launch";
}

if (typeof module === "object" && module.exports) {
  module.exports = {changedSystem, hashOf, isChanged, kindOf, machineName, newQuestion, optionsOf,
    questionOf, strategyOptions};
}
