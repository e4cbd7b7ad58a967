-- SPDX-License-Identifier: MIT
-- Modules compiled for Lua 5.4, as Debian packages them, load unchanged
-- (packages lua-lpeg, lua-cjson, lua-filesystem).

local function module(name)
  local found, result = pcall(require, name)
  if found then return result end
  if not result:find("^module '" .. name .. "' not found:") then error(result, 0) end
end

local tried = 0

local lpeg = module("lpeg")
if lpeg then
  tried = tried + 1
  assert(lpeg.match(lpeg.R("09")^1 * -1, "12345") == 6)
  local words = lpeg.Ct((lpeg.C(lpeg.R("az")^1) + lpeg.P(1))^0)
  local found = words:match(("abc 12 def "):rep(1000))
  assert(#found == 2000 and found[2000] == "def")
  -- calls back into Lua, with collections in between
  local count = 0
  local counted = (lpeg.R("az")^1 / function(w)
    count = count + 1 collectgarbage("step") return w:upper() end + lpeg.P(1))^0
  assert(lpeg.match(lpeg.Ct(counted), ("ab "):rep(200))[200] == "AB" and count == 200)
end

local cjson = module("cjson")
if cjson then
  tried = tried + 1
  local data = {}
  for i = 1, 500 do data[i] = {id = i, name = "n" .. i, list = {i, i * 2.5, true}} end
  local text = cjson.encode(data)
  for _ = 1, 10 do
    local back = cjson.decode(text)
    assert(#back == 500 and back[500].list[2] == 1250.0 and back[7].name == "n7")
    collectgarbage()
  end
  assert(not pcall(cjson.decode, "{"))
end

local lfs = module("lfs")
if lfs then
  tried = tried + 1
  assert(lfs.mkdir("folder") and lfs.attributes("folder", "mode") == "directory")
  local names = {}
  for name in lfs.dir(".") do names[name] = true end
  assert(names["folder"] and names["."])
  -- a loop that is left closes the directory
  for _ in lfs.dir(".") do break end
end

if tried == 0 then
  print("no compiled module is installed (Debian packages: lua-lpeg lua-cjson lua-filesystem)")
  os.exit(77)
end
