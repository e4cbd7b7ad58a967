-- SPDX-License-Identifier: MIT
-- The project's own set of small programs for the interpreter and collector.
--
--   lua vm_programs.lua NAME      runs one, prints its CPU time in seconds
--   lua vm_programs.lua           lists the names
--
-- Each checks its own result. Plain Lua 5.4; no library of ours is used.

local programs = {}

function programs.calls()
  local function add(a, b) return a + b end
  local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
  local s = 0
  for i = 1, 6000000 do s = add(s, i) end
  assert(s == 18000003000000 and fib(30) == 832040)
end

function programs.closures()
  local function counter()
    local n = 0
    return function(k) n = n + k return n end
  end
  local total = 0
  for i = 1, 600000 do
    local c = counter()
    c(1) c(2)
    total = total + c(i % 3)
  end
  assert(total == 2400000)
end

function programs.methods()
  local Shape = {}
  Shape.__index = Shape
  function Shape.new(w) return setmetatable({w = w}, Shape) end
  function Shape:width() return self.w end
  function Shape:grow(n) self.w = self:width() + n end
  local Square = setmetatable({}, {__index = Shape})
  Square.__index = Square
  local a, b = Shape.new(0), setmetatable({w = 0}, Square)
  for i = 1, 3000000 do a:grow(1) b:grow(2) end
  assert(a.w == 3000000 and b.w == 6000000)
end

function programs.fields()
  local p = {x = 0, y = 0, z = {v = 1}}
  for i = 1, 8000000 do
    p.x = p.x + p.z.v
    p.y = p.x - p.y
  end
  assert(p.x == 8000000)
end

function programs.globals()
  gx, gy = 0, 1
  for i = 1, 10000000 do gx = gx + gy end
  assert(gx == 10000000)
  gx, gy = nil, nil
end

function programs.arrays()
  local n, a = 3000, {}
  for i = 1, n do a[i] = n - i end
  local s = 0
  for round = 1, 1500 do
    for i = 2, n do a[i] = a[i] + a[i - 1] & 0xffff end
    for i = 1, #a do s = s + a[i] end
  end
  assert(math.type(s) == "integer")
end

function programs.matrix()
  local n = 140
  local function make(f)
    local m = {}
    for i = 1, n do local row = {} for j = 1, n do row[j] = f(i, j) end m[i] = row end
    return m
  end
  local a, b = make(function(i, j) return i + j end), make(function(i, j) return i - j + 0.5 end)
  for round = 1, 3 do
    local c = {}
    for i = 1, n do
      local ai, ci = a[i], {}
      for j = 1, n do
        local s = 0.0
        for k = 1, n do s = s + ai[k] * b[k][j] end
        ci[j] = s
      end
      c[i] = ci
    end
    assert(#c == n)
  end
end

function programs.iteration()
  local t, list = {}, {}
  for i = 1, 1000 do t["key" .. i] = i list[i] = i end
  local s = 0
  for round = 1, 3000 do
    for k, v in pairs(t) do s = s + v end
    for i, v in ipairs(list) do s = s + v end
  end
  assert(s == 3000 * 1001000)
end

function programs.strings()
  local parts = {}
  for i = 1, 400000 do
    local s = "item " .. i .. ":" .. (i % 7)
    parts[i % 1000 + 1] = s:upper():sub(2, 8)
  end
  local whole = table.concat(parts, ",")
  local n = 0
  for i = 1, #whole do if whole:byte(i) == 44 then n = n + 1 end end
  assert(n == 999)
  for i = 1, 200000 do n = n + #string.format("%d %s %5.2f", i, "x", i / 3) end
end

function programs.patterns()
  local text = ("The quick brown fox jumps over 13 lazy dogs, at 10:45 on 2026-11-21. "):rep(200)
  local words, digits = 0, 0
  for round = 1, 25 do
    for w in text:gmatch("%a+") do words = words + 1 end
    for d in text:gmatch("(%d+)-(%d+)-(%d+)") do digits = digits + 1 end
    local replaced = text:gsub("(%a+) (%a+)", "%2 %1")
    assert(#replaced == #text)
    assert(text:find("no such text anywhere", 1, true) == nil)
  end
  assert(words == 50000 and digits == 5000)
end

function programs.coroutines()
  local function generate(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
  local s = 0
  for v in generate(1500000) do s = s + v end
  for i = 1, 100000 do
    local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b end)
    coroutine.resume(co, i)
    coroutine.resume(co, i)
  end
  assert(s == 1125000750000)
end

function programs.sort()
  local seed = 42
  local function random() seed = (seed * 1103515245 + 12345) & 0x7fffffff return seed end
  local t = {}
  for i = 1, 150000 do t[i] = random() end
  table.sort(t)
  local u = {}
  for i = 1, 60000 do table.insert(u, random()) end
  table.sort(u, function(a, b) return a > b end)
  for i = 2, #t do assert(t[i - 1] <= t[i]) end
  local q = {}
  for i = 1, 300000 do q[#q + 1] = i end
  for i = 1, 300000 do q[#q] = nil end
  assert(#q == 0)
end

function programs.small_tables()
  local keep = {}
  for i = 1, 3000000 do
    keep[i & 255] = {x = i, y = i + 1}
    local pair = {i, i}
    keep[256] = pair
  end
  assert(keep[256][1] == 3000000)
end

function programs.nested_tables()
  local function tree(depth)
    if depth == 0 then return {} end
    return {left = tree(depth - 1), right = tree(depth - 1)}
  end
  local function count(t) return t.left and 1 + count(t.left) + count(t.right) or 1 end
  local long = tree(15)
  for i = 1, 24 do assert(count(tree(12)) == 8191) end
  assert(count(long) == 65535)
end

function programs.floats()
  local x, y, n = 0.0, 0.0, 0
  for i = 1, 8000000 do
    x = x * x - y * y + 0.3
    y = 2.0 * x * y + 0.01
    if x * x + y * y > 4.0 then x, y, n = 0.0, 0.0, n + 1 end
  end
  assert(n >= 0)
end

function programs.integers()
  local n, longest = 0, 0
  for i = 1, 100000 do
    local v, len = i, 0
    while v ~= 1 do
      if v % 2 == 0 then v = v // 2 else v = 3 * v + 1 end
      len = len + 1
    end
    if len > longest then longest, n = len, i end
  end
  assert(n == 77031)
end

function programs.varargs()
  local function sum(...)
    local s = 0
    for i = 1, select("#", ...) do s = s + (select(i, ...)) end
    return s
  end
  local s = 0
  for i = 1, 500000 do s = s + sum(i, 1, 2) + #{sum(1), 2} end
  assert(s == 500000 * 500001 // 2 + 500000 * 5)
end

local name = arg[1]
if not name then
  local names = {}
  for k in pairs(programs) do names[#names + 1] = k end
  table.sort(names)
  print(table.concat(names, "\n"))
else
  local program = programs[name] or error("no program '" .. name .. "'", 0)
  local start = os.clock()
  program()
  print(("%.6f"):format(os.clock() - start))
end
