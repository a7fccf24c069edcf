// Backfills: the list, and each by itself while its keys come in and after.
import { follow, get, post } from "./api.js";
import { assetLink, assetPath, badge, command, count, empty, h, lasted, many, moment, note, runLink, show } from "./dom.js";
import { calendar } from "./grid.js";
import { may } from "./main.js";
import { plainTable } from "./table.js";

const GOING = ["queued", "waiting", "running", "cancelling"];
const LISTED = 200;

export async function backfillsPage(content, here) {
  here.title("Backfills");
  const list = h("div");
  show(content, h("h1", {}, "Backfills"), list);
  async function load() {
    const { backfills } = await get("backfills");
    show(list, backfills.length ? plainTable(["Backfill", "Asset", "Status", "Began", "Took"], backfills.map((each) => [
      h("a", { href: `/backfills/${each.backfill}`, class: "mono" }, each.backfill), assetLink(each.asset), badge(each.status),
      moment(each.created_at), each.finished_at ? lasted(each.created_at, each.finished_at) : "",
    ]), { caption: "Backfills" }) : empty("Nobody has asked for a backfill yet.",
      "Open an asset of the ", h("a", { href: "/" }, "graph"), " and pick a range, or use ", command("tranche backfill ASSET")));
  }
  await load();
  here.leaving(follow(() => load().catch(() => {})));
}

/** How far a backfill is: a bar and a sentence. */
export function progressOf(found) {
  const sums = {};
  for (const key of found.partitions) sums[key.status] = (sums[key.status] ?? 0) + 1;
  const done = sums.succeeded ?? 0, failed = sums.failed ?? 0, all = found.partitions.length;
  return {
    done, failed, all,
    bar: h("progress", { max: String(all || 1), value: String(done + failed), "aria-label": "Progress of the backfill" }),
    said: `${count(done)} of ${many(all, "partition")} done${failed ? `, ${count(failed)} failed` : ""}`,
  };
}

export const cancelButton = (id, then = () => {}) => h("button", { class: "danger", onclick: () =>
  post(`backfills/${id}/cancel`).then(() => { note("It ends after the commit at hand."); then(); }).catch((error) => note(error.message, "error")) }, "Cancel");

export async function backfillPage(content, here) {
  const id = here.args[0];
  here.title(`Backfill ${id}`);
  const head = h("div"), place = h("div"), table = h("div");
  show(content, head, place, table);
  let view, going = true;
  async function load() {
    const found = await get(`backfills/${encodeURIComponent(id)}`);
    going = GOING.includes(found.status);
    header(found);
    if (view === undefined) view = await drawn(found);
    if (view) view.mark(found.partitions);
    else if (found.partitions.length) show(place, named(found));
    const failed = found.partitions.filter((key) => key.status === "failed");
    show(table, failed.length ? [h("h2", {}, "Failed"), h("ul", {}, failed.slice(0, LISTED).map((key) => h("li", {},
      h("a", { href: `${assetPath(found.asset, "partitions")}&key=${encodeURIComponent(key.partition)}` }, key.partition)))),
      failed.length > LISTED ? h("p", { class: "faint" }, `and ${many(failed.length - LISTED, "more key")}`) : null] : null);
  }
  function header(found) {
    const { bar, said, done, failed, all } = progressOf(found);
    const resume = () => post(`backfills/${id}/resume`).then(() => { note("It goes on."); return load(); }).catch((error) => note(error.message, "error"));
    const acts = !may("run") ? null : going ? cancelButton(id, load)
      : found.status !== "succeeded" ? h("button", { class: "primary", onclick: resume }, failed || found.status === "failed" ? "Retry failed" : "Resume") : null;
    const follows = found.status === "failed" && done === all ? " What is made of them has failed: its run says where." : "";
    show(head,
      h("div", { class: "row spread" }, h("h1", {}, "Backfill of ", assetLink(found.asset), " ", badge(found.status)), h("div", { class: "row" }, acts)),
      h("p", {}, said, ".", follows, " Began ", moment(found.created_at), found.run ? [", run ", runLink(found.run)] : null), bar);
  }
  /** Keys that have no calendar, one beside the other. */
  function named(found) {
    const more = found.partitions.length - LISTED;
    return h("div", { class: "legend", role: "region", "aria-label": "Partitions" }, found.partitions.slice(0, LISTED).map((key) =>
      h("a", { href: `${assetPath(found.asset, "partitions")}&key=${encodeURIComponent(key.partition)}` }, badge(key.status, key.partition))),
    more > 0 ? h("span", { class: "faint" }, `and ${many(more, "more key")}`) : null);
  }
  async function drawn(found) {
    const keys = found.partitions.map((key) => key.partition);
    const about = await get("asset", { asset: found.asset }).catch(() => null);
    if (!about?.keys || ["static", "dynamic"].includes(about.keys.kind)) return null;
    const grid = await get("grid", { asset: found.asset, start: keys[0], end: keys.at(-1) }).catch(() => null);
    if (!grid?.rows?.length) return null;
    const made = calendar(grid, {});
    here.leaving(() => made.stop());
    show(place, made.element);
    return made;
  }
  await load();
  // One with many keys takes its time; who asks again meanwhile waits the longer.
  let loading = false;
  const look = () => { loading = true; return load().catch(() => {}).finally(() => { loading = false; }); };
  here.leaving(follow(() => (loading ? null : look())));
  const timer = setInterval(() => { if (going && !loading && !document.hidden) look(); }, 1500);
  here.leaving(() => clearInterval(timer));
}
