// SPDX-License-Identifier: MIT
// The page of `eventring serve` in Chromium. Arguments: the browser, the address of the page, a
// folder for pictures, a process that is busy, one that waits, and a command that ends the busy one.
// Says what is wrong, a line each; the last line is "done".
import {execFileSync} from "node:child_process";
import path from "node:path";
import {startBrowser} from "./_browser.mjs";

const [program, address, folder, busy, still, ends] = process.argv.slice(2);
const check = (ok, text) => { if (!ok) console.log(text); };
const cells = (pid) => `[...document.querySelectorAll("#rows tr")].find((row) => row.cells[0].textContent === "${pid}")?.cells`;
// there may be other processes on the machine
const ORDER = `[...document.querySelectorAll("#rows tr")].map((row) => row.cells[0].textContent).filter((pid) => pid === "${busy}" || pid === "${still}").join(" ")`;
const isSorted = (text, by) => `[...document.querySelectorAll("#head button")].find((button) => button.textContent === "${text}").parentElement.getAttribute("aria-sort") === "${by}"`;

const browser = await startBrowser(program);
try {
  const page = await browser.open(address);
  // what the system and the rings say of a process comes with the stream, the links before it
  await page.until(`${cells(busy)}?.length > 3 && /%/.test(${cells(busy)}[2].textContent)`);
  await page.until(`${cells(busy)}[5].querySelectorAll("rect").length > 2`);
  check(await page.run(`/[MG]iB/.test(${cells(busy)}[6].textContent)`), "no rate of allocation");
  await page.until(`parseFloat(${cells(still)}[2].textContent) < 1`);
  check(await page.run(ORDER) === `${busy} ${still}`, `by CPU: ${await page.run(ORDER)}`);
  await page.run('[...document.querySelectorAll("#head button")].find((button) => button.textContent === "process").click()');
  await page.until(isSorted("process", "ascending"));
  const sorted = [busy, still].sort((a, b) => a - b).join(" ");
  check(await page.run(ORDER) === sorted, `by process: ${await page.run(ORDER)}`);
  check(await page.run(`${cells(busy)}[${cells(busy)}.length - 1].querySelector("a").href`) === `${address}view?pid=${busy}`, "the link to its page");
  check(!(await page.run("document.body.innerHTML")).includes("<b>evil"), "a name is markup");
  check((await page.run(`${cells(still)}[1].textContent`)).includes("<b>evil"), "the name is not there");
  // a link that has the keyboard stays where it is
  await page.run(`${cells(busy)}[${cells(busy)}.length - 1].querySelector("a").focus(); window.held = document.activeElement;`);
  const before = await page.run('document.getElementById("state").textContent');
  await page.until(`document.getElementById("state").textContent !== "${before}"`);
  check(await page.run("document.activeElement === window.held && window.held.isConnected"), "the link was taken away");
  await page.run("document.activeElement.blur()");
  for (const [width, dark] of [[360, true], [1280, false]]) {
    await page.call("Emulation.setDeviceMetricsOverride", {width, height: 600, deviceScaleFactor: 1, mobile: false});
    await page.call("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
    check(await page.run("document.documentElement.scrollWidth <= innerWidth"), `${width}: wider than the window`);
    await page.picture(path.join(folder, `serve-${width}.png`));
  }
  execFileSync("sh", ["-c", ends]);
  await page.until(`${cells(busy)} === undefined || /dead|ended/.test(${cells(busy)}[1].textContent)`);
  check(page.complaints.length === 0, `console: ${page.complaints.join("; ")}`);
  check(page.requests.every((url) => url === `${address}events`), `requests: ${page.requests.join(" ")}`);
  console.log("done");
} finally {
  await browser.end();
}
