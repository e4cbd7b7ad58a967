// SPDX-License-Identifier: MIT
// pauses.js: the steps of the collector: time against length on a logarithmic axis, by reason.

const SCATTER_HEIGHT = 300; // pixels

class Pauses {
  constructor(page) {
    Object.assign(this, {page, id: "pauses", title: "Pauses", words: "", at: -1, drawn: [],
        figures: make("div"), longest: make("div"), command: make("span"),
                         legend: make("ul", {class: "legend", "aria-label": "Reasons"}),
                         glossary: make("details", {}, make("summary", {}, "What the steps and phases do"))});
    this.plot = new Plot({id: "pauses-canvas", kind: "scatter plot", height: () => SCATTER_HEIGHT +
        PLOT_BOTTOM, draw: (c, width) => this.draw(c, width),
      tip: (event) => { const i = this.nearest(event); return i < 0 ? null
      : tipLines(describePause(page, this.pauses, i)); },
      click: (event) => { const i = this.nearest(event); if (i >= 0) this.go(i); },
      label: "Pauses: time against length. Left and right go from pause to pause, Enter shows one in the timeline. The table below has the same."});
  }

  async fill(panel) {
    const {page} = this;
    this.pauses = await page.pauses();
    this.lines = await page.nearLines();
    this.all = (await page.series()).filter((series) => series.of === "pause");
    if (this.pauses.count + this.all.length === 0)
      return panel.append(page.missing("The recording has no step of the collector.", "pauses"));
    this.reasons = [...new Set(this.pauses.reason)].sort((a, b) => a - b);
    panel.append(noteElement("A point is a step of the collector that is kept whole: the longest, and the longest of each cell. The sums are of all. ", this.command), this.legend, this.glossary, this.plot.canvas, this.figures, this.longest);
    const done = new Set([...this.pauses.name, ...this.pauses.phases.flatMap((phases) =>
        listOf(phases).filter((_, i) => i % 2 === 0))]);
    this.glossary.append(make("ul", {}, [...done].sort((a, b) => a - b).map((name) => make("li", {},
        page.head.explained(name)))));
    page.selection.listen(() => this.tell());
    this.tell();
  }

  colour(reason) {
    return `hsl(${(12 + this.reasons.indexOf(reason) * 67) % 360} 75% ${palette.isDark ? 68 : 36}%)`;
  }

  reasonText(reason) {
    return reason < 0 ? "no reason" : this.page.head.label(reason);
  }

  tell() {
    const {page, pauses} = this, {head, grid, selection} = page,
        isIn = (end) => selection.isWhole || end >= selection.beginNs && end < selection.endNs;
    this.shown = Array.from(pauses.end, (end, i) => isIn(end) ? i : -1).filter((i) => i >= 0);
    this.command.replaceChildren(page.command("pauses"));
    const {rows, absent} = sumsByLabel(page, this.all,
        (series) => `${head.label(series.name)}, ${this.reasonText(series.reason)}`),
        sum = sumsByLabel(page, this.all, () => "all").rows;
    const columns = figureColumns("step, reason").filter(({title}) => title !== "own" &&
        title !== "suspended");
    this.figures.replaceChildren(new SortedTable(page.rangeText(), columns,
        [...sum, ...rows]).element, absent);
    const known = (title, key, form) => figureColumn(title, (i) => pauses[key][i] < 0 ? null
        : pauses[key][i], form);
    this.table = new SortedTable("The longest of those that are kept", [
      {...figureColumn("at", (i) => pauses.begin[i], (ns) => grid.moment(ns)),
      node: (i) => linkElement(grid.moment(pauses.begin[i]), () => this.go(i))},
      known("length", "length", durationText), known("CPU", "cpu", durationText),
      known("off CPU", "off_cpu", durationText),
      known("work", "work", bytesText), textColumn("step", (i) => head.label(pauses.name[i])),
      textColumn("reason", (i) => this.reasonText(pauses.reason[i])),
      textColumn("domain", (i) => head.domainLabel(pauses.domain[i])),
      textColumn("the program was", (i) => doingText(page, pauses, this.lines, i) || "-")], this.shown, {sort: 1, limit: 25});
    this.longest.replaceChildren(this.table.element);
    this.show();
  }

