# SPDX-License-Identifier: MIT
# Sourced by the tests of recordings with many losses: a program that knows how many events it
# emits, and what a recorder would have left of them.
#
#   lossy.eventring    blocks were left out, as by whoever copies the rings of a live process
#   damaged.eventring  the same, and nothing says that blocks may be missing
#   full.eventring     as the first, and its newest blocks are missing, too: the disk was full to
#                      the end
#
# More blocks are missing than one poll tries.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
SPANS=70000
EMITTED=$((2 * SPANS + 2))

record_losses() {
  cat >loss.lua <<'LUA'
local eventring = require "saros.eventring"
local text = string.rep("x", 300)
eventring.begin_span "all"
for i = 1, tonumber(arg[1]) do
  eventring.begin_span("o", text)
  eventring.end_span "o"
  if i % 700 == 0 then collectgarbage "step" end
end
eventring.end_span "all"
LUA
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_STREAM=./whole.eventring "$SAROS" loss.lua "$SPANS" ||
    fail "loss.lua: status $?"
  python3 - <<'PY' || fail "making losses"
import struct
# blocks of the ring `user`: how many others there are depends on how long the program took
data = bytearray(open("whole.eventring", "rb").read())
blocks = [at for at in range(65536, len(data) - 4095, 4096)
          if any(data[at:at + 8]) and data[at + 8:at + 10] == b"\1\0" and data[at + 12] == 1]
# In the order of the ring. That in the file is another one where the helper made chunks late; and
# of what was emitted in blocks behind the newest one that is there, nothing is known.
blocks.sort(key=lambda at: struct.unpack_from("<Q", data, at))
for i, at in enumerate(blocks[3:-1]):
    if i % 5:
        data[at:at + 4096] = bytes(4096)
assert (len(blocks) - 4) * 4 // 5 > 4096, len(blocks)
open("damaged.eventring", "wb").write(data)
flags, = struct.unpack_from("<I", data, 124)
struct.pack_into("<II", data, 120, 0, flags | 1) # no checksum of the header; blocks may be missing
open("lossy.eventring", "wb").write(data)
for at in blocks[-20:]:
    data[at:at + 4096] = bytes(4096)
open("full.eventring", "wb").write(data)
PY
}
