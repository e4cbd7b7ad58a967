# SPDX-License-Identifier: MIT
# eventring record --command-fifo: each command has one answer, and nothing blocks.
. "$TESTSUITE/tools/_tools.sh"

# asked COMMAND: the answer
asked() {
  local line
  echo "$1" >ctl
  IFS= read -r -t 10 line <&3 || line="no answer"
  echo "$line"
}

SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 3000000 --pause-us 20
mkfifo ctl
"$EVENTRING" record -q --command-fifo ctl,ack -o all.eventring "$pid" 2>errors.txt &
recorder=$!
for ((i = 0; i < 200; i++)); do
  [ -p ack ] && break
  sleep 0.02
done
[ -p ack ] || { kill "$pid"; fail "the recorder made no FIFO"; finish; }
exec 3<>ack

is "ping" "ok" "$(asked ping)"
has "status" "ok state=running events=" "$(asked status)"
has "status: file" "files=1 file=all.eventring" "$(asked status)"
is "switch" "ok all.eventring" "$(asked switch)"
"$EVENTRING" show all.eventring | grep -q ended || fail "switch: the file has not ended"
is "second switch" "ok all.2.eventring" "$(asked switch)"
is "snapshot" "ok copy.eventring" "$(asked "snapshot copy.eventring")"
"$EVENTRING" stats --json copy.eventring >stats.json || fail "snapshot: stats: status $?"
has "snapshot: exists" "error: " "$(asked "snapshot copy.eventring")"
has "snapshot: no name" "error: no FILE" "$(asked snapshot)"
is "pause" "ok" "$(asked pause)"
sleep 0.1
has "paused" "ok state=paused" "$(asked status)"
is "resume" "ok" "$(asked resume)"
is "disable" "ok" "$(asked "disable user")"
"$EVENTRING" control --status --json "$pid" >status.json
is "disabled" false "$(query status.json .classes.user)"
is "enable" "ok" "$(asked "enable user,gc")"
"$EVENTRING" control --status --json "$pid" >status.json
is "enabled" true "$(query status.json .classes.user)"
has "enable: unknown" "error: no class \`nonsense'" "$(asked "enable user,nonsense")"
has "enable: nothing" "error: no class is named" "$(asked enable)"
has "disable: lifecycle" "error: class \`lifecycle'" "$(asked "disable lifecycle")"
has "unknown" "error: no command \`fly'" "$(asked fly)"
has "unknown: blank" "error: no command" "$(asked "ping ")"
has "empty" "error: no command" "$(asked "")"
has "foreign bytes" 'error: no command `\x1B[31m' "$(asked $'\e[31m')"
is "too long" "error: the line is too long" "$(asked "$(printf '%010000d' 0)")"
has "zero" "error: " "$(printf 'pi\0ng\n' >ctl; IFS= read -r -t 10 line <&3; echo "$line")"
is "after that" "ok" "$(asked ping)"

# several in one write, and one in several
printf 'ping\nping\nfly\n' >ctl
for expected in ok ok error:; do
  IFS= read -r -t 10 line <&3
  has "in one write" "$expected" "$line"
done
exec 4>ctl
printf 'pi' >&4
sleep 0.1
printf 'ng\n' >&4
IFS= read -r -t 10 line <&3
is "in two writes" ok "$line"
exec 4>&-
is "stop" "ok all.3.eventring" "$(asked stop)"
wait $recorder || fail "stop: status $? $(cat errors.txt)"
[ ! -e ack ] && [ -p ctl ] || fail "the FIFOs at the end: $(ls -l ctl ack 2>&1)"
exec 3<&-
for f in all all.2 all.3; do
  "$EVENTRING" stats --json $f.eventring >stats.json || fail "$f: stats: status $?"
done

# nobody reads the answers: more of them than a FIFO holds, and the recording ends all the same
"$EVENTRING" record -q --command-fifo ctl,unread --seconds 30 -o unread.eventring "$pid" &
recorder=$!
for ((i = 0; i < 200; i++)); do
  [ -p unread ] && break
  sleep 0.02
done
for ((i = 0; i < 700; i++)); do
  echo "$(printf '%090d' "$i")"
done >ctl
echo stop >ctl
wait $recorder || fail "unread: status $?"
# without a FIFO for answers, of a program that is launched
"$EVENTRING" record -q --command-fifo only -o launched.eventring -- \
  "$PRODUCER" --rounds 100000 --pause-us 50 >/dev/null &
recorder=$!
for ((i = 0; i < 200; i++)); do
  [ -e launched.eventring ] && break
  sleep 0.02
done
printf 'snapshot launched-copy.eventring\nswitch\ndisable user\nstop\n' >only
wait $recorder || fail "launched: status $?"
for f in launched launched-copy launched.2; do
  "$EVENTRING" stats --json $f.eventring >stats.json || fail "$f: stats: status $?"
done
kill "$pid"
wait "$pid" 2>/dev/null

# ---- Words -----------------------------------------------------------------------------------

echo >file
ends 1 "it is no FIFO" "$EVENTRING" record -o x.eventring --command-fifo file 1
ends 1 "cannot open" "$EVENTRING" record -o x.eventring --command-fifo nowhere/ctl 1
ends 1 "" "$EVENTRING" record -o x.eventring --command-fifo new,new2 1
[ ! -e new ] && [ ! -e new2 ] && [ -e file ] || fail "FIFOs are left, or a file is gone"
finish
