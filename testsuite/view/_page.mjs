// SPDX-License-Identifier: MIT
// What the page does in Chromium. Arguments: the browser, a folder for pages and pictures, and
// perhaps a page of a real run. Says what is wrong, a line each; the last line is "done".
import fs from "node:fs";
import path from "node:path";
import {startBrowser} from "./_browser.mjs";
import {generate} from "./_generate.mjs";
import {pageOf, tree} from "./_load.mjs";

const [program, folder, real] = process.argv.slice(2), mutants = Number(process.env.MUTANTS || 40);
const VIEWS = ["overview", "timeline", "flame", "source", "pauses", "tables"];
const say = (text) => console.log(text);
const check = (ok, text) => { if (!ok) say(text); };
const same = (what, expected, actual) => check(expected === actual,
    `${what}: expected ${expected}, got ${actual}`);

const made = generate("small");
const BODY = fs.readFileSync(path.join(tree, "eventring/view/page.html"),
    "utf8").replace(/[^]*<body>|@SECTIONS@[^]*/g, "");
const small = path.join(folder, "small.html");
fs.writeFileSync(small, pageOf(made.sections));

const browser = await startBrowser(program);
try {
  await checkViews(small, true);
  if (real) await checkViews(real, false);
  await checkRange();
  await checkKeys();
  await checkClicks();
  await checkCommands();
  await checkNames();
  await checkEstimates();
  await checkReasons();
  for (const width of [360, 3840]) for (const dark of [false, true]) await checkWidth(width, dark);
  await checkHarmed();
  await checkNoTime();
  await checkLateAnswers();
  await checkMutants();
  say("done");
} finally {
  await browser.end();
}

async function isQuiet(page, what) {
  same(`${what}: console`, "", page.complaints.join("; "));
  same(`${what}: requests`, "", page.requests.join(" "));
  same(`${what}: problems`, "", await page.run('document.getElementById("problems").textContent'));
}

// Has the canvas more than one colour?
function isDrawn(id) {
  return `(() => { const canvas = document.getElementById("${id}"), {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set(new Uint32Array(data.buffer)); return seen.size > 5; })()`;
}

async function checkViews(file, all) {
  const page = await browser.open(file), name = path.basename(file, ".html");
  for (const view of VIEWS) {
    await page.show(view);
    await page.picture(path.join(folder, `${name}-${view}.png`));
    same(`${name}: one view is shown`, 1,
        await page.run('document.querySelectorAll(".view:not([hidden])").length'));
  }
  if (all) for (const [view, id] of [["timeline", "timeline-canvas"], ["flame", "flame-canvas"],
      ["pauses", "pauses-canvas"]]) {
    await page.show(view);
    check(await page.run(isDrawn(id)), `${name}: nothing is drawn in ${id}`);
  }
  await isQuiet(page, name);
  await page.close();
}

// The figures of a range are the sums of what ended in it.
async function checkRange() {
  const page = await browser.open(small), second = (cell) => (cell * made.cellNs + 350000) / 1e9;
  await page.run(`(() => { document.getElementById("range-from").value = "${second(256)}"; document.getElementById("range-to").value = "${second(512)}";
    document.getElementById("range").requestSubmit(); })()`);
  const inside = made.pauses.filter((pause) => pause.begin + pause.length >= 256 * made.cellNs &&
      pause.begin + pause.length < 512 * made.cellNs);
  const row = await page.run('[...document.querySelectorAll("#overview-figures tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent))[0]');
  check(row[0].startsWith("pauses"), `the first row is ${row[0]}`);
  same("pauses in the range", String(inside.length), row[1]);
  await page.show("pauses");
  const count = await page.run('document.querySelector("#view-pauses tbody tr").cells[1].textContent');
  same("pauses in the range, by reason", String(inside.length), count);
  await page.show("flame");
  const samples = made.sections.samples.sets.reduce((sum, set) => sum +
      set.cells.reduce((all, column) => all + inCells(column, 64, 128), 0), 0);
  const note = await page.run('document.getElementById("flame-note").textContent');
  check(note.startsWith(`${samples.toLocaleString("en")} samples`),
      `flame graph: ${samples} samples expected, got: ${note}`);
  await page.run(`document.getElementById("range-to").value = "${second(510.2)}"; document.getElementById("range").requestSubmit()`);
  check((await page.run('document.getElementById("flame-note").textContent')).includes("ends within one"), "a graph that is not kept there is shown");
  await page.run('document.querySelector("#flame-note .absent button").click()');
  check((await page.run('document.getElementById("flame-note").textContent')).startsWith(`${samples.toLocaleString("en")} samples`), "the widened range has other samples");
  await isQuiet(page, "a range");
  await page.close();
}

