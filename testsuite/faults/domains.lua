-- SPDX-License-Identifier: MIT
-- Several domains at once, for allocations_test.c: returns "done" or the error of whoever ran out
-- of memory first. Whatever fails, each domain ends, and nobody waits for ever.
local domain = require "saros.domain"

local function work(input, output, id)
  local sum, kept = 0, setmetatable({}, { __mode = "k" })
  while true do
    local received, message = pcall(input.receive, input)
    if not received then
      if tostring(message):find("closed", 1, true) then return sum end
      error(message, 0)
    end
    local copy = { message, text = ("%d:%s"):format(id, message.name) }
    kept[copy] = message
    sum = sum + #message.list
    output:send({ id = id, text = copy.text, sum = sum })
  end
end

local heavy = ("heavy "):rep(1000) -- counts as held by the handle that it is sent through
local workers = { false, false, false } -- those of a run that failed half-way are waited for by the next

local function run()
  for id = 1, 3 do
    if workers[id] then workers[id]:cancel() pcall(workers[id].join, workers[id]) end
    workers[id] = false
  end
  local input, output, errors = domain.channel(4), domain.channel(16), {}
  local function try(...)
    local ok, result = pcall(...)
    if ok then return result end
    errors[#errors + 1] = tostring(result)
  end
  try(function()
    for id = 1, 3 do workers[id] = domain.spawn({ name = "worker " .. id }, work, input, output, id) end
    for i = 1, 6 do
      local list = {}
      for k = 1, 20 * i do list[k] = { k } end
      input:send({ name = "message " .. i, list = list, weight = heavy })
    end
  end)
  input:close()
  local total = 0
  for id = 1, 3 do total = total + (workers[id] and try(workers[id].join, workers[id]) or 0) end
  if #errors > 0 then error(table.concat(errors, "; "), 0) end -- one may be of those that wait for the one that failed
  assert(total == 20 * 21)
  return "done"
end
return run
