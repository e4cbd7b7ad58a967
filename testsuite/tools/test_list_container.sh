# SPDX-License-Identifier: MIT
# A process in a pid namespace of its own: `list` has the number that it has here, which
# the other commands take, and beside it the one that it has for itself.
. "$TESTSUITE/tools/_tools.sh"

namespaces=(unshare --user --map-root-user --pid --fork --mount-proc)
"${namespaces[@]}" true 2>/dev/null || { echo "user namespaces are not allowed here"; exit 77; }

SAROS_EVENTRING_START=1 "${namespaces[@]}" sh -c '"$0" "$@" >producer.txt & wait' \
  "$PRODUCER" --rounds 1000000 --pause-us 1000 &
container=$!
until_so eval 'ls ./*.eventring >/dev/null 2>&1' || fail "no recording"
inner=$(basename ./*.eventring .eventring)
init=$(pgrep -P $container) outer=$(pgrep -P "$init")
await "$outer"

"$EVENTRING" list --json >list.json || fail "list --json: $?"
mine='select(.path | test("'"$PWD"'/[0-9]+.eventring$"))'
is "its number here and there" "[$outer,$inner]" "$(query list.json "$mine | [.pid, .own_pid]")"
"$EVENTRING" list >list.txt || fail "list: $?"
is "as text" "$outer $inner live" \
  "$(sed 's/  */ /g; s/^ //' list.txt | grep -m 1 "^$outer " | cut -d' ' -f1-3 | tr -d ,)"
has "the heading" "own pid" "$(head -n 1 list.txt)"
for command in show "stats --seconds 0.1" "control --status"; do
  # shellcheck disable=SC2086
  is "$command of that number" "[$outer,$inner]" \
    "$("$EVENTRING" $command --json "$outer" | jq -c '[.pid, .own_pid]')"
  # shellcheck disable=SC2086
  has "$command as text" "$outer ($inner in its container)" "$("$EVENTRING" $command "$outer")"
done

# top finds it by itself, with what the system says of it here, and looks at it closely by that number
"$EVENTRING" top --once --json >top.json </dev/null || fail "top: $?"
is "top of all" "[$outer,$inner,true]" \
  "$(query top.json ".rows[] | select(.pid == $outer) | [.pid, .own_pid, .resident_bytes > 0]")"

# from inside the process has one number
cat >inside.sh <<'INSIDE'
  SAROS_EVENTRING_START=1 "$PRODUCER" --rounds 1000000 --pause-us 1000 >producer.txt &
  pid=$!
  until "$EVENTRING" show $pid >/dev/null 2>&1; do sleep 0.01; done
  "$EVENTRING" list --json >"$1"
  echo $pid
  kill $pid
INSIDE
export PRODUCER
mkdir inside
inside=$(cd inside && timeout $PATIENCE "${namespaces[@]}" sh ../inside.sh inside.json)
is "from inside" "[[$inside,$inside]]" \
  "$(jq -cs "[.[] | select(.path | test(\"/inside/\")) | [.pid, .own_pid]]" inside/inside.json)"
# and the one outside has none that it could be found by
(cd inside && "${namespaces[@]}" "$EVENTRING" list --json "$OLDPWD" >../out.json)
is "from another container" "[null,$inner]" \
  "$(query out.json 'select(.liveness == "live") | [.pid, .own_pid]')"
kill "$outer"
wait $container
finish
