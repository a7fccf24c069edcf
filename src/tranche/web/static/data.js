// The rows of an asset: a partition or the whole table, now or as it was, and rows that violate data tests.
import { get } from "./api.js";
import { badge, empty, h, many, moment, show } from "./dom.js";
import { problem } from "./main.js";
import { rowsTable } from "./table.js";

export async function dataPanel(page, put) {
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
}

/** Shows the rows that violate data tests of a partition, where there are any. */
export async function violating(asset, partition, place) {
  try {
    const found = await get("violations", { asset, partition });
    const tests = found.tests.filter((test) => test.violations);
    show(place, tests.length ? h("section", {}, h("h2", {}, "Rows that violate data tests", partition ? ` in ${partition}` : ""), tests.map((test) => [
      h("p", {}, badge(test.status, test.test), ` ${many(test.violations, "row")}`), test.rows.length ? rowsTable(test, { caption: test.test }) : null]),
      found.passed_since ? h("p", { class: "faint" }, "Passed since ", moment(found.passed_since)) : null) : null);
  } catch { show(place); }
}
