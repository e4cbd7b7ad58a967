// SPDX-License-Identifier: MIT
// timeline_draw.js: draws the lanes of a timeline: a method for each kind of lane.
//
// What is drawn is in the view, and no more than a pixel shows: spans that are narrower than one
// are drawn together, cells of cover by runs of the same shade.

const AXIS = 20; // pixels, at the top

class TimelineDrawing {
  constructor(timeline, context, width, height) {
    const {page, data, view} = timeline;
    Object.assign(this, {t: timeline, c: context, width, height, data, head: page.head,
        grid: page.grid, ...view, scale: width / (view.end - view.begin)});
  }

  x(ns) {
    return (ns - this.begin) * this.scale;
  }

  draw() {
    const {c, t, width, height} = this;
    c.fillStyle = palette.panel;
    c.fillRect(0, 0, width, height);
    drawTimeAxis(c, this.grid, this, 0, width, 0, height);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, width, height - AXIS);
    c.clip();
    c.translate(0, AXIS - t.scroll);
    for (const lane of t.lanes) if (lane.y + lane.height > t.scroll && lane.y < t.scroll + height)
      this[lane.kind](lane);
    this.bands();
    this.links();
    c.restore();
    drawSelection(c, t.page.selection, (ns) => this.x(ns), 0, width, height);
  }

  // ---- Lanes -----------------------------------------------------------------------------

  domain({domain, y}) {
    const {c, head, width} = this, {start, stop} = head.domains[domain], height = LANE.domain - 2;
    c.fillStyle = palette.line;
    c.fillRect(0, y, width, height);
    c.fillStyle = palette.shade; // where it was not there
    if (start > this.begin) c.fillRect(0, y, this.x(start), height);
    if (typeof stop === "number" && stop < this.end) c.fillRect(this.x(stop), y, width, height);
    c.fillStyle = palette.ink;
    c.font = BOLD;
    drawText(c, `${this.t.choice.closed.has(domain) ? "▸" : "▾"} ${head.domainLabel(domain)}`, 6,
        y + height / 2, width - 12);
    c.font = FONT;
  }

  label(text, y) {
    const {c} = this;
    c.fillStyle = palette.panel;
    c.globalAlpha = 0.85;
    c.fillRect(0, y, Math.min(c.measureText(text).width + 10, this.width), LANE.strip);
    c.globalAlpha = 1;
    c.fillStyle = palette.soft;
    drawText(c, text, 5, y + LANE.strip / 2, this.width - 12);
  }

  // Calls with the pauses in the view that have a pixel of their own: row, left, right.
  eachPause({begin, end, latest}, call) {
    let last = -9;
    for (let i = lowerBound(latest, this.begin); i < begin.length && begin[i] < this.end; i++) {
      const from = Math.max(-2, this.x(begin[i])), to = Math.min(this.x(end[i]), this.width + 2);
      if (to < last + 1) continue;
      last = Math.max(to, from + 1);
      call(i, from, to);
    }
  }

  pauses({pauses, y}) {
    const {c} = this;
    this.eachPause(pauses, (i, from, to) => {
      c.fillStyle = palette.collector;
      c.fillRect(from, y + 1, Math.max(1, to - from), LANE.pauses - 3);
      c.fillStyle = palette.paper;
      if (to - from > 40) drawText(c, this.t.pauseLabel(pauses.row[i]), Math.max(0, from) + 4,
          y + LANE.pauses / 2, to - from - 8);
    });
    this.label("collector", y + 1);
  }

  track(lane) {
    const {data} = this;
    for (let depth = 0; depth < lane.depth; depth++) {
      const y = lane.y + LANE.strip + depth * LANE.row, cover = data.cover[lane.track][depth],
          spans = data.spans.tracks[lane.track][depth];
      if (y + LANE.row < this.t.scroll || y > this.t.scroll + this.height) continue;
      if (cover && !this.t.isAllHere) this.cover(cover, y);
      if (spans) this.spans(spans, y);
    }
    this.instants(lane);
    this.losses(lane);
    this.label(this.head.trackLabel(lane.track), lane.y);
  }

  // Shades by how much of a cell's time a span ran.
  cover({cells, ns, sizeNs}, y) {
    const {c} = this;
    let run = {from: 0, to: 0, shade: 0};
    const flush = () => {
      c.globalAlpha = 0.12 + 0.05 * run.shade;
      if (run.shade > 0) c.fillRect(run.from, y + 3, Math.max(1, run.to - run.from), LANE.row - 7);
    };
    c.fillStyle = palette.faint;
    for (let i = lowerBound(cells, Math.floor(this.begin / sizeNs)); i < cells.length &&
        cells[i] * sizeNs < this.end; i++) {
      const from = Math.max(0, this.x(cells[i] * sizeNs)),
          to = Math.min(this.width, this.x((cells[i] + 1) * sizeNs)),
          shade = Math.ceil(8 * clamp(ns[i] / sizeNs, 0, 1));
      if (run.shade === shade && from - run.to < 1) run.to = to;
      else flush(), run = {from, to, shade};
    }
    flush();
    c.globalAlpha = 1;
  }

  spans(lane, y) {
    const {c, t} = this;
    let from = -9, to = -9, colour = ""; // of narrow ones
    const flush = () => {
      c.fillStyle = colour;
      c.globalAlpha = 0.4; // a pixel is more than any of them takes
      if (to > from) c.fillRect(from, y, to - from, LANE.row - 1);
      c.globalAlpha = 1;
    };
    this.data.spans.visible(lane, this.begin, this.end, 1 / this.scale, (segment, row) => {
      const left = this.x(segment.begin[row]), right = this.x(segment.end[row]),
          isChosen = t.chosen && t.chosen.segment === segment && t.chosen.row === row;
      if (right - left >= 1 || isChosen)
        return this.span(segment, row, Math.max(left, -2), Math.min(Math.max(right, left + 1),
            this.width + 2), y, isChosen);
      const pixel = Math.floor(left), own = this.colour(segment.name[row]);
      if (pixel - to > 1 || own !== colour) flush(), [from, colour] = [pixel, own];
      to = pixel + 1;
    });
    flush();
  }

  colour(name) {
    const {matches} = this.t;
    return matches && !matches.has(name) ? palette.line : this.head.isCollector(name)
        ? palette.collector : palette.of(this.head.label(name));
  }

  span(segment, row, from, to, y, isChosen) {
    const {c, t, head} = this, name = segment.name[row], isCollector = head.isCollector(name),
        width = to - from - (to - from > 4 ? 0.5 : 0);
    c.fillStyle = this.colour(name);
    c.fillRect(from, y, width, LANE.row - 1);
    if (segment.flags[row] > 0) this.torn(segment.flags[row], from, y, width);
    c.fillStyle = isCollector && !(t.matches && !t.matches.has(name)) ? palette.paper : palette.ink;
    if (width > 22) drawText(c, t.spanLabel(segment, row), Math.max(0, from) + 4, y + LANE.row / 2,
        to - Math.max(0, from) - 8);
    if (!isChosen) return;
    c.strokeStyle = palette.ink;
    c.lineWidth = 2;
    c.strokeRect(from + 1, y + 1, Math.max(1, width - 2), LANE.row - 3);
  }

  // An unknown begin, a lost end: hatched there. Open: an arrow.
  torn(flags, from, y, width) {
    const part = Math.min(14, width);
    if (flags & BEGIN_UNKNOWN) hatch(this.c, from, y, part, LANE.row - 1);
    if (flags & END_LOST) hatch(this.c, from + width - part, y, part, LANE.row - 1);
    if (flags & STILL_OPEN && width > 6)
      this.shape([from + width - 6, y + 4, from + width, y + LANE.row / 2, from + width - 6,
          y + LANE.row - 5], palette.ink);
  }

  // Fills what has these corners: x, y, x, y, ...
  shape(corners, colour) {
    const {c} = this;
    c.fillStyle = colour;
    c.beginPath();
    for (let i = 0; i < corners.length; i += 2) c.lineTo(corners[i], corners[i + 1]);
    c.fill();
  }

  instants({track, y}) {
    const instants = this.data.instants[track], middle = y + LANE.strip / 2;
    let last = -9;
    for (let i = instants ? lowerBound(instants.at, this.begin) : Infinity; instants &&
        i < instants.count && instants.at[i] <= this.end; i++) {
      const x = this.x(instants.at[i]), isMatch = this.t.matches &&
          this.t.matches.has(instants.name[i]);
      if (x - last < 3) continue;
      last = x;
      this.shape([x, middle - 5, x + 4, middle, x, middle + 5, x - 4, middle],
          isMatch ? palette.mark : palette.accent);
    }
  }

  losses({track, y, height}) {
    for (const {at, count} of this.data.losses[track]) {
      if (at < this.begin || at > this.end) continue;
      const x = this.x(at);
      hatch(this.c, x - 4, y, 8, height - 3);
      this.c.fillStyle = palette.loss;
      drawText(this.c, `${countText(count)} lost`, x + 6, y + LANE.strip / 2, 90);
    }
  }

  // Steps: a line through the last values, a band from the least to the most.
  counter({counter, most, y: top}) {
    const {c, head, grid} = this, {cells, last} = counter,
        sizeNs = grid.cellNs * 2 ** counter.level, {label, unit} = {label: head.label(counter.name),
        ...head.name(counter.name)};
    const y = (value) => top + LANE.counter - 4 - (most > 0 ? Math.max(0, value) / most
        : 0) * (LANE.counter - 10);
    c.fillStyle = c.strokeStyle = palette.accent;
    c.globalAlpha = 0.25;
    c.beginPath();
    let i = Math.max(0, lowerBound(cells, Math.floor(this.begin / sizeNs)) - 1);
    for (; i < cells.length && cells[i] * sizeNs < this.end; i++) {
      const x = this.x(cells[i] * sizeNs), high = y(counter.most[i]);
      c.fillRect(x, high, Math.max(1, sizeNs * this.scale),
          Math.max(1, y(counter.least[i]) - high));
      c.lineTo(x, y(last[Math.max(0, i - 1)]));
      c.lineTo(x, y(last[i]));
    }
    if (i > 0) c.lineTo(this.x(Math.min(this.end, grid.lengthNs)), y(last[i - 1]));
    c.globalAlpha = 1;
    c.lineWidth = 1.5;
    c.stroke();
    this.label(`${label}, at most ${quantityText(most, unit)}`, top);
  }

  stacks({rows, sizeNs, y}) {
    const {c, t, data} = this;
    rows.forEach((runs, depth) => {
      for (const {first, last, node, part} of runs) {
        const from = Math.max(0, this.x(first * sizeNs)),
            wide = Math.min(this.width, this.x(last * sizeNs)) - from, top = y + LANE.strip +
            depth * LANE.stack;
        if (wide < 0.5) continue;
        const {name} = functionOf(data.stacks, node);
        c.globalAlpha = (t.words && !name.toLowerCase().includes(t.words) ? 0.3 : 1) * (0.5 +
            0.5 * part);
        c.fillStyle = palette.of(name, true);
        c.fillRect(from, top, Math.max(1, wide - 0.5), LANE.stack - 1);
        c.globalAlpha = 1;
        c.fillStyle = palette.ink;
        if (wide > 24) drawText(c, name, from + 4, top + LANE.stack / 2, wide - 8);
      }
    });
    this.label("sampled stacks: in each cell, where most samples were", y);
  }

  // ---- Over the lanes ---------------------------------------------------------------------

  // A pause stops all that its domain does: a band through its tracks.
  bands() {
    const {c} = this;
    for (const {top, bottom, pauses} of this.t.bands)
      this.eachPause(pauses, (i, from, to) => {
        c.fillStyle = palette.collector;
        c.globalAlpha = 0.18;
        if (to - from >= 1) c.fillRect(from, top, to - from, bottom - top);
      });
    c.globalAlpha = 1;
  }

  links() {
    const {c, t} = this;
    c.strokeStyle = palette.accent;
    c.lineWidth = 1;
    c.globalAlpha = this.data.links.length > 30 ? 0.4 : 1;
    let room = 400;
    for (const link of this.data.links) {
      const from = t.laneOfTrack.get(link.fromTrack), to = t.laneOfTrack.get(link.toTrack);
      if (!from || !to || Math.max(link.from, link.to) < this.begin || Math.min(link.from,
          link.to) > this.end || room-- <= 0) continue;
      const [x1, y1, x2, y2] = [this.x(link.from), from.y + LANE.strip + 4, this.x(link.to),
          to.y + LANE.strip + 4], bend = Math.min(40, Math.abs(x2 - x1) / 2 + 8);
      c.beginPath();
      c.moveTo(x1, y1);
      c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      c.stroke();
      this.shape([x2, y2, x2 - 6, y2 - 3, x2 - 6, y2 + 3], palette.accent);
    }
    c.globalAlpha = 1;
  }
}
