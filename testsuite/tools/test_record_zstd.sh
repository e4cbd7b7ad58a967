# SPDX-License-Identifier: MIT
# eventring record --zstd: a compressed recording reads like another one, from any place, at any
# moment, and whatever happens to its writer.
. "$TESTSUITE/tools/_tools.sh"

"$EVENTRING" record -q --zstd -o probe.eventring -- "$PRODUCER" --rounds 1 2>errors.txt || {
  grep -q "not in this build" errors.txt && { cat errors.txt; exit 77; }
  fail "probe: $(cat errors.txt)"
}

KILLS=${RECORD_KILLS:-$((TEST_SLOWNESS > 1 ? 4 : 12))}

sums() { query "$1" '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'; }

# magic FILE: what it begins with
magic() { head -c 8 "$1" | tr -cd '[:alnum:]'; }

# sound WHAT FILE: reads without damage, and its sums hold; stats.json is of it
sound() {
  "$EVENTRING" stats --json "$2" >stats.json 2>errors2.txt || fail "$1: status $?"
  is "$1: no message" "" "$(cat errors2.txt)"
  is "$1: sums" true "$(sums stats.json)"
}

# comparable FILE: statistics without what depends on when the copy was made: of the newest block,
# the total of the spans is counted with the fewest ticks that are possible at that moment
comparable() { query "$1" 'del(.path, .recorded[].total_ns)'; }

# ---- The same as without it --------------------------------------------------------------------

