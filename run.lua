local mode, file = arg[1], arg[2]
local function run() while true do round(10000) end end
dofile(file)
if mode == "domains" then
  local domain = require "saros.domain"
  local other = domain.spawn(function(file)
    dofile(file)
    while true do round(10000) end
  end, file)
  run()
elseif mode == "coroutine" then
  coroutine.wrap(function()
    local inner = coroutine.wrap(function() while true do round(1000) coroutine.yield() end end)
    while true do inner() end
  end)()
else
  run()
end
