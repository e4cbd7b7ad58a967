-- SPDX-License-Identifier: MIT
-- What dnsmasq calls for each lease: a line that depends on the lease alone, and a sum at the end.
local log = assert(io.open(os.getenv("LEASES_LOG"), "a"))
log:setvbuf("line")
local seen, calls = {}, 0

function init() log:write("init\n") end

function lease(action, data)
  calls = calls + 1
  local fields = {}
  for key, value in pairs(data) do
    -- how long the lease still is follows from the time
    if key ~= "time_remaining" then fields[#fields + 1] = ("%s=%s"):format(key, value) end
  end
  table.sort(fields)
  local octets = {}
  for octet in data.ip_address:gmatch("%d+") do octets[#octets + 1] = octet * 1 end
  seen[data.mac_address] = {count = (seen[data.mac_address] or {count = 0}).count + 1, octets = octets}
  log:write(action, " ", table.concat(fields, " "), " ", seen[data.mac_address].count, "\n")
end

function shutdown()
  local sum = 0
  for mac, each in pairs(seen) do sum = sum + each.count * #mac + each.octets[4] end
  log:write(("shutdown %d %d\n"):format(calls, sum))
  log:close()
end
