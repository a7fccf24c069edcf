// The graph of a project on a canvas: groups, arrows, assets, and badges on what is written into them.
import { SIGNS, count, many, short } from "./dom.js";

export const WIDE = 210, HIGH = 46, GAP_X = 140, GAP_Y = 22;
const BADGE = 18, STUB = 10;
// Badges stand on the arrow into an asset, or on a stub of one where nothing goes into it.

/** Draws what of a graph shows: `view` has nodes, arrows, and where one looks. */
export function painted(canvas, view, paint) {
  const ratio = devicePixelRatio || 1;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.translate(view.x, view.y);
  pen.scale(view.scale, view.scale);
  const seen = { left: -view.x / view.scale, top: -view.y / view.scale };
  seen.right = seen.left + canvas.clientWidth / view.scale;
  seen.bottom = seen.top + canvas.clientHeight / view.scale;
  groups(pen, view, paint);
  const near = view.over ? neighbours(view, view.over.id) : null;
  const mapped = [];
  for (const arrow of view.arrows) {
    const from = view.at.get(arrow.from), to = view.at.get(arrow.to);
    if (!from || !to) continue;
    const x1 = from.x + WIDE, y1 = from.y + HIGH / 2, x2 = to.x, y2 = to.y + HIGH / 2;
    if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right || Math.max(y1, y2) < seen.top || Math.min(y1, y2) > seen.bottom) continue;
    const faded = (view.shown && !(view.shown.has(arrow.from) && view.shown.has(arrow.to))) || (near && !(near.has(arrow.from) && near.has(arrow.to)));
    pen.globalAlpha = faded ? 0.12 : 0.85;
    pen.strokeStyle = near && !faded ? paint.accent : paint.faint;
    pen.lineWidth = arrow.triggers ? 2 : 1.2;
    pen.setLineDash(arrow.triggers ? [] : [5, 4]);
    const bend = Math.max(40, (x2 - x1) / 2);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x2, y2); pen.lineTo(x2 - 7, y2 - 4); pen.lineTo(x2 - 7, y2 + 4); pen.closePath();
    pen.fillStyle = pen.strokeStyle; pen.fill();
    if (arrow.map && view.scale > 0.6) mapped.push({ text: arrow.map, to, x1, y1, x2, y2, alpha: pen.globalAlpha });
  }
  for (const node of view.nodes) {
    if (node.x + WIDE < seen.left || node.x > seen.right || node.y + HIGH < seen.top || node.y > seen.bottom) continue;
    const faded = (view.shown && !view.shown.has(node.id)) || (near && !near.has(node.id));
    pen.globalAlpha = faded ? 0.2 : 1;
    nodeDrawn(pen, view, paint, node, node === view.over);
    if (view.scale >= 0.45) badges(pen, view, paint, node); else node.badges = null;
  }
  for (const each of mapped) mapping(pen, paint, each);
  pen.globalAlpha = 1;
}

/** How keys become others on the way: between where an arrow begins and the badges at its end. */
function mapping(pen, paint, { text, to, x1, y1, x2, y2, alpha }) {
  const free = Math.min(GAP_X, (to.badges?.left ?? x2 - STUB) - x1);
  pen.globalAlpha = alpha;
  pen.font = "11px system-ui"; pen.fillStyle = paint.faint; pen.textAlign = "center"; pen.textBaseline = "bottom";
  pen.fillText(clip(pen, text, free - 8), x1 + free / 2, y1 - 3 + (y2 - y1) * 0.3);
}

function groups(pen, view, paint) {
  const boxes = new Map();
  for (const node of view.nodes) {
    if (!node.group) continue;
    // A group that is spread over the picture would cover what is not of it.
    const key = `${node.group}\n${node.layer}`;
    const at = boxes.get(key) ?? { name: node.group, left: node.x, top: node.y, right: node.x + WIDE, bottom: node.y + HIGH };
    at.top = Math.min(at.top, node.y); at.bottom = Math.max(at.bottom, node.y + HIGH);
    boxes.set(key, at);
  }
  pen.globalAlpha = 0.6;
  for (const each of boxes.values()) {
    pen.fillStyle = paint.raised; pen.strokeStyle = paint.line; pen.lineWidth = 1;
    round(pen, each.left - 9, each.top - 17, WIDE + 18, each.bottom - each.top + 26, 10);
    pen.fill(); pen.stroke();
    if (view.scale > 0.45) {
      pen.font = "600 11px system-ui"; pen.fillStyle = paint.faint; pen.textAlign = "left"; pen.textBaseline = "top";
      pen.fillText(clip(pen, each.name, WIDE), each.left - 2, each.top - 14);
    }
  }
  pen.globalAlpha = 1;
}

