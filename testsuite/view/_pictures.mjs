// SPDX-License-Identifier: MIT
// Takes the pictures of the documentation from the page of a real run, and says what they should
// show and do not; the last line is "done":
//
//     node _pictures.mjs CHROMIUM FILE.html FOLDER
//
// timeline.png: the longest pause, inside a request. flame.png: the flame graph of allocations.
import path from "node:path";
import {startBrowser} from "./_browser.mjs";

const [program, file, folder] = process.argv.slice(2);
const browser = await startBrowser(program), page = await browser.open(file,
    {width: 1280, height: 760});
const text = (id) => page.run(`document.getElementById("${id}").textContent`);
const frames = () =>
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
const has = async (id, words) => {
  const whole = await text(id);
  for (const word of words) if (!whole.includes(word))
    console.log(`${id} has no "${word}": ${whole}`);
};

async function show(view, condition) {
  await page.run(`document.getElementById("tab-${view}").click()`);
  await page.until(condition);
}

try {
  await show("pauses", 'document.querySelector("#view-pauses td .link")');
  await page.run(`(() => { // the longest that hit a request and was not interrupted
    for (let more; (more = [...document.querySelectorAll("#view-pauses p button")].pop());) more.click();
    const rows = [...document.querySelectorAll("#view-pauses tr")].filter((row) => row.querySelector(".link") && row.cells[8].textContent.startsWith("in request"));
    (rows.find((row) => row.cells[3].textContent === "0 ns") || rows[0]).querySelector(".link").click(); })()`);
  await page.until('!document.getElementById("view-timeline").hidden && document.getElementById("chosen").textContent.includes("reason")');
  for (let i = 0; i < 4; i++) await page.key("s");
  await page.run("document.activeElement.blur()");
  await frames();
  await has("chosen", ["Pause: ", "length", "reason", "the program was in", "phase "]);
  await has("timeline-status", ["s to "]);
  const colours = await page.run(`(() => { const canvas = document.getElementById("timeline-canvas"), {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size; })()`);
  if (colours < 20) console.log(`the timeline has ${colours} colours`);
  await page.picture(path.join(folder, "timeline.png"));
  await show("flame",
      '[...document.querySelectorAll("#view-flame option")].some((option) => option.textContent === "Allocated: bytes")');
  await page.run(`(() => { const [select] = document.querySelectorAll("#view-flame select");
    select.value = [...select.options].find((option) => option.textContent === "Allocated: bytes").value; select.dispatchEvent(new Event("change")); })()`);
  await frames();
  await has("flame-note", ["iB, estimated from samples of allocations", "eventring heap"]);
  await has("view-flame", ["query", "render", "requests.lua:", "self", "total"]);
  await page.picture(path.join(folder, "flame.png"));
  for (const complaint of page.complaints) console.log(complaint);
  console.log("done");
} finally {
  await browser.end();
}
