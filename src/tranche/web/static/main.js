// The frame of all pages: who looks, where they are, and what they see there.
import { ApiError, get, onConnection, onSignedOut, post, remove, startPulse } from "./api.js";
import { h, note, show } from "./dom.js";
import { graphPage } from "./graph.js";
import { assetPage } from "./asset.js";
import { backfillPage, backfillsPage } from "./backfills.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";
import { eventsPage, pendingPage, schedulesPage } from "./events.js";

const PAGES = [
  [/^\/$/, graphPage, "Graph"],
  [/^\/assets\/(.+)$/, assetPage, "Graph"],
  [/^\/runs$/, runsPage, "Runs"],
  [/^\/runs\/(.+)$/, runPage, "Runs"],
  [/^\/backfills$/, backfillsPage, "Backfills"],
  [/^\/backfills\/(.+)$/, backfillPage, "Backfills"],
  [/^\/events$/, eventsPage, "Events"],
  [/^\/schedules$/, schedulesPage, "Schedules"],
  [/^\/pending$/, pendingPage, "Pending"],
];
const MENU = [["/", "Graph"], ["/runs", "Runs"], ["/backfills", "Backfills"], ["/events", "Events"],
  ["/schedules", "Schedules"], ["/pending", "Pending"]];

const app = document.getElementById("app");
const content = h("main", { id: "content", tabindex: "-1" });
const banner = h("div", { class: "banner", role: "alert", hidden: true });
let session = null;
let leave = () => {};

/** What the person may do: buttons that would be refused are not there. */
export const may = (role) => {
  const order = ["read", "run", "admin"];
  return session !== null && order.indexOf(session.role) >= order.indexOf(role);
};

async function start() {
  onSignedOut(() => { if (session) { session = null; signIn(); } });
  onConnection(
    () => { banner.hidden = false; show(banner, "The server does not answer. This page goes on when it does."); },
    (another) => { banner.hidden = true; note(another ? "The server has started again." : "The server is back."); route(); },
  );
  try {
    session = await get("session");
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return signIn();
    show(app, h("main", { class: "sheet" }, h("h1", {}, "Tranche"), h("p", {}, `${error.message}; it is asked again in a moment`)));
    return setTimeout(start, 2000);
  }
  return frame();
}

function signIn() {
  leave();
  document.title = "Sign in · Tranche";
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true, "aria-describedby": "wrong" });
  const wrong = h("p", { id: "wrong", class: "wrong", role: "alert" });
  const form = h("form", { class: "sheet", onsubmit: async (event) => {
    event.preventDefault();
    try {
      session = await post("session", { token: field.value });
      frame();
    } catch (error) {
      show(wrong, error.message);
      field.focus();
    }
  } },
    h("h1", {}, "Tranche"),
    h("label", { for: "token" }, "Token"), field, wrong,
    h("button", { type: "submit", class: "primary" }, "Sign in"),
    h("p", { class: "faint" }, "Somebody who may run commands makes one with ", h("code", {}, "tranche token create NAME"), "."));
  show(app, h("main", {}, form));
  field.focus();
}

let started = false;
function frame() {
  const menu = h("nav", { "aria-label": "Pages" }, MENU.map(([path, name]) => h("a", { href: path, "data-page": name }, name)));
  const theme = h("button", { class: "plain", title: "Light or dark (t)", "aria-label": "Light or dark", onclick: turnTheme }, "◐");
  const who = session.signed_in
    ? h("button", { class: "plain", onclick: async () => { await remove("session"); location.assign("/"); } }, "Sign out")
    : null;
  show(app,
    h("header", { class: "top" },
      h("a", { href: "/", class: "home" }, h("img", { src: "/static/icon.svg", alt: "", width: "22", height: "22" }), session.project),
      menu,
      h("span", { class: "right" }, h("span", { class: "faint role", title: "What you may do" }, session.role),
        h("button", { class: "plain keys", title: "Keys of the keyboard (?)", "aria-label": "Keys of the keyboard", onclick: help }, "?"), theme, who)),
    banner, content);
  if (!started) {
    started = true;
    startPulse();
    document.addEventListener("click", followLink);
    document.addEventListener("keydown", keys);
    addEventListener("popstate", () => route());
    // What is drawn on canvases follows the system as well.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
  }
  route();
}

function followLink(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  const to = new URL(link.href);
  if (to.origin !== location.origin || to.hash || to.pathname.startsWith("/api") || to.pathname.startsWith("/static")) return;
  event.preventDefault();
  go(to.pathname + to.search);
}

export function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"]({}, "", path);
  route();
  scrollTo(0, 0);
}

/** What the address says besides the page; nothing if it is another page's, or somebody mistyped it. */
function read(pattern) {
  try { return pattern.exec(location.pathname)?.slice(1).map(decodeURIComponent) ?? null; } catch { return null; }
}

function route() {
  leave();
  leave = () => {};
  const found = PAGES.map(([pattern, page, name]) => [read(pattern), page, name]).find(([args]) => args);
  for (const link of app.querySelectorAll("nav a")) {
    const here = found && link.dataset.page === found[2];
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  content.className = "";
  if (!found) return show(content, h("h1", {}, "Nothing is here"), h("p", {}, h("a", { href: "/" }, "The graph"), " shows what there is."));
  const [args, page] = found;
  const ended = [];
  let left = false;
  leave = () => { left = true; for (const act of ended.splice(0)) act(); };
  const here = {
    args,
    query: new URLSearchParams(location.search),
    leaving: (act) => ended.push(act),
    /** Whether somebody has gone elsewhere while the page was waiting for an answer. */
    left: () => left,
    title: (text) => { document.title = `${text} · ${session.project}`; },
    wide: () => { content.className = "wide"; },
  };
  Promise.resolve(page(content, here)).catch((error) => show(content, problem(error)));
}

/** An error in the place of what it kept from being shown. */
export function problem(error) {
  if (!(error instanceof ApiError)) console.error(error);
  return h("div", { class: "problem", role: "alert" }, h("strong", {}, "That did not work. "), error.message);
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
  dispatchEvent(new Event("themechange"));
}

const SHORTCUTS = [
  ["g r b e s p", "Graph, runs, backfills, events, schedules, pending keys"], ["/", "Search"], ["t", "Light or dark"],
  ["← ↑ → ↓", "Move in the graph, a calendar or the tabs"], ["+ − f", "Zoom the graph, show all of it"],
  ["Enter", "Open or pick what is pointed at"], ["Shift", "Pick several keys of a calendar"], ["Esc", "Go back, close"], ["?", "This list"],
];

function help() {
  const close = h("button", { onclick: () => box.close() }, "Close");
  const box = h("dialog", { class: "value", "aria-labelledby": "help-title", onclose: () => box.remove() },
    h("div", { class: "row spread" }, h("h2", { id: "help-title" }, "Keys of the keyboard"), close),
    h("dl", { class: "facts" }, SHORTCUTS.map(([signs, what]) => [h("dt", {}, signs.split(" ").map((sign) => [h("kbd", {}, sign), " "])), h("dd", {}, what)])));
  document.body.append(box);
  box.showModal();
  close.focus();
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  const jump = { g: "/", r: "/runs", b: "/backfills", e: "/events", s: "/schedules", p: "/pending" }[event.key];
  if (jump) go(jump);
  else if (event.key === "t") turnTheme();
  else if (event.key === "?") help();
  else if (event.key === "/") {
    const search = content.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); } else go("/");
  } else return;
  event.preventDefault();
}

start();
