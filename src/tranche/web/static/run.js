// One run: its steps on a time line, what it tells, what it read and wrote.
import { follow, get, post } from "./api.js";
import { assetLink, assetPath, badge, count, empty, h, keyText, lasted, many, moment, note, runLink, short, show, targetLink } from "./dom.js";
import { codeView } from "./code.js";
import { runDialog } from "./dialogs.js";
import { go, may, problem } from "./main.js";
import { plainTable, rowsTable } from "./table.js";

const LOOKED_INTO = 12;
// Of runs with more steps than that, tests and inputs are shown where somebody asks for them.
const TESTED = 500;
// Of how many keys of a step the tests are summed up.

export async function runPage(content, here) {
  const id = here.args[0];
  here.title(`Run ${id}`);
  const page = { id, run: null, opened: new Map(), after: 0, over: false, ended: false };
  const head = h("div"), steps = h("div"), result = h("div");
  const log = h("div", { class: "log", role: "log", "aria-label": "What the run tells", tabindex: "0" });

  async function load() {
    page.run = await get(`runs/${encodeURIComponent(id)}`);
    header(page, head);
    await stepsShown(page, steps);
    if (page.run.status !== "running" && !page.ended) {
      page.ended = true;
      await written(page.run, result);
    }
  }
  show(content, head, steps, result, h("h2", {}, "What it tells"), log);
  await load();
  await listen(page, log);
  const look = () => { load().catch(() => {}); listen(page, log).catch(() => {}); };
  const timer = setInterval(() => { if (page.run.status === "running" && !document.hidden) look(); }, 1000);
  here.leaving(() => clearInterval(timer));
  here.leaving(follow(look));
}

function header(page, head) {
  const run = page.run, going = run.status === "running";
  const cancel = () => post(`runs/${page.id}/cancel`).then(() => note("It is being cancelled.")).catch((error) => note(error.message, "error"));
  const acts = !may("run") ? [] : going
    ? [h("button", { class: "danger", onclick: cancel }, "Cancel")]
    : [h("button", { class: "primary", onclick: () => again(run).catch((error) => note(error.message, "error")) }, "Run again…")];
  const given = Object.entries(run.arguments ?? {});
  show(head,
    h("div", { class: "row spread" },
      h("h1", {}, "Run ", h("span", { class: "mono" }, run.run), " ", badge(run.status)),
      h("div", { class: "row" }, acts)),
    h("dl", { class: "facts" },
      h("dt", {}, "target"), h("dd", {}, targetLink(run.target)),
      run.partition ? [h("dt", {}, "partition"), h("dd", {}, run.partition)] : null,
      given.length ? [h("dt", {}, "arguments"), h("dd", {}, given.map(([name, value]) => h("div", { class: "mono" }, `$${name} = ${value}`)))] : null,
      h("dt", {}, "began"), h("dd", {}, moment(run.started_at)),
      h("dt", {}, going ? "so far" : "took"), h("dd", {}, lasted(run.started_at, run.finished_at)),
      h("dt", {}, "fire time"), h("dd", {}, run.fire_time)),
    run.error ? h("div", { class: "problem" }, run.error) : null);
}

/** The dialog of a run with what this one was given; of a target that is gone, it says so. */
async function again(run) {
  const made = run.steps.find((step) => step.asset !== null && [step.script, step.asset].includes(run.target)) ?? run.steps[0];
  const about = made?.asset ? await get("asset", { asset: made.asset }) : null;
  runDialog({ target: run.target, keys: about?.keys ?? null, args: about?.script?.arguments, partition: run.partition ?? made?.partition, given: run.arguments });
}

async function stepsShown(page, place) {
  const { run } = page;
  const many_ = run.steps.length > LOOKED_INTO;
  const wanted = run.steps.filter((step) => step.finished_at && step.asset && !page.opened.has(step.position) && (!many_ || step.status === "failed"));
  await Promise.all(wanted.slice(0, LOOKED_INTO).map((step) => looked(page, step)));
  const from = Date.parse(run.started_at), to = run.finished_at ? Date.parse(run.finished_at) : Date.now();
  const titles = ["Step", "Partition", "Status", "#Rows", "Snapshot", "Took", "Time line"];
  show(place, h("h2", {}, "Steps"), run.steps.length ? plainTable(titles, run.steps.map((step) => [
    stepShown(page, step, () => looked(page, step).then(() => stepsShown(page, place))),
    step.keys > 1 ? many(step.keys, "key") : keyText(step.partition),
    badge(step.status), count(step.rows), h("span", { class: "mono" }, step.snapshot ?? ""),
    lasted(step.started_at, step.finished_at ?? (step.status === "running" ? null : step.started_at)),
    timeLine(step, from, to),
  ]), { caption: "Steps" }) : empty("It has no steps."));
}

