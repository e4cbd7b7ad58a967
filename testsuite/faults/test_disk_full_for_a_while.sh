# SPDX-License-Identifier: MIT
# A disk that is full for a while: rings go on in the blocks that they have and, when there is room
# again, in all; every command says so, readers of every kind read what is there, and no event is
# lost that was not overwritten.
. "$TESTSUITE/faults/_faults.sh"
[ "$(id -u)" -eq 0 ] || { echo "only root can mount a tiny file system"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
mkdir disk
mount -t tmpfs -o size=1m tmpfs disk 2>mount.txt ||
  { echo "cannot mount a tmpfs: $(cat mount.txt)"; exit 77; }
pid=
trap '[ "$pid" ] && kill -KILL $pid 2>/dev/null; sleep 0.1; umount "$PWD/disk"' EXIT
export SAROS_EVENTRING_PREFIX=disk SAROS_EVENTRING_SECONDS=0

# flood N: counters with the numbers 1, 2, ...; at each step the program waits for the next file
cat >flood.lua <<'END'
local eventring = require "saros.eventring"
local number = 0
local function flood(count)
  for _ = 1, count do
    number = number + 1
    eventring.counter("number", number)
  end
end
local function step(name)
  io.open(name .. ".done", "w"):close()
  while not io.open(name .. ".go") do os.execute("sleep 0.02") end
end
flood(tonumber(arg[1]))
for i, count in ipairs { 100, 3000, 90000, 40000, 90000 } do
  step("step" .. i)
  flood(count)
  if i == 3 then -- the disk is full, and definitions need more than a block
    for n = 1, 300 do eventring.counter("late " .. n, n) end
  end
  -- with a pause for the next attempt to find room
  local at = os.clock()
  while os.clock() < at + 0.05 do end
  flood(count)
end
step("step6")
END

# The counters that can be read come in order, and none is missing between two but where rings
# were overwritten; what is emitted is delivered, missed or lost.
check_counters() { # WHAT FILE
  "$EVENTRING" dump --json --ring user "$2" >dump.json 2>errors.txt || fail "$1: dump: $(cat errors.txt)"
  is "$1: errors" "" "$(cat errors.txt)"
  local order
  order=$(jq -rs '[.[] | select(.name == "number") | .value] |
    if length == 0 then "none" elif . == [range(.[0]; .[0] + length)] then "in order" else "gaps" end' dump.json)
  is "$1: counters" "in order" "$order"
  "$EVENTRING" show --json "$2" >show.json || fail "$1: show"
  last=$(jq -rs '[.[] | select(.name == "number") | .value] | last' dump.json)
}

copies_of() { # FILE: what reads and writes blocks
  rm -f snapshot.eventring cut.eventring
  "$EVENTRING" snapshot -o snapshot.eventring "$1" || fail "$what: snapshot"
  check_counters "$what, its snapshot" snapshot.eventring
  "$EVENTRING" cut -o cut.eventring "$1" || fail "$what: cut"
  check_counters "$what, cut" cut.eventring
}

# Makes a file of a producer that had room up to its newest block, and was killed when it had left
# out the rest of a round and not yet begun the next one: the head is the end of the round.
killed_between() { # FILE
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TESTSUITE/format python3 - "$1" <<'PYTHON' || fail "$what: cannot change a head"
import struct, sys
import reader
with open(sys.argv[1], "r+b") as file:
    entry = 12288 + 128 + 16 * 1  # of slot 0, the user ring
    file.seek(entry)
    head, first, places = struct.unpack("<QII", file.read(16))
    at = (head - 1) % places
    file.seek(65536 + 4096 * (first + at + 1))
    file.write(bytes(4096 * (places - 1 - at)))
    block = 65536 + 4096 * (first + at)
    file.seek(block)
    words = struct.unpack("<512Q", file.read(4096))
    end = reader.first_event(words)
    while end < 512 and words[end]:
        end += 1 + (words[end] >> 3 & 127)
    file.seek(block + 48)
    file.write(struct.pack("<Q", end | reader.checksum(words[:end]) << 32))
    file.seek(entry)
    file.write(struct.pack("<Q", (head + places - 1) // places * places))
PYTHON
}

# reader.py, written from doc/FORMAT.md, says the same
agree() { # WHAT FILE
  PYTHONDONTWRITEBYTECODE=1 python3 "$TESTSUITE/format/compare.py" "$@" >/dev/null || fail "$1: reader.py"
}

state_of() { "$EVENTRING" list --json disk | jq -r --argjson pid $pid 'select(.pid == $pid) | .no_room // 0'; }
without_room() { "$EVENTRING" metrics "$pid" | sed -n 's/^eventring_rings_without_room{.*} //p'; }

# for_a_while WHAT FIRST: with FIRST counters before the disk is full
for_a_while() {
  what=$1
  rm -f step* disk/*
  "$SAROS" flood.lua "$2" 2>errors.txt &
  pid=$!
  for i in 1 2 3 4 5; do
    until_so [ -e step$i.done ] || fail "$what: no step $i"
    case $i in
    1) head -c 4m /dev/zero >disk/fill 2>/dev/null ;;
    esac
    if [ "$i" -ge 3 ]; then
      [ "$(state_of)" -gt 0 ] 2>/dev/null || fail "$what: list does not say that there is no room"
      has "$what: list" "running, no room" "$("$EVENTRING" list disk)"
      has "$what: stats" "no room: " "$("$EVENTRING" stats "$pid" --seconds 0.1 2>&1)"
      is "$what: metrics" "$(state_of)" "$(without_room)"
      has "$what: control" "no room" "$("$EVENTRING" control --status "$pid")"
      "$EVENTRING" pauses --seconds 0.1 "$pid" >pauses.txt || fail "$what: pauses: $?"
      has "$what: pauses" "no room: " "$(cat pauses.txt)"
      is "$what: lines of pauses that are too long" "" "$(grep -E '^.{81}' pauses.txt)"
      cp disk/"$pid".eventring full.eventring # it waits, and writes nothing
    fi
    [ "$i" -ne 5 ] || rm disk/fill
    : >"step$i.go"
  done
  until_so [ -e step6.done ] || fail "$what: no step 6"
  is "$what: rings without room at the end" 0 "$(state_of)"
  is "$what: metrics at the end" 0 "$(without_room)"
  "$EVENTRING" snapshot -o "live-$2.eventring" "$pid" || fail "$what: snapshot of the live process"
  kill -KILL $pid
  wait $pid 2>/dev/null
  file=disk/$pid.eventring
  pid=
  is "$what: warnings" 1 "$(grep -c 'warning: .*No space' errors.txt)"
  check_counters "$what: live" "live-$2.eventring"
  check_counters "$what" "$file"
  agree "$what" "$file"
  is "$what: the newest counter" "$(($2 + 2 * (100 + 3000 + 90000 + 40000 + 90000)))" "$last"
  is "$what: blocks that can be read" 64 "$(jq '[.domains[].rings.user.available] | add / 250 | round' show.json)"
  is "$what: definitions that were made without room" 300 \
    "$(jq '[.catalogue[].name | select(startswith("late "))] | length' show.json)"
  copies_of "$file"
  [ "$2" -gt 0 ] || return # else the ring is not in this file
  agree "$what, full" full.eventring
  check_counters "$what, full" full.eventring
  newest=$last
  killed_between full.eventring
  check_counters "$what, killed between" full.eventring
  is "$what, killed between: the newest counter" "$newest" "$last"
  agree "$what, killed between" full.eventring
  copies_of full.eventring
}
# What reads the recording within its process, a cursor and the copies of a trigger, leaves out the
# places that are not there as readers outside do.
read_within() {
  what="read within"
  rm -f step* disk/*
  mkdir copies
  cat >within.lua <<'END'
local eventring = require "saros.eventring"
local cursor, number, read = eventring.cursor(), 0, 0
local function flood(count)
  for _ = 1, count do
    number = number + 1
    eventring.span("work", tostring, number)
    eventring.counter("number", number)
  end
end
local function poll()
  cursor:poll { user_counter = function(_, _, _, value)
    assert(value > read, "the numbers do not rise")
    read = value
  end }
end
flood(4000)
io.open("step1.done", "w"):close()
while not io.open("step1.go") do os.execute("sleep 0.02") end
for _ = 1, 50 do flood(2000) poll() end
assert(read == number, ("read %d of %d"):format(read, number))
io.open("step2.done", "w"):close()
while not io.open("step2.go") do flood(10) poll() end
END
  "$SAROS" within.lua 2>said.txt &
  pid=$!
  until_so [ -e step1.done ] || fail "$what: no step 1"
  head -c 4m /dev/zero >disk/fill 2>/dev/null
  : >step1.go
  until_so [ -e step2.done ] || fail "$what: no step 2: $(cat said.txt)"
  [ "$(state_of)" -gt 0 ] || fail "$what: there is room"
  "$EVENTRING" control --trigger "span(\"work\") >= 0ns, dir=$PWD/copies, max=1" $pid || fail "$what: no trigger"
  has_copy() { [ -n "$(ls copies/*.eventring 2>/dev/null)" ]; }
  until_so has_copy || fail "$what: no copy: $(cat said.txt)"
  check_counters "$what, the copy" copies/*.eventring
  [ "$(state_of)" -gt 0 ] || fail "$what: does not record any more"
  : >step2.go
  wait $pid
  is "$what: status of the program" 0 $?
  pid=
  is "$what: warnings" 1 "$(grep -c "warning: .*No space" said.txt)"
}
read_within
for_a_while "in the first round" 4000
for_a_while "before the first block" 0
finish
