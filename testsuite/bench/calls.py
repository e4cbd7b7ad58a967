# SPDX-License-Identifier: MIT
"""calls.py SAROS [WORD...]: instructions of calls of library functions, by callgrind.

Each row is the body of a loop, with arguments that vary from round to round. Of two runs
with different numbers of rounds the difference counts, less that of an empty loop. Beside
them lua5.4 and `luajit -joff`, where they are installed. WORDs choose rows that contain one
of them. The module saros.eventring has rows of its own: recorded, and paused.
"""
import os
import re
import shutil
import subprocess
import sys

ROUNDS = 20000

PRELUDE = """
local abs, floor, ceil, sqrt, max, min = math.abs, math.floor, math.ceil, math.sqrt, math.max, math.min
local byte, sub, char = string.byte, string.sub, string.char
local insert, unpack = table.insert, table.unpack or unpack
local texts = {} for i = 1, 64 do texts[i] = ("%x"):rep(i % 7 + 3):format(i, i + 1, i + 2, i, i, i, i, i, i) end
local values = {1, 1.5, "x", true, {}, print, false, 2}
local map = {} for i = 1, 64 do map[i] = i map["k" .. i] = i end
local function same(x) return x end
local function count(...) return select("#", ...) end
local function second(...) return (select(2, ...)) end
local mt = {__index = {}}
local sink = {}
"""

# the name, the body; x and s vary
ROWS = [
    ("math.abs(x)", "local y = math.abs(32 - x)"),
    ("type(x)", "local y = type(values[x % 8 + 1])"),
    ("math.floor(x)", "local y = math.floor(x * 0.37)"),
    ("math.floor(integer)", "local y = math.floor(x)"),
    ("math.ceil(x)", "local y = math.ceil(x * 0.37)"),
    ("math.sqrt(x)", "local y = math.sqrt(x)"),
    ("math.max(x, 20)", "local y = math.max(x, 20)"),
    ("math.min(x, 0.5)", "local y = math.min(x + 0.5, 20.5)"),
    ("string.byte(s, 2)", "local y = string.byte(s, 2)"),
    ("s:byte(2)", "local y = s:byte(2)"),
    ("string.sub(s, 2, 3)", "local y = string.sub(s, 2, 3)"),
    ("s:sub(x, x)", "local y = s:sub(x % 4, x % 4)"),
    ("#string.len", "local y = string.len(s)"),
    ("string.char(x)", "local y = string.char(x + 32)"),
    ("rawget(t, k)", "local y = rawget(map, x)"),
    ("rawlen(t)", "local y = rawlen and rawlen(map)"),
    ("rawequal(a, b)", "local y = rawequal(map, values[x % 8 + 1])"),
    ("next(t, k)", "local y = next(map, x)"),
    ("select('#', ...)", "local y = count(x, s, x)"),
    ("select(2, ...)", "local y = second(x, s, x)"),
    ("ipairs(t)", "local y = ipairs(map)"),
    ("pairs(t)", "local y = pairs(map)"),
    ("assert(x)", "local y = assert(x)"),
    ("getmetatable(t)", "local y = getmetatable(mt)"),
    ("setmetatable({}, mt)", "local y = setmetatable({}, mt)"),
    ("tostring(s)", "local y = tostring(s)"),
    ("tonumber(x)", "local y = tonumber(x)"),
    ("table.insert(t, x)", "table.insert(sink, x)"),
    ("table.unpack(t, 1, 2)", "local y, z = unpack(map, 1, 2)"),
    ("a Lua function", "local y = same(x)"),
]
SPANS = [
    ("begin_span, end_span", "b('frame') e('frame')"),
    ("counter", "c('bytes', x)"),
    ("event", "v('mark')"),
]


def instructions_of_program(command, program, environment):
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command, "-e", program],
        capture_output=True, text=True, env=os.environ | {"SAROS_HASH_SEED": "1"} | environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"calls.py: {' '.join(command)}: {done.stderr.strip().splitlines()[-1]}")
    return int(found.group(1))


def instructions(command, prelude, body, environment):
    """Of one run of the body, with what the loop itself takes. Of a recorded program the least
    of several runs counts: a tool that asks it for its stack meanwhile adds instructions."""
    counts = []
    for rounds in (ROUNDS, 2 * ROUNDS):
        program = f"{prelude} for i = 1, {rounds} do local x = i % 64 + 1 local s = texts[x] {body} end"
        counts.append(min(instructions_of_program(command, program, environment)
                          for _ in range(4 if environment else 1)))
    return (counts[1] - counts[0]) / ROUNDS


def print_table(title, systems, rows, prelude, environment):
    print(f"{title:28}" + "".join(f"{name:>12}" for name, _ in systems))
    empty = [instructions(command, prelude, "", environment) for _, command in systems]
    for name, body in rows:
        figures = [instructions(command, prelude, body, environment) - nothing
                   for (_, command), nothing in zip(systems, empty)]
        print(f"{name:28}" + "".join(f"{figure:12.0f}" for figure in figures), flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: calls.py SAROS [WORD...]")
    if not shutil.which("valgrind"):
        sys.exit("calls.py: no valgrind (Debian package: valgrind)")
    words = sys.argv[2:]
    chosen = [[row for row in rows if not words or any(word in row[0] for word in words)]
              for rows in (ROWS, SPANS)]
    systems = [("saros", [sys.argv[1]])]
    for name, command in (("lua5.4", ["lua5.4"]), ("luajit -joff", ["luajit", "-joff"])):
        if shutil.which(command[0]):
            systems.append((name, command))
    if chosen[0]:
        print_table("instructions a call", systems, chosen[0], PRELUDE, {})
    if chosen[1]:
        prelude = PRELUDE + "local ev = require 'saros.eventring' " \
            "local b, e, c, v = ev.begin_span, ev.end_span, ev.counter, ev.event "
        recorded = {"SAROS_EVENTRING_START": "1", "SAROS_EVENTRING_PREFIX": "/tmp",
                    "SAROS_EVENTRING_PRESERVE": "0"}
        print_table("recorded", systems[:1], chosen[1], prelude, recorded)
        print_table("paused", systems[:1], chosen[1], prelude + "ev.pause() ", recorded)
        print_table("not recorded", systems[:1], chosen[1], prelude, {})


main()
