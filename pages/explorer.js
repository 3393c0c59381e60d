/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The explorer: the form on the left states the question (question.js), the library answers it in a
 * worker, and the script of the report shows the answer.
 */

/* ---- the library in its worker --------------------------------------------------------------- */

const textOf = id => document.getElementById(id).textContent;

/* A newer question ends a search, and its worker, that has run for longer than this. */
const PATIENCE_MS = 400;

const engine = {
  asked: new Map(),
  count: 0,

  start() {
    const bytes = Uint8Array.from(atob(textOf("wasm")), c => c.charCodeAt(0));
    this.worker = new Worker(URL.createObjectURL(new Blob([textOf("worker")], {type: "text/javascript"})));
    this.worker.onmessage = ({data}) => {
      const {resolve, reject} = this.asked.get(data.id);
      this.asked.delete(data.id);
      if (data.broken) { this.restart(); }
      if (data.error) { reject(new Error(data.error)); } else { resolve(data); }
    };
    return this.send({bytes});
  },

  restart() {
    this.worker.terminate();
    this.asked.forEach(({reject}) => reject(new Error("stopped")));
    this.asked.clear();
    this.start().catch(() => {});
  },

  /* Makes way for a new question. */
  interrupt() {
    const since = Math.min(...[...this.asked.values()].map(one => one.since));
    if (performance.now() - since > PATIENCE_MS) { this.restart(); }
  },

  send(message) {
    const id = this.count++;
    return new Promise((resolve, reject) => {
      this.asked.set(id, {resolve, reject, since: performance.now()});
      this.worker.postMessage({...message, id});
    });
  },

  run(command, options) {
    return this.send({command, options, files: asked.launch ? {"/launch": asked.launch} : {}});
  },

  async ask(command, options) {
    return JSON.parse((await this.run(command, {...options, json: true})).text);
  },
};

const documents = new Map();

/* A document of the catalogue. */
async function documentOf(name) {
  if (!documents.has(name)) { documents.set(name, await engine.ask("show", {name})); }
  return documents.get(name);
}

/* ---- state ----------------------------------------------------------------------------------- */

let asked = questionOf(location.hash.slice(1));
let active = 0;             /* the machine that the form shows */
let turn = 0;               /* counts questions: answers to older ones are dropped */
let catalogue = {models: [], systems: [], accelerators: []};
const answers = new Map();  /* by question and machine */

const place = id => document.getElementById(id);
const status = text => place("status").replaceChildren(text);

function alertWith(text) {
  place("alert").replaceChildren(...(text ? [make("p", {class: "alert"}, text)] : []));
}

/* ---- asking ---------------------------------------------------------------------------------- */

async function answerOf(machine) {
  const system = isChanged(machine) ? await changedSystem(machine, documentOf)
    : isDocument(machine.system) ? JSON.parse(machine.system) : machine.system;
  const options = optionsOf(asked, machine, system);
  const answer = {options, plan: await engine.ask("plan", options)};
  if (asked.launch) {
    answer.launch = await engine.ask("estimate", options).catch(error => ({refused: error.message}));
  }
  if (!choicesOf(answer.plan).length) {
    answer.fit = await engine.ask("fit", options).catch(() => null);
  } else if (asked.tokens) {
    answer.run = await engine.ask("run", {...options, tokens: asked.tokens});
  }
  return answer;
}

/* The answer for a machine, or {error}; kept for the next time. */
async function remember(machine) {
  const key = hashOf({...asked, machines: [machine]});
  if (!answers.has(key)) {
    const answer = await answerOf(machine).catch(error => ({error: error.message}));
    if (answer.error === "stopped") { return answer; }
    if (answers.size > 200) { answers.clear(); }
    answers.set(key, answer);
  }
  return answers.get(key);
}

