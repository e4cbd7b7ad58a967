// SPDX-License-Identifier: MIT
// format.js: figures and names as people read them, in the forms of the commands (analysis/figures.c).
// It is the first of the scripts, which are put together to one.
"use strict";

// Four significant digits of a value below 1000, with its unit.
function scaledText(value, unit) {
  const decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return `${value.toFixed(decimals)} ${unit}`;
}

function durationText(ns) {
  if (ns < 0) return "-" + durationText(-ns);
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 999950) return scaledText(ns / 1e3, "µs");
  if (ns < 999950e3) return scaledText(ns / 1e6, "ms");
  return scaledText(ns / 1e9, "s");
}

function countText(count) {
  if (typeof count === "string") return count.replace(/\B(?=(\d{3})+$)/g, ",");
  if (!Number.isInteger(count)) return String(Number(count.toPrecision(6)));
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function bytesText(bytes) {
  if (bytes < 0) return "-" + bytesText(-bytes);
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let value = bytes / 1024, unit = 0;
  for (; value >= 1023.95 && unit < 5; unit++) value /= 1024;
  return `${Number(value.toPrecision(4))} ${units[unit]}`;
}

function shareText(part) {
  return Number.isFinite(part) ? `${(100 * part).toFixed(2)} %` : "-";
}

// Of a moment that is `ns` after the start of the recording.
function momentText(ns) {
  const us = Math.floor(Math.abs(ns) / 1000);
  return `${ns < 0 ? "-" : ""}${Math.floor(us / 1e6)}.${String(us % 1e6).padStart(6, "0")} s`;
}

// The same for --since and --until: nothing is rounded.
function secondsText(ns) {
  const size = Math.abs(Math.round(ns));
  const rest = String(size % 1e9).padStart(9, "0").replace(/0+$/, "");
  return `${ns < 0 ? "-" : ""}${Math.floor(size / 1e9)}${rest ? "." + rest : ""}`;
}

function wallText(ns) {
  const time = new Date(Number(ns) / 1e6);
  return Number.isNaN(time.getTime()) ? `${ns} ns`
      : `${time.toLocaleString("sv")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

// Control characters, what turns the direction of text or has no width, and halves of
// surrogate pairs: a reader would not see them, or would see other text than there is.
const UNSEEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f" +
  "\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]" +
  "|\\p{Cs}", "gu");

function escapeOf(character) {
  const code = character.codePointAt(0), digits = code.toString(16);
  if (code < 256) return {9: "\\t", 10: "\\n", 13: "\\r"}[code] || "\\x" + digits.padStart(2, "0");
  return code < 65536 ? "\\u" + digits.padStart(4, "0") : `\\u{${digits}}`;
}

// A text from the data as it is shown: what cannot be seen is an escape.
function visibleText(text) {
  return String(text).replace(UNSEEN, escapeOf);
}

// A figure in a form of view.h. `startNs`: what moments count from, a BigInt.
function formText(form, value, startNs) {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object") return visibleText(JSON.stringify(value));
  if (typeof value === "string" && !/^-?\d+$/.test(value)) return visibleText(value);
  switch (form) {
    case "ns": return durationText(Number(value));
    case "moment": return Number(value) === 0 ? "-"
        : momentText(Number(BigInt(Math.trunc(Number(value))) - startNs));
    case "wall": return wallText(value);
    case "bytes": return bytesText(Number(value));
    case "words": return bytesText(8 * Number(value));
    case "share": return shareText(Number(value));
    case "change": return `${value < 0 ? "" : "+"}${(100 * value).toFixed(1)} %`;
    case "count": return countText(value);
    default: return typeof value === "number" && !Number.isInteger(value) ? countText(value)
        : visibleText(value);
  }
}

const NUMBER_FORMS = ["ns", "moment", "wall", "bytes", "words", "share", "change", "count"];

// What a figure of a quantity and unit looks like: a value of a counter.
function quantityText(value, unit) {
  if (unit === "words") return bytesText(8 * value);
  if (unit === "bytes") return bytesText(value);
  if (unit === "ns") return durationText(value);
  return countText(value) + (unit && unit !== "count" ? " " + visibleText(unit) : "");
}
