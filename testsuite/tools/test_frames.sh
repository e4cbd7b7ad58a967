# SPDX-License-Identifier: MIT
# `pauses --frames`: which frames took longer than they may, and why. Times are those that a
# script says, so each figure is known.
. "$TESTSUITE/tools/_tools.sh"
HOST=$BUILDDIR/testsuite/tools/timed_host
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }

record_script() { # FILE, and its script as standard input
  SAROS_EVENTRING_STREAM=$1 "$HOST" || fail "timed_host for $1: $?"
}
frames() { # JSON-FILE OPTION...
  local to=$1
  shift
  "$EVENTRING" pauses --json "$@" >"$to" || fail "pauses $*: $?"
}
rows() { # JSON-FILE: cause and parts, in us, of each missed frame in the order of time
  query "$1" '[.rows | sort_by(.ns)[] | [.cause, .duration_ns, .over_ns, .collector_ns, .off_cpu_ns,
    .program_ns | if type == "number" then . / 1000 else . end] + [.pauses, .off_cpu_known]] | .[]'
}

# One frame for each cause. Between them the program sleeps, and lets the collector work.
record_script causes.eventring <<'SCRIPT'
pause 100000 0
# fits
begin frame
work 5000000
end frame
away 5000000
pause 500000 0
away 4000000
# its own work takes longer
begin frame
work 12000000
end frame
away 1000000
pause 500000 0
away 1000000
# the collector
begin frame
work 9000000
pause 2000000 0
end frame
away 1000000
pause 500000 0
# off the processor, asleep before and after it
away 7000000
begin frame
work 4000000
away 3000000
begin inner
work 5000000
end inner
end frame
away 2000000
pause 500000 0
# of a pause that is interrupted, its time on a processor alone is the collector's
begin frame
work 9000000
pause 2000000 1500000
end frame
pause 500000 0
# both the collector and others are too much, and less of either had not been enough
begin frame
work 9900000
pause 400000 0
away 400000
end frame
pause 500000 0
# less of either had been enough: it is not the collector alone
begin frame
work 9000000
pause 1000000 0
away 1000000
end frame
pause 500000 0
begin other
work 20000000
end other
begin measured
work 8000000
away 3000000
end measured
begin frame
work 1000000
SCRIPT
frames causes.json --frames 10ms causes.eventring
is "rows" '["program",12000,2000,0,0,12000,0,true]
["collector",11000,1000,2000,0,9000,1,true]
["off_cpu",12000,2000,0,3000,9000,0,true]
["off_cpu",11000,1000,500,1500,9000,1,true]
["collector",10700,700,400,400,9900,1,true]
["off_cpu",11000,1000,1000,1000,9000,1,true]' "$(rows causes.json)"
is "causes" '[["collector",2],["off_cpu",3],["program",1],["unknown",0]]' \
  "$(query causes.json '[.total.causes[] | [.cause, .missed]]')"
is "total" '[7,72700000,6,3900000,5900000,62900000,2000000,0,0,1,10000000,"frame"]' \
  "$(query causes.json '[(.total | .count, .total_ns, .missed, .collector_ns, .off_cpu_ns, .program_ns,
    .most_collector_ns, .unknown_collector, .unknown_off_cpu, .open), .limit_ns, .span]')"
is "would have fitted" '[2,3]' \
  "$(query causes.json '[.total | .without_collector, .without_off_cpu]')"
is "open" '[[1000000,true]]' "$(query causes.json '[.open_frames[] | [.so_far_ns, .at_least]]')"
is "order" true "$(query causes.json '[.rows[].duration_ns] | . == (sort | reverse)')"
is "lengths" true "$(query causes.json '.total | .max_ns == 12000000 and (.p50_ns / 11e6 - 1 | fabs) < 0.004')"

# what is asked for
frames other.json --frames 16.7ms --frame-span other causes.eventring
is "another span" '["program",20000,3300,0,0,20000,0,false]' "$(rows other.json)"
frames measured.json --frames 10ms --frame-span measured causes.eventring
is "a span that says it" '["off_cpu",11000,1000,0,3000,8000,0,true]' "$(rows measured.json)"
frames two.json --frames 10ms --top 2 causes.eventring
is "the longest two" '[2,6]' "$(query two.json '[(.rows | length), .total.missed]')"
frames none.json --frames 12ms causes.eventring
is "a limit that is kept" '[0,0,7]' "$(query none.json '[(.rows | length), .total.missed, .total.count]')"
frames all.json --frames 0 --top 100 causes.eventring
is "a limit that none keeps" '[7,7]' "$(query all.json '[(.rows | length), .total.missed]')"
frames late.json --frames 10ms --since 0.045 causes.eventring
is "a window" '["off_cpu","off_cpu","collector","off_cpu"]' \
  "$(query late.json '[.rows | sort_by(.ns)[].cause]')"
