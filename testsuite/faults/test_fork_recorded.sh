# SPDX-License-Identifier: MIT
# The child of a recorded program that goes on is recorded as its parent was, in a file of
# its own; one that execs or exits soon leaves nothing; and neither touches its parent's.
. "$TESTSUITE/faults/_faults.sh"
"$SAROS" -e 'require "ffi"' 2>/dev/null || { echo "built without ffi"; exit 77; }
grep -qE '__asan_init|__tsan_init' "$SAROS" && { echo "the sanitizers' own locks are not made for forks of several threads"; exit 77; }

cat >forks.lua <<'END'
local ffi = require "ffi"
ffi.cdef [[
int fork(void); int waitpid(int, int *, int); int getpid(void); int setsid(void);
int chdir(const char *); int close(int); void _exit(int); int usleep(unsigned);
int execv(const char *, char *const *);]]
local forks = {C = ffi.C}

-- Runs `f` in a child; returns the child's status.
function forks.child(f, ...)
  local pid = ffi.C.fork()
  if pid == 0 then
    local ok, message = xpcall(f, debug.traceback, ...)
    if not ok then io.stderr:write(message, "\n") end
    os.exit(ok and 0 or 1, true)
  end
  local status = ffi.new "int[1]"
  assert(ffi.C.waitpid(pid, status, 0) == pid)
  return status[0] >> 8
end

-- As daemon(3): forks twice, and the parents exit at once.
function forks.daemonize()
  if ffi.C.fork() > 0 then os.exit(0) end
  ffi.C.setsid()
  if ffi.C.fork() > 0 then ffi.C._exit(0) end
  ffi.C.chdir "/"
end

function forks.serve(directory)
  local f <close> = assert(io.open(directory .. "/pid", "w"))
  f:write(ffi.C.getpid(), "\n")
  f:close()
  local t = {}
  while not io.open(directory .. "/stop") do
    for i = 1, 1000 do t[i % 100] = {i} end
    ffi.C.usleep(1000)
  end
end
return forks
END
export LUA_PATH="$PWD/?.lua;;"

# ---- Daemons

