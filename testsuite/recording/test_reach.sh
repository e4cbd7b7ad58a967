# SPDX-License-Identifier: MIT
# How far back a recording reaches: rings grow as SECONDS and GROW say, and as `control --hold`
# says while the program runs; stats, show and cursor:info() say how far. Bad settings are
# refused by name.
. "$TESTSUITE/recording/_recording.sh"

cat >flood.lua <<'LUA'
local eventring = require "saros.eventring"
local function flood(n)
  for i = 1, n do eventring.counter("i", i) end
end
flood(tonumber(arg[1]))
if arg[2] then
  io.stdout:write("ready\n")
  io.stdout:flush()
  io.read()
  flood(tonumber(arg[2]))
end
LUA

cat >info.lua <<'LUA'
local cursor = assert(require("saros.eventring").cursor{path = arg[1]})
cursor:poll{}
local info = cursor:info()
print(info.complete_ns == info.start_ns and "all" or "part")
LUA

# user FIELD: of the user ring, from stats --json
user() { jq ".domains[0].rings.user | $1" stats.json; }
# holds FILE: what stats and show say of it, and the guest's cursor
holds() {
  "$EVENTRING" stats --json "$1" >stats.json || fail "stats $1"
  "$EVENTRING" stats "$1" | awk '/^Rings/ {on = 1} on && $1 == "user" {print $NF}' >holds.txt
  "$EVENTRING" show "$1" | awk '/^Rings/ {on = 1} on && $2 == "user" && $NF !~ /^[0-9,]+$/ {print $NF}' >>holds.txt
  "$SAROS" info.lua "$1" >>holds.txt
  # a duration ends with its unit
  sed 's/^\(ms\|µs\|us\|s\)$/part/' holds.txt | xargs
}
# record NAME VARIABLE=VALUE...: 60,000 counters, 240 blocks
record() {
  local name=$1
  shift
  env SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME="$name" "$@" \
    "$SAROS" flood.lua 60000 || fail "$name"
}

record fixed SAROS_EVENTRING_WSIZE=11
is "WSIZE alone is all that there is" "part part part" "$(holds fixed.eventring)"
[ "$(user .available)" -lt 2000 ] || fail "a ring of 4 blocks holds $(user .available)"
record grown SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_SECONDS=1000
is "all is there" "all all all" "$(holds grown.eventring)"
is "nothing was overwritten" 60000 "$(user .delivered)"
record limited SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_SECONDS=1000 SAROS_EVENTRING_GROW=256K
is "GROW limits it" "part part part" "$(holds limited.eventring)"
[ "$(user .available)" -gt 2000 ] && [ "$(user .available)" -lt 20000 ] ||
  fail "a ring of 16 blocks holds $(user .available)"
record default ANY=1
is "the default holds ten seconds" "all all all" "$(holds default.eventring)"
is "and begins with 64 blocks" 64 "$("$EVENTRING" show --json default.eventring | jq .blocks)"
is "ten seconds" 10000000000 "$("$EVENTRING" show --json default.eventring | jq .hold_ns)"
record off SAROS_EVENTRING_SECONDS=0
is "SECONDS=0: 64 blocks" "part part part" "$(holds off.eventring)"
record none SAROS_EVENTRING_GROW=0
is "GROW=0: 64 blocks" "part part part" "$(holds none.eventring)"

# ---- While it runs

mkfifo go
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=11 \
  SAROS_EVENTRING_NAME=later "$SAROS" flood.lua 20000 20000 <go >output.txt &
pid=$!
exec 3>go
until_so grep -qs ready output.txt || fail "no flood"
"$EVENTRING" control --hold 1000 $pid || fail "control --hold: $?"
is "the wish is in the file" 1000000000000 "$("$EVENTRING" show --json $pid | jq .hold_ns)"
echo >&3
exec 3>&-
wait $pid || fail "the program: $?"
holds later.eventring >/dev/null
[ "$(user .available)" -gt 4000 ] || fail "it did not grow: $(user .available) events"
is "emitted" 40000 "$(user '.delivered + .missed')"
is "of a dead recording" 1 "$("$EVENTRING" control --hold 5 later.eventring 2>error.txt; echo $?)"
has "of a dead recording" "no live process" "$(cat error.txt)"

# ---- Bad settings

for bad in SECONDS=x SECONDS=-1 SECONDS=1e9 SECONDS=86401 SECONDS=1.0000000001 GROW=x GROW=1T \
           GROW=-1 GROW=9999999G; do
  out=$(env SAROS_EVENTRING_START=1 "SAROS_EVENTRING_$bad" "$SAROS" -e 'print "ran"' 2>&1)
  has "$bad is named" "SAROS_EVENTRING_$bad: must be" "$out"
  has "$bad: the program runs" "ran" "$out"
done
finish
