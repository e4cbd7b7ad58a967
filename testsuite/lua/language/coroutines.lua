-- SPDX-License-Identifier: MIT
-- Coroutines: transfer of values, states, errors, yields across everything.

local yield, wrap, create, resume, status = coroutine.yield, coroutine.wrap, coroutine.create,
  coroutine.resume, coroutine.status

do -- values in both directions
  local co = create(function(a, b)
    assert(a == 1 and b == 2)
    local c, d = yield(a + b)
    assert(c == "x" and d == nil)
    local n = select("#", yield())
    assert(n == 3)
    return "done", nil
  end)
  local r = table.pack(resume(co, 1, 2))
  assert(r.n == 2 and r[1] == true and r[2] == 3 and status(co) == "suspended")
  r = table.pack(resume(co, "x"))
  assert(r.n == 1 and r[1])
  r = table.pack(resume(co, nil, nil, nil))
  assert(r.n == 3 and r[2] == "done" and r[3] == nil and status(co) == "dead")
  local ok, e = resume(co)
  assert(ok == false and e == "cannot resume dead coroutine")
end

do -- states
  local main, is_main = coroutine.running()
  assert(type(main) == "thread" and is_main == true and status(main) == "running")
  local outer
  outer = create(function()
    assert(coroutine.running() == outer and status(outer) == "running" and
      not select(2, coroutine.running()))
    local inner = create(function()
      assert(status(outer) == "normal")
      local ok, e = resume(outer)
      assert(not ok and e == "cannot resume non-suspended coroutine")
      ok, e = resume(coroutine.running())
      assert(not ok and e == "cannot resume non-suspended coroutine")
    end)
    assert(resume(inner))
    assert(coroutine.isyieldable())
  end)
  assert(resume(outer))
  assert(not coroutine.isyieldable() and
    coroutine.isyieldable(outer) == coroutine.isyieldable(outer))
  local ok, e = pcall(yield)
  assert(not ok and e:find("outside a coroutine", 1, true), e)
end

do -- generators
  local function gen(n) return wrap(function() for i = 1, n do yield(i) end end) end
  local sum = 0
  for i in gen(10) do sum = sum + i end
  assert(sum == 55)
  local function permutations(a, n)
    n = n or #a
    if n <= 1 then yield(a) else
      for i = 1, n do
        a[n], a[i] = a[i], a[n]
        permutations(a, n - 1)
        a[n], a[i] = a[i], a[n]
      end
    end
  end
  local count = 0
  for p in wrap(function() permutations { 1, 2, 3, 4 } end) do count = count + 1 assert(#p == 4) end
  assert(count == 24)
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

do -- errors
  local co = create(function() local x; x() end)
  local ok, e = resume(co)
  assert(not ok and e:find("attempt to call a nil value (local 'x')", 1, true), e)
  assert(status(co) == "dead")
  ok, e = pcall(wrap(function() error({ code = 7 }) end))
  assert(not ok and e.code == 7)
  ok, e = pcall(wrap(function() error("text") end))
  assert(not ok and e:find("^.-:%d+: .*text"), e)
  ok, e = pcall(wrap(function() error() end))
  assert(not ok and e == nil)
  local w = wrap(function() return 1 end)
  w()
  ok, e = pcall(w)
  assert(not ok and e:find("cannot resume dead coroutine", 1, true))
  -- the traceback of a coroutine that failed
  local failed = create(function() local function inner() error("deep") end inner() end)
  resume(failed)
  assert(debug.traceback(failed):find("inner", 1, true), debug.traceback(failed))
end

do -- close
  assert(coroutine.close(create(print)))
  local co = create(function() yield() end)
  resume(co)
  assert(coroutine.close(co) == true and status(co) == "dead")
  local bad = create(function() error("x", 0) end)
  resume(bad)
  local ok, e = coroutine.close(bad)
  assert(ok == false and e == "x")
  ok, e = pcall(coroutine.close, (coroutine.running()))
  assert(not ok and e:find("cannot close a running coroutine", 1, true), e)
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

do -- recursion through resume is limited by an error, not by a crash
  local function recurse() return wrap(recurse)() end
  local ok, e = pcall(recurse)
  assert(not ok and tostring(e):find("overflow", 1, true), e)
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

do -- schedulers: round robin until all are done
  local log, tasks = {}, {}
  for id = 1, 3 do
    tasks[id] = create(function()
      for step = 1, id do log[#log + 1] = id .. ":" .. step yield() end
    end)
  end
  while #tasks > 0 do
    for i = #tasks, 1, -1 do
      resume(tasks[i])
      if status(tasks[i]) == "dead" then table.remove(tasks, i) end
    end
  end
  assert(#log == 6)
end
