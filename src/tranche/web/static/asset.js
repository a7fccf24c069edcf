// One asset: how it stands, and all that is known of it in tabs.
import { follow, get, post, remove } from "./api.js";
import { assetLink, assetPath, badge, command, count, empty, h, many, moment, note, runLink, short, show } from "./dom.js";
import { cancelButton, progressOf } from "./backfills.js";
import { backfillDialog, eventDialog, runDialog } from "./dialogs.js";
import { codeView } from "./code.js";
import { calendar, keyDetail } from "./grid.js";
import { lineageDiagram } from "./lineage.js";
import { may, problem } from "./main.js";
import { pendingTable } from "./events.js";
import { runsTable } from "./runs.js";
import { plainTable, rowsTable } from "./table.js";

const TABS = [["partitions", "Partitions"], ["data", "Data"], ["schema", "Schema"], ["columns", "Columns"], ["tests", "Tests"], ["runs", "Runs"], ["pending", "Pending"], ["code", "Code"]];

export async function assetPage(content, here) {
  const asset = here.args[0];
  here.title(short(asset));
  let about = await get("asset", { asset });
  const head = h("div");
  const panel = h("div", { role: "tabpanel", id: "panel", tabindex: "-1" });
  const page = { asset: about.asset, about, key: here.query.get("key"), ended: [] };
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "About this asset" });
  let tab = TABS.some(([name]) => name === here.query.get("tab")) ? here.query.get("tab") : "partitions";

  const header = () => {
    const script = about.script;
    const acts = script && may("run") ? [
      h("button", { class: "primary", onclick: () => runDialog({ target: about.asset, keys: about.keys, args: script.arguments, current: page.key ?? about.current }) }, "Run…"),
      about.keys ? h("button", { onclick: () => backfill({}) }, "Backfill…") : null,
      h("button", { onclick: () => eventDialog({ asset: about.asset, keys: about.keys }) }, "Event…"),
      may("admin") ? h("button", { onclick: pause }, about.paused_since ? "Let it run again" : "Pause") : null] : [];
    show(head,
      h("div", { class: "row spread" }, h("h1", {}, about.asset, " ", badge(about.standing), about.paused_since ? [" ", badge("paused")] : null), h("div", { class: "row" }, acts)),
      script ? null : empty("No script of this project makes it any more. What is known of it is what the ledger and the table have."),
      h("dl", { class: "facts" },
        script ? [h("dt", {}, "made by"), h("dd", {}, h("a", { href: assetPath(about.asset, "code") }, script.path), script.job ? ` (job ${script.job})` : "")] : null,
        script?.strategy ? [h("dt", {}, "strategy"), h("dd", {}, script.strategy)] : null,
        script?.partitioning ? [h("dt", {}, "partitioned"), h("dd", {}, h("code", {}, script.partitioning))] : null,
        about.reads.length ? [h("dt", {}, "made of"), h("dd", {}, about.reads.map((each, n) => [n ? ", " : "", assetLink(each)]))] : null,
        about.read_by.length ? [h("dt", {}, "goes into"), h("dd", {}, about.read_by.map((each, n) => [n ? ", " : "", assetLink(each)]))] : null,
        about.schedules.length ? [h("dt", {}, "next"), h("dd", {}, about.schedules.map((each) => h("div", {}, each.paused_since ? "paused" : moment(each.next), ` (${each.schedule})`)))] : null,
        about.latest ? [h("dt", {}, "last written"), h("dd", {}, moment(about.latest.at), " by run ", runLink(about.latest.run))] : null),
      about.backfills.map(backfillLine));
  };
  async function pause() {
    try {
      if (about.paused_since) await remove("pauses", { asset: about.asset }); else await post("pauses", { asset: about.asset });
      await refresh();
    } catch (error) { note(error.message, "error"); }
  }
  page.backfill = backfill;
  function backfill(range) {
    backfillDialog({ target: about.asset, keys: about.keys, args: about.script?.arguments, ...range, onstart: () => { select("partitions"); refresh(); } }).catch((error) => note(error.message, "error"));
  }

  const refresh = async () => {
    about = page.about = await get("asset", { asset });
    header();
    page.refreshed?.();
  };
  header();
  const buttons = TABS.map(([name, title]) => h("button", { role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => select(name) }, title));
  show(tabs, buttons);
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (TABS.findIndex(([name]) => name === tab) + step + TABS.length) % TABS.length;
    select(TABS[next][0]);
    buttons[next].focus();
  });

  function select(name) {
    tab = name;
    for (const act of page.ended.splice(0)) act();
    page.refreshed = null;
    buttons.forEach((button, n) => { const on = TABS[n][0] === name; button.setAttribute("aria-selected", String(on)); button.tabIndex = on ? 0 : -1; });
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    const query = new URLSearchParams({ tab: name, ...(page.key ? { key: page.key } : {}) });
    history.replaceState({}, "", `/assets/${encodeURIComponent(asset)}?${query}`);
    show(panel, h("p", { class: "faint" }, "…"));
    const mine = { alive: true };
    page.ended.push(() => { mine.alive = false; });
    PANELS[name](page, (...parts) => { if (mine.alive) show(panel, ...parts); }).catch((error) => { if (mine.alive) show(panel, problem(error)); });
  }
  page.select = select;
  show(content, head, tabs, panel);
  select(tab);
  here.leaving(() => { for (const act of page.ended.splice(0)) act(); });
  here.leaving(follow(() => refresh().catch(() => {})));
}

