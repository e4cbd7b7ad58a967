// SPDX-License-Identifier: MIT
// timeline.js: the timeline: what it shows, how it is moved, what a click tells.

class Timeline {
  constructor(page) {
    Object.assign(this, {page, id: "timeline", title: "Timeline", scroll: 0, chosen: null,
        matches: null, words: "", lanes: [], bands: [], laneOfTrack: new Map(),
                         view: {begin: 0, end: page.grid.lengthNs},
                         choice: {closed: new Set(), counters: new Set()}});
    this.plot = new Plot({id: "timeline-canvas", kind: "timeline", height: () => this.height(),
        draw: (...drawing) => this.draw(...drawing), tip: (event) => tipLines(this.found(event)),
      label: "Timeline. w and s zoom, a and d move, n and p go to the next and the previous span, l to the longest. The table below has the longest."});
    this.status = noteElement();
    this.status.id = "timeline-status";
    this.aside = make("aside", {id: "chosen", "aria-label": "What was clicked", tabindex: "0"},
        noteElement("Click a span, a step of the collector, a counter or a mark to see its figures."));
    this.table = make("details", {ontoggle: () => this.tellTable()},
        make("summary", {}, "The longest spans of what is shown, as a table"), make("div"));
  }

  async fill(panel) {
    const {page, plot} = this, {head, selection} = page;
    const [spans, cover, instants, losses, links, texts] = await Promise.all(["spans", "cover",
        "instants", "losses", "links", "texts"].map((name) => page.source.section(name)));
    const [pauses, stacks, counters, samples] = await Promise.all([page.pauses(), page.stacks(),
        page.counters(), page.figuresOn("samples")]), store = new Spans(head, page.source);
    store.add(spans);
    store.onLoad = () => this.layOut();
    this.texts = listOf(recordOf(texts).texts);
    this.data = {head, spans: store, cover: coverOf(cover, head), pauses,
        pausesOf: pausesByDomain(pauses, head), counters, instants: instantsOf(instants, head),
                 losses: lossesOf(losses, head), links: linksOf(links), stacks,
                 stackLanes: this.stackLanes(stacks, samples)};
    this.choice.counters = firstCounters(head, counters);
    this.bar = make("div", {class: "scroll-bar", "aria-hidden": "true",
        onscroll: () => { this.scroll = this.bar.scrollTop; plot.later(); }}, make("div"));
    panel.append(this.controls(), this.status, make("div", {class: "timeline"},
        make("div", {class: "drawn"}, plot.canvas, this.bar), this.aside), this.table);
    this.listen();
    this.layOut();
    selection.listen(() => this.showSelection());
    this.showSelection();
  }

  // By domain, where the time of samples is known.
  stackLanes(stacks, {sets}) {
    const byDomain = [], {cells, cellNs} = this.page.grid;
    for (const set of sets) if (set.level >= 0)
      byDomain[Math.max(0, set.domain)] = {lanes: stackLanes(stacks, set,
          Math.ceil(cells / 2 ** set.level)), sizeNs: cellNs * 2 ** set.level};
    return byDomain;
  }

  controls() {
    const button = (text, label) => buttonElement(text, () => this.key({key: label.at(-2)}),
        {"aria-label": label, title: label}); // which ends in its key
    const {head} = this.page, {counters} = this.choice,
        names = [...new Set(this.data.counters.map((counter) => counter.name))];
    const choose = (name) => (isOn) => { counters[isOn ? "add" : "delete"](name); this.layOut(); };
    return make("div", {class: "controls"},
      button("−", "Zoom out (s)"), button("+", "Zoom in (w)"), button("◂", "Earlier (a)"),
      button("▸", "Later (d)"), button("Selected range", "Show the selected range (f)"),
      button("Select this", "Select this: what is shown (m)"),
      button("Previous", "Previous span (p)"), button("Longest", "Longest span (l)"),
      button("Next", "Next span (n)"),
      names.length > 0 ? make("details", {class: "menu"}, make("summary", {}, "Counters"),
      make("div", {}, names.map((name) => checkElement(head.label(name), counters.has(name),
      choose(name))))) : null);
  }

