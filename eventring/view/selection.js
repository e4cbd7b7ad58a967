// SPDX-License-Identifier: MIT
// selection.js: the selected range of the run, which all views show the figures of: whole cells
// of level 0, [first, last).

class Selection {
  constructor(grid) {
    this.grid = grid;
    this.first = 0;
    this.last = grid.cells;
    this.listeners = [];
  }

  get isWhole() {
    return this.first === 0 && this.last === this.grid.cells;
  }
  get beginNs() {
    return this.first * this.grid.cellNs;
  }
  get endNs() {
    return this.isWhole ? this.grid.lengthNs : this.last * this.grid.cellNs;
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  // Takes cells in any order; at least one of them is selected.
  set(first, last) {
    const {cells} = this.grid;
    if (first > last) [first, last] = [last, first];
    first = clamp(Math.floor(first), 0, cells - 1);
    last = clamp(Math.ceil(last), first + 1, cells);
    if (first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    for (const listener of this.listeners) listener(this);
  }

  setWhole() {
    this.set(0, this.grid.cells);
  }

  // Takes times, and grows to the borders of the cells of a level.
  setTimes(beginNs, endNs, level = 0) {
    const size = 2 ** level, cellNs = this.grid.cellNs * size;
    if (beginNs > endNs) [beginNs, endNs] = [endNs, beginNs];
    this.set(Math.floor(beginNs / cellNs) * size, Math.ceil(endNs / cellNs) * size);
  }

  // Grows until figures of this level are known.
  widen(level) {
    const size = 2 ** level;
    this.set(Math.floor(this.first / size) * size, Math.ceil(this.last / size) * size);
  }

  // Are figures of a level known in it? -1: of the whole run alone.
  knows(level) {
    const size = 2 ** level;
    return this.isWhole || level >= 0 && this.first % size === 0 &&
        (this.last % size === 0 || this.last === this.grid.cells);
  }

  // The options of the commands that restrict them to it. (--until is within, the end is not.)
  options() {
    const {offsetNs, cells} = this.grid, at = (ns) => secondsText(ns + offsetNs);
    return (this.first > 0 ? ` --since ${at(this.beginNs)}` : "") +
        (this.last < cells ? ` --until ${at(this.endNs - 1)}` : "");
  }
}
