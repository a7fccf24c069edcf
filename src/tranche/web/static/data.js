// The rows of an asset: a partition or the whole table, now or as it was, and rows that violate data tests.
import { get } from "./api.js";
import { badge, command, count, empty, h, many, moment, runLink, show } from "./dom.js";
import { problem } from "./main.js";
import { rowsTable } from "./table.js";

const MOST = 500;
const COMPARISONS = [["=", "is"], ["!=", "is not"], ["contains", "contains"], ["<", "is less than"], ["<=", "is at most"], [">", "is more than"], [">=", "is at least"], ["is null", "has no value"], ["is not null", "has a value"]];
const quoted = (name) => `\`${name.replaceAll("`", "``")}\``;
const needsValue = (given) => !given.comparison.endsWith("null");
/** A filter as the API reads it. */
const written = (given) => `${quoted(given.column)} ${given.comparison}${needsValue(given) ? ` '${given.value.replaceAll("'", "''")}'` : ""}`;

export async function dataPanel(page, put) {
  const { asset, about } = page;
  const sliced = Boolean(about.keys) && about.script?.strategy !== "history";
  const state = { whole: !sliced || !page.key, snapshot: null, order: null, filters: [], columns: [], asked: 0, ...remembered(page) };
  const out = h("div"), bad = h("div"), filters = h("div", { class: "filters" });
  const wrongKey = h("span", { class: "wrong", role: "alert" });
  const key = h("input", { value: page.key ?? "", placeholder: about.keys?.example ?? "", "aria-label": "Partition", onchange: () => { page.key = typed() || null; state.whole = !page.key; load(); } });
  // A field keeps neither lines nor, here, spaces around; a key that was not typed has what it has.
  const typed = () => { const bare = (text) => (text ?? "").replaceAll(/[\r\n]/g, ""); return page.key && key.value === bare(page.key) ? page.key : key.value.trim(); };
  const one = h("button", { onclick: () => { state.whole = false; page.key = typed() || about.latest?.partition || about.current; key.value = page.key ?? ""; load(); } }, "This partition");
  const all = h("button", { onclick: () => { state.whole = true; load(); } }, "Whole table");
  const past = h("select", { "aria-label": "Snapshot", onchange: () => { state.snapshot = past.value || null; load(); } }, h("option", { value: "" }, "as it is now"));
  put(h("div", { class: "row" }, sliced ? [one, key, wrongKey, all] : null, past), filters, bad, out);
  get("snapshots", { asset, limit: 50 }).then((found) => {
    for (const each of found.snapshots) past.append(h("option", { value: each.snapshot }, `${new Date(each.at).toLocaleString()} · ${each.operation ?? ""} ${each.partition ?? ""}`));
    if (state.snapshot && ![...past.options].some((option) => option.value === state.snapshot)) past.append(h("option", { value: state.snapshot }, `snapshot ${state.snapshot}`));
    past.value = state.snapshot ?? "";
  }).catch((error) => { past.disabled = true; past.title = error.message; });

  const chosen = () => (state.whole ? null : page.key);
  const complete = () => state.filters.filter((each) => each.column && (!needsValue(each) || each.value !== ""));

  async function load() {
    const mine = ++state.asked;
    one.className = state.whole ? "" : "primary"; one.setAttribute("aria-pressed", String(!state.whole));
    all.className = state.whole ? "primary" : ""; all.setAttribute("aria-pressed", String(state.whole));
    show(wrongKey);
    remember(page, state);
    if (!out.childElementCount) show(out, h("p", { class: "faint" }, "Spark reads the first rows …"));
    out.setAttribute("aria-busy", "true");
    try {
      const found = await get("rows", { asset, partition: chosen(), snapshot: state.snapshot, limit: MOST, where: complete().map(written), order: state.order ? [`${quoted(state.order.column)}${state.order.descending ? " desc" : ""}`] : [] });
      if (mine !== state.asked) return;
      if (found.columns.length) state.columns = found.columns;
      fields();
      show(out, found.rows.length || found.columns.length && complete().length ? [
        rowsTable(found, { caption: `Rows of ${asset}`, order: state.order, onorder: (order) => { state.order = order; load(); } }),
        found.more ? h("p", { class: "faint" }, `These are the first ${count(found.rows.length)}. Sorting and filters look at all rows${state.whole ? " of the table" : " of the partition"}.`) : found.rows.length ? null : h("p", { class: "faint" }, "No row passes the filters.")] : await nothing());
    } catch (error) {
      if (mine !== state.asked) return;
      if (error.kind === "FilterRejected") { fields(error.message); show(out); }
      else if (error.kind === "KeyRejected") { show(wrongKey, error.message); show(out); show(bad); return; }
      else show(out, problem(error));
    } finally { if (mine === state.asked) out.removeAttribute("aria-busy"); }
    if (mine === state.asked) violations();
  }

  /** Why there are no rows, as far as the ledger knows. */
  async function nothing() {
    const partition = chosen();
    if (state.snapshot || (about.keys && !partition)) return empty("There are no rows.");
    const { state: known } = await get("key", { asset, partition }).catch(() => ({ state: null }));
    const what = partition ?? "The table";
    if (!known) return empty(`${what} has not been built yet.`, "Run it here, or with ", command(`tranche run ${asset}${partition ? ` --partition ${partition}` : ""}`));
    if (known.status !== "succeeded") return empty(`${what} has no rows: the latest attempt ${known.status === "failed" ? "failed" : "was cancelled"}.`, known.error ? known.error.split("\n")[0] : null, " ", runLink(known.run));
    return empty(`${what} has no rows: its latest run wrote none.`, moment(known.at), " ", runLink(known.run));
  }

  /** The filters as fields; what is wrong stands beside the one that it is about. */
  function fields(wrong = null) {
    const about = wrong === null ? -1 : state.filters.findIndex((each) => each.column && (wrong.includes(`'${each.column}'`) || wrong.includes(`with ${each.column};`) || wrong.startsWith(`${each.column} `)));
    const add = h("button", { onclick: () => { state.filters.push({ column: state.columns[0]?.name ?? "", comparison: "=", value: "" }); fields(); filters.querySelector(".row:last-of-type select")?.focus(); } }, "Add a filter");
    show(filters, state.filters.map((each, n) => {
      const column = h("select", { "aria-label": "Column", onchange: () => { each.column = column.value; changed(each); } }, [...new Set([...state.columns.map((known) => known.name), each.column])].map((name) => h("option", { value: name, selected: name === each.column }, name)));
      const comparison = h("select", { "aria-label": "Comparison", onchange: () => { each.comparison = comparison.value; value.hidden = !needsValue(each); changed(each); } }, COMPARISONS.map(([sign, word]) => h("option", { value: sign, selected: sign === each.comparison }, word)));
      const value = h("input", { value: each.value, hidden: !needsValue(each), "aria-label": "Value", placeholder: state.columns.find((known) => known.name === each.column)?.type.slice(0, 30) ?? "", onchange: () => { each.value = value.value; load(); } });
      return h("div", { class: "row" }, column, comparison, value, h("button", { class: "plain", "aria-label": `Remove the filter of ${each.column}`, onclick: () => { state.filters.splice(n, 1); fields(); load(); } }, "×"),
        n === about ? h("span", { class: "wrong", role: "alert" }, wrong) : null);
    }), h("div", { class: "row" }, state.columns.length || state.filters.length ? add : null, state.order ? h("span", { class: "faint" }, `sorted by ${state.order.column}${state.order.descending ? ", the last first" : ""}`) : null,
      wrong !== null && about < 0 ? [h("span", { class: "wrong", role: "alert" }, wrong), state.order ? h("button", { class: "plain", onclick: () => { state.order = null; load(); } }, "Do not sort") : null] : null));
  }
  const changed = (given) => { if (!needsValue(given) || given.value !== "") load(); };

  async function violations() {
    if (!state.whole || !about.keys) return violating(asset, chosen(), bad);
    const found = await get("tests", { asset }).catch(() => ({ keys: [] }));
    const broken = found.keys.filter((each) => each.tests.some((test) => test.violations));
    show(bad, broken.length ? h("p", {}, "Data tests found rows in ", broken.slice(0, 12).map((each) => [h("button", { class: "plain", onclick: () => { page.key = each.partition; key.value = each.partition; state.whole = false; load(); } }, badge(each.tests.find((test) => test.violations).status, each.partition)), " "]), broken.length > 12 ? `and ${count(broken.length - 12)} more` : "") : null);
  }
  await load();
}

