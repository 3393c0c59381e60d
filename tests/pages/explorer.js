#!/usr/bin/env node
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The explorer in headless Chromium, opened from a file:
 *
 *     explorer.js RECKON FOLDER [PICTURES]
 *
 * FOLDER has explorer.html and reckon.wasm (`make pages`).  Asks the questions of a new user through the
 * elements of the page; the program RECKON gives the same answers, for each slider too.  No request
 * leaves the page, the keyboard reaches every control, axe-core finds no fault, and each question ends
 * with an answer or a message that helps.  PICTURES gets screenshots at three widths, light and dark.
 */
const {execFileSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const {chromium} = require("playwright-core");
const q = require("../../pages/question.js");

const [, , program, folder, pictures] = process.argv;
const page_path = path.resolve(folder, "explorer.html");
const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const faults = [];
let checks = 0;

function check(holds, what) {
  checks++;
  if (!holds) { faults.push(what); }
}

const reckon = (...words) => execFileSync(program, words, {encoding: "utf8", maxBuffer: 1 << 28});
const bestOf = (...words) => JSON.parse(reckon("plan", ...words, "--json")).strategies[0].estimate.step_s;

async function withPage(options, use) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "explorer-"));
  const context = await chromium.launchPersistentContext(profile,
    {executablePath: "/usr/bin/chromium", args: ARGUMENTS, acceptDownloads: true, ...options});
  try {
    const page = await context.newPage();
    page.on("pageerror", error => faults.push(`error on the page: ${error.message}`));
    context.on("request", request => check(/^(file|blob|data):/.test(request.url()),
      `the page asks for ${request.url()}`));
    await use(page);
  } finally {
    await context.close();
    fs.rmSync(profile, {recursive: true, force: true});
  }
}

/* The page has answered the question that it shows. */
async function settle(page, after = 0) {
  for (let i = 0; i < 1200; i++) {
    const {asked = 0, answered = 0} = await page.evaluate(() => ({...document.documentElement.dataset}));
    if (Number(asked) > after && asked === answered) { return Number(asked); }
    await page.waitForTimeout(50);
  }
  throw new Error("the page does not answer");
}

/* Acts, and waits for the answer. */
async function after(page, act) {
  const before = await page.evaluate(() => Number(document.documentElement.dataset.asked || 0));
  await act();
  await settle(page, before);
}

const open = (page, hash = "") => page.goto(`file://${page_path}${hash}`)
  .then(() => page.reload()).then(() => settle(page));
const stepOf = page => page.evaluate(() => {
  const row = document.querySelector("tr.choice td:nth-child(2)");
  return row ? Number(row.title) : null;
});
const alertOf = page => page.evaluate(() => document.getElementById("alert").textContent);

const partOf = (report, id) => JSON.parse(
  report.match(new RegExp(`<script type="application/json" id="${id}">([^]*?)</script>`))[1]);

/* The step of a launch on H100, by the program. */
function stepOfLaunch(text, ...words) {
  const file = path.join(os.tmpdir(), `explorer-launch-${process.pid}.sh`);
  fs.writeFileSync(file, text);
  const {estimate} = JSON.parse(reckon("estimate", "--from", file, "--system", "h100-sxm", ...words, "--json"));
  fs.rmSync(file);
  return estimate.step_s;
}

async function fill(page, label, value) {
  await after(page, async () => {
    await page.getByLabel(label, {exact: true}).fill(value);
    await page.keyboard.press("Tab");
  });
}

/* ---- what the page is ------------------------------------------------------------------------ */

function checkSizes() {
  const wasm = fs.readFileSync(path.join(folder, "reckon.wasm"));
  const packed = zlib.gzipSync(wasm, {level: 9}).length;
  check(wasm.length <= 3e6 && packed <= 1e6, `reckon.wasm has ${wasm.length} bytes, ${packed} packed`);
  const page = fs.statSync(page_path).size;
  console.log(`reckon.wasm ${wasm.length} bytes, ${packed} packed; explorer.html ${page}`);
}

/* Processor time of the workers of pages, which other work on the machine does not lengthen; ms. */
function workerTime() {
  const files = execFileSync("sh", ["-c", "grep -l DedicatedWorker /proc/[0-9]*/task/*/comm || true"],
    {encoding: "utf8", stdio: ["ignore", "pipe", "ignore"]}).split("\n").filter(Boolean);
  return files.map(file => Number(fs.readFileSync(file.replace(/comm$/, "schedstat"), "utf8").split(" ")[0]) / 1e6)
    .reduce((sum, time) => sum + time, 0);
}

