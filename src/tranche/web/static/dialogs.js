// Dialogs: run, backfill, event. Each shows what would happen before it does.
import { get, post } from "./api.js";
import { badge, count, h, many, newId, note, short, show } from "./dom.js";
import { argumentFields, check, field, keyField } from "./fields.js";
import { calendar, staleToo } from "./grid.js";
import { segmentsOf } from "./keys.js";
import { go } from "./main.js";

/** A dialog with a form; `build` says what is in it and what happens when it is sent. */
function dialog(title, build) {
  const heading = newId("title");
  const wrong = h("p", { class: "wrong", role: "alert" });
  const form = h("form", { method: "dialog" });
  const box = h("dialog", { "aria-labelledby": heading }, form);
  const parts = build();
  const send = h("button", { type: "submit", class: "primary" }, parts.verb);
  /** What is wrong stands beside its field, where the error speaks of one. */
  function fail(error) {
    const at = parts.fieldOf?.(error);
    if (at) { at.wrong(error.message); at.input.focus(); } else show(wrong, error.message);
  }
  const preview = parts.preview ? h("button", { type: "button", onclick: () => { show(wrong); if (form.reportValidity()) parts.preview().catch(fail); } }, "Show the plan") : null;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    show(wrong);
    send.disabled = true;
    try { await parts.send(); box.close(); } catch (error) { fail(error); } finally { send.disabled = false; }
  });
  show(form, h("h2", { id: heading }, title), parts.fields, wrong,
    h("div", { class: "actions" }, preview, h("button", { type: "button", onclick: () => box.close() }, "Cancel"), send));
  box.addEventListener("close", () => { parts.ended?.(); box.remove(); });
  document.body.append(box);
  box.showModal();
  return box;
}

const KEY_FAULTS = ["KeyRejected", "BadBound", "NotPartitioned", "PayloadMissing", "StaticKeyMissing"];

/** `target` is a script or an asset, `keys` its kind of keys, `args` its arguments. */
export function runDialog({ target, keys, args, partition = null, current = null, given = {} }) {
  return dialog(`Run ${short(target)}`, () => {
    const key = keyField(keys, partition ?? current);
    const values = argumentFields(args, given);
    const only = check("Only this, nothing downstream");
    const exact = check("Only this key, without lookback");
    const planned = h("div", { "aria-live": "polite" });
    const body = () => ({
      target, partition: key.value() || null, arguments: values.value(),
      only: only.input.checked, exact: exact.input.checked,
    });
    return {
      verb: "Run",
      fields: [key.element, values.element, only.element, keys ? exact.element : null, planned],
      fieldOf: (error) => (KEY_FAULTS.includes(error.kind) && key.wrong ? key : error.kind === "ArgumentRejected" ? values.spokenOf(error.message) : null),
      preview: async () => { show(planned, planView(await post("runs", { ...body(), dry_run: true }))); },
      send: async () => {
        const begun = await post("runs", body());
        note(`Run ${begun.run} has begun.`);
        go(`/runs/${begun.run}`);
      },
    };
  });
}

function planView(plan) {
  const verdict = (step) => step.verdict === "run"
    ? h("span", { class: "faint" }, step.strategy ?? "")
    : badge(step.verdict === "skip" ? "skipped" : "failed", step.verdict);
  return h("div", { class: "plan", role: "region", "aria-label": "The plan", tabindex: "0" },
    plan.warnings.map((text) => h("div", { class: "faint" }, text)),
    h("ol", {}, plan.steps.map((step) => h("li", {},
      h("strong", {}, short(step.asset ?? step.script)), " ",
      step.partitions ? many(step.partitions.length, "key") : step.partition ?? "", " ", verdict(step),
      step.reason ? h("div", { class: "faint" }, step.reason) : null))));
}