function inCells(column, first, last) {
  let cell = 0, sum = 0;
  for (let i = 0; i < column.length; i += 2) {
    cell += column[i];
    if (cell >= first && cell < last) sum += column[i + 1];
  }
  return sum;
}

async function checkKeys() {
  const page = await browser.open(small),
      status = () => page.run('document.getElementById("timeline-status").textContent');
  const frame = () =>
      page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await page.key("2");
  await page.until('document.getElementById("tab-timeline").getAttribute("aria-selected") === "true" && document.getElementById("timeline-status")?.textContent');
  for (const key of ["w", "d", "a", "s", "n", "n", "p", "l"]) {
    const before = await status() + await page.run('document.getElementById("chosen").textContent');
    await page.key(key);
    await frame();
    check(before !== await status() +
        await page.run('document.getElementById("chosen").textContent'),
        `the key ${key} changes nothing`);
  }
  const chosen = await page.run('document.getElementById("chosen").textContent');
  for (const label of ["length", "own (not in spans within)", "in the collector", "waiting",
      "suspended"]) check(chosen.includes(label), `no ${label} in: ${chosen}`);
  await page.key("m");
  check(!(await page.run('document.getElementById("range-whole").disabled')), "m selects nothing");
  await page.key("r");
  check(await page.run('document.getElementById("range-whole").disabled'),
      "r does not select the whole run");
  await page.key("/");
  same("/ goes to", "search", await page.run("document.activeElement.id"));
  await page.key("Escape");
  await page.key("?");
  check(await page.run('document.getElementById("help").open'), "? shows no keys");
  await page.key("Escape");
  await page.until('!document.getElementById("help").open');
  for (const [key, view] of VIEWS.map((view, i) => [String(i + 1), view])) {
    await page.key(key);
    same(`the key ${key}`, "true",
        await page.run(`document.getElementById("tab-${view}").getAttribute("aria-selected")`));
  }
  await page.show("flame");
  await page.run('document.getElementById("flame-canvas").focus()');
  await page.key("ArrowDown");
  check((await page.run('document.getElementById("flame-frame").textContent')).includes("total:"),
      "an arrow key tells no frame");
  await isQuiet(page, "keys");
  await page.close();
}

