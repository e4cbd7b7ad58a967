-- SPDX-License-Identifier: MIT
-- Files, pipes and temporary files that are garbage give their descriptors back when
-- there are no more, also when the collector is stopped; in a finalizer the error is
-- returned. Run by test_files_left_open.sh, which leaves 256 descriptors.
local function leave_open(open, times)
  for i = 1, times do assert(open(), i) end
end

local path = arg[0]
collectgarbage("stop")
leave_open(function() return io.open(path) end, 2000)
leave_open(function() return io.tmpfile() end, 1000)
leave_open(function() return io.lines(path) end, 1000)
leave_open(function() return io.popen("exit 0") end, 400)
collectgarbage("restart")

-- all in use: an error, and nothing is lost
local all, problem, code = {}, nil, nil
for i = 1, 1000 do
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
  for i = 1, 1000 do
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
