// SPDX-License-Identifier: MIT
// describe.js: what a click in the timeline tells: {title, lines: [[label, text], ...], from, to,
// command, span}; and the smaller sections that it tells of.

// The text of a value, if there is one.
function textLine(label, texts, index) {
  return index >= 0 && texts[index] !== undefined && texts[index] !== null
      ? [[label, visibleText(texts[index])]] : [];
}

// A part of a length, if it is known.
function partLine(label, ns, length) {
  return ns >= 0 ? [[label, `${durationText(ns)} (${shareText(length > 0 ? ns / length : 0)})`]]
      : [];
}

// The command that shows [begin, end] of the page; null if it would run the program again.
function commandAt({grid, head}, name, begin, end) {
  return head.isProgram ? null
      : `eventring ${name} --since ${secondsText(begin + grid.offsetNs)} --until ${secondsText(end + 1 + grid.offsetNs)} ${head.file}`;
}

const FLAG_TEXTS = [[BEGIN_UNKNOWN, "its begin is not known"],
    [END_LOST, "its end was lost: it took at least so long"],
                    [STILL_OPEN, "it was still open at the end of the recording"]];

function describeSpan(page, texts, span) {
  const {head, grid} = page, {segment, row, track} = span, of = (key) => segment[key][row],
      [from, to, flags] = ["begin", "end", "flags"].map(of), length = to - from;
  const lines = [["length", (flags > 0 && flags & END_LOST ? "at least " : "") +
      durationText(length)], ["at", grid.moment(from)]];
  for (const [label, key] of [["own (not in spans within)", "own"], ["in the collector", "gc"],
      ["waiting", "waiting"], ["suspended", "suspended"], ["off CPU", "off_cpu"]])
    lines.push(...partLine(label, of(key), length));
  lines.push(...textLine("value", texts, of("value")));
  for (const [flag, text] of FLAG_TEXTS) if (flags > 0 && flags & flag) lines.push(["torn", text]);
  lines.push(["track",
      `${head.domainLabel(head.tracks[track].domain)}, ${head.trackLabel(track)}`]);
  return {title: head.label(of("name")), lines, from, to, span, command: commandAt(page, "dump",
      from, to)};
}

function describePause(page, pauses, row) {
  const {head, grid} = page, of = (key) => pauses[key][row], [from, to, length] = ["begin", "end",
      "length"].map(of), phases = listOf(pauses.phases[row]);
  const lines = [["length", durationText(length)], ["at", grid.moment(from)]];
  if (of("reason") >= 0) lines.push(["reason", head.explained(of("reason"))]);
  for (const key of ["span", "function"])
    if (of(key) >= 0) lines.push(["the program was in", head.label(of(key))]);
  for (const [label, key] of [["CPU", "cpu"], ["off CPU", "off_cpu"]])
    lines.push(...partLine(label, of(key), length));
  if (of("work") >= 0) lines.push(["work", bytesText(of("work"))]);
  for (let i = 0; i + 1 < phases.length; i += 2)
    lines.push(...partLine(`phase ${head.label(phases[i])}`, numberOf(phases[i + 1]), length));
  lines.push(["domain", head.domainLabel(of("domain"))]);
  return {title: `Pause: ${head.label(of("name"))}`, lines, from, to,
      command: commandAt(page, "pauses", from, to)};
}

function announceFound({title, lines}) {
  announce(`${title}. ${lines.map((line) => line.join(" ")).join(", ")}`);
}

// What holds for a piece of time.
function describePiece({grid}, title, from, to, lines, more) {
  return {title, from, to, lines: [["from", grid.moment(from)], ["to", grid.moment(to)], ...lines],
      ...more};
}

function describeCounter(page, counter, ns) {
  const {head, grid} = page, sizeNs = grid.cellNs * 2 ** counter.level,
      i = lowerBound(counter.cells, Math.floor(ns / sizeNs) + 1) - 1;
  if (i < 0) return null;
  const {unit, quantity} = head.name(counter.name), keys = ["last", "least", "most",
      ...(quantity === "difference" ? ["sum"] : [])];
  return describePiece(page, head.label(counter.name), counter.cells[i] * sizeNs,
      (counter.cells[i] + 1) * sizeNs,
    [...keys.map((key) => [key, quantityText(counter[key][i], unit)]),
    ["samples", countText(counter.samples[i])]]);
}

function describeFrame(page, stacks, lane, depth, ns) {
  const run = listOf(lane.rows[depth]).find(({first, last}) => first * lane.sizeNs <= ns &&
      last * lane.sizeNs > ns);
  return run ? describePiece(page, frameText(stacks, run.node, true), run.first * lane.sizeNs,
      run.last * lane.sizeNs, [["share of the samples there", `at most ${shareText(run.part)}`]])
      : null;
}

function describeCover(page, {cells, ns, began, sizeNs}, at) {
  const i = lowerBound(cells, Math.floor(at / sizeNs)), from = cells[i] * sizeNs;
  if (!(from <= at)) return null;
  return describePiece(page, "Spans that are not shown one by one", from, from + sizeNs,
    [["began there", began ? countText(began[i]) : "?"], ...partLine("ran", ns[i], sizeNs)],
    {command: commandAt(page, "dump", from, from + sizeNs)});
}

function describeLoss({grid}, {at, count, before}) {
  return {title: "Events were lost", lines: [["at", grid.moment(at)], ["events", countText(count)],
      ["when", before ? "before reading began" : "before they were read"]], from: at, to: at};
}

function describeInstant({grid, head}, texts, {at, name, value}, i) {
  return {title: head.label(name[i]), lines: [["at", grid.moment(at[i])], ["what", "an instant"],
      ...textLine("value", texts, value[i])], from: at[i], to: at[i]};
}

// ---- Smaller sections --------------------------------------------------------------------

// The steps of the collector by domain: {row, begin, end, latest}, or null.
function pausesByDomain(pauses, head) {
  const rows = head.domains.map(() => []);
  pauses.domain.forEach((domain, i) => { if (rows[domain]) rows[domain].push(i); });
  return rows.map((row) => {
    const [begin, end] = ["begin", "end"].map((key) => Float64Array.from(row,
        (i) => pauses[key][i]));
    return row.length > 0 ? {row, begin, end, latest: runningMost(end)} : null;
  });
}

function instantsOf(raw, head) {
  const byTrack = head.tracks.map(() => null);
  for (const part of listOf(recordOf(raw).tracks).map(recordOf)) if (part.track in byTrack)
    byTrack[part.track] = columns(part, ["at", "name", "value"]);
  return byTrack;
}

// Losses by track; one of a ring that has no track is shown at the first one of its domain.
function lossesOf(raw, head) {
  const byTrack = head.tracks.map(() => []),
      {domain, track, at, count, before} = columns(recordOf(raw),
      ["at", "domain", "track", "before"]), lost = column(recordOf(raw), "count", count);
  at.forEach((ns, i) => {
    const list = byTrack[track[i]] ||
        byTrack[head.tracks.findIndex((track) => track.domain === domain[i])];
    if (list) list.push({at: ns, count: lost ? lost[i] : 0, before: before[i] === 1});
  });
  return byTrack;
}

function linksOf(raw) {
  const {from, to, from_track, to_track} = columns(recordOf(raw),
      ["from", "to", "from_track", "to_track"]);
  return Array.from(from,
      (ns, i) => ({from: ns, to: to[i], fromTrack: from_track[i], toTrack: to_track[i]}));
}