has_spans() { "$EVENTRING" dump --json "$1" 2>/dev/null | grep -q '"name":"minor'; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# daemon WHAT STATE CODE [VARIABLE=VALUE...]: a server that daemonizes, found by its pid and
# in its directory; leaves nothing when it ends. $file is its recording.
daemon() {
  local what=$1 state=$2 code=$3 pid info
  shift 3
  rm -rf served && mkdir served
  (cd served && env "$@" timeout $PATIENCE "$SAROS" -e "$code" \
    -e "local forks = require 'forks' forks.daemonize() forks.serve('$OLDPWD/served')" </dev/null >../output.txt 2>&1)
  is "$what: status of the parent" 0 $?
  until_so [ -s served/pid ] || { fail "$what: no daemon"; return; }
  pid=$(cat served/pid)
  await "$pid"
  info=$("$EVENTRING" show --json "$pid" 2>&1 | head -n 1)
  is "$what: pid in its file" "$pid" "$(jq .pid <<<"$info")"
  is "$what: state" "$state" "$(jq -r .state <<<"$info")"
  has "$what: list" "\"pid\":$pid," "$("$EVENTRING" list --json served)"
  file=$(find served -name '*.eventring')
  if [ "$state" = standby ]; then
    timeout $PATIENCE "$EVENTRING" control --resume "$pid" >/dev/null 2>control.err ||
      fail "$what: cannot be started: $(cat control.err)"
  fi
  until_so has_spans "$pid" || fail "$what: no spans of the collector"
  touch served/stop
  until_so gone "$pid" || fail "$what: does not end"
  is "$what: files left" "" "$(find served -name '*.eventring')"
}

daemon "daemon" running "" SAROS_EVENTRING_START=1
is "daemon: its file" "served/$(cat served/pid).eventring" "$file"
daemon "daemon that stands by" standby "" SAROS_EVENTRING_START=standby
daemon "daemon that has started the recording itself" running "assert(require 'eventring'.start())" \
  SAROS_EVENTRING_START=0
daemon "daemon whose recording is paused" standby "assert(require 'eventring'.pause())" SAROS_EVENTRING_START=1
daemon "daemon with a name" running "" SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=server
is "daemon with a name: its file" "served/server-$(cat served/pid).eventring" "$file"
daemon "daemon with a template" running "" SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=server.%p.eventring
is "daemon with a template: its file" "served/server.$(cat served/pid).eventring" "$file"
daemon "daemon with a relative prefix" running "" SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=.

# ---- Children

# in_child WHAT CODE [VARIABLE=VALUE...]: the code runs in a program that records into
# ./children, with `forks`, `eventring` and what stands here
cat >before.lua <<'END'
forks, eventring = require "forks", require "eventring"
function here() -- the recordings there
  local t, names <close> = {}, io.popen "ls"
  for name in names:lines() do t[#t + 1] = name:match "^(.*)%.eventring$" end
  return t
end
function pid() return tostring(forks.C.getpid()) end
function collect()
  for i = 1, 20 do
    local t = {}
    for k = 1, 20000 do t[k % 100] = {k} end
  end
end
function wait(ms) forks.C.usleep(ms * 1000) end
function events_of(cursor)
  local n = 0
  local function count() n = n + 1 end
  repeat until cursor:poll {user_event = count, user_counter = count} == 0
  return n
end
END
in_child() {
  local what=$1 code=$2 output
  shift 2
  rm -rf children && mkdir children
  output=$(cd children && env "$@" timeout $PATIENCE "$SAROS" -l before -e "$code" 2>&1)
  is "$what: status and output" "0 " "$? $output"
  is "$what: files left" "" "$(find children -name '*.eventring')"
}

in_child "a child that execs" '
  local arguments = require "ffi".new("char *[4]")
  local words = {"sh", "-c", "exit 5"}
  for i, word in ipairs(words) do arguments[i - 1] = require "ffi".cast("char *", word) end
  for i = 1, 6 do
    assert(forks.child(function()
      if i % 2 == 0 then for fd = 3, 1024 do forks.C.close(fd) end end
      forks.C.execv("/bin/sh", arguments)
    end) == 5)
  end
  assert(#here() == 1)'
in_child "a child that exits at once" '
  assert(forks.child(function() forks.C._exit(3) end) == 3)
  assert(forks.child(function() os.exit(4) end) == 4)
  assert(#here() == 1)'
in_child "a child with events of its own" '
  eventring.event "in the parent"
  assert(forks.child(function()
    eventring.event "in the child"
    assert(eventring.path():match "([^/]*)%.eventring$" == pid() and #here() == 2)
    local cursor <close> = assert(eventring.cursor())
    assert(events_of(cursor) == 1)
  end) == 0)
  assert(#here() == 1)'
in_child "a child that asks for its file" '
  assert(forks.child(function() assert(eventring.path():match "([^/]*)%.eventring$" == pid()) end) == 0)'
in_child "a child that collects" '
  assert(forks.child(function()
    local deadline = os.time() + '$PATIENCE'
    while #here() < 2 and os.time() < deadline do collect() wait(10) end
    assert(#here() == 2)
  end) == 0)'
in_child "children are not recorded" '
  assert(forks.child(function()
    eventring.event "nowhere"
    wait(60) collect()
    assert(eventring.path() == nil and #here() == 1)
    assert(eventring.start() and #here() == 2) -- but for its own start
  end) == 0)' SAROS_EVENTRING_FORK=0
in_child "a child that stops" '
  assert(forks.child(function()
    eventring.stop()
    wait(60) collect() eventring.event "nowhere"
    assert(#here() == 1 and eventring.path() == nil)
  end) == 0)'
in_child "classes as wanted at the fork" '
  assert(eventring.disable "gc" and eventring.enable "gc_detail")
  assert(forks.child(function()
    local classes = eventring.classes()
    assert(classes.gc == false and classes.gc_detail == true and classes.user == true)
  end) == 0)' SAROS_EVENTRING_CLASSES=gc,user
in_child "children of children" '
  local function deeper(n)
    eventring.event "here"
    assert(#here() == 5 - n)
    if n > 0 then assert(forks.child(deeper, n - 1) == 0) end
    assert(#here() == 5 - n)
  end
  deeper(4)'
in_child "spans, cursors and subscriptions of the parent" '
  local cursor <close> = assert(eventring.cursor())
  local outside <close> = assert(eventring.cursor{path = eventring.path()})
  eventring.event "before"
  local co = coroutine.wrap(function()
    eventring.span("of a coroutine", coroutine.yield)
  end)
  co()
  eventring.begin_span "around the forks"
  assert(forks.child(function()
    eventring.end_span "around the forks"
    co() -- its span ends here
    eventring.event "in the child"
    local own <close> = assert(eventring.cursor())
    assert(events_of(own) == 1)
    for _, parents in ipairs{cursor, outside} do
      assert(events_of(parents) == 1)
      assert(parents:info().path == outside:info().path)
    end
    collect()
  end) == 0)
  co()
  assert(events_of(cursor) == 1)
  eventring.event "seen by who forks"
  local status
  cursor:poll {user_event = function()
    status = forks.child(function() eventring.event "in a child" collect() end)
  end}
  assert(status == 0)'
in_child "the parent goes on undisturbed" '
  for i = 1, 20 do
    eventring.counter("n", i)
    assert(forks.child(function()
      for k = 1, 100 do eventring.counter("n", -k) end
      collect()
      if i % 2 == 0 then
        os.remove(pid() .. ".eventring") -- who ends in such a way removes nothing
        forks.C._exit(0)
      end
    end) == 0)
    assert(#here() == 1 and here()[1] == pid())
  end
  local cursor <close> = assert(eventring.cursor())
  assert(events_of(cursor) == 20)'
finish
