// SPDX-License-Identifier: MIT
// Makes the sections of a page (eventring/view/DATA.md) of a run that never was, from a seed:
//
//     node _generate.mjs KIND FILE.html      KIND: small, limit, full
//
// small: a bit of everything, with names that are hard to show. limit: 10,000 span names, 50,000
// sites, 2 MB of source. full: a million spans (2 million events) in chunks.
import fs from "node:fs";
import {fileURLToPath} from "node:url";
import {pageOf} from "./_load.mjs";

function randomOf(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const steps = (values) => values.map((value, i) => (i === 0 ? value : value - values[i - 1]));

export function bucket(value) {
  if (value < 16) return value;
  const high = Math.floor(Math.log2(value));
  return (high - 3) * 8 + Math.floor(value / 2 ** (high - 3));
}

function histogram(values) {
  const counts = new Map();
  for (const value of values) counts.set(bucket(value), (counts.get(bucket(value)) || 0) + 1);
  const sorted = [...counts].sort((a, b) => a[0] - b[0]);
  return sorted.flatMap(([at, count], i) => [i === 0 ? at : at - sorted[i - 1][0], count]);
}

const HARD_NAMES = ["</script><script>alert(1)</script>", "\"quoted\" 'name'",
    "bell\u0007 and escape\u001b[31m",
                    "right\u202eto left", "<img src=x onerror=alert(2)>", "Ünïcödé 名前",
                    "x".repeat(300)];

// spans: [{track, begin, length, depth, name, own, gc, flags}, ...]; kept as `spans`, by begin
function spanSection(spans, tracks) {
  const parts = [];
  for (let track = 0; track < tracks; track++) {
    const rows = spans.filter((span) => span.track === track).sort((a, b) => a.begin - b.begin ||
        a.depth - b.depth);
    if (rows.length === 0) continue;
    const part = {track, begin_d: steps(rows.map((row) => row.begin))};
    for (const key of ["length", "depth", "name", "own", "gc", "waiting", "suspended", "off_cpu",
        "value", "flags"])
      part[key] = rows.map((row) => row[key]);
    parts.push(part);
  }
  return {tracks: parts};
}

function seriesOf(of, name, domain, reason, level, spans, cellNs) {
  const cells = new Map();
  for (const span of spans) {
    const cell = Math.floor((span.begin + span.length) / cellNs / 2 ** level);
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(span);
  }
  const order = [...cells.keys()].sort((a, b) => a - b),
      sum = (list, key) => list.reduce((all, span) => all + span[key], 0);
  const total = {count: spans.length, sum: sum(spans, "length"), own: sum(spans, "own"),
      longest: Math.max(0, ...spans.map((span) => span.length)),
                 off_cpu: 0, suspended: 0, torn: spans.filter((span) => span.flags & 3).length,
                 open: 0, histogram: histogram(spans.map((span) => span.length))};
  const series = {of, name, domain, reason, level, cell_d: steps(order), total};
  if (of === "event") return {...series, count: order.map((cell) => cells.get(cell).length),
      total: {count: spans.length}};
  series.count = order.map((cell) => cells.get(cell).length);
  series.sum = order.map((cell) => sum(cells.get(cell), "length"));
  series.own = order.map((cell) => sum(cells.get(cell), "own"));
  series.longest = order.map((cell) => Math.max(...cells.get(cell).map((span) => span.length)));
  series.histogram = order.map((cell) => histogram(cells.get(cell).map((span) => span.length)));
  return series;
}

function coverSection(spans, level, cellNs) {
  const lanes = new Map(), size = cellNs * 2 ** level;
  for (const span of spans) {
    const key = `${span.track} ${span.depth}`;
    if (!lanes.has(key)) lanes.set(key, new Map());
    const cells = lanes.get(key);
    for (let cell = Math.floor(span.begin / size), first = cell; cell * size < span.begin +
        Math.max(1, span.length); cell++) {
      const entry = cells.get(cell) || {ns: 0, count: 0};
      entry.ns += Math.max(0, Math.min(span.begin + span.length,
          (cell + 1) * size) - Math.max(span.begin, cell * size));
      if (cell === first) entry.count++;
      cells.set(cell, entry);
    }
  }
  return {tracks: [...lanes].map(([key, cells]) => {
    const [track, depth] = key.split(" ").map(Number),
        order = [...cells.keys()].sort((a, b) => a - b);
    return {track, depth, level, cell_d: steps(order),
        ns: order.map((cell) => Math.min(size, cells.get(cell).ns)),
        count: order.map((cell) => cells.get(cell).count)};
  })};
}

// A program that serves requests: in each a query, a part that renders, and steps of the collector.
function requests(random, {count, tracks, names, collector, lengthNs, reasons}) {
  const spans = [], pauses = [], free = new Array(tracks).fill(0), gap = lengthNs / count * tracks;
  for (let i = 0; i < count; i++) {
    const track = i % tracks, begin = Math.floor(free[track] + random() * gap * 0.3);
    const length = Math.floor(gap * (0.25 + 0.35 * random() ** 4));
    if (begin + length >= lengthNs - 10) continue;
    free[track] = begin + length + 10;
    const one = (depth, at, ns, name, own) => ({track, begin: at, length: ns, depth, name, own,
        gc: 0, waiting: 0, suspended: 0, off_cpu: -1, value: depth === 0 && i % 5 === 0 ? i % 20
        : -1, flags: 0});
    const request = one(0, begin, length, names[Math.floor(random() ** 3 * names.length)], length);
    spans.push(request);
    const query = one(1, begin + Math.floor(length * 0.1), Math.floor(length * 0.4),
        names[(i * 7) % names.length], 0);
    query.own = query.length;
    request.own -= query.length;
    spans.push(query);
    if (i % 3 === 0) {
      const pause = one(1, begin + Math.floor(length * 0.6),
          Math.floor(length * 0.1 * (0.1 + random())), collector[0], 0);
      pause.own = pause.length;
      request.own -= pause.length;
      request.gc = pause.length;
      spans.push(pause);
      pauses.push({...pause, reason: reasons[Math.floor(random() * reasons.length)],
          span: request.name});
    }
  }
  return {spans, pauses};
}

function stacksOf(random, sites, functions, source) {
  const parent = [], fn = [], line = [], depth = [0];
  for (let i = 1; i <= sites; i++) {
    let at = Math.floor(random() * i);
    if (depth[at] > 40) at = 0;
    parent.push(at);
    depth[i] = depth[at] + 1;
    const which = Math.floor(random() * functions);
    fn.push(which);
    line.push(which * 10 + 1 + Math.floor(random() * 9));
  }
  const list = Array.from({length: functions}, (_, i) => i % 50 === 49 ? [`builtin_${i}`, null, 0,
      1] : [`function_${i}`, source, i * 10 + 1, 0]);
  list[0][0] = HARD_NAMES[0];
  return {functions: list, nodes: {parent_d: steps(parent), function: fn, line}};
}

function figureSet(random, domain, measure, sites, scale, level, cells) {
  const node = [], self = [], byCell = [], levelCells = cells >> level;
  for (let i = 1; i <= sites; i++) {
    if (random() < 0.4) continue;
    const column = [];
    let sum = 0, at = 0;
    for (let k = 0; k < 4; k++) {
      const step = Math.floor(random() * levelCells / 4),
          figure = 1 + Math.floor(random() ** 4 * scale);
      if (k > 0 && step === 0) continue;
      at += step;
      column.push(k === 0 ? at : step, figure);
      sum += figure;
    }
    node.push(i);
    self.push(sum);
    byCell.push(column);
  }
  return {domain, measure, node, self, level, cells: byCell};
}

function table(title, command, columns, rows) {
  return {title, command, columns, rows};
}

export function generate(kind, {seed = 1} = {}) {
  const random = randomOf(seed);
  const full = kind === "full", limit = kind === "limit";
  const spanNames = limit ? 10000 : 40, sites = limit ? 50000 : 800, functions = limit ? 4000 : 120;
  const lengthNs = full || limit ? 600e9 : 12.5e9, cells = 1024,
      cellNs = Math.ceil(lengthNs / cells);
  const requestCount = full ? 430000 : limit ? 30000 : 1500, domains = 2, contexts = 3;
  const names = [];
  const define = (name, kind, cls, extra = {}) => names.push({id: names.length, name, class: cls,
      ring: cls === "gc" ? "runtime" : "user", kind, quantity: null, unit: null, ...extra}) - 1;
  const ids = Array.from({length: spanNames},
      (_, i) => define(i < HARD_NAMES.length && kind === "small" ? HARD_NAMES[i] : `request ${i}`,
      "span", "user"));
  const minor = define("minor", "span", "gc"), slice = define("major_slice", "span", "gc");
  const reasons = [define("nursery", "event", "gc", {doc: "As much was allocated as it holds"}),
      define("pace", "event", "gc", {doc: "The next slice was due"})],
      phases = [define("minor_roots", "span", "gc"), define("minor_promote", "span", "gc")];
  const heapWords = define("heap_words", "counter", "gc", {quantity: "level", unit: "words"}),
      sent = define("sent", "counter", "user", {quantity: "difference", unit: "bytes"});
  const mark = define("checkpoint", "event", "user");
  const tracks = [];
  for (let domain = 0; domain < domains; domain++)
    for (let lane = 0; lane < contexts; lane++)
      tracks.push({domain, ring: "user", lane, context: String(lane), depth: 2});
  const made = requests(random, {count: requestCount, tracks: tracks.length, names: ids,
      collector: [minor, slice], lengthNs, reasons});
  made.spans.forEach((span, i) => { if (i % 97 === 5) span.flags = [1, 2, 4][i % 3]; });
  const pauses = made.pauses.sort((a, b) => a.begin - b.begin).filter((_, i) => !full ||
      i % 20 === 0);
  const byName = new Map();
  for (const span of made.spans) {
    const key = span.name * 8 + tracks[span.track].domain;
    if (!byName.has(key)) byName.set(key, []);
    byName.get(key).push(span);
  }
  const series = [...byName].map(([key, spans]) => seriesOf("span", Math.floor(key / 8), key % 8,
      null, limit ? 6 : spans.length % 3, spans, cellNs));
  for (const reason of reasons)
    for (let domain = 0; domain < domains; domain++)
      series.push(seriesOf("pause", minor, domain, reason, 1,
          pauses.filter((pause) => pause.reason === reason &&
          tracks[pause.track].domain === domain), cellNs));
  const cellList = Array.from({length: cells}, (_, i) => i);
  const counter = (domain, name, figure) =>
      ({domain, name, level: 0, scale: 1, cell_d: steps(cellList),
      last: cellList.map((i) => figure(i)),
    least: cellList.map((i) => Math.floor(figure(i) * 0.9)),
    most: cellList.map((i) => Math.ceil(figure(i) * 1.1)), sum: cellList.map((i) => figure(i) * 3),
    samples: cellList.map(() => 3)});
  const instants = cellList.filter((i) => i % 16 === 3).map((i) => i * cellNs);
  const sourceText = Array.from({length: functions * 10}, (_, i) => i % 10 === 0
      ? `local function function_${i / 10}(a, b)`
      : `  local x${i} = a * ${i} + b -- ${"some words ".repeat(limit ? 3 : 1)}`).join("\n");
  const sets = (measure, scale) => [0, 1].map((domain) => figureSet(random, domain, measure, sites,
      scale, 2, cells));
  const estimated = (sets) => sets.map((set) => ({...set,
      variance_each: set.node.map(() => 79992000)}));
  const sections = {
    head: {
      version: 1, made_by: "eventring 0.0 (made up)", command: "eventring view 'a program.lua'",
      run: {program: kind === "small" ? "serve\u202e.lua" : "serve.lua", pid: 4711,
      path: "4711.eventring", start_wall_ns: "1700000000000000000", length_ns: lengthNs,
      liveness: "ended", state: "stopped", end_reason: "exit", end_detail: 0, error_text: null},
      grid: {begin_ns: "5000000350000", start_ns: "5000000000000", cell_ns: cellNs, cells},
      domains: [{slot: 0, incarnation: 1, name: "main", tid: 4711, start: 0, stop: lengthNs},
      {slot: 1, incarnation: 1, name: "worker", tid: 4712, start: cellNs * 10, stop: null}],
      names, tracks,
      answers: [{question: "Which line takes the time?",
      answer: "Stacks were sampled 1000 times a second, on a processor or not.",
      command: "eventring profile --hz 1000 --by line 4711"},
                {question: "Is it the collector?",
      answer: "No: it took 3.20 % of the time; the longest pause is 12.40 ms.",
      command: "eventring pauses 4711.eventring"},
                {question: "Which line allocates?",
                answer: "serve.lua:61 in function_6, 12.00 % of 3.2 GiB.",
                command: "eventring heap 4711.eventring"},
                {question: "What was it doing last?",
                answer: "It ended in order, with exit status 0.",
                command: "eventring autopsy 4711.eventring"}],
      facts: [["how it ended", "exit status 0"], ["length", "12.50 s"], ["domains", "2"],
      ["events", "4,500"], ["losses", "none"], ["CPU", "9.1 s"],
      ["peak memory", "41.2 MiB"]].map(([label, value]) => ({label, value})),
      totals: {events: 4500, lost: 0, missed: 0, torn: 3}, sampled: {hz: 1000, rate: 0.0001, seconds: lengthNs / 1e9, begin: 0,
      command: "profile --hz 1000", stacks: 9000, moving: 3, torn: 2, late: 1}, chunks: [],
      size_limit: full ? 0 : 1048576,
      left_out: full ? []
      : [{what: "spans", kept: 900, of: 4500, why: "the longest and the last of each name"}],
    },
    series: {series},
    counters: {counters: [counter(0, heapWords, (i) => 100000 + 700 * (i % 120)),
    counter(1, sent, (i) => (i * 7919) % 5000)]},
    instants: {tracks: [{track: 0, at_d: steps(instants), name: instants.map(() => mark),
    value: instants.map((_, i) => i % 20)}]},
    losses: {domain: [1], ring: [0], track: [3], at: [Math.floor(lengthNs / 3)], count: [1234],
    before: [0]},
    links: {name: [mark], from_track: [0], from_d: [Math.floor(lengthNs / 4)], to_track: [4],
    to: [Math.floor(lengthNs / 4 + lengthNs / 50)]},
    texts: {texts: Array.from({length: 20}, (_, i) => i === 5 ? "GET \u2066/hidden"
    : `GET /page/${i}`)},
    pauses: {begin_d: steps(pauses.map((pause) => pause.begin)),
    length: pauses.map((pause) => pause.length), off_cpu: pauses.map(() => 0),
    work: pauses.map((pause) => pause.length * 2),
      domain: pauses.map((pause) => tracks[pause.track].domain), name: pauses.map(() => minor),
      reason: pauses.map((pause) => pause.reason), span: pauses.map((pause) => pause.span),
      phases: pauses.map((pause) => [phases[0], Math.floor(pause.length / 4), phases[1],
      Math.floor(pause.length / 2)])},
    stacks: stacksOf(random, sites, functions, "serve.lua"),
    samples: {unit: "samples", hz: 1000, from: "sampled from outside", sets: sets("samples", 20)},
    allocated: {unit: "bytes", hz: null, from: "sampled allocations",
    sets: [...estimated(sets("bytes", 100000)), ...sets("objects", 1000)]},
    live: {unit: "bytes", hz: null, from: "sampled allocations",
    sets: [0, 1].map((domain) => ({...figureSet(random, domain, "bytes", sites, 50000, 2, cells),
    level: undefined, cells: undefined}))},
    source: {files: [{path: "serve.lua", text: sourceText}]},
    "table:spans": table("Spans", "eventring stats 4711.eventring",
    [{key: "name", title: "span", form: "plain", help: "its name"}, {key: "count", title: "count",
    form: "count", help: null}, {key: "total_ns", title: "total", form: "ns", help: null}],
      series.filter((one) => one.of === "span").slice(0,
      3000).map((one) => ({name: names[one.name].name, count: one.total.count,
      total_ns: one.total.sum}))),
    "table:pauses": table("Pauses", "eventring pauses 4711.eventring",
    [{key: "ns", title: "at", form: "moment", help: null}, {key: "duration_ns", title: "duration",
    form: "ns", help: null}, {key: "gc_share", title: "share", form: "share", help: null}],
      pauses.slice(0,
      50).map((pause) => ({ns: 5000000350000 + pause.begin, duration_ns: pause.length,
      gc_share: 0.25}))),
  };
  const level = full || limit ? 2 : 0;
  sections.cover = coverSection(made.spans, level, cellNs);
  if (full) addChunks(sections, made.spans, tracks.length);
  else sections.spans = spanSection(made.spans.filter((span) => kind === "small"
      ? span.begin < lengthNs * 0.6 : true).slice(0, 40000), tracks.length);
  return {sections, spans: made.spans, pauses, tracks, cellNs, lengthNs};
}

function addChunks(sections, spans, tracks) {
  const size = 20000, sorted = [...spans].sort((a, b) => a.begin - b.begin);
  sections.spans = spanSection(sorted.filter((_, i) => i % 500 === 0), tracks);
  for (let i = 0; i * size < sorted.length; i++) {
    const part = sorted.slice(i * size, (i + 1) * size),
        rows = part.filter((_, k) => (i * size + k) % 500 !== 0);
    sections[`spans:${i}`] = spanSection(rows, tracks);
    const end = rows.reduce((latest, span) => Math.max(latest, span.begin + span.length), 0);
    sections.head.chunks.push({section: `spans:${i}`, begin: rows[0].begin, end: end + 1,
        count: rows.length});
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [kind, file] = process.argv.slice(2);
  fs.writeFileSync(file, pageOf(generate(kind).sections));
}
