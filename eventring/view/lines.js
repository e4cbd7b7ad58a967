// SPDX-License-Identifier: MIT
// lines.js: the source of the program with time, bytes allocated and live bytes beside its lines.

const LINES_AT_ONCE = 400; // a block of lines is filled when it comes into view
const LINE_HEIGHT = 20;
const NARROW = "(max-width: 30rem)"; // there the text is before the figures

const LINE_COLUMNS = [ // section, measure, title, which figure, form
  ["samples", "samples", "samples", "self", countText], ["samples", "samples", "with calls",
  "total", countText], ["calls", "ns", "time", "self", durationText],
  ["calls", "ns", "time with calls", "total", durationText], ["allocated", "bytes", "allocated",
  "self", bytesText], ["live", "bytes", "live", "self", bytesText],
].map(([section, measure, title, key, form]) => ({section, measure, title, key, form}));

class Lines {
  constructor(page) {
    Object.assign(this, {page, id: "source", title: "Source", file: 0,
        note: make("div", {class: "note"}), hottest: make("div", {id: "hottest"}),
        choice: make("p")});
    this.body = make("div", {class: "source table", tabindex: "0", role: "region",
        "aria-label": "Lines of the program"});
    this.seen = new IntersectionObserver((entries) => { for (const {isIntersecting,
        target} of entries) if (isIntersecting) this.fillBlock(target); }, {rootMargin: "600px"});
  }

  async fill(panel) {
    const {page} = this,
        files = listOf(recordOf(await page.source.section("source")).files).map(recordOf);
    this.files = files.map((file) =>
        ({path: String(file.path), lines: String(file.text ?? "").split("\n")}));
    this.stacks = await page.stacks();
    this.data = {};
    for (const {section} of LINE_COLUMNS) this.data[section] = await page.figuresOn(section);
    panel.append(page.noTime() ?? "", this.note, this.hottest);
    if (files.length > 0) panel.append(this.choice, this.body);
    else panel.append(page.missing("The text of the program is not on this page: its files could not be read, have changed since, or were left out.", "source"));
    page.selection.listen(() => this.tell());
    this.narrow = matchMedia(NARROW);
    this.narrow.addEventListener("change", () => this.tell());
    this.tell();
  }

  // The columns that there are, each with its figures by line.
  tell() {
    const {page} = this, absent = [], whole = [], known = new Map();
    this.columns = LINE_COLUMNS.flatMap((column) => {
      const {section, measure, title, key} = column, data = this.data[section];
      if (!data.sets.some((set) => set.measure === measure)) return [];
      if (!known.has(section)) {
        const {self, variance, isWhole, level} = stackFigures(this.stacks, data, measure,
            page.selection);
        known.set(section, self && sumByLine(this.stacks, self, variance));
        if (isWhole) whole.push(title);
        if (!self) absent.push({title, level});
      }
      const lines = known.get(section), most = lines
          ? [...lines.values()].flatMap((list) => [...list.values()]).reduce((most, sum) =>
          Math.max(most, sum[key]), 1) : 0;
      const sum = (source, line) => lines.get(source)?.get(line), text = (source, line) =>
          estimateText(sum(source, line)[key], sum(source, line).variance[key], column.form);
      return lines
          ? [{...column, most, figure: (source, line) => sum(source, line)?.[key] || 0, text,
          lines}] : [];
    });
    this.note.replaceChildren(page.absent(absent.map(({level}) => level),
        absent.map(({title}) => title).join(", ")),
      whole.length > 0 ? `Of the whole run, since their time is not recorded: ${whole.join(", ")}.`
      : "",
      this.columns.length + absent.length === 0
      ? "Nothing was measured by line: the recording has no samples, no profile of calls and no heap profile." : "");
    this.tellHottest();
    this.tellFiles();
    this.show();
  }

  // The lines with the most, of all files.
  tellHottest() {
    const rows = new Map(), {columns} = this, label = ({source, line}) =>
        `${visibleText(source)}:${line}`;
    for (const {lines} of columns) for (const [source, list] of lines)
      for (const line of list.keys()) rows.set(`${line} ${source}`, {source, line});
    const text = ({source, line}) =>
        lineText(this.files.find((file) => file.path === source)?.lines[line - 1] ||
        "").trim().slice(0, 100);
    const code = (row) => make("code", {}, text(row)), isNarrow = this.narrow.matches;
    this.table = new SortedTable(`Lines with the most, ${this.page.rangeText()}`,
        [textColumn("line", label, (row) => make("div", {}, this.has(row.source)
        ? linkElement(label(row), () => this.goTo(row.source, row.line)) : label(row),
        isNarrow && text(row) ? code(row) : null)),
      ...columns.map(({title, figure, text}) => figureColumn(title,
      ({source, line}) => figure(source, line) || null, (_, {source, line}) => text(source, line))),
      ...isNarrow ? [] : [textColumn("text", text, code)]],
    [...rows.values()], {sort: 1, limit: 10});
    const [first] = this.table.chosen();
    if (first && !this.isChosen) {
      this.line = first.line;
      this.file = Math.max(0, this.files.findIndex((file) => file.path === first.source));
    }
    this.hottest.replaceChildren(columns.length > 0 ? this.table.element : "");
  }

