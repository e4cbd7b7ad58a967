// SPDX-License-Identifier: MIT
// trees.js: figures on stacks become trees, and trees a layout.
//
// A tree is in columns: node 0 is the root, a parent comes before its children. `total` is the
// figure of a node with all below it, `x` where it begins, in the same unit: the root is from 0
// to total[0]. `rows` has the nodes of each depth from left to right.

function sumOfCells(cells, level, {first, last}) {
  let cell = 0, sum = 0;
  for (let i = 0; i + 1 < listOf(cells).length; i += 2) {
    cell += numberOf(cells[i]);
    if (cell >= first / 2 ** level && cell < last / 2 ** level) sum += numberOf(cells[i + 1]);
  }
  return sum;
}

// Figures by node of the sets of a measure, of all domains, in the range: {self, variance, isWhole,
// level}. `self` is null where they are not kept, for cells of `level`; `isWhole`: they are of the
// whole run all the same, since no time is known of any. `variance`: of estimates; 0: it is exact.
function stackFigures(stacks, figures, measure, selection) {
  const sets = figures.sets.filter((set) => set.measure === measure);
  const isTimeless = sets.every((set) => set.level < 0), self = new Float64Array(stacks.count),
      variance = new Float64Array(stacks.count);
  const absent = isTimeless ? [] : sets.filter((set) => !selection.knows(set.level));
  if (absent.length > 0)
    return {self: null, isWhole: false, level: Math.max(...absent.map((set) => set.level))};
  for (const set of sets)
    set.node.forEach((node, row) => {
      if (!(node >= 0 && node < self.length)) return;
      const figure = isTimeless || selection.isWhole ? set.self[row] : sumOfCells(set.cells[row],
          set.level, selection);
      self[node] += figure;
      if (set.each) variance[node] += figure * set.each[row];
    });
  return {self, variance, isWhole: isTimeless && !selection.isWhole, level: -1};
}

// The standard error of an estimate, as the commands have it (analysis/heap_sites.h).
function errorOf(figure, variance) {
  const each = variance > 0 && figure > 0 ? variance / figure : 0;
  return each / 2 + Math.sqrt(Math.max(0, variance) + each * each / 4);
}

function estimateText(figure, variance, text) {
  const error = errorOf(figure, variance);
  return text(figure) + (error >= 0.5 ? ` ± ${text(error)}` : "");
}

// What makes nodes of stacks one frame: the same "function", the same function and "line" in it,
// or the same line of a "source", whichever function it is of. A number for each node, below 2^32;
// made once.
function frameKeys(stacks, by) {
  if (by === "function") return stacks.fn;
  return stacks.keys[by] ||= lineKeys(stacks, by === "source" ? sourceNumbers(stacks) : null);
}

function lineKeys({fn, line}, sources) {
  const numbers = new Map(), keys = new Float64Array(fn.length);
  for (let node = 0; node < keys.length; node++) {
    const at = (sources ? sources[fn[node]] ?? -1 : fn[node]) * 2 ** 32 + line[node];
    let number = numbers.get(at);
    if (number === undefined) numbers.set(at, number = numbers.size);
    keys[node] = number;
  }
  return keys;
}

// Of each function, the number of its source.
function sourceNumbers({functions}) {
  const numbers = new Map();
  return functions.map(({source}) => {
    if (!numbers.has(source)) numbers.set(source, numbers.size);
    return numbers.get(source);
  });
}

// The tree of what `self` has, by node of stacks. {inverted, byLine}
function treeOf(stacks, self, {inverted = false, byLine = false} = {},
    variance = new Float64Array(stacks.count)) {
  const tree = {keys: [-1], nodes: [-1], parent: [0], self: [0], variance: [0]},
      keys = frameKeys(stacks, byLine ? "line" : "function"), children = new Map();
  const child = (parent, node) => { // that has the key of a node
    const at = parent * 2 ** 32 + keys[node] + 1;
    if (!children.has(at)) children.set(at, tree.keys.push(keys[node]) - 1), tree.nodes.push(node),
        tree.parent.push(parent), tree.self.push(0), tree.variance.push(0);
    return children.get(at);
  };
  if (inverted) putInverted(tree, stacks, self, child, variance);
  else putFromRoot(tree, stacks, self, child, variance);
  return layOut(tree);
}

function putFromRoot(tree, stacks, self, child, variance) {
  const isUsed = new Uint8Array(stacks.count), at = new Int32Array(stacks.count);
  for (let node = stacks.count - 1; node > 0; node--)
    if (isUsed[node] ||= self[node] !== 0 ? 1 : 0) isUsed[stacks.parent[node]] = 1;
  for (let node = 0; node < stacks.count; node++) {
    if (node > 0 && !isUsed[node]) continue;
    if (node > 0) at[node] = child(at[stacks.parent[node]], node);
    tree.self[at[node]] += self[node];
    tree.variance[at[node]] += variance[node];
  }
}

