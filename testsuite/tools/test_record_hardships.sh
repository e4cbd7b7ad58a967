# SPDX-License-Identifier: MIT
# eventring record while things go wrong: emitted = missed + recorded + lost, for each ring, in
# the summary and over the files, whatever happens. Kills: RECORD_KILLS moments of either side,
# while the recording goes from file to file; a full disk and room again; a disk that is slow;
# domains that come and go.
. "$TESTSUITE/tools/_tools.sh"

KILLS=${RECORD_KILLS:-$((TEST_SLOWNESS > 1 ? 4 : 12))}

sums='[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'
# whole WHAT FILE: it reads without a complaint, and its sums hold
whole() {
  "$EVENTRING" stats --json "$2" >stats.json 2>errors2.txt || fail "$1: $2: status $? $(cat errors2.txt)"
  [ -s errors2.txt ] && fail "$1: $2: $(cat errors2.txt)"
  is "$1: $2: sums" true "$(query stats.json "$sums")"
}
# summary WHAT: that of record --json; and what it says that was saved is in `file`
summary() {
  is "$1: summary" true "$(query record.json '.emitted == .missed + .saved + .lost and
    (.rings | all(.emitted == .missed + .saved + .lost))')"
}
saved() { query record.json .saved; }
delivered() { query stats.json '[.domains[].rings[].delivered] | add // 0'; }
turned() { for f in turn.*.eventring; do echo "$f"; done | sort -t. -k2n; }

# ---- Kills, while files are switched ---------------------------------------------------------

# Of a recorder that was killed all files can be read. No event is in two of them, but those of
# a block that was being filled: of each ring at most one copy of that is left.
begun=0
for ((i = 0; i < KILLS; i++)); do
  SAROS_EVENTRING_WSIZE=16 start --domains 2 --rounds 300000 --pause-us 1
  "$EVENTRING" record -q --buffer-size 64K --rotate-size 512K -o turn.eventring "$pid" &
  recorder=$!
  # at any moment, and every other time surely not before the second file
  [ $((i % 2)) -eq 0 ] || until_so test -s turn.2.eventring || fail "recorder killed: no second file"
  sleep "0.$((i * 37 % 40 + 10))"
  kill -KILL $recorder
  wait $recorder 2>/dev/null
  kill "$pid"
  wait "$pid" 2>/dev/null
  : >all.json
  for f in $(turned); do
    "$EVENTRING" stats --json "$f" >stats.json 2>errors2.txt
    status=$?
    # the newest one may not have been begun
    grep -qE "not an eventring file|No such file" errors2.txt && continue
    is "recorder killed: $f" "0 " "$status $(cat errors2.txt)"
    is "recorder killed: $f: sums" true "$(query stats.json "$sums")"
    cat stats.json >>all.json
    begun=$((begun + 1))
  done
  # of each ring, what a file begins with, behind what the one before ended with
  twice=$(jq -sc '[.[].domains[] | .domain as $d | .rings | to_entries[] |
      {ring: [$d, .key], from: .value.missed, to: .value.emitted}] | map(select(.to > .from)) |
    group_by(.ring) | map(. as $f | [range(1; length) | $f[.].from - $f[. - 1].to]) | flatten |
    map(select(. < 0))' all.json)
  is "recorder killed: twice: $twice" true \
    "$(echo "$twice" | jq 'length <= 4 and all(. > -512)')"
  rm -f turn.*.eventring turn.*.partial
done
[ $begun -ge $((KILLS / 2)) ] || fail "recorder killed: only $begun files"