/** A backfill that has not ended, in the header of its asset. */
function backfillLine(each) {
  const said = h("span", { class: "faint" }), bar = h("div");
  get(`backfills/${each.backfill}`).then((found) => {
    const progress = progressOf(found);
    show(said, progress.said);
    show(bar, progress.bar);
  }).catch(() => {});
  return h("div", { class: "plan" }, h("div", { class: "row" },
    badge(each.status), h("a", { href: `/backfills/${each.backfill}` }, "Backfill"), moment(each.created_at), said,
    may("run") ? cancelButton(each.backfill) : null), bar);
}

const PANELS = {
  async partitions(page, put) {
    const { asset, about } = page;
    if (about.script && !about.keys) return oneKey(page, put);
    const data = await get("grid", { asset });
    const side = h("div");
    if (data.kind === null) return namedKeys(page, put, side);
    const acts = h("div", { class: "row" });
    const picked = (keys) => {
      page.key = keys.length === 1 ? keys[0] : null;
      show(acts, keys.length === 1 ? null : h("span", {}, `${many(keys.length, "partition")}, ${keys[0]} to ${keys.at(-1)}`),
        keys.length > 1 && may("run") && about.script ? h("button", { class: "primary", onclick: () => page.backfill(about.keys.kind === "composite" ? { list: keys } : { from: keys[0], to: keys.at(-1) }) }, "Backfill these…") : null);
      if (keys.length === 1) keySide(page, keys[0], side); else show(side);
    };
    const view = calendar(data, { onpick: picked, detail: (key) => keyDetail(asset, key) });
    page.ended.push(() => view.stop());
    put(data.rows.some((row) => row.keys.length) ? null : empty("No partition has been made yet.", "Run one, or backfill a range; on the command line: ", command(`tranche backfill ${asset}`)), view.element, acts, side);
    if (page.key) keySide(page, page.key, side);
    // Which are stale takes longer to find out, and comes when it is known.
    const stale = async () => {
      const keys = data.rows[0]?.keys ?? [];
      view.update(await get("grid", keys.length > 3000 ? { asset } : { asset, stale: true }));
    };
    stale().catch(() => {});
    page.refreshed = () => stale().catch(() => {});
  },

  async data(page, put) {
    const { asset, about } = page;
    const out = h("div");
    const sliced = Boolean(about.keys) && about.script?.strategy !== "history";
    const state = { whole: !sliced || !page.key, snapshot: null };
    const key = h("input", { value: page.key ?? "", placeholder: about.keys?.example ?? "", "aria-label": "Partition", onchange: () => { page.key = key.value.trim() || null; state.whole = !page.key; mark(); load(); } });
    const one = h("button", { onclick: () => { state.whole = false; page.key = key.value.trim() || about.latest?.partition || about.current; key.value = page.key ?? ""; mark(); load(); } }, "This partition");
    const all = h("button", { onclick: () => { state.whole = true; mark(); load(); } }, "Whole table");
    const past = h("select", { "aria-label": "Snapshot", onchange: () => { state.snapshot = past.value || null; load(); } }, h("option", { value: "" }, "as it is now"));
    const mark = () => { one.setAttribute("aria-pressed", String(!state.whole)); all.setAttribute("aria-pressed", String(state.whole)); one.className = state.whole ? "" : "primary"; all.className = state.whole ? "primary" : ""; };
    mark();
    const bad = h("div");
    put(h("div", { class: "row" }, sliced ? [one, key, all] : null, past), bad, out);
    get("snapshots", { asset, limit: 50 }).then((found) => {
      for (const each of found.snapshots) past.append(h("option", { value: each.snapshot }, `${new Date(each.at).toLocaleString()} · ${each.operation ?? ""} ${each.partition ?? ""}`));
    }).catch((error) => { past.disabled = true; past.title = error.message; });
    async function load() {
      show(out, h("p", { class: "faint" }, "Spark reads the first rows …"));
      show(bad);
      try {
        const found = await get("rows", { asset, partition: state.whole ? null : page.key, snapshot: state.snapshot, limit: 500 });
        show(out, found.rows.length ? rowsTable(found, { caption: `Rows of ${asset}` }) : empty("There are no rows."));
      } catch (error) { show(out, problem(error)); }
      if (!state.whole || !about.keys) violating(asset, state.whole ? null : page.key, bad);
    }
    await load();
  },

  async schema(page, put) {
    const found = await get("columns", { asset: page.asset });
    if (!found.versions.length) return put(empty("No columns are known yet.", "They are captured when a run writes it."));
    put(found.versions.map((version, n) => {
      const change = version.change;
      const mark = (name) => (change?.added.includes(name) ? "added" : change?.retyped.some((each) => each.name === name) ? "retyped" : "");
      const retyped = (name) => change?.retyped.find((each) => each.name === name);
      return h("section", {}, h("h2", {}, `Version ${version.version}`, n === 0 ? " (now)" : ""),
        h("p", { class: "faint" }, moment(version.at), " by run ", runLink(version.run), change?.reordered ? ", in another order" : ""),
        plainTable(["Column", "Type", ""], [
          ...version.columns.map((column) => [h("span", { class: `mono ${mark(column.name)}` }, column.name), h("code", {}, column.type), mark(column.name) === "added" ? "new" : retyped(column.name) ? `was ${retyped(column.name).from}` : ""]),
          ...(change?.dropped ?? []).map((name) => [h("span", { class: "mono dropped" }, name), "", "dropped"])], { caption: `Columns of version ${version.version}` }));
    }), found.more ? h("p", { class: "faint" }, "There are earlier versions.") : null);
  },

  async columns(page, put) {
    const found = await get("lineage", { asset: page.asset });
    if (!found.nodes.some((node) => node.columns.length)) return put(empty("It is not known where its columns come from.", "A line ", command("-- column total <- lake://main/orders.amount"), " says so."));
    const said = h("p", { class: "faint", role: "status" }, "A click on a column shows all that it is made of, and all that it goes into. Lines of values are solid; dashed ones say which rows there are.");
    const table = h("div");
    const view = lineageDiagram(found, { onpick: async (asset, column) => {
      show(said, h("code", {}, `${short(asset)}.${column ?? "(rows)"}`));
      if (column === null) return;
      const all = await get("lineage", { asset, column }).catch(() => null);
      if (!all) return;
      const rows = all.edges.map((edge) => [`${short(edge.from.asset)}.${edge.from.column ?? "(rows)"}`, `${short(edge.to.asset)}.${edge.to.column ?? "(rows)"}`, edge.direct ? "value" : "rows", edge.kind]);
      show(table, rows.length ? plainTable(["From", "To", "What", "How"], rows, { caption: "Lineage of the column" }) : empty("Nothing is known to go into it."));
    } });
    put(said, view.element, found.notes?.map((text) => h("p", { class: "faint" }, text)), table);
  },

  async tests(page, put) {
    const found = await get("tests", { asset: page.asset });
    const declared = page.about.script?.tests ?? [];
    const names = [...new Set([...declared, ...found.keys.flatMap((key) => key.tests.map((test) => test.test))])];
    if (!names.length) return put(empty("It has no data tests.", "A line ", command("-- data_test unique id"), " makes one: what fails it is never published."));
    if (!found.keys.length) return put(h("ul", {}, names.map((name) => h("li", {}, name))), empty("They have not been run yet."));
    const side = h("div");
    put(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Data tests by partition" }, h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Partition"), names.map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col" }, "When"))),
      h("tbody", {}, found.keys.map((key) => h("tr", {}, h("th", { scope: "row" }, key.partition ?? "–"),
        names.map((name) => { const test = key.tests.find((each) => each.test === name); return h("td", {}, !test ? h("span", { class: "faint" }, "–") : test.violations ? h("button", { class: "plain", onclick: () => violating(page.asset, key.partition, side) }, badge(test.status, count(test.violations))) : badge(test.status)); }),
        h("td", {}, moment(key.at)))))), ), side);
  },

  async runs(page, put) {
    const load = async () => {
      const found = await get("runs", { asset: page.asset });
      put(found.runs.length ? runsTable(found.runs) : empty("No run has made it yet.", "Run it here, or with ", command(`tranche run ${page.asset}`)));
    };
    await load();
    page.refreshed = () => load().catch(() => {});
  },

  async pending(page, put) {
    const found = await get("pending", { asset: page.asset });
    put(found.pending.length ? pendingTable(found.pending) : empty("No key waits for anything."),
      found.rejected.length ? [h("h2", {}, "Events that it could make nothing of"), plainTable(["Event", "Reason", "When"], found.rejected.map((each) => [each.event, each.reason, moment(each.at)]))] : null);
  },

  async code(page, put) {
    const out = h("div");
    const key = h("input", { value: page.key ?? page.about.current ?? "", placeholder: page.about.keys?.example ?? "", "aria-label": "Partition for the compiled statement", onchange: () => load() });
    put(page.about.keys ? h("div", { class: "row" }, h("label", {}, "For partition "), key) : null, out);
    async function load() {
      try {
        const found = await get("code", { asset: page.asset, partition: page.about.keys ? key.value.trim() || null : null });
        const explained = found.explained;
        show(out, h("h2", {}, found.path), codeView(found.lines, { label: found.path }),
          h("h2", {}, "What goes to Spark"), explained.reason ? h("p", {}, badge(explained.verdict === "fail" ? "failed" : "skipped", explained.verdict), " ", explained.reason) : null,
          explained.statements.length ? explained.statements.map((each) => [codeView(each.lines, { label: "Statement for Spark" }),
            Object.keys(each.parameters).length ? h("dl", { class: "facts" }, Object.entries(each.parameters).map(([name, value]) => [h("dt", { class: "mono" }, `:${name}`), h("dd", { class: "mono" }, JSON.stringify(value))])) : null,
            each.files.map((file) => h("p", { class: "faint" }, `${file.view} is ${file.format} of ${file.path}`))]) : h("p", { class: "faint" }, found.language === "python" ? "It is Python: what it sends is up to its code." : "Nothing would be sent."));
      } catch (error) { show(out, problem(error)); }
    }
    await load();
  },
};

