#!/bin/sh
# SPDX-License-Identifier: MIT
# What a profile of calls costs a program: its run time with SAROS_PROFILE=calls against
# without, in turn; the second row is the A/A control.
#
#   profile.sh SAROS [ROUNDS]
saros=$1 rounds=${2:-5}
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
cat >fib.lua <<'END'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local begin = os.clock()
fib(27)
print(os.clock() - begin)
END
cat >strings.lua <<'END'
local begin = os.clock()
local t = {}
for i = 1, 300000 do t[i % 100] = string.format("%d:%s", i, tostring(i):rep(2)) end
print(os.clock() - begin)
END
cat >shares.lua <<'END'
local function busy(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function recurse(n) if n < 2 then return n end return recurse(n - 1) + recurse(n - 2) end
local parts = {
  {"seventy", function() busy(7000000) end},
  {"twenty", function() busy(2000000) end},
  {"ten", function() busy(1000000) end},
  {"recursion", function() recurse(22) end},
  {"coroutines", function()
    local co = coroutine.wrap(function() while true do busy(500) coroutine.yield() end end)
    for i = 1, 3000 do co() busy(500) end
  end},
  {"natives", function() local s = ("x"):rep(2000) for i = 1, 3000 do s:find("y", 1, true) s:rep(20) end end},
  {"collector", function() for i = 1, 100000 do local t = {{}, {}} end collectgarbage() end},
}
local profile, clock = require "saros.profile", os.clock
local p = profile.start {cpu = true}
local own, all = {}, 0
for round = 1, 3 do
  for i, part in ipairs(parts) do
    local begin = clock()
    part[2]()
    own[i] = (own[i] or 0) + clock() - begin
  end
end
local report, times, sum = p:stop():report(), {}, 0
local lines = {}
for i, part in ipairs(parts) do
  all = all + own[i]
  lines[debug.getinfo(part[2], "S").linedefined] = i
end
for _, row in ipairs(report.rows) do
  local i = row.source:find "shares.lua" and lines[row.line]
  if i then times[i] = row.inclusive sum = sum + row.inclusive end
end
print("share of CPU time, %:  by itself  profile  difference")
for i, part in ipairs(parts) do
  local a, b = own[i] / all * 100, times[i] / sum * 100
  print(("  %-20s %9.2f %9.2f %9.2f"):format(part[1], a, b, b - a))
end
END
cat >calls.lua <<'END' # ns of a call and return
local function leaf() end
local clock, N = os.clock, 3000000
local function run() local begin = clock() for i = 1, N do leaf() end return (clock() - begin) / N * 1e9 end
run()
print(run())
END
row() { # PROGRAM VARIABLE-OF-THE-SECOND
  for i in $(seq "$rounds"); do
    a=$("$saros" "$1") b=$(SAROS_PROFILE=$2 SAROS_EVENTRING_START=0 "$saros" "$1")
    echo "$a $b"
  done | awk '{ print $2 / $1 }' | sort -n |
    awk -v name="$1 ${2:-(A/A)}" '{ r[NR] = $1 } END { printf "  %-24s %6.2f %7.2f\n", name, r[1], r[int((NR + 1) / 2)] }'
}
echo "run time, times that without a profile:    min  median"
for program in fib.lua strings.lua; do
  row $program ""
  row $program calls
  row $program calls,cpu
done
ns() { for i in $(seq "$rounds"); do env $1 "$saros" calls.lua; done | sort -n | head -1; }
plain=$(ns A=a) control=$(ns A=a)
profile=$(ns "SAROS_PROFILE=calls SAROS_EVENTRING_START=0")
spans=$(ns "SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=+calls")
echo "a call and its return, ns, min of $rounds; what is added:"
echo "$plain $control $profile $spans" |
  awk '{ printf "  plain %.1f (A/A %.1f)  profile +%.1f  spans of class calls +%.1f\n", $1, $2, $3 - $1, $4 - $1 }'
"$saros" shares.lua
