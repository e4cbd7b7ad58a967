# SPDX-License-Identifier: MIT
# RLIMIT_NPROC: when the system has no more threads, domains that wait at channels which are
# garbage end, and spawn succeeds; where nothing is garbage it is an error.
. "$TESTSUITE/faults/_faults.sh"
need_root "be a user whose threads are counted"
need_reachable_programs
grep -q __asan_init "$SAROS" && { echo "AddressSanitizer needs threads of its own"; exit 77; }
export SAROS_EVENTRING_START=0

# A user who has no other process
as_lonely() { prlimit --nproc=20 setpriv --reuid=54321 --regid=54321 --clear-groups "$@"; }

cat >short.lua <<'END'
local domain = require "saros.domain"
for i = 1, 100 do
  domain.spawn(function(c) for _ in c:values() do end end, domain.channel())
end
collectgarbage()
while domain.count() > 1 do domain.sleep(0.01) end
local gate, handles = domain.channel(), {}
local ok, message
for _ = 1, 40 do
  ok, message = pcall(function() handles[#handles + 1] = domain.spawn(function() gate:receive() end) end)
  if not ok then break end
end
assert(not ok and message:find("cannot start a thread", 1, true), message)
for _ = 1, #handles do gate:send(1) end
for _, h in ipairs(handles) do h:join() end
assert(domain.spawn(function() return 7 end):join() == 7)
print "ran"
END
is "output" ran "$(as_lonely timeout $PATIENCE "$SAROS" - <short.lua 2>&1)"

# Where no new domain runs before the one that spawns them waits, none has its arguments when the
# threads run out.
on_one() { taskset -c "$(taskset -pc $$ | sed 's/.*[ ,-]//')" chrt -f 1 "$@"; }
if on_one true 2>/dev/null; then
  is "output, of threads that wait for their turn" ran \
    "$(on_one prlimit --nproc=20 setpriv --reuid=54321 --regid=54321 --clear-groups \
       timeout $PATIENCE "$SAROS" - <short.lua 2>&1)"
fi
finish