// A drag in the heat map selects, a wheel zooms, a pause leads to the timeline.
async function checkClicks() {
  const page = await browser.open(small),
      place = (id) =>
      page.run(`(() => { const box = document.querySelector("${id}").getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()`);
  const [x, y, width] = await place(".heat canvas");
  await page.drag(x + width * 0.3, y + 40, x + width * 0.5, y + 60);
  check(!(await page.run('document.getElementById("range-whole").disabled')),
      "a drag in the heat map selects nothing");
  await page.show("timeline");
  const status = () => page.run('document.getElementById("timeline-status").textContent');
  const [left, top, wide] = await place("#timeline-canvas"), before = await status();
  await page.wheel(left + wide / 2, top + 100, -300);
  await page.until(`document.getElementById("timeline-status").textContent !== ${JSON.stringify(before)}`);
  const zoomed = await status();
  await page.drag(left + wide / 2, top + 100, left + wide / 4, top + 100);
  await page.until(`document.getElementById("timeline-status").textContent !== ${JSON.stringify(zoomed)}`);
  await page.show("pauses");
  await page.run('document.querySelector("#view-pauses td .link").click()');
  await page.until('!document.getElementById("view-timeline").hidden && document.getElementById("chosen").textContent.includes("reason")');
  const told = await page.run('document.getElementById("chosen").textContent');
  check(told.includes("phase minor_roots") && told.includes("the program was in"),
      `a pause is told as: ${told}`);
  await page.show("tables");
  const sorted = () =>
      page.run('[...document.querySelectorAll("#view-tables tbody td:nth-child(2)")].map((cell) => Number(cell.textContent.replaceAll(",", "")))');
  await page.run('document.querySelectorAll("#view-tables th button")[1].click()');
  const counts = await sorted();
  check(counts.length > 10 && counts.every((count, i) => i === 0 || counts[i - 1] >= count),
      "a table is not sorted by its head");
  await page.run('document.getElementById("theme").click()');
  await isQuiet(page, "clicks");
  await page.close();
}

// Commands name the selected range: not those that take none, nor where they would run the program
// again.
async function checkCommands() {
  const sections = structuredClone(made.sections), file = path.join(folder, "commands.html");
  for (const [target, ranged] of [["4711.eventring", true], ["-- saros serve.lua", false]]) {
    sections.head.run.target = target;
    fs.writeFileSync(file, pageOf(sections));
    const page = await browser.open(file);
    await page.run(`document.getElementById("range-to").value = "${made.lengthNs / 2e9}"; document.getElementById("range").requestSubmit()`);
    const seen = async (view, wanted) => {
      await page.show(view);
      const said = await page.run(`[...document.querySelectorAll("#view-${view} .command")].map((command) => command.parentElement.textContent).join("; ")`);
      check(wanted.test(said), `the commands of ${view} for ${target}: ${said}`);
    };
    for (const view of ["pauses", "tables"])
      await seen(view, ranged ? /^eventring \w+ --until [\d.]+ 4711.eventring$/
          : /^eventring \w+ -- saros serve.lua \(runs the program again\)$/);
    await seen("flame", ranged ? /eventring profile --hz 1000 4711.eventring \(the whole run\)/
        : /eventring profile --hz 1000 -- saros serve.lua \(runs the program again\)/);
    await page.show("timeline");
    await page.key("l");
    await seen("timeline", ranged ? /eventring dump --since [\d.]+ --until [\d.]+ 4711.eventring/
        : /^$/);
    await isQuiet(page, "commands");
    await page.close();
  }
}

// Names from the data are text, and what cannot be seen in them is an escape.
async function checkNames() {
  const page = await browser.open(small);
  for (const view of VIEWS) await page.show(view);
  const text = await page.run("document.body.innerText + document.title");
  const options = await page.run('[...document.querySelectorAll("datalist option")].map((option) => option.value).join(" ")');
  for (const name of ["</script><script>alert(1)</script>", "bell\\x07 and escape\\x1b[31m",
      "right\\u202eto left", "<img src=x onerror=alert(2)>"])
    check((text + options).includes(name), `not shown as text: ${name}`);
  check(!/[\u0000-\u0008\u000e-\u001f\u202a-\u202e\u2066-\u2069]/.test(text + options),
      "a character that cannot be seen is shown");
  same("elements that names have made", 0,
      await page.run('document.querySelectorAll("main img, main script").length'));
  await isQuiet(page, "names");
  await page.close();
}