  layOut() {
    const {lanes, height} = layLanes(this.data, this.choice),
        tracks = lanes.filter((lane) => lane.kind === "track");
    this.lanes = lanes;
    this.whole = height + AXIS;
    this.laneOfTrack = new Map(tracks.map((lane) => [lane.track, lane]));
    this.bands = lanes.filter((lane) => lane.kind === "pauses").map(({pauses, domain, y}) => {
      const last = tracks.filter((lane) => lane.domain === domain).pop();
      return {pauses, top: y + LANE.pauses, bottom: last ? last.y + last.height : y + LANE.pauses};
    });
    this.plot.later();
  }

  height() {
    return clamp(this.whole, 160, Math.max(320, innerHeight - 250));
  }

  draw(context, width, height) {
    const {bar, data, view} = this;
    this.scroll = clamp(this.scroll, 0, Math.max(0, this.whole - height));
    bar.hidden = this.whole <= height;
    bar.style.height = `${height}px`;
    bar.firstChild.style.height = `${this.whole}px`;
    if (Math.abs(bar.scrollTop - this.scroll) > 1) bar.scrollTop = this.scroll;
    this.isAllHere = data.spans.chunks.length > 0 && data.spans.want(view.begin, view.end);
    new TimelineDrawing(this, context, width, height).draw();
    this.tellStatus();
  }

