// SPDX-License-Identifier: MIT
// main.js: the page: its views, which are filled when they are first shown, and the selected range.

class Page {
  constructor(source, head) {
    Object.assign(this, {source, head, grid: head.grid, selection: new Selection(head.grid),
        words: "", made: new Map()});
    this.views = [new Overview(this), new Timeline(this), new Flame(this), new Lines(this),
        new Pauses(this), new Tables(this)];
  }

  // ---- Data that several views use: promises ------------------------------------------------

  once(section, make) {
    if (!this.made.has(section))
      this.made.set(section, this.source.section(section).then((raw) => make(recordOf(raw))));
    return this.made.get(section);
  }

  series() {
    return this.once("series", (raw) => listOf(raw.series).map((one) => new Series(one)));
  }
  counters() {
    return this.once("counters", (raw) => listOf(raw.counters).map(counterOf));
  }
  pauses() {
    return this.once("pauses", pausesOf);
  }
  stacks() {
    return this.once("stacks", stacksOf);
  }
  figuresOn(section) {
    return this.once(section, figuresOnStacks);
  }
  async nearLines() {
    return this.linesNear ||= linesByDomain(await this.stacks(), await this.figuresOn("samples"),
        this.grid);
  }

  // ---- Views ----------------------------------------------------------------------------------

  view(id) {
    return this.views.find((view) => view.id === id) || this.views[0];
  }

  build() {
    for (const view of this.views) {
      view.tab = buttonElement(view.title, () => this.show(view.id),
          {role: "tab", id: `tab-${view.id}`, "aria-controls": `view-${view.id}`,
          onkeydown: (event) => this.tabKey(event, view)});
      view.panel = make("section", {role: "tabpanel", id: `view-${view.id}`,
          "aria-labelledby": `tab-${view.id}`, class: "view", hidden: true});
      byId("tabs").append(view.tab);
      byId("main").append(view.panel);
    }
  }

  tabKey(event, view) {
    const {views} = this, step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    const next = views[(views.indexOf(view) + step + views.length) % views.length];
    this.show(next.id);
    next.tab.focus();
  }

  async show(id) {
    const view = this.current = this.view(id);
    for (const other of this.views) {
      other.panel.hidden = other !== view;
      other.tab.setAttribute("aria-selected", String(other === view));
      other.tab.tabIndex = other === view ? 0 : -1;
    }
    history.replaceState(null, "", `#${view.id}`);
    view.filling ||= view.fill(view.panel).then(() => { view.isFilled = true; }, tellError);
    await view.filling;
    if (!view.isFilled) return view;
    if (view.search && (view.words || "") !== this.words) view.search(this.words);
    if (view.show) view.show();
    return view;
  }

  async goToPause(i) {
    await (await this.show("pauses")).go(i);
  }

  async goToLine(source, line) {
    (await this.show("source")).goTo(source, line);
  }

  search(words) {
    this.words = words;
    if (this.current.isFilled && this.current.search) this.current.search(words);
  }

  redraw() {
    palette.read();
    const {current} = this, plot = current.plot || current.heat && current.heat.plot;
    if (current.show) current.show();
    if (plot) plot.now();
  }

  // ---- The selected range -----------------------------------------------------------------------

  rangeText() {
    const {selection, grid} = this;
    return selection.isWhole ? "the whole run"
        : `from ${grid.moment(selection.beginNs)} to ${grid.moment(selection.endNs)}`;
  }

  tellRange() {
    announce(`Selected: ${this.rangeText()}.`);
  }

  showRange() {
    const {selection, grid} = this;
    byId("range-from").value = secondsText(selection.beginNs + grid.offsetNs);
    byId("range-to").value = secondsText(selection.endNs + grid.offsetNs);
    byId("range-length").textContent = durationText(selection.endNs - selection.beginNs);
    byId("range-whole").disabled = selection.isWhole;
  }

