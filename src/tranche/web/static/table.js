// Rows as a table that can be sorted and filtered.
import { count, h, many, show } from "./dom.js";

const NUMBERS = /^(tinyint|smallint|int|bigint|float|double|decimal)/;

/** `found` is what the API says of rows: columns with types, and values in their order. */
export function rowsTable(found, { caption = "Rows" } = {}) {
  const { columns, rows } = found;
  let order = null, down = false, filter = "";
  const body = h("tbody");
  const said = h("span", { class: "faint", role: "status" });
  const search = h("input", { type: "search", placeholder: "Filter these rows", "aria-label": "Filter these rows", oninput: (event) => { filter = event.target.value.toLowerCase(); fill(); } });
  const heads = columns.map((column, n) => {
    const button = h("button", { onclick: () => { down = order === n ? !down : false; order = n; fill(); } }, column.name);
    return h("th", { class: NUMBERS.test(column.type) ? "number" : "", scope: "col" }, button, h("span", { class: "type" }, column.type));
  });

  function fill() {
    let shown = rows;
    if (filter) shown = shown.filter((row) => row.some((value) => value !== null && String(value).toLowerCase().includes(filter)));
    if (order !== null) {
      const number = NUMBERS.test(columns[order].type);
      const key = (row) => (row[order] === null ? null : number ? Number(row[order]) : String(row[order]));
      shown = [...shown].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === y) return 0;
        if (x === null) return 1;
        if (y === null) return -1;
        return (x < y ? -1 : 1) * (down ? -1 : 1);
      });
    }
    heads.forEach((head, n) => head.setAttribute("aria-sort", n === order ? (down ? "descending" : "ascending") : "none"));
    show(body, shown.map((row) => h("tr", {}, row.map((value, n) => value === null
      ? h("td", { class: "cell null" }, "NULL")
      : h("td", { class: NUMBERS.test(columns[n].type) ? "cell number" : "cell", title: String(value).length > 40 ? String(value) : null }, String(value))))));
    show(said, filter ? `${count(shown.length)} of ${count(rows.length)}` : many(rows.length, "row"), found.more ? ", and there are more in the table" : "");
  }
  fill();
  return h("div", {}, h("div", { class: "row" }, search, said),
    h("div", { class: "scroll high", tabindex: "0", role: "region", "aria-label": caption }, h("table", {}, h("caption", { class: "skip" }, caption), h("thead", {}, h("tr", {}, heads)), body)));
}

/** A plain table: titles, and rows of cells that may be elements. */
export function plainTable(titles, rows, { caption } = {}) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "Table" }, h("table", {},
    h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col", class: title.startsWith("#") ? "number" : "" }, title.replace(/^#/, ""))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, n) => h("td", { class: titles[n].startsWith("#") ? "number" : "" }, cell)))))));
}
