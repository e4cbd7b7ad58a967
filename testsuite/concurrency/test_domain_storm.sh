# SPDX-License-Identifier: MIT
# Thousands of domains begin and end, channels are closed at random moments, while two
# readers within the process and two outside attach, read and detach: nothing crashes,
# every domain's end is reported, and every event is accounted for to the unit.
# The seed is printed; STORM_SEED runs it again. (The runner's stage for ThreadSanitizer
# runs this, too.)
. "$TESTSUITE/recording/_recording.sh"

seed=${STORM_SEED:-$RANDOM}
spawns=${STORM_SPAWNS:-$((3000 / TEST_SLOWNESS))}
echo "STORM_SEED=$seed STORM_SPAWNS=$spawns"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=11

"$SAROS" "$TESTSUITE/concurrency/_storm.lua" "$spawns" "$seed" >storm.txt 2>storm.err &
pid=$!
await $pid

# While it goes on, more may be emitted than a reader that leaves has seen; of what has
# ended, nothing is missing.
overdrawn='[.domains[].rings[] | select(.emitted < .delivered + .lost + .missed)]'
accounted='[.domains[].rings[] | select(.emitted != .delivered + .lost + .missed)]'
reader() { # NUMBER
  local n=0
  while kill -0 $pid 2>/dev/null; do
    "$EVENTRING" stats --json --seconds 0.2 $pid >"live$1.json" 2>"live$1.err" || break
    jq -c "$overdrawn | .[]" "live$1.json" >>wrong.txt
    n=$((n + 1))
  done
  echo $n >"reader$1.txt"
}
reader 1 &
one=$!
reader 2 &
two=$!
wait $pid
is "status of the storm" 0 $?
wait $one $two
cat storm.txt storm.err
is "all spawned" 1 "$(grep -c "^spawned $spawns failed" storm.txt)"
is "warnings of races" 0 "$(grep -c 'ThreadSanitizer' storm.err)"
[ -s wrong.txt ] && fail "unaccounted for: $(cat wrong.txt)"
[ "$(cat reader1.txt reader2.txt | sort -n | head -n 1)" -gt 0 ] || fail "a reader never read"

# The file that is left: slots were used again and again, each event belongs to one incarnation.
file=$(echo ./*.eventring)
"$EVENTRING" stats --json "$file" >whole.json || fail "stats of the file"
is "every event of the file accounted for" "[]" "$(jq -c "$accounted" whole.json)"
finish
