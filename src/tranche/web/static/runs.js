// Runs and backfills: lists, and each by itself while it works and after.
import { follow, get, post } from "./api.js";
import { assetLink, badge, command, count, empty, h, lasted, many, moment, note, runLink, short, show } from "./dom.js";
import { calendar } from "./grid.js";
import { go, may, problem } from "./main.js";
import { plainTable, rowsTable } from "./table.js";

export function runsTable(runs) {
  return plainTable(["Run", "Target", "Partition", "Status", "Began", "Took", "Error"], runs.map((run) => [
    runLink(run.run), short(run.target), run.partition ?? "", badge(run.status), moment(run.started_at), run.status === "running" ? "" : lasted(run.started_at, run.finished_at),
    run.error ? h("span", { class: "wrong" }, run.error.split("\n")[0].slice(0, 160)) : ""]), { caption: "Runs" });
}

export async function runsPage(content, here) {
  here.title("Runs");
  const list = h("div");
  const status = here.query.get("status") ?? "";
  const filter = h("select", { "aria-label": "Status", onchange: () => go(filter.value ? `/runs?status=${filter.value}` : "/runs") },
    [["", "all"], ["running", "running"], ["failed", "failed"], ["succeeded", "succeeded"], ["cancelled", "cancelled"]].map(([value, text]) => h("option", { value, selected: value === status }, text)));
  const asset = h("input", { type: "search", placeholder: "Of an asset or a script", "aria-label": "Of an asset or a script", value: here.query.get("asset") ?? "", onchange: () => go(asset.value.trim() ? `/runs?asset=${encodeURIComponent(asset.value.trim())}` : "/runs") });
  const more = h("button", { hidden: true, onclick: () => load(true).catch((error) => note(error.message, "error")) }, "Earlier runs");
  show(content, h("h1", {}, "Runs"), h("div", { class: "row" }, filter, asset), list, more);
  let shown = [], next = null;
  async function load(on = false) {
    const found = await get("runs", { status, asset: here.query.get("asset"), before: on ? next : null, limit: on ? 50 : Math.max(50, Math.min(1000, shown.length)) });
    shown = on ? [...shown, ...found.runs] : found.runs;
    next = found.next;
    more.hidden = !found.more;
    show(list, shown.length ? runsTable(shown) : empty(status || here.query.get("asset") ? "There is no such run." : "Nothing has run yet.", "Open an asset of the ", h("a", { href: "/" }, "graph"), " and run it, or use ", command("tranche run")));
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}

export async function runPage(content, here) {
  const id = here.args[0];
  here.title(`Run ${id}`);
  const head = h("div"), steps = h("div"), log = h("div", { class: "log", role: "log", "aria-label": "What the run tells", tabindex: "0" }), result = h("div");
  let run = null, after = 0, over = false;
  async function load() {
    run = await get(`runs/${encodeURIComponent(id)}`);
    const going = run.status === "running";
    show(head, h("div", { class: "row spread" }, h("h1", {}, "Run ", h("span", { class: "mono" }, run.run), " ", badge(run.status)), h("div", { class: "row" },
      may("run") && going ? h("button", { class: "danger", onclick: act(() => post(`runs/${id}/cancel`), "It is being cancelled.") }, "Cancel") : null,
      may("run") && !going ? h("button", { class: "primary", onclick: again }, "Run again") : null)),
      h("dl", { class: "facts" }, h("dt", {}, "target"), h("dd", {}, run.target), run.partition ? [h("dt", {}, "partition"), h("dd", {}, run.partition)] : null,
        h("dt", {}, "began"), h("dd", {}, moment(run.started_at)), h("dt", {}, going ? "so far" : "took"), h("dd", {}, lasted(run.started_at, run.finished_at)),
        h("dt", {}, "fire time"), h("dd", {}, run.fire_time)),
      run.error ? h("div", { class: "problem" }, run.error) : null);
    const from = new Date(run.started_at).getTime(), to = run.finished_at ? new Date(run.finished_at).getTime() : Date.now();
    const part = (text) => `${(100 * Math.max(0, Math.min(1, (new Date(text).getTime() - from) / Math.max(1, to - from)))).toFixed(2)}%`;
    show(steps, h("h2", {}, "Steps"), run.steps.length ? plainTable(["Step", "Partition", "Status", "#Rows", "Snapshot", "Took", "Time line"], run.steps.map((step) => [
      [step.asset ? assetLink(step.asset) : step.script, step.error ? h("div", { class: "wrong" }, step.error) : null], step.keys > 1 ? many(step.keys, "key") : step.partition ?? "", badge(step.status), count(step.rows), h("span", { class: "mono" }, step.snapshot ?? ""), lasted(step.started_at, step.finished_at ?? (step.status === "running" ? null : step.started_at)),
      step.started_at ? h("div", { class: "time" }, h("span", { class: `is-${step.status}`, style: { left: part(step.started_at), right: `calc(100% - ${part(step.finished_at ?? new Date().toISOString())})` } })) : ""]), { caption: "Steps" }) : empty("It has no steps."));
    if (!going) summary();
  }
  const act = (what, said) => () => what().then(() => note(said)).catch((error) => note(error.message, "error"));
  async function again() {
    try {
      const begun = await post("runs", { target: run.target, partition: run.partition });
      go(`/runs/${begun.run}`);
    } catch (error) { note(error.message, "error"); }
  }
  let summed = false;
  async function summary() {
    if (summed) return;
    summed = true;
    const made = run.steps.filter((step) => step.asset?.startsWith("lake://") && step.status === "succeeded");
    if (!made.length) return;
    const chosen = made.at(-1);
    const out = h("div");
    const state = { whole: chosen.partition === null || chosen.keys > 1 };
    const one = h("button", { onclick: () => { state.whole = false; load_(); } }, "This partition");
    const all = h("button", { onclick: () => { state.whole = true; load_(); } }, "Whole table");
    async function load_() {
      one.className = state.whole ? "" : "primary"; all.className = state.whole ? "primary" : "";
      show(out, h("p", { class: "faint" }, "Spark reads the first rows …"));
      try {
        const found = await get("rows", { asset: chosen.asset, partition: state.whole ? null : chosen.partition, limit: 100 });
        show(out, found.rows.length ? rowsTable(found, { caption: `Rows of ${chosen.asset}` }) : empty("There are no rows."));
      } catch (error) { show(out, problem(error)); }
    }
    show(result, h("h2", {}, "What it wrote"), h("p", {}, assetLink(chosen.asset, chosen.asset), ` · ${count(chosen.rows)} rows`, chosen.snapshot ? ` · snapshot ${chosen.snapshot}` : ""),
      h("div", { class: "row" }, chosen.partition !== null && chosen.keys === 1 ? one : null, all), out);
    await load_();
  }
  async function listen() {
    if (over) return;
    const found = await get("told", { of: id, after });
    after = found.next;
    over = found.known && found.over;
    const bottom = log.scrollTop + log.clientHeight > log.scrollHeight - 30;
    for (const piece of found.told) log.append(h("div", {}, sentence(piece)));
    if (!found.known && !log.childElementCount) show(log, run.status === "running" ? "Another process runs it; its steps show here as they end." : "It was told to another process, or before this server began. Its steps have what is left.");
    if (bottom) log.scrollTop = log.scrollHeight;
  }
  show(content, head, steps, h("h2", {}, "What it tells"), log, result);
  await load();
  await listen();
  const timer = setInterval(() => { if (run.status === "running" && !document.hidden) { load().catch(() => {}); listen().catch(() => {}); } }, 1000);
  here.leaving(() => clearInterval(timer));
  here.leaving(follow(() => { load().catch(() => {}); listen().catch(() => {}); }));
}

function sentence(piece) {
  const step = piece.step ? `${short(piece.step.label)}${piece.step.keys > 1 ? ` ${piece.step.first} … ${piece.step.last} (${piece.step.keys} keys)` : piece.step.first ? ` ${piece.step.first}` : ""}` : "";
  switch (piece.event) {
    case "run_started": return [`▶ ${many(piece.keys, "key")} to make`, piece.warnings.map((text) => `\n  ! ${text}`)];
    case "step_started": return `▶ ${step}`;
    case "step_waits": return `… ${step} waits for run ${piece.run}, which writes the same`;
    case "step_retried": return `↻ ${step} is tried again in ${piece.delay} s: ${piece.error}`;
    case "goes_one_by_one": return `… ${step} goes key by key: ${piece.reason}`;
    case "keys_finished": return piece.partitions.map((key) => `${key.status === "succeeded" ? "✓" : "✗"} ${short(piece.step.label)} ${key.partition} ${count(key.rows)} rows${key.error ? `: ${key.error}` : ""}\n`);
    case "step_finished": return `${piece.status === "succeeded" ? "✓" : piece.status === "skipped" ? "↷" : "✗"} ${step} ${piece.status}${piece.rows !== null ? `, ${count(piece.rows)} rows` : ""}${piece.error ? `: ${piece.error}` : ""}`;
    case "recovered": return `run ${piece.run}, whose process was gone, has ${piece.status}`;
    case "ended": return piece.error ? `✗ ${piece.error.message ?? piece.error}` : `— ${piece.status}`;
    default: return piece.event;
  }
}

export async function backfillsPage(content, here) {
  here.title("Backfills");
  const list = h("div");
  show(content, h("h1", {}, "Backfills"), list);
  async function load() {
    const found = await get("backfills");
    show(list, found.backfills.length ? plainTable(["Backfill", "Asset", "Status", "Began", "Took"], found.backfills.map((each) => [
      h("a", { href: `/backfills/${each.backfill}`, class: "mono" }, each.backfill), assetLink(each.asset), badge(each.status), moment(each.created_at), each.finished_at ? lasted(each.created_at, each.finished_at) : ""]), { caption: "Backfills" })
      : empty("Nobody has asked for a backfill yet.", "Open an asset of the ", h("a", { href: "/" }, "graph"), " and pick a range, or use ", command("tranche backfill ASSET")));
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}

export async function backfillPage(content, here) {
  const id = here.args[0];
  here.title(`Backfill ${id}`);
  const head = h("div"), place = h("div"), table = h("div");
  show(content, head, place, table);
  let view = null;
  async function load() {
    const found = await get(`backfills/${encodeURIComponent(id)}`);
    const going = ["queued", "waiting", "running", "cancelling"].includes(found.status);
    const done = found.partitions.filter((key) => key.status === "succeeded").length;
    const failed = found.partitions.filter((key) => key.status === "failed");
    const act = (what, said) => () => what().then(() => { note(said); load(); }).catch((error) => note(error.message, "error"));
    show(head, h("div", { class: "row spread" }, h("h1", {}, "Backfill of ", assetLink(found.asset), " ", badge(found.status)), h("div", { class: "row" },
      may("run") && going ? h("button", { class: "danger", onclick: act(() => post(`backfills/${id}/cancel`), "It ends after the commit at hand.") }, "Cancel") : null,
      may("run") && !going && done < found.partitions.length ? h("button", { class: "primary", onclick: act(() => post(`backfills/${id}/resume`), "It goes on.") }, failed.length ? "Retry failed" : "Resume") : null)),
      h("p", {}, `${count(done)} of ${many(found.partitions.length, "partition")} done`, failed.length ? `, ${count(failed.length)} failed` : "", ". Began ", moment(found.created_at), found.run ? [", run ", runLink(found.run)] : null),
      h("progress", { max: String(found.partitions.length || 1), value: String(done + failed.length), "aria-label": "Progress" }));
    if (!view) {
      const keys = found.partitions.map((key) => key.partition);
      const grid = await get("grid", { asset: found.asset, start: keys[0], end: keys.at(-1) }).catch(() => null);
      if (grid?.rows?.length) { view = calendar(grid, {}); here.leaving(() => view.stop()); show(place, view.element); }
    }
    view?.mark(found.partitions);
    show(table, failed.length ? [h("h2", {}, "Failed"), h("ul", {}, failed.map((key) => h("li", {}, h("a", { href: `/assets/${encodeURIComponent(found.asset)}?tab=partitions&key=${encodeURIComponent(key.partition)}` }, key.partition))))] : null);
    return going;
  }
  let going = await load();
  const timer = setInterval(async () => { if (going && !document.hidden) going = await load().catch(() => going); }, 1500);
  here.leaving(() => clearInterval(timer));
  here.leaving(follow(async () => { going = await load().catch(() => going); }));
}
