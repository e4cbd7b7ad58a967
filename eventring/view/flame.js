// SPDX-License-Identifier: MIT
// flame.js: flame graphs of the selected range, from the root at the top; with the same as a table.

const FRAME = 18; // pixels

// The commands that say more of a section, and whether they take a range.
const GRAPH_COMMANDS = {calls: ["profile", false], allocated: ["heap --allocated", true],
    live: ["heap", false]};
const GRAPHS = [ // section, measure, name, form
  ["samples", "samples", "Samples: where time went", (count) => `${countText(count)} samples`],
  ["calls", "ns", "Calls: time", durationText], ["calls", "count", "Calls: how many", countText],
  ["allocated", "bytes", "Allocated: bytes", bytesText],
  ["allocated", "objects", "Allocated: objects", countText], ["live", "bytes", "Live: bytes",
  bytesText], ["live", "objects", "Live: objects", countText],
].map(([section, measure, title, text]) => ({section, measure, title, text}));

class Flame {
  constructor(page) {
    Object.assign(this, {page, id: "flame", title: "Flame graph", inverted: false, byLine: false,
        root: 0, at: 0, words: "", table: make("div")});
    this.plot = new Plot({id: "flame-canvas", kind: "flame graph", height: () => this.tree
        ? clamp(this.tree.rows.length * FRAME, FRAME, 6000) : FRAME,
        draw: (c, width) => this.draw(c, width),
      tip: (event) => this.tip(this.nodeAt(event)),
      click: (event) => { const node = this.nodeAt(event); if (node >= 0) this.zoom(node); },
      label: "Flame graph. Arrow keys go to the caller, what it calls, and its neighbours; Enter shows a frame alone, Escape all of them. The table below has the same by function."});
    [this.note, this.path] = ["flame-note", "flame-frame"].map((id) => make("div",
        {id, class: "note"}));
  }

  async fill(panel) {
    const {page, plot} = this;
    this.stacks = await page.stacks();
    this.graphs = [];
    for (const graph of GRAPHS) {
      const data = await page.figuresOn(graph.section);
      if (data.sets.some((set) => set.measure === graph.measure))
        this.graphs.push({...graph, data});
    }
    panel.append(page.noTime() ?? "");
    if (this.graphs.length === 0)
      return panel.append(page.missing("There are no stacks: the recording has no samples, no profile of calls and no heap profile.", "stacks"));
    this.graph = this.graphs[0];
    const set = (key, valueOf = (value) => value) =>
        (value) => { this[key] = valueOf(value); this.build(); };
    panel.append(make("div", {class: "controls"},
        selectElement("Graph", this.graphs.map((graph, i) => [String(i), graph.title]), "0",
        set("graph", (i) => this.graphs[i])),
      selectElement("By", [["function", "function"], ["line", "line"]], "function",
      set("byLine", (by) => by === "line")),
      checkElement("inverted (callers below)", false, set("inverted")),
      buttonElement("All frames", () => this.zoom(0))), this.note, plot.canvas, this.path,
      this.table);
    page.selection.listen(() => this.build());
    this.build();
  }

  build() {
    const {stacks, page, graph} = this, {self, variance, isWhole, level} = stackFigures(stacks,
        graph.data, graph.measure, page.selection);
    this.root = this.at = 0;
    this.tree = self && treeOf(stacks, self, this, variance);
    this.plot.canvas.hidden = !self;
    this.labels = self && this.tree.nodes.map((node) => node < 0 ? "all" : frameText(stacks, node,
        this.byLine));
    this.table.replaceChildren();
    if (self) this.tellSums(self, variance, isWhole);
    else this.note.replaceChildren(page.absent([level], "This graph"));
    this.search(this.words);
  }

  tellSums(self, variance, isWhole) {
    const {page, graph, tree, stacks} = this, {hz, from} = graph.data, {text} = graph,
        all = tree.total[0] || 1, by = this.byLine ? "line" : "function";
    const rows = sumByFrame(stacks, self, by, variance), command = hz ? [page.head.sampled?.command || `profile --hz ${hz}`, false]
        : GRAPH_COMMANDS[graph.section];
    this.note.replaceChildren(`${estimateText(tree.total[0], tree.spread[0], text)}, ${from}${hz ? `, ${countText(numberOf(hz))} a second` : ""}, `,
      isWhole ? "of the whole run, not of the selected range: their time is not recorded. "
      : `${hz && page.head.sampled && page.selection.isWhole ? sampledRange(page) : page.rangeText()}. `,
      command ? page.command(...command) : "");
    for (const row of rows) row.label = frameText(stacks, row.node, this.byLine);
    const link = (row) => { // to its line
      const {source, line} = functionOf(stacks, row.node);
      return source ? linkElement(row.label,
          () => page.goToLine(source, this.byLine ? stacks.line[row.node] : line)) : row.label;
    };
    const share = (key) => figureColumn("share", (row) => row[key] / all, shareText),
        figure = (key, help) => figureColumn(key, (row) => row[key],
        (value, row) => estimateText(value, row.variance[key], text), help);
    this.frames = new SortedTable(`${graph.title}, by ${by}`,
        [textColumn(by, (row) => row.label, link), figure("self", "in it, not in what it calls"),
      share("self"), figure("total", "with all that it calls"), share("total")],
      rows, {sort: 1, limit: 25});
    this.table.append(this.frames.element);
  }

