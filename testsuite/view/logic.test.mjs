// SPDX-License-Identifier: MIT
// What the page computes: figures of a range, quantiles, trees, spans in a view, texts.
import assert from "node:assert/strict";
import test from "node:test";
import {bucket, generate} from "./_generate.mjs";
import {emptySize, load} from "./_load.mjs";

const page = load(["Grid", "Head", "Selection", "Series", "Spans", "bucketLow", "bucketOf",
    "bytesText", "column", "compareValues", "countText", "coverOf", "durationText",
  "figuresOf", "figuresOnStacks", "firstAfter", "formText", "heatOf", "layLanes",
    "errorOf", "estimateText", "lengthTicks", "lossesOf", "linesByDomain", "tiesOf",
  "momentText", "moved", "pausesOf", "printedColumns", "quantileOf",
  "secondsText", "shareText", "stackFigures", "stackLanes", "stacksOf", "sumByFrame", "sumByLine",
  "sumFigures", "sumOfMatches", "tickStep", "treeOf", "visibleText", "zoomed"]);
const made = generate("small");
const head = new page.Head(made.sections.head);
const series = made.sections.series.series.map((one) => new page.Series(one));
const stacks = page.stacksOf(made.sections.stacks);

const selected = (first, last) => {
  const selection = new page.Selection(head.grid);
  selection.set(first, last);
  return selection;
};

test("the page without data is small", () => {
  assert.ok(emptySize <= 120 * 1024, `${emptySize} bytes`);
});

test("texts are those of the commands", () => {
  for (const [ns, text] of [[0, "0 ns"], [999, "999 ns"], [1000, "1.000 µs"], [9999.4, "9.999 µs"],
      [61523441, "61.52 ms"], [999949, "999.9 µs"], [999950, "1.000 ms"], [2e12, "2000 s"]])
    assert.equal(page.durationText(ns), text);
  assert.equal(page.countText(1234567), "1,234,567");
  assert.equal(page.countText("18446744073709551615"), "18,446,744,073,709,551,615");
  for (const [bytes, text] of [[1023, "1023 B"], [1024, "1 KiB"], [36083336, "34.41 MiB"],
      [-2048, "-2 KiB"]]) assert.equal(page.bytesText(bytes), text);
  assert.equal(page.shareText(0.12907), "12.91 %");
  assert.equal(page.momentText(61915999), "0.061915 s");
  assert.equal(page.secondsText(12500350000), "12.50035");
  assert.equal(page.formText("moment", 39271424383559, 39271366073704n), "0.058309 s");
  assert.equal(page.formText("ns", null), "-");
  assert.equal(page.formText("change", 0.0312), "+3.1 %");
});

test("what cannot be seen is an escape", () => {
  assert.equal(page.visibleText("a\u202eb\u0007\u001b[m\n\u2066\u200b\ud800\u{e0041}"),
      "a\\u202eb\\x07\\x1b[m\\n\\u2066\\u200b\\ud800\\u{e0041}");
  assert.equal(page.visibleText("Ünïcödé 名前 </script> \"'"), "Ünïcödé 名前 </script> \"'");
});

test("buckets have the values that DATA.md says", () => {
  for (const value of [0, 1, 15, 16, 17, 31, 32, 1000, 4095, 4096, 123456789, 2 ** 40 + 1,
      2 ** 52]) {
    const at = bucket(value);
    assert.equal(page.bucketOf(value), at, `bucket of ${value}`);
    assert.ok(page.bucketLow(at) <= value && value < page.bucketLow(at + 1),
        `${value} in ${page.bucketLow(at)}`);
  }
});

test("figures of a range are those of the spans that end in it", () => {
  for (const [first, last] of [[0, 1024], [0, 512], [64, 128], [100, 104], [1020, 1024]]) {
    const selection = selected(first, last);
    for (const one of series.filter((one) => one.of === "span" && selection.knows(one.level))) {
      const inside = made.spans.filter((span) => span.name === one.name &&
          made.tracks[span.track].domain === one.domain &&
        span.begin + span.length >= first * made.cellNs && span.begin +
        span.length < last * made.cellNs);
      const figures = page.figuresOf(one, selection);
      assert.equal(figures.count, inside.length);
      assert.equal(figures.sum, inside.reduce((sum, span) => sum + span.length, 0));
      assert.equal(figures.own, inside.reduce((sum, span) => sum + span.own, 0));
      assert.equal(figures.longest, Math.max(0, ...inside.map((span) => span.length)));
      for (const q of [0.5, 0.9, 0.99, 1])
        checkQuantile(page.quantileOf(figures, q), inside.map((span) => span.length), q);
    }
  }
});

