// SPDX-License-Identifier: MIT
// answers.js: what the page itself knows of the questions of the overview: the line that takes the
// most time, the longest step of the collector, the line that allocates the most, what was open or
// sampled at the end. Each is a promise of an element, or of null.

const ANSWERS = [hottestLine, longestStep, largestAllocator, lastStack];

// The line with the most of a measure in the whole run, as the view of the source has it.
async function largestLine(page, section, measure, form) {
  const stacks = await page.stacks(),
      {self} = stackFigures(stacks, await page.figuresOn(section), measure, {isWhole: true,
      knows: () => true});
  const all = self.reduce((sum, figure) => sum + figure, 0);
  let most = {self: 0};
  for (const [source, lines] of sumByLine(stacks, self)) for (const [line, sum] of lines)
    if (sum.self > most.self) most = {source, line, ...sum};
  if (most.self === 0) return null;
  const {source, line, node} = most;
  return make("p", {}, "The most: ", linkElement(`${visibleText(source)}:${line}`,
    () => page.goToLine(source, line)),
  ` in ${functionOf(stacks, node).name}, ${form(most.self)}, ${shareText(most.self / all)} of all.`);
}

async function hottestLine(page) {
  return await largestLine(page, "samples", "samples", (count) => `${countText(count)} samples`) ||
      largestLine(page, "calls", "ns", durationText);
}

async function largestAllocator(page) {
  return largestLine(page, "allocated", "bytes", bytesText);
}

async function longestStep(page) {
  const pauses = await page.pauses(), {head, grid} = page;
  let at = 0;
  for (let i = 1; i < pauses.count; i++) if (pauses.length[i] > pauses.length[at]) at = i;
  if (pauses.count === 0) return null;
  const reason = pauses.reason[at], away = pauses.off_cpu[at];
  return make("p", {}, `The longest step took ${durationText(pauses.length[at])}, at `,
    linkElement(grid.moment(pauses.begin[at]), () => page.goToPause(at)),
    `: ${head.label(pauses.name[at])}${reason >= 0 ? ", " + head.label(reason) : ""}`,
    away > 0 ? `, ${durationText(away)} off CPU.` : ".");
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
