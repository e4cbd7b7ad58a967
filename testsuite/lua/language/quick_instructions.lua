-- SPDX-License-Identifier: MIT
-- Instructions that the interpreter specialises as it goes (opcodes.def, QUICK) mean
-- the same before and after, whatever operands come next, and are not dumped.

local log = {}
local meta = {}
for _, event in ipairs {"add", "sub", "mul", "div", "lt", "le"} do
  meta["__" .. event] = function(a, b)
    log[#log + 1] = event .. type(a):sub(1, 1) .. type(b):sub(1, 1)
    return event
  end
end
local object = setmetatable({}, meta)

-- each site meets two floats first, then everything else, then floats again
local sites = {
  {"add", function(a, b) return a + b end}, {"sub", function(a, b) return a - b end},
  {"mul", function(a, b) return a * b end}, {"div", function(a, b) return a / b end},
}
local operands = {{2.5, 1.5}, {3, 1}, {2.5, 1.5}, {3.0, 1}, {"10", 3}}
local expected = {
  add = {4.0, 4, 4.0, 4.0, 13}, sub = {1.0, 2, 1.0, 2.0, 7},
  mul = {3.75, 3, 3.75, 3.0, 30}, div = {2.5 / 1.5, 3.0, 2.5 / 1.5, 3.0, 10 / 3},
}
for _, site in ipairs(sites) do
  local name, f = site[1], site[2]
  local before = string.dump(f)
  for round = 1, 3 do
    for i, pair in ipairs(operands) do
      local result = f(pair[1], pair[2])
      assert(result == expected[name][i], name)
      assert(math.type(result) == math.type(expected[name][i]), name)
    end
    assert(f(object, 1.5) == name and f(1.5, object) == name)
    assert(log[#log - 1] == name .. "tn" and log[#log] == name .. "nt")
    assert(not pcall(f, nil, 1.5) and not pcall(f, 1.5, {}))
  end
  assert(string.dump(f) == before)
end

-- constants on the right and on the left
local function right(x) return x + 0.5, x - 0.5, x * 0.5, x / 0.5 end
local function left(x) return 0.5 + x, 0.5 - x, 0.5 * x, 0.5 / x end
local before = string.dump(right) .. string.dump(left)
for round = 1, 3 do
  for _, x in ipairs {4.0, 4, 4.0, "4"} do
    local a, b, c, d = right(x)
    assert(a == 4.5 and b == 3.5 and c == 2.0 and d == 8.0 and math.type(c) == "float")
    a, b, c, d = left(x)
    assert(a == 4.5 and b == -3.5 and c == 2.0 and d == 0.125)
  end
  assert(right(object) == "add" and log[#log - 3] == "addtn" and log[#log] == "divtn")
  assert(left(object) == "add" and log[#log - 3] == "addnt" and log[#log] == "divnt")
end
assert(string.dump(right) .. string.dump(left) == before)

-- comparisons
local function less(a, b) if a < b then return "yes" else return "no" end end
local function not_above(a, b) return not (a > b), a <= b, not (a <= b) end
before = string.dump(less) .. string.dump(not_above)
local nan = 0.0 / 0.0
for round = 1, 3 do
  assert(less(1.0, 2.0) == "yes" and less(2.0, 1.0) == "no" and less(nan, 1.0) == "no")
  assert(less(1, 2) == "yes" and less(1, 1.5) == "yes" and less("a", "b") == "yes")
  assert(less(object, 1.0) == "yes" and log[#log] == "lttn")
  assert(not pcall(less, 1.0, {}) and not pcall(less, 1.0, "x"))
  local a, b, c = not_above(1.0, 1.0)
  assert(a and b and not c)
  a, b, c = not_above(nan, 1.0)
  assert(a and not b and c)
  a, b, c = not_above(2, 1)
  assert(not a and not b and c)
end
assert(string.dump(less) .. string.dump(not_above) == before)
assert(load(string.dump(less))(1.0, 2.0) == "yes")

-- coroutines that yield in the metamethod of a site that was specialised
local yielding = setmetatable({}, {__add = function() return coroutine.yield("sum") end,
                                   __lt = function() return coroutine.yield("order") end})
local add = sites[1][2]
local co = coroutine.wrap(function()
  add(1.0, 2.0)
  local sum = add(yielding, 2.0)
  less(1.0, 2.0)
  return sum, less(1.0, yielding), add(1.0, 2.0)
end)
assert(co() == "sum" and co(7) == "order")
local sum, order, after = co(false)
assert(sum == 7 and order == "no" and after == 3.0)

-- hooks see the same code
local count = 0
debug.sethook(function() count = count + 1 end, "", 1)
for _, pair in ipairs {{1.0, 2.0}, {1, 2}, {1.0, 2.0}} do assert(add(pair[1], pair[2]) == 3) end
debug.sethook()
assert(count > 10)