function checkQuantile(value, lengths, q) {
  if (lengths.length === 0) return assert.equal(value, null);
  const exact = lengths.sort((a, b) => a - b)[Math.max(0,
      Math.ceil(q * lengths.length - 1e-9) - 1)];
  assert.ok(Math.abs(value - exact) <= exact / 16, `${value}, exactly ${exact}`);
}

test("what is not kept at the borders is absent", () => {
  const one = series.find((one) => one.level === 2);
  assert.equal(page.figuresOf(one, selected(4, 6)), null);
  assert.notEqual(page.figuresOf(one, selected(4, 8)), null);
  assert.notEqual(page.figuresOf(one, selected(1020, 1024)), null);
  assert.ok(!selected(0, 5).knows(-1) && selected(0, 1024).knows(-1));
  assert.deepEqual(page.sumFigures(series, selected(1, 2)).figures, null);
  assert.equal(page.sumFigures(series, selected(1, 2)).level, 2);
  const selection = selected(5, 6);
  selection.widen(2);
  assert.deepEqual([selection.first, selection.last], [4, 8]);
});

test("a column that is not there is not known, not 0", () => {
  const figures = page.figuresOf(new page.Series({of: "span", name: 0, domain: 0, level: 0,
      cell_d: [1], count: [2], sum: [10], total: {count: 2}}), selected(0, 2));
  assert.equal(figures.sum, 10);
  assert.equal(figures.own, null);
  assert.equal(page.quantileOf(figures, 0.5), null);
});

test("a range is given to commands without rounding", () => {
  assert.equal(selected(0, 1024).options(), "");
  const selection = selected(1, 3), cell = made.cellNs;
  assert.equal(selection.options(),
      ` --since ${page.secondsText(cell + 350000)} --until ${page.secondsText(3 * cell - 1 + 350000)}`);
});

test("ranges snap to cells", () => {
  const selection = new page.Selection(head.grid);
  selection.setTimes(2.5 * made.cellNs, 1.5 * made.cellNs);
  assert.deepEqual([selection.first, selection.last], [1, 3]);
  selection.setTimes(9.5 * made.cellNs, 10 * made.cellNs, 3);
  assert.deepEqual([selection.first, selection.last], [8, 16]);
  selection.setTimes(-5, 1e18);
  assert.ok(selection.isWhole);
});

test("trees have the sums of their figures", () => {
  const samples = page.figuresOnStacks(made.sections.samples);
  for (const [first, last] of [[0, 1024], [0, 512], [256, 260]]) {
    const selection = selected(first, last), {self} = page.stackFigures(stacks, samples, "samples",
        selection);
    const expected = made.sections.samples.sets.reduce((sum, set) => sum + sumOfSet(set, first / 4,
        last / 4), 0);
    assert.equal(self.reduce((sum, value) => sum + value, 0), expected);
    for (const options of [{}, {byLine: true}, {inverted: true}, {inverted: true, byLine: true}])
      checkTree(page.treeOf(stacks, self, options), expected);
  }
  assert.equal(page.stackFigures(stacks, samples, "samples", selected(1, 2)).self, null);
});

function sumOfSet(set, first, last) {
  let sum = 0;
  for (const column of set.cells) {
    let cell = 0;
    for (let i = 0; i < column.length; i += 2) {
      cell += column[i];
      if (cell >= first && cell < last) sum += column[i + 1];
    }
  }
  return sum;
}

