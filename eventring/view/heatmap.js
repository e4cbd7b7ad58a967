// SPDX-License-Identifier: MIT
// heatmap.js: the whole run as a heat map: time by length, on a logarithmic axis. A range that is
// dragged there is selected.
//
// A column is a cell of the coarsest level that the chosen series have, or of a coarser one, so
// that it is some pixels wide; a row is half an octave.

const ALL_PAUSES = "pauses (steps of the collector)"; // no span of a program is called so
const HEAT_ROW = 4; // buckets
const HEAT_COLUMN = 3; // pixels, at least
const PLOT_LEFT = 62, PLOT_BOTTOM = 22; // pixels for axes

// The counts of series by row and column: {level, low: first row, rows, counts, most}.
// A key of `counts` is row * 4096 + column.
function heatOf(all, cells, mostColumns) {
  const kept = all.filter((series) => series.histogram), counts = new Map();
  let level = kept.reduce((most, series) => Math.max(most, series.level), 0), low = Infinity,
      high = -Infinity, most = 0;
  while (Math.ceil(cells / 2 ** level) > mostColumns && level < 10) level++;
  for (const series of kept)
    series.columns.cells.forEach((cell, i) => eachBucket(series.histogram[i], (bucket, count) => {
      const row = Math.floor(bucket / HEAT_ROW), key = row * 4096 +
          Math.floor(cell * 2 ** (series.level - level)), sum = (counts.get(key) || 0) + count;
      counts.set(key, sum);
      [low, high, most] = [Math.min(low, row), Math.max(high, row), Math.max(most, sum)];
    }));
  return {level, counts, low, most, rows: counts.size > 0 ? high - low + 1 : 0};
}

class HeatMap {
  constructor(page) {
    Object.assign(this, {page, chosen: [], groups: new Map()});
    this.plot = new Plot({id: "heat-canvas", kind: "heat map", height: () => this.height() +
        PLOT_BOTTOM, draw: (c, width) => this.draw(c, width), tip: (event) => this.tip(event),
      label: "Heat map of the run: time by length. Left and right move the selected range, with Shift its end. The table below has its figures."});
    this.plot.onDrag((event) => {
      const from = this.cellAt(event), {cellNs} = page.grid;
      const select = (moved) => page.selection.setTimes(from * cellNs, this.cellAt(moved) * cellNs,
          this.heat.level);
      return this.heat && {move: select, end: (event) => { select(event); page.tellRange(); }};
    });
    this.note = noteElement();
    this.names = make("datalist", {id: "heat-names"});
    this.input = make("input", {list: "heat-names", onchange: () => this.choose(this.input.value),
        size: "30", autocomplete: "off"});
    this.element = make("section", {class: "heat"}, make("h2", {}, "The whole run"),
      make("p", {}, make("label", {class: "choice"}, "Time by length of", this.input, this.names)),
      this.plot.canvas, this.note);
    page.selection.listen(() => this.plot.later());
  }

  setSeries(all) {
    this.groups = groupBy(all.filter((series) => series.of !== "event"),
        ({of, name}) => of === "pause" ? ALL_PAUSES : this.page.head.label(name));
    const size = (key) => key === ALL_PAUSES ? Infinity : this.groups.get(key).reduce((sum, series) =>
        sum + numberOf(series.total.sum), 0);
    const order = [...this.groups.keys()].map((key) => [key, size(key)]).sort((a, b) =>
        b[1] - a[1]);
    this.names.append(...order.slice(0, 1000).map(([key]) => make("option", {value: key})));
    this.choose(order.length > 0 ? order[0][0] : "");
  }

  choose(key) {
    const group = this.groups.get(key);
    this.input.setAttribute("aria-invalid", String(!group));
    if (!group) return void (this.note.textContent = key ? `Nothing with lengths is called ${key}.`
        : `Nothing in this recording has a length. ${this.page.head.whyLeftOut("series")}`);
    this.input.value = key;
    this.chosen = group;
    this.heat = null;
    this.plot.later();
  }

