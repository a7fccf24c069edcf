// Fields of forms: keys of each kind, arguments of each type, and what is wrong beside the field.
import { h, newId, show } from "./dom.js";
import { escaped } from "./keys.js";

/** A labelled input; `wrong(text)` says beside it what is wrong, and nothing takes that back. */
export function field(label, input, hint) {
  input.id ||= newId("field");
  const about = newId("hint"), fault = newId("fault");
  input.setAttribute("aria-describedby", hint ? `${about} ${fault}` : fault);
  const said = h("span", { class: "wrong", id: fault, role: "alert" });
  const element = h("div", { class: "field" }, h("label", { for: input.id }, label), input,
    hint ? h("span", { class: "hint", id: about }, hint) : null, said);
  const wrong = (text = "") => {
    show(said, text);
    if (text) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => wrong());
  return { element, input, wrong };
}

export function check(label, checked = false) {
  const input = h("input", { type: "checkbox", id: newId("check"), checked });
  return { input, element: h("div", { class: "row" }, input, h("label", { for: input.id }, label)) };
}

// Keys in the usual form of their kind have a field of the browser for it; others are typed.
const USUAL = {
  daily: ["%Y-%m-%d", "date"], monthly: ["%Y-%m", "month"], weekly: ["%G-W%V", "week"],
};

/** A field for a key of some kind: `value()` is what was chosen, as a key. `all` is what no key means,
 *  where it means something. */
export function keyField(keys, current, label = "Partition", { all = null } = {}) {
  if (!keys) return { element: null, value: () => null, wrong: null };
  if (keys.kind === "composite") return compositeField(keys, current, label);
  if (keys.kind === "static") {
    const chosen = field(label, h("select", {}, all ? h("option", { value: "" }, all) : null, keys.values.map((value) => h("option", { value, selected: value === current }, value))));
    return { ...chosen, value: () => chosen.input.value };
  }
  if (keys.kind === "hourly" && keys.format === "%Y-%m-%dT%H") return hourField(keys, current, label);
  const [format, type] = USUAL[keys.kind] ?? [];
  const usual = format === keys.format;
  const input = h("input", {
    type: usual ? type : "text", value: current ?? "", placeholder: keys.example,
    min: type === "date" ? keys.start : null, max: type === "date" ? keys.end : null,
  });
  const made = field(label, input, all ? `${hintOf(keys)}; ${all} if empty` : hintOf(keys));
  return { ...made, value: typedOr(input, current) };
}

/** What was typed, or what was there before: a key may have spaces and lines that no field keeps. */
function typedOr(input, current) {
  const shown = input.value;
  return () => (current && input.value === shown ? current : input.value.trim());
}

const hintOf = (keys) => `${keys.kind}, as in ${keys.example}${keys.tz ? `, time zone ${keys.tz}` : ""}`;

function hourField(keys, current, label) {
  const made = field(label, h("input", { type: "datetime-local", step: "3600", value: current ? `${current}:00` : "" }), hintOf(keys));
  return { ...made, value: () => made.input.value.slice(0, 13) };
}

function compositeField(keys, current, label) {
  const parts = keys.dimensions.map((each) => keyField(each, null, each.name));
  const whole = field(label, h("input", { value: current ?? "", placeholder: keys.example }), `as in ${keys.example}`);
  for (const part of parts) {
    part.element.addEventListener("input", () => {
      const all = parts.map((each) => each.value());
      if (all.every(Boolean)) whole.input.value = all.map(escaped).join("|");
    });
  }
  const element = h("div", { class: "field" }, h("div", { class: "row" }, parts.map((part) => part.element)), whole.element);
  return { ...whole, element, value: typedOr(whole.input, current) };
}

/** Fields for arguments by their types; `given` has values to begin with. */
export function argumentFields(args, given = {}) {
  const fields = (args ?? []).map((each) => {
    const value = given[each.name] ?? "";
    const hint = `${each.type}${each.required ? "" : `, default ${each.default ?? "NULL"}`}`;
    return { name: each.name, ...field(`$${each.name}`, argumentInput(each, value), hint) };
  });
  return {
    element: fields.map((each) => each.element),
    /** The field of the argument that an error speaks of. */
    spokenOf: (text) => fields.find((each) => text.includes(`$${each.name}`) || text.includes(`'${each.name}'`)),
    value: () => Object.fromEntries(fields.filter((each) => each.input.value !== "").map((each) => [each.name, each.input.value])),
  };
}

function argumentInput(argument, value) {
  if (argument.type === "boolean") {
    return h("select", {}, ["", "true", "false"].map((each) => h("option", { value: each, selected: each === value }, each || "default")));
  }
  const whole = /^(tinyint|smallint|int|bigint)/.test(argument.type), number = whole || /^(float|double|decimal)/.test(argument.type);
  const type = number ? "number" : argument.type === "date" ? "date" : /^timestamp/.test(argument.type) ? "datetime-local" : "text";
  // A time with an offset is typed: the field of the browser would lose it.
  const kept = type !== "datetime-local" || !value || /^[-\d]{10}T[:\d]{5,8}$/.test(value) ? type : "text";
  return h("input", { type: kept, value, step: kept === "datetime-local" ? "1" : number && !whole ? "any" : null, placeholder: argument.default ?? "", required: argument.required });
}
