-- SPDX-License-Identifier: MIT
-- differences.lua PAGE COLUMN: runs the expressions of the table in doc/OTHER_LUAS.md, and prints
-- those whose result is not that of the column (1: Lua 5.1, 2: LuaJIT, 3: 5.3, 4: Saros), then how
-- many there were. Lua 5.1 to 5.4, LuaJIT.
local page, column = arg[1], tonumber(arg[2])

local function result(code)
  local f = (loadstring or load)("return " .. code, "=row")
  if not f then return "syntax error" end
  local ok, value = pcall(f)
  return ok and tostring(value) or "error"
end

local count = 0
for line in io.lines(page) do
  local row = { line:match("^| `(.-)` | ([^|]-) | ([^|]-) | ([^|]-) | ([^|]-) |.*|$") }
  if row[1] then
    count = count + 1
    local got, expected = result(row[1]), row[column + 1]
    if got ~= expected then print(("%s: %s, not %s"):format(row[1], got, expected)) end
  end
end
print(count .. " expressions")
