-- SPDX-License-Identifier: MIT
-- revive(make): what make() returns, after its finalizer: that of a table that refers to
-- it runs later.
return function(make)
  local revived
  local function bury()
    local keeper = setmetatable({}, {__gc = function(t) revived = t.object end})
    keeper.object = make()
  end
  bury()
  local function clobber(n) if n > 0 then return clobber(n - 1) end end
  clobber(100)
  collectgarbage()
  collectgarbage()
  return assert(revived, "not revived")
end
