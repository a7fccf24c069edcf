// Dialogs: run, backfill, event. Each shows what would happen before it does.
import { get, post } from "./api.js";
import { badge, count, h, many, newId, note, short, show } from "./dom.js";
import { calendar } from "./grid.js";
import { go } from "./main.js";

/** A dialog with a form; `build` fills it and answers what to do when it is sent. */
function dialog(title, build) {
  const heading = newId("title");
  const wrong = h("p", { class: "wrong", role: "alert" });
  const form = h("form", { method: "dialog" });
  const box = h("dialog", { "aria-labelledby": heading }, form);
  const close = () => { box.close(); };
  const parts = build({ wrong, close });
  const send = h("button", { type: "submit", class: "primary" }, parts.verb);
  const preview = parts.preview ? h("button", { type: "button", onclick: () => parts.preview().catch(fail) }, "Show the plan") : null;
  function fail(error) { show(wrong, error.message); }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    show(wrong);
    send.disabled = true;
    try { await parts.send(); box.close(); } catch (error) { fail(error); } finally { send.disabled = false; }
  });
  show(form, h("h2", { id: heading }, title), parts.fields, wrong,
    h("div", { class: "actions" }, preview, h("button", { type: "button", onclick: close }, "Cancel"), send));
  box.addEventListener("close", () => { parts.ended?.(); box.remove(); });
  document.body.append(box);
  box.showModal();
  return box;
}

function field(label, input, hint) {
  input.id ||= newId("field");
  const about = hint ? newId("hint") : null;
  if (about) input.setAttribute("aria-describedby", about);
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input, hint ? h("span", { class: "hint", id: about }, hint) : null);
}

const check = (label, checked = false) => {
  const input = h("input", { type: "checkbox", id: newId("check"), checked });
  return { input, element: h("div", { class: "row" }, input, h("label", { for: input.id }, label)) };
};

/** A field for a key of some kind; `value()` is what was chosen, as a key. */
export function keyField(keys, current, label = "Partition") {
  if (!keys) return { element: null, value: () => null };
  if (keys.kind === "composite") {
    const parts = keys.dimensions.map((each) => ({ name: each.name, ...keyField(each, null, each.name) }));
    const whole = h("input", { value: current ?? "", placeholder: keys.example });
    const join = () => { const all = parts.map((part) => part.value()); if (all.every(Boolean)) whole.value = all.join("|"); };
    for (const part of parts) part.element.addEventListener("input", join);
    return { element: h("div", { class: "field" }, h("div", { class: "row" }, parts.map((part) => part.element)), field(label, whole, `as in ${keys.example}`)), value: () => whole.value.trim() };
  }
  if (keys.kind === "static") {
    const input = h("select", {}, keys.values.map((value) => h("option", { value, selected: value === current }, value)));
    return { element: field(label, input), value: () => input.value, input };
  }
  // Keys in the usual form of their kind have a field of the browser for it; others are typed.
  const kind = { daily: "%Y-%m-%d", monthly: "%Y-%m", weekly: "%G-W%V", hourly: "%Y-%m-%dT%H" }[keys.kind] === keys.format
    ? { daily: "date", monthly: "month", weekly: "week", hourly: "text" }[keys.kind] : "text";
  const input = h("input", { type: kind, value: current ?? "", placeholder: keys.example, min: kind === "date" ? keys.start : null, max: kind === "date" ? keys.end : null });
  const zone = keys.tz ? `, time zone ${keys.tz}` : "";
  return { element: field(label, input, `${keys.kind}, as in ${keys.example}${zone}`), value: () => input.value.trim(), input };
}

function argumentFields(args) {
  const inputs = (args ?? []).map((each) => {
    const type = /^(tinyint|smallint|int|bigint)/.test(each.type) ? "number" : { date: "date", boolean: "select" }[each.type] ?? "text";
    const input = type === "select"
      ? h("select", {}, ["", "true", "false"].map((value) => h("option", { value }, value || "default")))
      : h("input", { type, placeholder: each.default ?? "", required: each.required });
    return { name: each.name, input, element: field(`$${each.name}`, input, `${each.type}${each.required ? "" : `, default ${each.default ?? "NULL"}`}`) };
  });
  return {
    element: inputs.map((each) => each.element),
    value: () => Object.fromEntries(inputs.filter((each) => each.input.value !== "").map((each) => [each.name, each.input.value])),
  };
}

function planView(plan) {
  return h("div", { class: "plan", role: "region", "aria-label": "The plan", tabindex: "0" },
    plan.warnings.map((text) => h("div", { class: "faint" }, text)),
    h("ol", {}, plan.steps.map((step) => h("li", {}, h("strong", {}, short(step.asset ?? step.script)), " ",
      step.partitions ? many(step.partitions.length, "key") : step.partition ?? "", " ",
      step.verdict === "run" ? h("span", { class: "faint" }, step.strategy ?? "") : badge(step.verdict === "skip" ? "skipped" : "failed", step.verdict),
      step.reason ? h("div", { class: "faint" }, step.reason) : null))));
}

/** `target` is a script or an asset, `keys` its kind of keys, `args` its arguments. */
export function runDialog({ target, keys, args, partition = null, current = null }) {
  return dialog(`Run ${short(target)}`, () => {
    const key = keyField(keys, partition ?? current);
    const given = argumentFields(args);
    const only = check("Only this, nothing downstream");
    const exact = check("Only this key, without lookback");
    const planned = h("div");
    const body = () => ({ target, partition: key.value() || null, arguments: given.value(), only: only.input.checked, exact: exact.input.checked });
    return {
      verb: "Run",
      fields: [key.element, given.element, only.element, keys ? exact.element : null, planned],
      preview: async () => { show(planned, planView(await post("runs", { ...body(), dry_run: true }))); },
      send: async () => { const begun = await post("runs", body()); note(`Run ${begun.run} has begun.`); go(`/runs/${begun.run}`); },
    };
  });
}

