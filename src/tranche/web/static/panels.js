// What is known of an asset besides its partitions and rows: columns, tests, runs, what waits, code.
import { get } from "./api.js";
import { badge, command, count, empty, h, moment, runLink, short, show } from "./dom.js";
import { codeView } from "./code.js";
import { violating } from "./data.js";
import { eventsTable, pendingInputs } from "./events.js";
import { lineageDiagram } from "./lineage.js";
import { problem } from "./main.js";
import { runsTable } from "./runs.js";
import { plainTable } from "./table.js";

export async function schemaPanel(page, put) {
  const found = await get("columns", { asset: page.asset });
  put(found.versions.length ? found.versions.map(versionShown) : empty("No columns are known yet.", "They are captured when a run writes it."),
    found.more ? h("p", { class: "faint" }, "There are earlier versions.") : null);
}

/** A version of the columns, with what it changed of the one before. */
function versionShown(version, place) {
  const { change } = version;
  const retyped = (name) => change?.retyped.find((each) => each.name === name);
  const mark = (name) => (change?.added.includes(name) ? "added" : retyped(name) ? "retyped" : "");
  const said = (name) => ({ added: "new", retyped: `was ${retyped(name)?.from}` })[mark(name)] ?? "";
  const rows = version.columns.map(({ name, type }) => [h("span", { class: `mono ${mark(name)}` }, name), h("code", {}, type), said(name)]);
  const dropped = (change?.dropped ?? []).map((name) => [h("span", { class: "mono dropped" }, name), "", "dropped"]);
  return h("section", {},
    h("h2", {}, `Version ${version.version}`, place === 0 ? " (now)" : ""),
    h("p", { class: "faint" }, moment(version.at), " by run ", runLink(version.run), change?.reordered ? ", in another order" : ""),
    plainTable(["Column", "Type", ""], [...rows, ...dropped], { caption: `Columns of version ${version.version}` }));
}

export async function columnsPanel(page, put) {
  const found = await get("lineage", { asset: page.asset });
  if (!found.nodes.some((node) => node.columns.length)) {
    return put(empty("It is not known where its columns come from.", "A line ", command("-- column total <- lake://main/orders.amount"), " says so."));
  }
  const said = h("p", { class: "faint", role: "status" }, "A click on a column shows all that it is made of, and all that it goes into. Lines of values are solid; dashed ones say which rows there are.");
  const table = h("div");
  const name = ({ asset, column }) => `${short(asset)}.${column ?? "(rows)"}`;
  async function traced(asset, column) {
    show(said, h("code", {}, name({ asset, column })));
    const all = column === null ? null : await get("lineage", { asset, column }).catch(() => null);
    if (!all) return show(table);
    const rows = all.edges.map((edge) => [name(edge.from), name(edge.to), edge.direct ? "value" : "rows", edge.kind]);
    return show(table, rows.length ? plainTable(["From", "To", "What", "How"], rows, { caption: "Lineage of the column" }) : empty("Nothing is known to go into it."));
  }
  const view = lineageDiagram(found, { onpick: traced });
  return put(said, view.element, found.notes?.map((text) => h("p", { class: "faint" }, text)), table);
}

export async function testsPanel(page, put) {
  const found = await get("tests", { asset: page.asset });
  const declared = page.about.script?.tests ?? [];
  const names = [...new Set([...declared, ...found.keys.flatMap((key) => key.tests.map((test) => test.test))])];
  if (!names.length) return put(empty("It has no data tests.", "A line ", command("-- data_test unique id"), " makes one: what fails it is never published."));
  if (!found.keys.length) return put(h("ul", {}, names.map((name) => h("li", {}, name))), empty("They have not been run yet."));
  const side = h("div");
  const cell = (key, name) => {
    const test = key.tests.find((each) => each.test === name);
    if (!test) return h("span", { class: "faint" }, "–");
    if (!test.violations) return badge(test.status);
    return h("button", { class: "plain", onclick: () => violating(page.asset, key.partition, side) }, badge(test.status, count(test.violations)));
  };
  /** What the latest attempts at a key were told by its tests. */
  const past = async (key) => {
    const { log } = await get("key", { asset: page.asset, partition: key.partition });
    show(side, h("h2", {}, "Tests of ", key.partition ?? "the table"),
      plainTable(["When", "Run", ...names], log.map((entry) => [moment(entry.at), runLink(entry.run), ...names.map((name) => {
        const test = entry.tests.find((each) => each.test === name);
        return test ? badge(test.status, test.violations ? `${test.status} ${count(test.violations)}` : test.status) : "–";
      })]), { caption: "Tests of the key" }));
  };
  const rows = found.keys.map((key) => [
    h("button", { class: "plain name", title: "Earlier attempts", onclick: () => past(key).catch((error) => show(side, problem(error))) }, key.partition ?? "–"),
    ...names.map((name) => cell(key, name)), moment(key.at)]);
  return put(plainTable(["Partition", ...names, "When"], rows, { caption: "Data tests by partition" }), side);
}

