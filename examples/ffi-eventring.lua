-- SPDX-License-Identifier: MIT
-- Attaches to a recorded process through the C API of libeventring, with guest
-- functions as its callbacks, and compares with what the module `saros.eventring` reads.
--
--   saros ffi-eventring.lua [--library FILE] PID-OR-FILE
--
-- Prints how often each event was delivered. Exit status 1 when the two readers do
-- not agree (of a process that goes on writing they may need several tries), 2 on
-- wrong usage.

local ffi = require "saros.ffi"
local eventring = require "saros.eventring"

-- From eventring.h
ffi.cdef [[
typedef struct eventring_cursor eventring_cursor;
struct eventring_error { int code; int sys_errno; char text[400]; char reserved[104]; };
enum { EVENTRING_OPEN_MERGED = 1, EVENTRING_SYNTHETIC = 1, EVENTRING_TORN = 2, EVENTRING_LOST_BEFORE = 1 };
struct eventring_def;
struct eventring_event {
  uint64_t ns;
  uint32_t domain, incarnation;
  uint16_t id;
  uint8_t ring, kind, event_class, payload;
  uint16_t flags;
  uint32_t depth;
  const char *name;
  const struct eventring_def *def;
  union { int64_t i; uint64_t u; double d; } value;
  const void *bytes;
  size_t size;
  uint64_t begin_ns;
};
struct eventring_loss { uint32_t domain, incarnation; uint8_t ring, flags; uint64_t count, ns; };
struct eventring_callbacks {
  size_t size;
  int (*event)(void *context, const struct eventring_event *event);
  int (*lost)(void *context, const struct eventring_loss *loss);
};
int eventring_open_pid(eventring_cursor **cursor, int pid, unsigned flags, struct eventring_error *error);
int eventring_open_path(eventring_cursor **cursor, const char *path, unsigned flags, struct eventring_error *error);
int eventring_poll(eventring_cursor *cursor, const struct eventring_callbacks *callbacks,
                   void *context, uint64_t max);
const struct eventring_error *eventring_cursor_error(const eventring_cursor *cursor);
int eventring_close(eventring_cursor *cursor);
]]

local library, target
local i = 1
while arg[i] do
  if arg[i] == "--library" then library, i = arg[i + 1], i + 2 else target, i = arg[i], i + 1 end
end
if not target then
  io.stderr:write "usage: ffi-eventring.lua [--library FILE] PID-OR-FILE\n"
  os.exit(2)
end
local lib = ffi.load(library or "libeventring.so.0")

local function add(counts, name) counts[name] = (counts[name] or 0) + 1 end

local function stop(error)
  io.stderr:write(ffi.string(error.text), "\n")
  os.exit(1)
end

-- ---- Through C ----------------------------------------------------------------------

local function read_by_c()
  local cursor, error = ffi.new "eventring_cursor *[1]", ffi.new "struct eventring_error"
  local pid = math.tointeger(tonumber(target))
  local status
  if pid then status = lib.eventring_open_pid(cursor, pid, ffi.C.EVENTRING_OPEN_MERGED, error)
  else status = lib.eventring_open_path(cursor, target, ffi.C.EVENTRING_OPEN_MERGED, error) end
  if status < 0 then stop(error) end
  local counts, lost, last = {}, 0, 0
  local callbacks = ffi.new "struct eventring_callbacks"
  callbacks.size = ffi.sizeof(callbacks)
  callbacks.event = ffi.cast("int (*)(void *, const struct eventring_event *)", function(_, event)
    if event.flags & ffi.C.EVENTRING_SYNTHETIC == 0 then
      assert(event.ns >= last) -- merged by time
      last = event.ns
    end
    if event.flags & ffi.C.EVENTRING_SYNTHETIC ~= 0 or event.flags & ffi.C.EVENTRING_TORN == 0 then
      add(counts, ffi.string(event.name))
    end
    return 0
  end)
  callbacks.lost = ffi.cast("int (*)(void *, const struct eventring_loss *)", function(_, loss)
    if loss.flags & ffi.C.EVENTRING_LOST_BEFORE == 0 then lost = lost + loss.count end
    return 0
  end)
  local delivered = lib.eventring_poll(cursor[0], callbacks, nil, 0)
  if delivered < 0 then stop(lib.eventring_cursor_error(cursor[0])) end
  callbacks.event:free()
  callbacks.lost:free()
  lib.eventring_close(cursor[0])
  return counts, delivered, lost
end

-- ---- Through the module -----------------------------------------------------------------

-- (its callbacks also get what the reader made up, and no ends whose begin is unknown)
local function read_by_module()
  local pid = math.tointeger(tonumber(target))
  local cursor = assert(eventring.cursor(pid and {pid = pid} or {path = target}))
  local counts, lost = {}, 0
  local function named(_, _, name) add(counts, name) end
  local delivered = cursor:poll {
    runtime_begin = named, runtime_end = named, runtime_counter = named, lifecycle = named,
    user_begin = named, user_end = named, user_counter = named, user_event = named,
    async_begin = named, async_end = named,
    lost_events = function(_, n, before) lost = lost + (before and 0 or n) end}
  cursor:close()
  return counts, delivered, lost
end

local function agree(a, b)
  for name, n in pairs(a) do if b[name] ~= n then return false end end
  for name in pairs(b) do if not a[name] then return false end end
  return true
end

-- ---- Both ------------------------------------------------------------------------------------

for try = 1, 5 do
  local counts, delivered, lost = read_by_c()
  local others, others_delivered, others_lost = read_by_module()
  if delivered == others_delivered and lost == others_lost and agree(counts, others) then
    local names = {}
    for name in pairs(counts) do names[#names + 1] = name end
    table.sort(names)
    print(("%d events, %d lost; both readers agree"):format(delivered, lost))
    for _, name in ipairs(names) do print(("%8d %s"):format(counts[name], name)) end
    os.exit(0)
  end
end
io.stderr:write "the readers do not agree\n"
os.exit(1)
