// One asset: how it stands, and all that is known of it in tabs.
import { follow, get, post, remove } from "./api.js";
import { assetLink, assetLinks, assetPath, badge, empty, h, moment, note, runLink, short, show } from "./dom.js";
import { cancelButton, progressOf } from "./backfills.js";
import { dataPanel } from "./data.js";
import { backfillDialog, eventDialog, runDialog } from "./dialogs.js";
import { may, problem } from "./main.js";
import { codePanel, columnsPanel, eventsPanel, pendingPanel, runsPanel, schemaPanel, testsPanel } from "./panels.js";
import { partitionsPanel } from "./partitions.js";

const TABS = [
  ["partitions", "Partitions", partitionsPanel], ["data", "Data", dataPanel], ["schema", "Schema", schemaPanel],
  ["columns", "Columns", columnsPanel], ["tests", "Tests", testsPanel], ["runs", "Runs", runsPanel],
  ["pending", "Pending", pendingPanel], ["code", "Code", codePanel],
];
// Of what comes from outside, nobody here knows more than who reads it and what was said of it.
const OF_SOURCES = [["columns", "Columns", columnsPanel], ["events", "Events", eventsPanel]];

export async function assetPage(content, here) {
  const asset = here.args[0];
  here.title(short(asset));
  const about = await get("asset", { asset });
  if (here.left()) return;
  const head = h("div");
  const page = { asset: about.asset, about, key: here.query.get("key"), query: here.query, ended: [], refreshed: null };
  page.backfill = (range) => backfillDialog({
    target: page.asset, keys: page.about.keys, args: page.about.script?.arguments, ...range,
    onstart: () => { page.select("partitions"); refresh().catch(() => {}); },
  }).catch((error) => note(error.message, "error"));
  async function refresh() {
    page.about = await get("asset", { asset });
    header(page, head, refresh);
    page.refreshed?.();
  }
  header(page, head, refresh);
  show(content, head, tabbed(page, about.standing === "source" ? OF_SOURCES : TABS, here.query.get("tab")));
  here.leaving(() => { for (const act of page.ended.splice(0)) act(); });
  here.leaving(follow(() => refresh().catch(() => {})));
}

function header(page, head, refresh) {
  const { about } = page, { script } = about;
  const fact = (name, ...parts) => [h("dt", {}, name), h("dd", {}, parts)];
  show(head,
    h("div", { class: "row spread" },
      h("h1", {}, about.asset, " ", badge(about.standing), about.paused_since ? [" ", badge("paused")] : null),
      h("div", { class: "row" }, may("run") ? actions(page, refresh) : null)),
    script ? null : about.standing === "source" ? h("p", { class: "faint" }, "It comes from outside: no script of this project makes it.")
      : empty("No script of this project makes it any more. What is known of it is what the ledger and the table have."),
    h("dl", { class: "facts" },
      script ? fact("made by", h("a", { href: assetPath(about.asset, "code") }, script.path), script.job ? ` (job ${script.job})` : "") : null,
      script?.strategy ? fact("strategy", script.strategy) : null,
      script?.partitioning ? fact("partitioned", h("code", {}, script.partitioning)) : null,
      about.reads.length ? fact("made of", assetLinks(about.reads)) : null,
      about.read_by.length ? fact("goes into", assetLinks(about.read_by)) : null,
      about.schedules.length ? fact("next", about.schedules.map((each) => h("div", {}, each.paused_since ? "paused" : moment(each.next), ` (${each.schedule})`))) : null,
      about.latest ? fact("last written", moment(about.latest.at), " by run ", runLink(about.latest.run)) : null),
    about.backfills.map(backfillLine));
}

function actions(page, refresh) {
  const { about } = page, { script } = about;
  const event = h("button", { onclick: () => eventDialog({ asset: about.asset, keys: about.keys }) }, "Event…");
  if (!script) return about.standing === "source" ? event : null;
  const run = () => runDialog({ target: about.asset, keys: about.keys, args: script.arguments, current: page.key ?? about.current });
  const pause = () => (about.paused_since ? remove("pauses", { asset: about.asset }) : post("pauses", { asset: about.asset }))
    .then(refresh).catch((error) => note(error.message, "error"));
  return [
    h("button", { class: "primary", onclick: run }, "Run…"),
    about.keys ? h("button", { onclick: () => page.backfill({}) }, "Backfill…") : null,
    event,
    may("admin") ? h("button", { onclick: pause }, about.paused_since ? "Let it run again" : "Pause") : null,
  ];
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

/** The tabs and the panel of the one that is chosen. */
function tabbed(page, tabs, wanted) {
  const panel = h("div", { role: "tabpanel", id: "panel", tabindex: "-1" });
  const buttons = tabs.map(([name, title]) => h("button", { role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => select(name) }, title));
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "About this asset" }, buttons);
  let chosen = 0;
  function select(name) {
    chosen = Math.max(0, tabs.findIndex((tab) => tab[0] === name));
    for (const act of page.ended.splice(0)) act();
    page.refreshed = null;
    buttons.forEach((button, n) => {
      button.setAttribute("aria-selected", String(n === chosen));
      button.tabIndex = n === chosen ? 0 : -1;
    });
    const [tab, , draw] = tabs[chosen];
    panel.setAttribute("aria-labelledby", `tab-${tab}`);
    const query = new URLSearchParams({ tab, ...(page.key ? { key: page.key } : {}) });
    history.replaceState({}, "", `/assets/${encodeURIComponent(page.asset)}?${query}`);
    show(panel, h("p", { class: "faint" }, "…"));
    const mine = { alive: true };
    page.ended.push(() => { mine.alive = false; });
    const put = (...parts) => { if (mine.alive) show(panel, ...parts); };
    draw(page, put).catch((error) => put(problem(error)));
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    select(tabs[(chosen + step + tabs.length) % tabs.length][0]);
    buttons[chosen].focus();
  });
  page.select = select;
  select(wanted);
  return [list, panel];
}
