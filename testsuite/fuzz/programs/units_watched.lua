-- SPDX-License-Identifier: MIT
-- Units for programs that are watched (watch.lua): every kind of loop, of call that runs
-- code, and of end, with a place to switch instruments at, `W()`, anywhere inside.

local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Units = {}

local tables = { "{ 1, 2, 3 }", "{ a = 1, b = 2, c = 3 }", "{ 1, 2, nil, 4, a = 1, b = 2 }", "{}",
    "filled(100, 0)", "filled(0, 40)", "filled(20, 30)", "filled(3, 1)", "{ x = 1 }",
    "{ 1, 2, 3, 4, 5, 6, 7 }" }

-- Loops over `t` that see each of its elements, or the first ones of its array.
local iterators = { "pairs(t)", "pairs(t)", "next, t", "next, t, nil", "ipairs(t)",
    "function(s, c) W() return next(s, c) end, t",
    "function(_, c) c = c + 1 if c <= 5 then W() return c, c end end, t, 0",
    "setmetatable({}, { __call = function(_, s, c) W() return next(s, c) end }), t",
    "setmetatable({}, { __call = next }), t",
    "pairs(setmetatable({}, { __pairs = function() W() return next, t end }))",
    "pairs(setmetatable({}, { __pairs = function() return function(_, k) W() return next(t, k) end, t end }))",
    'next, t, nil, C("for")', 'next, t, nil, C("for", "yield")', 'next, t, nil, C("for", "error")',
    "coroutine.wrap(function() for k, v in pairs(t) do W() coroutine.yield(k, v) end end)",
    'string.gmatch("abcdefg", "()(.)")', "table.unpack { next, t }",
    "ipairs(setmetatable({}, { __index = function(_, i) W() if i < 6 then return i end end }))",
    "pcall(pairs, t) and next, t", "O(\"pairs\", \"yield\").x and pairs(t)",
    "(function(...) return ... end)(pairs(t))" }

local function place(g) return E(g:pick { "W()", "W()", "W()", "S()", "T()", "" }) end

-- What the body of a loop may do; `d` levels may follow below.
local function body_statement(g, d)
  return g:weighted {
    { 5, function() return S("W()") end },
    { 2, function() return S("t[k] = v") end },
    { 1, function() return S("if n % 2 == 0 then t[k] = nil end") end },
    { 1, function() return S("Y(1)") end },
    { 1, function() return S("local c <close> = C(\"c\")") end },
    { 1, function() return S("pcall(function(...) W() error(...) end, k)") end },
    { 1, function() return S("m = m + select(\"#\", (function(...) W() return ... end)(k, v))") end },
    { 1, function() return S("fs[#fs + 1] = function() n = n + 1 return k end") end },
    { 1, function() return S("m = m + #tostring(setmetatable({}, { __tostring = function() W() return \"s\" end }))") end },
    { d > 0 and 3 or 0, function() return Units.loop(g, d - 1) end },
  } ()
end

