# SPDX-License-Identifier: MIT
# examples/game/frames.lua: what it says of itself, its recording has, too; it runs under other
# Luas. No times are compared: which frames are missed depends on the machine.
. "$TESTSUITE/recording/_recording.sh"
program=$SRCDIR/examples/game/frames.lua

plays() { # LUA OPTION...: sets `frames` and `missed`, and the words behind that, which add up to it
  "$@" >out.txt || fail "$*: $?"
  read -r frames missed program_missed collector_missed off_missed < <(sed -nE \
    's/^frames ([0-9]+) of .* missed ([0-9]+): program ([0-9]+), collector ([0-9]+), off CPU ([0-9]+)$/\1 \2 \3 \4 \5/p' out.txt)
  is "$*: missed" "$missed" $((program_missed + collector_missed + off_missed))
  is "$*: frames" 40 "$frames"
  has "$*: a level" "level loaded by frame 3" "$(cat out.txt)"
}
short="--frames 40 --mb 4 --work 20"
# shellcheck disable=SC2086
{
  plays "$SAROS" "$program" $short --fast
  plays "$SAROS" "$program" $short --step --generational
  plays "$SAROS" "$program" $short --collect 0 --fast
  has "without" "collector: by itself" "$(cat out.txt)"
  for other in lua5.4 luajit; do
    command -v $other >/dev/null || continue
    plays $other "$program" $short
    has "$other" "collector: step" "$(cat out.txt)"
  done
  plays "$SAROS" "$program" $short --hz 120 --record ./frames.eventring
}
"$EVENTRING" pauses --json --frames 0 --top 100 frames.eventring >frames.json || fail "--frames: $?"
is "frames" '[40,40]' "$(jq -c '.total | [.count, .missed]' frames.json)"
is "parts" true "$(jq 'all(.rows[]; .collector_ns + .off_cpu_ns + .program_ns == .duration_ns)' frames.json)"
is "works of the collector" true "$(jq '.total.collector_ns > 0' frames.json)"
is "known" 0 "$(jq '.total.unknown_collector' frames.json)"
# A call of "frame" notes for how long the program had no processor, also if it may do nothing.
SAROS_EVENTRING_STREAM=./noted.eventring "$SAROS" -e 'local domain = require "saros.domain"
collectgarbage "stop"
collectgarbage("frame", 0)
domain.sleep(0.02)
collectgarbage("frame", 0)' || fail "frame, 0: $?"
is "noted" true "$("$EVENTRING" dump --json --name off_cpu noted.eventring |
  jq -s 'any(.[]; .value > 0)')"
"$SAROS" "$program" --frames >out.txt 2>&1 && fail "no number of frames"
has "usage" "usage: frames.lua" "$(cat out.txt)"
finish