function checkTree(tree, total) {
  assert.equal(tree.total[0], total);
  const ends = new Map();
  for (let node = 1; node < tree.keys.length; node++) {
    const parent = tree.parent[node];
    assert.ok(parent < node && tree.x[node] >= tree.x[parent] && tree.x[node] +
        tree.total[node] <= tree.x[parent] + tree.total[parent]);
  }
  for (const row of tree.rows) {
    for (let i = 1; i < row.length; i++)
      assert.ok(tree.x[row[i]] >= tree.x[row[i - 1]] + tree.total[row[i - 1]], "no overlap");
    if (row.length > 1) assert.equal(page.firstAfter(tree, row, tree.x[row[1]]), 1);
  }
}

test("a recursive function counts once in its total", () => {
  const small = page.stacksOf({functions: [["f", "f.lua", 1, 0], ["g", "f.lua", 5, 0]],
      nodes: {parent_d: [0, 1, 1], function: [0, 1, 0], line: [2, 6, 3]}});
  const self = Float64Array.from([0, 1, 2, 4]);
  const [f, g] = page.sumByFrame(small, self, "function");
  assert.deepEqual([f.self, f.total, g.self, g.total], [5, 7, 2, 6]);
  const lines = [...page.sumByLine(small, self).get("f.lua")].map(([line, sum]) => [line, sum.self,
      sum.total]);
  assert.deepEqual(lines, [[2, 1, 7], [6, 2, 6], [3, 4, 4]]);
  const tree = page.treeOf(small, self);
  assert.equal(page.sumOfMatches(tree, (node) => tree.keys[node] === 0), 7);
});

test("what C functions have is that of the line that calls them, but for the collector", () => {
  const small = page.stacksOf({functions: [["f", "f.lua", 1, 0], ["string.rep", "", 0, 1],
      ["pcall", "", 0, 1], ["collecting garbage", "", 0, 1]],
      nodes: {parent_d: [0, 1, 1, -1, 0], function: [0, 2, 0, 1, 3], line: [2, 0, 7, 0, 0]}});
  // line 2 calls pcall, which calls f at line 7, and string.rep; and lets garbage be collected
  const lines = [...page.sumByLine(small, Float64Array.from([0, 1, 2, 4, 8, 16])).get("f.lua")];
  assert.deepEqual(lines.map(([line, {self, total}]) => [line, self, total]), [[2, 11, 31],
      [7, 4, 4]]);
});

test("an estimate has the error that the commands print", () => {
  const each = 79992; // at a rate of 1e-4
  for (const n of [1, 17, 4364])
    assert.ok(Math.abs(page.errorOf(n * each, n * each * each) - each * (0.5 + Math.sqrt(n +
        0.25))) < 1e-6 * n * each);
  assert.equal(page.errorOf(1000, 0), 0);
  assert.equal(page.estimateText(1360000, 17 * 80000 * each, page.bytesText),
      "1.297 MiB ± 363.5 KiB");
  assert.equal(page.estimateText(1360000, 0, page.bytesText), "1.297 MiB");
});

test("the variance of a sum is the sum of the variances, in a range, too", () => {
  const small = page.stacksOf({functions: [["f", "f.lua", 1, 0], ["g", "f.lua", 5, 0]],
      nodes: {parent_d: [0, 1, 1], function: [0, 1, 0], line: [2, 6, 3]}});
  const data = page.figuresOnStacks({unit: "bytes", sets: [{domain: 0, measure: "bytes",
      node: [1, 2, 3], self: [10, 20, 40], variance_each: [1000, 500, 0], level: 0,
      cells: [[0, 10], [0, 5, 1, 15], [1, 40]]}]});
  const of = (selection) => page.stackFigures(small, data, "bytes", selection);
  assert.deepEqual([...of(selected(0, 1024)).variance], [0, 10, 10, 0]);
  assert.deepEqual([...of(selected(1, 2)).variance], [0, 0, 7.5, 0]);
  const {self, variance} = of(selected(0, 1024));
  const [f, g] = page.sumByFrame(small, self, "function", variance);
  assert.deepEqual([f.variance, g.variance], [{self: 10, total: 20}, {self: 10, total: 10}]);
  for (const options of [{}, {inverted: true}, {byLine: true}]) {
    const tree = page.treeOf(small, self, options, variance);
    assert.deepEqual([tree.total[0], tree.spread[0]], [70, 20]);
  }
});