local function body(g, d)
  local list = {}
  for i = 1, g:int(1, 3) do list[i] = body_statement(g, d) end
  local at = g:int(1, #list + 1)
  table.insert(list, at, place(g))
  if g:chance(0.15) then list[#list + 1] = S("if n > 20 then break end") end
  return B(list)
end

-- A loop of any kind; it counts its rounds in `n`, and says which keys it saw.
function Units.loop(g, d)
  local i = g:fresh "i"
  return g:weighted {
    { 6, function()
      return S("do local t, n, m, fs, keys = $, 0, 0, {}, {} for k, v in $ do n = n + 1 keys[#keys + 1] = tostring(k)$end " ..
          "table.sort(keys) if n <= 20 then L(n, m, #fs, table.concat(keys, \" \")) else L(n > 20) end end",
        E(g:pick(tables)), E(g:pick(iterators)), body(g, d))
    end },
    { 2, function()
      return S("do local t, n, m, fs, k, v = {}, 0, 0, {} for " .. i .. " = $ do n = n + 1 k, v = " .. i ..
          ", n$end L(n, m, #fs) end", E(g:pick { "1, 10", "10, 1, -1", "1, 3, 0.5", "1.0, 4", "1, 0",
          "math.maxinteger - 3, math.maxinteger" }), body(g, d))
    end },
    { 1, function()
      return S("do local t, n, m, fs, k, v = {}, 0, 0, {} while n < $ do n = n + 1 k, v = n, n$end L(n, m) end",
        E(g:pick { "5", "(W() and 1 or 7)", "9" }), body(g, d))
    end },
    { 1, function()
      return S("do local t, n, m, fs, k, v = {}, 0, 0, {} repeat n = n + 1 k, v = n, n local done = n >= 6$until done or (W() or n > 8) L(n, m) end",
        body(g, d))
    end },
    { 1, function()
      return S("do local t, n, m, fs, k, v = {}, 0, 0, {} ::" .. i .. ":: n = n + 1 k, v = n, n repeat$until true if n < 6 then goto " ..
          i .. " end L(n, m) end", body(g, d))
    end },
  } ()
end

local helpers = "local function filled(a, h) local t = {} for i = 1, a do t[i] = i end " ..
    "for i = 1, h do t[\"k\" .. i] = i end return t end "

-- Loops in a function that runs several times, on the main thread and in coroutines.
function Units.loops(g)
  local list = {}
  for i = 1, g:int(1, 3) do list[i] = Units.loop(g, 2) end
  local use = g:pick { "for _ = 1, 3 do L(pcall(f, 1)) end", "drive(coroutine.create(f), 1)",
      "L(pcall(f, 1)) L(pcall(coroutine.wrap(f), 1))", "drive(coroutine.create(f)) L(pcall(f, 2))",
      "local co = coroutine.create(f) L(coroutine.resume(co)) W() L(coroutine.close(co))" }
  return { S("do " .. helpers .. "local function f(arg)$end " .. use .. " end", B(list)) }
end

-- Coroutines that are made, resumed and closed while variables of others are closed. What
-- happens is summed up (`saw`): as lines of the log it would use up the fuel at once.
function Units.nested_closing(g)
  return { S("do local sum, count = 0, 0 local function saw(v) sum, count = (sum * 31 + v) % 1000003, count + 1 end " ..
      "local function deep(n) if n == 0 then return 0 end local co = coroutine.create(function(...) " ..
      "local z <close> = setmetatable({}, { __close = function(_, e) W() saw(e and 5 or 6) deep(n - 1) W() end }) " ..
      "W() deep(n - 1) saw(coroutine.yield(n) or 7) W() $ end) W() saw(coroutine.resume(co, n) and 8 or 9) W() $ W() return n end " ..
      "for i = 1, $ do saw(pcall(deep, $) and 10 or 11) end L(sum, count) end",
    E(g:pick { "", "", "error(n)", "return deep(n - 1)", "coroutine.yield(n) return n",
      "return pcall(deep, n - 1)" }),
    E(g:pick { "coroutine.close(co)", "coroutine.resume(co, 1) coroutine.close(co)",
      "if count % 2 == 0 then coroutine.close(co) else coroutine.resume(co) end",
      "if count % 3 > 0 then coroutine.close(co) else coroutine.resume(co) end",
      "coroutine.resume(co, 1)", "" }),
    E(g:pick { "3", "30", "100" }), E(g:pick { "1", "2", "3", "3" })) }
end

-- Code that comes as text, from a file, as a module.
function Units.sources(g)
  local list = {}
  for i = 1, g:int(1, 4) do
    list[i] = S(g:pick {
      "L(dofile(MODULE))", "L(pcall(dofile, MODULE))", "L(loadfile(MODULE)(1, 2, 3))",
      "unload() L(require(\"watched_module\")) L((require(\"watched_module\")))",
      "L(coroutine.wrap(dofile)(MODULE))", "drive(coroutine.create(dofile), MODULE)",
      "L(load(\"local a = ... W() for i = 1, 3 do W() end return a\")(5))",
      "unload() L(pcall(coroutine.wrap(require), \"watched_module\"))",
      "for i = 1, 3 do L(load(function() W() i = i + 1 return i < 5 and \" W()\" or nil end)) end",
      "L(string.dump ~= nil and load(string.dump(function(...) W() return ... end))(1, 2))",
    })
  end
  return { S("do $ end", B(list)) }
end

local caught = { "pcall(f, $)", "xpcall(f, function(m) W() L(\"handler\", m) return m end, $)",
    "xpcall(f, function(m) W() error(m) end, $)", "coroutine.resume(coroutine.create(f), $)",
    "pcall(coroutine.wrap(f), $)", "pcall(pcall, f, $)", "xpcall(pcall, W, f, $)",
    "select(2, pcall(f, $))", "pcall(function(...) return f(...) end, $)",
    "pcall(table.sort, { 3, 1, 2, 5, 4 }, function(a, b) W() return a < b end)",
    "pcall(table.sort, { 3, 1, 2, 5, 4 }, function(a, b) W() pcall(error, a) error(\"order\") end)",
    "pcall(string.gsub, \"abcd\", \".\", function(c) W() f(c) return c .. c end)",
    "pcall(setmetatable({}, { __call = f }), $)", "(setmetatable({}, { __index = f }).x)",
    "pcall(function() local c <close> = setmetatable({}, { __close = f }) W() return $ end)",
    "pcall(function() local c <close> = setmetatable({}, { __close = f }) error($) end)",
    "pcall(function(o) return o + 1, o .. 1, -o, #o, o < o, o[1] end, setmetatable({}, { __add = f, " ..
        "__concat = f, __unm = f, __len = f, __lt = f, __index = f }))",
    "pcall(function(o) o.x = 1 return o == setmetatable({}, getmetatable(o)) end, " ..
        "setmetatable({}, { __newindex = f, __eq = f }))",
    "pcall(error, setmetatable({}, { __tostring = f }))",
    "pcall(function(...) return pcall(f, ...) end, $)",
    "(function(...) return select(\"#\", pcall(f, ...)) end)($)" }

-- Calls of each kind of one function, in a loop; it fails now and then.
function Units.calls_of(g)
  local list = { S("local count = 0 local function f(...) W() count = count + 1 $ $ return $ end",
    E(g:pick { "", "", "S()", "Y(...)", "local c <close> = C(\"c\")", "for k in pairs { 1, 2, 3 } do W() end" }),
    E(g:pick { "", "if count % 3 == 0 then error(\"third\") end",
      "if count % 2 == 0 then error({}) end", "if count % 5 == 0 then local x = nil + 1 end" }),
    E(g:pick { "...", "1", "count", "select(\"#\", ...)", "" })) }
  for _ = 1, g:int(1, 4) do
    local call = g:pick(caught):gsub("%$", function() return g:pick { "1", "nil", "1, 2, 3" } end)
    list[#list + 1] = S("for i = 1, $ do W() L(pcall(function() return $ end)) end",
      E(g:pick { "1", "2", "5" }), E(call))
  end
  list[#list + 1] = S("L(count)")
  local text = g:pick { "do$end", "drive(coroutine.create(function()$end))" }
  return { S(text, B(list)) }
end

-- Finalizers that run the program's code, while loops and calls go on.
function Units.finalized(g)
  return { S("do local n, rounds = 0, 0 local function make() setmetatable({}, { __gc = function() W() n = n + 1 $ end }) end " ..
      "local function clobber(...) local a, b, c, d, e, f, g, h = ... if a then return clobber(a - 1, b, c, d, e, f, g, h) end end " ..
      "for k, v in $ do rounds = rounds + 1 W() make() $ end pcall(clobber) G() G() L(n, rounds) end",
    E(g:pick { "", "for k in pairs { 1, 2 } do W() end", "pcall(error, 1)",
      "coroutine.wrap(function() W() coroutine.yield() end)()", "error(\"ignored\")" }),
    E(g:pick { "pairs { 1, 2, 3, 4 }", "next, { a = 1, b = 2, c = 3 }", "ipairs { 1, 2, 3, 4, 5 }" }),
    E(g:pick { "S()", "G()", "", "pcall(G)" })) }
end

return Units
