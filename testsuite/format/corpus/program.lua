-- SPDX-License-Identifier: MIT
-- What some of the files here recorded: see README. With DIE set it kills itself.
local eventring, domain = require "eventring", require "domain"
local function work(n)
  local garbage = {}
  for i = 1, n do garbage[i] = { i } end
  return #garbage
end
local tasks = {}
for i = 1, 5 do
  tasks[i] = coroutine.wrap(function()
    for round = 1, 4 do
      eventring.begin_span("task")
      eventring.counter("round", round / 2)
      coroutine.yield()
      eventring.span("step", work, 50)
      if round % 3 > 0 then eventring.end_span("task") end
      coroutine.yield()
    end
  end)
end
for _ = 1, 8 do
  for _, task in ipairs(tasks) do task() end
end
local domains = {}
for i = 1, 3 do
  domains[i] = domain.spawn(function(n)
    local eventring = require "eventring"
    for round = 1, n do
      eventring.span("of a domain", string.rep, "x", round)
      eventring.event("done", "roun\xc3\xa9")
    end
  end, 10)
end
for _, each in ipairs(domains) do each:join() end
collectgarbage()
if os.getenv "DIE" then
  eventring.begin_span("last")
  local p = io.open("/proc/self/stat"):read("n")
  os.execute("kill -KILL " .. p)
  while true do end
end
