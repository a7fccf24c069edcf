// One asset: how it stands, and all that is known of it in tabs.
import { follow, get, post, remove } from "./api.js";
import { assetLink, assetPath, badge, command, count, empty, h, moment, note, runLink, short, show } from "./dom.js";
import { backfillDialog, eventDialog, runDialog } from "./dialogs.js";
import { codeView } from "./code.js";
import { dataPanel, violating } from "./data.js";
import { lineageDiagram } from "./lineage.js";
import { may, problem } from "./main.js";
import { partitionsPanel } from "./partitions.js";
import { pendingTable } from "./events.js";
import { runsTable } from "./runs.js";
import { plainTable } from "./table.js";

const TABS = [["partitions", "Partitions"], ["data", "Data"], ["schema", "Schema"], ["columns", "Columns"], ["tests", "Tests"], ["runs", "Runs"], ["pending", "Pending"], ["code", "Code"]];

export async function assetPage(content, here) {
  const asset = here.args[0];
  here.title(short(asset));
  let about = await get("asset", { asset });
  const head = h("div");
  const panel = h("div", { role: "tabpanel", id: "panel", tabindex: "-1" });
  const page = { asset: about.asset, about, key: here.query.get("key"), query: here.query, ended: [] };
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

function backfillLine(each) {
  const bar = h("progress", { max: "1", value: "0", "aria-label": "Backfill progress" });
  const said = h("span", { class: "faint" });
  get(`backfills/${each.backfill}`).then((found) => {
    const done = found.partitions.filter((key) => key.status === "succeeded").length;
    const failed = found.partitions.filter((key) => key.status === "failed").length;
    bar.max = found.partitions.length || 1; bar.value = done + failed;
    show(said, `${count(done)} of ${count(found.partitions.length)}${failed ? `, ${count(failed)} failed` : ""}`);
  }).catch(() => {});
  return h("div", { class: "plan" }, h("div", { class: "row" }, badge(each.status), h("a", { href: `/backfills/${each.backfill}` }, "Backfill"), moment(each.created_at), said,
    may("run") ? h("button", { onclick: () => post(`backfills/${each.backfill}/cancel`).then(() => note("It ends after the commit at hand.")).catch((error) => note(error.message, "error")) }, "Cancel") : null), bar);
}

const PANELS = {
  partitions: partitionsPanel,
  data: dataPanel,

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
