# SPDX-License-Identifier: MIT
# Lines of samples. The hottest line of straight code, which the interpreter does not note by itself,
# is the line that counting instructions finds: in a plain program, in one with several domains or
# coroutines, and in one that records. The program notes lines only while it is sampled, and stops
# even if the sampler is killed.
. "$TESTSUITE/tools/_tools.sh"
profile() { timeout $PATIENCE "$EVENTRING" profile --hz 500 --by line "$@"; }

# Each program defines round(n); most of its work is in one line.
cat >straight.lua <<'END'
function round(n)
  local a, b = 1, 2
  for i = 1, n do
    a = a + 1
    b = b * 1.5; b = b / 2; b = b + 1; b = b * 0.9; b = b + 3; b = b - 2; b = b * 2; b = b / 3; b = b + a
    if a == 0 then b = 0 end
  end
  return b
end
END
cat >fields.lua <<'END'
local t = { x = 1, y = 2 }
function round(n)
  for i = 1, n do
    t.x = t.y
    t.y = i
    t.x = t.x + t.y; t.y = t.x - t.y; t.x = t.x & 1023; t.y = t.y | 1; t.x = t.x * 3; t.y = t.y // 7; t.x = t.x - t.y
    local z = t.x
  end
end
END
cat >while.lua <<'END'
function round(n)
  local k = n
  while k > 0 do
    local x = k * 3 + 1; x = x ~ 5; x = x & 255; x = x * x; x = x % 17; x = x // 2; x = x | 9; x = x - k
    k = k - 1
  end
end
END
cat >count.lua <<'END'
dofile(arg[1])
local counts, most, hottest = {}, 0
debug.sethook(function()
  local info = debug.getinfo(2, "Sl")
  local line = info.currentline
  if info.source == "@" .. arg[1] then counts[line] = (counts[line] or 0) + 1 end
end, "", 1)
round(1000)
debug.sethook()
for line, n in pairs(counts) do if n > most then hottest, most = line, n end end
print(hottest)
END
cat >run.lua <<'END'
local mode, file = arg[1], arg[2]
dofile(file)
if mode == "domains" then
  require "saros.domain".spawn(function(file)
    dofile(file)
    while true do round(10000) end
  end, file)
elseif mode == "coroutines" then
  coroutine.wrap(function()
    local inner = coroutine.wrap(function() while true do round(1000) coroutine.yield() end end)
    while true do inner() end
  end)()
end
while true do round(10000) end
END

start() {
  "$SAROS" run.lua "$@" &
  program=$!
  until_so is_there || fail "$*: it cannot be read"
}
is_there() { "$EVENTRING" stack $program >there.txt 2>&1 && grep -q round there.txt; }
stop() {
  kill $program
  wait $program 2>/dev/null
}
# hottest FILE: the line of the file with the most samples of its own
hottest() {
  query lines.json "[.rows[] | select(.source == \"$1\")] | max_by(.exclusive_ns) | .line"
}
# find FILE LINE WHAT: the hottest line of FILE is LINE, after some seconds at the latest, because
# the program obeys the request at a safepoint
find() {
  for _ in $(seq 10); do
    profile --seconds 1 --json $program >lines.json || fail "$3: $?"
    [ "$(hottest "$1")" = "$2" ] && break
  done
  is "$3: the hottest line" "$2" "$(hottest "$1")"
}

while read -r mode file; do
  start "$mode" "$file"
  find "$file" "$("$SAROS" count.lua "$file")" "$file, $mode"
  stop
done <<'END'
plain straight.lua
domains straight.lua
coroutines straight.lua
plain fields.lua
plain while.lua
END
SAROS_EVENTRING_START=1 start plain straight.lua
find straight.lua 5 "one that records"
stop

# a program that must not be asked is not asked, and the samples say so
SAROS_EVENTRING_REMOTE=0 start plain straight.lua
profile --seconds 1 --json $program >lines.json || fail "not to be asked: $?"
is "not to be asked: all are coarse" true "$(query lines.json '.loss.coarse as $coarse | $coarse > 0 and
  $coarse >= ([.rows[] | select(.source == "straight.lua") | .exclusive_ns] | add) / 2000000 and
  $coarse <= .total.samples')"
has "not to be asked" "an earlier one" "$(profile --seconds 1 $program | tr -s ' \n' ' ')"
stop

# for a profile by function the program is asked for nothing
start plain straight.lua
timeout $PATIENCE "$EVENTRING" profile --hz 500 --seconds 1 --json $program >functions.json
is "by function" null "$(query functions.json .loss.coarse)"

# await NOTED WHAT: whether the line of the innermost function is the one that was noted last
await() {
  for _ in $(seq $((PATIENCE * 10))); do
    "$EVENTRING" stack --json $program >stack.json
    noted=$(query stack.json '.rows[0].frames[0].line_noted')
    [ "$noted" = "$1" ] && break
    sleep 0.1
  done
  is "$2" "$1" "$noted"
}
await true "before"
"$EVENTRING" profile --hz 100 --by line --seconds $((3 * PATIENCE)) $program >sampled.txt & sampler=$!
await false "while lines are sampled"
kill -9 $sampler
wait $sampler 2>/dev/null
await true "after the sampler was killed"
"$EVENTRING" profile --hz 100 --by line --seconds $((3 * PATIENCE)) $program >sampled.txt & sampler=$!
await false "while another samples lines"
kill -INT $sampler
wait $sampler
await true "after it has ended"
stop
finish
