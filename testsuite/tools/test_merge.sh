# SPDX-License-Identifier: MIT
# `eventring merge`: what is read of the merged recording is what is read of the recordings,
# event for event: names, payloads, nesting, times; and so are losses, ring by ring.
# MERGE_MUTATIONS: how many damaged recordings are merged (40); MERGE_SEED: which.
. "$TESTSUITE/tools/_tools.sh"

# keep NAME COMMAND...: the recording of a program, NAME.eventring
keep() {
  local name=$1
  shift
  rm -rf kept
  mkdir kept
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept "$@" \
    >/dev/null 2>&1 || [[ " $* " == *" --die "* ]] || fail "$*"
  mv kept/*.eventring "$name.eventring" || fail "$name: no recording"
}

# events FILE [PREFIX]: its dump without what merging changes: the names of domains as if they
# had been qualified, links as those of the first process. (`note` of saros has several values,
# that of the producer is a string: in a merge one of the two is `note (2)`.) How long contexts were
# suspended is compared by itself.
events() {
  "$EVENTRING" dump --json "$1" 2>/dev/null | jq -c --arg prefix "$2" '
    del(.id, .domain, .suspended_ns) | .name |= (. // "" | sub(" [(][2-9][)]$"; ""))
    | if $prefix != "" and .domain_name != null
      then .domain_name = ($prefix + " " + .domain_name | rtrimstr(" ")) else . end
    | if .link then .link %= 281474976710656 else . end' |
    sort
}

# same_suspensions WHAT FILE MERGED: times of the merged one are whole nanoseconds, so each
# suspension may be longer or shorter by one; a span of these programs has at most three
same_suspensions() {
  local list='[inputs | select(.suspended_ns) | [.ns, .name, .depth, .suspended_ns]] | sort'
  "$EVENTRING" dump --json "$2" 2>/dev/null | jq -n "$list" >expected
  "$EVENTRING" dump --json "$3" 2>/dev/null | jq -n "$list" >actual
  is "$1: suspensions" true "$(jq -n --slurpfile a expected --slurpfile b actual '
    ($a[0] | map(.[:3])) == ($b[0] | map(.[:3])) and
    ([$a[0], $b[0]] | transpose | all(.[]; .[0][3] - .[1][3] | fabs <= 3))')"
}

# label FILE: PROGRAM[PID]
label() { "$EVENTRING" show --json "$1" 2>/dev/null | jq -r '"\(.program)[\(.own_pid)]"'; }

# same_events WHAT EXPECTED ACTUAL: files of events
same_events() {
  [ -s "$2" ] || fail "$1: nothing is expected"
  cmp -s "$2" "$3" && return
  diff "$2" "$3" >differences
  fail "$1: $(grep -c '^[<>]' differences) differ: $(grep -m2 '^<' differences)
$(grep -m2 '^>' differences)"
}

cat >program.lua <<'END'
local er, domain = require "saros.eventring", require "saros.domain"
for i = 1, 200 do
  er.begin_span("work", "x" .. i)
  er.event("note", "hello \u{e4}" .. i)
  er.counter("load", i * 1.5)
  if i % 50 == 0 then er.pause() er.resume() end -- tears what is open
  er.end_span("work")
end
local others = {}
for i = 1, 3 do
  others[i] = domain.spawn(function()
    local er = require "saros.eventring"
    for j = 1, 50 do
      er.span("inner", function() local t = {} for k = 1, 200 do t[k] = {} end end)
    end
  end)
end
for i = 1, 3 do others[i]:join() end
local step = coroutine.wrap(function()
  er.begin_span("outer") coroutine.yield()
  er.begin_span("part") coroutine.yield() er.end_span("part") er.end_span("outer")
end)
for i = 1, 3 do step() er.event("between", i) end
END

keep saros "$SAROS" program.lua
keep producer "$PRODUCER" --rounds 30 --domains 3 --extras
SAROS_EVENTRING_WSIZE=11 keep flooded "$PRODUCER" --rounds 200 --domains 2 --flood 30000 --open
keep killed "$PRODUCER" --rounds 60 --open --die
SAROS_EVENTRING_STREAM=$PWD/stream.eventring "$PRODUCER" --rounds 300 --users 5 --domains 2 \
  --extras --open >/dev/null || fail "stream"
all=(saros producer flooded killed stream)

# A block in the middle of a ring that cannot be read: events are lost, not missed
cp flooded.eventring damaged.eventring
# NUMBER-IN-FILE of the newest block but one of the user ring of slot 0
place=$(od -An -v -t u2 -w4096 -j 65536 damaged.eventring | awk '
  $5 == 1 && $6 == 0 && $7 % 256 == 1 { at[$1 + 65536 * $2] = NR - 1; if ($1 > most) most = $1 }
  END { print at[most - 1] }')
printf '\xff\xff' | dd of=damaged.eventring bs=1 seek=$((65536 + 4096 * place + 2000)) \
  conv=notrunc status=none
"$EVENTRING" dump --json damaged.eventring >damaged.txt 2>/dev/null && fail "it is not damaged"
has "damaged" '"before":false' "$(cat damaged.txt)"

# ---- One recording is what it was

identity() {
  "$EVENTRING" show --json "$1" | jq -c '[.program, .own_pid, .start_ns, .start_wall_ns]'
}
for name in "${all[@]}"; do
  ends 0 "" "$EVENTRING" merge -o "one-$name.eventring" $name.eventring
  has "$name" "1 recording, 1 process" "$(cat stdout.txt)"
  events $name.eventring >expected
  events one-$name.eventring >actual
  same_events "$name alone" expected actual
  same_suspensions "$name alone" $name.eventring one-$name.eventring
  ends 0 "" "$EVENTRING" show one-$name.eventring
  is_same "program of $name" "$(identity $name.eventring)" "$(identity one-$name.eventring)"
done
ends 1 "damaged.eventring" "$EVENTRING" merge -o one-damaged.eventring damaged.eventring
events damaged.eventring >expected
events one-damaged.eventring >actual
same_events "damaged alone" expected actual
ends 0 "" "$EVENTRING" show one-damaged.eventring

# ---- Several

for name in "${all[@]}"; do events $name.eventring "$(label $name.eventring)"; done | sort >expected
ends 0 "" "$EVENTRING" merge -o all.eventring saros.eventring producer.eventring \
  flooded.eventring killed.eventring stream.eventring
has "all" "5 recordings, 5 processes" "$(cat stdout.txt)"
has "all" "ordered by the monotonic clock" "$(cat stdout.txt)"
events all.eventring >actual
same_events "five recordings" expected actual
is "namesakes" 1 "$("$EVENTRING" show --json all.eventring |
  jq '[.catalogue[] | select(.name == "note (2)")] | length')"
"$EVENTRING" dump --json all.eventring |
  jq -c 'select(.synthetic | not) | select(.kind != "lost") | .ns' >times
sort -n times | cmp -s - times || fail "the merged dump is not in the order of time"

ends 0 "" "$EVENTRING" merge -o some.eventring stream.eventring killed.eventring
ends 0 "" "$EVENTRING" merge -o others.eventring producer.eventring saros.eventring
ends 0 "" "$EVENTRING" merge -o again.eventring some.eventring flooded.eventring others.eventring
events again.eventring >actual
same_events "a merge of merges" expected actual
processes() {
  "$EVENTRING" show --json "$1" | jq -c '[.processes[] | [.program, .pid, .liveness, .end_reason,
    .start_ns, .start_wall_ns, .end_ns, .events, .missed, .lost, .path]] | sort[]'
}
is_same "processes" "$(processes all.eventring)" "$(processes again.eventring)"
has "processes" '"dead","killed"' "$(processes all.eventring)"
is "events of processes" \
  "$(for name in "${all[@]}"; do "$EVENTRING" stats --json $name.eventring; done |
     jq -s '[.[].total.delivered] | add')" \
  "$("$EVENTRING" show --json all.eventring | jq '[.processes[].events] | add')"

# Async spans of two processes, which have the same links
links() {
  "$EVENTRING" stats --json "$1" |
    jq '[.async_spans[] | select(.name == "transfer").count] | add'
}
cp producer.eventring twin.eventring
ends 0 "" "$EVENTRING" merge -o linked.eventring producer.eventring twin.eventring
is "links" $((2 * $(links producer.eventring))) "$(links linked.eventring)"
ends 0 "" "$EVENTRING" merge --shared-links -o shared.eventring producer.eventring twin.eventring
is_same "shared links" "$("$EVENTRING" dump --json producer.eventring | jq -c .link | sort -u)" \
  "$("$EVENTRING" dump --json shared.eventring | jq -c .link | sort -u)"

# What stats counts, summed over the recordings
sums() {
  for file; do "$EVENTRING" stats --json "$file" 2>/dev/null; done | jq -cs '
    [.[].spans[] | [.name, .count, .torn, .open]] | group_by(.[0])
    | map([.[0][0], (map(.[1]) | add), (map(.[2]) | add), (map(.[3]) | add)])[]'
}
is_same "stats" "$(sums "${all[@]/%/.eventring}")" "$(sums all.eventring)"
# Copies of it: what switches tear is torn, by the log of the process
ends 0 "" "$EVENTRING" cut -q --since 0 -o part.eventring all.eventring
events part.eventring >expected
events all.eventring >actual
same_events "a copy" expected actual
ends 0 "" "$EVENTRING" strip -q --keep-names -o stripped.eventring all.eventring
is_same "stats of a stripped one" "$(sums all.eventring)" "$(sums stripped.eventring)"
torn() { "$EVENTRING" stats --json "$1" | jq '[.spans[].torn] | add'; }
[ "$(torn saros.eventring)" -gt 0 ] || fail "no switch tears a span"
# By domain, also where it was killed within a collection
collections() {
  for file; do "$EVENTRING" stats --json "$file" 2>/dev/null; done | jq -cs '
    [.[].domains[] | [(.name | sub(".*[]] ?"; "")), .gc_ns, .watched_ns, .allocated_words]]
    | sort[]'
}
is_same "collections" "$(collections "${all[@]/%/.eventring}")" "$(collections all.eventring)"

# Losses, ring by ring
losses() {
  for file; do "$EVENTRING" dump --json "$file" 2>/dev/null; done |
    jq -cs '[.[] | select(.kind == "lost") | [.ring, .before, .count]] | sort'
}
ends 0 "" "$EVENTRING" merge -o lossy.eventring flooded.eventring saros.eventring
is_same "losses" "$(losses flooded.eventring saros.eventring)" "$(losses lossy.eventring)"
ends 1 "damaged.eventring" "$EVENTRING" merge -o both.eventring damaged.eventring flooded.eventring
is_same "lost and missed" "$(losses damaged.eventring flooded.eventring)" "$(losses both.eventring)"
ends 0 "" "$EVENTRING" show both.eventring

# ---- Clocks

# moved NAME SECONDS: a copy whose machine says another time (its header has no checksum)
moved() {
  local wall
  cp $1.eventring "$3"
  wall=$(($("$EVENTRING" show --json $1.eventring | jq .start_wall_ns) + $2 * 1000000000))
  for ((i = 0; i < 64; i += 8)); do printf "\\x$(printf %02x $((wall >> i & 255)))"; done |
    dd of="$3" bs=1 seek=104 conv=notrunc status=none
  printf '\0\0\0\0' | dd of="$3" bs=1 seek=120 conv=notrunc status=none
}
moved killed 3600 later.eventring
ends 0 "" "$EVENTRING" merge -o wall.eventring later.eventring producer.eventring
has "clock" "ordered by the wall clock" "$(cat stdout.txt)"
has "clock" "differs by 3600 s" "$(cat stdout.txt)"
{ events killed.eventring "$(label killed.eventring)" |
    jq -c '.ns += 3600000000000 | if .begin_ns then .begin_ns += 3600000000000 else . end'
  events producer.eventring "$(label producer.eventring)"; } | jq -cS . | sort >expected
events wall.eventring | jq -cS . | sort >actual
# the offset between the clocks differs by some ns at the starts of two processes
rounded() { jq -c '.ns = (.ns / 1000000 | floor) | del(.begin_ns)' "$1" | sort; }
rounded expected >expected.ms
rounded actual >actual.ms
differ=$(diff expected.ms actual.ms | grep -c '^<')
[ "$differ" -le 5 ] || fail "the wall clock: $differ events differ"
is "shift" "3600" "$("$EVENTRING" show --json wall.eventring |
  jq '[.processes[].shift_ns / 1000000000 | round] | max - min')"
ends 0 "" "$EVENTRING" merge --clock monotonic -o mono.eventring later.eventring producer.eventring
has "clock" "ordered by the monotonic clock" "$(cat stdout.txt)"
events mono.eventring | jq -c .ns | sort -n >actual
{ events killed.eventring; events producer.eventring; } | jq -c .ns | sort -n >expected
same_events "the monotonic clock" expected actual

# A clock with ticks of 16 ns: so are the times of the merged one.
gunzip -c "$TESTSUITE"/format/corpus/v3-arm64.eventring.gz >slow.eventring || fail "no slow clock"
in_steps() {
  "$EVENTRING" dump --json "$1" | jq -c --argjson ns 16 '
    [.kind, .name, .domain_name, .ring, .depth, (.value | strings), .link, .context,
     (.ns / $ns | floor), ((.begin_ns // 0) / $ns | floor)]' | sort
}
ends 0 "" "$EVENTRING" merge -o coarse.eventring slow.eventring
ends 0 "" "$EVENTRING" show coarse.eventring
is "the clock" '["cntvct",62500000]' "$("$EVENTRING" show --json coarse.eventring |
  jq -c '[.clock, .clock_hz]')"
in_steps slow.eventring >expected
in_steps coarse.eventring >actual
same_events "a slow clock" expected actual

# ---- One that is still being written: what it has by now

start --rounds 5 --hold-ms 60000
ends 0 "" "$EVENTRING" merge -o live.eventring $pid killed.eventring
is "liveness" '["dead","live"]' "$("$EVENTRING" show --json live.eventring |
  jq -c '[.processes[].liveness] | sort')"
ends 0 "" "$EVENTRING" dump live.eventring
has "process" "process (several)" "$("$EVENTRING" stats live.eventring)"
kill $pid
wait $pid 2>/dev/null

# ---- What is refused

ends 2 "the same recording" \
  "$EVENTRING" merge -o twice.eventring killed.eventring ./killed.eventring
ln -s killed.eventring link.eventring
ends 2 "the same recording" "$EVENTRING" merge -o twice.eventring killed.eventring link.eventring
ends 1 "no-such" "$EVENTRING" merge -o twice.eventring killed.eventring no-such.eventring
ends 1 "not an eventring file" "$EVENTRING" merge -o twice.eventring killed.eventring program.lua
ends 1 "/no/such" "$EVENTRING" merge -o /no/such/file killed.eventring producer.eventring
[ -e twice.eventring ] && fail "something is left of a merge that failed"
before=$(cksum <all.eventring)
ends 1 "all.eventring" "$EVENTRING" merge -o all.eventring killed.eventring
ends 1 "killed.eventring" "$EVENTRING" merge -o killed.eventring killed.eventring producer.eventring
is "a file that was there" "$before" "$(cksum <all.eventring)"
(ulimit -f 200; trap '' XFSZ
 "$EVENTRING" merge -o full.eventring stream.eventring 2>&1 >/dev/null) >said
has "a full disk" "cannot write full.eventring" "$(cat said)"
ls full.eventring* 2>/dev/null && fail "something is left where there was no room"

# An interrupted merge leaves nothing
SAROS_EVENTRING_STREAM=$PWD/long.eventring "$PRODUCER" --flood 5000000 >/dev/null || fail "long"
env --default-signal=INT "$EVENTRING" merge -o stopped.eventring long.eventring 2>said &
until_so [ -s stopped.eventring.partial ]
kill -INT $!
wait $!
is "status of an interrupted merge" 1 $?
has "an interrupted merge" "interrupted; stopped.eventring is removed" "$(cat said)"
ls stopped.eventring* 2>/dev/null && fail "something is left of an interrupted merge"
rm long.eventring

# ---- More domains than a recording has slots

for n in 1 2 3 4; do keep many-$n "$PRODUCER" --rounds 2 --domains 40 --hold-ms 300; done
without_incarnations() {
  jq -cS 'del(.incarnation) | select(.name | IN("domain_start", "domain_stop") | not)' | sort
}
ends 0 "" "$EVENTRING" merge -o many.eventring many-{1,2,3,4}.eventring
for n in 1 2 3 4; do events many-$n.eventring "$(label many-$n.eventring)"; done |
  without_incarnations >expected
events many.eventring |
  without_incarnations >actual
same_events "domains that share slots" expected actual
for n in 1 2 3 4; do cp many-1.eventring same-$n.eventring; done
ends 1 "more than 128 domains at once" "$EVENTRING" merge -o no.eventring same-{1,2,3,4}.eventring
[ -e no.eventring ] && fail "something is left of too many domains"
ends 0 "" "$EVENTRING" merge -o twins.eventring same-{1,2}.eventring
is "twins" '[".1]",".2]"]' "$("$EVENTRING" show --json twins.eventring |
  jq -c '[.domains[].name | capture("(?<n>[.][0-9]+\\])").n] | unique')"

# ---- Damaged recordings

RANDOM=${MERGE_SEED:-4711}
size=$(stat -c %s saros.eventring)
for ((run = 0; run < ${MERGE_MUTATIONS:-40}; run++)); do
  rm -f out.eventring
  cp saros.eventring bad.eventring
  for ((n = 0; n <= RANDOM % 4; n++)); do
    at=$(((RANDOM * 32768 + RANDOM) % (run % 2 ? size : 65536)))
    printf "\\x$(printf %02x $((RANDOM % 256)))" |
      dd of=bad.eventring bs=1 seek=$at conv=notrunc status=none
  done
  timeout $PATIENCE "$EVENTRING" merge -o out.eventring bad.eventring killed.eventring \
    >out.txt 2>err.txt
  status=$?
  [ $status -le 1 ] || fail "run $run: status $status"
  [ $status -eq 0 ] || [ -s err.txt ] || fail "run $run: status 1 without a message"
  [ -e out.eventring ] || continue
  "$EVENTRING" dump --json out.eventring >out.txt 2>err.txt || fail "run $run: $(cat err.txt)"
  is "events of run $run" \
    "$({ "$EVENTRING" dump --json bad.eventring; "$EVENTRING" dump --json killed.eventring; } \
       2>/dev/null | wc -l)" "$(wc -l <out.txt)"
done
finish
