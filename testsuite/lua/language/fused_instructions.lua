-- SPDX-License-Identifier: MIT
-- Pairs of instructions under one opcode (opcodes.def, FUSED) do what the two do one
-- after the other, whatever the operands are. While a hook counts, each instruction runs
-- alone: results, errors with their names and lines, and calls of metamethods must be the
-- same.

local log = {}
local function note(event)
  return function(...)
    local types = {}
    for i = 1, select("#", ...) do
      types[i] = math.type((select(i, ...))) or type((select(i, ...)))
    end
    log[#log + 1] = event .. "(" .. table.concat(types, ",") .. ")"
    return 7
  end
end
local meta = {}
for event in ("add sub mul mod eq lt le call"):gmatch "%a+" do meta["__" .. event] = note(event) end
meta.__index, meta.__newindex = note "index", note "newindex"
local class = {x = 3, next = {x = 4, y = 5, next = {1, 2, 3}},
  f = function(self, a, b) return a, b end}
local makers = {
  function() return 3 end, function() return 2.5 end, function() return "10" end,
  function() return "text" end, function() return true end, function() return nil end,
  function() return setmetatable({}, meta) end, function() return setmetatable({}, meta) end,
  function() return setmetatable({}, {__index = class}) end,
  function() return {x = 1, y = 2, n = 0, next = {x = 2.5, next = {x = {}, 4, 5}, f = print},
  1, 2.5, "c"} end,
  function() return {x = 1.5, next = setmetatable({}, meta),
  f = function(...) return select("#", ...) end, [1] = false} end,
  function() return function(...) return ... end end,
}

local up, up_table = 5, {x = 6, next = {x = 7}}
global_table = {x = 8}
local programs = {
  function(a, b) local c, d = a, b return c, d, d, c end,
  function(a, b) return a.next.x, b.next.next.x end,
  function(a, b) local t, i = {a, b}, 1 local v = t[i].x i = 2 return v, t[i].x end,
  function(a, b) if a.x then return a.x else return b.x end end,
  function(a, b) if a.x == "text" or a.x == nil or a.x == true then return 1 end return b.x == 1,
  a.x == 1.5 end,
  function(a, b) if a.x == b.x then return a.x end return b end,
  function(a, b) a.n = a.x + 1 b.n = b.x - 1 return a.n, b.n end,
  function(a, b) a.n = a.x + b.x return a.n end,
  function(a, b) a.n = a.x * b.x + a.x * b.x - a.x * b.x return a.n end,
  function(a, b) a.x, a.y = b, b a.x = a.y return a.x, a.y end,
  function(a, b) return a:f(1, 2), b:f() end,
  function(a, b) local r = a:f(b) return r end,
  function(a, b) if a:f() then return a:f(b.x) end end,
  function(a, b) up = a local c = up if up == b then c = up + 1 end return c,
  up_table.next.x, up end,
  function(a, b) return global_table.x, global_table.y, up_table.x.x end,
  function(a, b) local n = 0 for i = 1, 40 do n = n + i if a == i then n = b end end return n end,
  function(a, b) local t = {1, 2, 3} for i = 1, #t do local v = t[i] t[i] = v + a t[i] = b end
  return t[1], t[3] end,
  function(a, b) local t = {} for i = 1, 70 do t[i] = true end for i = 1, 70 do t[i] = false end
  return t[70], t[71] end,
  function(a, b) local n, i = 0, 1 while i <= 40 do i = i + 1 if a then n = n + 1 end end
  return n, i end,
  function(a, b) local n = 0 while a < b do
  a = a + 1 n = n + 1 if n > 5 then break end end return n end,
  function(a, b) local n = 0 repeat n = n + 1 until a.x or n == 3 return n end,
  function(a, b) local p, n = a,
  0 while p do p = p.next n = n + 1 if n > 9 then error "long" end end return n end,
  function(a, b) if a < b then return a.x end if a <= b then return b.x end
  return a < 3 and a - 1 end,
  function(a, b) if a == b then return a.x end if a == 3 then return b % 2 end end,
  function(a, b) if a then if b then return a.x end return 2 end if b then return b:f() end end,
  function(a, b) local function set(v) a.y = v end set(b) if b then set(1) else set(2) end
  return a.y end,
  function(a, b) return (a + b) * b, (a - b) * a, a * b * a end,
  function(a, b) local c = a * a c = c * c local d = b * b d = c - d return c, d end,
  function(a, b) return a + b + b, b + (a + b), a - b + a, b - a * b, a + b + 2.5, a - b + 3,
  a * b + 1.5 end,
  function(a, b) return a * b * 2.5, (a + 1000) * b, (a + 0.5) * 3.5, a * 2.5 + b, b + a * 2.5 end,
  function(a, b) return a * 300 + 1.5, 2.5 * a * b, 3 * a * 2.5, (a + b) * 0.5 end,
  function(a, b) local c, d, e = a + b, a * b, b - a d = e + d c = d * c e = c + 0.5
  return c, d, e end,
  function(a, b) global_table = a + b local c = global_table global_table = b + 1 return c,
  global_table end,
  function(a, b) a.n = a * b b.n = a + b a.x = b - a b.x = 5 + 1 return a.n, b.n, a.x, b.x end,
  function(a, b) local c, d = a + b, b a.n = d local e = b + 1 a.x = c return e, a.n, a.x end,
  function(a, b) local function f(c, d) return c + d end local c = f(a, b) local d,
  e = f(b, a) f(a, a) return c, d, e, f(b, b) end,
  function(a, b) local function f(c, d) return c, c + d end
  local function g(c) local _ = c + c return c end return f(a, b), g(a) end,
  function(a, b) local t, u = a, b local v = t.next t = u.next return v.next.x, t.x end,
  function(a, b) local i = a[1] return a[i], b[a[1]][i], a[b[1]] + b[1], a[1] * a[1],
  a.x * a.x + a.x end,
  function(a, b) return a[1][2], a[b], b[1] end,
  function(a, b) local t = {a, b} local i = 1 local f = t[i] return f(b) end,
  function(a, b) local f, g = a, b f(1) g("k") return f(g) end,
}

local function describe(ok, ...)
  local parts = {tostring(ok)}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    parts[i + 1] = type(v) == "table" and "table" or type(v) == "function" and "function" or
      (math.type(v) or type(v)) .. ":" .. tostring(v)
  end
  return table.concat(parts, " ")
end

local function observe(f, make_a, make_b, a_is_b)
  log = {}
  up, up_table, global_table = 5, {x = 6, next = {x = 7}}, {x = 8}
  local a = make_a()
  local result = describe(pcall(f, a, a_is_b and a or make_b()))
  return result .. " " .. table.concat(log, " ")
end

local print_was = print
print = function(...) return select("#", ...) end
local compared = 0
for number, f in ipairs(programs) do
  local dumped = string.dump(f)
  for _, make_a in ipairs(makers) do
    for _, make_b in ipairs(makers) do
      for _, same in ipairs {false, true} do
        local counted = 0
        debug.sethook(function() counted = counted + 1 end, "", 1)
        local alone = observe(f, make_a, make_b, same)
        debug.sethook()
        local together = observe(f, make_a, make_b, same)
        assert(together == alone, number .. ": " .. together .. " / " .. alone)
        assert(counted > 0)
        compared = compared + 1
      end
    end
  end
  assert(string.dump(f) == dumped, number)
  local loaded = assert(load(dumped, "=again", "b"))
  assert(string.dump(loaded) == dumped)
end
print = print_was
assert(compared == #programs * #makers * #makers * 2)

-- names and lines in messages are those of the instruction that fails, first or second
local function message(f, ...) return select(2, pcall(f, ...)):match ":(.*)" end
local function chain(t)
  return t
    .first
    .second.third
end
local line = debug.getinfo(chain, "S").linedefined
assert(message(chain, nil) == line + 2 .. ": attempt to index a nil value (local 't')")
assert(message(chain, {}) == line + 3 .. ": attempt to index a nil value (field 'first')")
assert(message(chain, {first = {}}) == line + 3 ..
  ": attempt to index a nil value (field 'second')")
local function method(o) o:missing() end
assert(message(method, {}):find "attempt to call a nil value %(method 'missing'%)")
assert(message(method):find "attempt to index a nil value %(local 'o'%)")
local function sum(o) o.n = o.n + 1 return o.n + o.m end
assert(message(sum, {}):find "arithmetic on a nil value %(field 'n'%)")
assert(message(sum, {n = 1}):find "arithmetic on a nil value %(field 'm'%)")
local function call(f, g) f() g() end
assert(message(call, print_was and function() end):find "attempt to call a nil value %(local 'g'%)")

-- a hook that is set in the middle of a loop counts single instructions from then on
local function count(body)
  local n = 0
  debug.sethook(function() n = n + 1 end, "", 1)
  body()
  debug.sethook()
  return n
end
local function walk(n)
  local t = {x = {x = 1}} for i = 1, n do t.x.x = t.x.x + 1 end return t.x.x
end
local ten, twenty = count(function() walk(10) end), count(function() walk(20) end)
assert((twenty - ten) % 10 == 0 and (twenty - ten) // 10 == 6)

-- each line has its event, though two lines share an opcode
local lines = {}
local function two_lines(t)
  local a = t.x
  local b = a.y
  local c = b
  local d = c
  return d
end
debug.sethook(function(_, at) lines[#lines + 1] = at - debug.getinfo(2, "S").linedefined end, "l")
two_lines {x = {y = 1}}
debug.sethook()
assert(table.concat(lines, " "):find "1 2 3 4 5", table.concat(lines, " "))

-- a constant that was loaded by the first instruction of a pair has its name
local function constant() local _ = ("s")() end
assert(message(constant):find "attempt to call a string value %(constant 's'%)")
