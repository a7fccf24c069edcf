// The keys of an asset as a calendar, drawn on a canvas: as many as there are, only those that show.
import { get } from "./api.js";
import { badge, count, h, many, moment, show } from "./dom.js";
import { colours } from "./painting.js";
import { CELL, GAP, PITCH, arranged, levelFor, levelsOf, nameAt } from "./calendar.js";
import { STANDINGS, codeOf, codesOf, timesOf } from "./keys.js";

const PAINT = { succeeded: "fresh", failed: "failed", cancelled: "failed", stale: "stale", provisional: "provisional", running: "running", missing: "never" };
const SUCCEEDED = codeOf("succeeded"), LATER = [codeOf("stale"), codeOf("provisional")];
const AT_ONCE = 4000;
// How many keys are asked for at once whether they are stale.

/**
 * A calendar of keys. `data` is what /api/grid answers; `onpick` is told the keys that somebody
 * picks, one by a click, several by dragging or with the shift key. With `extend`, a second click
 * ends what the first began: fingers have no shift key, and dragging scrolls for them.
 */
export function calendar(data, { onpick = () => {}, detail = null, extend = false } = {}) {
  let times = timesOf(data), rows = rowsOf(data, times);
  const state = { row: 0, zoom: [], level: levelFor(data.kind, times.length), cursor: null, anchor: null, held: false, range: null };
  const paint = colours();
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "calendar", "aria-label": "Partitions; arrow keys move, Enter picks or opens, Shift picks several, Escape goes back" });
  const spacer = h("div");
  const box = h("div", { class: "scroll", style: { "max-height": "56vh", position: "relative" } },
    h("div", { style: { position: "sticky", top: "0", left: "0", height: "0", width: "0" } }, canvas), spacer);
  const tip = h("div", { class: "tip", hidden: true });
  const said = h("div", { class: "faint", role: "status", "aria-live": "polite" });
  const trail = h("div", { class: "row" });
  const beside = h("select", { "aria-label": "Which of the other dimensions", onchange: () => { state.row = beside.selectedIndex; state.range = state.anchor = null; layout(); draw(); } });
  const legend = h("div", { class: "legend" });
  const element = h("div", { class: "grid" }, h("div", { class: "row spread" }, trail, beside), box, legend, said, tip);
  let places = [];

  const row = () => rows[state.row] ?? rows[0];
  const name = (place) => place.to === place.from + 1 ? `${times.text(place.from)}${row().beside ? ` · ${row().beside}` : ""}` : `${times.text(place.from)} … ${times.text(place.to - 1)}`;
  const level = () => state.zoom.at(-1)?.level ?? state.level;
  const single = (place) => place.to === place.from + 1;

  function layout() {
    const from = state.zoom.at(-1)?.from ?? 0, to = state.zoom.at(-1)?.to ?? times.length;
    const { labels, width, height, ...found } = arranged(times, level(), from, to);
    places = found.places;
    Object.assign(state, { labels, width: width + 8, height: height + 8 });
    spacer.style.width = `${state.width}px`; spacer.style.height = `${state.height}px`;
    box.style.height = `${Math.min(state.height + 18, innerHeight * 0.56)}px`;
    beside.hidden = rows.length < 2;
    if (beside.options.length !== rows.length) show(beside, rows.map((each, n) => h("option", { selected: n === state.row }, each.all ? `all ${count(data.rows.length)}` : each.beside || "–")));
    tell();
    summed();
  }

  /** What there is, at which level, and how to another one. */
  function tell() {
    const levels = levelsOf(data.kind);
    const length = state.zoom.length;
    show(trail,
      length ? [h("button", { onclick: () => back(0) }, "← All"), state.zoom.map((each, n) => (n < length - 1 ? h("button", { class: "plain", onclick: () => back(n + 1) }, each.name) : h("strong", {}, each.name)))]
        : h("span", { class: "faint" }, times.length ? `${many(times.length * data.rows.length, "partition")}, ${data.first} to ${data.last}${data.earlier ? `; ${count(data.earlier)} earlier ones are not shown` : ""}${data.hidden ? `; ${count(data.hidden)} more of the other dimensions are not shown` : ""}` : "No partitions yet."),
      times.length && levels.length > 1 ? h("span", { class: "row", role: "group", "aria-label": "Zoom" }, levels.map((each) => h("button", { class: each === level() ? "plain on" : "plain", "aria-pressed": String(each === level()), onclick: () => zoom(each) }, each))) : null);
  }

  /** Says of each place how its keys stand, and of all together. */
  function summed() {
    const { codes } = row();
    const sums = new Array(STANDINGS.length).fill(0);
    const lines = row().all ? rows.filter((each) => !each.all) : [row()];
    for (const place of places) {
      let worst = codes[place.from];
      place.counts = null;
      if (!single(place) || lines.length > 1) {
        place.counts = new Array(STANDINGS.length).fill(0);
        for (const each of lines) for (let n = place.from; n < place.to; n++) place.counts[each.codes[n]]++;
        worst = place.counts.findIndex(Boolean);
        place.counts.forEach((number, code) => { sums[code] += number; });
      } else sums[worst]++;
      place.standing = STANDINGS[worst];
    }
    show(legend, STANDINGS.map((each, code) => (sums[code] ? badge(each, `${each} ${count(sums[code])}`) : null)));
  }

  function shown(top) { state.cursor = null; hover(-1); layout(); if (top) box.scrollTop = box.scrollLeft = 0; else latest(); draw(); }
  /** Scrolls to the last keys: these are looked at most. */
  function latest() { box.scrollTop = state.height; box.scrollLeft = (places.at(-1)?.x ?? 0) + 2 * PITCH - box.clientWidth; }
  function back(length) { state.zoom.length = length; shown(length > 0); }
  /** All keys that show, at another level. */
  function zoom(to) {
    if (state.zoom.length) state.zoom.at(-1).level = to; else state.level = to;
    shown(state.zoom.length > 0);
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (canvas.isConnected) painted(); });
  }

  function painted() {
    const ratio = devicePixelRatio || 1, wide = box.clientWidth, high = box.clientHeight;
    if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
      canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio);
      canvas.style.width = `${wide}px`; canvas.style.height = `${high}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, high);
    pen.translate(-box.scrollLeft + 6, -box.scrollTop + 4);
    const top = box.scrollTop - 40, bottom = box.scrollTop + high + 10;
    pen.textBaseline = "top"; pen.fillStyle = paint.faint;
    for (const label of state.labels) {
      if (label.y < top || label.y > bottom) continue;
      pen.font = label.strong ? "600 12px system-ui" : "11px system-ui";
      pen.fillText(label.text, label.x, label.y);
    }
    for (let i = 0; i < places.length; i++) if (places[i].y >= top && places[i].y <= bottom) cell(pen, places[i], i);
    element.dataset.drawn = String(times.length);
  }

  function cell(pen, place, i) {
    const w = place.w ?? CELL, told = place.standing;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.roundRect(place.x + 0.5, place.y + 0.5, w - 1, CELL - 1, 3);
    if (place.counts && place.w) shares(pen, place, w);
    else if (told === "missing" && place.counts) filled(pen, place);
    else if (told !== "missing") { pen.globalAlpha = told === "succeeded" && !place.text ? 0.75 : 1; pen.fillStyle = paint[PAINT[told]]; pen.fill(); }
    pen.strokeStyle = paint[PAINT[told]];
    pen.stroke();
    pen.globalAlpha = 1;
    // Signs, for those to whom the colours look alike.
    pen.strokeStyle = paint.back; pen.fillStyle = paint.back; pen.lineWidth = 1.6;
    const x = place.x + (place.text ? w - 9 : w / 2), y = place.y + CELL / 2;
    if (told === "failed" || told === "cancelled") { if (place.counts && place.w) pen.strokeStyle = paint.failed; line(pen, [[x - 3, y - 3, x + 3, y + 3], [x + 3, y - 3, x - 3, y + 3]]); }
    else if (told === "stale" || told === "provisional") { if (place.counts && place.w) pen.fillStyle = paint[PAINT[told]]; pen.beginPath(); pen.arc(x, y, 3, 0, told === "stale" ? Math.PI : Math.PI * 2); pen.fill(); }
    else if (told === "running") { if (place.counts && place.w) pen.fillStyle = paint.running; pen.beginPath(); pen.moveTo(x - 2.5, y - 3.5); pen.lineTo(x + 3.5, y); pen.lineTo(x - 2.5, y + 3.5); pen.fill(); }
    if (place.text) {
      pen.fillStyle = told === "missing" || place.counts ? paint.text ?? paint.faint : paint.back;
      pen.font = "11px system-ui"; pen.textBaseline = "middle"; pen.fillText(place.text, place.x + 5, y + 0.5); pen.textBaseline = "top";
    }
    if (isPicked(place) || i === state.cursor) {
      pen.strokeStyle = paint.accent; pen.lineWidth = i === state.cursor ? 2.5 : 2;
      pen.strokeRect(place.x - 1, place.y - 1, w + 2, CELL + 2);
    }
  }

  /** Of a day whose other hours are there: how many of them. */
  function filled(pen, place) {
    const part = Math.min(0.75, 1 - place.counts[codeOf("missing")] / place.counts.reduce((a, b) => a + b));
    pen.save();
    pen.clip();
    pen.globalAlpha = 0.75; pen.fillStyle = paint.fresh;
    pen.fillRect(place.x, place.y + CELL * (1 - part), CELL, CELL * part);
    pen.restore();
  }

  /** Of a place that stands for many keys, how many of them stand where: as wide as their share. */
  function shares(pen, place, w) {
    pen.save();
    pen.clip();
    const all = place.counts.reduce((a, b) => a + b);
    let x = place.x;
    for (let code = STANDINGS.length - 1; code >= 0; code--) {
      const part = (w * place.counts[code]) / all;
      if (part && STANDINGS[code] !== "missing") { pen.globalAlpha = 0.35; pen.fillStyle = paint[PAINT[STANDINGS[code]]]; pen.fillRect(x, place.y, Math.max(part, 2), CELL); }
      x += part;
    }
    pen.restore();
  }

  const isPicked = (place) => state.range && place.from <= state.range[1] && place.to - 1 >= state.range[0];
  const at = (event) => {
    const rect = canvas.getBoundingClientRect();
    const x = event.clientX - rect.left + box.scrollLeft - 6, y = event.clientY - rect.top + box.scrollTop - 4;
    return places.findIndex((place) => y >= place.y - 1 && y <= place.y + CELL + 1 && x >= place.x - 1 && x <= place.x + (place.w ?? CELL) + 1);
  };

  /** The keys of a stretch; of all rows together those of each. */
  function keysBetween(from, to) {
    const lines = row().all ? rows.filter((each) => !each.all) : [row()];
    return lines.flatMap((each) => Array.from({ length: to - from + 1 }, (_, n) => times.key(from + n, each)));
  }
  function pick(from, to, done) {
    state.range = [Math.min(from, to), Math.max(from, to)];
    draw();
    if (done) onpick(keysBetween(...state.range), row());
  }

  const extending = () => extend && state.range !== null && state.range[0] === state.range[1];
  canvas.addEventListener("pointerdown", (event) => {
    const i = at(event);
    if (i < 0) return;
    if (event.pointerType !== "touch") canvas.setPointerCapture(event.pointerId);
    state.held = true;
    state.before = state.range;
    if (!(event.shiftKey || extending()) || state.anchor === null) state.anchor = places[i].from;
    state.cursor = i;
    pick(state.anchor, places[i].from < state.anchor ? places[i].from : places[i].to - 1, false);
  });
  canvas.addEventListener("pointermove", (event) => {
    const i = at(event);
    if (state.held && i >= 0) { pick(state.anchor, places[i].from < state.anchor ? places[i].from : places[i].to - 1, false); return; }
    hover(i, event);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!state.held) return;
    state.held = false;
    const place = places[at(event)];
    if (place && !single(place) && state.range[0] === place.from && state.range[1] === place.to - 1 && !event.shiftKey) return open(place);
    pick(...state.range, true);
  });
  // A finger that scrolls picks nothing.
  canvas.addEventListener("pointercancel", () => { if (state.held) { state.held = false; state.range = state.before; draw(); } });
  canvas.addEventListener("pointerleave", () => hover(-1));

  /** Looks into a place that stands for many keys: a month or a year, at the next finer level. */
  function open(place) {
    const levels = levelsOf(data.kind), finer = levels[levels.indexOf(level()) + 1];
    if (!finer) return;
    const part = level() === "days" ? "months" : "years";
    const inside = nameAt(part, times.date(place.from));
    let { from, to } = place;
    while (from > 0 && nameAt(part, times.date(from - 1)) === inside) from--;
    while (to < times.length && nameAt(part, times.date(to)) === inside) to++;
    state.range = state.anchor = null;
    state.zoom.push({ level: finer, from, to, name: inside });
    shown(true);
  }

  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!step && !["Enter", " ", "Home", "End", "Escape"].includes(event.key)) return;
    if (event.key === "Escape" && !state.zoom.length) return;
    event.preventDefault();
    event.stopPropagation();
    if (!places.length) return;
    if (event.key === "Escape") return back(state.zoom.length - 1);
    if (event.key === "Enter" || event.key === " ") {
      if (state.cursor === null) return;
      const place = places[state.cursor];
      if (!single(place) && event.key === "Enter") return open(place);
      return pick(event.shiftKey && state.anchor !== null ? state.anchor : (state.anchor = place.from), place.to - 1, true);
    }
    const now = state.cursor === null ? null : places[state.cursor];
    if (event.key === "Home") state.cursor = 0;
    else if (event.key === "End" || now === null) state.cursor = places.length - 1;
    else {
      const column = step[0] * ((now.w ?? CELL) + GAP), below = step[1] * (now.w ? CELL + 8 : PITCH);
      const next = places.findIndex((each) => Math.abs(each.x - now.x - column) < 2 && Math.abs(each.y - now.y - below) < 12);
      state.cursor = next >= 0 ? next : Math.max(0, Math.min(places.length - 1, state.cursor + Math.sign(step[0] + step[1])));
    }
    const place = places[state.cursor];
    if (event.shiftKey) pick(state.anchor ??= now?.from ?? place.from, place.from < state.anchor ? place.from : place.to - 1, true);
    if (place.y < box.scrollTop) box.scrollTop = place.y - 20;
    if (place.y + PITCH > box.scrollTop + box.clientHeight - 10) box.scrollTop = place.y - box.clientHeight + PITCH + 20;
    show(said, `${name(place)}: ${place.counts ? STANDINGS.map((each, code) => (place.counts[code] ? `${each} ${place.counts[code]} ` : "")).join("") : place.standing}`);
    draw();
  });

  let hovered = -1, timer = null;
  function hover(i, event) {
    if (i !== hovered) {
      hovered = i;
      clearTimeout(timer);
      tip.hidden = i < 0;
      const place = places[i];
      if (place) {
        show(tip, h("strong", {}, name(place)), h("div", {}, place.counts ? STANDINGS.map((each, code) => (place.counts[code] ? [badge(each, `${each} ${count(place.counts[code])}`), " "] : null)) : badge(place.standing)));
        if (row().all && single(place)) tip.append(h("div", {}, rows.filter((each) => !each.all).slice(0, 12).map((each) => h("div", {}, badge(STANDINGS[each.codes[place.from]], each.beside)))));
        else if (single(place) && place.standing !== "missing" && detail) {
          timer = setTimeout(async () => {
            try {
              const more = await detail(times.key(place.from, row()));
              if (hovered === i) tip.append(...more);
            } catch { /* The tip is told less then. */ }
          }, 120);
        }
      }
    }
    if (event && i >= 0) {
      tip.style.left = `${Math.max(0, Math.min(event.clientX + 14, innerWidth - 300))}px`;
      tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 130)}px`;
    }
  }

  const repaint = () => { Object.assign(paint, colours()); draw(); };
  addEventListener("themechange", repaint);
  const resize = new ResizeObserver(draw);
  resize.observe(box);
  box.addEventListener("scroll", draw, { passive: true });
  layout();
  requestAnimationFrame(() => { latest(); draw(); });

  function changed() { together(rows); summed(); draw(); }
  return {
    element,
    get length() { return times.length; },
    get rows() { return data.rows.length; },
    /** The segment of time of a key, by its number. */
    time: (n) => times.text(n),
    /** Takes over how keys stand now, without moving anything. Which are stale is kept until it is
     *  known again. */
    update(next) {
      const before = rows, same = next.keys === data.keys && next.first === data.first && next.rows.length === data.rows.length;
      data = next;
      if (!same) { times = timesOf(next); state.zoom = []; state.range = state.anchor = state.cursor = null; }
      rows = rowsOf(next, times);
      if (!same) { const top = box.scrollTop; layout(); box.scrollTop = top; draw(); return; }
      rows.forEach((each, n) => { if (!each.all) each.codes.forEach((code, at) => { if (code === SUCCEEDED && LATER.includes(before[n].codes[at])) each.codes[at] = before[n].codes[at]; }); });
      changed();
    },
    /** Takes over how some keys stand, from an answer for a part of the time. */
    merge(part) {
      const start = times.find(part);
      if (start < 0) return;
      for (const each of part.rows) {
        const mine = rows.find((other) => !other.all && other.beside === each.beside);
        if (mine) mine.codes.set(codesOf(each.standing, part.letters, part.keys).subarray(0, times.length - start), start);
      }
      changed();
    },
    /** Says of some keys how they stand, as they become known one by one. */
    mark(keys) {
      for (const each of rows.filter((other) => !other.all)) {
        for (const { partition, status } of keys) {
          const n = codeOf(status) === undefined ? undefined : times.place(partition, each);
          if (n !== undefined) each.codes[n] = codeOf(status);
        }
      }
      changed();
    },
    /** Points out a stretch that somebody typed, as far as it is on the calendar. */
    choose(from, to) {
      const bare = { before: "", after: "" };
      const [first, last] = [times.place(from, bare), times.place(to, bare)];
      state.range = first === undefined || last === undefined || last < first ? null : [first, last];
      draw();
    },
    stop() { removeEventListener("themechange", repaint); resize.disconnect(); clearTimeout(timer); },
  };
}