test("those within the errors of the largest are told", () => {
  const row = (self, variance) => ({self, variance: {self: variance}});
  const [most, near, far] = [row(1000, 10000), row(900, 9000), row(100, 1000)];
  assert.deepEqual(page.tiesOf(most, [near, far]), [near]);
  assert.deepEqual(page.tiesOf(row(1000, 0), [row(999, 0)]), [], "exact figures differ");
});

test("where the program was is told by the nearest samples", () => {
  const small = page.stacksOf({functions: [["f", "f.lua", 1, 0]],
      nodes: {parent_d: [0], function: [0], line: [2]}});
  const near = (cellNs) => page.linesByDomain(small, {sets: [{domain: 0, level: 0, node: [1],
      cells: [[3, 1]]}]}, {cells: 200, cellNs})[0], place = near(1000);
  assert.equal(place(3500), "f (f.lua:2)");
  assert.equal(place(5500), "f (f.lua:2) (2.000 µs before)");
  assert.equal(place(500), "f (f.lua:2) (3.000 µs after)");
  assert.equal(near(1e6)(22.5e6), "f (f.lua:2) (19.00 ms before)");
  assert.equal(near(1e6)(24.5e6), "", "too far away");
  assert.equal(near(1e9)(4.5e9), "", "nor in the next cell");
});

test("live figures, of which no time is known, are of the whole run and say so", () => {
  const {self, isWhole} = page.stackFigures(stacks, page.figuresOnStacks(made.sections.live),
      "bytes", selected(0, 4));
  assert.ok(isWhole && self.some((value) => value > 0));
});

const spans = new page.Spans(head, null);
spans.add(made.sections.spans);

test("a view draws each span that has a pixel, and no more than there are pixels", () => {
  const lane = spans.tracks[0][0], all = made.sections.spans.tracks[0];
  const drawn = (begin, end, pixels) => {
    const rows = [];
    spans.visible(lane, begin, end, (end - begin) / pixels,
        (segment, row) => rows.push(segment.begin[row]));
    return rows;
  };
  assert.equal(drawn(0, made.lengthNs, 1e7).length,
      all.depth.filter((depth) => depth === 0).length);
  assert.ok(drawn(0, made.lengthNs, 100).length <= 101);
  const [begin, end] = [made.lengthNs * 0.2, made.lengthNs * 0.21];
  const expected = made.spans.filter((span) => span.track === 0 && span.depth === 0 &&
      span.begin < end && span.begin + span.length > begin);
  assert.deepEqual(drawn(begin, end, 1e6),
      expected.map((span) => span.begin).sort((a, b) => a - b));
});

test("longest, next and previous", () => {
  const shown = made.spans.filter((span) => span.begin < made.lengthNs * 0.6);
  const longest = spans.longest(() => true);
  assert.equal(longest.segment.end[longest.row] - longest.segment.begin[longest.row],
      Math.max(...shown.map((span) => span.length)));
  const next = spans.step(longest, 1, () => true), back = spans.step(next, -1, () => true);
  assert.ok(next.segment.begin[next.row] >= longest.segment.begin[longest.row]);
  assert.equal(back.segment.begin[back.row], longest.segment.begin[longest.row]);
  assert.equal(spans.longest(() => false), null);
  const at = spans.at(longest.track, longest.depth, longest.segment.begin[longest.row] + 1, 0);
  assert.deepEqual([at.segment, at.row], [longest.segment, longest.row]);
});

test("chunks are loaded when they are not too many, and let go", async () => {
  const chunk = {section: "spans:0", begin: 0, end: 100, count: 2};
  const store = new page.Spans(new page.Head({...made.sections.head,
      chunks: [chunk, {...chunk, section: "spans:1", count: 1e9}]}),
    {section: async () =>
    ({tracks: [{track: 0, begin_d: [1, 2], length: [1, 1], depth: [0, 0], name: [0, 0]}]})});
  assert.equal(store.want(200, 300), true);
  assert.equal(store.want(0, 50), false);
  store.chunks.pop();
  assert.equal(store.want(0, 50), false);
  await new Promise((resolve) => { store.onLoad = resolve; });
  assert.equal(store.want(0, 50), true);
  assert.equal(store.tracks[0][0].segments[0].count, 2);
  store.makeRoom(1e9);
  assert.equal(store.tracks[0][0].segments.length, 0);
});