// The overview says that the largest allocator may not be it; each estimate has its error.
async function checkEstimates() {
  const page = await browser.open(small);
  await page.until('document.documentElement.dataset.ready');
  const answers = await page.run('[...document.querySelectorAll(".answer")].map((answer) => answer.textContent)');
  check(/The most: .* ± .* of the .* ± .* that the samples stand for/.test(answers[2]),
      `no error in: ${answers[2]}`);
  check(answers[2].includes("may not be the most"), `no tie in: ${answers[2]}`);
  await page.show("source");
  check((await page.run('document.getElementById("hottest").textContent')).includes(" ± "), "lines have no error");
  await page.show("flame");
  await page.run('(() => { const graphs = document.querySelector("#view-flame select"); graphs.selectedIndex = 1; graphs.dispatchEvent(new Event("change")); })()');
  check(/^[0-9.]+ [KMG]iB ± [0-9.]+ [KMG]iB, /.test(await page.run('document.getElementById("flame-note").textContent')), "the flame graph has no error");
  await isQuiet(page, "estimates");
  await page.close();
}

// What a reason means is there to read, and what the program did in the longest pause.
async function checkReasons() {
  const page = await browser.open(small);
  await page.show("pauses");
  const legend = await page.run('document.querySelector("#view-pauses .legend").textContent');
  for (const text of ["nursery: As much was allocated as it holds", "pace: The next slice was due"])
    check(legend.includes(text), `no ${text} in: ${legend}`);
  const heads = await page.run('[...document.querySelectorAll("#view-pauses th")].map((head) => head.textContent)');
  check(heads.includes("CPU"), `no CPU in: ${heads}`);
  await page.show("overview");
  await page.until('document.documentElement.dataset.ready');
  const answer = await page.run('document.querySelectorAll(".answer")[1].textContent');
  check(answer.includes("The program was in "), `nothing of the program in: ${answer}`);
  await page.close();
}

async function checkWidth(width, dark) {
  const page = await browser.open(small, {width, height: 1000, dark});
  for (const view of VIEWS) {
    await page.show(view);
    await page.picture(path.join(folder, `${width}-${dark ? "dark" : "light"}-${view}.png`));
    const wide = await page.run("document.documentElement.scrollWidth");
    check(wide <= width, `${view} is ${wide} pixels wide where there are ${width}`);
    if (view === "source") {
      const place = await page.run(`(() => { const {left} = document.querySelector(".source [data-line] pre").getBoundingClientRect(); return left; })()`);
      check(place < width / 2, `the text of lines begins at pixel ${place} of ${width}`);
    }
  }
  await isQuiet(page, `${width} pixels`);
  await page.close();
}

// Sections that are missing or harmed: the page opens and says what it lacks.
async function checkHarmed() {
  const variants = Object.keys(made.sections).filter((name) => name !== "head").map((name) =>
      [`without ${name}`, (sections) => { delete sections[name]; }]);
  variants.push(["with the head alone",
      (sections) => { for (const name of Object.keys(sections)) if (name !== "head") delete sections[name]; }],
    ["of numbers",
    (sections) => { for (const name of Object.keys(sections)) if (name !== "head") sections[name] = 7; }],
    ["with an empty head", (sections) => { sections.head = {}; }]);
  for (const [what, harm] of variants) {
    const sections = structuredClone(made.sections), file = path.join(folder, "harmed.html");
    harm(sections);
    fs.writeFileSync(file, pageOf(sections));
    const page = await browser.open(file);
    for (const view of VIEWS) await page.show(view);
    await isQuiet(page, `a page ${what}`);
    await page.close();
  }
  const file = path.join(folder, "harmed.html");
  fs.writeFileSync(file, pageOf(made.sections).replace(/(id="section:series">)(.{40})/, "$1AAAA"));
  const page = await browser.open(file);
  check((await page.run('document.getElementById("problems").textContent')).includes("series cannot be read"), "a section that cannot be read is not told");
  await page.close();
}