/*
 * How long the page takes, the least of five times: until it is interactive, and from there to the plan.
 * On a busy machine only the processor time of the worker is judged: what a plan adds to a question that
 * is refused at once.
 */
async function checkTimes() {
  const took = {ready: Infinity, plan: Infinity, refusal: Infinity, worker: Infinity};
  for (let i = 0; i < 10; i++) {
    await withPage({}, async page => {
      const before = workerTime(), [hash, what] = i % 2 ? ["", "worker"] : ["#model=none", "refusal"];
      await page.goto(`file://${page_path}${hash}`);
      await settle(page);
      took[what] = Math.min(took[what], workerTime() - before);
      if (what === "refusal") { return; }
      const {ready, planned} = await page.evaluate(() => ({...document.documentElement.dataset}));
      took.ready = Math.min(took.ready, Number(ready));
      took.plan = Math.min(took.plan, Number(planned));
    });
  }
  const worker = took.worker - took.refusal;
  const busy = os.loadavg()[0] > 0.7 * os.cpus().length;
  console.log(`interactive after ${took.ready} ms, 70B on 1,024 planned in ${took.plan} ms, ` +
    `with ${worker.toFixed(0)} ms of processor time` + (busy ? `; the load is ${os.loadavg()[0]}` : ""));
  check(busy || took.ready <= 1500, `interactive after ${took.ready} ms`);
  check(busy || took.plan <= 300, `planned in ${took.plan} ms`);
  check(worker > 0 && worker <= 300, `planned with ${worker} ms of processor time`);
}

/* Every control has a name, and what changes is announced. */
async function checkAccess(page) {
  const nameless = await page.evaluate(() => [...document.querySelectorAll(
    "input:not([type=file]), select, button, textarea, figure, section[aria-label]")]
    .filter(e => !(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.textContent.trim())
    .map(e => e.outerHTML.slice(0, 80)));
  check(nameless.length === 0, `without a name: ${nameless}`);
  const live = await page.evaluate(() => ["status", "alert"].map(role =>
    document.querySelector(`[role=${role}]`) !== null));
  check(live.every(Boolean), "no live region");
}

/* The rules of accessibility that axe-core knows: names, roles, contrast, landmarks. */
async function checkAxe(page, what) {
  await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const {violations} = await page.evaluate(() => axe.run());
  violations.forEach(({id, nodes}) => check(false, `${what}: ${id}: ${nodes[0].html.slice(0, 120)}`));
  check(violations.length === 0, `${what}: ${violations.length} faults of accessibility`);
}

/* Tab reaches every control, and shows where it is. */
async function checkKeyboard(page) {
  const wanted = await page.evaluate(() => [...document.querySelectorAll("input, select, button, textarea, summary")]
    .filter(e => !e.disabled && e.checkVisibility() && e.type !== "file")
    .map((e, i) => { e.dataset.place = i; return i; }));
  const reached = new Set();
  await page.evaluate(() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); });
  for (let i = 0; i < 2 * wanted.length + 20; i++) {
    await page.keyboard.press("Tab");
    const {at, outline} = await page.evaluate(() => ({at: document.activeElement.dataset.place,
      outline: getComputedStyle(document.activeElement).outlineStyle}));
    if (at !== undefined) {
      reached.add(Number(at));
      check(outline !== "none", `control ${at} does not show that it has the focus`);
    }
  }
  const missed = wanted.filter(i => !reached.has(i));
  check(missed.length === 0, `Tab does not reach ${missed.length} of ${wanted.length} controls`);
}

/* ---- what if --------------------------------------------------------------------------------- */

/* The step of the program for the question in the address, on its first machine. */
async function stepOfAddress(page) {
  const question = q.questionOf(new URL(page.url()).hash.slice(1)), [machine] = question.machines;
  const show = async name => JSON.parse(reckon("show", name, "--json"));
  const system = q.isChanged(machine) ? await q.changedSystem(machine, show) : machine.system;
  const options = q.optionsOf(question, machine, system);
  return bestOf(...Object.entries(options).flatMap(([name, value]) =>
    [`--${name}`, typeof value === "object" ? JSON.stringify(value) : value]));
}