test("the heat map has each span once", () => {
  const chosen = series.filter((one) => one.of === "pause"), heat = page.heatOf(chosen, 1024, 300);
  assert.equal([...heat.counts.values()].reduce((sum, count) => sum + count, 0),
      made.pauses.length);
  assert.ok(heat.level === 2 && heat.rows > 2);
});

test("an axis of lengths has the powers of ten, and more where there is room", () => {
  for (const [decade, expected] of [[50, [1e3, 1e4, 1e5]],
      [100, [1e3, 1e4, 1e5, 2e3, 2e4, 5e3, 5e4]]]) {
    const ticks = page.lengthTicks((ns) => (5.3 - Math.log10(ns)) * decade, 2.4 * decade);
    assert.deepEqual(ticks.map(([ns]) => ns), expected);
  }
});

test("a printed table has the members that its rows have", () => {
  const column = (key, title, form) => ({key, title, form, help: null});
  const columns = page.printedColumns({columns: [column("name", "span", "plain"),
      column("live_bytes", null, "bytes"), column("through", null, "plain")],
    rows: [{name: "a"}, {name: "b", live_bytes: 2048}, null]}, 0n);
  assert.deepEqual(columns.map(({title, isNumber}) => [title, isNumber]),
      [["span", false], ["live_bytes", true]]);
  assert.equal(columns[1].text({live_bytes: 2048}), "2 KiB");
  assert.deepEqual(page.printedColumns({}, 0n), []);
});

test("sampled stacks over time follow most samples", () => {
  const small = page.stacksOf({functions: [["f"], ["g"], ["h"]],
      nodes: {parent_d: [0, 1, -1], function: [0, 1, 2], line: [1, 1, 1]}});
  const lanes = page.stackLanes(small, {node: [1, 2, 3], cells: [[0, 1], [0, 2, 1, 5], [2, 1]]}, 4);
  assert.deepEqual(lanes.map((lane) => lane.map(({first, last, node}) => [first, last, node])),
      [[[0, 2, 1], [2, 3, 3]], [[0, 2, 2]]]);
});

test("zooming keeps the place, and stays in the run", () => {
  const view = page.zoomed({begin: 0, end: 1000}, 0.5, 500, 1000);
  assert.deepEqual(view, {begin: 250, end: 750});
  assert.deepEqual(page.zoomed(view, 100, 300, 1000), {begin: 0, end: 1000});
  assert.deepEqual(page.moved(view, 1e9, 1000), {begin: 500, end: 1000});
});

test("lanes: those that have something, in the order of the domains", () => {
  const {sections} = made, pauses = page.pausesOf(sections.pauses);
  const data = {head, spans, pausesOf: [null, null], counters: [], instants: [],
      losses: page.lossesOf(sections.losses, head), stackLanes: []};
  const {lanes} = page.layLanes(data, {closed: new Set([1]), counters: new Set()});
  assert.deepEqual(lanes.map((lane) => lane.kind), ["domain", "track", "track", "track", "domain"]);
  assert.equal(pauses.count, made.pauses.length);
});

test("harmed data is read without an exception", () => {
  for (const broken of [null, 5, [], {}, {series: 3}, {names: {}, tracks: [null], domains: "x",
      grid: {cells: -1, begin_ns: "x"}}]) {
    const harmed = new page.Head(broken);
    assert.ok(harmed.grid.cells >= 1);
    page.figuresOf(new page.Series(broken), new page.Selection(harmed.grid));
    page.pausesOf(broken);
    page.coverOf(broken, harmed);
    page.lossesOf(broken, harmed);
    page.figuresOnStacks(broken);
    new page.Spans(harmed, null).add(broken);
    page.treeOf(page.stacksOf({functions: [null], nodes: {parent_d: [7, -9], function: [99, -1],
        line: ["x"]}}), Float64Array.from([0, 1, 1]));
  }
});

test("unknown values come last", () => {
  assert.deepEqual([3, null, 1, 2].sort((a, b) => -page.compareValues(a, b)), [3, 2, 1, null]);
});
