// SPDX-License-Identifier: MIT
// spans.js: spans by track and depth, found by time and by name; chunks of --full on demand.
//
// A lane is one depth of a track. It has segments, one for each section that has spans of it, in
// columns. Spans are by begin; ends need not be (a torn span may reach into the next), so a
// segment has in `latest` the latest end so far. A span is {track, depth, segment, row}.

const SPAN_COLUMNS = ["length", "name", "own", "gc", "waiting", "suspended", "off_cpu", "value",
    "flags"];
const BEGIN_UNKNOWN = 1, END_LOST = 2, STILL_OPEN = 4;
const SPANS_AT_ONCE = 250000; // that may be loaded for one view

function runningMost(values) {
  let most = -Infinity;
  return values.map((value) => most = Math.max(most, value));
}

// The rows of one depth of a section's track.
function segmentOf(part, rows, chunk) {
  const segment = {count: rows.length, chunk}, pick = (values) => Float64Array.from(rows,
      (row) => values[row]);
  for (const key of ["begin", ...SPAN_COLUMNS]) segment[key] = pick(part[key]);
  segment.end = segment.begin.map((begin, i) => begin + Math.max(0, segment.length[i]));
  segment.latest = runningMost(segment.end);
  return segment;
}

class Spans {
  constructor(head, source) {
    this.source = source;
    this.needs = head.tracks.map((track) => clamp(numberOf(track.depth), 0, 255));
    this.tracks = head.tracks.map(() => []); // of each depth: {segments}
    this.chunks = head.chunks.map((chunk) => ({...chunk, count: numberOf(chunk.count),
        isHere: false}));
    this.onLoad = () => {};
  }

  // Adds the spans of a section. `chunk`: what they can be taken back by.
  add(raw, chunk = null) {
    for (const part of listOf(recordOf(raw).tracks).map(recordOf)) {
      const lanes = this.tracks[part.track], rows = [];
      if (!lanes) continue;
      const made = columns(part, ["begin", "depth", ...SPAN_COLUMNS]);
      made.depth.forEach((depth, i) => (rows[clamp(depth, 0, 255)] ||= []).push(i));
      rows.forEach((list, depth) => (lanes[depth] ||= {segments: []}).segments.push(segmentOf(made,
          list, chunk)));
    }
  }

  // How many rows a track needs.
  depthOf(track) {
    return Math.max(this.tracks[track].length, this.needs[track]);
  }

  // Loads the chunks of a range, one after the other, if they are not too many spans.
  // True: all of them are there.
  want(beginNs, endNs) {
    const wanted = this.chunks.filter((chunk) => chunk.begin < endNs && chunk.end > beginNs),
        next = wanted.find((chunk) => !chunk.isHere);
    if (next && !this.isLoading && wanted.reduce((sum, chunk) => sum + chunk.count,
        0) <= SPANS_AT_ONCE) this.load(next);
    return !next;
  }

  async load(chunk) {
    this.isLoading = true;
    this.makeRoom(chunk.count);
    const raw = await this.source.section(chunk.section);
    this.add(raw, chunk);
    chunk.isHere = true;
    this.isLoading = false;
    this.onLoad();
  }

  // Lets go of chunks until there is room for so many spans.
  makeRoom(count) {
    const here = this.chunks.filter((chunk) => chunk.isHere);
    let sum = here.reduce((all, chunk) => all + chunk.count, count);
    for (const chunk of here) {
      if (sum <= 2 * SPANS_AT_ONCE) return;
      chunk.isHere = false;
      sum -= chunk.count;
      for (const lane of this.tracks.flat())
        lane.segments = lane.segments.filter((segment) => segment.chunk !== chunk);
    }
  }

  // Calls with each span that is here.
  each(call) {
    this.tracks.forEach((lanes, track) => lanes.forEach(({segments}, depth) => {
      for (const segment of segments) for (let row = 0; row < segment.count; row++)
        call(segment, row, track, depth);
    }));
  }

  // The span with the highest score, null: all have -Infinity.
  best(score) {
    let best = null, most = -Infinity;
    this.each((segment, row, track, depth) => {
      const value = score(segment, row, track, depth);
      if (value > most) [best, most] = [{track, depth, segment, row}, value];
    });
    return best;
  }

  // `accepts` is given a name.
  longest(accepts, beginNs = 0, endNs = Infinity) {
    return this.best(({begin, end, name}, row) => accepts(name[row]) && begin[row] < endNs &&
        end[row] >= beginNs ? end[row] - begin[row] : -Infinity);
  }

  // The next span after another (direction 1), or the one before it (-1): by begin, where that
  // is the same by track and depth.
  step(from, direction, accepts) {
    const order = (begin, track, depth) => begin + (track * 37 + depth) % 999 / 1000;
    const at = order(from.segment.begin[from.row], from.track, from.depth);
    return this.best(({begin, name}, row, track, depth) => {
      const distance = direction * (order(begin[row], track, depth) - at);
      return distance > 0 && accepts(name[row]) ? -distance : -Infinity;
    });
  }