/* Each slider, by the keyboard: the page plans as the program does. */
async function checkSliders(page) {
  for (const [label, key] of [[/^Network bandwidth/, "ArrowLeft"], [/^Bandwidth within a domain/, "ArrowLeft"],
    [/^Accelerators per domain/, "End"], [/^Memory capacity/, "ArrowRight"], [/^Memory bandwidth/, "ArrowRight"],
    [/^Sequences per step/, "End"], [/^Tokens per sequence/, "ArrowRight"]]) {
    await open(page, "#model=llama3-8b&n=64");
    const usual = await stepOf(page), address = page.url(), slider = page.getByLabel(label);
    await slider.focus();
    await after(page, () => page.keyboard.press(key));
    check(page.url() !== address, `${label}: the address does not change`);
    check(await stepOf(page) === await stepOfAddress(page), `${label}: another step than the program's`);
    check(await stepOf(page) !== usual, `${label}: nothing changes`);
    await after(page, () => page.getByRole("button", {name: "Reset"}).click());
    check(await stepOf(page) === usual, `${label}: Reset does not lead back`);
  }
}

/* ---- ten questions of a new user --------------------------------------------------------------- */

const CONFIG = JSON.stringify({architectures: ["LlamaForCausalLM"], model_type: "llama",
  hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32,
  num_key_value_heads: 8, vocab_size: 128256, max_position_embeddings: 8192, tie_word_embeddings: false});
const LAUNCH = "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 32 " +
  "--hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 " +
  "--micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 2 --bf16 --swiglu\n";

async function drop(page, name, text) {
  const data = await page.evaluateHandle(([file, content]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], file));
    return transfer;
  }, [name, text]);
  await after(page, () => page.dispatchEvent("body", "drop", {dataTransfer: data}));
}

async function download(page, label) {
  const [saved] = await Promise.all([page.waitForEvent("download"),
    page.getByRole("button", {name: label}).first().click()]);
  return fs.readFileSync(await saved.path(), "utf8");
}

async function askTen(page) {
  await open(page);
  check(await stepOf(page) === bestOf("llama3-70b", "1024xh100"), "1: 70B on 1,024 H100");
  await checkAccess(page);

  await fill(page, "Model", "llama3-8b");
  await fill(page, "Accelerators", "64");
  check(await stepOf(page) === bestOf("llama3-8b", "64xh100"), "2: another model, fewer accelerators");

  await after(page, () => page.getByLabel("Machine", {exact: true}).selectOption("mi300x"));
  check(await stepOf(page) === bestOf("llama3-8b", "64xmi300x"), "3: on another machine");

  await page.getByText("Framework, precision").click();
  const framework = page.getByLabel("Framework", {exact: true});
  check(await framework.evaluate(e => e.selectedOptions[0].text) === "default", "3: the usual framework");
  await after(page, () => framework.selectOption("torchtitan"));
  check(await stepOf(page) === bestOf("llama3-8b", "64xmi300x", "--framework", "torchtitan"),
    "3: with another framework");
  await after(page, () => framework.selectOption(""));

  const slider = page.getByLabel(/^Network bandwidth/);
  await slider.focus();
  await after(page, () => page.keyboard.press("Home"));
  const slower = await stepOf(page);
  check(slower > bestOf("llama3-8b", "64xmi300x"), "4: a quarter of the network, by the keyboard");
  check(await slider.getAttribute("aria-valuetext") === "0.25 x", "4: the slider says its value");

  await after(page, () => page.getByRole("button", {name: "+ compare with another"}).click());
  await after(page, () => page.getByLabel("Machine", {exact: true}).selectOption("b200-sxm"));
  const columns = () => page.locator("#comparison thead th").count();
  check(await columns() === 2, "5: two machines side by side");
  const address = page.url(), two = await page.textContent("#comparison");
  await after(page, () => page.getByRole("button", {name: "+ compare with another"}).click());
  await after(page, () => page.getByLabel("Machine", {exact: true}).selectOption("tpu-v5p"));
  check(await columns() === 3, "5: and a third");
  check(await page.getByRole("button", {name: "+ compare with another"}).count() === 0, "5: three are enough");
  await checkAxe(page, "5: three machines");
  await after(page, () => page.getByRole("button", {name: "remove"}).click());
  check(await columns() === 2, "5: one of them less");

  await open(page);
  await fill(page, "Accelerators", "8");
  const enough = page.getByRole("button", {name: /^Plan \d+ accelerators/});
  check(await enough.count() === 1, "6: nothing fits, and the page says how many would do");
  await after(page, () => enough.click());
  check(await stepOf(page) > 0, "6: on as many it fits");

  await open(page);
  await fill(page, "Model", "lama3-70b");
  check(/did you mean "llama3-70b"/.test(await alertOf(page)), "7: a mistyped model");
  await drop(page, "config.json", CONFIG);
  const file = path.join(os.tmpdir(), `explorer-config-${process.pid}.json`);
  fs.writeFileSync(file, CONFIG);
  check(await stepOf(page) === bestOf(file, "1024xh100"), "7: a config.json that is dropped");
  fs.rmSync(file);

  await open(page, "#model=%7Boops&more=tp%3D3");
  check(/JSON/.test(await alertOf(page)), "7: an address with an invalid document");
  await after(page, () => page.getByRole("button", {name: "remove"}).first().click());
  check(/tp/.test(await alertOf(page)), "7: an option that the model does not allow");
  await fill(page, "More options", "");
  check(await stepOf(page) > 0, "7: and without it");

  await open(page);
  await drop(page, "machine.json", reckon("show", "dgx-a100-superpod", "--json"));
  check(await stepOf(page) === bestOf("llama3-70b", "dgx-a100-superpod", "-p", "1024"), "8: a machine that is dropped");

  await open(page);
  await drop(page, "run.sh", LAUNCH);
  const first = await page.locator("tr.choice td").first().textContent();
  check(first === "your launch" && !await alertOf(page), "8: a launch that is dropped");
  check(await page.locator("tr.choice").count() > 1, "8: and the best strategies next to it");
  const dropped = await stepOf(page);
  await open(page);
  await page.getByLabel("Or paste one").fill(LAUNCH);
  await after(page, () => page.keyboard.press("Tab"));
  check(await stepOf(page) === dropped, "8: the same launch pasted");
  check(dropped === stepOfLaunch(LAUNCH, "-p", "32"), "8: its step is the program's");

  await open(page, "#model=llama3-8b&n=64&tokens=1T");
  const start = await download(page, "Save the launch file");
  check(/pretrain_gpt/.test(start), "9: a launch file to take along");
  const best = await stepOf(page);
  check(Math.abs(stepOfLaunch(start) / best - 1) < 1e-9, "9: which is the job of the page");
  const report = await download(page, "Save the report");
  check(/<main id="report">/.test(report) && report.length < 1e6, "9: a report to take along");
  check(partOf(report, "answer").strategies[0].estimate.step_s === best, "9: with the numbers of the page");
  check(partOf(report, "question").request.model === "llama3-8b", "9: and its question");
  check(/The whole run/.test(await page.textContent("#plan")), "9: how long for 1 T tokens?");

  await open(page, address.slice(address.indexOf("#")));
  check(await columns() === 2 && await page.textContent("#comparison") === two, "10: the address is the question");
  await page.getByRole("button", {name: "What is each number of the machine worth?"}).click();
  await page.getByText(/% more of each number is worth/).waitFor({timeout: 120000});
  check(await page.locator("figure svg").count() === 1, "10: a picture of the step");
  await checkKeyboard(page);
  return report;
}

