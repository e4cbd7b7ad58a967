// SPDX-License-Identifier: MIT
// tables.js: figures of the selected range by name, and what the commands print of the whole run.

// Figures of rows {label, figures} (sumFigures).
function figureColumns(title) {
  const duration = (title, value, help) => figureColumn(title, (row) => value(row.figures),
      durationText, help);
  const quantile = (title, q) => figureColumn(title, ({figures}) => quantileOf(figures, q),
    (ns, {figures}) => (ns < 16 || rankOf(figures, q) >= figures.count ? "" : "≈ ") +
    durationText(ns), "within 1/16 of the value");
  return [textColumn(title, (row) => row.label), figureColumn("count", (row) => row.figures.count,
      countText), duration("total", (figures) => figures.sum),
    duration("own", (figures) => figures.own, "not in spans within"),
    duration("mean", ({sum, count}) => sum === null || count === 0 ? null
    : Math.floor(sum / count)),
    quantile("p50", 0.5), quantile("p90", 0.9), quantile("p99", 0.99),
    duration("longest", (figures) => figures.longest),
    duration("off CPU", (figures) => figures.off_cpu),
    duration("suspended", (figures) => figures.suspended)];
}

// Sums of series in the range by what `labelOf` says: the rows that have something, and what is
// to be told of those that are not kept.
function sumsByLabel(page, all, labelOf) {
  const rows = [...groupBy(all, labelOf)].map(([label, group]) => ({label,
    ...sumFigures(group, page.selection)})),
      absent = rows.filter((row) => !row.figures);
  return {rows: rows.filter((row) => row.figures && row.figures.count > 0),
      absent: page.absent(absent.map((row) => row.level),
      `The figures of ${countText(absent.length)} names`)};
}

// The columns of a `table:ID` that a row has. What has no title in the command's text is called
// as in its JSON.
function printedColumns({columns, rows}, startNs) {
  const keys = new Set(listOf(rows).flatMap((row) => Object.keys(recordOf(row))));
  return listOf(columns).map(recordOf).filter(({key}) => keys.has(key)).map(({key, title, form,
      help}) => ({title: visibleText(title || key), help: help && visibleText(help),
    isNumber: NUMBER_FORMS.includes(form),
    value: (row) => { const value = recordOf(row)[key]; return /^-?\d+$/.test(value)
        ? Number(value) : value; },
    text: (row) => formText(form, recordOf(row)[key], startNs)}));
}

const RANGE_TABLES = [["span", "Spans"], ["async", "Async spans"], ["event", "Events"],
    ["pause", "Pauses"], ["counters", "Counters"]];

class Tables {
  constructor(page) {
    Object.assign(this, {page, id: "tables", title: "Tables", chosen: "span", holder: make("div")});
  }

  async fill(panel) {
    const {source} = this.page;
    this.all = await this.page.series();
    this.counters = await this.page.counters();
    const printed = source.names().filter((name) => name.startsWith("table:"));
    const titles = await Promise.all(printed.map(async (name) => [name,
        `${visibleText(recordOf(await source.section(name)).title || name.slice(6))} (whole run)`]));
    const options = RANGE_TABLES.filter(([of]) => of === "span" ||
        (of === "counters" ? this.counters.length > 0
        : this.all.some((series) => series.of === of)));
    panel.append(make("p", {},
        selectElement("Table",
        [...options.map(([of, title]) => [of, `${title} of the selected range`]), ...titles],
        this.chosen,
      (key) => { this.chosen = key; this.tell(); })), this.holder);
    this.page.selection.listen(() => this.tell());
    await this.tell();
  }

  async tell() {
    const {chosen, page} = this;
    if (chosen.startsWith("table:")) this.tellPrinted(recordOf(await page.source.section(chosen)));
    else if (chosen === "counters") this.tellCounters();
    else this.tellNames(chosen);
  }

  put(command, caption, columns, rows, options, ...notes) {
    this.table = new SortedTable(caption, columns, rows, {words: this.words || "", ...options});
    this.holder.replaceChildren(noteElement(command), ...notes, this.table.element);
  }

  tellNames(of) {
    const {page} = this, isEvent = of === "event", {rows, absent} = sumsByLabel(page,
        this.all.filter((series) => series.of === of), (series) => page.head.label(series.name));
    this.put(page.command(of === "pause" ? "pauses" : "stats"), page.rangeText(),
        figureColumns("name").slice(0, isEvent ? 2 : 11), rows, {sort: isEvent ? 1 : 2}, absent);
  }

  tellCounters() {
    const {head, selection} = this.page,
        all = this.counters.map((counter) =>
        ({counter, figures: counterFigures(counter, selection)})),
        absent = all.filter((row) => !row.figures);
    const isSum = ({counter}) => head.name(counter.name).quantity === "difference",
        unit = (value, {counter}) => quantityText(value, head.name(counter.name).unit);
    const figure = (title, key) => figureColumn(title, ({figures}) => figures[key], unit);
    this.put(this.page.command("stats"), this.page.rangeText(),
        [textColumn("counter", ({counter}) => head.label(counter.name)),
        textColumn("domain", ({counter}) => head.domainLabel(counter.domain)),
      figureColumn("samples", ({figures}) => figures.samples, countText),
      figureColumn("sum", (row) => isSum(row) ? row.figures.sum : null, unit),
      figure("min", "least"), figure("max", "most"), figureColumn("last", (row) => isSum(row) ? null
      : row.figures.last, unit)],
    all.filter((row) => row.figures && row.figures.samples > 0), {},
    this.page.absent(absent.map((row) => row.counter.level),
    `The figures of ${countText(absent.length)} counters`));
  }

  // What a command prints, in its forms.
  tellPrinted(table) {
    this.put(commandElement(table.command || "eventring"), visibleText(table.title || ""),
        printedColumns(table, this.page.grid.startNs), listOf(table.rows));
  }

  search(words) {
    this.words = words;
    if (this.table) this.table.search(words);
  }
}