  rowHeight() {
    return clamp(Math.floor(250 / this.heat.rows), 8, 24);
  }

  height() {
    this.prepare();
    return Math.max(6, this.heat.rows) * this.rowHeight();
  }

  prepare() {
    const {page} = this,
        most = Math.max(8, Math.floor((this.plot.canvas.clientWidth - PLOT_LEFT) / HEAT_COLUMN));
    if (this.heat && this.heat.of === most) return;
    this.heat = Object.assign(heatOf(this.chosen, page.grid.cells, most), {of: most});
    if (this.chosen.length > 0) this.note.textContent = this.heat.rows === 0
        ? `The lengths of these are kept for the whole run alone. ${page.head.whyLeftOut("series")}`
      : `A column is ${durationText(page.grid.cellNs * 2 ** this.heat.level)}, a row half an octave; the strongest colour is ${countText(this.heat.most)} in one. ` +
        "Drag to select a range: it snaps to columns, and all views show its figures.";
  }

  draw(c, width) {
    const {heat, page} = this, {cells, cellNs} = page.grid, rowHeight = this.rowHeight(),
        height = this.height(), size = 2 ** heat.level;
    this.width = width - PLOT_LEFT;
    const x = (cell) => PLOT_LEFT + Math.floor(Math.min(cell, cells) / cells * this.width);
    c.fillStyle = palette.panel;
    c.fillRect(PLOT_LEFT, 0, this.width, height);
    if (heat.rows > 0)
      drawLengthAxis(c, (ns) => height - (bucketOf(ns) / HEAT_ROW - heat.low) * rowHeight,
          PLOT_LEFT, this.width, height);
    drawTimeAxis(c, page.grid, {begin: 0, end: page.grid.endNs}, PLOT_LEFT, this.width, height,
        height + 5);
    for (const [key, count] of heat.counts) {
      const from = x(key % 4096 * size), row = Math.floor(key / 4096) - heat.low;
      c.fillStyle = palette.heat(Math.log(count) / Math.log(Math.max(heat.most, 4)));
      c.fillRect(from, height - (row + 1) * rowHeight,
          Math.max(1, x((key % 4096 + 1) * size) - from), rowHeight - 1);
    }
    drawSelection(c, page.selection, (ns) => PLOT_LEFT + ns / cellNs / cells * this.width,
        PLOT_LEFT, width, height + 5);
  }

  cellAt(event) {
    return clamp((this.plot.pointOf(event).x - PLOT_LEFT) / this.width, 0, 1) * this.page.grid.cells;
  }

  tip(event) {
    const {heat, page: {grid}} = this, y = this.height() - this.plot.pointOf(event).y;
    if (!heat?.rows || y < 0) return null;
    const at = Math.floor(this.cellAt(event) / 2 ** heat.level), ns = grid.cellNs * 2 ** heat.level,
        row = heat.low + Math.floor(y / this.rowHeight());
    return [`${grid.moment(at * ns)} to ${grid.moment((at + 1) * ns)}`,
        `${durationText(bucketLow(row * HEAT_ROW))} to ${durationText(bucketLow((row + 1) * HEAT_ROW))}`,
            `${countText(heat.counts.get(row * 4096 + at) || 0)} of them`];
  }

  key(event) {
    const direction = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!direction || !this.heat || !this.plot.hasFocus) return false;
    const {selection, grid: {cells}} = this.page, {first, last} = selection,
        size = 2 ** this.heat.level, step = direction * size;
    if (selection.isWhole) selection.set(0, size);
    else if (event.shiftKey) selection.set(first, clamp(last + step, first + 1, cells));
    else if (first + step >= 0 && last + step <= cells) selection.set(first + step, last + step);
    this.page.tellRange();
    return true;
  }
}
