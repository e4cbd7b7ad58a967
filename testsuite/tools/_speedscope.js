// SPDX-License-Identifier: MIT
// Imports a file with speedscope's own importer, out of the program that its npm package
// has, and prints name, unit and weight of each profile:
//
//     node _speedscope.js NODE_MODULES FILE
//
// The program is one file, made for browsers: it is run where there is no document, up to
// where it needs one; by then its functions are defined.
"use strict";
const fs = require("fs"), vm = require("vm"), path = require("path");
const [modules, file] = process.argv.slice(2);
const folder = path.join(modules, "speedscope/dist/release");
const name = fs.readdirSync(folder).find((n) => /^speedscope-.*\.js$/.test(n));
const text = fs.readFileSync(path.join(folder, name), "utf8");
const importer = /Importing as speedscope json file"\),(\w+)\(/.exec(text)[1];
const nothing = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "length" ? 0 : nothing),
  apply: () => nothing, construct: () => nothing, set: () => true});
const quiet = {log() {}, warn() {}, error() {}, assert: console.assert, time() {}, timeEnd() {}};
const context = vm.createContext({
  window: nothing, document: nothing, self: nothing, location: nothing, console: quiet,
  navigator: {platform: "", userAgent: ""}, TextDecoder, TextEncoder, URL, performance,
  Node: function () {}, Element: function () {}, HTMLElement: function () {},
  setTimeout: () => 0, requestAnimationFrame: () => 0});
try {
  vm.runInContext(text.replace("(()=>{", `(()=>{globalThis.importFile=(x)=>${importer}(x);`),
                  context);
} catch (error) { /* it has no document */ }
const group = context.importFile(JSON.parse(fs.readFileSync(file, "utf8")));
for (const profile of group.profiles)
  console.log(profile.getName(), profile.getWeightUnit(), Math.round(profile.getTotalWeight()));
