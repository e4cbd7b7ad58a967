-- SPDX-License-Identifier: MIT
-- Coroutines: transfer of values, states, errors, yields across everything.

local yield, wrap, create, resume, status = coroutine.yield, coroutine.wrap, coroutine.create,
  coroutine.resume, coroutine.status

do -- a coroutine that waits for another
  local outer
  outer = create(function()
    local inner = create(function()
      local ok, e = resume(outer)
      assert(not ok and e == "cannot resume non-suspended coroutine")
    end)
    assert(resume(inner))
  end)
  assert(resume(outer))
end

do -- generators
  local function gen(n) return wrap(function() for i = 1, n do yield(i) end end) end
  local sum = 0
  for i in gen(10) do sum = sum + i end
  assert(sum == 55)
  -- a sieve of nested generators
  local function filter(p, g)
    return wrap(function() for n in g do if n % p ~= 0 then yield(n) end end end)
  end
  local primes, g = {}, wrap(function() for i = 2, 40 do yield(i) end end)
  while true do
    local p = g()
    if not p then break end
    primes[#primes + 1] = p
    g = filter(p, g)
  end
  assert(table.concat(primes, " ") == "2 3 5 7 11 13 17 19 23 29 31 37")
end

do -- yield across pcall, xpcall, error and nested calls
  local co = wrap(function()
    local ok, v = pcall(function() local x = yield("in pcall") return x * 2 end)
    assert(ok and v == 10)
    local ok2, e = pcall(function() yield("before error") error("E", 0) end)
    assert(not ok2 and e == "E")
    local ok3, e3 = xpcall(function() yield("in xpcall") local t = nil; return t.x end, function(m)
      return "handled: " .. m
    end)
    assert(not ok3 and e3:find("^handled: .*attempt to index a nil value"), e3)
    local ok4, e4 = pcall(pcall, function() return yield("nested pcall") end)
    assert(ok4 and e4 == true)
    return "end"
  end)
  assert(co() == "in pcall" and co(5) == "before error" and co() == "in xpcall" and
    co() == "nested pcall" and co() == "end")
end

do -- yield in iterators, in metamethods of for, in table.sort it is refused
  local function iter()
    return function(_, i) yield("it") if i < 3 then return i + 1 end end, nil, 0
  end
  local co = wrap(function() local s = 0 for i in iter() do s = s + i end return s end)
  assert(co() == "it" and co() == "it" and co() == "it" and co() == "it" and co() == 6)
  local sorter = create(function()
    table.sort({ 3, 2, 1 }, function(a, b) yield() return a < b end)
  end)
  local ok, e = resume(sorter)
  assert(not ok and e:find("attempt to yield across a C-call boundary", 1, true), e)
  local gsub = create(function() return ("abc"):gsub(".", function() yield() end) end)
  ok, e = resume(gsub)
  assert(not ok and e:find("attempt to yield across a C-call boundary", 1, true), e)
end

do -- errors: with a position, without a value, and a traceback afterwards
  local ok, e = resume(create(function() local x; x() end))
  assert(not ok and e:find("attempt to call a nil value (local 'x')", 1, true), e)
  ok, e = pcall(wrap(function() error() end))
  assert(not ok and e == nil)
  local failed = create(function() local function inner() error("deep") end inner() end)
  resume(failed)
  assert(debug.traceback(failed):find("inner", 1, true), debug.traceback(failed))
end

do -- wrap inside wrap, resume from within, values through tail calls
  local function chain(n) if n == 0 then return yield("bottom") end return chain(n - 1) end
  local co = wrap(chain)
  assert(co(50) == "bottom" and co("back") == "back")
  local function nest(n) if n == 0 then return "leaf" end return wrap(nest)(n - 1) end
  assert(nest(50) == "leaf")
  local producer = wrap(function() for i = 1, 3 do yield(i) end return nil end)
  local doubler = wrap(function() for v in producer do yield(v * 2) end end)
  assert(doubler() == 2 and doubler() == 4 and doubler() == 6 and doubler() == nil)
end

do -- many at once, and many switches
  local all = {}
  for i = 1, 200 do all[i] = wrap(function() local n = i while true do n = n + yield(n) end end) end
  for i = 1, 200 do assert(all[i]() == i) end
  for round = 1, 3 do for i = 1, 200 do assert(all[i](1) == i + round) end end
  local co = wrap(function() for i = 1, 5000 do yield(i) end return "end" end)
  for i = 1, 5000 do assert(co() == i) end
  assert(co() == "end")
end

do -- deep stacks in a coroutine, many values across a switch
  local function deep(n) if n == 0 then yield("deep") return 0 end return 1 + deep(n - 1) end
  local co = wrap(deep)
  assert(co(3000) == "deep" and co() == 3000)
  local big = {}
  for i = 1, 200 do big[i] = i end
  local echo = wrap(function(...)
    local r = table.pack(...) while true do r = table.pack(yield(table.unpack(r, 1, r.n))) end
  end)
  assert(select("#", echo(table.unpack(big))) == 200 and
    select(200, echo(table.unpack(big))) == 200)
end

do -- a function that is not Lua as the body
  local co = create(pcall)
  local ok, a, b = resume(co, function() return yield("y") end)
  assert(ok and a == "y")
  ok, a, b = resume(co, "z")
  assert(ok and a == true and b == "z")
  assert(wrap(tostring)(5) == "5")
  local direct = wrap(yield)
  assert(direct(1) == 1 and direct(2) == 2)
  local sel = create(select)
  assert(select(2, resume(sel, "#", 1, 2)) == 2)
end
