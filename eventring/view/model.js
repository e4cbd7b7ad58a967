// SPDX-License-Identifier: MIT
// model.js: the data in the form in which the views use it (DATA.md has what they mean).
//
// A page may be of a newer eventring, or harmed: what is read here is checked here, and the
// views rely on it. What a column lacks reads as -1, a name that is not there as "(unknown)".

const listOf = (value) => Array.isArray(value) ? value : [];
const recordOf = (value) => value && typeof value === "object" && !Array.isArray(value) ? value
    : {};
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

function numberOf(value, otherwise = 0) {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : otherwise;
}

function bigOf(value) {
  try {
    return BigInt(value);
  } catch {
    return 0n;
  }
}

const rowCount = (object, key) => listOf(object[key + "_d"] || object[key]).length;
const levelOf = (value) => value === null || value === undefined ? -1 : clamp(numberOf(value), 0,
    10);

// The column `key` or `key_d` of an object, of `length` rows; null if it is not there.
function column(object, key, length) {
  const plain = object[key], steps = object[key + "_d"];
  if (!Array.isArray(plain) && !Array.isArray(steps)) return null;
  const values = new Float64Array(length).fill(-1);
  for (let i = 0, sum = 0; i < length; i++) values[i] = steps ? sum += numberOf(steps[i])
      : numberOf(plain[i], -1);
  return values;
}

// Several columns, as many rows as the first has; those that are not there are `otherwise`.
function columns(object, keys, otherwise = -1) {
  const count = rowCount(object, keys[0]), made = {count};
  for (const key of keys)
    made[key] = column(object, key, count) || new Float64Array(count).fill(otherwise);
  return made;
}

class Grid {
  constructor(grid, lengthNs) {
    this.startNs = bigOf(grid.start_ns);
    this.cellNs = Math.max(1, numberOf(grid.cell_ns, 1));
    this.cells = clamp(Math.floor(numberOf(grid.cells, 1)), 1, 1024);
    this.endNs = this.cellNs * this.cells;
    this.lengthNs = clamp(numberOf(lengthNs, this.endNs), 1, this.endNs);
    this.offsetNs = Number(bigOf(grid.begin_ns) - this.startNs); // of its begin after the start
  }

  // Of a time of the page, after the start of the recording.
  moment(ns) {
    return momentText(ns + this.offsetNs);
  }
}

// `head`, each member of the right type.
class Head {
  constructor(head) {
    head = recordOf(head);
    this.run = recordOf(head.run);
    this.grid = new Grid(recordOf(head.grid), this.run.length_ns);
    for (const key of ["names", "domains", "tracks", "answers", "facts", "chunks", "left_out"])
      this[key] = listOf(head[key]).map(recordOf);
    this.madeBy = visibleText(head.made_by || "eventring");
    this.command = head.command || "eventring view";
    this.sampled = head.sampled ? recordOf(head.sampled) : null;
    this.sizeLimit = numberOf(head.size_limit);
    this.labels = this.names.map((name) => visibleText(name.name ?? "(unknown)"));
    this.file = this.run.target ? visibleText(this.run.target) : "FILE"; // as commands take it
    this.isProgram = this.file.startsWith("-- "); // which commands run again
  }

  label(name) {
    return this.labels[name] ?? "(unknown)";
  }
  // With what the catalogue says of it.
  explained(name) {
    const {doc} = this.name(name);
    return this.label(name) + (doc ? `: ${visibleText(doc)}` : "");
  }
  name(name) {
    return this.names[name] || {};
  }
  isCollector(name) {
    return this.name(name).class === "gc";
  }

  domainLabel(index) {
    const {name, slot, incarnation} = this.domains[index] || {slot: "(unknown)"};
    const number = `domain ${slot}${incarnation > 1 ? `, turn ${incarnation}` : ""}`;
    return visibleText(name ? `${name} (${number})` : number);
  }