  tellStatus() {
    const {view: {begin, end}, page: {grid}, data: {spans}} = this;
    const kept = this.isAllHere ? "Every span." : spans.chunks.length > 0
        ? "Shaded: spans ran there; zoom in for each."
      : "Shaded: spans ran there that are not kept whole; the longest and the last of each name are.";
    this.status.textContent = `${grid.moment(begin)} to ${grid.moment(end)}, ${durationText(end - begin)}. ${kept}`;
    if (!this.table.open) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tellTable(), 300);
  }

  // ---- Moving ------------------------------------------------------------------------------

  set(view) {
    this.view = view;
    this.plot.later();
  }

  zoom(factor, at = (this.view.begin + this.view.end) / 2) {
    this.set(zoomed(this.view, factor, at, this.page.grid.lengthNs));
  }

  pan(part) {
    this.set(moved(this.view, part * (this.view.end - this.view.begin), this.page.grid.lengthNs));
  }

  // Shows [begin, end], and `around` of its length on each side.
  goTo(begin, end, around = 0.75) {
    const more = Math.max((end - begin) * around, around * 600);
    this.set(moved({begin: begin - more, end: Math.max(end + more, begin + 50)}, 0,
        this.page.grid.lengthNs));
  }

  showSelection() {
    this.goTo(this.page.selection.beginNs, this.page.selection.endNs, 0);
  }

  select(begin, end) {
    this.page.selection.setTimes(begin, end);
    this.page.tellRange();
  }

  scrollBy(pixels) {
    this.scroll += pixels;
    this.plot.later();
  }

  ns(event) {
    return this.view.begin +
        this.plot.pointOf(event).x / this.plot.canvas.clientWidth * (this.view.end - this.view.begin);
  }

  listen() {
    const {plot} = this;
    plot.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.altKey) this.scrollBy(event.deltaY);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan((event.deltaX || event.deltaY) / 800);
      else this.zoom(1.0015 ** clamp(event.deltaY * (event.deltaMode === 1 ? 30 : 1), -600, 600),
          this.ns(event));
    }, {passive: false});
    plot.onDrag((event) => event.shiftKey || plot.pointOf(event).y < AXIS ? this.selecting(event)
        : this.dragging(event));
  }

  dragging(event) {
    const {view, scroll, plot} = this, {clientX, clientY} = event;
    let isClick = true;
    return {
      move: (moving) => {
        if (Math.hypot(moving.clientX - clientX, moving.clientY - clientY) > 4) isClick = false;
        if (isClick) return;
        showTip(moving, null);
        this.scroll = scroll + clientY - moving.clientY;
        this.set(moved(view,
            (clientX - moving.clientX) / plot.canvas.clientWidth * (view.end - view.begin),
            this.page.grid.lengthNs));
      },
      end: (ended) => { if (isClick) this.click(ended); },
    };
  }

  selecting(event) {
    const from = this.ns(event), {view} = this;
    const select = (moving) => {
      this.page.selection.setTimes(from, this.ns(moving));
      this.set(view); // the selection would show itself
    };
    return {move: select, end: (ended) => { select(ended); this.page.tellRange(); }};
  }

  key(event) {
    const {chosen, plot} = this, run = {w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7),
        a: () => this.pan(-0.2), d: () => this.pan(0.2), n: () => this.step(1),
        p: () => this.step(-1),
      l: () => this.goLongest(), f: () => this.showSelection(),
      m: () => this.select(this.view.begin, this.view.end)};
    const focused = {Enter: () => chosen && this.goTo(chosen.segment.begin[chosen.row],
        chosen.segment.end[chosen.row]), ArrowLeft: run.a, ArrowRight: run.d,
        ArrowUp: () => this.scrollBy(-60),
      ArrowDown: () => this.scrollBy(60), PageUp: () => this.scrollBy(-300),
      PageDown: () => this.scrollBy(300)};
    const action = run[event.key] || plot.hasFocus && focused[event.key];
    if (action) action();
    return !!action;
  }

  // ---- What is at a point ------------------------------------------------------------------

  laneAt(event) {
    const y = this.plot.pointOf(event).y - AXIS + this.scroll;
    return {y, lane: this.plot.pointOf(event).y < AXIS ? undefined
        : this.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height)};
  }

  click(event) {
    const {lane} = this.laneAt(event), {closed} = this.choice;
    this.plot.canvas.focus({preventScroll: true});
    if (lane && lane.kind === "domain") {
      if (!closed.delete(lane.domain)) closed.add(lane.domain);
      return this.layOut();
    }
    this.tell(this.found(event));
  }

  // What describe.js says of what is there; null: nothing is.
  found(event) {
    const {y, lane} = this.laneAt(event), {page, data} = this, ns = this.ns(event),
        slack = 3 * (this.view.end - this.view.begin) / this.plot.canvas.clientWidth;
    if (!lane) return null;
    const row = rowAt(lane, y);
    switch (lane.kind) {
      case "track": return row < 0 ? this.foundMark(lane.track, ns, 2 * slack)
          : this.foundSpan(lane.track, row, ns, slack);
      case "pauses": return this.foundPause(lane.pauses, ns, slack);
      case "counter": return describeCounter(page, lane.counter, ns);
      case "stacks": return describeFrame(page, data.stacks, lane, row, ns);
      default: return null;
    }
  }

  foundSpan(track, row, ns, slack) {
    const span = this.data.spans.at(track, row, ns, slack), cover = this.data.cover[track][row];
    if (span) return this.describe(span);
    return cover && !this.isAllHere ? describeCover(this.page, cover, ns) : null;
  }

  foundMark(track, ns, slack) {
    const {page, data} = this, loss = data.losses[track].find(({at}) => Math.abs(at - ns) <= slack),
        instants = data.instants[track];
    if (loss) return describeLoss(page, loss);
    if (!instants) return null;
    let i = lowerBound(instants.at, ns);
    if (i > 0 && !(instants.at[i] - ns < ns - instants.at[i - 1])) i--;
    return Math.abs(instants.at[i] - ns) <= slack ? describeInstant(page, this.texts, instants, i)
        : null;
  }

  foundPause({begin, end, latest, row}, ns, slack) {
    let best = -1, least = Infinity;
    for (let i = lowerBound(latest, ns - slack); i < begin.length && begin[i] <= ns + slack; i++) {
      const away = Math.max(0, begin[i] - ns, ns - end[i]);
      if (away < least) [best, least] = [i, away];
    }
    return best < 0 ? null : describePause(this.page, this.data.pauses, row[best]);
  }

  // A span; of one that is a step of the collector also what is known of that.
  describe(span) {
    const {page, data: {pauses}} = this, {segment, row, track} = span,
        found = describeSpan(page, this.texts, span), begin = segment.begin[row],
        {domain} = page.head.tracks[track];
    for (let i = lowerBound(pauses.begin, begin); i < pauses.count &&
        pauses.begin[i] === begin; i++)
      if (pauses.domain[i] === domain && pauses.name[i] === segment.name[row])
      found.lines.push(...describePause(page, pauses, i).lines.slice(2));
    return found;
  }

  pauseLabel(row) {
    const {pauses} = this.data, {head} = this.page;
    return head.label(pauses.name[row]) + (pauses.reason[row] >= 0
        ? ` · ${head.label(pauses.reason[row])}` : "");
  }

  spanLabel(segment, row) {
    return [this.page.head.label(segment.name[row]),
        ...textLine("", this.texts, segment.value[row]).map(([, text]) => text)].join(" ");
  }

  tell(found) {
    this.chosen = found && found.span || null;
    this.plot.later();
    if (!found) return this.aside.replaceChildren(noteElement("Nothing is there."));
    const {from, to} = found;
    this.aside.replaceChildren(make("h3", {}, found.title), pairsElement(found.lines),
        make("p", {class: "controls"}, buttonElement("Zoom to it", () => this.goTo(from, to)),
      buttonElement("Select its range", () => this.select(from, to))), found.command
      ? commandElement(found.command) : "");
    announceFound(found);
  }

  // ---- Search, next, previous, longest ------------------------------------------------------

  search(words) {
    this.words = words.toLowerCase();
    this.matches = words
        ? new Set(this.page.head.labels.flatMap((label, i) =>
        label.toLowerCase().includes(this.words) ? [i] : [])) : null;
    if (words) announce(`${this.matches.size} names match.`);
    this.plot.later();
  }

  // To the next or the previous span of those that are searched for, else of the chosen one's name.
  step(direction) {
    const {chosen, matches, view} = this, name = chosen && chosen.segment.name[chosen.row];
    const from = chosen || {segment: {begin: [direction > 0 ? view.begin - 1 : view.end]}, row: 0,
        track: 0, depth: 0};
    this.choose(this.data.spans.step(from, direction, (other) => matches ? matches.has(other)
        : !chosen || other === name));
  }

  goLongest() {
    const {matches, page: {selection}} = this;
    this.choose(this.data.spans.longest((name) => !matches || matches.has(name), selection.beginNs,
        selection.endNs));
  }

  choose(span) {
    const {view} = this;
    if (!span) return announce("No further span of these is kept whole.");
    const found = this.describe(span), {from, to} = found, length = view.end - view.begin;
    this.tell(found);
    if (from < view.begin || to > view.end || to - from < length / 200) this.goTo(from, to);
    this.choice.closed.delete(this.page.head.tracks[span.track].domain);
    this.layOut();
    const lane = this.laneOfTrack.get(span.track), y = lane ? lane.y + LANE.strip +
        span.depth * LANE.row : 0, height = this.height() - AXIS;
    if (y < this.scroll || y + LANE.row > this.scroll + height) this.scroll = y - height / 3;
  }

  tellTable() {
    if (!this.table.open) return;
    const rows = [], {view: {begin, end}, page: {head, grid}} = this;
    this.data.spans.each((segment, row, track, depth) => {
      if (segment.begin[row] < end && segment.end[row] > begin)
        rows.push({track, depth, segment, row, length: segment.end[row] - segment.begin[row]});
    });
    const label = (span) => this.spanLabel(span.segment, span.row);
    this.table.lastChild.replaceChildren(new SortedTable("The longest spans of what is shown",
        [textColumn("span", label, (span) => linkElement(label(span), () => this.choose(span))),
      textColumn("track",
      ({track}) => `${head.domainLabel(head.tracks[track].domain)}, ${head.trackLabel(track)}`),
      figureColumn("at", (span) => span.segment.begin[span.row], (ns) => grid.moment(ns)),
      figureColumn("length", (span) => span.length, durationText)],
      rows.sort((a, b) => b.length - a.length).slice(0, 100), {sort: 3}).element);
  }

  show() {
    this.plot.later();
  }
}
