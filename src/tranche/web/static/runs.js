// Lists of runs.
import { follow, get } from "./api.js";
import { badge, command, empty, h, keyText, lasted, moment, note, runLink, show, targetLink } from "./dom.js";
import { go } from "./main.js";
import { plainTable } from "./table.js";

const STATUSES = ["running", "failed", "succeeded", "cancelled"];
const PAGE = 50;

export function runsTable(runs) {
  const titles = ["Run", "Target", "Partition", "Status", "Began", "Took", "Error"];
  return plainTable(titles, runs.map((run) => [
    runLink(run.run),
    targetLink(run.target),
    keyText(run.partition),
    badge(run.status),
    moment(run.started_at),
    run.status === "running" ? "" : lasted(run.started_at, run.finished_at),
    run.error ? h("span", { class: "wrong" }, run.error.split("\n")[0].slice(0, 160)) : "",
  ]), { caption: "Runs" });
}

export async function runsPage(content, here) {
  here.title("Runs");
  const status = here.query.get("status") ?? "", asset = here.query.get("asset") ?? "";
  const narrowed = (name, value) => {
    const given = Object.entries({ status, asset, [name]: value }).filter(([, each]) => each);
    go(given.length ? `/runs?${new URLSearchParams(given)}` : "/runs");
  };
  const how = h("select", { "aria-label": "Status", onchange: () => narrowed("status", how.value) },
    ["", ...STATUSES].map((value) => h("option", { value, selected: value === status }, value || "all")));
  const of = h("input", {
    type: "search", placeholder: "Of an asset or a script", "aria-label": "Of an asset or a script",
    value: asset, onchange: () => narrowed("asset", of.value.trim()),
  });
  const list = h("div");
  const more = h("button", { hidden: true, onclick: () => load(true).catch((error) => note(error.message, "error")) }, "Earlier runs");
  const wrong = h("span", { class: "wrong", role: "alert" });
  show(content, h("h1", {}, "Runs"), h("div", { class: "row" }, how, of, wrong), list, more);

  let shown = [], next = null;
  async function load(on = false) {
    const limit = on ? PAGE : Math.max(PAGE, Math.min(1000, shown.length));
    const found = await get("runs", { status, asset, before: on ? next : null, limit });
    shown = on ? [...shown, ...found.runs] : found.runs;
    next = found.next;
    more.hidden = !found.more;
    show(list, shown.length ? runsTable(shown) : nothing());
  }
  const nothing = () => empty(status || asset ? "There is no such run." : "Nothing has run yet.",
    "Open an asset of the ", h("a", { href: "/" }, "graph"), " and run it, or use ", command("tranche run"));
  try { await load(); } catch (error) {
    if (error.kind !== "UnknownTarget") throw error;
    of.setAttribute("aria-invalid", "true");
    show(wrong, error.message);
    show(list, nothing());
    return;
  }
  here.leaving(follow(() => load().catch(() => {})));
}
