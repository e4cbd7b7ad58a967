# SPDX-License-Identifier: MIT
# A process that hangs in a span: how long that has lasted so far is known, the same to each command,
# and a rule that it breaks fails. Of a process that died it is known that it lasted at least so
# long. What has not ended is `open` and counts nowhere else.
. "$TESTSUITE/tools/_tools.sh"

cat >hang.lua <<'LUA'
local eventring = require "saros.eventring"
eventring.span("quick", function() end)
eventring.begin_span "request"
eventring.async_begin("job", 7)
io.stdout:write "open\n" io.stdout:flush()
io.read()
LUA
mkfifo input
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=hang "$SAROS" hang.lua <input >output &
pid=$!
exec 3>input
await $pid
until_so grep -qs open output || fail "the span is not open"
sleep 0.3

# so_far COMMAND: what it says of the span, ns and whether it lasted at least so long
so_far() {
  case $1 in
    spans) "$EVENTRING" spans --json "$2" | jq -c '.open_spans[] | [.so_far_ns, .at_least]' ;;
    names) "$EVENTRING" spans --json "$2" |
             jq -c '.total.names[] | select(.name == "request") | [.so_far_ns, .at_least]' ;;
    autopsy) "$EVENTRING" autopsy --json "$2" |
               jq -c '.open_spans[] | select(.name == "request") | [.so_far_ns, .at_least]' ;;
    stats) "$EVENTRING" stats --json --seconds 0.01 "$2" |
             jq -c '.total.spans[] | select(.name == "request") | [.so_far_ns, .at_least]' ;;
    async) "$EVENTRING" stats --json --seconds 0.01 "$2" |
             jq -c '.total.async_spans[] | select(.name == "job") | [.so_far_ns, .at_least]' ;;
    dump) "$EVENTRING" dump --json "$2" |
            jq -c 'select(.kind == "open" and .name == "request") | [.so_far_ns, .at_least]' ;;
    check) "$EVENTRING" check --json -e 'max(request) < 1ns' "$2" | jq -c '.rows[] | [.value, .at_least]' ;;
    sql) "$EVENTRING" sql --json "$2" "select so_far_ns from spans where name = 'request'" |
           jq -c '[.rows[0].so_far_ns // .rows[0][0], null]' ;;
  esac
}
before=0
for command in spans names autopsy stats async dump check sql; do
  answer=$(so_far $command $pid)
  is "$command: at least 0.3 s, and no shorter than what was said before" true \
    "$(jq --argjson before $before '.[0] >= 300000000 and (.[0] > $before or $before == 0) and .[1] != true' <<<"$answer")"
  [ $command = async ] || before=$(jq '.[0]' <<<"$answer")
done
has "in text" "s so far" "$("$EVENTRING" spans $pid | grep -A2 '^Open: 1')"
has "in an autopsy" "so far" "$("$EVENTRING" autopsy --brief $pid | grep ' request ')"
has "in stats" "so far" "$("$EVENTRING" stats --seconds 0.01 $pid | grep ' request ')"
is "no time of what has not ended" "request 0 - - - - 1" \
  "$("$EVENTRING" spans $pid | awk '$1 == "request" {$1 = $1; print}')"

# rules that it breaks already, and those that it does not
ends 3 "" "$EVENTRING" check -e 'span("request") < 100ms' $pid
has "how long" "so far" "$(cat stdout.txt)"
for rule in 'max(request) < 100ms' 'p99(request) <= 100ms' 'mean(request) < 100ms' \
            'sum(request) < 100ms' 'max(job) < 100ms' 'min(request) < 100ms' \
            'last(request) < 100ms' 'max(request) == 1ms' 'span("request") == 1ms'; do
  ends 3 "" "$EVENTRING" check -e "$rule" $pid
done
ends 0 "" "$EVENTRING" check -e 'span("request") < 1000s; count(request) == 0; count(quick) == 1; max(quick) < 1000s; min(request) < 1000s' $pid
ends 0 "" "$EVENTRING" check -e 'max(request) == 1000s; last(request) <= 1000s' $pid
# what waits for a span that is too long need not wait for its end
timeout $PATIENCE "$EVENTRING" record -q --on 'span("request") > 1ms' --seconds 0.01 -o found.eventring $pid ||
  fail "record --on: $?"
[ -e found.eventring ] || fail "record --on has not seen the open span"

# a process in which nothing happens is watched all the same
watched=$("$EVENTRING" stats --json --seconds 0.3 --from-now $pid | jq .total.watched_ns)
[ "$watched" -ge 300000000 ] || fail "an idle process was watched for $watched ns"

# killed: at least until the last that it wrote
"$EVENTRING" snapshot -o copy.eventring $pid >snapshot.txt || fail "snapshot: $?"
kill -9 $pid
wait $pid 2>wait.txt
for command in spans names autopsy stats dump check; do
  is "$command of a dead one" true "$(so_far $command hang.eventring | jq '.[1]')"
  is "$command of a copy" "$(so_far spans copy.eventring)" "$(so_far $command copy.eventring)"
done
has "in text" "at least" "$("$EVENTRING" dump hang.eventring | grep '| request')"

# rules that hold because of it, where what has ended is too short
cat >longer.lua <<'LUA'
local eventring = require "saros.eventring"
eventring.span("mixed", function() end)
eventring.begin_span "mixed"
os.execute "sleep 0.2"
eventring.event "it lives"
os.execute "kill -9 $PPID"
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=longer "$SAROS" longer.lua 2>errors.txt
for rule in 'max(mixed) > 100ms' 'sum(mixed) >= 100ms' 'mean(mixed) > 50ms' 'p99(mixed) > 100ms' \
            'last(mixed) > 100ms'; do
  ends 0 "" "$EVENTRING" check -e "$rule" longer.eventring
done
for rule in 'min(mixed) > 100ms' 'span("mixed") > 100ms' 'max(mixed) > 1000s' 'count(mixed) > 1' \
            'last(mixed) < 100ms'; do
  ends 3 "" "$EVENTRING" check -e "$rule" longer.eventring
done

# a part: until its end
cat >late.lua <<'LUA'
local eventring = require "saros.eventring"
eventring.begin_span "outer"
for i = 1, 3 do eventring.span("inner", function() os.execute "sleep 0.1" end) end
eventring.end_span "outer"
LUA
SAROS_EVENTRING_STREAM=late.eventring "$SAROS" late.lua || fail "late.lua"
for command in spans stats; do
  is "$command of a part" '[["inner",0,1],["outer",0,1]]' "$("$EVENTRING" $command --json --until 50ms late.eventring |
    jq -c '[(.total.names // .total.spans)[] | select(.name == "inner" or .name == "outer") |
      [.name, .count, .open]] | sort')"
done
exec 3>&-
finish
