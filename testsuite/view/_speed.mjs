// SPDX-License-Identifier: MIT
// How fast the page is: until the overview is shown, until it has its answers too, until each view
// is shown, and the CPU time of scripts for each of 200 zooms and drags of the timeline, in
// milliseconds (make page-speed):
//
//     node _speed.mjs CHROMIUM FILE.html...
import path from "node:path";
import {startBrowser} from "./_browser.mjs";

// Zooms and drags, by turns.
const STEP = (i) => `(async () => {
  const canvas = document.getElementById("timeline-canvas"), box = canvas.getBoundingClientRect();
  let seed = ${i * 7919 + 1};
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  random();
  const x = box.left + random() * box.width, at = (x) => ({clientX: x, clientY: box.top + 150, button: 0, buttons: 1, pointerId: 1, bubbles: true});
  canvas.setPointerCapture = () => {};
  if (${i % 2 === 0}) canvas.dispatchEvent(new WheelEvent("wheel", {...at(x), deltaY: ${i % 20 < 14 ? -300 : 300} * random(), cancelable: true}));
  else for (const [type, where] of [["down", x], ["move", x + 200 * random() - 100], ["up", x]]) canvas.dispatchEvent(new PointerEvent("pointer" + type, at(where)));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
})()`;

const [program, ...files] = process.argv.slice(2), browser = await startBrowser(program);
for (const file of files) {
  const page = await browser.open(file, {width: 1600}), shown = [], times = [];
  const {openMs, readyMs} = await page.run("({...document.documentElement.dataset})");
  // CPU time of the page's thread: of scripts, of all.
  const cpu = async () => {
    const {metrics} = await page.call("Performance.getMetrics");
    return ["ScriptDuration", "TaskDuration"].map((key) => 1000 * metrics.find(({name}) =>
        name === key).value);
  };
  const openCpu = await cpu();
  for (const view of ["flame", "source", "pauses", "tables", "timeline"]) {
    const begin = Date.now();
    await page.run(`(async () => { document.getElementById("tab-${view}").click(); const panel = document.getElementById("view-${view}");
      while (panel.childElementCount === 0) await new Promise((done) => setTimeout(done, 1)); await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); })()`);
    shown.push(`${view} ${Date.now() - begin}`);
  }
  for (let i = 0; i < 200; i++) {
    const [before] = await cpu();
    await page.run(STEP(i));
    times.push((await cpu())[0] - before);
  }
  times.sort((a, b) => a - b);
  console.log(`${path.basename(file)}: open ${openMs}, answers ${readyMs}, CPU ${Math.round(openCpu[1])}; ${shown.join(", ")}; a frame, CPU of scripts: median ${times[100].toFixed(1)}, p95 ${times[190].toFixed(1)}, longest ${times[199].toFixed(1)}`);
  await page.close();
}
await browser.end();