/** A backfill: keys from a calendar or typed, which of them need it, the plan, and then it. */
export async function backfillDialog({ target, keys, args, from = "", to = "", list = null, onstart }) {
  const grid = keys && keys.kind !== "static" && keys.kind !== "dynamic" && !list ? await get("grid", { asset: target, stale: true }).catch(() => null) : null;
  return dialog(`Backfill ${short(target)}`, () => {
    const start = h("input", { value: from, placeholder: keys?.example ?? "", oninput: changed });
    const end = h("input", { value: to, placeholder: keys?.example ?? "", oninput: changed });
    const every = check("Missing and failed only", true);
    const stale = check("Also stale ones");
    const only = check("Only this, nothing downstream");
    const values = keys?.kind === "static" && !list ? keys.values.map((value) => ({ value, ...check(value, true) })) : null;
    const given = argumentFields(args);
    const planned = h("div", { "aria-live": "polite" });
    for (const each of [every, stale, only, ...(values ?? [])]) each.input.addEventListener("change", changed);
    const picker = grid?.rows?.length ? calendar(grid, { onpick: (picked) => { start.value = timeOf(picked[0]); end.value = timeOf(picked.at(-1)); changed(); } }) : null;
    const place = keys?.kind === "composite" ? keys.dimensions.findIndex((each) => !["static", "dynamic"].includes(each.kind)) : -1;
    const timeOf = (key) => (place >= 0 ? key.split("|")[place] : key);
    const body = () => ({
      target, arguments: given.value(), all: !every.input.checked, stale: stale.input.checked, only: only.input.checked,
      ...(list ? { keys: list } : values ? { keys: values.filter((each) => each.input.checked).map((each) => each.value) } : { start: start.value.trim() || null, end: end.value.trim() || null }),
    });
    let asked = 0, timer = null;
    async function plan() {
      const mine = ++asked;
      const found = await post("backfills", { ...body(), dry_run: true });
      if (mine !== asked) return;
      const downstream = found.jobs.filter((job) => job.asset !== found.asset);
      show(planned, h("div", { class: "plan", tabindex: "0", role: "region", "aria-label": "The plan" },
        h("div", { class: "legend" }, Object.entries(found.standing).map(([standing, n]) => badge(standing, `${standing} ${count(n)}`))),
        found.partitions.length ? h("p", {}, h("strong", {}, many(found.partitions.length, "partition")), ` from ${found.partitions[0]} to ${found.partitions.at(-1)}, in ${many(found.jobs.length - downstream.length, "job")}.`) : h("p", {}, "Nothing of this range needs it."),
        h("ul", {}, found.jobs.map((job) => h("li", {}, `${short(job.asset)}: ${many(job.keys, "key")}, ${job.mode}`, job.reason ? h("span", { class: "faint" }, ` (${job.reason})`) : null))),
        found.warnings.map((text) => h("div", { class: "faint" }, text))));
    }
    function changed() {
      clearTimeout(timer);
      timer = setTimeout(() => plan().catch((error) => show(planned, h("p", { class: "wrong", role: "alert" }, error.message))), 250);
    }
    changed();
    return {
      verb: "Start",
      fields: [
        list ? h("p", {}, many(list.length, "partition"), `: ${list.slice(0, 6).join(", ")}${list.length > 6 ? " …" : ""}`)
          : values ? h("fieldset", {}, h("legend", {}, "Partitions"), values.map((each) => each.element))
            : [picker ? h("div", { class: "field" }, h("span", { class: "label" }, "Pick a range"), picker.element) : null,
              h("div", { class: "row" }, field("From", start), field("To", end))],
        every.element, stale.element, only.element, given.element, planned],
      ended: () => picker?.stop(),
      send: async () => {
        const begun = await post("backfills", body());
        note(begun.status === "succeeded" ? "There was nothing to do." : `Backfill of ${many(begun.partitions.length ?? begun.partitions, "partition")} has begun.`);
        if (onstart) onstart(begun.backfill); else go(`/backfills/${begun.backfill}`);
      },
    };
  });
}

export function eventDialog({ asset = "", keys = null, assets = [], onsent = () => {} }) {
  return dialog("Emit an event", () => {
    const options = newId("assets");
    const name = h("input", { value: asset, required: true, list: options, placeholder: "lake://main/raw_orders" });
    const known = h("datalist", { id: options }, assets.map((value) => h("option", { value })));
    const key = keys ? keyField(keys, null) : (() => { const input = h("input", {}); return { element: field("Partition", input, "the key that is new; all if empty"), value: () => input.value.trim() }; })();
    const payload = h("textarea", { rows: "3", placeholder: '{"order_id": 7}' });
    return {
      verb: "Emit",
      fields: [field("Asset", name, "the address of what is new"), known, key.element, field("Payload", payload, "JSON that is kept with it; may be empty")],
      send: async () => {
        let given = null;
        if (payload.value.trim()) {
          try { given = JSON.parse(payload.value); } catch (error) { throw new Error(`the payload is no JSON: ${error.message}`); }
        }
        const sent = await post("events", { asset: name.value.trim(), partition: key.value() || null, payload: given });
        const asked = sent.asked.filter((each) => !each.rejected);
        note(asked.length ? `It asks for ${asked.map((each) => `${short(each.asset)}${each.partitions.length ? ` (${each.partitions.slice(0, 3).join(", ")})` : ""}`).join(", ")}.` : "No script asks for it.");
        onsent(sent);
      },
    };
  });
}