frames early.json --frames 10ms --until 0.02 causes.eventring
is "before, one is open" '[1,0,1]' \
  "$(query early.json '[.total.count, .total.missed, (.open_frames | length)]')"
frames nobody.json --frames 10ms --domain 1 causes.eventring
is "a domain" '[0,0]' "$(query nobody.json '[.total.count, .total.open]')"
is "rows, by commas" 6 "$("$EVENTRING" pauses --csv --frames 10ms causes.eventring |
  grep -c -E ',"(collector|off_cpu|program)",')"
is "titles" "ns,domain" "$("$EVENTRING" pauses --csv --frames 10ms causes.eventring | sed -n '1s/\(ns,domain\).*/\1/p')"

# of spans and of pauses other commands say the same
"$EVENTRING" spans --json --name frame causes.eventring >spans.json || fail "spans: $?"
is_same "as spans" "$(query spans.json '.total.names[] | select(.name == "frame") | [.count, .total_ns, .gc_ns, .max_ns]')" \
  "$(query causes.json '.total | [.count, .total_ns, .collector_ns + 1500000, .max_ns]')"

# as text, in lines of a page
"$EVENTRING" pauses --frames 10ms causes.eventring >causes.txt || fail "as text: $?"
has "text" "7 frames, 6 took longer than 10.00 ms: 85.71 %" "$(cat causes.txt)"
has "text, a cause" "off CPU 3 12.00 ms" "$(tr -s " " <causes.txt)"
has "text, open" "Open: 1" "$(cat causes.txt)"
is "lines that are too long" "" "$(grep -E '^.{81}' causes.txt)"
"$EVENTRING" pauses --frames 10ms --frame-span tick causes.eventring >none.txt || fail "no frames: $?"
has "no frames" "no span of the name \`tick' was recorded" "$(cat none.txt)"
has "but others" "frame, inner, other, measured" "$(cat none.txt)"

# Nobody says for how long the program was off the processor: all but pauses is its own. In the
# place of a domain another one begins.
record_script unsaid.eventring <<'SCRIPT'
begin frame
work 9000000
unsaid 2000000
end frame
begin frame
work 9000000
away 2000000
end frame
leave
work 1000
begin frame
away 11000000
end frame
SCRIPT
frames unsaid.json --frames 10ms unsaid.eventring
is "what is not measured" '["collector",11000,1000,2000,0,9000,1,false]
["program",11000,1000,0,0,11000,0,false]
["program",11000,1000,0,0,11000,0,false]' "$(rows unsaid.json)"
is "is said" 3 "$(query unsaid.json .total.unknown_off_cpu)"
has "in the text" "of 3 frames the recording does not say" "$("$EVENTRING" pauses --frames 10ms unsaid.eventring)"

# Of a reading that reaches beyond the frame, what must lie in it counts.
record_script reaches.eventring <<'SCRIPT'
pause 1000 0
work 2000000
begin frame
work 3000000
away 8000000
end frame
work 3000000
pause 1000 0
SCRIPT
frames reaches.json --frames 10ms reaches.eventring
is "at least" '["off_cpu",11000,1000,0,3000,8000,0,true]' "$(rows reaches.json)"

# Frames without a pause between them share what the reading says of all of them.
record_script shared.eventring <<'SCRIPT'
pause 1000 0
begin frame
work 3000000
away 10000000
end frame
begin frame
work 3000000
away 5000000
end frame
begin frame
work 3000000
away 1000000
end frame
away 2000000
pause 1000 0
SCRIPT
frames shared.json --frames 5ms shared.eventring
is "shared" '["off_cpu",13000,8000,0,8320,4680,0,true]
["off_cpu",8000,3000,0,5120,2880,0,true]' "$(rows shared.json)"
is "all of it" 16000000 "$(query shared.json .total.off_cpu_ns)"

