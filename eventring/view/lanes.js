// SPDX-License-Identifier: MIT
// lanes.js: what stands where in the timeline: from top to bottom, for each domain, its name,
// the steps of the collector, its tracks (rows of spans), sampled stacks, and counters.

const LANE = {domain: 24, strip: 15, row: 18, pauses: 18, counter: 34, stack: 16};
const MOST_STACK_ROWS = 32;

// Makes the list of lanes, each {kind, domain, y, height, ...}, and their height. A domain of
// which nothing is kept has none.
//   data: {head, spans, pausesOf, counters, instants, losses, stackLanes}
//   choice: {closed: domains that are shown by their name only, counters: of names}
function layLanes(data, choice) {
  const lanes = [];
  let y = 0;
  data.head.domains.forEach((_, domain) => {
    const inside = lanesOf(data, choice, domain);
    if (inside.length === 0) return;
    for (const lane of [{kind: "domain", height: LANE.domain},
        ...(choice.closed.has(domain) ? [] : inside)]) {
      lanes.push(Object.assign(lane, {domain, y}));
      y += lane.height;
    }
    y += 6;
  });
  return {lanes, height: y};
}

function lanesOf(data, choice, domain) {
  const lanes = [], pauses = data.pausesOf[domain], sampled = data.stackLanes[domain];
  if (pauses) lanes.push({kind: "pauses", pauses, height: LANE.pauses});
  const ofRuntime = (index) =>
      Number(data.head.tracks[index].ring === "runtime"); // below those of the program
  [...data.head.tracks.keys()].sort((a, b) => ofRuntime(a) - ofRuntime(b)).forEach((index) => {
    if (data.head.tracks[index].domain !== domain) return;
    const depth = data.spans.depthOf(index);
    if (depth > 0 || data.instants[index] || data.losses[index].length > 0)
      lanes.push({kind: "track", track: index, depth, height: LANE.strip + depth * LANE.row + 3});
  });
  if (sampled) {
    const rows = sampled.lanes.slice(0, MOST_STACK_ROWS);
    lanes.push({kind: "stacks", rows, sizeNs: sampled.sizeNs, height: LANE.strip +
        rows.length * LANE.stack + 3});
  }
  for (const counter of data.counters)
    if (counter.domain === domain && choice.counters.has(counter.name))
      lanes.push({kind: "counter", counter, most: counter.most.reduce((a, b) => Math.max(a, b), 0),
          height: LANE.counter});
  return lanes;
}

// The row of a track, or of stacks, at a height; -1: its strip.
function rowAt(lane, y) {
  return Math.floor((y - lane.y - LANE.strip) / (lane.kind === "stacks" ? LANE.stack : LANE.row));
}

// The counters that are shown at first: some of the program, and the size of the heap.
function firstCounters(head, counters) {
  const names = [...new Set(counters.map((counter) => counter.name))];
  return new Set([...names.filter((name) => head.name(name).class === "user").slice(0, 6),
      ...names.filter((name) => ["live_words", "heap_words"].includes(head.label(name)))]);
}

// Where the view [begin, end) goes when it is zoomed at a time, or moved, in a run of `whole`.
function zoomed({begin, end}, factor, at, whole) {
  const length = clamp((end - begin) * factor, 50, whole),
      from = at - (at - begin) / (end - begin) * length;
  return moved({begin: from, end: from + length}, 0, whole);
}

function moved({begin, end}, by, whole) {
  const length = Math.min(end - begin, whole), from = clamp(begin + by, 0, whole - length);
  return {begin: from, end: from + length};
}
