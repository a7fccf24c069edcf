// Rows as a table: values that can be opened, columns that can be sorted by.
import { count, h, many, newId, show } from "./dom.js";

const NUMBERS = /^(tinyint|smallint|int|bigint|float|double|decimal)/i;
const NESTED = /^(array|map|struct|variant|list|tuple|dict)/;
const BYTES = /^(binary|bytes|bytearray)$/;
const SHORT = 120, FEW_BYTES = 16, CELLS = 12000, WHOLE = 100000;

/**
 * `found` is what the API says of rows: columns with types, and values in their order. With
 * `onorder` somebody else sorts them, over more rows than are here; else these are sorted.
 */
export function rowsTable(found, { caption = "Rows", order = null, onorder = null } = {}) {
  const { columns, rows } = found;
  let sorted = order, filter = "", shown = rows, drawn = 0;
  const body = h("tbody");
  const said = h("span", { class: "faint", role: "status" });
  const search = onorder ? null : h("input", { type: "search", placeholder: "Filter these rows", "aria-label": "Filter these rows", oninput: (event) => { filter = event.target.value.toLowerCase(); fill(); } });
  const signs = columns.map(() => h("span", { "aria-hidden": "true" }));
  const heads = columns.map((column, n) => h("th", { class: NUMBERS.test(column.type) ? "number" : "", scope: "col" },
    h("button", { onclick: () => turn(column.name), title: `Sort by ${column.name}` }, column.name, " ", signs[n]), h("span", { class: "type", title: column.type }, column.type.length > 40 ? `${column.type.slice(0, 40)}…` : column.type)));

  /** Up, then down, then as they come. */
  function turn(column) {
    sorted = sorted?.column !== column ? { column, descending: false } : sorted.descending ? null : { column, descending: true };
    if (onorder) onorder(sorted); else fill();
  }
  function fill() {
    shown = filter ? rows.filter((row) => row.some((value) => value !== null && textOf(value).toLowerCase().includes(filter))) : rows;
    const at = columns.findIndex((column) => column.name === sorted?.column);
    if (!onorder && at >= 0) shown = inOrder(shown, at, columns[at].type, sorted.descending);
    heads.forEach((head, n) => {
      const way = n !== at ? "none" : sorted.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", way);
      show(signs[n], { none: "", ascending: "▲", descending: "▼" }[way]);
    });
    show(body);
    drawn = 0;
    more();
    show(said, filter ? `${count(shown.length)} of ${count(rows.length)}` : many(rows.length, "row"), found.more ? ", and there are more" : "");
  }
  /** Rows are made as somebody comes near them: two hundred columns are many cells. */
  function more() {
    const until = Math.min(shown.length, drawn + Math.max(20, Math.floor(CELLS / Math.max(1, columns.length))));
    for (; drawn < until; drawn++) body.append(h("tr", {}, shown[drawn].map((value, n) => cell(value, columns[n]))));
  }
  const box = h("div", { class: "scroll high", tabindex: "0", role: "region", "aria-label": caption, onscroll: () => { if (drawn < shown.length && box.scrollTop + box.clientHeight > box.scrollHeight - 400) more(); } },
    h("table", {}, h("caption", { class: "skip" }, caption), h("thead", {}, h("tr", {}, heads)), body));
  fill();
  return h("div", {}, h("div", { class: "row" }, search, said), box);
}

function inOrder(rows, at, type, descending) {
  const number = NUMBERS.test(type);
  const key = (row) => (row[at] === null ? null : number ? Number(textOf(row[at])) : textOf(row[at]));
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === y) return 0;
    if (x === null) return 1;
    if (y === null) return -1;
    return (x < y ? -1 : 1) * (descending ? -1 : 1);
  });
}

const textOf = (value) => (value !== null && typeof value === "object" ? value.text : String(value));

function cell(value, column) {
  // What is not there is told apart from a text that says so.
  if (value === null) return h("td", { class: "cell null", title: "no value" }, "NULL");
  if (value === "") return h("td", { class: "cell null", title: "a text without characters" }, "''");
  const text = textOf(value), bytes = BYTES.test(column.type), cut = typeof value === "object" ? value.length : null;
  const length = cut ?? (bytes ? (text.length - 2) / 2 : text.length);
  const short = bytes ? (length > FEW_BYTES ? `${text.slice(0, 2 + FEW_BYTES * 2)}… ${many(length, "byte")}` : text) : text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
  const opens = short !== text || cut !== null || (NESTED.test(column.type) && text.length > 24) || text.includes("\n");
  return h("td", { class: NUMBERS.test(column.type) ? "cell number" : "cell" },
    opens ? h("button", { class: "plain value", title: `Show all of it: ${count(length)} ${bytes ? "bytes" : "characters"}`, onclick: () => open(column, text, length, { bytes, cut }) }, short) : short);
}

/** Shows a value in full: what has parts a part to a line, bytes as digits. */
function open(column, text, length, { bytes, cut }) {
  const title = newId("value");
  const whole = NESTED.test(column.type) && cut === null ? indented(text) : text;
  const close = h("button", { onclick: () => box.close() }, "Close");
  const box = h("dialog", { class: "value", "aria-labelledby": title, onclose: () => box.remove() },
    h("div", { class: "row spread" }, h("h2", { id: title }, column.name, " ", h("code", {}, column.type.slice(0, 80))), close),
    h("p", { class: "faint" }, cut === null ? `${count(length)} ${bytes ? "bytes" : "characters"}`
      : `The first ${count(bytes ? (text.length - 2) / 2 : text.length)} of ${count(length)} ${bytes ? "bytes" : "characters"}. ${text.length < WHOLE ? "Filter for fewer rows to see more of it." : "tranche sql has all of it."}`),
    h("pre", { class: "log", tabindex: "0" }, whole));
  document.body.append(box);
  box.showModal();
  close.focus();
}

/** JSON with a part to a line. It is not parsed: numbers stay as exact as they were written. */
export function indented(text) {
  let out = "", depth = 0, within = false;
  for (let n = 0; n < text.length; n++) {
    const sign = text[n];
    if (within) {
      out += sign;
      if (sign === "\\") out += text[++n] ?? "";
      else if (sign === '"') within = false;
      continue;
    }
    const line = () => `\n${"  ".repeat(depth)}`;
    if (sign === '"') { within = true; out += sign; }
    else if ((sign === "{" || sign === "[") && /^\s*[\]}]/.test(text.slice(n + 1, n + 9))) { out += sign; while (text[n + 1] === " ") n++; out += text[++n]; }
    else if (sign === "{" || sign === "[") { depth++; out += sign + line(); }
    else if (sign === "}" || sign === "]") { depth--; out += line() + sign; }
    else if (sign === ",") { out += sign + line(); while (text[n + 1] === " ") n++; }
    else if (sign === ":") { out += ": "; while (text[n + 1] === " ") n++; }
    else out += sign;
  }
  return out;
}

/** A plain table: titles, and rows of cells that may be elements. */
export function plainTable(titles, rows, { caption } = {}) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "Table" }, h("table", {},
    h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col", class: title.startsWith("#") ? "number" : "" }, title.replace(/^#/, ""))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, n) => h("td", { class: titles[n].startsWith("#") ? "number" : "" }, cell)))))));
}
