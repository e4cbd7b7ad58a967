-- SPDX-License-Identifier: MIT
-- if, while, repeat, both kinds of for, break.

do -- if
  local function sign(x)
    if x < 0 then return "negative" elseif x == 0 then return "zero"
      elseif x > 100 then return "large" else return "positive" end
  end
  assert(sign(-1) == "negative" and sign(0) == "zero" and sign(5) == "positive" and
    sign(101) == "large")
  if nil then assert(false) end
  if false then assert(false) else end
  if 0 then else assert(false) end
  if "" then else assert(false) end
end

do -- and, or, not
  local function boom() error("must not be called") end
  assert((nil and boom()) == nil and (false and boom()) == false)
  assert((1 or boom()) == 1 and ("" or boom()) == "")
  assert((nil or false) == false and (false or nil) == nil)
  assert((1 and 2) == 2 and (1 and nil) == nil and (nil and 1 or 2) == 2)
  assert(not nil == true and not 0 == false and not not nil == false)
  local x = nil
  local y = x and x.field or "none"
  assert(y == "none")
  local a, b = 5, 7
  assert((a > b and a or b) == 7 and (a < b and a or b) == 5)
  assert((a == 5 and b == 7) == true and (a == 5 and b == 8) == false)
  assert((not (a == 5 or boom())) == false)
  local t = { a > b, a < b, a == 5 and "yes", not a }
  assert(t[1] == false and t[2] == true and t[3] == "yes" and t[4] == false)
end

do -- while and break
  local i, sum = 0, 0
  while i < 10 do
    i = i + 1
    if i % 2 == 0 then goto continue end
    if i > 7 then break end
    sum = sum + i
    ::continue::
  end
  assert(i == 9 and sum == 1 + 3 + 5 + 7)
  local n = 0
  while true do n = n + 1 if n == 3 then break end end
  assert(n == 3)
  while false do assert(false) end
end