function putInverted(tree, stacks, self, child, variance) {
  self.forEach((figure, leaf) => {
    let at = 0;
    for (let node = leaf; figure !== 0 && node > 0; node = stacks.parent[node])
      at = child(at, node);
    tree.self[at] += figure;
    tree.variance[at] += variance[leaf];
  });
}

// Sets total, its variance (spread), depth, x and rows. Siblings are in the order of their size.
function layOut(tree) {
  const count = tree.keys.length, below = tree.keys.map(() => []);
  tree.total = withCallees(tree, tree.self);
  tree.spread = withCallees(tree, tree.variance);
  tree.depth = new Int32Array(count);
  tree.x = new Float64Array(count);
  for (let node = 1; node < count; node++) {
    tree.depth[node] = tree.depth[tree.parent[node]] + 1;
    below[tree.parent[node]].push(node);
  }
  tree.rows = [];
  for (let row = [0]; row.length > 0; row = row.flatMap((node) => below[node])) {
    tree.rows.push(row);
    for (const node of row) placeChildren(tree, tree.x[node], below[node]);
  }
  return tree;
}

function placeChildren(tree, x, children) {
  for (const child of children.sort((a, b) => tree.total[b] - tree.total[a])) {
    tree.x[child] = x;
    x += tree.total[child];
  }
}

// Where in a row the first node is that ends after x.
function firstAfter(tree, row, x) {
  return firstRow(row.length, (i) => tree.x[row[i]] + tree.total[row[i]] <= x);
}

// The sum of the topmost nodes that match, without those below them.
function sumOfMatches(tree, matches) {
  const isInside = new Uint8Array(tree.keys.length);
  let sum = 0;
  for (let node = 1; node < isInside.length; node++) {
    const isBelow = isInside[tree.parent[node]];
    isInside[node] = isBelow || matches(node) ? 1 : 0;
    if (isInside[node] && !isBelow) sum += tree.total[node];
  }
  return sum;
}

function functionOf(stacks, node) {
  return stacks.functions[stacks.fn[node]] || {name: "(unknown)", source: null, line: 0};
}

function frameText(stacks, node, byLine) {
  const {name, source, line} = functionOf(stacks, node), at = byLine ? stacks.line[node] : line;
  return source ? `${name} (${visibleText(source)}${at > 0 ? ":" + at : ""})` : name;
}

// A figure of each node with all below it.
function withCallees({parent}, self) {
  const total = Float64Array.from(self);
  for (let node = total.length - 1; node > 0; node--) total[parent[node]] += total[node];
  return total;
}

// Self and total by frame (frameKeys), each with its variance: total counts a stack once, however
// often it is in it.
function sumByFrame(stacks, self, by, variance = new Float64Array(stacks.count)) {
  const keys = frameKeys(stacks, by), sums = new Map(), total = withCallees(stacks, self),
      ofTotal = withCallees(stacks, variance);
  for (let node = 1; node < stacks.count; node++) {
    if (total[node] === 0) continue;
    if (!sums.has(keys[node]))
      sums.set(keys[node], {node, self: 0, total: 0, variance: {self: 0, total: 0}});
    const sum = sums.get(keys[node]);
    let above = stacks.parent[node];
    while (above > 0 && keys[above] !== keys[node]) above = stacks.parent[above];
    sum.self += self[node];
    sum.variance.self += variance[node];
    if (above > 0) continue;
    sum.total += total[node];
    sum.variance.total += ofTotal[node];
  }
  return [...sums.values()];
}

// What C functions have is that of the line that called them, but for steps of the collector.
function atLines(stacks, self) {
  const moved = Float64Array.from(self);
  for (let node = stacks.count - 1; node > 0; node--) {
    const {source, name} = functionOf(stacks, node);
    if (source !== null || name === "collecting garbage") continue;
    moved[stacks.parent[node]] += moved[node];
    moved[node] = 0;
  }
  return moved;
}

// By line of a program, with C functions that it calls: source -> line -> what sumByFrame has.
function sumByLine(stacks, self, variance = new Float64Array(stacks.count)) {
  const sources = new Map();
  for (const sum of sumByFrame(stacks, atLines(stacks, self), "source", atLines(stacks, variance))) {
    const {source} = functionOf(stacks, sum.node), line = stacks.line[sum.node];
    if (source === null || line <= 0) continue;
    if (!sources.has(source)) sources.set(source, new Map());
    sources.get(source).set(line, sum);
  }
  return sources;
}