  tellFiles() {
    this.choice.replaceChildren(selectElement("File",
        this.files.map((file, i) => [String(i), visibleText(file.path)]), String(this.file),
        (i) => { [this.file, this.isChosen] = [Number(i), true]; this.show(); }));
  }

  show() {
    const {columns} = this, file = this.files && this.files[this.file];
    if (!file) return;
    this.seen.disconnect();
    const table = make("table", {}, make("caption", {}, visibleText(file.path)),
        make("thead", {}, make("tr", {}, headOf("line"), this.ordered(columns.map(({title}) =>
        headOf(title)), make("th", {scope: "col"}, "text")))));
    for (let from = 0; from < file.lines.length; from += LINES_AT_ONCE) {
      const height = `${Math.min(LINES_AT_ONCE, file.lines.length - from) * LINE_HEIGHT}px`;
      const block = make("tbody", {"data-from": from},
          make("tr", {}, make("td", {colspan: columns.length + 2, style: {height}})));
      table.append(block);
      this.seen.observe(block);
    }
    this.body.replaceChildren(table);
    if (!this.isChosen && this.line) this.body.scrollTop = (this.line - 4) * LINE_HEIGHT;
  }

  // Figures and the text of a line as they stand beside each other.
  ordered(figures, text) {
    return this.narrow.matches ? [text, ...figures] : [...figures, text];
  }

  fillBlock(block) {
    const {columns} = this, {path, lines} = this.files[this.file],
        from = Number(block.dataset.from);
    this.seen.unobserve(block);
    block.replaceChildren(...lines.slice(from, from + LINES_AT_ONCE).map((code, i) => {
      const line = from + i + 1, shades = columns.map(({figure, most}) =>
          heatStyle(figure(path, line) / most)), cells = columns.map(({figure, text}, i) =>
          make("td", {class: "number", style: shades[i]}, figure(path, line) > 0 ? text(path, line)
          : ""));
      return make("tr", {"data-line": line}, make("th", {scope: "row", class: "number",
          style: this.narrow.matches ? shades.find(({background}) => background) : {}},
          String(line)), this.ordered(cells, make("td", {class: "code"}, make("pre", {},
          lineText(code)))));
    }));
  }

  has(source) {
    return this.files.some((file) => file.path === source);
  }

  goTo(source, line) {
    if (!this.has(source)) return announce("The text of this function is not on the page.");
    [this.file, this.isChosen] = [this.files.findIndex((file) => file.path === source), true];
    this.tellFiles();
    this.show();
    const block = this.body.querySelectorAll("tbody")[Math.floor((line - 1) / LINES_AT_ONCE)];
    if (block) this.fillBlock(block);
    const row = this.body.querySelector(`[data-line="${line}"]`);
    if (!row) return;
    row.classList.add("here");
    row.scrollIntoView({block: "center"});
    announce(`Line ${line} of ${visibleText(source)}`);
  }

  // The next line of the file that has the words.
  search(words) {
    const file = this.files[this.file],
        has = (line) => line.toLowerCase().includes(words.toLowerCase()), from = words &&
        words === this.words ? this.found : 0;
    this.table.search(words);
    this.words = words;
    if (!words || !file) return;
    const next = file.lines.findIndex((line, i) => i >= from && has(line));
    this.found = next + 1;
    if (next >= 0) this.goTo(file.path, next + 1);
    else announce("No further line has this text.");
  }
}

const headOf = (title) => make("th", {scope: "col", class: "number"}, title);

// The background of a figure that is this part of the largest one.
function heatStyle(part) {
  const percent = Math.round(10 + 60 * Math.sqrt(part));
  return part > 0 ? {background: `color-mix(in srgb, var(--heat) ${percent}%, transparent)`} : {};
}

// A line of a program: its tabs stay.
function lineText(text) {
  return text.split("\t").map(visibleText).join("\t");
}
