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
cat >shares.lua <<'END' # 70, 20 and 10 parts of the same work
local function busy(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function seventy() return (busy(7000000)) end
local function twenty() return (busy(2000000)) end
local function ten() return (busy(1000000)) end
for i = 1, 3 do seventy() twenty() ten() end
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
echo "inclusive time of 70, 20 and 10 parts of work:"
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 "$saros" shares.lua
"${EVENTRING:-eventring}" profile --top 0 ./*.eventring | grep -E "seventy|twenty|ten " | head -3