function stepShown(page, step, look) {
  const known = page.opened.get(step.position);
  const more = !known && step.asset && step.finished_at ? h("button", { class: "plain more", onclick: () => look().catch((error) => note(error.message, "error")) }, "tests and inputs") : null;
  return [
    step.asset ? assetLink(step.asset) : step.script, " ", more,
    step.error ? h("div", { class: step.status === "skipped" ? "faint" : "wrong" }, step.error) : null,
    step.errors?.map((text) => h("div", { class: "wrong" }, text)),
    step.errors && step.asset ? h("a", { href: assetPath(step.asset, "partitions") }, "its partitions") : null,
    known?.code ?? null,
    known?.tests.length ? h("div", { class: "row" }, known.tests.map((test) => badge(test.status, test.violations ? `${test.test}: ${count(test.violations)}` : test.test))) : null,
    known?.tests.some((test) => test.violations) ? h("a", { href: step.keys > 1 ? assetPath(step.asset, "tests") : `${assetPath(step.asset, "data")}&key=${encodeURIComponent(step.partition ?? "")}` }, "the rows that violate them") : null,
    known?.inputs.length ? h("div", { class: "faint" }, "read ", known.inputs.slice(0, 4).map((each, n) => [n ? ", " : "", assetLink(each.asset), each.partition ? ` ${each.partition}` : ""]), known.inputs.length > 4 ? ` and ${known.inputs.length - 4} more` : "") : null,
  ];
}

function timeLine(step, from, to) {
  if (!step.started_at) return "";
  const part = (text) => `${(100 * Math.max(0, Math.min(1, (Date.parse(text) - from) / Math.max(1, to - from)))).toFixed(2)}%`;
  const end = part(step.finished_at ?? new Date().toISOString());
  return h("div", { class: "time" }, h("span", { class: `is-${step.status}`, style: { left: part(step.started_at), right: `calc(100% - ${end})` } }));
}

/** What the ledger has of a step: its tests and inputs, and the user's line if that broke it. */
async function looked(page, step) {
  const found = await (step.keys > 1 ? ofKeys(page, step) : ofKey(page, step.asset, step.partition)).catch(() => ({ tests: [], inputs: [] }));
  page.opened.set(step.position, { ...found, code: await brokenLine(step, step.errors?.[0] ?? step.error) });
}

async function ofKey(page, asset, partition) {
  const { log } = await get("key", { asset, partition });
  const entry = log.find((each) => each.run === page.id);
  return { tests: entry?.tests ?? [], inputs: entry?.inputs ?? [] };
}

/** The tests of all keys of a step in one line for each, and what went into one of them. */
async function ofKeys(page, step) {
  const { keys } = await get("tests", { asset: step.asset, limit: TESTED });
  const own = keys.filter((each) => each.run === page.id);
  const sums = new Map();
  for (const { test, status, violations } of own.flatMap((each) => each.tests)) {
    const sum = sums.get(test) ?? { test, status: "passed", violations: 0 };
    sums.set(test, { test, status: status === "passed" || sum.status === "failed" ? sum.status : status, violations: sum.violations + (violations ?? 0) });
  }
  const { inputs } = own.length ? await ofKey(page, step.asset, own[0].partition) : { inputs: [] };
  const assets = [...new Set(inputs.map((each) => each.asset))];
  return { tests: [...sums.values()], inputs: assets.map((asset) => ({ asset, partition: null })) };
}

async function brokenLine(step, error) {
  const place = /(?:^|\s)(\S+\.(?:sql|py)):(\d+)/.exec(error ?? "");
  if (!place) return null;
  const code = await get("code", { asset: step.asset }).catch(() => null);
  const line = Number(place[2]);
  // The script may have been written anew since; then its line says nothing.
  if (!code || code.path !== place[1] || line > code.lines.length) return null;
  const first = Math.max(1, line - 2);
  return codeView(code.lines.slice(first - 1, line + 2), { marked: [line], first, label: `${place[1]}, line ${line}` });
}

