// SPDX-License-Identifier: MIT
// Reads a trace with the engine of the performance panel of Chrome's developer tools, the npm
// package @paulirish/trace_engine, and prints the spans, as the lines of _facts.py:
//
//     node _engine.mjs NODE_MODULES TRACE
//
// They are the entries of the threads, with their depth in the tree that the panel draws. Points
// and flows are no spans; flows have a bind_id. A span that is open has no duration there. The tree
// may lack a span that ends or begins when another one does: the sums of begin and duration, in
// microseconds, differ by rounding. (The depths of these are not compared: by_time in _timeline.sh.)
import fs from "node:fs";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [modules, file] = process.argv.slice(2);
globalThis.DOMRect = class { constructor(x, y, width, height) { Object.assign(this, {x, y, width, height}); } };
const engine = await import(
  pathToFileURL(path.resolve(modules, "@paulirish/trace_engine/models/trace/trace.js")).href);
const model = engine.TraceModel.Model.createWithAllHandlers();
await model.parse(JSON.parse(fs.readFileSync(file, "utf8")).traceEvents);
const lines = [];
const ns = (us) => Math.round(us * 1000);
for (const thread of engine.Handlers.Threads.threadsInTrace(model.parsedTrace().data)) {
  const place = thread.name.replace(/ \+\d+$/, "");
  for (const entry of thread.entries) {
    if (entry.ph !== "X" || "bind_id" in entry) continue;
    const open = entry.args && entry.args.open;
    if (entry.args && entry.args.torn) {
      if (entry.dur) throw new Error(`torn, and has a length: ${JSON.stringify(entry)}`);
      lines.push(["torn", place, entry.name, entry.cat, ns(entry.ts),
                  entry.args.at_least_ns].join("\t"));
      continue;
    }
    const remark = open ? ["open"] : [];
    lines.push(["span", place, entry.name, entry.cat, ns(entry.ts), open ? -1 : ns(entry.dur),
                thread.entryToNode.get(entry)?.depth ?? "not in the tree", ...remark].join("\t"));
  }
}
fs.writeSync(1, lines.sort().join("\n") + "\n");