/** A backfill: keys from a calendar or typed, which of them need it, the plan, and then it. */
export async function backfillDialog({ target, keys, args, from = "", to = "", list = null, onstart }) {
  const hasTime = keys && keys.kind !== "static" && keys.kind !== "dynamic";
  const grid = hasTime && !list ? await get("grid", { asset: target }).catch(() => null) : null;
  return dialog(`Backfill ${short(target)}`, () => {
    const range = rangeFields(target, keys, grid, { from, to }, changed);
    const values = keys?.kind === "static" && !list ? keys.values.map((value) => ({ value, ...check(value, true) })) : null;
    const missing = check("Missing and failed only", true), stale = check("Also stale ones"), only = check("Only this, nothing downstream");
    for (const each of [missing, stale, only, ...(values ?? [])]) each.input.addEventListener("change", changed);
    const given = argumentFields(args);
    const planned = h("div", { "aria-live": "polite" });
    const chosen = () => list ? { keys: list }
      : values ? { keys: values.filter((each) => each.input.checked).map((each) => each.value) }
        : range.value();
    const body = () => ({
      target, arguments: given.value(), all: !missing.input.checked, stale: stale.input.checked, only: only.input.checked, ...chosen(),
    });
    const fieldOf = (error) => (error.kind === "ArgumentRejected" ? given.spokenOf(error.message)
      : list || values ? null : range.spokenOf(error.message));
    let asked = 0, timer = null, planning = Promise.resolve();
    async function plan() {
      const mine = ++asked;
      const answer = post("backfills", { ...body(), dry_run: true });
      planning = answer.catch(() => {});
      const found = await answer;
      if (mine === asked) show(planned, backfillPlanView(found));
    }
    function changed() {
      clearTimeout(timer);
      timer = setTimeout(() => plan().catch((error) => {
        const at = fieldOf(error);
        if (at) { at.wrong(error.message); show(planned); } else show(planned, h("p", { class: "wrong", role: "alert" }, error.message));
      }), 250);
    }
    changed();
    return {
      verb: "Start",
      fields: [
        list ? h("p", {}, many(list.length, "partition"), `: ${list.slice(0, 6).join(", ")}${list.length > 6 ? " …" : ""}`)
          : values ? h("fieldset", {}, h("legend", {}, "Partitions"), values.map((each) => each.element)) : range.element,
        missing.element, stale.element, only.element, given.element, planned],
      fieldOf,
      ended: () => { clearTimeout(timer); range.stop(); },
      send: async () => {
        // Once it has begun, its keys are taken, and nobody could plan them any more.
        clearTimeout(timer);
        await planning;
        const begun = await post("backfills", body());
        note(begun.status === "succeeded" ? "There was nothing to do." : `Backfill of ${many(begun.partitions, "partition")} has begun.`);
        if (onstart) onstart(begun.backfill); else go(`/backfills/${begun.backfill}`);
      },
    };
  });
}

/** From and to, typed or picked on a calendar that says how each key stands. */
function rangeFields(target, keys, grid, { from, to }, changed) {
  const typed = () => { picker?.choose(start.input.value.trim(), end.input.value.trim()); changed(); };
  const start = field("From", h("input", { value: from, placeholder: keys?.example ?? "", oninput: typed }));
  const end = field("To", h("input", { value: to, placeholder: keys?.example ?? "", oninput: typed }));
  const place = keys?.kind === "composite" ? keys.dimensions.findIndex((each) => !["static", "dynamic"].includes(each.kind)) : -1;
  const timeOf = (key) => (place >= 0 ? segmentsOf(key)[place] : key);
  const picked = (chosen) => {
    start.input.value = timeOf(chosen[0]); end.input.value = timeOf(chosen.at(-1));
    for (const each of [start, end]) each.wrong();
    changed();
  };
  const picker = grid?.rows?.length ? calendar(grid, { onpick: picked, extend: true }) : null;
  let open = true;
  if (picker) {
    if (from && to) picker.choose(from, to);
    staleToo(picker, target, () => open).catch(() => {});
  }
  return {
    element: [
      picker ? h("div", { class: "field" }, h("span", { class: "label" }, "Pick a range"), picker.element) : null,
      h("div", { class: "row" }, start.element, end.element)],
    value: () => ({ start: start.input.value.trim() || null, end: end.input.value.trim() || null }),
    /** The field whose value an error names. */
    spokenOf: (text) => [end, start].find((each) => each.input.value.trim() && text.includes(`'${each.input.value.trim()}'`)),
    stop: () => { open = false; picker?.stop(); },
  };
}

