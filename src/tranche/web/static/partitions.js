// The partitions of an asset: a calendar, or bars where keys are names, and what is known of one.
import { get } from "./api.js";
import { assetLink, badge, command, count, empty, h, many, moment, note, runLink, show } from "./dom.js";
import { runDialog } from "./dialogs.js";
import { calendar, keyDetail } from "./grid.js";
import { may, problem } from "./main.js";
import { plainTable } from "./table.js";

export async function partitionsPanel(page, put) {
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