# Of a process that was killed the files have all, to the last event.
for ((i = 0; i < KILLS; i++)); do
  SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 1
  "$EVENTRING" record -q --json --buffer-size 64K --rotate-size 512K -o turn.eventring "$pid" \
    >record.json &
  recorder=$!
  until_so has_open $recorder || fail "process killed: it is not read"
  sleep "0.$((i * 37 % 40 + 10))"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  wait $recorder || fail "process killed: status $?"
  summary "process killed"
  all=0
  for f in $(turned); do
    whole "process killed" "$f"
    all=$((all + $(delivered)))
  done
  is_same "process killed: saved" "$(saved)" $all
  "$EVENTRING" stats --json "$pid.eventring" >stats.json || fail "left: status $?"
  is_same "process killed: emitted" "$(query stats.json '[.domains[].rings[].emitted] | add')" \
    "$(query record.json .emitted)"
  rm -f turn.*.eventring ./*.eventring
done

# ---- A full disk, and room again --------------------------------------------------------------

# The limit on the size of files stands for the disk; it is lifted while the recorder runs.
if command -v prlimit >/dev/null; then
  for writer in threads serial; do
    SAROS_EVENTRING_WSIZE=18 start --domains 2 --rounds 300000 --pause-us 1
    "$EVENTRING" record -q --json -s 2 -w $writer --buffer-size 64K -o full.eventring "$pid" \
      >record.json 2>errors.txt &
    recorder=$!
    until_so test -s full.eventring || fail "full, $writer: no file"
    prlimit --fsize=1000000:unlimited --pid $recorder || fail "prlimit: $?"
    sleep 0.8
    prlimit --fsize=unlimited:unlimited --pid $recorder || fail "prlimit: $?"
    wait $recorder
    is "full, $writer: status" 1 $?
    kill "$pid"
    wait "$pid" 2>/dev/null
    has "full, $writer: message" "File too large" "$(cat errors.txt)"
    summary "full, $writer"
    is "full, $writer: unwritten" true "$(query record.json '.unwritten > 0')"
    "$EVENTRING" stats --json full.eventring >stats.json 2>errors2.txt || fail "full: $?"
    is_same "full, $writer: in the file" "$(query record.json '[.saved, .lost]')" \
      "$(query stats.json '[.domains[].rings[]] | [(map(.delivered) | add), (map(.lost) | add)]')"
    [ "$(stat -c %s full.eventring)" -gt 1000000 ] || fail "full, $writer: it did not go on"
    rm -f full.eventring
  done
fi

# ---- A slow disk --------------------------------------------------------------------------------

# Writes take 5 ms each: with one in flight much is lost, and all of it is counted; with many,
# less. (What is compared is counts of one run with the other; no time is asserted.)
if cc -shared -fPIC -o slow_sink.so "$TESTSUITE/bench/slow_sink.c" -ldl 2>/dev/null &&
  ! sanitized; then
  for buffers in 1 32; do
    SAROS_EVENTRING_WSIZE=14 start --domains 2 --rounds 300000 --pause-us 1
    LD_PRELOAD=$PWD/slow_sink.so SLOW_SINK_US=5000 "$EVENTRING" record -q --json -s 1 \
      --buffers $buffers --buffer-size 64K -o slow.eventring "$pid" >record.json ||
      fail "slow, $buffers: status $?"
    kill "$pid"
    wait "$pid" 2>/dev/null
    summary "slow, $buffers"
    whole "slow, $buffers" slow.eventring
    is_same "slow, $buffers: saved" "$(saved)" "$(delivered)"
    is_same "slow, $buffers: lost" "$(query record.json .lost)" \
      "$(query stats.json '[.domains[].rings[].lost] | add')"
    rm -f slow.eventring
  done
fi

# ---- Domains that come and go -----------------------------------------------------------------

# Thousands of short domains, in few slots; each tells of itself a known number of times.
cat >storm.lua <<'END'
local domain = require "saros.domain"
local waves, width, events = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
local function work(n)
  local eventring = require "saros.eventring"
  for i = 1, n do eventring.counter("storm", i) end
end
for _ = 1, waves do
  local all = {}
  for i = 1, width do all[i] = domain.spawn(work, events) end
  for i = 1, width do all[i]:join() end
end
END
if "$SAROS" -e 'require "saros.domain"' 2>/dev/null; then
  waves=$((TEST_SLOWNESS > 1 ? 20 : 150))
  for wsize in 20 11; do
    rm -f storm*.eventring
    SAROS_EVENTRING_WSIZE=$wsize "$EVENTRING" record -q --json --rotate-size 1M --buffer-size 64K \
      -o storm.eventring -- "$SAROS" storm.lua $waves 8 200 >record.json || fail "storm: status $?"
    summary "storm, $wsize"
    storm=0
    for f in storm.*.eventring; do
      whole "storm, $wsize" "$f"
      storm=$((storm + $(query stats.json '[.counters[] | select(.name == "storm").samples] | add // 0')))
    done
    lost=$(query record.json '[.rings[] | select(.name == "user") | .lost + .missed] | add')
    is "storm, $wsize: counted" $((waves * 8 * 200)) $((storm + lost))
  done
fi
finish
