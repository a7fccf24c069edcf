// The graph of a project, drawn on a canvas: places come from the server, the rest is here.
import { follow, get } from "./api.js";
import { ago, assetLink, assetPath, badge, command, empty, h, many, note, short, show } from "./dom.js";
import { go, may } from "./main.js";
import { runDialog } from "./dialogs.js";
import { GAP_X, GAP_Y, HIGH, WIDE, about, colours, painted } from "./painting.js";

const READABLE = 0.55;
// On a phone, a part that can be read is shown and not all of it.
const LISTED = 12;
// How many columns a tip lists.
const STANDINGS = ["fresh", "stale", "failed", "running", "never", "source"];

export async function graphPage(content, here) {
  here.wide();
  here.title("Graph");
  const view = { nodes: [], arrows: [], shown: null, x: 0, y: 0, scale: 1, over: null, traced: {} };
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "The graph of assets; the list beside it has the same as text" });
  const search = h("input", { type: "search", placeholder: "orders, +orders, orders+, tag:x", "aria-label": "Search assets", value: here.query.get("q") ?? "" });
  const tip = h("div", { class: "tip", hidden: true });
  const list = h("div", { class: "list", hidden: true });
  const toggle = h("button", { "aria-expanded": "false", onclick: () => { list.hidden = !list.hidden; toggle.setAttribute("aria-expanded", String(!list.hidden)); } }, "List");
  const said = h("span", { class: "faint", role: "status" });
  const box = h("div", { class: "graph" }, canvas,
    h("div", { class: "tools" }, search,
      h("button", { onclick: () => { fit(); draw(); }, title: "Show all (f)" }, "Fit"), toggle, said),
    h("div", { class: "legend" }, STANDINGS.map((standing) => badge(standing)),
      h("span", { class: "faint signs" }, "✓ data tests   ≡ columns traced   ◷ schedule")), list, tip);
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
    view.led = new Set(found.arrows.map((arrow) => arrow.to));
    view.faults = found.faults;
    select();
    if (first) { fit(); if (box.clientWidth < 640 && !view.shown) closer(); }
    draw();
    listed();
  };
  await load();
  if (!view.nodes.length) {
    content.className = "";
    show(content, h("h1", {}, "Graph"), empty("There is no script in this project yet.", "Write one in ", command("pipelines/"), ", or see ", command("tranche demo"), "."), faults());
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

  /** So near that names can be read, from the first assets on. */
  function closer() {
    if (view.scale >= READABLE) return;
    view.scale = READABLE;
    view.x = 30;
    view.y = Math.max(80, (box.clientHeight - (Math.max(...view.nodes.map((node) => node.y)) + HIGH) * view.scale) / 2);
  }

  function centre(node) {
    if (!node) return;
    view.scale = Math.max(view.scale, 0.8);
    view.x = box.clientWidth / 2 - (node.x + WIDE / 2) * view.scale;
    view.y = box.clientHeight / 2 - (node.y + HIGH / 2) * view.scale;
  }

  function look() {
    painted(canvas, view, paint);
    if (view.nodes.length) box.dataset.scale = view.scale.toFixed(3);
  }
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (canvas.isConnected) look(); });
  }

  // The hand

  const under = (event) => {
    const place = canvas.getBoundingClientRect();
    const x = (event.clientX - place.left - view.x) / view.scale, y = (event.clientY - place.top - view.y) / view.scale;
    const within = (box) => box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    return view.nodes.findLast((node) => within({ left: node.x, right: node.x + WIDE, top: node.y, bottom: node.y + HIGH }) || within(node.badges)) ?? null;
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
    else if (may("run")) runDialog({ target: node.script, keys: node.keys, args: node.arguments });
    else note(`${node.script} makes nothing that could be looked at.`);
  }
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
