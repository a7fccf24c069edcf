// The keys of an asset as a calendar, drawn on a canvas: as many as there are, only those that show.
import { get } from "./api.js";
import { badge, count, h, many, moment, show } from "./dom.js";
import { colours } from "./graph.js";

const CELL = 14, GAP = 3, PITCH = CELL + GAP, LABEL = 52, TOP = 20;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MOST_HOURS = 24 * 62;
/** Which standing of several is told first. */
const ORDER = ["failed", "running", "cancelled", "stale", "provisional", "missing", "succeeded"];
const PAINT = { succeeded: "fresh", failed: "failed", cancelled: "failed", stale: "stale", provisional: "provisional", running: "running", missing: "never" };

/**
 * A calendar of keys. `data` is what /api/grid answers; `onpick` is told the keys that somebody
 * picks, one by a click, several by dragging or with the shift key.
 */
export function calendar(data, { onpick = () => {}, detail = null, picked = null } = {}) {
  const row = data.rows[0] ?? { keys: [], begins: [], standing: "" };
  const state = { row, from: 0, to: row.keys.length, zoom: null, cursor: null, anchor: null, held: false, range: picked };
  const paint = colours();
  const canvas = h("canvas", { tabindex: "0", role: "grid", "aria-label": "Partitions; arrow keys move, Enter picks, Shift picks several" });
  const spacer = h("div");
  const box = h("div", { class: "scroll", style: { "max-height": "56vh", position: "relative" } },
    h("div", { style: { position: "sticky", top: "0", left: "0", height: "0", width: "0" } }, canvas), spacer);
  const tip = h("div", { class: "tip", hidden: true });
  const said = h("div", { class: "faint", role: "status", "aria-live": "polite" });
  const trail = h("div", { class: "row" });
  const beside = data.rows.length > 1
    ? h("select", { "aria-label": "Which of the other dimensions", onchange: (event) => { state.row = data.rows[event.target.selectedIndex]; zoomTo(null); } },
      data.rows.map((each) => h("option", {}, each.beside || "–")))
    : null;
  const legend = h("div", { class: "legend" });
  const element = h("div", { class: "grid" }, h("div", { class: "row spread" }, trail, beside), box, legend, said, tip);
  let places = [];

  const standing = (n) => data.letters[state.row.standing[n]];

  function layout() {
    const { begins } = state.row;
    const days = data.kind === "hourly" && state.zoom === null && begins.length > MOST_HOURS;
    const kind = days ? "days" : data.kind;
    places = [];
    const labels = [];
    let width = 0, height = 0;
    const from = state.zoom?.from ?? 0, to = state.zoom?.to ?? begins.length;
    if (kind === "hourly") {
      let last = null, line = -1;
      for (let n = from; n < to; n++) {
        const day = Math.floor(begins[n] / 1440);
        if (day !== last) { last = day; line++; labels.push({ x: 0, y: TOP + line * PITCH, text: date(begins[n]).toISOString().slice(5, 10) }); }
        places.push({ from: n, to: n + 1, x: LABEL + Math.floor((begins[n] % 1440) / 60) * PITCH, y: TOP + line * PITCH });
      }
      for (const hour of [0, 6, 12, 18]) labels.push({ x: LABEL + hour * PITCH, y: 0, text: `${hour}h` });
      width = LABEL + 24 * PITCH; height = TOP + (line + 1) * PITCH;
    } else if (kind === "daily" || kind === "days") {
      const block = 7 * PITCH + 30;
      const years = new Map();
      let n = from;
      while (n < to) {
        const day = Math.floor(begins[n] / 1440);
        let end = n + 1;
        while (kind === "days" && end < to && Math.floor(begins[end] / 1440) === day) end++;
        const at = date(begins[n]);
        const year = at.getUTCFullYear();
        const first = Date.UTC(year, 0, 1) / 86400000;
        const lead = (new Date(first * 86400000).getUTCDay() + 6) % 7;
        if (!years.has(year)) { years.set(year, years.size); labels.push({ x: 0, y: years.get(year) * block + TOP, text: String(year), strong: true }); }
        const top = years.get(year) * block + TOP;
        const week = Math.floor((day - first + lead) / 7);
        places.push({ from: n, to: end, x: LABEL + week * PITCH, y: top + ((day - first + lead) % 7) * PITCH });
        if (at.getUTCDate() === 1 || n === from) labels.push({ x: LABEL + week * PITCH, y: top - TOP + 3, text: MONTHS[at.getUTCMonth()] });
        width = Math.max(width, LABEL + (week + 1) * PITCH);
        n = end;
      }
      height = years.size * block;
    } else {
      const columns = { weekly: 53, monthly: 12, quarterly: 4, yearly: 10 }[kind] ?? 20;
      const size = { monthly: 44, quarterly: 60, yearly: 60 }[kind] ?? CELL;
      const years = new Map();
      for (let n = from; n < to; n++) {
        const at = date(begins[n]);
        let line = at.getUTCFullYear(), column;
        if (kind === "weekly") {
          const thursday = new Date(at.getTime() + 3 * 86400000);
          line = thursday.getUTCFullYear();
          column = Math.floor((thursday - Date.UTC(line, 0, 1)) / 604800000);
        } else if (kind === "monthly") column = at.getUTCMonth();
        else if (kind === "quarterly") column = Math.floor(at.getUTCMonth() / 3);
        else { line = Math.floor(at.getUTCFullYear() / 10) * 10; column = at.getUTCFullYear() % 10; }
        if (!years.has(line)) { years.set(line, years.size); labels.push({ x: 0, y: years.get(line) * (CELL + 8) + TOP, text: String(line), strong: true }); }
        const text = { monthly: MONTHS[column], quarterly: `Q${column + 1}`, yearly: String(at.getUTCFullYear()) }[kind];
        places.push({ from: n, to: n + 1, x: LABEL + column * (size + GAP), y: years.get(line) * (CELL + 8) + TOP, w: size, text });
      }
      width = LABEL + columns * (size + GAP); height = TOP + years.size * (CELL + 8);
    }
    state.labels = labels;
    state.width = width + 8; state.height = height + 8;
    spacer.style.width = `${state.width}px`; spacer.style.height = `${state.height}px`;
    box.style.height = `${Math.min(state.height + 18, innerHeight * 0.56)}px`;
    show(trail, state.zoom ? [h("button", { onclick: () => zoomTo(null) }, "← All days"), h("strong", {}, state.zoom.name)]
      : h("span", { class: "faint" }, state.row.keys.length ? `${many(state.row.keys.length, "partition")}, ${state.row.keys[0]} to ${state.row.keys.at(-1)}${data.earlier ? `; ${count(data.earlier)} earlier ones are not shown` : ""}${days ? "; a day has its hours behind it" : ""}` : "No partitions yet."));
    const sums = {};
    for (const letter of state.row.standing) sums[data.letters[letter]] = (sums[data.letters[letter]] ?? 0) + 1;
    show(legend, ORDER.filter((each) => sums[each]).map((each) => badge(each, `${each} ${count(sums[each])}`)));
  }

  function zoomTo(zoom) { state.zoom = zoom; state.cursor = null; layout(); box.scrollTop = zoom ? 0 : state.height; draw(); }

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
    for (let i = 0; i < places.length; i++) {
      const place = places[i];
      if (place.y < top || place.y > bottom) continue;
      cell(pen, place, i);
    }
  }

  function cell(pen, place, i) {
    const w = place.w ?? CELL;
    const told = worst(place);
    const colour = PAINT[told];
    pen.fillStyle = told === "missing" ? paint.back : told === "failed" || told === "cancelled" ? paint.failed : told === "succeeded" ? paint.fresh : paint[colour];
    pen.strokeStyle = paint[colour];
    pen.lineWidth = 1;
    pen.globalAlpha = told === "succeeded" ? 0.75 : 1;
    pen.beginPath();
    pen.roundRect(place.x + 0.5, place.y + 0.5, w - 1, CELL - 1, 3);
    if (told !== "missing") pen.fill();
    pen.stroke();
    pen.globalAlpha = 1;
    // Signs, for those to whom the colours look alike.
    pen.strokeStyle = paint.back; pen.fillStyle = paint.back; pen.lineWidth = 1.6;
    const x = place.x + w / 2, y = place.y + CELL / 2;
    if (told === "failed" || told === "cancelled") line(pen, [[x - 3, y - 3, x + 3, y + 3], [x + 3, y - 3, x - 3, y + 3]]);
    else if (told === "stale" || told === "provisional") { pen.beginPath(); pen.arc(x, y, 3, 0, told === "stale" ? Math.PI : Math.PI * 2); pen.fill(); }
    else if (told === "running") { pen.beginPath(); pen.moveTo(x - 2.5, y - 3.5); pen.lineTo(x + 3.5, y); pen.lineTo(x - 2.5, y + 3.5); pen.fill(); }
    if (place.text) { pen.fillStyle = told === "missing" ? paint.faint : paint.back; pen.font = "11px system-ui"; pen.textBaseline = "middle"; pen.textAlign = "left"; pen.fillText(place.text, place.x + 5, y + 0.5); pen.textBaseline = "top"; }
    if (isPicked(place) || i === state.cursor) {
      pen.strokeStyle = paint.accent; pen.lineWidth = i === state.cursor ? 2.5 : 2;
      pen.strokeRect(place.x - 1, place.y - 1, w + 2, CELL + 2);
    }
  }

  const worst = (place) => {
    if (place.to === place.from + 1) return standing(place.from);
    const seen = new Set();
    for (let n = place.from; n < place.to; n++) seen.add(standing(n));
    return ORDER.find((each) => seen.has(each));
  };
  const isPicked = (place) => state.range && place.from <= state.range[1] && place.to - 1 >= state.range[0];

  const at = (event) => {
    const rect = canvas.getBoundingClientRect();
    const x = event.clientX - rect.left + box.scrollLeft - 6, y = event.clientY - rect.top + box.scrollTop - 4;
    return places.findIndex((place) => x >= place.x - 1 && x <= place.x + (place.w ?? CELL) + 1 && y >= place.y - 1 && y <= place.y + CELL + 1);
  };
  const name = (place) => place.to === place.from + 1 ? state.row.keys[place.from] : `${state.row.keys[place.from]} … ${state.row.keys[place.to - 1]}`;

  function pick(from, to, done) {
    state.range = [Math.min(from, to), Math.max(from, to)];
    draw();
    if (done) onpick(state.row.keys.slice(state.range[0], state.range[1] + 1), state.row);
  }

  canvas.addEventListener("pointerdown", (event) => {
    const i = at(event);
    if (i < 0) return;
    canvas.setPointerCapture(event.pointerId);
    state.held = true;
    if (!event.shiftKey || state.anchor === null) state.anchor = places[i].from;
    state.cursor = i;
    pick(state.anchor, places[i].to - 1, false);
  });
  canvas.addEventListener("pointermove", (event) => {
    const i = at(event);
    if (state.held && i >= 0) { pick(state.anchor, places[i].from < state.anchor ? places[i].from : places[i].to - 1, false); return; }
    hover(i, event);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!state.held) return;
    state.held = false;
    const i = at(event), place = places[i];
    if (place && place.to > place.from + 1 && state.range[0] === place.from && state.range[1] === place.to - 1 && !event.shiftKey) return open(place);
    onpick(state.row.keys.slice(state.range[0], state.range[1] + 1), state.row);
  });
  canvas.addEventListener("pointerleave", () => hover(-1));
  function open(place) {
    const month = date(state.row.begins[place.from]).toISOString().slice(0, 7);
    const inside = (n) => date(state.row.begins[n]).toISOString().slice(0, 7) === month;
    let from = place.from, to = place.to;
    while (from > 0 && inside(from - 1)) from--;
    while (to < state.row.keys.length && inside(to)) to++;
    state.range = null; state.anchor = null;
    zoomTo({ from, to, name: month });
  }

  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!step && event.key !== "Enter" && event.key !== "Home" && event.key !== "End" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (!places.length) return;
    if (event.key === "Escape") { if (state.zoom) zoomTo(null); return; }
    if (event.key === "Enter") {
      if (state.cursor === null) return;
      const place = places[state.cursor];
      if (place.to > place.from + 1) return open(place);
      return pick(event.shiftKey && state.anchor !== null ? state.anchor : (state.anchor = place.from), place.to - 1, true);
    }
    const now = state.cursor === null ? null : places[state.cursor];
    if (event.key === "Home") state.cursor = 0;
    else if (event.key === "End" || now === null) state.cursor = places.length - 1;
    else {
      const column = step[0] * ((now.w ?? CELL) + GAP), line = step[1] * (now.w ? CELL + 8 : PITCH);
      const next = places.findIndex((each) => Math.abs(each.x - now.x - column) < 2 && Math.abs(each.y - now.y - line) < 12);
      state.cursor = next >= 0 ? next : Math.max(0, Math.min(places.length - 1, state.cursor + Math.sign(step[0] + step[1])));
    }
    const place = places[state.cursor];
    if (event.shiftKey && state.anchor !== null) pick(state.anchor, place.from, true);
    if (place.y < box.scrollTop) box.scrollTop = place.y - 20;
    if (place.y + PITCH > box.scrollTop + box.clientHeight - 10) box.scrollTop = place.y - box.clientHeight + PITCH + 20;
    show(said, `${name(place)}: ${worst(place)}`);
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
        const sums = {};
        for (let n = place.from; n < place.to; n++) sums[standing(n)] = (sums[standing(n)] ?? 0) + 1;
        show(tip, h("strong", {}, name(place)), h("div", {}, ORDER.filter((each) => sums[each]).map((each) => [badge(each, place.to > place.from + 1 ? `${each} ${sums[each]}` : each), " "])));
        if (place.to === place.from + 1 && worst(place) !== "missing" && detail) {
          timer = setTimeout(async () => {
            try {
              const more = await detail(state.row.keys[place.from]);
              if (hovered === i) tip.append(...more);
            } catch { /* The tip is told less then. */ }
          }, 120);
        }
      }
    }
    if (event && i >= 0) {
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 300)}px`;
      tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 130)}px`;
    }
  }

  const repaint = () => { Object.assign(paint, colours()); draw(); };
  addEventListener("themechange", repaint);
  const resize = new ResizeObserver(draw);
  resize.observe(box);
  box.addEventListener("scroll", draw, { passive: true });
  layout();
  requestAnimationFrame(() => { box.scrollTop = state.height; draw(); });
  return {
    element,
    /** Takes over how keys stand now, without moving anything. */
    update(next) {
      data = next;
      state.row = next.rows.find((each) => each.beside === state.row.beside) ?? next.rows[0] ?? state.row;
      const top = box.scrollTop;
      layout();
      box.scrollTop = top;
      draw();
    },
    /** Says of some keys how they stand, as they become known one by one. */
    mark(keys) {
      const letters = Object.fromEntries(Object.entries(data.letters).map(([letter, word]) => [word, letter]));
      for (const each of data.rows) {
        const place = new Map(each.keys.map((key, n) => [key, n]));
        const text = [...each.standing];
        for (const { partition, status } of keys) if (place.has(partition) && letters[status]) text[place.get(partition)] = letters[status];
        each.standing = text.join("");
      }
      layout();
      draw();
    },
    clear() { state.range = null; state.anchor = null; draw(); },
    stop() { removeEventListener("themechange", repaint); resize.disconnect(); clearTimeout(timer); },
  };
}

const date = (minutes) => new Date(minutes * 60000);
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
