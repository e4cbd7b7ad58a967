// SPDX-License-Identifier: MIT
// What the page does in Firefox, driven by its Marionette protocol (LENGTH:JSON over TCP):
//
//     node _firefox.mjs FIREFOX FOLDER FILE.html
//
// All views are shown; pictures of them go to FOLDER. Says what is wrong; the last line is "done".
import {spawn} from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [program, folder, file] = process.argv.slice(2);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "saros-firefox-"));
const port = 20000 + process.pid % 20000;
fs.writeFileSync(path.join(profile, "user.js"),
    `user_pref("marionette.port", ${port});\nuser_pref("app.update.enabled", false);\nuser_pref("network.captive-portal-service.enabled", false);\n`);
const child = spawn(program, ["--headless", "--no-remote", "--marionette", "--profile", profile,
    "about:blank"], {stdio: "ignore", detached: true});

async function connect() {
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((resolve) =>
      setTimeout(resolve, 200))) {
    const socket = net.connect(port, "127.0.0.1");
    const isThere = await new Promise((resolve) => socket.once("connect",
        () => resolve(true)).once("error", () => resolve(false)));
    if (isThere) return socket;
  }
  throw new Error("Firefox does not listen");
}

try {
  const socket = await connect(), waiting = new Map();
  let rest = Buffer.alloc(0), number = 0;
  socket.on("data", (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const colon = rest.indexOf(":"), length = Number(rest.subarray(0, colon));
      if (colon < 0 || rest.length < colon + 1 + length) return;
      const message = JSON.parse(rest.subarray(colon + 1, colon + 1 + length));
      rest = rest.subarray(colon + 1 + length);
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message, {resolve, reject} = waiting.get(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    }
  });
  const call = (name, parameters = {}) => {
    const text = JSON.stringify([0, ++number, name, parameters]);
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => waiting.set(number, {resolve, reject}));
  };
  const run = async (script) => (await call("WebDriver:ExecuteScript", {script, args: []})).value;
  await call("WebDriver:NewSession", {capabilities: {alwaysMatch: {}}});
  await call("WebDriver:SetWindowRect", {width: 1280, height: 900});
  await call("WebDriver:Navigate", {url: pathToFileURL(file).href});
  const until = async (condition) => {
    for (const end = Date.now() + 60000; Date.now() < end; await new Promise((resolve) =>
        setTimeout(resolve, 50))) if (await run(`return ${condition}`)) return;
    console.log(`never true: ${condition}`);
  };
  await until('document.documentElement.dataset.ready === "1"');
  for (const view of ["overview", "timeline", "flame", "source", "pauses", "tables"]) {
    await run(`document.getElementById("tab-${view}").click()`);
    await until(`document.getElementById("view-${view}").childElementCount > 0`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const {value} = await call("WebDriver:TakeScreenshot", {full: false});
    fs.writeFileSync(path.join(folder, `firefox-${view}.png`), Buffer.from(value, "base64"));
  }
  const problems = await run('return document.getElementById("problems").textContent');
  if (problems) console.log(problems);
  const requests = await run('return performance.getEntriesByType("resource").map((entry) => entry.name).join(" ")');
  if (requests) console.log(`requests: ${requests}`);
  console.log("done");
  socket.end();
} finally {
  const ended = new Promise((resolve) => child.on("exit", resolve));
  process.kill(-child.pid, "SIGTERM");
  const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), 5000);
  await ended;
  clearTimeout(timer);
  fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5});
}
