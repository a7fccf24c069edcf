// Where columns come from and go to: a box for each asset, a line for each column that is used.
import { assetPath, h, short, svg } from "./dom.js";

const WIDE = 220, LINE = 22, HEAD = 30, GAP = 120, APART = 24;

/** `found` is what /api/lineage answers: nodes (asset, columns, layer) and edges between columns. */
export function lineageDiagram(found, { onpick }) {
  const layers = new Map();
  for (const node of found.nodes) layers.set(node.layer, [...(layers.get(node.layer) ?? []), node]);
  const first = Math.min(0, ...layers.keys());
  const places = new Map();
  let wide = 0, high = 0;
  for (const [layer, nodes] of [...layers].sort((a, b) => a[0] - b[0])) {
    let y = 14;
    for (const node of nodes) {
      const x = 14 + (layer - first) * (WIDE + GAP);
      const height = HEAD + node.columns.length * LINE + 8;
      places.set(node.asset, { x, y, height, node });
      y += height + APART;
      wide = Math.max(wide, x + WIDE + 14);
    }
    high = Math.max(high, y);
  }
  const at = (asset, column) => {
    const place = places.get(asset);
    const n = place.node.columns.indexOf(column);
    return n < 0 ? null : { x: place.x, y: place.y + HEAD + n * LINE + LINE / 2 };
  };
  const name = (asset, column) => `${asset}\n${column}`;
  const paths = found.edges.map((edge) => {
    const a = at(edge.from.asset, edge.from.column), b = at(edge.to.asset, edge.to.column);
    if (!a || !b) return null;
    const x1 = a.x + WIDE, x2 = b.x, bend = Math.max(30, (x2 - x1) / 2);
    const title = svg("title", {}, `${edge.from.column ?? "rows"} → ${edge.to.column ?? "rows"}: ${edge.kind}`);
    return { edge, path: svg("path", { d: `M ${x1} ${a.y} C ${x1 + bend} ${a.y}, ${x2 - bend} ${b.y}, ${x2} ${b.y}`, class: edge.direct ? "" : "indirect" }, title) };
  }).filter(Boolean);
  const cells = [];
  const boxes = [...places.values()].map(({ x, y, height, node }) => svg("g", {},
    svg("rect", { class: "box", x, y, width: WIDE, height, rx: 8 }),
    svg("a", { href: assetPath(node.asset, "columns") }, svg("text", { class: "title", x: x + 10, y: y + 20 }, cut(short(node.asset), 26))),
    node.columns.map((column, n) => {
      const rect = svg("rect", { class: "cell", x: x + 3, y: y + HEAD + n * LINE, width: WIDE - 6, height: LINE, rx: 4 });
      cells.push({ key: name(node.asset, column), rect });
      const act = () => { light(node.asset, column); onpick?.(node.asset, column); };
      return svg("g", { tabindex: "0", role: "button", "aria-label": `${node.asset} ${column ?? "rows"}`, onclick: act, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } } },
        rect, svg("text", { x: x + 12, y: y + HEAD + n * LINE + 15 }, cut(column ?? "(rows)", 24)), svg("title", {}, column ?? "which rows there are"));
    })));

  /** Points out all that a column is made of and goes into. */
  function light(asset, column) {
    const start = name(asset, column);
    const on = new Set([start]);
    for (const [from, to] of [["from", "to"], ["to", "from"]]) {
      const waiting = [start], seen = new Set(waiting);
      while (waiting.length) {
        const key = waiting.pop();
        for (const { edge } of paths) {
          const here = name(edge[from].asset, edge[from].column), there = name(edge[to].asset, edge[to].column);
          if (here === key && !seen.has(there)) { seen.add(there); on.add(there); waiting.push(there); }
        }
      }
    }
    for (const { key, rect } of cells) rect.classList.toggle("on", on.has(key));
    for (const { edge, path } of paths) {
      const lit = on.has(name(edge.from.asset, edge.from.column)) && on.has(name(edge.to.asset, edge.to.column));
      path.classList.toggle("on", lit); path.classList.toggle("off", !lit);
    }
  }
  const picture = svg("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": "Column lineage" }, paths.map((each) => each.path), boxes);
  return { element: h("div", { class: "lineage", tabindex: "0", role: "region", "aria-label": "Column lineage" }, picture), light };
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
