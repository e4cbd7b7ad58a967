-- SPDX-License-Identifier: MIT
-- Large strings that only variables of running functions hold stay young. Whatever else
-- comes to refer to them, from wherever, whenever collections happen: they are what they
-- were.

local seed = tonumber(arg[1] or 1)
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local made = 0
local function make()
  made = made + 1
  return ("%08d"):format(made):rep(1000 + random(4000)), made
end

local function check(s, id)
  assert(s:sub(1, 8) == ("%08d"):format(id) and s:sub(-8) == ("%08d"):format(id), id)
end

local function collect()
  local what = random(6)
  if what == 1 then collectgarbage("step", 0)
  elseif what == 2 then for i = 1, random(30) do local _ = ("x"):rep(20000 + i) end
  elseif what == 3 and random(10) == 1 then collectgarbage()
  end
end

local kept, ids = {}, {}
local acts = {}

function acts.store(s, id) local i = random(20) kept[i], ids[i] = s, id end
function acts.look() local i = random(20) if kept[i] then check(kept[i], ids[i]) end end
function acts.upvalue(s, id)
  local function set() s, id = make() end
  local function get() return s, id end
  collect()
  if random(2) == 1 then set() end
  collect()
  check(get())
  return get
end
function acts.callback(s, id)
  local t, n = make()
  local got = ("abc"):gsub(".", function()
    local u, m = make() collect() check(u, m) check(s, id) return "z"
  end)
  assert(got == "zzz")
  check(t, n)
end
-- Collections while gsub runs, in between those of the function that it calls.
function acts.captures(s, id)
  local pieces = {}
  for i = 1, 40 do pieces[i] = make() end
  local n = 0
  table.concat(pieces, " "):gsub("%d+", function(piece)
    n = n + 1
    if random(4) == 1 then collectgarbage("step", 0) end
    assert(piece == pieces[n])
  end)
  assert(n == 40)
  check(s, id)
end
function acts.sort(s, id)
  local list = {3, 1, 2}
  table.sort(list, function(a, b) local u, m = make() collect() check(u, m) return a < b end)
  check(s, id)
end
function acts.coroutine(s, id)
  local co = coroutine.wrap(function(s, id)
    for _ = 1, 3 do
      local t, n = make()
      collect()
      check(s, id)
      s, id = coroutine.yield(t, n)
      check(t, n)
    end
  end)
  for _ = 1, random(3) do
    local t, n = co(s, id)
    collect()
    check(t, n)
    s, id = make()
    collect()
  end
end
function acts.deep(s, id)
  local function down(n, s, id)
    local t, m = make()
    collect()
    if n > 0 then down(n - 1, t, m) end
    check(t, m)
    check(s, id)
  end
  down(random(8), s, id)
end
function acts.fail(s, id)
  local ok, message = pcall(function() local t, n = make() collect() error(t .. "|" .. n, 0) end)
  collect()
  assert(not ok)
  check(message:match("^(.*)|(%d+)$"))
  check(s, id)
end
function acts.varargs(s, id)
  local function f(...)
    collect() local a, b, c, d = ... collect() check(a, b) check(c, d) return ...
  end
  local t, n = make()
  check(select(3, f(s, id, t, n)))
end
function acts.weak(s, id)
  local values, keys = setmetatable({}, {__mode = "v"}), setmetatable({}, {__mode = "k"})
  local key = {}
  values[1], keys[key] = s, s
  collect()
  check(values[1], id) -- strings are values
  check(keys[key], id)
end

local names = {}
for name in pairs(acts) do names[#names + 1] = name end
table.sort(names)
collectgarbage(random(2) == 1 and "generational" or "incremental")
local scale = tonumber(arg[2] or 300)
for _ = 1, scale do
  local s, id = make()
  collect()
  acts[names[random(#names)]](s, id)
  check(s, id)
  collect()
end
for i, s in pairs(kept) do check(s, ids[i]) end
