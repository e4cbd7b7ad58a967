# SPDX-License-Identifier: MIT
# The profile of calls in its first second: a trigger's copy has it; a copy that was made while the
# first one was being written has none, and nothing in it is damaged.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_PROFILE=calls SAROS_EVENTRING_PREFIX=.

cat >early.lua <<'END'
local eventring = require "saros.eventring"
local function work(n) return n < 2 and n or work(n - 1) + work(n - 2) end
local began = os.clock()
while os.clock() - began < 0.3 do work(15) end
eventring.counter("now", 1)
began = os.clock()
while not io.open "stop" do work(10) end
END
SAROS_EVENTRING_TRIGGER='counter("now") > 0, dir=copies' "$SAROS" early.lua 2>errors.txt &
pid=$!
saved() { ls copies/*.eventring >/dev/null 2>&1; }
until_so saved || fail "the trigger saves nothing: $(cat errors.txt)"
"$EVENTRING" profile --json copies/*.eventring >profile.json 2>errors.txt
is "a trigger in the first second: status" 0 $?
is "a trigger in the first second: message" "" "$(cat errors.txt)"
has "a trigger in the first second" '"work"' "$(cat profile.json)"
: >stop
wait $pid

# As in the first second, but of a profile with many parts, of which a copy has all but one
cat >wide.lua <<'END'
local lines = {}
for i = 1, 400 do lines[i] = "local function f" .. i .. "() end f" .. i .. "()" end
local chunks = {}
for i = 1, 4 do chunks[i] = load("do " .. table.concat(lines, " end do ") .. " end", "=wide" .. i) end
for i = 1, 4 do chunks[i]() end
local function sleep() for i = 1, 1e5 do (function() end)() end end
while not io.open "stop" do sleep() end
END
rm stop
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=ended "$SAROS" wide.lua 2>errors.txt &
pid=$!
await $pid
has_many() {
  rm -f whole.eventring
  "$EVENTRING" snapshot -o whole.eventring $pid &&
    "$EVENTRING" profile --top 0 whole.eventring 2>&1 | grep -q f400
}
until_so has_many || fail "no profile of many functions"
: >stop
wait $pid
cat >begun.py <<'END'
import struct, sys
sys.path.insert(0, sys.argv[3])
import reader
data = bytearray(open(sys.argv[1], "rb").read())
blocks = [at for at in range(65536, len(data), 4096)
          if any(data[at:at + 8]) and struct.unpack_from("<H", data, at + 8)[0] == 10]
number = lambda at: struct.unpack_from("<Q", data, at + 64 + 16)[0]
part = lambda at: struct.unpack_from("<I", data, at + 64 + 4)[0]
newest = max(map(number, blocks))
assert sum(number(at) == newest for at in blocks) > 1, "one part only"
for at in blocks:
    if number(at) != newest or (part(at) > 0) == (sys.argv[2] == "begun"):
        data[at:at + 4096] = bytes(4096)
        continue
    struct.pack_into("<Q", data, at + 64 + 16, 1)
    end, = struct.unpack_from("<I", data, at + 48)
    words = struct.unpack_from("<512Q", data, at)
    struct.pack_into("<I", data, at + 52, reader.checksum(words[:end]))
open(sys.argv[1], "wb").write(data)
END
for what in begun last; do
  cp whole.eventring copy.eventring
  python3 begun.py copy.eventring $what "$TESTSUITE/format" || fail "begun.py: $?"
  "$EVENTRING" profile copy.eventring >said.txt 2>errors.txt
  is "$what: status" 1 $?
  has "$what: message" "no profile of calls" "$(cat errors.txt)"
  ! grep "not valid" errors.txt || fail "$what: nothing is damaged"
done

# that of a process that ended in order is damaged
"$EVENTRING" profile ended.eventring >said.txt || fail "ended: $?"
python3 begun.py ended.eventring begun "$TESTSUITE/format" || fail "begun.py: $?"
ends 1 "1 parts of profiles are not valid" "$EVENTRING" profile ended.eventring
finish
