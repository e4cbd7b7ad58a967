# SPDX-License-Identifier: MIT
# eventring record: what was emitted is in the file, to the unit, whatever the writer; where
# events were lost, emitted = recorded + lost, in the file and in the summary.
. "$TESTSUITE/tools/_tools.sh"

WRITERS="threads aio serial"

# emitted RING: what each domain reported of a ring, and the sum, with the domain's own
# last event in ring runtime
emitted() {
  awk -v ring="$1" '$3 == ring { sum += $4 + (ring == "runtime") } END { print sum + 0 }' \
    producer.txt
}
total() { query "$1" "[.domains[].rings.$2.$3] | add"; }
sums() { query "$1" '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'; }

# whole WHAT FILE: all that was emitted is there
whole() {
  "$EVENTRING" stats --json "$2" >stats.json || fail "$1: stats: status $?"
  for ring in runtime user; do
    is_same "$1: $ring" "$(emitted $ring)" "$(total stats.json $ring delivered)"
    is "$1: $ring lost" 0 "$(total stats.json $ring lost)"
  done
}

# ---- Nothing lost -------------------------------------------------------------------------

for writer in $WRITERS; do
  for buffers in 1 4; do
    rm -f all.eventring
    SAROS_EVENTRING_WSIZE=20 "$EVENTRING" record -q -w "$writer" --buffers $buffers \
      --buffer-size 64K --strict -o all.eventring -- "$PRODUCER" --domains 3 --rounds 500 \
      --pause-us 10 --report >producer.txt || fail "record $writer: status $?"
    whole "$writer, $buffers buffers" all.eventring
  done
done

# from 1 round on: each number of events
for rounds in $(seq 1 $((TEST_SLOWNESS > 1 ? 20 : 127))); do
  rm -f few.eventring
  "$EVENTRING" record -q -o few.eventring -- "$PRODUCER" --rounds "$rounds" --report \
    >producer.txt || fail "$rounds rounds: status $?"
  whole "$rounds rounds" few.eventring
done

# ---- A process that runs already ------------------------------------------------------------

SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 50
"$EVENTRING" record --seconds 0.3 -o some.eventring "$pid" 2>errors.txt || fail "seconds: $?"
has "seconds: summary" "events in" "$(cat errors.txt)"
has "seconds: summary" "time is up" "$(cat errors.txt)"
"$EVENTRING" record -o stopped.eventring "$pid" 2>errors.txt &
recorder=$!
until_so shows stopped.eventring || fail "SIGINT: no file"
sleep 0.3
kill -INT $recorder
wait $recorder || fail "SIGINT: status $?"
has "SIGINT: summary" "stopped" "$(cat errors.txt)"
ends 1 "cannot create" "$EVENTRING" record -o some.eventring "$pid"
"$EVENTRING" record -q --seconds 0.1 -o /dev/null "$pid" || fail "/dev/null: $?"
"$EVENTRING" record --max-size 1M -o small.eventring "$pid" 2>errors.txt || fail "max-size: $?"
has "max-size: summary" "--max-size is reached" "$(cat errors.txt)"
[ "$(stat -c %s small.eventring)" -le 1048576 ] || fail "max-size: $(stat -c %s small.eventring)"
kill "$pid"
wait "$pid" 2>/dev/null
for file in some stopped small; do
  "$EVENTRING" stats --json $file.eventring >stats.json || fail "$file: stats: status $?"
  is "$file: sums" true "$(sums stats.json)"
  is "$file: nothing lost" 0 "$(query stats.json '[.domains[].rings[].lost] | add')"
  is "$file: something recorded" true \
    "$(query stats.json '[.domains[].rings[].delivered] | add > 0')"
  "$EVENTRING" dump $file.eventring >/dev/null || fail "$file: dump: status $?"
done

# ---- Losses ----------------------------------------------------------------------------------

SAROS_EVENTRING_WSIZE=11 "$EVENTRING" record --strict -w serial -o lossy.eventring -- \
  "$PRODUCER" --rounds 50 --flood 2000000 --report >producer.txt 2>errors.txt
is "strict: status" 1 $?
"$EVENTRING" stats --json lossy.eventring >stats.json || fail "lossy: stats: status $?"
is "lossy: sums" true "$(sums stats.json)"
is_same "lossy: emitted" "$(emitted user)" "$(total stats.json user emitted)"
lost=$(total stats.json user lost)
has "lossy: lost, in the summary" "$(echo "$lost" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') events lost" \
  "$(cat errors.txt)"
has "lossy: size" "SAROS_EVENTRING_WSIZE=" "$(cat errors.txt)"

# numbers that exist are passed over, from the first one on
touch taken.1.eventring
"$EVENTRING" record -q --keep 2 -o taken.eventring -- "$PRODUCER" --rounds 5 ||
  fail "taken number: status $?"
[ -s taken.2.eventring ] || fail "taken number: $(ls taken*)"

# ---- What is full already, what goes away -----------------------------------------------------

# Of rings that are full when a recorder comes, it takes no more at once than its files may have.
SAROS_EVENTRING_WSIZE=20 start --rounds 100000000
sleep 0.5
"$EVENTRING" record -q --max-size 1M -o least.eventring $pid || fail "max-size: status $?"
[ "$(stat -c %s least.eventring)" -le 1048576 ] || fail "max-size: $(stat -c %s least.eventring)"
"$EVENTRING" record -q --seconds 0.2 --rotate-size 2M --buffer-size 64K -o turns.eventring $pid ||
  fail "rotate-size: status $?"