async function answerAll() {
  const mine = ++turn, began = performance.now();
  document.documentElement.dataset.asked = mine;
  history.replaceState(null, "", `#${hashOf(asked)}`);
  engine.interrupt();
  status("Searching…");
  place("plan").classList.add("stale");
  const list = [];
  for (const machine of asked.machines) {
    list.push(await remember(machine));
    if (mine !== turn) { return; }
  }
  showAnswers(list);
  const {plan, error} = list[active];
  status(error ? "The question has no answer yet." : `${digits(plan.search.strategies)} strategies in ` +
    `${seconds(plan.performance.processor_time_s)}, on this computer.`);
  document.documentElement.dataset.answered = mine;
  document.documentElement.dataset.planned = Math.round(performance.now() - began);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The strategies of an answer: of the launch as it is, then the best ones. */
function strategiesOf(answer) {
  const given = answer.launch && answer.launch.estimate
    ? [{...answer.launch, label: "your launch"}] : [];
  return [...given, ...choicesOf(answer.plan)];
}

function showAnswers(list) {
  place("comparison").replaceChildren(...(list.length > 1 ? comparison(list) : []));
  const answer = list[active], section = place("plan");
  section.classList.remove("stale");
  alertWith(answer.error);
  if (answer.error) { section.replaceChildren(); return; }
  section.replaceChildren(...sectionsOf(answer).filter(Boolean));
}

function sectionsOf(answer) {
  const choices = strategiesOf(answer);
  const detail = choice => details(choice, choice.provenance || answer.plan.provenance,
    [timelineOf(answer, choice)]);
  return [...question(answer.plan),
    ...(answer.launch && answer.launch.refused ? [make("p", {class: "alert"},
      `Your launch as it is: ${answer.launch.refused}`)] : []),
    choices.length ? actions(answer) : null,
    ...(answer.run ? wholeRun(answer.run.run) : []),
    ...(choices.length ? alternatives(choices, detail) : whatWouldFit(answer)),
    worthOf(answer)];
}

/* Rows of the comparison of machines: name, value, format, and which is better. */
const COMPARED = [
  ["step", e => e.step_s, seconds, Math.min],
  ["tokens/s", e => e.tokens_per_s, digits, Math.max],
  ["tokens/s per accelerator", e => e.tokens_per_s_per_accelerator, digits, Math.max],
  ["MFU", e => e.mfu, value => `${digits(100 * value, 3)} %`, Math.max],
  ["memory left", e => e.memory_usable_bytes - e.memory_total_bytes,
    value => `${digits(value / GIB, 3)} GiB`, Math.max],
  ["time for 1 T tokens", e => 1e12 / e.tokens_per_s, seconds, Math.min],
];

function comparison(list) {
  const best = list.map(answer => answer.plan && choicesOf(answer.plan)[0]);
  const rows = COMPARED.map(([name, valueOf, format, better]) => {
    const values = best.map(choice => choice ? valueOf(choice.estimate) : null);
    const winner = better(...values.filter(value => value !== null));
    return make("tr", {}, make("th", {scope: "row"}, name), values.map(value => make("td",
      {class: value !== null && value === winner ? "number best" : "number", title: String(value)},
      value === null ? "nothing fits" : format(value))));
  });
  const strategy = make("tr", {}, make("th", {scope: "row"}, "strategy"),
    best.map(choice => make("td", {}, choice ? layout(choice.strategy) : "")));
  return [make("h2", {}, "Side by side"), make("div", {class: "scroll"}, make("table", {},
    make("thead", {}, make("tr", {}, make("td"), asked.machines.map(machine =>
      make("th", {scope: "col", class: "number"}, machineName(machine))))),
    make("tbody", {}, rows, strategy)))];
}

/* Nothing fits: by how much, and what to change, a click each. */
function whatWouldFit({plan, fit}) {
  const near = fit && fit.shortage || plan.nearest && plan.nearest.shortage || {};
  const enough = plan.accelerators_that_fit || fit && fit.fewest_accelerators;
  const use = enough ? make("p", {}, make("button", {onclick: () => {
    asked.machines[active].n = String(enough);
    showForm();
    answerAll();
  }}, `Plan ${enough} accelerators`)) : null;
  return [...missing(near, use), ...(plan.nearest ? details(plan.nearest) : [])];
}

/* The picture of a step, drawn when the library has time for it. */
function timelineOf(answer, choice) {
  const figure = make("figure", {role: "img", "aria-label": "Timeline of the step"},
    make("p", {class: "faint"}, "Drawing…"));
  const options = choice.launch ? answer.options : strategyOptions(answer.options, choice.strategy);
  engine.run("timeline", {...options, output: "/timeline.svg"}).then(({text}) => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    figure.replaceChildren(document.importNode(svg, true));
  }).catch(error => figure.replaceChildren(make("p", {class: "faint"}, error.message)));
  return make("section", {}, make("h2", {}, "Timeline of the step"), figure);
}

