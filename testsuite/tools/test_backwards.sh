# SPDX-License-Identifier: MIT
# dump --backwards: what dump prints, the other way round, of rings, streams, packed files and
# copies; of a long file it reads the end only.
. "$TESTSUITE/tools/_tools.sh"

dump() { "$EVENTRING" dump --json "$@"; }

ends 2 "--backwards cannot show what is still to come" dump --backwards --follow 1
ends 2 "--backwards cannot show what is still to come" dump --backwards --seconds 1 1
ends 2 "--backwards cannot show what is still to come" dump --backwards -- true
ends 2 "--events x': not a whole number" dump --events x 1

exact=cat
# mirrored FILE: ring by ring, as rings take turns by time alone; open spans come first
mirrored() {
  local ring domain file=$1
  shift
  for ring in runtime user; do
    for domain in 0 1; do
      dump --domain $domain --ring $ring "$@" "$file" >forth.json 2>forth.txt
      local status=$?
      dump --domain $domain --ring $ring --backwards "$@" "$file" >back.json 2>back.txt
      is "$file: status" $status $?
      grep -v '"kind":"open"' back.json | tac | $exact >back2.json
      grep -v '"kind":"open"' forth.json | $exact | cmp - back2.json ||
        fail "$file: domain $domain, ring $ring differ"
      grep '"kind":"open"' forth.json >forth-open.json
      grep '"kind":"open"' back.json | cmp - forth-open.json || fail "$file: open spans differ"
      cmp forth.txt back.txt || fail "$file: messages differ"
    done
  done
}

record --rounds 300 --domains 2 --extras
mirrored "$file"
mirrored "$file" --since 0.001
"$EVENTRING" snapshot -o copy.eventring "$file" || fail "snapshot: $?"
mirrored copy.eventring
record --rounds 3000 --domains 2 --extras --die # and filled several times
mirrored "$file"
"$EVENTRING" record -q -o stream.eventring "$file" || fail "record: $?"
mirrored stream.eventring
if "$EVENTRING" record -q --zstd -o packed.eventring "$file" 2>errors.txt; then
  mirrored packed.eventring
else
  has "no zstd" "not in this build" "$(cat errors.txt)"
fi
"$EVENTRING" merge -q -o merged.eventring copy.eventring "$file" || fail "merge: $?"
# A merged file has times in ns, and so the sums in headers of blocks: who joins at a block may
# know of 1 ns more or less for which a span was suspended (doc/FORMAT.md, section 17).
exact='sed s/"suspended_ns":[0-9]*//'
mirrored merged.eventring
exact=cat
"$EVENTRING" cut -q --last 0.01 -o cut.eventring "$file" || fail "cut: $?"
mirrored cut.eventring

# A block in the middle of a ring is damaged.
cp "$file" damaged.eventring
printf 'damage' | dd of=damaged.eventring bs=1 seek=$((65536 + 40 * 4096 + 24)) conv=notrunc status=none
mirrored damaged.eventring

# The last events, and the first.
real='select(.kind != "open" and .kind != "lost" and (.synthetic | not))'
dump --backwards "$file" | jq -c "$real" >back.json
dump --backwards --events 7 "$file" | jq -c "$real" | cmp - <(head -n 7 back.json) ||
  fail "the last 7 differ"
dump --backwards --events 5 --name minor "$file" | jq -c "$real" |
  cmp - <(jq -c 'select(.name == "minor")' back.json | head -n 5) || fail "the last 5 minor differ"
dump --events 9 "$file" | jq -c "$real" | cmp - <(dump "$file" | jq -c "$real" | head -n 9) ||
  fail "the first 9 differ"

# A time in the middle.
start=$("$EVENTRING" show --json "$file" | jq .start_ns)
middle=$(sed -n '1000p' back.json | jq .ns)
until=$((middle - start))
until=$(printf '%d.%09d' $((until / 1000000000)) $((until % 1000000000)))
dump --backwards --until "$until" "$file" | jq -c "$real" | jq -s 'map(.ns) | sort' >until.json
jq -s "map(.ns) | map(select(. <= $middle)) | sort" back.json | cmp - until.json ||
  fail "--until differs"
is "the latest first" true "$(dump --backwards --until "$until" --domain 0 --ring user "$file" |
  jq -s "map($real | .ns) | . == (sort | reverse)")"

# Of a long stream only the end is read: nobody notices what is gone before it.
SAROS_EVENTRING_STREAM=long.eventring "$PRODUCER" --rounds 3000 --domains 1 >producer.txt ||
  fail "the producer: $?"
dump --backwards --events 10 long.eventring >last.json || fail "the end of a long stream: $?"
cat >empty.py <<'END'
import struct
with open("long.eventring", "r+b") as f:
    data = f.read()
    at = {}
    for offset in range(65536, len(data) - 4095, 4096):
        sequence, kind, domain, ring = struct.unpack_from("<QHHB", data, offset)
        if sequence and (kind, domain, ring) == (1, 0, 1):
            at[sequence] = offset
    assert len(at) > 60, len(at)
    for sequence in range(3, max(at) - 20):
        f.seek(at[sequence] + 64)
        f.write(bytes(4096 - 64))
END
python3 empty.py || fail "empty.py: $?"
ends 1 "" dump long.eventring
dump --backwards --events 10 long.eventring 2>errors.txt | cmp - last.json || fail "it reads more"
is "no message" "" "$(cat errors.txt)"
finish
