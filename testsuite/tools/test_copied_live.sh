# SPDX-License-Identifier: MIT
# A file that was copied with cp while its process wrote into it: its front is older than its
# blocks. What is whole is read, what is not is said, with status 1.
. "$TESTSUITE/recording/_recording.sh"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=.

cat >flood.lua <<'END'
local eventring = require "saros.eventring"
local number = 0
for i = 1, 2 do
  for _ = 1, tonumber(arg[i]) do
    number = number + 1
    eventring.counter("number", number)
  end
  io.open("step" .. i .. ".done", "w"):close()
  while not io.open("step" .. i .. ".go") do os.execute("sleep 0.02") end
end
END

# torn NAME FIRST SECOND [SETTING...]: NAME.eventring has the front as it was after FIRST counters,
# and blocks as they were after SECOND more
torn() {
  what=$1
  local first=$2 second=$3
  shift 3
  rm -f step* -- *.eventring
  env "$@" "$SAROS" flood.lua "$first" "$second" &
  pid=$!
  until_so [ -e step1.done ] || fail "$what: no first step"
  file=$(ls -- *.eventring)
  cp "$file" front
  : >step1.go
  until_so [ -e step2.done ] || fail "$what: no second step"
  cp "$file" "$what.copy"
  kill -KILL $pid
  wait $pid 2>/dev/null
  rm -f -- *.eventring
  dd if=front of="$what.copy" bs=4096 count=16 conv=notrunc status=none
  mv "$what.copy" "$what.eventring"
}

# reads FILE NEWEST FIRST STATUS: the counters from FIRST to NEWEST are there
reads() {
  "$EVENTRING" dump --json --ring user "$1" >dump.json 2>errors.txt
  is "$what, $1: status of dump" "$4" $?
  is "$what, $1: counters" "[$3,$2,true]" "$(jq -sc '[.[] | select(.name == "number") | .value] |
    [.[0], .[-1], . == [range(.[0]; .[-1] + 1)]]' dump.json)"
}

check() { # NEWEST FIRST
  reads "$what.eventring" "$1" "$2" 1
  has "$what: message" "it was copied while it was written" "$(cat errors.txt)"
  is "$what: lines" 1 "$(wc -l <errors.txt)"
  for command in stats show; do
    "$EVENTRING" $command "$what.eventring" >output.txt 2>errors.txt
    is "$what: status of $command" 1 $?
    has "$what: $command" "copied while it was written" "$(cat errors.txt)"
  done
  has "$what: state" "saved, running" "$("$EVENTRING" show "$what.eventring" 2>/dev/null)"
  "$EVENTRING" cut -q -o cut.eventring "$what.eventring" 2>errors.txt
  is "$what: status of cut" 1 $?
  reads cut.eventring "$1" "$2" 0
  rm cut.eventring
}

torn within 2000 6000 SAROS_EVENTRING_SECONDS=0
check 8000 1
torn around 2000 100000 SAROS_EVENTRING_SECONDS=0
first=$(jq -s '[.[] | select(.name == "number") | .value] | .[0]' <("$EVENTRING" dump --json --ring user around.eventring 2>/dev/null))
[ "$first" -le $((102000 - 15500)) ] || fail "around: the first counter is $first"
check 102000 "$first"
torn grown 2000 60000 SAROS_EVENTRING_SECONDS=1000
check 62000 1
torn streamed 2000 60000 SAROS_EVENTRING_STREAM="$PWD/stream.eventring"
check 62000 1

# a copy that is as it was at one moment is none, nor is what a killed process has left
torn whole 2000 0 SAROS_EVENTRING_SECONDS=0
reads whole.eventring 2000 1 0
finish