[ "$(stat -c %s turns.1.eventring)" -le 2500000 ] || fail "rotate: $(stat -c %s turns.1.eventring)"
rm -f turns.*
"$EVENTRING" record -q -o gone.eventring $pid 2>errors.txt &
recorder=$!
until_so shows gone.eventring || fail "removed: no file"
rm gone.eventring
kill -HUP $recorder # as SIGTERM
wait $recorder
is "removed: status" 1 $?
has "removed: message" "was removed while it was written" "$(cat errors.txt)"
kill $pid
wait $pid 2>/dev/null

# A stream that the environment asks for is made as well.
SAROS_EVENTRING_STREAM=$PWD/elsewhere.eventring "$EVENTRING" record -q -o here.eventring -- \
  "$PRODUCER" --rounds 5 --report >producer.txt || fail "stream asked for: status $?"
whole "stream asked for" here.eventring
whole "stream asked for, itself" elsewhere.eventring
rm elsewhere.eventring

# ---- Priority ---------------------------------------------------------------------------------

# threads_with PRIORITY: how many threads of the recorder have that real-time priority
threads_with() {
  sed 's/.*) //' /proc/$recorder/task/*/stat | awk -v p="$1" '$38 == p && $39 == 1' | wc -l
}
start --rounds 1000000 --pause-us 200
"$EVENTRING" record -q --realtime 3 -o fast.eventring $pid 2>errors.txt &
recorder=$!
until_so shows fast.eventring || fail "realtime: no file"
fast=$(threads_with 3)
kill -INT $recorder
wait $recorder
status=$?
if [ $status -eq 0 ]; then
  is "realtime: threads that drain the rings" 1 "$fast"
else
  has "realtime: message" "recording goes on with the normal priority" "$(cat errors.txt)"
fi
# without the right to
if setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice true 2>/dev/null; then
  (ulimit -r 0; exec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$EVENTRING" \
    record -q --seconds 0.2 --realtime 3 -o slow.eventring $pid 2>errors.txt)
  is "realtime, refused: status" 1 $?
  has "realtime, refused" "--realtime 3: Operation not permitted; recording goes on" \
    "$(cat errors.txt)"
  is "realtime, refused: recorded" true "$("$EVENTRING" stats --json slow.eventring |
    jq '[.domains[].rings[].delivered] | add > 0')"
fi
kill $pid
wait $pid 2>/dev/null

# ---- Words -----------------------------------------------------------------------------------

ends 2 "no -o FILE" "$EVENTRING" record 1
ends 2 "not serial, threads or aio" "$EVENTRING" record -o x -w tape 1
ends 2 "--buffers" "$EVENTRING" record -o x --buffers 65 1
ends 2 "--realtime" "$EVENTRING" record -o x --realtime 100 1
ends 2 "--realtime" "$EVENTRING" record -o x --realtime 0 1
ends 2 "--seconds" "$EVENTRING" record -o x --seconds 0 1
ends 2 "not 1 to 19" "$EVENTRING" record -o x --zstd=0 1
ends 2 "--buffer-size" "$EVENTRING" record -o x --buffer-size 5M 1
ends 2 "number of bytes" "$EVENTRING" record -o x --max-size 1X 1

# ---- A stream as the source ---------------------------------------------------------------

# one that goes on being written, and those that have ended
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_STREAM=source.eventring start --domains 3 --rounds 4000 --pause-us 100 --report
"$EVENTRING" record -q --strict -o copy.eventring "$pid" || fail "live stream: status $?"
wait "$pid" || fail "producer of a stream"
whole "live stream" copy.eventring
for source in lossy.eventring copy.eventring source.eventring; do
  "$EVENTRING" record -q -o again.eventring $source || fail "$source again: status $?"
  "$EVENTRING" dump --json $source >first.txt
  "$EVENTRING" dump --json again.eventring | cmp -s - first.txt || fail "$source differs"
  rm -f again.eventring
done

# ---- A damaged source ----------------------------------------------------------------------

# a word of a block of events that is neither the first nor the last of its ring: the second one
# of the first unit with events of ring user
place=$(python3 - copy.eventring <<'EOF'
import struct, sys
data = open(sys.argv[1], "rb").read()
for unit in range(65536, len(data) - 65536, 65536):
    sequence, kind, _, ring = struct.unpack_from("<QHHB", data, unit + 4096)
    if sequence and kind == 1 and ring == 1:
        print(unit + 4096 + 2048)
        break
EOF
)
printf 'damage!!' | dd of=copy.eventring bs=1 seek="$place" conv=notrunc status=none
"$EVENTRING" record --json -o again.eventring copy.eventring >record.json 2>errors.txt
is "damaged source: status" 1 $?
has "damaged source: message" "1 damaged blocks of events" "$(cat errors.txt)"
is "damaged source: block" 1 "$(query record.json .damaged)"
is "damaged source: sums" true "$(query record.json '.emitted == .missed + .saved + .lost')"
"$EVENTRING" stats --json again.eventring >stats.json || fail "damaged source: stats: $?"
is_same "damaged source: lost" "$(query record.json .lost)" \
  "$(query stats.json '[.domains[].rings[].lost] | add')"
rm -f again.eventring
ends 1 "1 damaged blocks of events" "$EVENTRING" record -q -o again.eventring copy.eventring
rm -f again.eventring
ends 1 "1 damaged blocks of events" "$EVENTRING" cut -q --since 0 -o again.eventring copy.eventring
finish
