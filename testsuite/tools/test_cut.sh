# SPDX-License-Identifier: MIT
# eventring cut: what `dump --since --until` delivers of the part is what it delivers of the
# whole, whatever the layout of the recording, with the same open spans, contexts and domains.
. "$TESTSUITE/tools/_tools.sh"

# make [PRODUCER-OPTIONS...]: ring.eventring (overflowed), stream.eventring, saved.eventring
make_recordings() {
  rm -rf ./*.eventring
  SAROS_EVENTRING_WSIZE=13 record "$@"
  mv "$file" ring.eventring
  SAROS_EVENTRING_STREAM=stream.eventring SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 \
    "$PRODUCER" "$@" >producer.txt
  "$EVENTRING" snapshot -o saved.eventring ring.eventring || fail "snapshot"
  "$EVENTRING" snapshot -o saved-stream.eventring stream.eventring || fail "snapshot of a stream"
  SAROS_EVENTRING_WSIZE=16 "$EVENTRING" record -q -o recorded.eventring -- "$PRODUCER" "$@" \
    >/dev/null
}

# last FILE: seconds from the start to the last event
last() {
  "$EVENTRING" stats --json "$1" >stats.json || fail "stats $1"
  query stats.json '.last_ns - .first_ns' | awk '{ printf "%.6f", $1 / 1e9 }'
}

# window SINCE UNTIL FILE: events of the part and of the whole
window() {
  rm -f part.eventring
  "$EVENTRING" cut -q --since "$1" --until "$2" -o part.eventring "$3" ||
    fail "cut $*: status $?"
  "$EVENTRING" dump --json --since "$1" --until "$2" "$3" >whole.txt || fail "dump $*"
  "$EVENTRING" dump --json --since "$1" --until "$2" part.eventring >part.txt ||
    fail "dump of part $*"
  cmp -s whole.txt part.txt || fail "cut $*: $(diff whole.txt part.txt | head -4)"
  "$EVENTRING" stats --json part.eventring >part.json 2>errors.txt ||
    fail "stats of part $*: $(cat errors.txt)"
  is "lost $*" 0 "$(query part.json '.total.lost')"
  windows=$((windows + 1)) events=$((events + $(wc -l <part.txt)))
}

# ---- Windows of all kinds of recordings ---------------------------------------------------

windows=0 events=0
make_recordings --domains 3 --rounds 1500 --pause-us 50 --extras --open
for file in ./*.eventring; do
  end=$(last "$file")
  for at in 0.02 0.3 0.71 0.9 0.985; do
    for length in 0.001 0.05 0.4; do
      read -r since until < <(awk -v e="$end" -v a=$at -v l=$length \
        'BEGIN { printf "%.6f %.6f\n", e * a, e * (a + l) }')
      window "$since" "$until" "$file"
    done
  done
  window 0 1000 "$file"
done
[ $events -gt 100000 ] || fail "$windows windows with $events events"

# ---- The cut itself -----------------------------------------------------------------------

# Blocks, and not much more than the window
rm -f part.eventring
half=$(awk -v e="$(last stream.eventring)" 'BEGIN { printf "%.6f", e / 2 }')
"$EVENTRING" cut --since "$half" --until "$half" -o part.eventring stream.eventring \
  2>errors.txt || fail "a moment"
has "summary" "events before them are not there" "$(cat errors.txt)"
[ "$(stat -c %s part.eventring)" -lt $(($(stat -c %s stream.eventring) / 4)) ] ||
  fail "a moment takes $(stat -c %s part.eventring) bytes"
"$EVENTRING" show part.eventring >show.txt || fail "show"
has "a part has ended" "ended" "$(cat show.txt)"

# Its blocks reach beyond the window: the last moment that is known of it is the same to each
# command (status 1 of `stack`: there is none)
"$EVENTRING" stack --json part.eventring 2>/dev/null >stack.json
is_same "the end of a part" "$("$EVENTRING" stats --json part.eventring | jq .window.last_ns)" \
  "$("$EVENTRING" autopsy --json part.eventring | jq .total.end_ns)"
is_same "the end of a part, for stack" "$(jq .end_ns stack.json)" \
  "$("$EVENTRING" autopsy --json part.eventring | jq .total.end_ns)"

# One side alone, a domain
for option in "--since $half" "--until $half"; do
  rm -f part.eventring
  "$EVENTRING" cut -q $option -o part.eventring stream.eventring || fail "$option"
  "$EVENTRING" dump $option --json stream.eventring >whole.txt
  "$EVENTRING" dump $option --json part.eventring | cmp -s - whole.txt || fail "$option"
done
rm -f part.eventring
"$EVENTRING" cut -q --domain 2 -o part.eventring stream.eventring || fail "a domain"
"$EVENTRING" dump --domain 2 --json stream.eventring >whole.txt
"$EVENTRING" dump --json part.eventring | cmp -s - whole.txt || fail "a domain differs"
[ -s whole.txt ] || fail "domain 2 has no events"

# A part of a part is the same part
window 0.01 0.05 stream.eventring
mv part.eventring once.eventring
window 0.01 0.05 once.eventring
is_same "size of a part of a part" "$(stat -c %s once.eventring)" "$(stat -c %s part.eventring)"

# Little memory, whatever the length
sanitized || (ulimit -v 65536; rm -f part.eventring
 "$EVENTRING" cut -q --since 0 -o part.eventring stream.eventring) || fail "64 MiB"

# ---- A live process, one that was killed --------------------------------------------------

start --domains 2 --rounds 100000 --pause-us 100
sleep 0.3
rm -f part.eventring
"$EVENTRING" cut -q --since 0.1 --until 0.2 -o part.eventring "$pid" || fail "live"
"$EVENTRING" dump --json part.eventring >part.txt || fail "dump of a live part"
[ -s part.txt ] || fail "a live part is empty"
for how in cut snapshot strip; do
  rm -f copy.eventring
  "$EVENTRING" $how -o copy.eventring "$pid" 2>errors.txt || fail "$how of a live process"
  has "$how: the process went on" "saved, running" "$("$EVENTRING" show copy.eventring)"
  "$EVENTRING" stats copy.eventring >/dev/null 2>errors.txt || fail "$how: $(cat errors.txt)"
done
kill -9 "$pid"
wait "$pid" 2>/dev/null
window 0.1 0.25 "$pid.eventring"
window 0.2 1000 "$pid.eventring"

# ---- Wrong usage, and what cannot be written ----------------------------------------------

ends 2 "no -o FILE" "$EVENTRING" cut --since 1 stream.eventring
ends 2 "--since is later than --until" "$EVENTRING" cut --since 2 --until 1 -o x.eventring stream.eventring
ends 2 "not 0 to 127" "$EVENTRING" cut --domain 128 -o x.eventring stream.eventring
cp stream.eventring before.eventring
ends 1 "File exists" "$EVENTRING" cut --since 0 -o stream.eventring once.eventring
cmp -s stream.eventring before.eventring || fail "an existing file was changed"
ends 1 "not an eventring file" "$EVENTRING" cut --since 0 -o x.eventring producer.txt
ends 1 "File too large" bash -c \
  "trap '' XFSZ; ulimit -f 1000; exec '$EVENTRING' cut --since 0 -o x.eventring stream.eventring"
[ ! -e x.eventring ] || fail "a file is left"
finish