function backfillPlanView(found) {
  const own = found.jobs.filter((job) => job.asset === found.asset);
  const said = found.partitions.length
    ? h("p", {}, h("strong", {}, many(found.partitions.length, "partition")), ` from ${found.partitions[0]} to ${found.partitions.at(-1)}, in ${many(own.length, "job")}.`)
    : h("p", {}, "Nothing of this range needs it.");
  return h("div", { class: "plan", tabindex: "0", role: "region", "aria-label": "The plan" },
    h("div", { class: "legend" }, Object.entries(found.standing).map(([standing, n]) => badge(standing, `${standing} ${count(n)}`))),
    said,
    h("ul", {}, found.jobs.map((job) => h("li", {}, `${short(job.asset)}: ${many(job.keys, "key")}, ${job.mode}`,
      job.reason ? h("span", { class: "faint" }, ` (${job.reason})`) : null))),
    found.warnings.map((text) => h("div", { class: "faint" }, text)));
}

export function eventDialog({ asset = "", keys = null, assets = [], onsent = () => {} }) {
  return dialog("Emit an event", () => {
    const options = newId("assets");
    const name = field("Asset", h("input", { value: asset, required: true, list: options, placeholder: "lake://main/raw_orders" }), "the address of what is new");
    const known = h("datalist", { id: options }, assets.map((value) => h("option", { value })));
    const typed = () => { const made = field("Partition", h("input", {}), "the key that is new; all if empty"); return { ...made, value: () => made.input.value.trim() }; };
    const fieldFor = (kind) => (kind ? keyField(kind, null, "Partition", { all: "all of it" }) : typed());
    let key = fieldFor(keys);
    const place = h("div", {}, key.element);
    // What is known has keys of a kind; of what is not, anything may be one.
    name.input.addEventListener("change", async () => {
      const chosen = name.input.value.trim();
      const about = assets.includes(chosen) ? await get("asset", { asset: chosen }).catch(() => null) : null;
      if (name.input.value.trim() !== chosen || (about?.keys?.kind ?? null) === (keys?.kind ?? null)) return;
      const before = key, focused = before.input === document.activeElement;
      keys = about?.keys ?? null;
      key = fieldFor(keys);
      // What somebody has typed by now stays.
      if (before.value()) key.input.value = before.value();
      show(place, key.element);
      if (focused) key.input.focus();
    });
    const payload = field("Payload", h("textarea", { rows: "3", placeholder: '{"order_id": 7}' }), "JSON that is kept with it; may be empty");
    return {
      verb: "Emit",
      fields: [name.element, known, place, payload.element],
      fieldOf: (error) => (error instanceof SyntaxError ? payload : KEY_FAULTS.includes(error.kind) ? key : error.kind === "UnknownTarget" || /address/.test(error.message) ? name : null),
      send: async () => {
        const sent = await post("events", { asset: name.input.value.trim(), partition: key.value() || null, payload: parsed(payload.input.value) });
        note(asksFor(sent));
        onsent(sent);
      },
    };
  });
}

function parsed(text) {
  if (!text.trim()) return null;
  try { return JSON.parse(text); } catch (error) { throw new SyntaxError(`the payload is no JSON: ${error.message}`); }
}

function asksFor(sent) {
  const asked = sent.asked.filter((each) => !each.rejected);
  if (!asked.length) return "No script asks for it.";
  const each = ({ asset, partitions }) => `${short(asset)}${partitions.length ? ` (${partitions.slice(0, 3).join(", ")})` : ""}`;
  return `It asks for ${asked.map(each).join(", ")}.`;
}