  takeRange() {
    const {selection, grid} = this,
        [from, to] = ["from", "to"].map((id) => Number(byId(`range-${id}`).value.replace(",",
        ".")) * 1e9 - grid.offsetNs);
    if (!(to > from))
      return announce("The range is to end later than it begins; both are seconds.");
    const slack = grid.cellNs / 1000; // a border that was typed is not exact
    selection.setTimes(from + slack, to - slack);
    this.showRange();
    this.tellRange();
  }

  // A command that says more: of the selected range, if it takes one. What runs the program again
  // has another range.
  command(name, takesRange = true) {
    const {head: {file, isProgram}, selection} = this,
        options = takesRange && !isProgram ? selection.options() : "";
    return make("span", {}, commandElement(`eventring ${name}${options} ${file}`),
        isProgram ? " (runs the program again)" : selection.isWhole || options ? ""
        : " (the whole run)");
  }

  // Why little is known of the time by function and line, as the first answer says; null: much is.
  noTime() {
    const {sampled, answers: [first]} = this.head, {answer, command} = first || {};
    if (numberOf(sampled?.hz) > 0 || this.source.names().includes("calls")) return null;
    return make("p", {class: "absent no-time"}, visibleText(answer ?? ""), " ",
        command ? commandElement(command) : null);
  }

  // What is not on the page.
  missing(text, what) {
    return make("p", {class: "absent"}, text, " ", this.head.whyLeftOut(what));
  }

  // What is not kept at the borders of the range, and how it is to be seen; "" for no levels.
  absent(levels, what) {
    if (levels.length === 0) return "";
    const level = Math.max(...levels), {selection, grid} = this, isWhole = level < 0 || level >= 10;
    const widen = () => { isWhole ? selection.setWhole()
        : selection.widen(level); this.tellRange(); };
    return make("p", {class: "absent"}, isWhole ? `${what}: kept for the whole run alone. `
        : `${what}: kept for cells of ${durationText(grid.cellNs * 2 ** level)}; the selected range ends within one. `,
      buttonElement(isWhole ? "Whole run" : "Widen the range to them", widen));
  }

  listen() {
    const wholeRun = () => { this.selection.setWhole(); this.tellRange(); };
    this.selection.listen(() => this.showRange());
    byId("range").addEventListener("submit",
        (event) => { event.preventDefault(); this.takeRange(); });
    byId("range-whole").addEventListener("click", wholeRun);
    byId("search").addEventListener("input", (event) => this.search(event.target.value));
    byId("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.current.isFilled)
        this.current.goLongest ? this.current.goLongest() : this.search(this.words);
    });
    byId("theme").addEventListener("click",
        () => { document.documentElement.dataset.theme = palette.isDark ? "light"
        : "dark"; this.redraw(); });
    for (const media of ["(prefers-color-scheme: dark)", "print"])
      matchMedia(media).addEventListener("change", () => this.redraw());
    listenToKeys(this, wholeRun);
  }
}

async function openPage(source) {
  const raw = await source.section("head");
  byId("loading").remove();
  if (!raw) return complain("This page has no data.");
  if (numberOf(raw.version) > 1)
    complain("The data is of a later version than this page; what it does not know is not shown.");
  palette.read();
  const page = new Page(source, new Head(raw)), {program, pid} = page.head.run,
      title = visibleText(program || "a program") + (pid ? `, process ${visibleText(pid)}` : "");
  document.title = `${title} - eventring`;
  byId("title").textContent = title;
  page.build();
  page.listen();
  page.showRange();
  const {asked} = await page.show(location.hash.slice(1)), {dataset} = document.documentElement;
  dataset.openMs = Math.round(performance.now());
  await asked;
  Object.assign(dataset, {ready: "1", readyMs: Math.round(performance.now())});
  return page;
}

function tellError(error) {
  complain(`The page has a fault, and some of it may be missing: ${error && error.message || error}`);
  console.error(error);
}

if (typeof document !== "undefined") {
  window.addEventListener("unhandledrejection", (event) => tellError(event.reason));
  window.addEventListener("error", (event) => tellError(event.error || event.message));
  openPage(fileSource(complain));
}
