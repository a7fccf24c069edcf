// Scripts and statements with their colours.
import { h } from "./dom.js";

/** Lines are lists of [kind, text], of which the first has the number `first`; `marked` are the
 *  numbers of lines to point at. */
export function codeView(lines, { marked = [], first = 1, label = "Code" } = {}) {
  const long = lines.length > 1 && lines.at(-1).length === 0 ? lines.slice(0, -1) : lines;
  return h("div", { class: "scroll high", tabindex: "0", role: "region", "aria-label": label }, h("pre", { class: "code" }, long.map((line, n) =>
    h("span", { class: marked.includes(n + first) ? "line here" : "line" },
      h("span", { class: "number", "aria-hidden": "true" }, n + first),
      line.map(([kind, text]) => h("span", kind ? { class: `k-${kind}` } : {}, text))))));
}
