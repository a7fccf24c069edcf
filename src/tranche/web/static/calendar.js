// Where keys stand on a calendar: years, months, days and hours, each a level to look at them.
import { isoWeek, newYear } from "./keys.js";

export const CELL = 14, GAP = 3, PITCH = CELL + GAP;
const LABEL = 52, TOP = 20, TALL = CELL + 8;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY = 1440;
const MOST_HOURS = 24 * 62, MOST_DAYS = 366 * 12;
// So many weeks stand beside each other, also where a year ends among them.
const ONE_STRIP = 54;
const WEEKDAYS = [[0, "Mon"], [2, "Wed"], [4, "Fri"]];

/** The levels at which keys of a kind can be looked at, the coarsest first. */
export const levelsOf = (kind) => ({
  hourly: ["years", "months", "days", "hours"], daily: ["years", "months", "days"], weekly: ["years", "weeks"],
  monthly: ["years", "months"], quarterly: ["years", "quarters"] }[kind] ?? ["years"]);

/** The finest level that so many keys fit into. */
export function levelFor(kind, number) {
  if (kind === "hourly") return number <= MOST_HOURS ? "hours" : number <= MOST_DAYS * 24 ? "days" : "months";
  if (kind === "daily") return number <= MOST_DAYS ? "days" : "months";
  return levelsOf(kind).at(-1);
}

/** The name of what a level has one cell for. */
export function nameAt(level, at) {
  const day = at.toISOString().replace(/T.*/, "");
  return { years: day.slice(0, -6), months: day.slice(0, -3), days: day }[level] ?? day;
}

/**
 * Places of keys `from` to `to`: each has the keys that it stands for, and where it is drawn.
 * `labels` say which years and months they are.
 */
export function arranged(times, level, from, to) {
  const made = { hours: hours, days: days }[level] ?? ((...given) => blocks(level, ...given));
  return made(times, from, to);
}

function hours(times, from, to) {
  const places = [], labels = [0, 6, 12, 18].map((hour) => ({ x: LABEL + hour * PITCH, y: 0, text: `${hour}h` }));
  let last = null, line = -1, column = -1;
  for (let n = from; n < to; n++) {
    const at = times.begins[n], day = Math.floor(at / DAY);
    if (day !== last) {
      const text = new Date(day * DAY * 60000).toISOString().replace(/T.*/, "");
      line++;
      labels.push({ x: 0, y: TOP + line * PITCH, text: last === null || text.endsWith("-01") ? text.slice(0, -3) : text.slice(-5), strong: text.endsWith("-01") });
      last = day; column = -1;
    }
    // An hour that comes twice stands beside the first, and moves those after it.
    column = Math.max(column + 1, Math.floor((at - day * DAY) / 60));
    places.push({ from: n, to: n + 1, x: LABEL + 12 + column * PITCH, y: TOP + line * PITCH });
  }
  for (const label of labels) if (label.y === 0) label.x += 12;
  return { places, labels, width: LABEL + 12 + 25 * PITCH, height: TOP + (line + 1) * PITCH };
}

function days(times, from, to) {
  const places = [], labels = [], block = 7 * PITCH + 30;
  const dayOf = (n) => Math.floor(times.begins[n] / DAY), monday = (day) => day - (((day + 3) % 7) + 7) % 7;
  const strip = to > from && dayOf(to - 1) - monday(dayOf(from)) < ONE_STRIP * 7;
  let width = 0, year = null, first = 0, row = -1, month = null, named = null;
  for (let n = from; n < to;) {
    const day = dayOf(n);
    let end = n + 1;
    while (end < to && dayOf(end) === day) end++;
    const at = new Date(day * DAY * 60000);
    if (row < 0 || (!strip && at.getUTCFullYear() !== year)) {
      // The Monday of the first week: of the keys, or of their year.
      first = monday(strip ? day : newYear(at.getUTCFullYear()) / 86400000);
      row++; month = named = null;
      labels.push(...WEEKDAYS.map(([line, text]) => ({ x: strip ? 0 : LABEL - 24, y: row * block + TOP + line * PITCH + 1, text })));
    }
    const top = row * block + TOP, week = Math.floor((day - first) / 7), x = LABEL + week * PITCH;
    places.push({ from: n, to: end, x, y: top + ((day - first) % 7) * PITCH });
    if (at.getUTCMonth() !== month) {
      month = at.getUTCMonth();
      // A month of which only the last days are there leaves the room to the next one.
      const crowded = named && x < named.x + named.text.length * 7;
      if (crowded) labels.splice(labels.indexOf(named), 1);
      const tellsYear = strip && (at.getUTCFullYear() !== year || (crowded && named.text.includes(" ")));
      named = { x, y: top - TOP + 3, text: tellsYear ? `${MONTHS[month]} ${at.getUTCFullYear()}` : MONTHS[month] };
      labels.push(named);
    }
    if (at.getUTCFullYear() !== year) {
      year = at.getUTCFullYear();
      if (!strip) labels.push({ x: 0, y: top - TOP + 3, text: String(year), strong: true });
    }
    width = Math.max(width, x + PITCH);
    n = end;
  }
  return { places, labels, width, height: (row + 1) * block };
}

/** A line for each year, or for ten of them, and a cell for each part of it. */
function blocks(level, times, from, to) {
  const size = { weeks: CELL, months: 44, quarters: 60 }[level] ?? 60;
  const columns = { weeks: 53, months: 12, quarters: 4 }[level] ?? 10;
  const places = [], labels = level === "weeks" ? [1, 10, 20, 30, 40, 50].map((week) => ({ x: LABEL + (week - 1) * (size + GAP), y: 3, text: `W${week}` })) : [];
  let row = -1, now = null, last = null;
  for (let n = from; n < to; n++) {
    const at = times.date(n), year = at.getUTCFullYear();
    const [line, column, text] = level === "weeks" ? isoWeek(at).map((each, m) => (m ? each - 1 : each))
      : level === "months" ? [year, at.getUTCMonth(), MONTHS[at.getUTCMonth()]]
        : level === "quarters" ? [year, Math.floor(at.getUTCMonth() / 3), `Q${Math.floor(at.getUTCMonth() / 3) + 1}`]
          : [Math.floor(year / 10) * 10, year % 10, String(year)];
    if (line !== now) { now = line; row++; last = null; labels.push({ x: 0, y: row * TALL + TOP, text: String(line), strong: true }); }
    if (last !== null && last.column === column) { last.to = n + 1; continue; }
    last = { from: n, to: n + 1, column, x: LABEL + column * (size + GAP), y: row * TALL + TOP, w: size, text };
    places.push(last);
  }
  return { places, labels, width: LABEL + columns * (size + GAP), height: TOP + (row + 1) * TALL };
}