/** Whether readers find what a step wrote by its key: a history has versions instead. */
const isSlice = (step) => step.partition !== null && step.keys === 1 && step.strategy !== "history";

/** The summary of what a run wrote, with its rows. */
async function written(run, place) {
  const made = run.steps.filter((step) => step.asset?.startsWith("lake://") && step.status === "succeeded");
  if (!made.length) return;
  const out = h("div"), said = h("p");
  const asked = made.find((step) => [step.asset, step.script].includes(run.target));
  const state = { step: asked ?? made.at(-1), whole: false };
  const which = h("select", { "aria-label": "Asset", onchange: () => { choose(made[which.selectedIndex]); } },
    made.map((step) => h("option", { selected: step === state.step }, `${short(step.asset)} ${step.partition ?? ""}`)));
  const one = h("button", { onclick: () => { state.whole = false; load(); } }, "This partition");
  const all = h("button", { onclick: () => { state.whole = true; load(); } }, "Whole table");
  show(place, h("h2", {}, "What it wrote"), h("div", { class: "row" }, made.length > 1 ? which : null, one, all), said, out);
  function choose(step) {
    state.step = step;
    state.whole = !isSlice(step);
    load();
  }
  async function load() {
    const { step, whole } = state;
    one.hidden = !isSlice(step);
    for (const [button, on] of [[one, !whole], [all, whole]]) {
      button.setAttribute("aria-pressed", String(on));
      button.className = on ? "primary" : "";
    }
    show(said, assetLink(step.asset, step.asset), ` · ${many(step.rows, "row")}`, step.snapshot ? ` · snapshot ${step.snapshot}` : "");
    show(out, h("p", { class: "faint" }, "Spark reads the first rows …"));
    try {
      const found = await get("rows", { asset: step.asset, partition: whole ? null : step.partition, limit: 100 });
      if (state.step === step && state.whole === whole) show(out, found.rows.length ? rowsTable(found, { caption: `Rows of ${step.asset}` }) : empty("There are no rows."));
    } catch (error) { show(out, problem(error)); }
  }
  choose(state.step);
}

async function listen(page, log) {
  if (page.over || page.listening) return;
  page.listening = true;
  try {
    const found = await get("told", { of: page.id, after: page.after });
    page.after = found.next;
    page.over = found.known && found.over;
    const bottom = log.scrollTop + log.clientHeight > log.scrollHeight - 30;
    for (const piece of found.told) log.append(h("div", {}, sentence(piece)));
    if (!found.known && !log.childElementCount) show(log, page.run.status === "running"
      ? "Another process runs it; its steps show here as they end."
      : "It was told to another process, or before this server began. Its steps have what is left.");
    if (bottom) log.scrollTop = log.scrollHeight;
  } finally { page.listening = false; }
}

function sentence(piece) {
  const of = piece.step;
  const keys = !of ? "" : of.keys > 1 ? ` ${of.first} … ${of.last} (${of.keys} keys)` : of.first ? ` ${of.first}` : "";
  const step = of ? `${short(of.label)}${keys}` : "";
  const sign = (status) => ({ succeeded: "✓", skipped: "↷" })[status] ?? "✗";
  switch (piece.event) {
    case "run_started": return [`▶ ${many(piece.keys, "key")} to make`, piece.warnings.map((text) => `\n  ! ${text}`)];
    case "step_started": return `▶ ${step}`;
    case "step_waits": return [`… ${step} waits for run `, runLink(piece.run), ", which writes the same"];
    case "step_retried": return `↻ ${step} is tried again in ${piece.delay} s: ${piece.error}`;
    case "goes_one_by_one": return `… ${step} goes key by key: ${piece.reason}`;
    case "keys_finished": return piece.partitions.map((key) => `${sign(key.status)} ${short(of.label)} ${key.partition} ${many(key.rows, "row")}${key.error ? `: ${key.error}` : ""}\n`);
    case "step_finished": return `${sign(piece.status)} ${step} ${piece.status}${piece.rows === null ? "" : `, ${many(piece.rows, "row")}`}${piece.error ? `: ${piece.error}` : ""}`;
    case "recovered": return ["run ", runLink(piece.run), `, whose process was gone, has ${piece.status}`];
    case "ended": return piece.error ? `✗ ${piece.error.message ?? piece.error}` : `— ${piece.status}`;
    default: return piece.event;
  }
}
