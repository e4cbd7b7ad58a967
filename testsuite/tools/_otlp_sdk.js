// SPDX-License-Identifier: MIT
// Lets OpenTelemetry's own serializer write the spans of a file of `otlp_json`:
//     node _otlp_sdk.js NODE_MODULES FILE OUT
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, file, out] = process.argv.slice(2);
const { ProtobufTraceSerializer } =
  require(path.join(modules, "@opentelemetry/otlp-transformer"));

const plain = (value) => {
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.arrayValue) return (value.arrayValue.values || []).map(plain);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
};
const attributes = (list) => Object.fromEntries((list || []).map((a) => [a.key, plain(a.value)]));
const time = (ns) => [Number(BigInt(ns) / 1000000000n), Number(BigInt(ns) % 1000000000n)];
const REMOTE = 0x200;

const span = (s, resource, scope) => ({
  name: s.name,
  kind: s.kind - 1, // its enumeration has no UNSPECIFIED
  spanContext: () => ({ traceId: s.traceId, spanId: s.spanId, traceFlags: s.flags & 255 }),
  parentSpanContext: s.parentSpanId &&
    { traceId: s.traceId, spanId: s.parentSpanId, traceFlags: 1, isRemote: Boolean(s.flags & REMOTE) },
  startTime: time(s.startTimeUnixNano),
  endTime: time(s.endTimeUnixNano),
  duration: [0, 0],
  ended: true,
  status: { code: 0 },
  attributes: attributes(s.attributes),
  links: (s.links || []).map((l) => ({
    context: { traceId: l.traceId, spanId: l.spanId, traceFlags: l.flags & 255 },
    attributes: attributes(l.attributes),
  })),
  events: (s.events || []).map((e) => ({
    name: e.name, time: time(e.timeUnixNano), attributes: attributes(e.attributes),
  })),
  resource: { attributes: attributes(resource.attributes), asyncAttributesPending: false },
  instrumentationScope: { name: scope.name, version: scope.version },
  droppedAttributesCount: 0,
  droppedEventsCount: s.droppedEventsCount || 0,
  droppedLinksCount: s.droppedLinksCount || 0,
});

const spans = [];
for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
  for (const { resource, scopeSpans } of JSON.parse(line).resourceSpans) {
    for (const each of scopeSpans) {
      spans.push(...(each.spans || []).map((s) => span(s, resource, each.scope)));
    }
  }
}
fs.writeFileSync(out, ProtobufTraceSerializer.serializeRequest(spans));