# More frames wait for a pause than are kept: none is left out.
record_script many.eventring <<'SCRIPT'
pause 1000 0
repeat 70000
begin frame
work 9000000
away 2000000
end frame
again
pause 1000 0
SCRIPT
frames many.json --frames 10ms many.eventring
is "all are there" '[70000,70000,65536]' \
  "$(query many.json '.total | [.count, .missed, .unknown_off_cpu]')"

# Frames within frames, as in a program that calls its loop from its loop.
record_script nested.eventring <<'SCRIPT'
pause 1000 0
begin frame
work 1000000
begin frame
work 9000000
pause 2000000 0
end frame
end frame
pause 1000 0
SCRIPT
frames nested.json --frames 10ms nested.eventring
is "nested" '["collector",12000,2000,2000,0,10000,1,true]
["collector",11000,1000,2000,0,9000,1,true]' "$(rows nested.json)"

# Losses: a block of the ring of the collector is gone. What it did in frames then is not known.
record_script whole.eventring <<'SCRIPT'
pause 1000 0
repeat 2000
begin frame
work 9000000
pause 500000 0
pause 1500000 0
end frame
away 5000000
again
SCRIPT
python3 - whole.eventring lost.eventring <<'PY' || fail "making a loss"
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
blocks = [at for at in range(65536, len(data) - 4095, 4096)
          if any(data[at:at + 8]) and data[at + 8:at + 10] == b"\1\0" and data[at + 12] == 0]
blocks.sort(key=lambda at: struct.unpack_from("<Q", data, at))
assert len(blocks) > 4, len(blocks)
at = blocks[len(blocks) // 2]
data[at:at + 4096] = bytes(4096)
flags, = struct.unpack_from("<I", data, 124)
struct.pack_into("<II", data, 120, 0, flags | 1)  # no checksum of the header; blocks may be missing
open(sys.argv[2], "wb").write(data)
PY
frames whole.json --frames 10ms whole.eventring
frames lost.json --frames 10ms lost.eventring
is "whole" '[2000,2000,0]' "$(query whole.json '.total | [.count, .missed, .unknown_collector]')"
is "all are the collector's" 2000 \
  "$(query whole.json '.total.causes[] | select(.cause == "collector").missed')"
is "with a loss, all are there" '[2000,2000]' "$(query lost.json '.total | [.count, .missed]')"
is "some are not known" true \
  "$(query lost.json '.total | .unknown_collector > 0 and .unknown_collector < 2000 and
    ([.causes[] | select(.cause == "unknown").missed] == [.unknown_collector])')"
is "the others are the collector's" true \
  "$(query lost.json '.total | ([.causes[] | select(.cause == "collector").missed] | add) +
    .unknown_collector == 2000')"
has "the text says so" "of what the collector took" "$("$EVENTRING" pauses --frames 10ms lost.eventring |
  sed 's/frames the recording does not say/of/')"

# No domain, no event; a live process; a program
record_script empty.eventring </dev/null
"$EVENTRING" pauses --frames 10ms empty.eventring >empty.txt || fail "without frames: $?"
has "without frames" "No frame has ended" "$(cat empty.txt)"
start --rounds 1000000 --pause-us 200
frames live.json --frames 0 --frame-span request "$pid"
frames watched.json --frames 0 --frame-span request --seconds 0.2 "$pid"
is "frames of a process" true "$(query watched.json '.total | .count > 0 and .missed <= .count')"
kill -9 "$pid"
wait "$pid" 2>/dev/null
SAROS_EVENTRING_WSIZE=11 "$EVENTRING" pauses --json --frames 0 --frame-span request -- \
  "$PRODUCER" --rounds 50 --users 2 >program.json || fail "of a program: $?"
is "frames of a program" 100 "$(query program.json .total.count)"

# JSON is by the schema
"$EVENTRING" pauses --json-schema >pauses.schema || fail "--json-schema: $?"
for file in causes.json lost.json; do
  says_nothing "$file is by its schema" python3 "$TESTSUITE/tools/_schema.py" pauses.schema "$file"
done

ends 2 "not a number of seconds" "$EVENTRING" pauses --frames soon causes.eventring
ends 2 "--frames" "$EVENTRING" pauses causes.eventring --frames
ends 2 "--frame-span needs --frames" "$EVENTRING" pauses --frame-span tick causes.eventring
ends 2 "--over cannot be combined with --frames" "$EVENTRING" pauses --frames 10ms --over 1ms causes.eventring
ends 1 "" "$EVENTRING" pauses --frames 10ms no-such-file
finish
