-- SPDX-License-Identifier: MIT
-- Finalizers: when, in which order, resurrection, errors, at the end of the program.

local full = require "_gc".full
local function finalized(f) return setmetatable({}, { __gc = f }) end

do -- called once, with the object
  local log = {}
  do
    local o = finalized(function(self) log[#log + 1] = self.name end)
    o.name = "one"
  end
  full()
  assert(#log == 1 and log[1] == "one")
  full()
  assert(#log == 1)
end

do -- in the reverse order of marking, for objects found dead in the same cycle
  local log = {}
  local mt = { __gc = function(self) log[#log + 1] = self[1] end }
  do
    local objects = {}
    for i = 1, 20 do objects[i] = setmetatable({ i }, mt) end
  end
  full()
  assert(#log == 20)
  for i = 1, 20 do assert(log[i] == 21 - i) end
end

do -- objects that refer to each other: all are still usable in the finalizers
  local log = {}
  local mt = { __gc = function(self) log[#log + 1] = self.name .. ">" .. self.other.name end }
  do
    local a, b = setmetatable({ name = "a" }, mt), setmetatable({ name = "b" }, mt)
    a.other, b.other = b, a
  end
  full()
  assert(table.concat(log, " ") == "b>a a>b")
end

do -- resurrection: the object lives on, and is not finalized again unless registered again
  local saved, times = nil, 0
  local mt
  mt = { __gc = function(self) times = times + 1 saved = self end }
  do local _ = setmetatable({ data = { 1, 2, 3 } }, mt) end
  full()
  assert(times == 1 and saved and saved.data[3] == 3)
  saved = nil
  full()
  assert(times == 1)
  -- registered again in its finalizer
  local again = 0
  local mt2
  mt2 = { __gc = function(self) again = again + 1 if again < 3 then
    setmetatable(self, mt2) end end }
  do local _ = setmetatable({}, mt2) end
  for _ = 1, 5 do full() end
  assert(again == 3)
end

do -- the field must be there when the metatable is set; its value may change later
  local called = 0
  local mt = {}
  do local _ = setmetatable({}, mt) end
  mt.__gc = function() called = called + 1 end
  full()
  assert(called == 0)
  local late = { __gc = true }
  do
    local object = setmetatable({}, late)
    late.__gc = function() called = called + 1 end
    assert(getmetatable(object) == late) -- alive until here, also where each step collects
  end
  full()
  assert(called == 1)
  do local _ = setmetatable({}, { __gc = "not a function" }) end
  full()
end

do -- weak tables and finalizers: values go before, keys after the finalizer
  local values, keys = setmetatable({}, { __mode = "v" }), setmetatable({}, { __mode = "k" })
  local seen_value, seen_key
  do
    local o = finalized(function(self) seen_value, seen_key = values[1], keys[self] end)
    values[1] = o
    keys[o] = "data"
  end
  full()
  assert(seen_value == nil and seen_key == "data")
  full()
  assert(next(keys) == nil and next(values) == nil)
end

do -- resurrected through a weak-keyed table's value
  local keys = setmetatable({}, { __mode = "k" })
  local got
  do
    local o = finalized(function(self) got = keys[self] end)
    keys[o] = { "payload", o }
  end
  full()
  assert(got and got[1] == "payload")
end

do -- an error in a finalizer is a warning: the program goes on
  warn("@off")
  local after = false
  do
    local a = finalized(function() after = true end)
    local b = finalized(function() error("in gc") end)
  end
  full()
  assert(after)
end

do -- finalizers allocate, make new finalizable objects, collect
  local count = 0
  local function chain(n)
    return finalized(function()
      count = count + 1
      local junk = {}
      for i = 1, 20 do junk[i] = { i, tostring(i) } end
      collectgarbage("step")
      if n > 0 then chain(n - 1) end
    end)
  end
  chain(5)
  for _ = 1, 10 do full() end
  assert(count == 6)
  local nested = false
  do local _ = finalized(function() collectgarbage() nested = true end) end
  full()
  assert(nested)
end

do -- during a finalizer the state is intact: coroutines, pcall, varargs of the interrupted code
  local hits = 0
  local function churn(...)
    local n = select("#", ...)
    for i = 1, 50 do
      setmetatable({}, { __gc = function()
        hits = hits + 1
        assert(pcall(function() assert(not pcall(error, "x")) end))
        assert(coroutine.wrap(function(a) return coroutine.yield(a) end)(7) == 7)
      end })
      assert(select("#", ...) == n)
    end
    return ...
  end
  assert(select("#", churn(1, nil, 3)) == 3)
  full()
  assert(hits == 50)
end

do -- old objects too
  local done = 0
  local old = {}
  for i = 1, 50 do old[i] = finalized(function() done = done + 1 end) end
  full()
  full()
  assert(done == 0)
  for i = 1, 25 do old[i] = nil end
  full()
  assert(done == 25)
  old = nil
  full()
  assert(done == 50)
end

do -- a finalizer must not yield
  local message
  local co = coroutine.wrap(function()
    do local _ = finalized(function() message = select(2, pcall(coroutine.yield)) end) end
    full()
    return "end"
  end)
  assert(co() == "end")
  assert(message == nil or tostring(message):find("yield", 1, true))
end

do -- at the end of the program all that is left is finalized, latest first
  local saros = arg and arg[-1]
  if saros then
    local file = os.tmpname()
    local f = assert(io.open(file, "w"))
    f:write([[
      local mt = { __gc = function(o) io.write(o[1], " ") end }
      a = setmetatable({ "first" }, mt)
      b = setmetatable({ "second" }, mt)
      local c = setmetatable({ "third" }, mt)
      setmetatable({ "maker" }, { __gc = function() io.write("maker ") end })
      if arg[1] == "error" then error("end") elseif arg[1] == "exit" then os.exit(0, true) end
    ]])
    f:close()
    for _, how in ipairs { "normal", "error", "exit" } do
      local p = io.popen(("'%s' '%s' %s 2>/dev/null"):format(saros, file, how))
      local out = p:read("a")
      p:close()
      assert(out == "maker third second first ", how .. ": " .. out)
    end
    os.remove(file)
  end
end
