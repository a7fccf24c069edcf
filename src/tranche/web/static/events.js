// What asks for runs: events, schedules, and the keys that wait.
import { follow, get, post, remove } from "./api.js";
import { assetLink, assetLinks, badge, command, empty, h, keyText, moment, note, runLink, show } from "./dom.js";
import { eventDialog } from "./dialogs.js";
import { may } from "./main.js";
import { plainTable } from "./table.js";

/** Events from outside; `changed` is called when one was taken back. */
export function eventsTable(events, changed) {
  const retract = (event) => post(`events/${event.event}/retract`).then(changed).catch((error) => note(error.message, "error"));
  return plainTable(["Event", "Asset", "Partition", "When", "Payload", ""], events.map((event) => [
    h("span", { class: "mono" }, event.event), assetLink(event.asset), keyText(event.partition ?? "all"), moment(event.at),
    event.payload === null ? "" : h("code", {}, JSON.stringify(event.payload).slice(0, 120)),
    event.retracted_at ? badge("cancelled", "retracted") : may("admin") ? h("button", { onclick: () => retract(event) }, "Retract") : "",
  ]), { caption: "Events" });
}

export async function eventsPage(content, here) {
  here.title("Events");
  const list = h("div");
  const more = h("button", { hidden: true, onclick: () => load(true).catch((error) => note(error.message, "error")) }, "Earlier events");
  const emit = async () => {
    const { nodes } = await get("overview").catch(() => ({ nodes: [] }));
    eventDialog({ assets: nodes.filter((node) => node.kind !== "script").map((node) => node.id), onsent: () => load() });
  };
  show(content, h("div", { class: "row spread" }, h("h1", {}, "Events"),
    may("run") ? h("button", { class: "primary", onclick: emit }, "Emit an event…") : null), list, more);
  let shown = [], next = null;
  async function load(on = false) {
    const found = await get("events", { before: on ? next : null });
    shown = on ? [...shown, ...found.events] : found.events;
    next = found.next;
    more.hidden = !found.more;
    show(list, shown.length ? eventsTable(shown, () => load()) : empty("No event has come from outside yet.",
      "Emit one here, with ", command("tranche event emit ASSET"), " or with POST /api/events: it starts what waits for it."));
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}

export async function schedulesPage(content, here) {
  here.title("Schedules");
  const list = h("div");
  show(content, h("h1", {}, "Schedules"), list);
  async function load() {
    const found = await get("schedules");
    show(list, found.schedules.length ? plainTable(["Asset", "Schedule", "Next", "At", ""], found.schedules.map((each) => [
      assetLink(each.asset), each.schedule, each.paused_since ? badge("paused") : moment(each.next), new Date(each.next).toLocaleString(),
      may("admin") ? h("button", { onclick: () => (each.paused_since ? remove("pauses", { asset: each.asset }) : post("pauses", { asset: each.asset })).then(load).catch((error) => note(error.message, "error")) }, each.paused_since ? "Resume" : "Pause") : ""]), { caption: "Schedules" })
      : empty("No script has a schedule.", "A line ", command('-- on schedule "0 6 * * *"'), " gives it one."));
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}

export function pendingTable(rows) {
  return plainTable(["Asset", "Partition", "Status", "Since", "Asked for by", "Waits for", ""], rows.map((row) => [
    assetLink(row.asset), keyText(row.partition ?? "–"), badge(row.status), moment(row.since), assetLinks(row.asked_by),
    row.lacking.length ? row.lacking.map((text) => h("div", {}, text)) : row.run ? runLink(row.run) : "a free worker", why(row)]), { caption: "Pending keys" });
}

const EXPLAINED = 20;
// Of how many keys it is told at once what has arrived; of others when somebody asks.

/** Keys of one asset that wait, each with the inputs that have arrived and those that are missing. */
export async function pendingInputs(rows) {
  const told = rows.slice(0, EXPLAINED).map((row) => get("explain", { target: row.asset, partition: row.partition }).then(({ story }) => inputs(story), (error) => error.message));
  const known = await Promise.all(told);
  return plainTable(["Partition", "Status", "Since", "Asked for by", "Inputs"], rows.map((row, n) => [
    keyText(row.partition ?? "–"), badge(row.status), moment(row.since), assetLinks(row.asked_by),
    known[n] ?? [row.lacking.map((text) => h("div", {}, text)), why(row)]]), { caption: "Pending keys" });
}

/** Which inputs of a key are there, and which are not. */
function inputs(story) {
  const some = (keys, number) => (number ? ` ${keys.slice(0, 5).join(", ")}${number > 5 ? " …" : ""}` : "");
  const arrived = (need) => need.there_count || need.asked || need.enough;
  const lacking = (need) => need.missing_count || (need.triggers && !arrived(need));
  return [h("div", {}, story.verdict, story.remedy ? ` ${story.remedy}` : ""), h("ul", { class: "inputs" }, story.needs.map((need) => h("li", {}, assetLink(need.asset), " ",
    arrived(need) ? badge("succeeded", `arrived${some(need.there, need.there_count)}`) : need.source && !need.triggers ? badge("source") : null, " ",
    lacking(need) ? badge("missing", `missing${some(need.missing, need.missing_count)}`) : null)))];
}

function why(row) {
  const out = h("div");
  return h("div", {}, h("button", { onclick: async () => {
    try {
      const { story } = await get("explain", { target: row.asset, partition: row.partition });
      show(out, inputs(story));
    } catch (error) { show(out, error.message); }
  } }, "Why?"), out);
}

export async function pendingPage(content, here) {
  here.title("Pending");
  const list = h("div");
  show(content, h("h1", {}, "Pending keys"), list);
  async function load() {
    const found = await get("pending", { limit: 200 });
    show(list, Object.entries(found.paused).map(([asset, at]) => h("p", {}, badge("paused"), " ", assetLink(asset), " since ", moment(at))),
      found.pending.length ? pendingTable(found.pending) : empty("No key waits for anything.", "What schedules and events ask for shows here until it runs."), found.more ? h("p", { class: "faint" }, "There are more.") : null);
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}
