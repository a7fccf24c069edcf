// Requests to the API, and the pulse by which pages hear that something has happened.

export class ApiError extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

export const address = (path, query = {}) => {
  // A list is given once for each of its values.
  const given = Object.entries(query).flatMap(([k, v]) => (Array.isArray(v) ? v : [v]).map((each) => [k, each]))
    .filter(([, v]) => v !== undefined && v !== null && v !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
};

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "Away", "the server does not answer");
  }
  const found = await answer.json().catch(() => ({}));
  // The server keeps an answer for a moment while something runs: until then, to ask is in vain.
  const holds = Number.parseFloat(answer.headers.get("holds-for"));
  if (Number.isFinite(holds)) held = Math.max(held, Date.now() + 1000 * holds);
  if (answer.headers.has("again-in")) changed = true;
  if (method !== "GET") held = 0;
  if (answer.ok) return found;
  if (answer.status === 401) signedOut();
  const error = found.error ?? {};
  throw new ApiError(answer.status, error.kind ?? "", error.message ?? `the server says ${answer.status}`);
}

export const get = (path, query) => ask("GET", address(`/api/${path}`, query));
export const post = (path, body = {}) => ask("POST", `/api/${path}`, body);
export const remove = (path, query) => ask("DELETE", address(`/api/${path}`, query));

let signedOut = () => {};
export const onSignedOut = (act) => { signedOut = act; };

// The pulse: one small question now and then, for all that a page shows.

const listeners = new Set();
let last = null;
let away = false;
/** Until when the server answers as it did. */
let held = 0;
/** Whether something has happened that a page does not show yet. */
let changed = false;
let failures = 0;
export const state = { running: [] };

/** Calls somebody whenever something has happened, at the latest every `most` seconds while the
 *  page is looked at; the answer ends that. */
export function follow(act, most = 15) {
  const each = { act, most: most * 1000, at: Date.now() };
  listeners.add(each);
  return () => listeners.delete(each);
}

async function beat() {
  try {
    const pulse = await get("pulse");
    failures = 0;
    const restarted = last && pulse.server !== last.server;
    changed ||= restarted || (last && (pulse.number !== last.number
      || pulse.running.length !== last.running.length));
    const now = changed && (restarted || Date.now() >= held);
    if (now) changed = false;
    state.running = pulse.running;
    if (away) reconnected(pulse.server !== last?.server);
    away = false;
    last = pulse;
    for (const each of listeners) {
      if (now || Date.now() - each.at > each.most) {
        each.at = Date.now();
        each.act();
      }
    }
  } catch (error) {
    if (error.status === 0 || error.status >= 500) {
      if (++failures >= 2 && !away) { away = true; lost(); }
    }
  }
}

let lost = () => {};
let reconnected = () => {};
export function onConnection(whenLost, whenBack) { lost = whenLost; reconnected = whenBack; }

export function startPulse() {
  const turn = async () => {
    await beat();
    const wait = document.hidden ? 10000 : state.running.length || away ? 1000 : 2000;
    setTimeout(turn, wait);
  };
  turn();
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
}