async function violating(asset, partition, place) {
  try {
    const found = await get("violations", { asset, partition });
    const tests = found.tests.filter((test) => test.violations);
    show(place, tests.length ? h("section", {}, h("h2", {}, "Rows that violate data tests", partition ? ` in ${partition}` : ""), tests.map((test) => [
      h("p", {}, badge(test.status, test.test), ` ${many(test.violations, "row")}`), test.rows.length ? rowsTable(test, { caption: test.test }) : null]),
      found.passed_since ? h("p", { class: "faint" }, "Passed since ", moment(found.passed_since)) : null) : null);
  } catch { show(place); }
}

async function keySide(page, key, side) {
  const { asset, about } = page;
  show(side, h("h2", {}, key ?? "The table"), h("p", { class: "faint" }, "…"));
  try {
    const [found, told] = await Promise.all([get("key", { asset, partition: key }), about.script ? get("explain", { target: about.asset, partition: key }).catch((error) => ({ problem: error.message })) : null]);
    const story = told?.story;
    show(side, h("h2", {}, key ?? "The table", " ", found.state ? badge(found.state.status) : badge("missing")),
      story ? h("p", {}, h("strong", {}, story.verdict), story.remedy ? h("span", {}, " ", story.remedy) : null) : told?.problem ? h("p", { class: "faint" }, told.problem) : null,
      h("div", { class: "row" }, may("run") && about.script ? h("button", { onclick: () => runDialog({ target: about.asset, keys: about.keys, args: about.script.arguments, partition: key }) }, "Run…") : null,
        found.state?.rows !== null && found.state ? h("button", { onclick: () => { page.key = key; page.select("data"); } }, "Rows") : null),
      story?.needs?.length ? [h("h3", {}, "Made of"), plainTable(["Asset", "There", "Missing"], story.needs.map((need) => [assetLink(need.asset), need.source ? "source" : `${count(need.there_count)} ${need.there.slice(0, 4).join(", ")}`, need.missing_count ? badge("missing", `${count(need.missing_count)}: ${need.missing.slice(0, 4).join(", ")}`) : "–"]))] : null,
      found.log.length ? [h("h3", {}, "Attempts"), plainTable(["When", "Run", "Status", "#Rows", "Snapshot", "Tests", "Error"], found.log.map((entry) => [moment(entry.at), runLink(entry.run), badge(entry.status), count(entry.rows), h("span", { class: "mono" }, entry.snapshot ?? ""), entry.tests.map((test) => [badge(test.status, test.test), " "]), entry.error ? h("span", { class: "wrong" }, entry.error.split("\n")[0]) : ""]), { caption: "Attempts" })] : null);
  } catch (error) { show(side, problem(error)); }
}