  // Calls with the spans of a lane that are to be drawn in [beginNs, endNs), where `pixelNs` is a
  // pixel: those that begin in the pixel in which a narrow one ended are left out, unseen.
  visible(lane, beginNs, endNs, pixelNs, call) {
    for (const segment of lane.segments) {
      const {begin, end, latest, count} = segment;
      for (let row = lowerBound(latest, beginNs); row < count && begin[row] < endNs;) {
        call(segment, row);
        const next = row + 1, pixelEnd = Math.floor(end[row] / pixelNs + 1) * pixelNs;
        row = end[row] - begin[row] >= pixelNs || next < count && begin[next] >= pixelEnd ? next
            : Math.max(next, lowerBound(latest, pixelEnd));
      }
    }
  }

  // The shortest span of a lane at a time, else the nearest one within `slackNs`.
  at(track, depth, ns, slackNs) {
    let best = null, least = Infinity;
    for (const segment of this.tracks[track][depth]?.segments || []) {
      const {begin, end, latest, count} = segment;
      for (let row = lowerBound(latest, ns - slackNs); row < count && begin[row] <= ns +
          slackNs; row++) {
        const score = Math.max(0, begin[row] - ns, ns - end[row]) * 1e6 + end[row] - begin[row];
        if (end[row] >= ns - slackNs && score < least)
          [best, least] = [{track, depth, segment, row}, score];
      }
    }
    return best;
  }
}

// The cells of `cover` by track and depth.
function coverOf(raw, head) {
  const tracks = head.tracks.map(() => []);
  for (const part of listOf(recordOf(raw).tracks).map(recordOf)) {
    const {cell, ns, count} = columns(part, ["cell", "ns"], 0),
        lane = {cells: cell, ns, began: column(part, "count", count)};
    if (tracks[part.track])
      tracks[part.track][clamp(numberOf(part.depth), 0, 255)] = Object.assign(lane,
          {sizeNs: head.grid.cellNs * 2 ** Math.max(0, levelOf(part.level))});
  }
  return tracks;
}

// By cell of a set: its [leaf, count].
function samplesByCell(set, cells) {
  const byCell = [];
  set.node.forEach((node, row) => eachBucket(set.cells[row], (cell, count) => {
    if (cell >= 0 && cell < cells) (byCell[cell] ||= []).push([node, count]);
  }));
  return byCell;
}

// Which stack a domain was in, cell by cell: at each depth the function that most samples of the
// cell, among those within the one above, have. Lanes of {first, last, node, part}; cells in a
// row that are in the same function are one.
function stackLanes(stacks, set, cells) {
  const lanes = [];
  const add = (cell, depth, node, part) => {
    const lane = lanes[depth] ||= [], before = lane[lane.length - 1];
    if (!before || before.last !== cell || stacks.fn[before.node] !== stacks.fn[node])
      lane.push({first: cell, last: cell + 1, node, part});
    else Object.assign(before, {last: cell + 1, part: Math.max(before.part, part)});
  };
  samplesByCell(set, cells).forEach((samples, cell) =>
      mainPath(stacks, samples).forEach(([node, part], depth) => add(cell, depth, node, part)));
  return lanes;
}

// Of each domain, where its program was: a moment of the grid -> the innermost line of the path
// that most samples of its cell have, or of the nearest cell that has any, with how far that is, at
// most NEAR_NS; or "".
const NEAR_NS = 20e6;
function linesByDomain(stacks, {sets}, {cells, cellNs}) {
  const lines = [];
  for (const set of sets) {
    if (set.level < 0) continue;
    const sampled = samplesByCell(set, cells / 2 ** set.level), texts = [];
    lines[Math.max(0, set.domain)] = (ns) => {
      const sizeNs = cellNs * 2 ** set.level, cell = Math.floor(ns / sizeNs);
      for (let away = 0; away === 0 || away * sizeNs <= NEAR_NS && away < cells; away++)
        for (const at of [cell - away, cell + away])
        if (texts[at] ??= innermostLine(stacks, sampled[at] || [])) return away === 0 ? texts[at]
            : `${texts[at]} (${durationText(away * sizeNs)} ${at < cell ? "before" : "after"})`;
      return "";
    };
  }
  return lines;
}

function innermostLine(stacks, samples) {
  const lines = mainPath(stacks, samples).filter(([node]) => functionOf(stacks, node).source);
  return lines.length > 0 ? frameText(stacks, lines[lines.length - 1][0], true) : "";
}

// The path that most of a cell's samples follow: [node, its part of them].
function mainPath(stacks, samples) {
  const total = new Map(), best = new Map(), path = [];
  let all = 0;
  for (const [leaf, count] of samples) {
    all += count;
    for (let node = leaf; node > 0 && node < stacks.count; node = stacks.parent[node])
      total.set(node, (total.get(node) || 0) + count);
  }
  for (const [node, count] of total) {
    const parent = stacks.parent[node];
    if (!best.has(parent) || count > total.get(best.get(parent))) best.set(parent, node);
  }
  for (let node = best.get(0); node !== undefined; node = best.get(node))
    path.push([node, total.get(node) / all]);
  return path;
}
