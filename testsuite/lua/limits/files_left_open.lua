-- Files, pipes and temporary files that are garbage give their descriptors back when there are
-- no more, also when the collector is stopped; in a finalizer the error is returned.
local function limit_is_low()
  local f <close> = io.open("/proc/self/limits")
  if f == nil then return false end
  local soft = f:read("a"):match("Max open files%s+(%d+)")
  return soft ~= nil and tonumber(soft) <= 65536
end
if not limit_is_low() then return end
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1

local function leave_open(open, times)
  for i = 1, times do assert(open(), i) end
end

local path = arg[0]
collectgarbage("stop")
leave_open(function() return io.open(path) end, slow and 1200 or 70000)
leave_open(function() return io.tmpfile() end, slow and 1100 or 3000)
leave_open(function() return io.lines(path) end, slow and 1100 or 3000)
if not slow then leave_open(function() return io.popen("exit 0") end, 1100) end
collectgarbage("restart")

-- all in use: an error, and nothing is lost
local all, problem, code = {}, nil, nil
for i = 1, 100000 do
  local f, message, number = io.open(path)
  if f == nil then problem, code = message, number break end
  all[i] = f
end
assert(problem:find("Too many open files", 1, true) and code == 24, problem)
for _, f in ipairs(all) do assert(f:read(1)) f:close() end

-- a finalizer that opens files while they are used up
local seen
do
  all = {}
  for i = 1, 100000 do
    local f = io.open(path)
    if f == nil then break end
    all[i] = f
  end
  setmetatable({}, { __gc = function() seen = select(2, io.open(path)) or "opened" end })
  collectgarbage()
  collectgarbage()
  assert(seen and seen:find("Too many open files", 1, true), seen)
  for _, f in ipairs(all) do f:close() end
end