async function oneKey(page, put) {
  const side = h("div");
  put(h("p", { class: "faint" }, "It has no partitions: all of it is one."), side);
  await keySide(page, null, side);
}

/** Keys that are names: a bar for each, as long as it has rows. */
async function namedKeys(page, put, side) {
  const { asset, about } = page;
  const list = h("div");
  let next = null, rows = [];
  const more = h("button", { onclick: () => load().catch((error) => note(error.message, "error")) }, "More");
  async function load() {
    const found = await get("partitions", { asset, after: next, limit: 200 });
    next = found.next;
    rows = [...rows, ...found.partitions];
    const known = new Set(rows.map((row) => row.partition));
    const missing = (about.keys?.kind === "static" ? about.keys.values : []).filter((key) => !known.has(key)).map((partition) => ({ partition, status: "missing", rows: null }));
    const all = [...rows, ...missing];
    const most = Math.max(1, ...all.map((row) => row.rows ?? 0));
    show(list, all.length ? plainTable(["Partition", "Status", "#Rows", "", "When"], all.map((row) => [
      h("button", { class: "plain", onclick: () => { page.key = row.partition; keySide(page, row.partition, side); } }, row.partition ?? "–"), badge(row.status), count(row.rows),
      h("progress", { max: String(most), value: String(row.rows ?? 0), "aria-label": `Rows of ${row.partition}` }), moment(row.at)]), { caption: "Partitions" }) : empty("No partition has been made yet."));
    more.hidden = !found.more;
  }
  put(list, more, side);
  await load();
}
