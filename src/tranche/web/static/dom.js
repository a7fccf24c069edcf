// Elements and words. Text is always text: nothing here, or anywhere else, parses markup.

/** An element: attributes, listeners (`onclick`), `class`, `style` as an object, then children. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.setAttribute("class", value);
    else if (key === "style") for (const [n, v] of Object.entries(value)) element.style.setProperty(n, v);
    else if (key in element && typeof value !== "string" && !(element instanceof SVGElement)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  put(element, children);
  return element;
}

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Puts children in place of all that an element has. */
export function show(element, ...children) {
  element.replaceChildren();
  put(element, children);
  return element;
}

let ids = 0;
export const newId = (prefix) => `${prefix}-${++ids}`;

const numbers = new Intl.NumberFormat("en-US");
export const count = (n) => (n === null || n === undefined ? "–" : numbers.format(n));
export const many = (n, word, words = `${word}s`) => `${count(n)} ${n === 1 ? word : words}`;

/** A moment as people near it say it; the whole of it is in `title`. */
export function moment(text) {
  if (!text) return h("span", { class: "faint" }, "–");
  const at = new Date(text);
  return h("time", { datetime: text, title: at.toLocaleString() }, ago(at));
}

export function ago(at) {
  const seconds = (Date.now() - at.getTime()) / 1000;
  const size = Math.abs(seconds);
  const say = (n, unit) => (seconds >= 0 ? `${n} ${unit} ago` : `in ${n} ${unit}`);
  if (size < 5) return "now";
  if (size < 90) return say(Math.round(size), "s");
  if (size < 90 * 60) return say(Math.round(size / 60), "min");
  if (size < 36 * 3600) return say(Math.round(size / 3600), "h");
  if (size < 60 * 86400) return say(Math.round(size / 86400), "days");
  return at.toISOString().slice(0, 10);
}

export function lasted(from, to) {
  if (!from) return "";
  const seconds = ((to ? new Date(to) : new Date()) - new Date(from)) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** How something stands: a sign and a word, so that colour alone says nothing. */
export const SIGNS = {
  fresh: "✓", succeeded: "✓", passed: "✓", stale: "◐", provisional: "◔", failed: "✗", warned: "!",
  running: "▶", queued: "…", waiting: "…", ready: "…", cancelled: "⊘", cancelling: "⊘", skipped: "↷",
  never: "○", missing: "○", source: "◇", paused: "‖",
};

export function badge(standing, text = standing) {
  return h("span", { class: `badge is-${standing}` },
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[standing] ?? "•"), text);
}

export function assetLink(asset, text = short(asset)) {
  return h("a", { href: assetPath(asset), title: asset }, text);
}

/** What a run is of: an asset by its page, a script, a job or a folder by the graph, which finds it. */
export const targetLink = (target) => (target.includes("://")
  ? assetLink(target) : h("a", { href: `/?q=${encodeURIComponent(target)}` }, target));

/** Assets by their links; what is no address is the name of a script, or a schedule. */
export const assetLinks = (names) => names.map((name, n) => [n ? ", " : "", name.includes(":") ? assetLink(name) : name]);

/** A key that is not broken into lines, unless it is long. */
export const keyText = (key) => (key && key.length <= 30 ? h("span", { class: "key" }, key) : key ?? "");

export const assetPath = (asset, tab) =>
  `/assets/${encodeURIComponent(asset)}${tab ? `?tab=${tab}` : ""}`;

/** The name of an asset without where it lies, as far as that is plain. */
export const short = (asset) => String(asset).replace(/^lake:\/\/[^/]+\//, "");

export function runLink(id) {
  return h("a", { href: `/runs/${encodeURIComponent(id)}`, class: "mono" }, id);
}

/** What is shown where there is nothing yet: what it would be, and what to do next. */
export function empty(what, ...next) {
  return h("div", { class: "empty" }, h("p", {}, what), next.length ? h("p", {}, next) : null);
}

export const command = (text) => h("code", {}, text);

/** A note at the edge of the page, which goes away by itself. */
export function note(text, kind = "info") {
  const box = h("div", { class: `note is-${kind}` }, text,
    h("button", { class: "plain", "aria-label": "Close", onclick: () => box.remove() }, "×"));
  document.getElementById("notes").append(box);
  setTimeout(() => box.remove(), kind === "error" ? 12000 : 5000);
}