  async go(i) {
    const timeline = await this.page.show("timeline"), {begin, end} = this.pauses;
    timeline.tell(describePause(this.page, this.pauses, i));
    timeline.goTo(begin[i], end[i]);
    timeline.plot.canvas.focus({preventScroll: true});
  }

  draw(c, width) {
    const {pauses, shown, words} = this, {selection, grid} = this.page,
        {beginNs: begin, endNs: end} = selection,
        lengths = shown.map((i) => Math.max(1, pauses.length[i])), room = width - PLOT_LEFT - 8;
    const low = Math.log10(lengths.reduce((a, b) => Math.min(a, b), 1e9)) - 0.1,
        high = Math.max(low + 0.5, Math.log10(lengths.reduce((a, b) => Math.max(a, b), 1)) + 0.1);
    const x = (ns) => PLOT_LEFT + (ns - begin) / (end - begin) * room,
        y = (ns) => SCATTER_HEIGHT * (1 - (Math.log10(ns) - low) / (high - low));
    c.fillStyle = palette.panel;
    c.fillRect(PLOT_LEFT, 0, width - PLOT_LEFT, SCATTER_HEIGHT);
    drawTimeAxis(c, grid, {begin, end}, PLOT_LEFT, room, SCATTER_HEIGHT, SCATTER_HEIGHT + 5);
    drawLengthAxis(c, y, PLOT_LEFT, width - PLOT_LEFT, SCATTER_HEIGHT);
    this.drawn = shown.map((i, at) => [i, x(pauses.begin[i]), y(lengths[at])]);
    for (const [i, x, y] of this.drawn) {
      const text = [pauses.name[i], pauses.reason[i], pauses.span[i]].map((name) =>
          this.page.head.label(name)).join(" ").toLowerCase();
      c.globalAlpha = text.includes(words) ? 0.85 : 0.15;
      c.fillStyle = this.colour(pauses.reason[i]);
      c.beginPath();
      c.arc(x, y, this.at === i ? 7 : 3, 0, 2 * Math.PI);
      c.fill();
    }
  }

  // The pause at the pointer; -1.
  nearest(event) {
    const point = this.plot.pointOf(event);
    let best = -1, least = 12;
    for (const [i, x, y] of this.drawn) {
      const away = Math.hypot(point.x - x, point.y - y);
      if (away < least) [best, least] = [i, away];
    }
    this.plot.canvas.style.cursor = best < 0 ? "" : "pointer";
    return best;
  }

  key(event) {
    const {shown, plot} = this, step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!plot.hasFocus || !shown.length) return false;
    if (event.key === "Enter" && this.at >= 0) return this.go(this.at), true;
    if (!step) return false;
    this.at = shown[clamp(shown.indexOf(this.at) + step, 0, shown.length - 1)];
    announceFound(describePause(this.page, this.pauses, this.at));
    plot.later();
    return true;
  }

  search(words) {
    this.words = words.toLowerCase();
    if (this.table) this.table.search(words);
    this.plot.later();
  }

  show() {
    if (!this.reasons) return;
    const {head} = this.page;
    this.legend.replaceChildren(...this.reasons.map((reason) => make("li", {},
        make("span", {class: "dot", style: {background: this.colour(reason)}}),
        reason < 0 ? this.reasonText(reason) : head.explained(reason))));
    this.plot.later();
  }
}

// What the program was in when a step began: its innermost span, and the function of its calls or
// the line that samples around then have; "" if nothing is known.
function doingText({head}, pauses, lines, i) {
  const {span, function: fn, domain, begin} = pauses,
      line = fn[i] < 0 && lines[Math.max(0, domain[i])]?.(begin[i]);
  return [...[span, fn].filter((known) => known[i] >= 0).map((known) => `in ${head.label(known[i])}`),
      line ? `near ${line}` : ""].filter(Boolean).join(", ");
}
