// SPDX-License-Identifier: MIT
// Do the tables of the page have the figures of the command that it names for them? Of the whole
// run and of ranges. And does each command that it names for a range work?
//
//     node _equal.mjs CHROMIUM EVENTRING FOLDER NAME...
//
// of FOLDER/NAME.html, whose recording is NAME.eventring there. Says what differs; the last line
// is "done", with how many rows were compared.
import {spawnSync} from "node:child_process";
import path from "node:path";
import {startBrowser} from "./_browser.mjs";
import {load} from "./_load.mjs";

const [program, eventring, folder, ...names] = process.argv.slice(2);
const {bytesText, countText, durationText, secondsText, visibleText} = load(["bytesText",
    "countText", "durationText", "secondsText", "visibleText"]);
let compared = 0;

// Rows of the command by name: its domains are one.
function sumsOf(rows) {
  const sums = new Map();
  for (const {name, count, total_ns: total, own_ns: own, max_ns: longest} of rows) {
    const sum = sums.get(name) || {count: 0, total: 0, own: 0, longest: 0};
    sums.set(name, {count: sum.count + count, total: sum.total + total, own: sum.own + own,
                    longest: Math.max(sum.longest, longest)});
  }
  return sums;
}

// What the command that the page names says. It is the text of a shell. (Of a damaged file its
// status is 1.)
function ask(command) {
  const {stdout} = spawnSync("bash", ["-c", `${command.replace("eventring", '"$0"')} --json`,
      eventring],
      {cwd: folder, encoding: "utf8"});
  return JSON.parse(stdout.split("\n")[0]);
}

async function compare(page, what) {
  const {command, rows} = await page.run(`(() => { const view = document.getElementById("view-tables");
    return {command: view.querySelector(".command").textContent,
            rows: [...view.querySelectorAll("tbody tr")].filter((row) => row.cells.length > 1)
              .map((row) => [...row.cells].map((cell) => cell.textContent))}; })()`);
  const expected = new Map();
  for (const [name, {count, total, own, longest}] of sumsOf(ask(command).spans))
    if (count > 0)
      expected.set(visibleText(name), [countText(count), durationText(total), own,
          durationText(longest)]);
  for (const [name, count, total, own, , , , , longest] of rows) {
    const row = expected.get(name);
    expected.delete(name);
    const ownText = row && (Number.isFinite(row[2]) ? durationText(row[2]) : "-");
    const wanted = row ? [row[0], row[1], ownText, row[3]].join(", ") : "nothing";
    // Own time may not be known to one of them.
    const got = [count, total, own === "-" ? ownText : own, longest].join(", ");
    if (wanted !== got) console.log(`${what}: ${name}: ${command} has ${wanted}; the page ${got}`);
    compared++;
  }
  for (const name of expected.keys())
    console.log(`${what}: ${name} is not on the page; ${command}`);
}

// Lines that allocate, with their errors, and the sum of all.
async function compareHeap(page, what) {
  const {total, rows} = ask(`eventring heap --allocated --by line --top 1000 ${what}.eventring`);
  const text = (bytes, error) => `${bytesText(bytes)} ± ${bytesText(error)}`;
  await page.show("source");
  await page.run('for (let more; (more = document.querySelector("#hottest button:not(.link):not(th button)"));) more.click()');
  const lines = new Map(await page.run(`(() => { const [head, ...rows] = document.querySelectorAll("#hottest tr"),
      at = [...head.cells].findIndex((cell) => cell.textContent === "allocated");
    return rows.map((row) => [row.cells[0].textContent, row.cells[at].textContent]); })()`));
  const places = rows.map(({source, line}) => `${source}:${line}`);
  rows.forEach(({allocated_bytes: bytes, allocated_bytes_error: error}, i) => {
    if (places.filter((place) => place === places[i]).length > 1 || !lines.has(places[i])) return;
    const wanted = text(bytes, error), got = lines.get(places[i]);
    if (wanted !== got) console.log(`${what}: ${places[i]}: heap has ${wanted}; the page ${got}`);
    compared++;
  });
  await page.show("overview");
  await page.until("document.documentElement.dataset.ready");
  const answer = await page.run('document.querySelectorAll(".answer")[2].textContent'),
      all = text(total.allocated_bytes, total.allocated_bytes_error);
  if (!answer.includes(`of the ${all} `)) console.log(`${what}: no ${all} in: ${answer}`);
}

// Tries the commands that the views and the flame graphs name.
async function tryCommands(page, what) {
  const commands = new Set(), note = async (prepare = "") => {
    for (const command of await page.run(`(() => { ${prepare};
        return [...document.querySelectorAll(".view:not([hidden]) .command")].map((command) => command.textContent); })()`))
      commands.add(command);
  };
  await page.show("pauses");
  await note();
  await page.show("timeline");
  await page.run(`document.querySelector('#view-timeline [aria-label^="Longest"]').click()`);
  // what is found is read from the page first
  for (let i = 0; i < 1200 && !await page.run('!!document.querySelector("#view-timeline .command")'); i++)
    await new Promise((done) => setTimeout(done, 50));
  await note();
  await page.show("flame");
  const graphs = 'document.querySelector("#view-flame select")';
  // what is made when it is shown first, or read from the page first, may not be there yet
  for (let i = 0; i < 600 && (i === 0 || commands.size < 2); i++) {
    if (i > 0) await new Promise((done) => setTimeout(done, 100));
    for (let k = await page.run(`${graphs}?.options.length || 0`) - 1; k >= 0; k--)
      await note(`${graphs}.selectedIndex = ${k}; ${graphs}.dispatchEvent(new Event("change"))`);
  }
  if (commands.size < 2) console.log(`${what}: only ${commands.size} commands are named`);
  for (const command of commands) {
    const {status, stderr} = spawnSync("bash", ["-c", `${command.replace("eventring", '"$0"')} --json`,
        eventring], {cwd: folder, encoding: "utf8", maxBuffer: 1 << 28});
    if (status > 1 || /: no (option|profile)/.test(stderr))
      console.log(`${what}: ${command}: status ${status}: ${stderr}`);
  }
}

const browser = await startBrowser(program);
try {
  for (const name of names) {
    const page = await browser.open(path.join(folder, `${name}.html`), {hash: "#tables"});
    await compare(page, name);
    const [begin,
        end] = await page.run('["from", "to"].map((id) => Number(document.getElementById(`range-${id}`).value))');
    // (the last one has spans for sure, of which the longest is looked for)
    for (const [from, to] of [[0.25, 0.5], [0, 0.375], [0.7, 1], [0, 0.95]]) {
      await page.run(`(() => { const at = (part) => ${begin} + part * ${end - begin};
        document.getElementById("range-from").value = at(${from}); document.getElementById("range-to").value = at(${to});
        document.getElementById("range").requestSubmit();
        for (let i = 0; i < 8; i++) document.querySelector("#view-tables .absent button")?.click(); })()`);
      await compare(page,
          `${name} from ${secondsText(from * 1e9)} to ${secondsText(to * 1e9)} of it`);
    }
    await page.run('document.getElementById("range-whole").click()');
    if (name === "requests") await compareHeap(page, name);
    await tryCommands(page, name);
    await page.close();
  }
  console.log(`done ${compared}`);
} finally {
  await browser.end();
}