/* A report in the browser, light and dark, on a phone and on paper. */
async function checkReport(report) {
  const file = path.join(os.tmpdir(), `explorer-report-${process.pid}.html`);
  fs.writeFileSync(file, report);
  for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
    await withPage({viewport: {width, height: 900}, colorScheme}, async page => {
      await page.goto(`file://${file}`);
      await checkAxe(page, `report, ${colorScheme}`);
      await checkKeyboard(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      check(wide <= width, `at ${width} px the report is ${wide} wide`);
      await page.locator("tr.choice button").nth(1).click();
      check(await page.locator("figure svg").count() === 1, "the report draws the step that is chosen");
      await page.emulateMedia({media: "print"});
      const rows = await page.locator("tr.choice").count();
      check(await page.locator("tr.choice button:visible").count() === rows, "strategies lose their names on paper");
      check(await page.locator("button:visible").count() === rows, "buttons are printed");
      check(await page.getByText("Run it again").isVisible(), "the command is not printed");
    });
  }
  fs.rmSync(file);
}

async function takePictures() {
  fs.mkdirSync(pictures, {recursive: true});
  const hash = "#model=llama3-70b&system=h100-sxm&n=1024&system.2=b200-sxm&n.2=512&tokens=15T";
  for (const width of [390, 1280, 2560]) {
    for (const colorScheme of ["light", "dark"]) {
      await withPage({viewport: {width, height: 1000}, colorScheme}, async page => {
        await open(page, hash);
        await page.locator("figure svg").waitFor();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= width, `at ${width} px the page is ${wide} wide`);
        await page.screenshot({path: path.join(pictures, `${width}-${colorScheme}.png`), fullPage: true});
      });
    }
  }
}

async function main() {
  checkSizes();
  let report;
  await withPage({}, async page => { report = await askTen(page); });
  await withPage({colorScheme: "dark"}, async page => {
    await open(page);
    await checkAxe(page, "dark");
    await checkSliders(page);
  });
  await checkReport(report);
  if (pictures) { await takePictures(); }
  await checkTimes();
  faults.forEach(fault => console.log(fault));
  console.log(`${checks} checks, ${faults.length} faults`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

main();