  // ---- Drawing -----------------------------------------------------------------------------

  draw(c, width) {
    const {tree, root} = this;
    if (!tree) return;
    this.from = tree.x[root];
    this.scale = tree.total[root] > 0 ? width / tree.total[root] : 0;
    const end = this.from + tree.total[root];
    tree.rows.forEach((row, depth) => {
      for (let i = firstAfter(tree, row, this.from); i < row.length && tree.x[row[i]] < end;) {
        const node = row[i], wide = tree.total[node] * this.scale;
        if (wide >= 0.5) this.frame(c, node, Math.max(0, (tree.x[node] - this.from) * this.scale),
            depth * FRAME, Math.min(wide, width));
        i = wide >= 0.5 ? i + 1
            : Math.max(i + 1, firstAfter(tree, row, tree.x[node] + 0.5 / this.scale));
      }
    });
  }

  frame(c, node, x, y, wide) {
    const {tree, plot, stacks} = this, isMatch = this.words &&
        this.labels[node].toLowerCase().includes(this.words);
    c.globalAlpha = tree.depth[node] < tree.depth[this.root] ? 0.5 : 1;
    c.fillStyle = isMatch ? palette.mark : node === 0 ? palette.line
        : palette.of(functionOf(stacks, tree.nodes[node]).name, true);
    c.fillRect(x, y, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), FRAME - 1);
    c.globalAlpha = 1;
    c.fillStyle = isMatch ? "#000" : palette.ink;
    if (wide > 20) drawText(c, this.labels[node], x + 4, y + FRAME / 2, wide - 8);
    if (node !== this.at || !plot.hasFocus) return;
    c.strokeStyle = palette.ink;
    c.lineWidth = 2;
    c.strokeRect(x + 1, y + 1, Math.max(1, wide - 3), FRAME - 3);
  }

  // -1: there is none.
  nodeAt(event) {
    const {tree} = this, {x, y} = this.plot.pointOf(event),
        row = tree && tree.rows[Math.floor(y / FRAME)], at = this.from + x / this.scale;
    const node = row ? row[firstAfter(tree, row, at)] : -1;
    return tree && tree.x[node] <= at ? node : -1;
  }

  figureLines(node) {
    const {tree, graph: {text}} = this, line = (label, value, variance) =>
        `${label}: ${estimateText(value, variance, text)} (${shareText(value / (tree.total[0] || 1))})`;
    return [line("total", tree.total[node], tree.spread[node]),
        line("self", tree.self[node], tree.variance[node])];
  }

  tip(node) {
    return node < 0 ? null : [this.labels[node], ...this.figureLines(node)];
  }

  zoom(node) {
    this.root = node;
    this.go(node);
  }

  // Tells a frame and marks it.
  go(node) {
    const stack = [];
    for (let at = node; at > 0; at = this.tree.parent[at]) stack.unshift(this.labels[at]);
    this.at = node;
    this.path.textContent = node > 0
        ? `${stack.join(this.inverted ? " ← " : " → ")}: ${this.figureLines(node).join(", ")}` : "";
    announce(this.path.textContent || "All frames are shown.");
    this.plot.later();
  }

  key(event) {
    const {tree, at, plot} = this, {key} = event;
    if (!tree || !plot.hasFocus) return false;
    const row = tree.rows[tree.depth[at]], index = row.indexOf(at),
        below = tree.rows[tree.depth[at] + 1] || [];
    const to = {ArrowUp: tree.parent[at], ArrowDown: below.find((node) => tree.parent[node] === at),
        ArrowLeft: row[index - 1], ArrowRight: row[index + 1]}[key];
    if (to !== undefined) this.go(to);
    else if (key === "Enter") this.zoom(at);
    else if (key === "Escape" && this.root > 0) this.zoom(0);
    else return key.startsWith("Arrow");
    return true;
  }

  search(words) {
    const {tree, graph} = this;
    this.words = words.toLowerCase();
    this.path.textContent = "";
    if (tree && words) {
      const sum = sumOfMatches(tree,
          (node) => this.labels[node].toLowerCase().includes(this.words));
      this.path.textContent = `Frames that match: ${graph.text(sum)} (${shareText(sum / (tree.total[0] || 1))})`;
      announce(this.path.textContent);
    }
    if (tree) this.frames.search(words);
    this.plot.later();
  }

  show() {
    this.plot.later();
  }
}
