# SPDX-License-Identifier: MIT
# `top` without a screen: which processes it shows, in which order, and that its figures are those of
# `pauses`, `stats` and /proc; processes that stand by, die meanwhile, or lose their file.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

top() { "$EVENTRING" top "$@" </dev/null; }
at_end="kill -KILL \$running 2>/dev/null; $at_end"
running=

# ---- figures --------------------------------------------------------------------------------
cat >work.lua <<'LUA'
local kept = {}
for i = 1, 200000 do kept[i % 5000] = { i } end
collectgarbage()
io.stdout:write "done\n" io.stdout:flush()
io.read()
LUA
mkfifo input

# begin: a process that has worked, and now waits for a line; sets `pid`
begin() {
  rm -f output
  SAROS_EVENTRING_START=1 "$SAROS" work.lua <input >output &
  pid=$!
  exec 3>input
  until_so grep -qs done output || fail "work.lua has not worked"
}
# agrees: `top` and the other commands say the same of it; false if it has worked for too long ago
agrees() {
  top --once --json $pid >top.json || fail "top: $?"
  "$EVENTRING" pauses --json $pid >pauses.json || fail "pauses: $?"
  "$EVENTRING" stats --json --seconds 0.1 $pid >stats.json || fail "stats: $?"
  [ "$(query top.json '.rows[0].longest_pause_ns')" = "$(query pauses.json .total.max_ns)" ]
}
for try in 1 2 3 4 5; do
  begin
  agrees && break
  exec 3>&-
  wait $pid
done
running="$running $pid"
is_same "the longest pause" "$(query pauses.json .total.max_ns)" "$(query top.json '.rows[0].longest_pause_ns')"
is_same "the heap" "$(query stats.json '[.counters[] | select(.name == "heap_words")][0].last * 8')" \
  "$(query top.json '.rows[0].heap_bytes')"
is_same "resident" "$(($(cut -d' ' -f2 /proc/$pid/statm) * $(getconf PAGESIZE)))" \
  "$(query top.json '.rows[0].resident_bytes')"
is "it has allocated, in the collector for a part of the time, and waits" 'true' \
  "$(query top.json '.rows[0] | .allocated_bytes_per_s > 0 and .gc_share > 0 and .gc_share < 1 and .cpu_share < 0.5')"
is "who it is" "[$pid,1,0,\"running\",\"live\"]" \
  "$(query top.json '.rows[0] | [.pid, .domains, .lost, .state, .liveness]')"
is "the first refresh has none before it" null "$(query top.json .interval_ns)"
"$EVENTRING" top --json-schema >schema.json || fail "schema: $?"
says_nothing "it is by the schema" python3 "$TESTSUITE/tools/_schema.py" schema.json top.json
top --once $pid >top.txt || fail "top --once: $?"
is "titles" "pid program CPU GC pause alloc/s heap resident" "$(echo $(sed -n 2p top.txt))"
is "a line" "$pid work.lua" "$(sed -n 3p top.txt | awk '{print $1, $2}')"

# ---- which, and in which order --------------------------------------------------------------
SAROS_EVENTRING_START=1 "$SAROS" -e 'while true do local t = {} end' &
busy=$!
SAROS_EVENTRING_START=standby "$SAROS" -e 'while true do local t = {} end' &
waits=$!
running="$running $busy $waits"
await $busy
await $waits
pids() { query "$1" '[.rows[].pid] | sort'; }
mine="[.rows[] | select(.pid == $pid or .pid == $busy or .pid == $waits) | .pid]"
top --once --json >all.json || fail "top of all: $?"
"$EVENTRING" list --json | jq -s -c '[.[] | select(.liveness == "live") | .pid] | sort' >listed
is "all that list finds, of these" "$(jq -c "[.[] | select(. == $pid or . == $busy or . == $waits)]" listed)" \
  "$(query all.json "$mine | sort")"
is "one that stands by" '["standby",null,null,null]' \
  "$(query all.json ".rows[] | select(.pid == $waits) | [.state, .gc_share, .heap_bytes, .longest_pause_ns]")"
top --once --json --by alloc $pid $busy $waits >by.json
is "by allocation" "$busy" "$(query by.json '.rows[0].pid')"
is "what is not known comes last" "$waits" "$(query by.json '.rows[-1].pid')"
top --once --json --by pid $waits $pid $busy >by.json
is "by pid" "$(pids by.json)" "$(query by.json '[.rows[].pid]')"
top --once --json --filter work.l $pid $busy $waits >filter.json
is "a part of a program" "[$pid]" "$(pids filter.json)"
top --once --json --filter nothing $pid >filter.json
is "of none" "[]" "$(pids filter.json)"
has "says so" "0 of 1 process" "$(top --once --filter nothing $pid)"
has "on standby" standby "$(top --once $waits)"

# ---- again and again ------------------------------------------------------------------------
top --json --interval 100ms --seconds 1 $busy >more.json || fail "top --seconds: $?"
is "refreshes" true "$(jq -s 'length >= 1 and length <= 11' more.json)"
is "of the time between" true "$(jq -s '.[1:] | all(.interval_ns > 0)' more.json)"
is "it is busy" true "$(jq -s '[.[].rows[0].cpu_share] | max > 0' more.json)"
is "nobody reads" 141 "$(set -o pipefail; top --interval 50ms --seconds 20 $busy | head -n 1 >/dev/null; echo $?)"
is "a full disk is an error" 1 "$(top --once $busy >/dev/full 2>/dev/null; echo $?)"

# ---- processes that go ----------------------------------------------------------------------
top --json --interval 100ms --seconds $PATIENCE $busy >dies.json &
reader=$!
until_so test -s dies.json || fail "top shows nothing"
kill -KILL $busy
wait $busy 2>/dev/null
wait $reader || fail "top of one that dies: $?"
is "the last line says it" dead "$(tail -n 1 dies.json | jq -r '.rows[0].liveness')"
is "until then it lived" true "$(jq -s '.[0].rows[0].liveness == "live"' dies.json)"

ends 1 "" "$EVENTRING" top --once 999999999
ends 1 "does not record" "$EVENTRING" top --once $$
ends 1 "" "$EVENTRING" top --once --json 999999999 $pid
is "the other one is shown" "[$pid]" "$(pids stdout.txt)"
ends 2 "at least 50ms" "$EVENTRING" top --interval 1ms
ends 2 "cannot launch" "$EVENTRING" top -- "$SAROS" work.lua
ends 2 "" "$EVENTRING" top --by nothing

# A file that is deleted: the process goes on in a new one, which has the row then.
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=gone "$SAROS" -e 'while true do local t = {} end' &
gone=$!
running="$running $gone"
await $gone
rm -f gone.eventring
until_so test -e gone.eventring || fail "it has not gone on in a new file"
is_there() {
  top --once --json >gone.json
  [ "$(query gone.json "[.rows[] | select(.pid == $gone) | [.liveness, .state]]")" = '[["live","running"]]' ]
}
until_so is_there || fail "it is not shown once: $(cat gone.json)"

# ---- names that a terminal would obey -------------------------------------------------------
evil=$'\e]0;x\a\e[31mred\x9b.lua'
echo 'io.read()' >"$evil"
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=evil "$SAROS" "$evil" <input &
foul=$!
running="$running $foul"
await $foul
top --once $foul >evil.txt || fail "top of a foul name: $?"
has "is shown" red "$(cat evil.txt)"
is "without control characters" "" "$(LC_ALL=C command grep -l $'[\x01-\x09\x0b-\x1f\x7f]' evil.txt)"
exec 3>&-
finish