// A page without samples and calls says so where they are looked for, with the command.
async function checkNoTime() {
  const sections = structuredClone(made.sections), file = path.join(folder, "no_time.html");
  delete sections.samples;
  delete sections.head.sampled;
  Object.assign(sections.head.answers[0], {answer: "Stacks were not sampled.",
      command: "eventring profile --children -- x"});
  fs.writeFileSync(file, pageOf(sections));
  for (const [from, count] of [[file, 1], [small, 0]]) {
    const page = await browser.open(from);
    for (const view of ["flame", "source"]) {
      await page.show(view);
      same(`${view}: why there are no samples`,
          "Stacks were not sampled. eventring profile --children -- x;".repeat(count),
          await page.run(`[...document.querySelectorAll("#view-${view} .no-time")].map((element) => element.textContent + ";").join("")`));
    }
    await isQuiet(page, "no samples");
    await page.close();
  }
}

// The overview waits for what it shows itself, not for the sections that its answers are made of.
async function checkLateAnswers() {
  const file = path.join(folder, "late.html");
  fs.writeFileSync(file, pageOf({head: made.sections.head}));
  const page = await browser.open(file);
  const told = await page.run(`(async () => {
    const sections = ${JSON.stringify(made.sections)}, late = new Map();
    document.body.innerHTML = ${JSON.stringify(BODY)};
    for (const key of ["ready", "openMs"]) delete document.documentElement.dataset[key];
    const opening = openPage({names: () => Object.keys(sections), section: (name) => ["stacks", "samples", "allocated", "pauses"].includes(name)
        ? new Promise((done) => late.set(name, done)) : Promise.resolve(sections[name] ?? null)});
    const said = () => document.querySelectorAll(".answer .link").length, seen = [];
    while (!document.documentElement.dataset.openMs || late.size < 2) await new Promise((done) => setTimeout(done, 5));
    seen.push(document.querySelectorAll("#overview-figures tbody tr").length > 5, said());
    while (!document.documentElement.dataset.ready) {
      for (const [name, done] of late) done(sections[name]);
      await new Promise((done) => setTimeout(done, 5));
    }
    await opening;
    return [...seen, said() >= 3].join(" ");
  })()`);
  same("the table, the answers and later ones", "true 0 true", told);
  await isQuiet(page, "late answers");
  await page.close();
}

// Data of which some values are something else. The page is opened with it again and again, as
// another source would do.
async function checkMutants() {
  fs.writeFileSync(path.join(folder, "empty.html"), pageOf({head: made.sections.head}));
  const page = await browser.open(path.join(folder, "empty.html"));
  await page.run(`window.whole = ${JSON.stringify(made.sections)}; window.body = ${JSON.stringify(BODY)}; ${mutate}; 0`);
  for (let seed = 1; seed <= mutants; seed++) {
    await page.run(`(async () => {
      document.body.innerHTML = window.body;
      delete document.documentElement.dataset.ready;
      const sections = structuredClone(window.whole), frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      mutate(sections, ${seed});
      const opened = await openPage({names: () => Object.keys(sections), section: async (name) => sections[name] ?? null});
      for (const view of ${JSON.stringify(VIEWS)}) { await opened.show(view); await frames(); }
      opened.selection.set(16, 400);
      await opened.show("timeline");
      for (const key of "lnwdm") opened.current.key({key});
      opened.search("request");
      for (const view of ${JSON.stringify(VIEWS)}) await opened.show(view);
      await frames();
    })()`).catch((error) => say(`mutant ${seed}: ${error.message}`));
    if (page.complaints.length > 0) say(`mutant ${seed}: ${page.complaints.splice(0).join("; ")}`);
  }
  await page.close();
}

function mutate(sections, seed) {
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647,
      values = [null, -1, 0, 1e15, -1e15, 0.5, "x", [], {}, true];
  for (let i = 0; i < 30; i++) {
    let at = sections, key = Object.keys(at)[Math.floor(random() * Object.keys(at).length)];
    while (at[key] && typeof at[key] === "object" && Object.keys(at[key]).length > 0 &&
        random() < 0.9) {
      at = at[key];
      key = Object.keys(at)[Math.floor(random() * Object.keys(at).length)];
    }
    if (at !== sections || key !== "head") at[key] = values[Math.floor(random() * values.length)];
  }
}