do -- repeat: the condition sees the body's locals
  local n = 0
  repeat local done = n >= 4; n = n + 1 until done
  assert(n == 5)
  local fs = {}
  local i = 0
  repeat
    local x = i
    fs[#fs + 1] = function() x = x + 1 return x end
    i = i + 1
  until x >= 2
  assert(fs[1]() == 1 and fs[1]() == 2 and fs[3]() == 3 and #fs == 3)
end

local function count(from, to, step)
  local n, last = 0, nil
  for i = from, to, step or 1 do n = n + 1 last = i if n > 1000 then break end end
  return n, last
end

do -- numeric for
  local n, last = count(1, 10)
  assert(n == 10 and last == 10)
  assert(count(10, 1) == 0)
  assert(count(10, 1, -1) == 10)
  assert(count(1, 10, 3) == 4)
  assert(count(1, 0, -1) == 2)
  assert(count(1, 1) == 1 and count(1, 1, -1) == 1)
  n, last = count(1, 3.9)
  assert(n == 3 and math.type(last) == "integer")
  n, last = count(1.0, 3)
  assert(n == 3 and math.type(last) == "float")
  n, last = count(1, 3, 1.0)
  assert(n == 3 and math.type(last) == "float")
  n = count(0, 1, 0.1)
  assert(n == 11 or n == 10)
  -- at the edges of the integers it does not wrap around
  n, last = count(math.maxinteger - 2, math.maxinteger)
  assert(n == 3 and last == math.maxinteger)
  n, last = count(math.mininteger + 2, math.mininteger, -1)
  assert(n == 3 and last == math.mininteger)
  assert(count(math.maxinteger - 1, math.huge) == 2)
  assert(count(1, math.huge) == 1001 and count(1, -math.huge) == 0)
  assert(count(-1, -math.huge, -1) == 1001 and count(1, math.huge, -1) == 0)
  assert(count(math.mininteger, math.maxinteger, math.maxinteger) == 3)
  assert(count(math.maxinteger, math.mininteger, math.mininteger) == 2)
  -- NaN limits neither an integer loop that counts down nor the first round of a float's
  assert(count(1, 0/0) == 0 and count(277, 0/0, -32) == 1001)
  assert(count(1.0, 0/0) == 1 and count(1, 0/0, 1.0) == 1 and count(1.0, 0/0, -1) == 1)
  assert(count(0/0, 1) == 1 and count(1, 2, 0/0) == 0 and count(2, 1, 0/0) == 1)
  assert(count(math.huge, math.huge) == 1001)
  assert(count(3, 2^53) == 1001)
  assert(count(1, "x" == "y" and 1 or 2) == 2)
  -- the control variable is a fresh local in each round
  local fs = {}
  for i = 1, 3 do fs[i] = function() i = i + 10 return i end end
  assert(fs[1]() == 11 and fs[1]() == 21 and fs[2]() == 12)
  local rounds = 0
  for i = 1, 5 do i = 100 rounds = rounds + 1 end
  assert(rounds == 5)
  -- the limits are evaluated once
  local limit, calls = 3, 0
  for _ = 1, (function() calls = calls + 1 return limit end)() do limit = 10 end
  assert(calls == 1)
end

local fails = require "_fails"
fails("'for' step is zero", function() for _ = 1, 10, 0 do end end)
fails("'for' step is zero", function() for _ = 1.0, 10, 0.0 do end end)
fails("bad 'for' initial value (number expected, got string)", function()
  for _ = "x", 10 do end
end)
fails("bad 'for' limit (number expected, got table)", function() for _ = 1, {} do end end)
fails("bad 'for' step (number expected, got string)", function() for _ = 1, 10, "x" do end end)

do -- generic for
  local keys = {}
  for k, v in pairs { a = 1, b = 2 } do keys[k] = v end
  assert(keys.a == 1 and keys.b == 2)
  local sum = 0
  for i, v in ipairs { 1, 2, 3, nil, 5 } do sum = sum + i * v end
  assert(sum == 14)
  -- stateless and stateful iterators, the initial value of the control variable
  local function up_to(n, i) if i < n then return i + 1, i * i end end
  local seen = {}
  for i, square in up_to, 3, 0 do seen[#seen + 1] = i .. ":" .. square end
  assert(table.concat(seen, " ") == "1:0 2:1 3:4")
  local function letters(s)
    local i = 0
    return function() i = i + 1 if i <= #s then return s:sub(i, i) end end
  end
  local all = ""
  for c in letters "abc" do all = all .. c .. "," end
  assert(all == "a,b,c,")
  -- fewer values than variables, more variables than values
  for a, b, c in letters "x" do assert(a == "x" and b == nil and c == nil) end
  -- false ends no loop, nil does
  local values, i = { 1, false, 3 }, 0
  local n = 0
  for v in function() i = i + 1 return values[i] end do
    n = n + 1 assert(v ~= nil) if n > 5 then break end
  end
  assert(n == 3)
  -- a callable object as the iterator
  local made = setmetatable({ n = 0 },
    { __call = function(self, s, c) self.n = self.n + 1 if self.n < 4 then return self.n end end })
  local total = 0
  for x in made do total = total + x end
  assert(total == 6)
  -- closures catch a fresh variable each round
  local fs = {}
  for k in letters "pq" do fs[#fs + 1] = function() return k end end
  assert(fs[1]() == "p" and fs[2]() == "q")
  fails("attempt to call a nil value", function() for _ in nil do end end)
  fails("attempt to call a table value", function() for _ in {} do end end)
end

do -- the closing value of a generic for
  local closed = 0
  local function iterate(n)
    return function(s, c) if c < s then return c + 1 end end, n, 0,
      setmetatable({}, { __close = function(_, e) closed = closed + 1 end })
  end
  for _ in iterate(3) do end
  assert(closed == 1)
  for i in iterate(3) do if i == 2 then break end end
  assert(closed == 2)
  pcall(function() for _ in iterate(3) do error("x") end end)
  assert(closed == 3)
  ;(function() for _ in iterate(3) do return end end)()
  assert(closed == 4)
  for _ in iterate(3) do goto out end
  ::out::
  assert(closed == 5)
end

do -- loops in loops with breaks
  local found
  for i = 1, 10 do
    for j = 1, 10 do
      if i * j == 42 then found = { i, j } break end
    end
    if found then break end
  end
  assert(found[1] == 6 and found[2] == 7)
  local steps = 0
  for _ = 1, 3 do local k = 0 while true do
    k = k + 1 steps = steps + 1 repeat
      if k == 2 then break end until true if k == 2 then break end
    end
  end
  assert(steps == 6)
end