/* The gain from each number of the machine: a plan for each, so only on request. */
function worthOf(answer) {
  const section = make("section", {"aria-live": "polite"});
  const button = make("button", {onclick: async () => {
    button.disabled = true;
    button.textContent = "Planning with each number changed…";
    const explained = await engine.ask("explain", answer.options)
      .catch(error => ({error: error.message}));
    section.replaceChildren(...(explained.error ? [make("p", {class: "alert"}, explained.error)]
      : gains(explained.numbers, explained.change)));
  }}, "What is each number of the machine worth?");
  section.append(make("h2", {}, "The machine"), button);
  return section;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* A button that writes a file by a command. */
function saver(label, name, type, command, options) {
  return make("button", {onclick: () => engine.run(command, {...options, output: `/${name}`})
    .then(({text}) => saveFile(name, text, type))
    .catch(error => alertWith(error.message))}, label);
}

function actions(answer) {
  const {options, plan} = answer, framework = plan.request.framework;
  const torchtitan = framework === "torchtitan";
  const launchable = torchtitan || framework === "megatron";
  return make("div", {class: "actions screen"},
    saver("Save the report", "plan.html", "text/html", "plan", options),
    launchable ? saver("Save the launch file", torchtitan ? "job.toml" : "start.sh", "text/plain", "plan",
      {...options, emit: framework}) : null,
    jsonSaver("Save as JSON", "answer.json", JSON.stringify(plan, null, 2)),
    copier("Copy a link to this question", () => location.href, "the address of this page is the link"));
}

/* ---- the form -------------------------------------------------------------------------------- */

/* Plans again when the form rests. */
let resting;
function changed() {
  clearTimeout(resting);
  resting = setTimeout(answerAll, 30);
}

function field(label, control, shown) {
  const id = `field-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  control.id = id;
  return make("div", {class: "field"}, make("label", {for: id}, label, shown || ""), control);
}

/* A text or number of `target`. */
function textField(label, target, key, attributes = {}) {
  return field(label, make("input", {value: target[key], autocomplete: "off", ...attributes,
    onchange: event => { target[key] = event.target.value.trim(); showForm(); changed(); }}));
}

function choice(label, target, key, groups) {
  const select = make("select", {onchange: () => { target[key] = select.value; showForm(); changed(); }},
    groups.flatMap(([name, values]) => {
      const options = values.map(value => typeof value === "string" ? [value, value] : value)
        .map(([value, text]) => make("option", {value}, text));
      return name ? make("optgroup", {label: name}, options) : options;
    }));
  select.value = target[key];
  return field(label, select);
}

/* A slider over values; "" is the default. */
function slider(label, target, key, values, format) {
  const shown = make("output", {}), input = make("input", {type: "range", min: 0,
    max: values.length - 1, step: 1});
  const say = () => {
    const text = format(values[input.value]);
    shown.replaceChildren(text);
    input.setAttribute("aria-valuetext", text);
  };
  input.value = Math.max(0, values.findIndex(value => value === (target[key] || "")));
  input.addEventListener("input", () => { target[key] = values[input.value]; say(); changed(); });
  say();
  return field(label, input, shown);
}

const FACTORS = ["0.25", "0.5", "0.75", "", "1.25", "1.5", "2", "3", "4", "8"];
const DOMAINS = ["", "2", "4", "8", "16", "32", "64", "128", "256", "512"];
const BATCHES = ["", ...Array.from({length: 15}, (_, i) => String(2 ** i * 8))];
const SEQUENCES = ["", ...Array.from({length: 11}, (_, i) => String(2 ** i * 1024))];

/* The values of a slider, and the value of the question. */
const withOwn = (values, own) => !own || values.includes(own) ? values
  : [...values, own].sort((a, b) => Number(a) - Number(b));

function machineTabs() {
  const buttons = asked.machines.map((machine, i) => make("button", {type: "button",
    "aria-pressed": i === active, onclick: () => { active = i; showForm(); answerAll(); }},
    machineName(machine)));
  const add = asked.machines.length < 3 ? [make("button", {type: "button", onclick: () => {
    asked.machines.push({...asked.machines[active]});
    active = asked.machines.length - 1;
    showForm();
    answerAll();
  }}, "+ compare with another")] : [];
  const remove = asked.machines.length > 1 ? [make("button", {type: "button", onclick: () => {
    asked.machines.splice(active, 1);
    active = 0;
    showForm();
    answerAll();
  }}, "remove")] : [];
  return make("div", {class: "machines", role: "group", "aria-label": "Machines"}, buttons, add, remove);
}

/* A document or a launch from a file, and a button to remove it. */
function ownFile(what, name, forget) {
  return make("p", {}, `${what}: ${name} `, make("button", {type: "button", class: "link",
    onclick: () => { forget(); showForm(); changed(); }}, "remove"));
}

function modelFields() {
  return isDocument(asked.model)
    ? ownFile("Model", nameOf(asked.model), () => { asked.model = newQuestion().model; })
    : textField("Model", asked, "model", {list: "models",
      placeholder: asked.launch ? "as in the launch" : "name"});
}

function systemFields(machine) {
  const known = [...catalogue.accelerators, ...catalogue.systems].includes(machine.system);
  const other = known ? [] : [machine.system]; /* an alias */
  return isDocument(machine.system)
    ? ownFile("Machine", nameOf(machine.system), () => { machine.system = newMachine().system; })
    : choice("Machine", machine, "system", [["", other],
      ["Accelerators, each with its usual node and network", catalogue.accelerators],
      ["Clusters", catalogue.systems]]);
}

function files() {
  const input = make("input", {type: "file", class: "hidden", id: "files", multiple: "", tabindex: -1,
    "aria-label": "Files", onchange: () => takeFiles(input.files)});
  return make("div", {class: "field"}, asked.launch ? ownFile("Launch", asked.launch.slice(0, 40),
    () => { asked.launch = ""; asked.model = asked.model || newQuestion().model; }) : null,
    make("button", {type: "button", onclick: () => input.click()},
      "Open a config.json, a launch or a machine"), input,
    make("p", {class: "faint"}, "Or drop a file anywhere on this page. It is not uploaded."),
    field("Or paste one", make("textarea", {rows: 2, spellcheck: "false",
      placeholder: "torchrun … pretrain_gpt.py --num-layers 32 …",
      onpaste: event => setTimeout(() => takeTexts([event.target.value])),
      onchange: event => takeTexts([event.target.value])})));
}

function whatIfs(machine) {
  return make("fieldset", {}, make("legend", {}, "What if"),
    CHANGES.map(({key, label, sizes}) => slider(label, machine, key,
      withOwn(sizes ? DOMAINS : FACTORS, machine[key]),
      value => value ? `${value}${sizes ? "" : " x"}` : "unchanged")),
    slider("Sequences per step", asked, "batch", withOwn(BATCHES, asked.batch), value => value || "default"),
    slider("Tokens per sequence", asked, "seq", withOwn(SEQUENCES, asked.seq), value => value || "default"),
    make("button", {type: "button", onclick: () => {
      CHANGES.forEach(({key}) => delete machine[key]);
      Object.assign(asked, {batch: "", seq: ""});
      showForm();
      changed();
    }}, "Reset"));
}

function showForm() {
  const machine = asked.machines[active], form = place("question");
  const open = form.querySelector("details") && form.querySelector("details").open;
  const further = ["framework", "precision", "tokens", "more"];
  const focused = document.activeElement && document.activeElement.id;
  form.replaceChildren(
    make("datalist", {id: "models"}, catalogue.models.map(name => make("option", {value: name}))),
    make("fieldset", {}, make("legend", {}, "Train"), modelFields(), files()),
    make("fieldset", {}, make("legend", {}, "On"), machineTabs(), systemFields(machine),
      textField("Accelerators", machine, "n", {type: "number", min: 1, placeholder: "as in the launch"})),
    whatIfs(machine),
    make("details", {open: open || further.some(key => asked[key]) ? "" : null},
      make("summary", {}, "Framework, precision, length of the run…"),
      choice("Framework", asked, "framework", [["", [["", "default"], "megatron", "torchtitan",
        "deepspeed", "maxtext", "huggingface", "any"]]]),
      choice("Precision", asked, "precision", [["", [["", "bf16"], "fp8", "mxfp8", "nvfp4", "fp16"]]]),
      textField("Tokens to train on", asked, "tokens", {placeholder: "for example 15T",
        title: "Adds the days, failures and energy of the whole run."}),
      textField("More options", asked, "more", {placeholder: "for example tp=8 recompute=none",
        title: "Options of reckon plan, without --."})));
  if (focused && place(focused)) { place(focused).focus(); }
}

/* ---- files that are opened, dropped or pasted ------------------------------------------------- */

/* Models, machines and launches, as files or pasted. */
function takeTexts(texts) {
  for (const text of texts.filter(one => one.trim())) {
    const kind = kindOf(text);
    if (kind === "system") {
      asked.machines[active] = {...newMachine(text, asked.machines[active].n)};
    } else if (kind === "model") {
      asked.model = text;
    } else {
      Object.assign(asked, {launch: text, model: ""});
      asked.machines[active].n = "";
    }
  }
  showForm();
  answerAll();
}

const takeFiles = async list => takeTexts(await Promise.all([...list].map(file => file.text())));

function takeDrops() {
  const mark = on => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragover", event => { event.preventDefault(); mark(true); });
  document.addEventListener("dragleave", () => mark(false));
  document.addEventListener("drop", event => {
    event.preventDefault();
    mark(false);
    takeFiles(event.dataTransfer.files);
  });
}

/* ---- begin ----------------------------------------------------------------------------------- */

async function begin() {
  place("question").addEventListener("submit", event => event.preventDefault());
  window.addEventListener("hashchange", () => {
    if (location.hash.slice(1) !== hashOf(asked)) {
      asked = questionOf(location.hash.slice(1));
      active = 0;
      showForm();
      answerAll();
    }
  });
  takeDrops();
  showForm();
  try {
    catalogue = await engine.start();
  } catch (error) {
    status("");
    alertWith(`The library does not start in this browser: ${error.message}`);
    return;
  }
  showForm();
  document.documentElement.dataset.ready = Math.round(performance.now());
  await answerAll();
}

begin();
