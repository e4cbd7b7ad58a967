# SPDX-License-Identifier: MIT
"""Figures that have one name and differ, with the reason: kind of subject, figure, tools."""
import fnmatch

# The tool is as in a failure's line, with `:` for the blank.
EXCEPTIONS = """
total     gc_cpu_ns    sum:stats*         null if it is not known of a domain
recording last_ns      pauses:of:8*       of the events that it has read, those of the runtime
recording first_ns     pauses:of:8*       the same
counter-of-domain max  autopsy:memory*    of the newest domain of a slot, elsewhere of all
heap      *_objects    pprof*             each of its rows is rounded, and many are below one
event     count        dump               the reasons of collections are events in `stats`
event-of-domain count  dump               the same
"""

ROWS = [row.split(None, 3) for row in EXCEPTIONS.strip().split("\n") if row]


def excepted(kind, figure, tool):
    return any(fnmatch.fnmatchcase(kind, row[0]) and fnmatch.fnmatchcase(figure, row[1]) and
               fnmatch.fnmatchcase(tool.replace(" ", ":"), row[2]) for row in ROWS)
