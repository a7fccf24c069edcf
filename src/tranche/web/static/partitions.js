// The partitions of an asset: a calendar, or bars where keys are names, and what is known of one.
import { get } from "./api.js";
import { assetLink, badge, command, count, empty, h, many, moment, note, runLink, show } from "./dom.js";
import { runDialog } from "./dialogs.js";
import { calendar, keyDetail, staleToo } from "./grid.js";
import { may, problem } from "./main.js";
import { plainTable } from "./table.js";

const RESTS = 15000;

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
    if (keys.length === 1) keySide(page, keys[0], side); else show(side, keys.length <= 60 ? h("div", { class: "row" }, keys.map((key) => h("button", { onclick: () => { page.key = key; keySide(page, key, side); } }, key))) : null);
  };
  const view = calendar(data, { onpick: picked, detail: (key) => keyDetail(asset, key) });
  let alive = true;
  page.ended.push(() => { alive = false; view.stop(); });
  put(data.keys && data.rows.length ? null : empty("No partition has been made yet.", "Run one, or backfill a range; on the command line: ", command(`tranche backfill ${asset}`)), view.element, acts, side);
  if (page.key) keySide(page, page.key, side);
  // Which are stale takes longer to find out, and is looked at again only now and then.
  let looking = false, looked = 0;
  async function stale() {
    if (looking || Date.now() - looked < RESTS) return;
    looking = true;
    try { await staleToo(view, asset, () => alive); } finally { looking = false; looked = Date.now(); }
  }
  stale().catch(() => {});
  page.refreshed = () => get("grid", { asset }).then((next) => { if (alive) { view.update(next); return stale(); } }).catch(() => {});
}

async function keySide(page, key, side) {
  const { asset, about } = page;
  // What a script would do that needs arguments, only these could say.
  const explains = about.script && !about.script.arguments.some((each) => each.required);
  show(side, h("h2", {}, key ?? "The table"), h("p", { class: "faint" }, "…"));
  try {
    const [found, told] = await Promise.all([get("key", { asset, partition: key }), explains ? get("explain", { target: about.asset, partition: key }).catch((error) => ({ problem: error.message })) : null]);
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

/** Keys that are names: a bar for each, as long as it has rows, in the colour of how it stands. */
async function namedKeys(page, put, side) {
  const { asset, about } = page;
  const list = h("div");
  let next = null, rows = [];
  const more = h("button", { onclick: () => load().catch((error) => note(error.message, "error")) }, "More");
  const find = h("input", { type: "search", placeholder: about.keys?.example ?? "", "aria-label": "Find a partition", oninput: () => { show(wrong); }, onchange: () => { const key = find.value.trim(); if (key) seek(key); } });
  const wrong = h("span", { class: "wrong", role: "alert" });
  const seek = (key) => {
    const keys = about.keys?.kind === "static" ? about.keys.values : null;
    if (keys && !keys.includes(key)) show(wrong, `there is no key '${key}'; its keys are ${keys.slice(0, 8).join(", ")}${keys.length > 8 ? " …" : ""}`);
    else { page.key = key; keySide(page, key, side); }
  };
  const pick = (key) => { page.key = key; keySide(page, key, side); };
  const tip = h("div", { class: "tip", hidden: true });
  let hovered = null;
  /** What is known of a key, beside its bar. */
  async function hover(row, event) {
    hovered = row;
    tip.hidden = row === null;
    if (row === null) return;
    show(tip, h("strong", {}, row.partition ?? "–"), h("div", {}, badge(row.standing)));
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 300)}px`; tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 130)}px`;
    if (row.standing === "missing") return;
    const more = await keyDetail(asset, row.partition).catch(() => []);
    if (hovered === row) tip.append(...more);
  }
  async function load() {
    const found = await get("partitions", { asset, after: next, limit: 200, stale: true });
    next = found.next;
    rows = [...rows, ...found.partitions];
    more.hidden = !found.more;
    bars();
  }
  function bars() {
    const known = new Set(rows.map((row) => row.partition));
    const missing = (about.keys?.kind === "static" ? about.keys.values : []).filter((key) => !known.has(key)).map((partition) => ({ partition, standing: "missing", rows: null }));
    const all = [...rows, ...missing];
    const most = Math.max(1, ...all.map((row) => row.rows ?? 0));
    show(list, all.length ? plainTable(["Partition", "Status", "#Rows", "", "When"], all.map((row) => [
      h("button", { class: "plain name", onclick: () => pick(row.partition) }, row.partition ?? "–"), badge(row.standing), count(row.rows),
      h("div", { class: "bar", role: "img", "aria-label": `${count(row.rows)} rows`, onpointerenter: (event) => hover(row, event), onpointerleave: () => hover(null) },
        row.rows === null ? null : h("span", { class: `is-${row.standing}`, style: { width: `${(100 * row.rows) / most}%` } })), moment(row.at)]), { caption: "Partitions" })
      : empty("No partition has been made yet.", about.script ? "Run one, or send an event with its key." : ""));
  }
  put(h("div", { class: "row" }, h("label", {}, "Find ", find), wrong), list, more, side, tip);
  await load();
  if (page.key) pick(page.key);
  // The first pages are looked at again; those that somebody opened further stay as they are.
  page.refreshed = () => get("partitions", { asset, limit: 200, stale: true }).then((found) => {
    const fresh = new Map(found.partitions.map((row) => [row.partition, row]));
    const known = new Set(rows.map((row) => row.partition));
    rows = [...found.partitions.filter((row) => !known.has(row.partition)), ...rows.map((row) => fresh.get(row.partition) ?? row)];
    bars();
  }).catch(() => {});
}
