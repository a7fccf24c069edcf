// The graph of a project, drawn on a canvas: places come from the server, the rest is here.
import { follow, get } from "./api.js";
import { SIGNS, ago, assetLink, assetPath, badge, command, count, empty, h, many, short, show } from "./dom.js";
import { go, may } from "./main.js";
import { runDialog } from "./dialogs.js";

const WIDE = 210, HIGH = 46, GAP_X = 110, GAP_Y = 22;
const LISTED = 12;
// How many columns a tip lists.
const STANDINGS = ["fresh", "stale", "failed", "running", "never", "source"];

export async function graphPage(content, here) {
  here.wide();
  here.title("Graph");
  const view = { nodes: [], arrows: [], shown: null, chosen: null, x: 0, y: 0, scale: 1, over: null, traced: {} };
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "The graph of assets; the list beside it has the same as text" });
  const search = h("input", { type: "search", placeholder: "Search: orders, +orders, orders+, tag:x", "aria-label": "Search assets", value: here.query.get("q") ?? "" });
  const tip = h("div", { class: "tip", hidden: true });
  const list = h("div", { class: "list", hidden: true });
  const toggle = h("button", { "aria-expanded": "false", onclick: () => { list.hidden = !list.hidden; toggle.setAttribute("aria-expanded", String(!list.hidden)); } }, "List");
  const said = h("span", { class: "faint", role: "status" });
  const box = h("div", { class: "graph" }, canvas,
    h("div", { class: "tools" }, search,
      h("button", { onclick: () => { fit(); draw(); }, title: "Show all" }, "Fit"), toggle, said),
    h("div", { class: "legend" }, STANDINGS.map((standing) => badge(standing))), list, tip);
  show(content, box);

  let waiting = false;
  const paint = colours();
  addEventListener("themechange", repaint);
  here.leaving(() => removeEventListener("themechange", repaint));
  function repaint() { Object.assign(paint, colours()); draw(); }

  const resize = new ResizeObserver(() => { size(); draw(); });
  resize.observe(box);
  here.leaving(() => resize.disconnect());
  size();

  const load = async () => {
    const found = await get("overview");
    const first = view.nodes.length === 0;
    view.nodes = found.nodes.map((node) => ({ ...node, x: node.layer * (WIDE + GAP_X), y: node.row * (HIGH + GAP_Y) }));
    view.at = new Map(view.nodes.map((node) => [node.id, node]));
    view.arrows = found.arrows;
    view.faults = found.faults;
    select();
    if (first) fit();
    draw();
    listed();
  };
  await load();
  if (!view.nodes.length) {
    show(content, h("main", {}, empty("There is no script in this project yet.", "Write one in ", command("pipelines/"), ", or see ", command("tranche demo"), ".")), faults());
    return;
  }
  here.leaving(follow(() => load().catch((error) => show(said, error.message))));
  // How many columns are traced takes longer to find out, and comes when it is known.
  get("traced").then(({ columns }) => { view.traced = columns; draw(); }).catch(() => {});

  search.addEventListener("input", () => {
    select(); draw(); listed();
    const query = search.value ? `?q=${encodeURIComponent(search.value)}` : "";
    history.replaceState({}, "", `/${query}`);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && view.shown?.size) open([...view.shown][0]);
    if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); canvas.focus(); }
  });

  function select() {
    const text = search.value.trim();
    view.shown = text ? selected(view, text) : null;
    show(said, view.shown ? many(view.shown.size, "match", "matches") : "");
    if (view.shown?.size === 1) centre(view.at.get([...view.shown][0]));
  }

  function faults() {
    if (!view.faults?.length) return null;
    return h("div", { class: "problem" }, view.faults.map((fault) => h("div", {}, `${fault.place}: ${fault.message}${fault.remedy ? `; ${fault.remedy}` : ""}`)));
  }

  function listed() {
    const nodes = view.nodes.filter((node) => !view.shown || view.shown.has(node.id));
    const groups = new Map();
    for (const node of nodes) {
      const group = node.kind === "source" ? "sources" : node.group || "pipelines";
      groups.set(group, [...(groups.get(group) ?? []), node]);
    }
    show(list, faults(), [...groups].map(([group, members]) => [h("h3", {}, group),
      h("ul", {}, members.map((node) => h("li", {},
        node.kind === "script" ? h("span", { title: node.id }, short(node.id)) : assetLink(node.id),
        badge(node.standing))))]));
  }

  function size() {
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(box.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(box.clientHeight * ratio));
  }

  function fit() {
    const nodes = view.nodes.filter((node) => !view.shown || view.shown.has(node.id));
    if (!nodes.length) return;
    const right = Math.max(...nodes.map((n) => n.x)) + WIDE, left = Math.min(...nodes.map((n) => n.x));
    const low = Math.max(...nodes.map((n) => n.y)) + HIGH, high = Math.min(...nodes.map((n) => n.y));
    const margin = 60;
    view.scale = Math.min(1.2, (box.clientWidth - 2 * margin) / (right - left), (box.clientHeight - 2 * margin - 40) / (low - high));
    view.scale = Math.max(0.08, view.scale);
    view.x = (box.clientWidth - (right + left) * view.scale) / 2;
    view.y = (box.clientHeight - (low + high) * view.scale) / 2;
  }

  function centre(node) {
    if (!node) return;
    view.scale = Math.max(view.scale, 0.8);
    view.x = box.clientWidth / 2 - (node.x + WIDE / 2) * view.scale;
    view.y = box.clientHeight / 2 - (node.y + HIGH / 2) * view.scale;
  }

  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (canvas.isConnected) painted(); });
  }

  function painted() {
    const ratio = devicePixelRatio || 1;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.translate(view.x, view.y);
    pen.scale(view.scale, view.scale);
    const seen = { left: -view.x / view.scale, top: -view.y / view.scale };
    seen.right = seen.left + box.clientWidth / view.scale;
    seen.bottom = seen.top + box.clientHeight / view.scale;
    groups(pen);
    const near = view.over ? neighbours(view, view.over.id) : null;
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
      if (arrow.map && view.scale > 0.6) {
        pen.font = "11px system-ui"; pen.fillStyle = paint.faint; pen.textAlign = "center"; pen.textBaseline = "bottom";
        pen.fillText(clip(pen, arrow.map, 100), (x1 + x2) / 2, (y1 + y2) / 2 - 3);
      }
    }
    for (const node of view.nodes) {
      if (node.x + WIDE < seen.left || node.x > seen.right || node.y + HIGH < seen.top || node.y > seen.bottom) continue;
      const faded = (view.shown && !view.shown.has(node.id)) || (near && !near.has(node.id));
      pen.globalAlpha = faded ? 0.2 : 1;
      nodeDrawn(pen, node, node === view.over || node.id === view.chosen);
    }
    pen.globalAlpha = 1;
  }

  function groups(pen) {
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

  function nodeDrawn(pen, node, lit) {
    pen.fillStyle = paint[`${node.standing}Back`] ?? paint.back;
    pen.strokeStyle = lit ? paint.accent : node.standing === "source" ? paint.faint : paint[node.standing] ?? paint.line;
    pen.lineWidth = lit ? 3 : 1.4;
    pen.setLineDash(node.kind === "source" ? [4, 3] : []);
    round(pen, node.x, node.y, WIDE, HIGH, 9);
    pen.fill(); pen.stroke();
    pen.setLineDash([]);
    if (view.scale < 0.28) return;
    pen.textBaseline = "middle"; pen.textAlign = "left";
    pen.font = "600 13px system-ui, sans-serif"; pen.fillStyle = paint.text;
    pen.fillText(clip(pen, short(node.id), WIDE - 44, node.kind === "source"), node.x + 28, node.y + 15);
    pen.font = "13px system-ui, sans-serif"; pen.fillStyle = paint[node.standing] ?? paint.faint;
    pen.fillText(SIGNS[node.standing], node.x + 10, node.y + 15);
    if (view.scale < 0.45) return;
    pen.font = "11px system-ui, sans-serif"; pen.fillStyle = paint.faint;
    const marks = [node.tests?.length ? `✓ ${node.tests.length}` : "", view.traced[node.id] ? `≡ ${view.traced[node.id]}` : "", node.schedules?.length ? "◷" : ""].filter(Boolean).join("  ");
    const room = WIDE - 20 - (marks ? pen.measureText(marks).width + 12 : 0);
    pen.fillText(clip(pen, about(node), room), node.x + 10, node.y + 33);
    if (marks) { pen.textAlign = "right"; pen.fillText(marks, node.x + WIDE - 9, node.y + 33); }
  }

  // The hand

  const under = (event) => {
    const place = canvas.getBoundingClientRect();
    const x = (event.clientX - place.left - view.x) / view.scale, y = (event.clientY - place.top - view.y) / view.scale;
    return view.nodes.findLast((node) => x >= node.x && x <= node.x + WIDE && y >= node.y && y <= node.y + HIGH) ?? null;
  };
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); pointers.set(event.pointerId, event); moved = 0; canvas.classList.add("held"); });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) { over(under(event), event); return; }
    tip.hidden = true;
    if (pointers.size === 2) {
      const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
      const far = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
      zoom(far(event) / Math.max(1, far(before)), event);
    } else {
      view.x += event.clientX - before.clientX; view.y += event.clientY - before.clientY;
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    pointers.set(event.pointerId, event);
    draw();
  });
  const up = (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("held");
    if (event.type === "pointerup" && moved < 5) { const node = under(event); if (node) open(node.id); }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => over(null));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), event); draw(); }, { passive: false });
  function zoom(by, event) {
    const place = canvas.getBoundingClientRect();
    const x = event.clientX - place.left, y = event.clientY - place.top;
    const next = Math.min(3, Math.max(0.05, view.scale * by));
    view.x = x - ((x - view.x) * next) / view.scale;
    view.y = y - ((y - view.y) * next) / view.scale;
    view.scale = next;
  }
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) { view.x += step[0]; view.y += step[1]; }
    else if (event.key === "+" || event.key === "=") view.scale = Math.min(3, view.scale * 1.2);
    else if (event.key === "-") view.scale = Math.max(0.05, view.scale / 1.2);
    else if (event.key === "f") fit();
    else return;
    event.preventDefault(); event.stopPropagation();
    draw();
  });

  let asking = null;
  /** Which columns each column of a node is made of, in the tip while it is there. */
  async function mappings(node) {
    const { edges } = await get("lineage", { asset: node.id });
    const made = new Map();
    for (const edge of edges) {
      if (edge.to.asset !== node.id || !edge.direct || edge.to.column === null) continue;
      made.set(edge.to.column, [...(made.get(edge.to.column) ?? []), `${short(edge.from.asset)}.${edge.from.column}`]);
    }
    if (view.over !== node) return;
    const lines = [...made].slice(0, LISTED).map(([column, from]) => h("div", { class: "mono" }, `≡ ${column} ← ${from.join(", ")}`));
    tip.append(...lines, ...(made.size > LISTED ? [h("div", { class: "faint" }, `and ${many(made.size - LISTED, "more column")}`)] : []));
  }

  function over(node, event) {
    if (node !== view.over) {
      view.over = node;
      canvas.classList.toggle("over", Boolean(node));
      draw();
      tip.hidden = !node;
      if (node) {
        show(tip, h("strong", {}, node.id), h("div", {}, badge(node.standing), " ", about(node)),
          node.script ? h("div", { class: "faint" }, node.path) : null,
          node.schedules?.map((each) => h("div", {}, `◷ ${each}`)),
          node.tests?.length ? h("div", {}, node.tests.map((test) => h("div", {}, `✓ ${test}`))) : null,
          node.at ? h("div", { class: "faint" }, `last written ${ago(new Date(node.at))}`) : null);
        clearTimeout(asking);
        if (view.traced[node.id]) asking = setTimeout(() => mappings(node).catch(() => {}), 150);
      }
    }
    if (node && event) {
      const left = Math.min(event.clientX + 14, innerWidth - 320), top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 10);
      tip.style.left = `${left}px`; tip.style.top = `${top}px`;
    }
  }

  function open(id) {
    const node = view.at.get(id);
    if (!node) return;
    if (node.kind !== "script") go(assetPath(node.id));
    else if (may("run")) runDialog({ target: node.script, keys: null, args: [] });
  }
}

