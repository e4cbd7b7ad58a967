-- SPDX-License-Identifier: MIT
-- os: files, environment, locale, other processes, exit.

local fails = require "_fails"

do -- tmpname, rename, remove
  local a, b = os.tmpname(), os.tmpname()
  assert(a ~= b and a:find("^/tmp/lua_%w%w%w%w%w%w$"))
  assert(io.open(a)):close() -- it exists
  assert(os.remove(a) == true)
  local ok, message, code = os.remove(a)
  assert(ok == nil and message == a .. ": No such file or directory" and code == 2)
  assert(os.rename(b, a) == true and io.open(b) == nil)
  ok, message, code = os.rename(b, a)
  assert(ok == nil and message == "No such file or directory" and code == 2)
  assert(os.remove(a))
  ok, message, code = os.remove("/proc/1/nothing/of/the/kind")
  assert(not ok and message and code)
  fails("string expected, got no value", os.remove)
  fails("string expected, got no value", os.rename, "a")
end

do -- environment
  assert(os.getenv("PATH") and os.getenv("NO_SUCH_VARIABLE_HERE") == nil)
  fails("string expected, got no value", os.getenv)
end

do -- locale
  assert(os.setlocale() == "C" and os.setlocale(nil, "numeric") == "C" and
    os.setlocale("C", "all") == "C")
  assert(os.setlocale("no_such_locale") == nil)
  for _, category in ipairs { "all", "collate", "ctype", "monetary", "numeric", "time" } do
    assert(os.setlocale("C", category) == "C")
  end
  fails("invalid option 'zz'", os.setlocale, nil, "zz")
  -- classes and case follow the locale, there and back
  if os.setlocale("C.UTF-8", "ctype") then
    assert(not ("\xe9"):find("%a") and ("aB"):upper() == "AB")
    assert(os.setlocale("C", "ctype") == "C" and ("abc"):find("%a+") == 1)
  end
end

do -- execute
  local function result(expected_ok, expected_how, expected_code, command)
    local ok, how, code = os.execute(command)
    assert(ok == expected_ok and how == expected_how and code == expected_code, command)
  end
  assert(os.execute() == true)
  result(true, "exit", 0, "true")
  result(nil, "exit", 3, "exit 3")
  result(nil, "signal", 9, "kill -9 $$")
  result(nil, "exit", 127, "/no/such/program 2>/dev/null")
end

do -- exit: status, closing the state on request; tried in other processes
  local program
  for i = -1, -20, -1 do
    if not (arg and arg[i]) then break end
    program = arg[i]
  end
  local file = os.tmpname()
  local function status_of(source)
    local f = assert(io.open(file, "w"))
    f:write(source)
    f:close()
    return select(3, os.execute(("%s %s >/dev/null 2>&1"):format(program, file)))
  end
  if program then
    assert(status_of("os.exit()") == 0 and status_of("os.exit(true)") == 0 and
      status_of("os.exit(false)") == 1)
    assert(status_of("os.exit(7)") == 7 and status_of("os.exit(7.0)") == 7 and
      status_of("os.exit(true, true)") == 0)
    assert(status_of("error'x'") == 1)
    -- what is pending runs only when the state is closed
    local finalizer = "setmetatable({}, { __gc = function() os.exit(42) end }) os.exit(0, %s)"
    assert(status_of(finalizer:format("true")) == 42 and status_of(finalizer:format("false")) == 0)
    local close = "local x <close> = setmetatable({}, { __close = function() os.exit(43) end })"
    assert(status_of(close .. " os.exit(0, true)") == 43)
    assert(status_of("coroutine.wrap(function() os.exit(5, true) end)()") == 5)
  end
  os.remove(file)
  fails("number expected, got string", os.exit, "x")
  fails("number has no integer representation", os.exit, 1.5)
end
print "OK"
