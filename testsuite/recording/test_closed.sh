# SPDX-License-Identifier: MIT
# SAROS_EVENTRING_REMOTE=0 closes the control page: commands are refused, and what is written
# there by hand is put back. A process that is not dumpable obeys pause and classes only.
. "$TESTSUITE/recording/_recording.sh"
export SAROS_EVENTRING_START=1
cat >spins.lua <<'END'
if arg[1] then
  local ffi = require "saros.ffi"
  ffi.cdef "int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);"
  assert(ffi.C.prctl(4, 0, 0, 0, 0) == 0) -- PR_SET_DUMPABLE
end
while not io.open "stop" do
  require "saros.eventring".span("x", function() end)
  collectgarbage()
end
os.exit(0)
END
refused() { # WHAT MESSAGE COMMAND...
  local what=$1 message=$2 output
  shift 2
  output=$("$@" 2>&1)
  is "$what: status" 1 $?
  has "$what" "$message" "$output"
}
end() { touch stop; wait $pid || fail "status $?"; rm stop; }

SAROS_EVENTRING_REMOTE=0 "$SAROS" spins.lua &
pid=$!
await $pid
for change in --pause "--enable io" "--memprof on" "--profile calls" "--trigger heap>1G"; do
  refused "$change" "takes no requests" "$EVENTRING" control $change $pid
done
refused "a question" "takes no requests" "$EVENTRING" retain $pid
if command -v python3 >/dev/null; then
  python3 - $pid.eventring <<'END' || fail "what was written by hand stays"
import mmap, struct, sys, time
with open(sys.argv[1], "r+b") as file:
    page = mmap.mmap(file.fileno(), 65536)
    before = struct.unpack_from("<QQQ", page, 8192)
    struct.pack_into("<QQQ", page, 8192, 0, before[1] & ~1, 0x3FE0000000000000)
    for _ in range(6000):
        if struct.unpack_from("<QQQ", page, 8192) == before:
            sys.exit(0)
        time.sleep(0.01)
    sys.exit("%r is not %r" % (struct.unpack_from("<QQQ", page, 8192), before))
END
  python3 - $pid.eventring <<'END' || fail "what was written by hand is in the file after a deleted one"
import mmap, os, struct, sys, time
def words_of(page):
    return struct.unpack_from("<QQQ", page, 8192)
with open(sys.argv[1], "r+b") as file:
    page = mmap.mmap(file.fileno(), 65536)
    before = words_of(page)
    os.unlink(sys.argv[1])
    end = time.monotonic() + 60
    # 4096: the state; 2: it has ended
    while page[4096] != 2 and time.monotonic() < end:
        struct.pack_into("<QQQ", page, 8192, 0, before[1] & ~1, 0x3FE0000000000000)
with open(sys.argv[1], "r+b") as file:
    after = words_of(mmap.mmap(file.fileno(), 65536))
    sys.exit(0 if after == before else "%r is not %r" % (after, before))
END
fi
end

"$SAROS" -e 'require "saros.ffi"' 2>/dev/null || finish
# AddressSanitizer does not work in a process that is not dumpable
grep -q __asan_init "$SAROS" && finish
"$SAROS" spins.lua undumpable &
pid=$!
until_so [ -s $pid.eventring ]
says_no() { ! "$EVENTRING" control --trigger 'heap > 1G' $pid.eventring 2>no.txt; }
until_so says_no || fail "a trigger is taken by a process that is not dumpable"
has "not dumpable" "not dumpable" "$(cat no.txt)"
refused "a question" "not dumpable" "$EVENTRING" retain $pid.eventring
"$EVENTRING" control --pause $pid.eventring 2>/dev/null || fail "pause: $?"
"$EVENTRING" control --resume $pid.eventring 2>/dev/null || fail "resume: $?"
end
finish
