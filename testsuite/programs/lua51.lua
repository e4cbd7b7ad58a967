-- SPDX-License-Identifier: MIT
-- The two functions of Lua 5.1 that Debian's markdown.lua calls and Lua 5.4 no
-- longer has, so that it runs unchanged: unpack, and setfenv for a function or
-- for the caller.

unpack = table.unpack

function setfenv(target, env)
  local f = type(target) == "function" and target or debug.getinfo(target + 1, "f").func
  for i = 1, 255 do
    local name = debug.getupvalue(f, i)
    if name == "_ENV" then
      debug.upvaluejoin(f, i, function() return env end, 1)
      return f
    elseif name == nil then
      return f
    end
  end
end
