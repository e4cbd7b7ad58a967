-- SPDX-License-Identifier: MIT
-- files.lua: what the libraries io, os and package, and the loaders, say when the system
-- refuses: full devices, closed files, directories, missing programs. One line each, for
-- comparison with the reference.

local function show(what, ...)
  local results = table.pack(...)
  for i = 1, results.n do results[i] = tostring(results[i]) end
  print(what, table.concat(results, " | "))
end
local function try(what, f, ...) show(what, pcall(f, ...)) end

-- A full disk: at once without a buffer, else when it is emptied.
local full = io.open("/dev/full", "w")
show("write", full:write("x"))
show("flush", full:flush())
show("seek", full:seek("set"))
show("close", full:close())
full = io.open("/dev/full", "w")
show("setvbuf", full:setvbuf("no"))
show("write", full:write("x", "y"))
show("close", full:close())
full = io.open("/dev/full", "w")
show("setvbuf", full:setvbuf("full", 10))
show("write", full:write(("x"):rep(10000)))
show("write", full:write(1, 2.5))
show("close", full:close())
io.output("/dev/full")
show("io.write", io.write(("x"):rep(100000)))
show("io.close", io.close())
try("io.write, closed", io.write, "x")
try("io.close, closed", io.close)
io.output(io.stdout)

-- Closed files.
local f = io.open("text", "w")
f:write("12 0x1F 1e5 -7 abc\nline2\n\n99999999999999999999 0x 1e+ nan .5 5. - +3 0x.8p1 12345678901234567890123456789")
f:close()
for _, method in ipairs { "write", "read", "lines", "seek", "close", "setvbuf", "flush" } do try(method, f[method], f) end
show("tostring", f)
show("type", io.type(f), io.type(1), io.type(io.stdin))
io.input("text")
io.input():close()
try("io.read", io.read)
try("io.lines", io.lines)
try("iterator", function() local next, _, _, file = io.lines("text") file:close() next() end)
local iterator = io.lines("text")
while iterator() do end
try("iterator", iterator)

-- Formats, numerals, positions.
f = io.open("text")
show("write", f:write("x"))
for _, format in ipairs { "x", "*x", {}, -1 } do try("read", f.read, f, format) end
show("numerals", f:read("n", "n", "n", "n", "n"))
show("rest", f:read("l"))
show("mixed", f:read("L", 0, "l", "L"))
show("numerals", f:read("n", "n", "n", "n", "n"))
show("numeral", f:read("n"))
show("rest", f:read("l"))
show("end", f:seek("end"), f:read(), f:read("a"), f:read(0))
show("seek", f:seek("set", -1))
try("seek", f.seek, f, "x")
try("seek", f.seek, f, "set", 1.5)
try("seek", f.seek, f, 1)
try("setvbuf", f.setvbuf, f, "x")
try("setvbuf", f.setvbuf, f)
f:close()

-- Opening.
show("open", io.open("nonexistent"))
show("open", io.open("/proc/self/nonexistent", "w"))
for _, mode in ipairs { "rw", "r+b", "", "x" } do try("mode " .. mode, function() return io.type(io.open("text", mode)) end) end
local directory = io.open("/")
show("directory", directory:read("a"))
show("directory", directory:read())
show("directory", directory:read("n"))
show("directory", pcall(function() for _ in directory:lines() do end end))
show("directory", directory:close())
try("lines", io.lines, "nonexistent")
try("lines", io.lines, "text", "x")
try("lines", io.lines, "text", table.unpack({}, 1, 251))
try("lines", function() for _ in io.lines("text", "q") do end end)
try("input", io.input, "nonexistent")
try("output", io.output, "/nonexistent/x")
try("input", io.input, {})

-- Programs.
try("popen", io.popen, "true", "x")
try("popen", io.popen)
show("status", io.popen("exit 3"):close())
show("signal", io.popen("kill -9 $$"):close())
show("written", io.popen("cat >/dev/null", "w"):close())
show("output", io.popen("echo hello"):read("a"))
show("not to be written", io.popen("echo hello"):write("x"))
show("not to be sought", io.popen("echo hello"):seek("set"))
show("execute", os.execute("exit 5"))
show("execute", os.execute("kill -15 $$"))
show("execute", os.execute())
show("execute", os.execute(""))
show("remove", os.remove("nonexistent"))
show("remove", os.remove("/proc"))
show("rename", os.rename("nonexistent", "x"))
try("getenv", os.getenv)

-- Time.
for _, format in ipairs { "%E", "%Ez", "%Q", "%", "%Oy%" } do try("date " .. format, os.date, format) end
try("date", os.date, "*t", 2 ^ 60)
try("date", os.date, "%c", math.maxinteger)
show("date", os.date("!%c", 0))
for _, fields in ipairs {
  {}, { year = 2020 }, { year = 2020, month = 1, day = 1.5 }, { year = "x", month = 1, day = 1 },
  { year = 2 ^ 40, month = 1, day = 1 }, { year = math.mininteger, month = 1, day = 1 },
  { year = 2020, month = math.maxinteger, day = 1 },
} do try("time", os.time, fields) end
try("time", os.time, 5)
try("setlocale", os.setlocale, "C", "x")
try("setlocale", os.setlocale, "xx_YY")
try("exit", os.exit, "x")

-- Loading.
try("loadfile", loadfile, "nonexistent")
try("loadfile", loadfile, "/")
try("loadfile", loadfile, "text", "b")
try("loadfile", loadfile, "text")
try("dofile", dofile, "nonexistent")
for _, name in ipairs { "=name", "@name", "line1\nline2", ("a"):rep(100) } do try("load", load, "x=", name) end
try("load", load, function() error("raised", 0) end)
try("load", load, 5)
try("load", load, "return 1", "name", "b")
try("load", load, "return 1", "name", "x")
local chunk = string.dump(load "return 1")
try("load", load, chunk, "name", "t")
try("load", load, chunk:sub(1, 10), "name")
try("load", load, "\27Lua", "name")
try("load", load, "\27", "name")
try("dump", string.dump, print)
try("require", require)
try("searchpath", package.searchpath, "a.b", "./?.x;./?/y")
try("searchpath", package.searchpath, "a", "")
try("loadlib", package.loadlib, "/nonexistent.so", "f")
package.path = nil
try("require", require, "missing")
package.path, package.cpath = "./?.lua", {}
try("require", require, "missing")
package.searchers = 7
try("require", require, "missing")
package.searchers = {}
try("require", require, "missing")
package.searchers = {
  function() return 5 end, function() return "\n\tnot here" end,
  function() return function() return nil end, "extra" end,
}
show("require", require("missing"))