  trackLabel(index) {
    const {context, ring, lane} = this.tracks[index] || {};
    if (context === null) return visibleText(`contexts in turn, ${lane}`);
    return visibleText(context && String(context) !== "0" ? `context ${context}`
        : ring ?? "events");
  }

  // What was left out of `what`: a sentence, or "".
  whyLeftOut(what) {
    const left = this.left_out.find((left) => String(left.what || "").includes(what));
    return left ? visibleText(`${left.what}: ${countText(numberOf(left.kept))} of ${countText(numberOf(left.of))} kept. ${left.why || ""}`) : "";
  }
}

const SUMS = ["sum", "own", "off_cpu", "suspended"];

// One of `series`. Its columns are made when they are first asked for: there may be thousands,
// and the figures of the whole run need none. Those of which nothing is known are null.
class Series {
  constructor(raw) {
    this.raw = raw = recordOf(raw);
    this.of = String(raw.of);
    [this.name, this.domain, this.reason] = [raw.name, raw.domain, raw.reason].map((index) =>
        numberOf(index, -1));
    this.level = Math.max(0, levelOf(raw.level));
    this.histogram = Array.isArray(raw.histogram) ? raw.histogram : null;
    this.total = recordOf(raw.total);
  }

  get columns() {
    if (this.made) return this.made;
    const {cell: cells, count} = columns(this.raw, ["cell", "count"], 0);
    this.made = {cells, count};
    for (const key of [...SUMS, "longest"]) this.made[key] = column(this.raw, key, cells.length);
    return this.made;
  }
}

function counterOf(raw) {
  raw = recordOf(raw);
  const scale = numberOf(raw.scale, 1) || 1,
      counter = columns(raw, ["cell", "samples", "last", "least", "most", "sum"], 0);
  if (scale !== 1) for (const key of ["last", "least", "most", "sum"])
    counter[key] = counter[key].map((value) => value / scale);
  return Object.assign(counter, {cells: counter.cell, domain: numberOf(raw.domain, -1),
      name: numberOf(raw.name, -1), level: Math.max(0, levelOf(raw.level))});
}

// The steps of the collector, with their ends.
function pausesOf(raw) {
  raw = recordOf(raw);
  const pauses = columns(raw, ["begin", "length", "off_cpu", "work", "domain", "name", "reason",
      "span", "function"]);
  pauses.cpu = pauses.length.map((length, i) => pauses.off_cpu[i] < 0 ? -1
      : length - pauses.off_cpu[i]);
  pauses.phases = listOf(raw.phases);
  pauses.end = pauses.begin.map((begin, i) => begin + Math.max(0, pauses.length[i]));
  return pauses;
}

// Trees of stacks. Row i of the columns is node i + 1; node 0 is the root.
function stacksOf(raw) {
  raw = recordOf(raw);
  const nodes = columns(recordOf(raw.nodes), ["parent", "function", "line"]);
  const functions = listOf(raw.functions).map(listOf).map(([name, source, line]) =>
      ({name: visibleText(name ?? "?"), source: source || null, line: numberOf(line)}));
  const withRoot = (values) => Int32Array.from([0, ...values]);
  return {functions, count: nodes.count + 1, keys: {}, fn: withRoot(nodes.function),
      line: withRoot(nodes.line),
          parent: withRoot(nodes.parent.map((parent, i) => parent >= 0 && parent <= i ? parent
          : 0))};
}

// Figures on stacks: sets with their columns.
function figuresOnStacks(raw) {
  raw = recordOf(raw);
  const sets = listOf(raw.sets).map(recordOf).map((set) => ({...columns(set, ["node", "self"], 0),
      each: column(set, "variance_each", rowCount(set, "node"))?.map((each) => each / 1000),
      domain: numberOf(set.domain, -1), measure: String(set.measure),
    cells: listOf(set.cells), level: Array.isArray(set.cells) ? levelOf(set.level) : -1}));
  return {hz: raw.hz || null, from: raw.from ? visibleText(raw.from) : "recorded", sets};
}
