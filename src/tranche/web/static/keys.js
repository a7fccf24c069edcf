// Keys of time as the API tells them: where they begin and what they look like, not listed.

/** Standings, the worst first: of several keys, the first of these is told. */
export const STANDINGS = ["failed", "running", "cancelled", "stale", "provisional", "missing", "succeeded"];
const CODES = Object.fromEntries(STANDINGS.map((standing, code) => [standing, code]));
export const codeOf = (standing) => CODES[standing];

const pad = (number, width) => String(number).padStart(width, "0");
const DAY = 86400000;

/** The first moment of a year, also of one before 100. */
export function newYear(year) {
  const at = new Date(0);
  at.setUTCFullYear(year, 0, 1);
  return at.getTime();
}

/** The year that an ISO week belongs to, and its number. */
export function isoWeek(at) {
  const day = Math.floor(at.getTime() / DAY);
  const thursday = new Date((day - ((at.getUTCDay() + 6) % 7) + 3) * DAY);
  const year = thursday.getUTCFullYear();
  return [year, Math.floor((thursday.getTime() - newYear(year)) / (7 * DAY)) + 1];
}

const FIELDS = {
  Y: (at) => pad(at.getUTCFullYear(), 4),
  m: (at) => pad(at.getUTCMonth() + 1, 2),
  d: (at) => pad(at.getUTCDate(), 2),
  H: (at) => pad(at.getUTCHours(), 2),
  j: (at) => pad(Math.floor((at.getTime() - newYear(at.getUTCFullYear())) / DAY) + 1, 3),
  G: (at) => pad(isoWeek(at)[0], 4),
  V: (at) => pad(isoWeek(at)[1], 2),
  u: (at) => String(((at.getUTCDay() + 6) % 7) + 1),
  q: (at) => String(Math.floor(at.getUTCMonth() / 3) + 1),
  z: (at, offset) => offset,
};

/** The keys of a grid: when each begins by the clock on the wall, in minutes, and its text. */
export function timesOf(data) {
  const begins = new Float64Array(data.keys ?? 0);
  const ends = [];
  let filled = 0;
  for (const piece of data.times ?? []) {
    const first = new Date(piece.begins * 60000);
    for (let n = 0; n < piece.keys; n++) {
      begins[filled++] = data.period.minutes ? piece.begins + n * data.period.minutes
        : Date.prototype.setUTCMonth.call(new Date(first), first.getUTCMonth() + n * data.period.months) / 60000;
    }
    ends.push(filled);
  }
  let places = null;
  const times = {
    length: begins.length,
    begins,
    date: (n) => new Date(begins[n] * 60000),
    /** The segment of time of a key. */
    text(n) {
      const at = times.date(n);
      const offset = data.times[ends.findIndex((end) => n < end)].offset;
      return data.format.map(([literal, field]) => literal + (field ? FIELDS[field](at, offset) : "")).join("");
    },
    /** The whole key on a row. */
    key: (n, row) => around(row, times.text(n)),
    /** Where a key of a row stands, or undefined. */
    place(key, row) {
      places ??= new Map(Array.from(begins, (_, n) => [times.text(n), n]));
      const text = within(row, key);
      return text === null ? undefined : places.get(text);
    },
    /** Where the keys of another answer begin among these, or -1. */
    find(other) {
      const wanted = other.times?.[0]?.begins;
      for (let n = lower(begins, wanted); n < begins.length && begins[n] <= wanted; n++) if (times.text(n) === other.first) return n;
      return -1;
    },
  };
  return times;
}

function lower(values, wanted) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

/** A segment as keys of several have it, and such a key in its segments. */
export const escaped = (segment) => segment.replace(/[\\|]/g, "\\$&");
export const segmentsOf = (key) => (key.match(/(?:[^\\|]|\\.)+/gs) ?? []).map((each) => each.replace(/\\(.)/gs, "$1"));

const bare = (row) => !row.before && !row.after;
const around = (row, time) => (bare(row) ? time : row.before + escaped(time) + row.after);
function within(row, key) {
  if (bare(row)) return key;
  if (!key.startsWith(row.before) || !key.endsWith(row.after)) return null;
  return key.slice(row.before.length, key.length - row.after.length).replace(/\\([\\|])/g, "$1");
}

/** Where each key of a row stands, as the place of its standing among all of them. */
export function codesOf(packed, letters, length) {
  const codes = new Uint8Array(length).fill(CODES.missing);
  let at = 0;
  for (const [, letter, number] of packed.matchAll(/([a-z])(\d*)/g)) {
    const end = at + (number ? Number(number) : 1);
    codes.fill(CODES[letters[letter]], at, end);
    at = end;
  }
  return codes;
}
