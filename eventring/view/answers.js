// SPDX-License-Identifier: MIT
// answers.js: what the page itself knows of the questions of the overview: the line that takes the
// most time, the longest step of the collector, the line that allocates the most, what was open or
// sampled at the end. Each is a promise of an element, or of null.

const ANSWERS = [hottestLine, longestStep, largestAllocator, lastStack];

// The lines with the most of a measure in the whole run, as the view of the source has it.
async function largestLine(page, section, measure, form, rest) {
  const stacks = await page.stacks(),
      {self, variance} = stackFigures(stacks, await page.figuresOn(section), measure,
      {isWhole: true, knows: () => true});
  const sum = (figures) => figures.reduce((sum, figure) => sum + figure, 0), all = sum(self);
  const [most, ...others] = [...sumByLine(stacks, self, variance)].flatMap(([source, lines]) =>
      [...lines].map(([line, sum]) => ({source, line, ...sum}))).sort((a, b) => b.self - a.self);
  if (!(most?.self > 0)) return null;
  const text = (row) => estimateText(row.self, row.variance.self, form),
      link = ({source, line}) => linkElement(`${visibleText(source)}:${line}`,
      () => page.goToLine(source, line));
  const ties = tiesOf(most, others), more = ties.length - 1, next = others.filter((row) =>
      row.self > 0).slice(0, 2);
  if (measure === "samples" && all < 30)
    rest = () => `${all}: too few to tell`;
  return make("p", {}, "The most: ", link(most), ` in ${functionOf(stacks, most.node).name}, ${text(most)}, ${shareText(most.self / all)} of ${rest(estimateText(all, sum(variance), form))}.`,
    ties.length > 0
      ? [" It may not be the most: ", link(ties[0]), ` has ${text(ties[0])}, within their errors`,
      more > 0 ? `, and so ${more > 1 ? `have ${countText(more)} other lines` : "has another line"}.` : "."]
      : next.flatMap((row, i) => [i === 0 ? " Then " : ", ", link(row),
      ` ${shareText(row.self / all)}${i + 1 < next.length ? "" : "."}`]));
}

// Those of the others whose estimates are within the error of the largest one and their own.
function tiesOf(most, others) {
  const error = ({self, variance}) => errorOf(self, variance.self);
  return error(most) < 0.5 ? []
      : others.filter((row) => row.self > 0 && most.self - error(most) <= row.self + error(row));
}

async function hottestLine(page) {
  return await largestLine(page, "samples", "samples", (count) => `${countText(count)} samples`,
    (all) => `all ${all}`) || largestLine(page, "calls", "ns", durationText, (all) => `all ${all}`);
}

async function largestAllocator(page) {
  return largestLine(page, "allocated", "bytes", bytesText,
      (all) => `the ${all} that the samples stand for`);
}

async function longestStep(page) {
  const pauses = await page.pauses(), lines = await page.nearLines(), {head, grid} = page;
  let at = 0;
  for (let i = 1; i < pauses.count; i++) if (pauses.length[i] > pauses.length[at]) at = i;
  if (pauses.count === 0) return null;
  const reason = pauses.reason[at], cpu = pauses.cpu[at], doing = doingText(page, pauses, lines, at);
  return make("p", {}, `The longest step took ${durationText(pauses.length[at])}, at `,
    linkElement(grid.moment(pauses.begin[at]), () => page.goToPause(at)),
    cpu < 0 ? "" : cpu < pauses.length[at] / 2 ? `, though it was on a processor for only ${durationText(cpu)} of that`
    : ` (${durationText(cpu)} of CPU)`, `: ${head.label(pauses.name[at])}`,
    reason < 0 ? "." : `, ${head.explained(reason)}.`, doing ? ` The program was ${doing}.` : "");
}

// The stack that most of the last samples have, without its outermost functions.
async function lastStack(page) {
  const stacks = await page.stacks(), cells = [];
  for (const set of (await page.figuresOn("samples")).sets)
    samplesByCell(set, page.grid.cells / 2 ** set.level).forEach((samples, cell) =>
        (cells[cell * 2 ** set.level] ||= []).push(...samples));
  let last = cells.length - 1;
  while (last >= 0 && !(cells[last] && mainPath(stacks, cells[last]).length > 1)) last--;
  if (last < 0) return null;
  const names = mainPath(stacks, cells[last]).slice(-4).map(([node]) => frameText(stacks, node,
      true));
  return make("p", {},
      `At ${page.grid.moment(last * page.grid.cellNs)}, mostly in ${names.join(" > ")}.`);
}