function about(node) {
  if (node.kind === "source") return "source";
  const kind = node.partitioning ? node.partitioning.split(" ")[0] : "one table";
  const keys = Object.values(node.partitions ?? {}).reduce((sum, n) => sum + n, 0);
  const failed = node.partitions?.failed;
  if (!node.partitioning) return node.strategy ?? "runs";
  return `${kind} · ${many(keys, "key")}${failed ? ` · ${count(failed)} failed` : ""}`;
}

/** What a selector means: a part of a name, `tag:x`, with `+` before for what it is made of and
 *  after for what is made of it. */
export function selected({ nodes, arrows }, text) {
  const up = text.startsWith("+"), down = text.endsWith("+");
  const name = text.replace(/^\+|\+$/g, "").toLowerCase();
  const means = (node) => name.startsWith("tag:")
    ? (node.tags ?? []).some((tag) => tag.toLowerCase() === name.slice(4))
    : node.id.toLowerCase().includes(name) || (node.script ?? "").toLowerCase().includes(name);
  const found = new Set(nodes.filter(means).map((node) => node.id));
  const chosen = new Set(found);
  for (const [wanted, from, to] of [[up, "to", "from"], [down, "from", "to"]]) {
    if (!wanted) continue;
    const waiting = [...found];
    while (waiting.length) {
      const id = waiting.pop();
      for (const arrow of arrows) {
        if (arrow[from] === id && !chosen.has(arrow[to])) { chosen.add(arrow[to]); waiting.push(arrow[to]); }
      }
    }
  }
  return chosen;
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

export function round(pen, x, y, w, hgt, r) {
  pen.beginPath();
  pen.roundRect(x, y, w, hgt, r);
}

/** A text as far as there is room for it; of a path, the end says more than the beginning. */
export function clip(pen, text, room, end = false) {
  if (pen.measureText(text).width <= room) return text;
  const cut = (n) => (end ? `…${text.slice(text.length - n)}` : `${text.slice(0, n)}…`);
  let low = 0, high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(cut(middle)).width <= room) low = middle; else high = middle - 1;
  }
  return cut(low);
}
