// Scripts and statements with their colours.
import { h } from "./dom.js";

/** Lines are lists of [kind, text]; `marked` are the numbers of lines to point at. */
export function codeView(lines, { marked = [], label = "Code" } = {}) {
  const long = lines.length > 1 && lines.at(-1).length === 0 ? lines.slice(0, -1) : lines;
  return h("div", { class: "scroll high", tabindex: "0", role: "region", "aria-label": label }, h("pre", { class: "code" }, long.map((line, n) =>
    h("span", { class: marked.includes(n + 1) ? "line here" : "line" },
      h("span", { class: "number", "aria-hidden": "true" }, n + 1),
      line.map(([kind, text]) => h("span", kind ? { class: `k-${kind}` } : {}, text))))));
}
