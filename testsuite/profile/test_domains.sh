# SPDX-License-Identifier: MIT
# Profiles of domains that end, raise and are cancelled, of processes that end early, and of
# programs with hooks.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PRESERVE=1

# count NAME FILE: calls of a function, over all domains
count() {
  "$EVENTRING" profile --top 0 --json "$2" | jq "[.rows[] | select(.name == \"$1\") | .count] | add"
}

cat >domains.lua <<'END'
local domain = require "saros.domain"
local MANY <const> = 5
local function work(n) local function leaf(i) return i end for i = 1, n do leaf(i) end return n end
for i = 1, MANY do assert(domain.spawn(work, 100):join() == 100) end
-- one that raises
local h = domain.spawn(function() local function raising() error "raised" end raising() end)
assert(not pcall(h.join, h))
-- those that are cancelled: in a loop of calls, and while they wait
local ready, never = domain.channel(1), domain.channel(1)
local endless = domain.spawn(function(ready)
  local function step() return 1 end
  for i = 1, 50 do step() end
  ready:send(1)
  while true do end
end, ready)
ready:receive()
endless:cancel()
assert(not pcall(endless.join, endless))
local waiting = domain.spawn(function(ready, never)
  local function wait() return (never:receive()) end
  ready:send(1)
  wait()
end, ready, never)
ready:receive()
waiting:cancel()
assert(not pcall(waiting.join, waiting))
END
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=domains "$SAROS" domains.lua || fail "domains.lua: $?"
is "leaf" 500 "$(count leaf domains.eventring)"
is "raising" 1 "$(count raising domains.eventring)"
is "step" 50 "$(count step domains.eventring)"
is "wait" 1 "$(count wait domains.eventring)"
is "all ended" 0 "$("$EVENTRING" profile --json domains.eventring | jq .loss.calls)"
has "all domains" "9 domains" "$("$EVENTRING" profile domains.eventring)"
has "waiting is marked" "(waiting)" "$("$EVENTRING" profile --top 0 domains.eventring)"

# The profile is written at a call, when it is time, and the domain then looks for questions: if
# that is the call of a function that waits, it waits all the same.
cat >waits.lua <<'END'
local domain = require "saros.domain"
local channel = domain.channel(1)
local function late(channel) domain.sleep(1) channel:send(6) domain.sleep(1) return 7 end
local h = domain.spawn(late, channel)
local join, receive, sleep, now, x = h.join, channel.receive, domain.sleep, domain.now, 0
local many = 3e7 // os.getenv "TEST_SLOWNESS"
for i = 1, many do x = x + i end -- without a call
local got = table.pack(receive(channel))
assert(got[1] == 6, "it did not wait for a message")
for i = 1, many do x = x + i end
local joined = table.pack(join(h))
assert(joined[1] == 7, "it did not wait for the end")
local begun = now()
for i = 1, many do x = x + i end
sleep(1.5)
assert(now() - begun >= 1.5, "it did not sleep")
END
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=waits "$SAROS" waits.lua || fail "waits.lua: $?"

# os.exit in the middle of calls
cat >exit.lua <<'END'
local function deep(n) if n == 0 then os.exit(3) end deep(n - 1) return 1 end
deep(20)
END
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=exit "$SAROS" exit.lua
is "status" 3 $?
is "deep" 21 "$(count deep exit.eventring)"

# hooks: their function is a row, what they interrupt goes on; errors in them
cat >hooks.lua <<'END'
local function leaf() return 1 end
local hooked = 0
local function hook() hooked = hooked + 1 end
debug.sethook(hook, "c")
for i = 1, 10 do leaf() end
debug.sethook()
local function raising() debug.sethook() error "in a hook" end
assert(not pcall(function() debug.sethook(raising, "c") leaf() end))
debug.sethook()
assert(hooked >= 10)
print(hooked)
END
hooked=$(SAROS_PROFILE=calls SAROS_EVENTRING_NAME=hooks "$SAROS" hooks.lua) || fail "hooks.lua"
is "hook" "$hooked" "$(count hook hooks.eventring)"
is "raising in a hook" 1 "$(count raising hooks.eventring)"
# the child of a fork goes on with the profile of its parent, in its own recording
cat >fork.lua <<'END'
local ffi = require "saros.ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local function leaf() return 1 end
for i = 1, 10 do leaf() end
local pid = ffi.C.fork()
for i = 1, pid == 0 and 7 or 5 do leaf() end
if pid == 0 then
  assert(require "saros.eventring".path()) -- it is recorded from here on
  for i = 1, 3 do leaf() end
  os.exit(0, true)
end
local status = ffi.new("int[1]")
ffi.C.waitpid(pid, status, 0)
assert(status[0] == 0)
END
# (the check for leaks of a sanitizer does not know which threads such a child has)
if ! sanitized && "$SAROS" -e 'os.exit(pcall(require, "saros.ffi"))'; then
  mkdir forks
  SAROS_PROFILE=calls SAROS_EVENTRING_PREFIX=forks "$SAROS" fork.lua || fail "fork.lua: $?"
  counts=$(for file in forks/*.eventring; do count leaf "$file"; done | sort -n | tr '\n' ' ')
  is "leaf in parent and child" "15 20 " "$counts"
fi
# begun and ended from outside, again and again, in all domains at once
cat >toggled.lua <<'END'
local domain = require "saros.domain"
local function work()
  local function leaf(a) return a end
  local function fails() error "raised" end
  local co = coroutine.wrap(function() while true do pcall(fails) coroutine.yield(leaf(1)) end end)
  local function stopped() local f = io.open "stop" if f then f:close() end return f end
  while not stopped() do
    for i = 1, 200 do
      co()
      local t = setmetatable({}, {__gc = leaf, __index = leaf})
      assert(t.x == t)
    end
  end
end
local handles = {}
for i = 1, 2 do handles[i] = domain.spawn(work) end
work()
for _, h in ipairs(handles) do h:join() end
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=toggled "$SAROS" toggled.lua &
pid=$!
await "$pid"
for ((i = 0; i < 20; i++)); do
  "$EVENTRING" control "$pid" --profile calls || fail "control --profile calls: $?"
  "$EVENTRING" control "$pid" --profile off || fail "control --profile off: $?"
done
"$EVENTRING" control "$pid" --profile calls
for ((i = 0; i < 600; i++)); do
  if [ "$(count leaf toggled.eventring 2>/dev/null)" -gt 0 ] 2>/dev/null; then break; fi
  sleep 0.1
done
: >stop
wait "$pid" || fail "toggled.lua: $?"
[ "$(count leaf toggled.eventring)" -gt 0 ] || fail "no calls after toggling"
finish
