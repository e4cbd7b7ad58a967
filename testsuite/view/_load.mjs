// SPDX-License-Identifier: MIT
// The scripts of the page, for tests of what does not draw: load(["figuresOf", ...]) returns these
// functions; pageOf(sections) is the page as the command writes it.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import {fileURLToPath} from "node:url";

export const tree = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const folder = path.join(tree, "eventring/view");

// In the order of the page.
export function scripts() {
  const lines = fs.readFileSync(path.join(tree, "eventring/local.mk"), "utf8").replaceAll("\\\n",
      " ").split("\n");
  const list = lines.find((line) => line.startsWith("view_scripts ="));
  return list.split(/\s+/).filter((word) => word.endsWith(".js")).map((word) => path.join(tree,
      word));
}

const read = (file) => fs.readFileSync(file, "utf8");

export function load(names) {
  const text = scripts().map(read).join("\n");
  return new Function(`${text}\nreturn {${names.join(", ")}};`)();
}

// What the page has before and after the sections, and is without them.
const [before, after] = execFileSync("awk", ["-v", `style=${path.join(folder, "page.css")}`, "-v",
    `scripts=${scripts().join(" ")}`,
  "-f", path.join(folder, "page.awk"), path.join(folder, "page.html")],
  {encoding: "utf8"}).split("@SECTIONS@\n");
export const emptySize = Buffer.byteLength(before + after);

function elementOf([name, value]) {
  const packed = zlib.gzipSync(JSON.stringify(value), {level: 6}).toString("base64");
  return `<script type="application/x-eventring" id="section:${name}">${packed}</script>\n`;
}

export function pageOf(sections) {
  return before + Object.entries(sections).map(elementOf).join("") + after;
}
