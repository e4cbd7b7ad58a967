# SPDX-License-Identifier: MIT
# A process of several domains forks: in the child only the domain that forked goes on. It
# can collect, send, wait, spawn, end; what belonged to others is an error, never a hang,
# however busy they were. And domains start commands.
. "$TESTSUITE/faults/_faults.sh"
"$SAROS" -e 'require "saros.ffi"' 2>/dev/null || { echo "built without ffi"; exit 77; }
grep -qE '__asan_init|__tsan_init' "$SAROS" && { echo "the sanitizers' own locks are not made for forks of several threads"; exit 77; }

cat >fork.lua <<'END'
local domain = require "saros.domain"
local ffi = require "saros.ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local who, times = arg[1], tonumber(arg[2])

-- others that make, send, receive, spawn all the time
local stop, busy = domain.channel(), {}
for i = 1, 2 do
  busy[i] = domain.spawn(function()
    local own = domain.channel(1000)
    while not stop:is_closed() do
      own:send({domain.channel(), ("x"):rep(20000)})
      if #own > 20 then own:receive() own:receive() end
      domain.spawn(function() end):join()
    end
  end)
end
local ready, never = domain.channel(), domain.channel()
local waiting = domain.spawn({name = "waiting"}, function() ready:send(true) never:receive() end)
ready:receive()

local function fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok and message:find(text, 1, true), message)
end

local function child(waiting)
  assert(domain.count() == 1)
  if waiting then
    fails("the domain stayed in the process that forked", waiting.join, waiting)
    assert(waiting.status == "failed")
    waiting:cancel()
  end
  fails("orphaned", never.receive, never)
  assert(not stop:is_closed())
  local t = {}
  for i = 1, 20000 do t[i % 100] = {i, tostring(i)} end
  collectgarbage()
  local c = domain.channel()
  local h = domain.spawn(function(a) c:send(a) return domain.count() end, ("y"):rep(100000))
  assert(#c:receive() == 100000)
  local n = h:join()
  assert(n == 2, n)
  h = domain.spawn(function() c:receive() end)
  fails("deadlock", c.receive, c)
  h:cancel()
  pcall(h.join, h)
  return 7
end

local function fork_one()
  local pid = ffi.C.fork()
  assert(pid >= 0)
  if pid == 0 then
    local ok, status = xpcall(child, debug.traceback, waiting)
    if not ok then io.stderr:write(status, "\n") end
    os.exit(ok and status or 1, true)
  end
  local status = ffi.new "int[1]"
  assert(ffi.C.waitpid(pid, status, 0) == pid)
  assert(status[0] == 7 << 8, ("status %x"):format(status[0]))
end

if who == "main" then
  for i = 1, times do fork_one() end
else
  domain.spawn(function()
    local ffi = require "saros.ffi"
    ffi.cdef "int fork(void); int waitpid(int, int *, int);"
    for i = 1, times do
      local pid = ffi.C.fork()
      if pid == 0 then
        child()
        if i % 2 == 0 then os.exit(7) end
        return -- the last thread of the child
      end
      local status = ffi.new "int[1]"
      assert(ffi.C.waitpid(pid, status, 0) == pid)
      assert(status[0] == (i % 2 == 0 and 7 << 8 or 0), ("status %x"):format(status[0]))
    end
  end):join()
end
stop:close()
for i = 1, 2 do busy[i]:join() end
waiting:cancel()
print "forked"
END
times=$((40 / (TEST_SLOWNESS + 1)))
for who in main domain; do
  output=$("$SAROS" fork.lua $who $times 2>&1)
  is "$who: status and output" "0 forked" "$? $output"
done

# With a recording, the child has one of its own, or none.
for who in main domain; do
  for fork in 1 0; do
    for start in 1 standby; do
      output=$(SAROS_EVENTRING_START=$start SAROS_EVENTRING_FORK=$fork "$SAROS" fork.lua $who 6 2>&1)
      is "$who, recorded ($start), fork=$fork" "0 forked" "$? $output"
      no_file_in "$who, recorded ($start), fork=$fork" .
    done
  done
done

# A domain forks while another one waits for its end. In the child that thread's stack is used
# by the domains that the child spawns.
cat >joined.lua <<'END'
local domain = require "saros.domain"
local function deep(n)
  return (string.gsub("x", "x", function() return n > 0 and deep(n - 1) or "y" end))
end
local waits = domain.spawn(function(deep)
  local domain = require "saros.domain"
  local forks = domain.spawn(function(deep)
    local domain, ffi = require "saros.domain", require "saros.ffi"
    ffi.cdef "int fork(void); int waitpid(int, int *, int);"
    domain.sleep(0.3) -- the other one waits by then
    local pid = ffi.C.fork()
    if pid == 0 then
      for i = 1, 3 do domain.spawn(deep, 60):join() end
      return "child"
    end
    local status = ffi.new "int[1]"
    ffi.C.waitpid(pid, status, 0)
    return status[0]
  end, deep)
  return forks:join()
end, deep)
print(waits:join())
END
output=$("$SAROS" joined.lua 2>&1)
is "a fork by a domain that is joined" "0 0" "$? $output"

# Shells that domains start, while others are busy.
output=$("$SAROS" -e 'local domain = require "saros.domain"
  local function shells(i)
    for k = 1, 10 do
      assert(os.execute("exit 0"))
      local p = io.popen("echo " .. i .. "." .. k)
      assert(p:read("a") == i .. "." .. k .. "\n")
      assert(p:close())
      local _, how, status = os.execute("exit 3")
      assert(how == "exit" and status == 3)
    end
    return i
  end
  local h = {}
  for i = 1, 4 do h[i] = domain.spawn(shells, i) end
  for i = 1, 4 do assert(h[i]:join() == i) end
  print(shells(0))' 2>&1)
is "shells" "0 0" "$? $output"
finish