# Two recorders of one process, whose rings hold all that it writes.
for how in "--zstd=1" "--zstd --zstd-threads 1 -w serial" "--zstd=19 --zstd-threads 3 -w aio" \
           "--zstd --buffers 1 --buffer-size 4M" "--zstd --buffers 64 --buffer-size 64K"; do
  rm -f ./*.eventring ./*.json
  SAROS_EVENTRING_WSIZE=20 start --domains 3 --rounds 3000 --pause-us 100 --extras
  # shellcheck disable=SC2086
  "$EVENTRING" record --strict $how -o packed.eventring "$pid" 2>errors.txt &
  packer=$!
  "$EVENTRING" record -q --strict -o plain.eventring "$pid" &
  recorder=$!
  wait "$pid"
  wait $packer || fail "$how: status $? $(cat errors.txt)"
  wait $recorder || fail "$how: plain: status $?"
  is "$how: magic" EVRPAK "$(magic packed.eventring)"
  is "$how: plain magic" EVRING "$(magic plain.eventring)"
  for file in packed plain; do
    "$EVENTRING" dump --json $file.eventring >$file.json || fail "$how: dump $file: status $?"
    "$EVENTRING" dump $file.eventring >$file.txt || fail "$how: dump $file: status $?"
    "$EVENTRING" stats --json $file.eventring >$file-stats.json || fail "$how: stats: status $?"
  done
  cmp packed.json plain.json || fail "$how: the dumps differ (JSON)"
  cmp packed.txt plain.txt || fail "$how: the dumps differ"
  is_same "$how: stats" "$(comparable plain-stats.json)" "$(comparable packed-stats.json)"
  "$EVENTRING" show --json packed.eventring >show.json || fail "$how: show: status $?"
  is "$how: 500 blocks and more" true "$(query show.json '.blocks_claimed > 500')"
  is "$how: sizes" true "$(query show.json \
    '.plain_size >= 65536 + 4096 * .blocks_claimed and .file_size * 2 < .plain_size')"
  is_same "$how: file size" "$(stat -c %s packed.eventring)" "$(query show.json .file_size)"
done

# heads FILE: packets that have nothing but the first two blocks of units, and those that have such
# blocks besides others (of records, or of events)
heads() {
  python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, heads, mixed = 64, 0, 0
while at + 64 <= len(data):
    magic, _, _, extents, _, frame = struct.unpack_from("<8sQQIII", data, at)
    if magic != b"\x89EVRPKT\n":
        at += 64
        continue
    places = [struct.unpack_from("<QI", data, at + 64 + 16 * i) for i in range(extents)]
    if all(offset >= 65536 for offset, size in places):
        within = [((offset - 65536) % 65536, size) for offset, size in places]
        are_heads = [first + size <= 8192 for first, size in within]
        have_heads = [first < 8192 for first, size in within]
        heads += all(are_heads)
        mixed += any(have_heads) and not all(are_heads) and extents > 1
    at = (at + 64 + 16 * extents + frame + 63) // 64 * 64
print(heads, mixed)
END
}
# Who opens the file unpacks the packets with the begins of its units, and few others.
SAROS_EVENTRING_WSIZE=20 "$EVENTRING" record -q --strict --zstd --buffer-size 64K -o heads.eventring -- \
  "$PRODUCER" --domains 3 --rounds 3000 --extras 2>errors.txt || fail "heads: status $?"
read -r heads mixed <<<"$(heads heads.eventring)"
[ "$heads" -ge 10 ] || fail "heads: $heads packets have the begins of units alone, and $mixed not"
[ "$mixed" -le 3 ] || fail "heads: $mixed packets have the begins of units besides others"
has "show" "compressed" "$("$EVENTRING" show packed.eventring)"
is "show of a plain one" 0 "$("$EVENTRING" show plain.eventring | grep -c compressed)"
has "list" "stopped" "$("$EVENTRING" list . | grep packed)"
"$EVENTRING" snapshot -o unpacked.eventring packed.eventring || fail "snapshot: status $?"
is "snapshot: magic" EVRING "$(magic unpacked.eventring)"
"$EVENTRING" dump unpacked.eventring >unpacked.txt || fail "dump of the snapshot: status $?"
cmp packed.txt unpacked.txt || fail "the snapshot differs"
# parts of it, from any place
for part in "--last 0.01" "--only-domain 1" ; do
  # shellcheck disable=SC2086
  "$EVENTRING" dump $part packed.eventring >packed.txt 2>/dev/null
  # shellcheck disable=SC2086
  "$EVENTRING" dump $part plain.eventring >plain.txt 2>/dev/null
  cmp packed.txt plain.txt || fail "dump $part: they differ"
done
before=$(sha256sum <packed.eventring)
ends 1 "compressed copy" "$EVENTRING" control --pause packed.eventring
is "control has changed nothing" "$before" "$(sha256sum <packed.eventring)"

# ---- Damage -------------------------------------------------------------------------------------

# flip FILE OFFSET: changes a byte
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $((byte ^ 85)))" |
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
"$EVENTRING" stats --json packed.eventring >whole.json
size=$(stat -c %s packed.eventring)
reported=0
for ((i = 1; i < 20; i++)); do
  cp packed.eventring damaged.eventring
  flip damaged.eventring $((size * i / 20))
  "$EVENTRING" stats --json damaged.eventring >stats.json 2>errors.txt
  status=$?
  if [ $status -ne 0 ]; then
    is "damage: status" 1 $status
    has "damage: place" "the compressed file is damaged at offset" "$(cat errors.txt)"
    is "damage: sums" true "$(sums stats.json)"
    is "damage: the rest is read" true \
      "$(query stats.json '[.domains[].rings[].delivered] | add > 0')"
    reported=$((reported + 1))
  fi
done
[ $reported -ge 10 ] || fail "only $reported of 19 damaged files were reported"

# cut off at any place: what was written before is there, or it is no recording yet
for ((i = 1; i < 20; i++)); do
  head -c $((size * i / 20 + i)) packed.eventring >cut.eventring
  "$EVENTRING" stats --json cut.eventring >stats.json 2>errors.txt ||
    grep -q "not an eventring file" errors.txt || fail "cut: $(cat errors.txt)"
done
flip damaged.eventring 9
ends 1 "does not know" "$EVENTRING" dump damaged.eventring
cp packed.eventring damaged.eventring
flip damaged.eventring 40
ends 1 "header of the compressed file is damaged" "$EVENTRING" dump damaged.eventring
"$EVENTRING" clean packed.eventring >/dev/null 2>&1
rm -f ./*.eventring

# ---- Read while it is written ----------------------------------------------------------------------

SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 4000 --pause-us 200
"$EVENTRING" record -q --zstd --buffer-size 64K -o live.eventring "$pid" &
recorder=$!
until_so shows live.eventring || fail "live: no file"
"$EVENTRING" stats --json --seconds 10m live.eventring >followed.json 2>errors.txt &
follower=$!
seen=0
for ((i = 0; i < 10; i++)); do
  "$EVENTRING" snapshot -o now.eventring live.eventring || fail "live: snapshot: status $?"
  sound "live, round $i" now.eventring
  now=$(query stats.json '[.domains[].rings[].emitted] | add // 0') # nothing may be saved yet
  [ "$now" -ge "$seen" ] || fail "live: $now events after $seen"
  seen=$now
  rm now.eventring
  sleep 0.05
done
[ "$seen" -gt 0 ] || fail "live: no event was seen"
wait "$pid"
wait $recorder || fail "live: status $?"
wait $follower || fail "live: follower: status $? $(cat errors.txt)"
sound live live.eventring
is_same "live: followed to its end" "$(counts_of stats.json)" "$(counts_of followed.json)"
rm -f ./*.eventring

# ---- Killed ---------------------------------------------------------------------------------------

readable=0
for ((i = 0; i < KILLS; i++)); do
  SAROS_EVENTRING_WSIZE=14 start --domains 3 --rounds 300000 --pause-us 1
  "$EVENTRING" record -q --zstd=1 --buffer-size 64K -o killed.eventring "$pid" &
  recorder=$!
  # at any moment, and every other time surely not before there is a file
  [ $((i % 2)) -eq 0 ] || until_so shows killed.eventring || fail "recorder killed: no file"
  sleep 0.$((i * 37 % 40 + 10))
  kill -KILL $recorder
  wait $recorder 2>/dev/null
  if "$EVENTRING" show killed.eventring >/dev/null 2>errors.txt; then
    sound "recorder killed" killed.eventring
    readable=$((readable + 1))
  else
    grep -qE "not an eventring file|No such file" errors.txt || fail "killed: $(cat errors.txt)"
  fi
  kill "$pid"
  wait "$pid" 2>/dev/null
  rm -f ./*.eventring ./*.partial
done
[ $readable -ge $((KILLS / 2)) ] || fail "only $readable of $KILLS files were begun"

SAROS_EVENTRING_WSIZE=18 start --domains 3 --rounds 300000 --pause-us 10
"$EVENTRING" record -q --zstd -o killed.eventring "$pid" &
recorder=$!
until_so has_open $recorder || fail "process killed: it is not read"
sleep 0.3
kill -KILL "$pid"
wait "$pid" 2>/dev/null
wait $recorder || fail "process killed: status $?"
"$EVENTRING" stats --json "$pid.eventring" >left.json || fail "left: status $?"
sound "process killed" killed.eventring
is_same "process killed: emitted" "$(query left.json '[.domains[].rings | map_values(.emitted)]')" \
  "$(query stats.json '[.domains[].rings | map_values(.emitted)]')"
rm -f ./*.eventring

# ---- Sizes ------------------------------------------------------------------------------------------

SAROS_EVENTRING_WSIZE=18 start --domains 3 --rounds 300000 --pause-us 1
"$EVENTRING" record --zstd --max-size 1M -o small.eventring "$pid" 2>errors.txt ||
  fail "max-size: status $? $(cat errors.txt)"
has "max-size: summary" "--max-size is reached" "$(cat errors.txt)"
size=$(stat -c %s small.eventring)
[ "$size" -le 1048576 ] && [ "$size" -gt 500000 ] || fail "max-size: $size bytes"
sound "max-size" small.eventring
"$EVENTRING" record --zstd --rotate-size 512K --buffer-size 64K --keep 3 --max-size 4M -o all.eventring \
  "$pid" 2>errors.txt || fail "rotate: status $? $(cat errors.txt)"
kill "$pid"
wait "$pid" 2>/dev/null
is "rotate: kept" 3 "$(find . -name 'all.*.eventring' | wc -l)"
for file in ./all.*.eventring; do # which gets longer while the one before is being finished
  size=$(stat -c %s "$file")
  [ "$size" -le $((1048576 * TEST_SLOWNESS)) ] || fail "rotate: $file has $size bytes"
  sound "rotate: $file" "$file"
  has "rotate: $file" "ended" "$("$EVENTRING" show "$file")"
done
has "rotate: summary" "files, --max-size is reached" "$(cat errors.txt)"
rm -f ./*.eventring

# ---- Words ------------------------------------------------------------------------------------------

ends 2 "not 1 to 19" "$EVENTRING" record --zstd=20 -o x.eventring 1
ends 2 "not a whole number" "$EVENTRING" record --zstd=fast -o x.eventring 1
ends 2 "--zstd-threads needs --zstd" "$EVENTRING" record --zstd-threads 2 -o x.eventring 1
ends 2 "not 1 to 64" "$EVENTRING" record --zstd --zstd-threads 0 -o x.eventring 1
"$EVENTRING" record -q --zstd -o /dev/null -- "$PRODUCER" --rounds 10 || fail "/dev/null: status $?"
finish
