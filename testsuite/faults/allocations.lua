-- SPDX-License-Identifier: MIT
-- What allocations_test.c runs while allocations fail: a little of everything that
-- allocates. Answers always the same text when nothing fails.
return function()
  local out = {}
  local function note(...) out[#out + 1] = table.concat({...}, " ") end

  do -- strings, short and long, interned and not; buffers that grow
    local s = ""
    for i = 1, 20 do s = s .. i .. "," end
    note(#s, s:rep(3, "-"):sub(-8), s:upper():reverse():sub(1, 5), ("x"):rep(3000):len())
    note(("%5d|%-8s|%q|%g|%a"):format(42, "ab", "a\nb", 1.5, 0.5), tostring(12.5), ("%s"):format(("y"):rep(200)):len())
    note(s:gsub("%d+", function(d) return d * 2 end), select(2, s:gsub("(%d)(%d)", "%2%1")))
    for a, b in ("k1=v1, k2=v2"):gmatch("(%w+)=(%w+)") do note(a, b) end
    note(string.pack("z s1 i4", "abc", "de", 7):len(), utf8.char(228, 8364, 0x10ffff):len(), #table.concat({1, 2, ("z"):rep(600)}, ";"))
    note(("a"):rep(50):find(("a?"):rep(20) .. ("b?"):rep(30)))
  end

  do -- tables that grow and shrink, with all kinds of keys
    local t = {1, 2, 3, x = 1, y = {z = 2}}
    for i = 1, 200 do t[i] = i t["k" .. i] = {i} t[i + 0.5] = true end
    for i = 1, 200, 3 do t[i] = nil t["k" .. i] = nil end
    t[("long key "):rep(10)] = 1
    local n = 0
    for _ in pairs(t) do n = n + 1 end
    table.insert(t.y, "a") table.sort(t.y)
    note(n, #t.y, select("#", table.unpack({}, 1, 100)), table.pack(1, 2, nil).n, #table.move({1, 2, 3}, 1, 3, 2, {}))
  end

  do -- closures, upvalues, variable arguments, deep calls
    local fs = {}
    for i = 1, 10 do local j = i fs[i] = function(...) j = j + select("#", ...) return j, {...} end end
    local function deep(n, ...) if n == 0 then return select("#", ...) end return 0 + deep(n - 1, n, ...) end
    note((fs[3](1, 2)), (fs[3]()), deep(60))
  end

  do -- metamethods, finalizers, weak tables, closing
    local mt = {__index = function(_, k) return k .. "!" end, __concat = function(a, b) return "cat" end,
                __add = function() return {} end, __call = function(_, ...) return ... end, __close = function() end}
    local o <close> = setmetatable({}, mt)
    local weak = setmetatable({}, {__mode = "k"})
    for i = 1, 10 do weak[setmetatable({}, {__gc = function(x) x.gone = {} end})] = {i} end
    collectgarbage("step")
    note(o.name, o .. "x", type(o + 1), o("called"))
  end

  local found, ffi = pcall(require, "saros.ffi")
  if found then -- memory outside the heap
    for i = 1, 5 do ffi.gc(ffi.new "int", function() end, 1000 * i) end
    ffi.gc(ffi.gc(ffi.new "int", print, 1), nil)
  end

  do -- coroutines, errors, tracebacks
    local co = coroutine.wrap(function(a) for i = 1, 5 do a = coroutine.yield({a, i}) end return "end" end)
    for i = 1, 5 do co(i) end
    note(co(), tostring(pcall(error, {})), select(2, pcall(error, "message", 0)))
    local _, trace = xpcall(function() local x = nil; return x.field end, debug.traceback)
    note(trace:match("attempt to index a nil value %(local 'x'%)"))
    local threads = {}
    for i = 1, 5 do threads[i] = coroutine.create(function() local v <close> = setmetatable({}, {__close = function() end}) coroutine.yield(i) end) coroutine.resume(threads[i]) end
    for i = 1, 5 do note(tostring(coroutine.close(threads[i]))) end
  end

  do -- compiling, binary chunks
    local source = {"local a, b = ... ", "local t = {a, b, x = a} ", "local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end ",
                    "for i = 1, 3 do t[i] = function() return a .. 'some constant string that is longer than forty bytes' .. i end end ", "return f(a), t[2]()"}
    local i = 0
    local f = assert(load(function() i = i + 1 return source[i] end, "=chunk"))
    note(f(9, 1))
    note(assert(load(string.dump(f, true), "b", "b", {}))(5, 2))
    note((select(2, load("x = = 1", "=bad"))))
    note(select("#", assert(load("return " .. ("{"):rep(20) .. ("}"):rep(20)))()))
  end
  return table.concat(out, "\n")
end