/** What the address says of rows, so that it can be shared. */
function remembered(page) {
  const query = page.query;
  if (query?.get("tab") !== "data") return {};
  page.query = null;
  const found = {};
  if (/^\d+$/.test(query.get("snapshot") ?? "")) found.snapshot = query.get("snapshot");
  if (query.get("order")) found.order = { column: query.get("order"), descending: query.has("down") };
  try {
    const given = JSON.parse(query.get("filters") ?? "[]");
    found.filters = given.filter((each) => Array.isArray(each) && COMPARISONS.some(([sign]) => sign === each[1])).map(([column, comparison, value]) => ({ column: String(column), comparison, value: String(value ?? "") }));
  } catch { /* An address that somebody wrote by hand. */ }
  return found;
}

function remember(page, state) {
  const query = new URLSearchParams({ tab: "data", ...(page.key && !state.whole ? { key: page.key } : {}), ...(state.snapshot ? { snapshot: state.snapshot } : {}), ...(state.order ? { order: state.order.column } : {}), ...(state.order?.descending ? { down: "1" } : {}),
    ...(state.filters.length ? { filters: JSON.stringify(state.filters.map((each) => [each.column, each.comparison, each.value])) } : {}) });
  history.replaceState({}, "", `${location.pathname}?${query}`);
}

/** Shows the rows that violate data tests of a partition, where there are any. */
export async function violating(asset, partition, place) {
  try {
    const found = await get("violations", { asset, partition });
    const tests = found.tests.filter((test) => test.violations);
    show(place, tests.length ? h("section", {}, h("h2", {}, "Rows that violate data tests", partition ? ` in ${partition}` : ""),
      h("p", { class: "faint" }, found.status === "failed" ? "They were never published: readers see what was before." : "They were published all the same: the tests only warn.", found.passed_since ? [" A later run has passed, ", moment(found.passed_since), "."] : null),
      tests.map((test) => [
        h("p", {}, badge(test.status, test.test), ` ${many(test.violations, "row")}`, test.rows.length < test.violations && test.rows.length ? `, ${count(test.rows.length)} of them were kept` : ""), test.rows.length ? rowsTable(test, { caption: test.test }) : null])) : null);
  } catch { show(place); }
}
