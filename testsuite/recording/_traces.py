# SPDX-License-Identifier: MIT
"""Reads what `eventring dump --json` writes by what doc/FORMAT.md says of trace context, and compares
it with what the program was told: lines of "domain name header", the header that it got while the
span `name` was the innermost one ("-": none was open, so that it is what was inherited).

    _traces.py TOLD DUMP...
"""
import json
import sys

NONE = "0" * 16


class Span:
    def __init__(self, event, outside, inherited):
        self.name, self.outside, self.inherited = event["name"], outside, inherited
        self.known = not event.get("synthetic")
        self.ids = None

    def trace(self):
        """Trace id and parent, of a span without ids, too; None: not known."""
        if self.ids:
            trace, _, parent = self.ids
            if parent == NONE and self.outside and self.outside.trace() \
                    and self.outside.trace()[0] == trace and self.outside.ids:
                parent = self.outside.ids[1]
            return trace, parent
        if self.outside:
            outer = self.outside.trace()
            return outer and (outer[0], self.outside.ids and self.outside.ids[1])
        return self.inherited and self.inherited[:2]


def read(lines):
    """All spans that had a begin, and what each context has inherited."""
    stacks, inherited, spans, found = {}, {}, [], []
    for line in lines:
        event = json.loads(line)
        if event.get("ring") != "user" or event["kind"] not in ("begin", "end", "event"):
            continue
        where = event["domain"], event["incarnation"], event.get("context", 0)
        stack = stacks.setdefault(where, [])
        if event["kind"] == "begin":
            stack.append(Span(event, stack[-1] if stack else None,
                              None if stack else inherited.get(where)))
            spans.append(stack[-1])
        elif event["kind"] == "end":
            for i in range(len(stack) - 1, -1, -1):
                if stack[i].name == event["name"]:
                    del stack[i]
                    break
        elif event["name"] == "trace":
            bytes_ = event["hex"]
            assert len(bytes_) == 66, event
            ids = bytes_[:32], bytes_[32:48], bytes_[48:64]
            assert ids[0] != "0" * 32 and ids[1] != NONE, event
            if stack:
                span = stack[-1]
                assert span.ids is None or span.ids == ids, (span.name, span.ids, ids)
                span.ids = ids
            else:
                assert ids[2] == NONE, event
                inherited[where] = ids
            found.append((ids, stack[-1].name if stack else "-"))
    return spans, found


def main(told, *dumps):
    spans, found = [], []
    for dump in dumps:
        with open(dump) as lines:
            more = read(lines)
        spans += more[0]
        found += more[1]
    names = {(ids[0], ids[1]): [] for ids, _ in found}
    for ids, name in found:
        names[ids[:2]].append(name)
    with open(told) as lines:
        for line in lines:
            name, header = line.split()
            version, trace, span, flags = header.split("-")
            assert (version, flags) == ("00", "01"), header
            assert (trace, span) in names, f"{name}: {header} is not in the recording"
            # the span itself, and those who inherited it
            assert set(names[trace, span]) <= {name, "-"} and name in names[trace, span], \
                (name, names[trace, span])
    # one id, one span (a loss makes two of one here)
    owners = {}
    for span in spans:
        if span.ids and owners.setdefault(span.ids[1], span) is not span:
            assert not span.known and owners[span.ids[1]].name == span.name, span.name
    for span in spans:
        trace = span.trace()
        print(span.name, *(["unknown"] if not trace else [trace[0][:4], "in",
              owners[trace[1]].name if trace[1] in owners else
              "-" if not trace[1] or trace[1] == NONE else "another"]))


main(*sys.argv[1:])
