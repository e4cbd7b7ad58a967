// SPDX-License-Identifier: MIT
// overview.js: what ran, how it ended, four questions, and what is not on the page.

class Overview {
  constructor(page) {
    Object.assign(this, {page, id: "overview", title: "Overview", words: "", heat: new HeatMap(page),
        figures: make("div", {id: "overview-figures"})});
  }

  async fill(panel) {
    const {head} = this.page, section = (title, ...children) => make("section", {},
        make("h2", {}, title), ...children);
    const facts = pairsElement(head.facts.map(({label, value}) => [visibleText(label),
        visibleText(value)]));
    const said = head.answers.map(({answer}) => make("p", {}, visibleText(answer)));
    const answers = head.answers.map(({question, command}, i) => make("div", {class: "answer"},
        make("h3", {}, visibleText(question)), said[i], command ? commandElement(command) : null));
    panel.append(make("div", {class: "columns"}, section("The run", facts),
        section("Questions", answers)), this.heat.element,
        section("The selected range", this.figures));
    if (head.sampled)
      panel.append(section("Sampled for this page", make("p", {}, sampledText(this.page))));
    if (head.left_out.length > 0) panel.append(section("Not on this page", leftOutElement(head)));
    panel.append(noteElement(`Made by ${head.madeBy} with `, commandElement(head.command),
      ` The recording began at ${head.run.start_wall_ns ? wallText(head.run.start_wall_ns) : "an unknown time"}; times count from there. The smallest range is ${durationText(head.grid.cellNs)}.`));
    this.all = await this.page.series();
    this.heat.setSeries(this.all);
    this.page.selection.listen(() => this.tell());
    this.tell();
    this.asked = Promise.all(said.map((element, i) => this.answer(ANSWERS[i], element)));
  }

  // Adds what the page knows of a question to what the command said; a line goes first, before how
  // it was measured. It reads large sections, so the overview is shown before.
  async answer(ask, said) {
    try {
      const more = ask ? await ask(this.page) : null;
      if (!more) return;
      if (more.querySelector("button") && ask !== longestStep) said.before(more), said.className = "note";
      else said.after(more);
    } catch (error) {
      tellError(error);
    }
  }

  // The pauses of the range, and the spans that took the most time.
  tell() {
    const {page} = this,
        pauses = sumsByLabel(page, this.all.filter((series) => series.of === "pause"),
        () => ALL_PAUSES);
    const spans = sumsByLabel(page, this.all.filter((series) => series.of === "span"),
        (series) => page.head.label(series.name));
    spans.rows.sort((a, b) => b.figures.sum - a.figures.sum);
    this.table = new SortedTable(`${page.rangeText()}: what took the most time`,
        figureColumns("what"), [...pauses.rows, ...spans.rows], {limit: 13});
    this.table.search(this.words);
    this.figures.replaceChildren(this.table.element, spans.absent || pauses.absent);
  }

  search(words) {
    this.words = words;
    if (this.table) this.table.search(words);
  }

  key(event) {
    return this.heat.key(event);
  }

  show() {
    this.heat.plot.later();
  }
}

function sampledText(page) {
  const {hz, rate, stacks, moving, torn, late} = page.head.sampled,
      count = (figure) => countText(numberOf(figure));
  const parts = [hz && `stacks, ${countText(numberOf(hz))} a second, ${sampledRange(page)}`,
      rate && `allocations, each word with a probability of ${numberOf(rate)}`].filter(Boolean);
  return `This page has samples of ${parts.join("; of ")}.` + (hz
      ? ` Of ${count(stacks)} stacks ${count(moving)} lack the innermost functions, which count for the one that called them; ${count(torn)} could not be read; ${count(late)} samples are those of the next stack.`
      : "");
}

// When stacks were sampled for the page: not all of the run, if the process ran before.
function sampledRange({head, grid}) {
  const begin = numberOf(head.sampled.begin), end = begin + numberOf(head.sampled.seconds) * 1e9;
  return `from ${grid.moment(begin)} to ${grid.moment(end)}`;
}

function leftOutElement(head) {
  const number = (title, key) => figureColumn(title, (row) => numberOf(row[key]), countText),
      text = (title, key) => textColumn(title, (row) => visibleText(row[key] ?? ""));
  const table = new SortedTable("Left out, in the order in which it went",
      [text("what", "what"), number("kept", "kept"), number("of", "of"), text("why", "why")],
      head.left_out);
  return make("div", {id: "left-out"},
      make("p", {},
      `A page is small${head.sizeLimit ? `: at most ${bytesText(head.sizeLimit)}` : ""}. Its sums are exact all the same; `,
    make("code", {}, "--size"), " and ", make("code", {}, "--full"), " keep more."), table.element);
}
