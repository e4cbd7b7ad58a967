// SPDX-License-Identifier: MIT
// Drives Chromium without a window by the protocol of its developer tools, over pipes.
//
//   const browser = await startBrowser(PROGRAM);
//   const page = await browser.open(FILE-OR-URL, {width, height, dark, before: SCRIPT});
//   await page.run("expression")      its value; an exception is thrown here
//   page.complaints, page.requests    what the console had; what was fetched, but for FILE
//   await page.mouse("mousePressed", x, y), page.wheel(x, y, dy), page.key("w"), page.picture(FILE)
//   await browser.end()
import {spawn} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {pathToFileURL} from "node:url";

const PATIENCE = 60000;

export async function startBrowser(program = "chromium") {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "saros-browser-"));
  const child = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu",
      "--remote-debugging-pipe", "--hide-scrollbars", "--disable-dev-shm-usage",
    "--disable-background-networking", "--no-first-run", "--disable-ipc-flooding-protection",
    "--force-color-profile=srgb", `--user-data-dir=${profile}`],
    {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true});
  const [, , , to, from] = child.stdio;
  const waiting = new Map(), sessions = new Map();
  let number = 0, rest = "";
  to.on("error", () => {});
  from.on("data", (data) => {
    const parts = (rest + data).split("\0");
    rest = parts.pop();
    for (const part of parts) take(JSON.parse(part));
  });
  function take(message) {
    if (message.id) {
      const {resolve, reject} = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    } else if (message.sessionId &&
        sessions.has(message.sessionId)) sessions.get(message.sessionId)(message.method,
        message.params);
  }
  function send(method, params = {}, sessionId = undefined) {
    const id = ++number;
    to.write(JSON.stringify({id, method, params, sessionId}) + "\0");
    return new Promise((resolve, reject) => {
      waiting.set(id, {resolve, reject});
      setTimeout(() => { if (waiting.delete(id)) reject(new Error(`${method}: no answer`)); },
          PATIENCE).unref();
    });
  }
  child.on("exit",
      () => { for (const {reject} of waiting.values()) reject(new Error("the browser has ended")); });
  return {
    open: (file, options) => openPage(send, sessions, file, options),
    async end() {
      const ended = new Promise((resolve) => child.on("exit", resolve));
      send("Browser.close").catch(() => {});
      const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), 5000);
      await ended;
      clearTimeout(timer);
      fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5});
    },
  };
}

async function openPage(send, sessions, file, {width = 1280, height = 900, dark = false,
    before = "", hash = ""} = {}) {
  const url = (file.includes("://") ? file : pathToFileURL(file).href) + hash;
  const {targetId} = await send("Target.createTarget", {url: "about:blank"});
  const {sessionId} = await send("Target.attachToTarget", {targetId, flatten: true});
  const call = (method, params) => send(method, params, sessionId);
  const page = {call, complaints: [], requests: []};
  sessions.set(sessionId, (method, params) => {
    if (method === "Runtime.consoleAPICalled")
      page.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    if (method === "Runtime.exceptionThrown")
      page.complaints.push(params.exceptionDetails.exception?.description ||
          params.exceptionDetails.text);
    if (method === "Log.entryAdded") page.complaints.push(params.entry.text);
    if (method === "Network.requestWillBeSent" && params.request.url !== url.replace(/#.*/, ""))
      page.requests.push(params.request.url);
  });
  await call("Performance.enable", {timeDomain: "threadTicks"});
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await call(`${domain}.enable`);
  await call("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1,
      mobile: false});
  await call("Emulation.setEmulatedMedia",
      {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
  if (before) await call("Page.addScriptToEvaluateOnNewDocument", {source: before});
  const began = Date.now();
  await call("Page.navigate", {url});
  Object.assign(page, {
    async run(expression) {
      const {result, exceptionDetails} = await call("Runtime.evaluate",
          {expression, awaitPromise: true, returnByValue: true});
      if (exceptionDetails)
        throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
      return result.value;
    },
    async until(expression) {
      for (const end = Date.now() + PATIENCE; Date.now() < end;) {
        if (await page.run(expression).catch(() => false)) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`never true: ${expression}; ${page.complaints.join("; ")}`);
    },
    // A view, when it is filled and drawn.
    async show(view) {
      await page.run(`document.getElementById("tab-${view}").click()`);
      await page.until(`!document.getElementById("view-${view}").hidden && document.getElementById("view-${view}").childElementCount > 0`);
      await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    },
    mouse: (type, x, y, more = {}) => call("Input.dispatchMouseEvent",
    {type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1,
    ...more}),
    wheel: (x, y, deltaY, deltaX = 0) => call("Input.dispatchMouseEvent",
    {type: "mouseWheel", x, y, deltaX, deltaY}),
    async drag(x1, y1, x2, y2, modifiers = 0) {
      await page.mouse("mousePressed", x1, y1, {modifiers});
      await page.mouse("mouseMoved", (x1 + x2) / 2, (y1 + y2) / 2, {modifiers});
      await page.mouse("mouseMoved", x2, y2, {modifiers});
      await page.mouse("mouseReleased", x2, y2, {modifiers});
    },
    async click(x, y) {
      await page.mouse("mousePressed", x, y);
      await page.mouse("mouseReleased", x, y);
    },
    async key(key) {
      const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
      const code = {Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39,
          ArrowDown: 40, Tab: 9}[key];
      await call("Input.dispatchKeyEvent",
          {type: "keyDown", key, text, windowsVirtualKeyCode: code});
      await call("Input.dispatchKeyEvent", {type: "keyUp", key, windowsVirtualKeyCode: code});
    },
    async picture(to, whole = false) {
      const {data} = await call("Page.captureScreenshot",
          {format: "png", captureBeyondViewport: whole});
      fs.writeFileSync(to, Buffer.from(data, "base64"));
    },
    close: () => send("Target.closeTarget", {targetId}),
  });
  await page.until('document.documentElement.dataset.ready === "1"');
  page.openedMs = Date.now() - began;
  return page;
}
