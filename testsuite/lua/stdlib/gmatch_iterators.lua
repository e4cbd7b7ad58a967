-- SPDX-License-Identifier: MIT
-- Iterators of gmatch: each goes on by itself, whatever they share and however many
-- patterns are in use meanwhile.
local function rest(f)
  local all = {}
  for w in f do all[#all + 1] = w end
  return table.concat(all, ",")
end

-- one pattern, several subjects, in turns
local a, b = ("a b c"):gmatch("%a"), ("d e f"):gmatch("%a")
assert(a() == "a" and b() == "d" and a() == "b" and b() == "e")
assert(rest(a) == "c" and rest(b) == "f")
assert(a() == nil and a() == nil) -- an end is final

-- more patterns than are kept compiled, long ones, and a loop within a loop
local iterators = {}
for i = 1, 100 do iterators[i] = ("x" .. i .. " y" .. i):gmatch("[xy]" .. i) end
local long = ("q"):rep(100)
iterators[101] = (long .. " " .. long):gmatch("(" .. long:gsub("q", "[q]") .. ")")
collectgarbage()
for i = 1, 100 do assert(rest(iterators[i]) == "x" .. i .. ",y" .. i) end
assert(rest(iterators[101]) == long .. "," .. long)
local pairs_seen = {}
for line in ("a=1\nb=2"):gmatch("[^\n]+") do
  for k, v in line:gmatch("(%w)=(%w)") do pairs_seen[#pairs_seen + 1] = k .. v end
end
assert(table.concat(pairs_seen, " ") == "a1 b2")

-- empty matches at the begin, next to each other and at the end
assert(rest(("abc"):gmatch("")) == ",,,")
assert(rest((""):gmatch("x*")) == "")
assert(select("#", (""):gmatch("x*")()) == 1)
assert(rest(("ab"):gmatch("()")) == "1,2,3")
assert(rest(("ab"):gmatch("()", 2)) == "2,3")
assert(rest(("ab"):gmatch("()", 3)) == "3")
assert(rest(("ab"):gmatch("()", 4)) == "")
assert(rest(("ab"):gmatch("%a", -1)) == "b")
assert(rest(("\0a\0"):gmatch("%z")) == "\0,\0")

-- numbers as subject and pattern; '^' is an ordinary byte
assert(rest(string.gmatch(1212, 2)) == "2,2")
assert(rest(("^a^a"):gmatch("^a")) == "^a,^a")
assert(rest(("aa"):gmatch("^a")) == "")

-- an error raises each time, and leaves the iterator where it was
local broken = ("ab"):gmatch("b(%")
for _ = 1, 2 do
  local ok, message = pcall(broken)
  assert(not ok and message:find("malformed pattern", 1, true))
end

-- across coroutines
local shared = ("a b c d"):gmatch("%a")
assert(shared() == "a")
assert(coroutine.wrap(function() return shared() end)() == "b")
assert(rest(shared) == "c,d")

-- many in suspension are small
local before, keep = collectgarbage("count"), {}
for i = 1, 10000 do keep[i] = ("a b"):gmatch("%a+") end
collectgarbage()
assert((collectgarbage("count") - before) * 1024 / #keep < 160)