/** The rows of an answer with where their keys stand; of several, one before them for all. */
function rowsOf(data, times) {
  const rows = data.rows.map((each) => ({ ...each, codes: codesOf(each.standing, data.letters, times.length) }));
  if (!rows.length) return [{ beside: "", before: "", after: "", codes: new Uint8Array(0) }];
  if (rows.length === 1) return rows;
  return together([{ all: true, beside: "", before: "", after: "", codes: new Uint8Array(times.length) }, ...rows]);
}

/** Of all rows together, each time stands as the worst of them does. */
function together(rows) {
  const [all, ...others] = rows;
  if (all.all) for (let n = 0; n < all.codes.length; n++) all.codes[n] = others.reduce((worst, each) => Math.min(worst, each.codes[n]), STANDINGS.length - 1);
  return rows;
}

function line(pen, strokes) { for (const [a, b, c, d] of strokes) { pen.beginPath(); pen.moveTo(a, b); pen.lineTo(c, d); pen.stroke(); } }

/** What is known of one key, for a tip. */
export async function keyDetail(asset, partition) {
  const found = await get("key", { asset, partition });
  const state = found.state, last = found.log[0];
  if (!state) return [];
  const tests = last?.tests ?? [];
  return [h("div", {}, `${count(state.rows)} rows`, state.snapshot ? ` · snapshot ${state.snapshot}` : ""),
    h("div", { class: "faint" }, moment(state.at)),
    tests.length ? h("div", {}, tests.map((test) => h("div", {}, badge(test.status, test.test)))) : null,
    state.error ? h("div", { class: "wrong" }, state.error.split("\n")[0].slice(0, 240)) : null].filter(Boolean);
}

/** Marks the keys that are stale, piece by piece, the latest first: it takes long to find out. */
export async function staleToo(view, asset, wanted) {
  const size = Math.max(50, Math.floor(AT_ONCE / Math.max(1, view.rows)));
  for (let end = view.length; end > 0 && wanted(); end -= size) {
    const [start, last] = [Math.max(0, end - size), Math.min(end, view.length) - 1];
    if (last < start) return;
    const part = await get("grid", { asset, start: view.time(start), end: view.time(last), stale: true });
    if (wanted()) view.merge(part);
  }
}
