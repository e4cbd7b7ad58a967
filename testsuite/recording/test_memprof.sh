# SPDX-License-Identifier: MIT
# SAROS_MEMPROF starts a recording with samples of allocations: each sampled block is freed
# at most once, promoted before it dies old, and never heard of before its allocation; what
# is recorded survives kill -9; a wrong rate is a warning.
. "$TESTSUITE/recording/_recording.sh"

cat >work.lua <<'EOF'
local kept = {}
for i = 1, tonumber(arg[1]) do
  local t = {i, name = "n" .. i, f = function() return i end}
  kept[i % 100 + 1] = t
  if i % 400 == 0 then collectgarbage "step" end
end
if arg[2] then io.open(arg[2], "w"):close() while true do kept[#kept + 1] = {} kept[#kept] = nil end end
EOF

# events of an ended recording: number of block by kind of event
events() {
  "$EVENTRING" dump --json "$1" >dump.json || fail "dump: status $?"
  jq -r 'select(.class == "alloc" and .kind == "event") |
    if .name == "alloc" then "alloc" else "\(.name) \(.value)" end' dump.json >events
}

n=$((4000 / TEST_SLOWNESS))
SAROS_MEMPROF=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_GROW=256M "$SAROS" work.lua $n ||
  fail "status $?"
file=$(echo *.eventring)
[ -e "$file" ] || fail "SAROS_MEMPROF started no recording"
events "$file"
allocs=$(grep -c '^alloc' events)
[ "$allocs" -gt $n ] || fail "$allocs samples of $n rounds"
is "blocks that die twice" "" "$(grep '^free_' events | cut -d' ' -f2 | sort | uniq -d | head -3)"
is "blocks that are promoted twice" "" \
  "$(grep '^promote' events | cut -d' ' -f2 | sort | uniq -d | head -3)"
[ "$(grep -c '^free_young' events)" -gt 0 ] || fail "nothing died young"
[ "$(grep -c '^promote' events)" -gt 0 ] || fail "nothing was promoted"
# every block is allocated before it meets its fate: blocks are numbered from 1 on
awk '$1 == "alloc" { n++ } $1 != "alloc" && $1 != "collected" && $2 > n { print; exit 1 }' events ||
  fail "a fate of a block that was not allocated"
awk '$1 == "promote" { old[$2] = 1 } $1 == "free_young" && old[$2] { print; exit 1 }' events ||
  fail "a promoted block died young"
rm -f "$file"

# off: no recording
SAROS_MEMPROF=off "$SAROS" work.lua 10 || fail "off: status $?"
is "files" "*.eventring" "$(echo *.eventring)"

# a wrong rate: the program runs on
for rate in -3 42 potato; do
  SAROS_MEMPROF=$rate "$SAROS" -e 'print "runs"' >out 2>err || fail "$rate: status $?"
  is "$rate" runs "$(cat out)"
  grep -q "rate" err || fail "$rate: the warning does not say what is wrong: $(cat err)"
done

# Domains that run already take up the rate that is asked for from outside, all of them, and one
# that begins later has it; each of them lets it go again.
cat >domains.lua <<'EOF'
local domain = require "saros.domain"
local function work()
  local function sampled(i) return {i, {i}} end
  local i = 0
  while not io.open "stop" do
    for _ = 1, 1000 do i = i + 1 sampled(i) end
    collectgarbage "step"
  end
end
local all = {domain.spawn({name = "first"}, work), domain.spawn({name = "second"}, work)}
io.open("begun", "w"):close()
while not io.open "more" do local t = {} end
all[3] = domain.spawn({name = "third"}, work)
for _, each in ipairs(all) do each:join() end
EOF
SAROS_EVENTRING_START=1 "$SAROS" domains.lua &
pid=$!
await $pid
until_so [ -e begun ] || fail "domains.lua does not begin"
sampled() { # DOMAIN: words of it that are sampled
  "$EVENTRING" heap --json --by domain $pid 2>/dev/null |
    jq --arg name "$1" '[.rows[] | select(.name == $name) | .allocated_samples] | add // 0'
}
is "sampled before" "" "$(sampled first)"
"$EVENTRING" control --memprof 0.5 $pid || fail "control --memprof: status $?"
has_samples() { [ "$(sampled "$1")" -gt 1000 ]; }
for name in first second; do until_so has_samples $name || fail "$name is not sampled"; done
touch more
until_so has_samples third || fail "a domain that begins later is not sampled"
"$EVENTRING" control --memprof off $pid || fail "control --memprof off: status $?"
rests() { local n; n=$(sampled "$1"); sleep 0.3; [ "$(sampled "$1")" = "$n" ]; }
for name in first second third; do until_so rests $name || fail "$name is sampled further on"; done
touch stop
wait $pid || fail "domains.lua: status $?"
rm -f ./*.eventring

# kill -9
SAROS_MEMPROF=0.1 "$SAROS" work.lua $n ready &
pid=$!
await $pid
for _ in $(seq 600); do
  [ -e ready ] && break
  sleep 0.1
done
kill -9 $pid
wait $pid 2>/dev/null
file=$pid.eventring
[ -e "$file" ] || fail "no file is left"
events "$file"
[ "$(grep -c '^alloc' events)" -gt 0 ] || fail "no sample is left after kill -9"
rm -f "$file"
finish
