-- SPDX-License-Identifier: MIT
-- Attributes <const> and <close> (what is refused: syntax_errors.lua).

do -- const: compile-time constants and others
  local i <const>, f <const>, s <const>, b <const>, n <const> = 10, 2.5, "str", true, nil
  local t <const> = {}
  t.x = i
  assert(i + f == 12.5 and s .. i == "str10" and b and n == nil and t.x == 10)
  local K <const> = 5
  local function use() return K * 2, -K, K .. "" end
  local a, c, d = use()
  assert(a == 10 and c == -5 and d == "5")
  local x <const> = K
  local y <const> = x
  assert(({ [y] = 1 })[5] == 1)
  local S <const> = "length"
  assert(#S == 6 and S:upper() == "LENGTH" and ({ length = 3 })[S] == 3)
end

local function closer(name, log)
  return setmetatable({}, { __close = function(_, e)
    log[#log + 1] = name .. (e and ":" .. tostring(e):gsub("^.-:%d+: ", "") or "") end })
end

local function closes(expected, f)
  local log = {}
  local results = table.pack(pcall(f, log))
  local text = table.concat(log, " ")
  assert(text == expected, "closed: " .. text)
  return table.unpack(results, 1, results.n)
end

do -- in the reverse order, at each way out
  closes("b a", function(log)
    local a <close> = closer("a", log)
    local b <close> = closer("b", log)
  end)
  closes("a", function(log) do local a <close> = closer("a", log) end assert(#log == 1) end)
  local ok, v, w = closes("a", function(log) local a <close> = closer("a", log) return 1, 2 end)
  assert(ok and v == 1 and w == 2)
  closes("a a", function(log) for i = 1, 2 do local a <close> = closer("a", log) end end)
  closes("a", function(log)
    while true do local a <close> = closer("a", log) break end assert(#log == 1)
  end)
  closes("a", function(log)
    do
      local a <close> = closer("a", log)
      goto out
    end
    ::out::
    assert(#log == 1)
  end)
  closes("a a a", function(log)
    local n = 0
    ::again::
    do local a <close> = closer("a", log) n = n + 1 if n < 3 then goto again end end
  end)
  local ok2, e = closes("b:oops a:oops", function(log)
    local a <close> = closer("a", log)
    local b <close> = closer("b", log)
    error("oops", 0)
  end)
  assert(not ok2 and e == "oops")
  closes("inner outer", function(log)
    local a <close> = closer("outer", log)
    local function f() local b <close> = closer("inner", log) return "x" end
    assert(f() == "x" and #log == 1)
  end)
end

do -- nil and false are ignored; anything else must have the metamethod
  do local a <close> = nil local b <close> = false end
  local ok, e = pcall(function() local bad <close> = {} end)
  assert(not ok and e:find("variable 'bad' got a non-closable value", 1, true), e)
  ok, e = pcall(function() local num <close> = 5 end)
  assert(not ok and e:find("variable 'num' got a non-closable value", 1, true))
  ok, e = pcall(function()
    local x <close> = setmetatable({}, { __close = function() end })
    getmetatable(x).__close = nil
  end)
  assert(not ok and e:find("metamethod 'close'", 1, true), e)
end

do -- an error in a closing method replaces the one in flight; the rest still closes
  local log = {}
  local function bad(name)
    return setmetatable({}, { __close = function(_, e)
      log[#log + 1] = name .. "<" .. tostring(e) error(name, 0) end })
  end
  local ok, e = pcall(function()
    local a <close> = bad "a"
    local b <close> = bad "b"
    local c <close> = bad "c"
    error("start", 0)
  end)
  assert(not ok and e == "a" and table.concat(log, " ") == "c<start b<c a<b")
  log = {}
  ok, e = pcall(function()
    local a <close> = bad "a"
    local b <close> = closer("b", log)
    return 1
  end)
  assert(not ok and e == "a" and table.concat(log, " ") == "b a<nil")
end

do -- the variable keeps its value, results are kept, and no tail call is made
  local depth
  local function f()
    local a <close> = setmetatable({ 42 },
      { __close = function(self) assert(self[1] == 42) depth = "closed" end })
    return (function() assert(depth == nil) return "tail" end)()
  end
  assert(f() == "tail" and depth == "closed")
  local function many()
    local a <close> = closer("x", {})
    return table.unpack({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 })
  end
  assert(select("#", many()) == 10 and select(10, many()) == 10)
  local function va(...)
    local a <close> = closer("x", {})
    return ...
  end
  assert(select("#", va(nil, nil, nil)) == 3)
end

do -- closing methods see locals and upvalues as they are
  local seen
  do
    local n = 1
    local a <close> = setmetatable({}, { __close = function() seen = n end })
    n = 2
  end
  assert(seen == 2)
  local f
  do
    local x = 10
    local a <close> = setmetatable({}, { __close = function() x = x + 1 end })
    f = function() return x end
  end
  assert(f() == 11)
end

do -- in coroutines: yield inside a closing method, close a suspended one
  local log = {}
  local co = coroutine.wrap(function()
    local a <close> = setmetatable({},
      { __close = function() coroutine.yield("closing") log[#log + 1] = "a" end })
    coroutine.yield("body")
    return "end"
  end)
  assert(co() == "body" and co() == "closing" and co() == "end" and log[1] == "a")
  local co2 = coroutine.create(function()
    local a <close> = closer("a", log)
    local b <close> = closer("b", log)
    coroutine.yield()
  end)
  coroutine.resume(co2)
  assert(coroutine.close(co2) and coroutine.status(co2) == "dead")
  assert(table.concat(log, " ") == "a b a")
  local co3 = coroutine.create(function()
    local a <close> = setmetatable({}, { __close = function() error("in close", 0) end })
    coroutine.yield()
  end)
  coroutine.resume(co3)
  local ok, e = coroutine.close(co3)
  assert(ok == false and e == "in close")
  -- an error that passes a yield in a closing method
  local co4 = coroutine.wrap(function()
    return pcall(function()
      local a <close> = setmetatable({},
        { __close = function(_, e) coroutine.yield("with " .. e) end })
      error("E", 0)
    end)
  end)
  assert(co4() == "with E")
  local ok4, e4 = co4()
  assert(ok4 == false and e4 == "E")
end