function nodeDrawn(pen, view, paint, node, lit) {
  pen.fillStyle = paint[`${node.standing}Back`] ?? paint.back;
  pen.strokeStyle = lit ? paint.accent : node.standing === "source" ? paint.faint : paint[node.standing] ?? paint.line;
  pen.lineWidth = lit ? 3 : 1.4;
  pen.setLineDash(node.kind === "source" ? [4, 3] : []);
  round(pen, node.x, node.y, WIDE, HIGH, 9);
  pen.fill(); pen.stroke();
  pen.setLineDash([]);
  if (view.scale < 0.28) return;
  pen.textBaseline = "middle"; pen.textAlign = "left";
  const outside = node.kind === "source";
  pen.font = outside ? "12px system-ui, sans-serif" : "600 13px system-ui, sans-serif"; pen.fillStyle = paint.text;
  pen.fillText(clip(pen, outside ? tail(short(node.id)) : short(node.id), WIDE - 36, outside), node.x + 28, node.y + 15);
  pen.font = "13px system-ui, sans-serif"; pen.fillStyle = paint[node.standing] ?? paint.faint;
  pen.fillText(SIGNS[node.standing], node.x + 10, node.y + 15);
  if (view.scale < 0.45) return;
  pen.font = "11px system-ui, sans-serif"; pen.fillStyle = paint.faint;
  const marks = node.schedules?.length ? "◷" : "";
  const room = WIDE - 20 - (marks ? pen.measureText(marks).width + 12 : 0);
  pen.fillText(clip(pen, about(node), room), node.x + 10, node.y + 33);
  if (marks) { pen.textAlign = "right"; pen.fillText(marks, node.x + WIDE - 9, node.y + 33); }
}

/** How many data tests and columns the write into an asset has, on the arrow into it. */
function badges(pen, view, paint, node) {
  const marks = marksOf(view, node);
  if (!marks.length) { node.badges = null; return; }
  pen.font = "11px system-ui, sans-serif";
  const widths = marks.map(([, text]) => pen.measureText(text).width + 12);
  const whole = widths.reduce((sum, each) => sum + each + 3, -3), y = node.y + HIGH / 2 - BADGE / 2;
  let x = node.x - STUB - whole;
  node.badges = { left: x, right: node.x - STUB, top: y, bottom: y + BADGE };
  pen.strokeStyle = paint.faint; pen.lineWidth = 1.2;
  if (!view.led.has(node.id)) { line(pen, x - STUB, node.y + HIGH / 2, node.x, node.y + HIGH / 2); }
  marks.forEach(([name, text], n) => {
    pen.fillStyle = paint.back; pen.strokeStyle = paint[name] ?? paint.faint;
    round(pen, x, y, widths[n], BADGE, BADGE / 2);
    pen.fill(); pen.stroke();
    pen.fillStyle = paint[name] ?? paint.faint; pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillText(text, x + widths[n] / 2, y + BADGE / 2 + 0.5);
    x += widths[n] + 3;
  });
}

/** What a box says below its name. */
export function about(node) {
  if (node.kind === "source") return "source";
  // Of several dimensions, each begins with its name.
  const kind = (node.partitioning ?? "").split(" | ").map((each) => each.split(" ")[0].replace(/:$/, "")).join(" × ");
  const keys = Object.values(node.partitions ?? {}).reduce((sum, n) => sum + n, 0);
  const failed = node.partitions?.failed;
  if (!node.partitioning) return node.strategy ?? "runs";
  return `${kind} · ${many(keys, "key")}${failed ? ` · ${count(failed)} failed` : ""}`;
}

function neighbours({ arrows }, id) {
  const near = new Set([id]);
  for (const arrow of arrows) {
    if (arrow.from === id) near.add(arrow.to);
    if (arrow.to === id) near.add(arrow.from);
  }
  return near;
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const found = { back: of("back"), raised: of("raised"), line: of("line"), text: of("text"), faint: of("faint"), accent: of("accent") };
  for (const name of ["fresh", "stale", "failed", "running", "never", "provisional"]) {
    found[name] = of(name); found[`${name}Back`] = of(`${name}-back`);
  }
  found.sourceBack = of("source-back");
  return found;
}

/** What a badge says of the write into an asset: the name of its colour, and the text. */
function marksOf(view, node) {
  const tests = node.tests?.length, columns = view.traced[node.id];
  return [tests ? ["text", `✓ ${tests}`] : null, columns ? ["accent", `≡ ${columns}`] : null].filter(Boolean);
}

/** The last two parts of a path, which say the most. */
const tail = (path) => path.split("/").slice(-2).join("/");

function line(pen, x1, y1, x2, y2) { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); }

function round(pen, x, y, w, hgt, r) {
  pen.beginPath();
  pen.roundRect(x, y, w, hgt, r);
}

/** A text as far as there is room for it; of a path, the end says more than the beginning. */
function clip(pen, text, room, end = false) {
  if (pen.measureText(text).width <= room) return text;
  const cut = (n) => (end ? `…${text.slice(text.length - n)}` : `${text.slice(0, n)}…`);
  let low = 0, high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(cut(middle)).width <= room) low = middle; else high = middle - 1;
  }
  return cut(low);
}