export async function runsPanel(page, put) {
  const load = async () => {
    const { runs } = await get("runs", { asset: page.asset });
    put(runs.length ? runsTable(runs) : empty("No run has made it yet.", "Run it here, or with ", command(`tranche run ${page.asset}`)));
  };
  await load();
  page.refreshed = () => load().catch(() => {});
}

export async function pendingPanel(page, put) {
  const load = async () => {
    const { pending, rejected } = await get("pending", { asset: page.asset });
    put(pending.length ? await pendingInputs(pending) : empty("No key waits for anything.", "What schedules, events and new data ask for shows here until it runs."),
      rejected.length ? [h("h2", {}, "Events that it could make nothing of"),
        plainTable(["Event", "Reason", "When"], rejected.map((each) => [each.event, each.reason, moment(each.at)]), { caption: "Rejected events" })] : null);
  };
  await load();
  page.refreshed = () => load().catch(() => {});
}

export async function eventsPanel(page, put) {
  const load = async () => {
    const { events } = await get("events", { asset: page.asset });
    put(events.length ? eventsTable(events, load) : empty("Nobody has said anything of it yet.", "An event says that it is new, and starts what waits for it."));
  };
  await load();
  page.refreshed = () => load().catch(() => {});
}

export async function codePanel(page, put) {
  if (!page.about.script) return put(empty("No script of this project makes it."));
  const { keys } = page.about;
  const out = h("div");
  const key = h("input", {
    value: page.key ?? page.about.current ?? "", placeholder: keys?.example ?? "",
    "aria-label": "Partition for the compiled statement", onchange: () => load(),
  });
  const wrong = h("span", { class: "wrong", role: "alert" });
  put(keys ? h("div", { class: "row" }, h("span", {}, "For partition"), key, wrong) : null, out);
  async function load() {
    show(wrong);
    key.removeAttribute("aria-invalid");
    try {
      const found = await get("code", { asset: page.asset, partition: keys ? key.value.trim() || null : null });
      show(out, h("h2", {}, found.path), codeView(found.lines, { label: found.path }), h("h2", {}, "What goes to Spark"), sent(found));
      if (found.explained.kind !== "KeyRejected") return null;
      key.setAttribute("aria-invalid", "true");
      return show(wrong, found.explained.reason);
    } catch (error) {
      return show(out, problem(error));
    }
  }
  return load();
}

function sent({ explained, language }) {
  const nothing = language === "python" ? "It is Python: what it sends is up to its code." : "Nothing would be sent.";
  return [
    explained.reason ? h("p", {}, badge(explained.verdict === "fail" ? "failed" : "skipped", explained.verdict), " ", explained.reason) : null,
    explained.statements.map((each) => [
      codeView(each.lines, { label: "Statement for Spark" }),
      h("dl", { class: "facts" }, Object.entries(each.parameters).map(([name, value]) => [h("dt", { class: "mono" }, `:${name}`), h("dd", { class: "mono" }, JSON.stringify(value))])),
      each.files.map((file) => h("p", { class: "faint" }, `${file.view} is ${file.format} of ${file.path}`))]),
    explained.statements.length ? null : h("p", { class: "faint" }, nothing),
  ];
}
