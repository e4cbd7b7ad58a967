-- SPDX-License-Identifier: MIT
-- The io library: opening, reading, writing, seeking, closing.

local fails = require "_fails"

local function write(name, text)
  local file = assert(io.open(name, "wb"))
  assert(file:write(text) == file)
  assert(file:close() == true)
end

-- failures of the system: fail, message, code
local f, message, code = io.open("none")
assert(f == nil and message == "none: No such file or directory" and code == 2)
f, message, code = io.open(".", "w")
assert(f == nil and message == ".: Is a directory" and code == 21)
fails("bad argument #2 to 'open' (invalid mode)", function() io.open("x", "rz") end)
fails("bad argument #2 to 'open' (invalid mode)", function() io.open("x", "r+bt") end)
fails("string expected, got no value", io.open)
for _, mode in ipairs {"w", "w+", "wb", "w+b", "a", "a+", "ab", "r", "r+", "rb", "r+b"} do
  assert(io.open("modes", mode)):close()
end

-- type, tostring, use after closing
local file = io.tmpfile()
assert(io.type(file) == "file" and io.type(1) == nil and
  string.match(tostring(file), "^file %(0x%x+%)$"))
assert(file:close() == true)
assert(io.type(file) == "closed file" and tostring(file) == "file (closed)")
fails("attempt to use a closed file", function() file:read() end)
fails("attempt to use a closed file", function() file:close() end)
fails("attempt to use a closed file", function() file:lines() end)
fails("bad argument #1 to 'type' (value expected)", function() io.type() end)
fails("FILE* expected, got number", io.stdin.read, 1)
fails("calling 'read' on bad self", function() local o = {read = io.stdin.read} o:read() end)
assert(getmetatable(file).__name == "FILE*" and file.none == nil)
f, message = io.stdout.close and io.close(io.stderr)
assert(f == nil)
assert(select(2, io.stderr:close()) == "cannot close standard file")

-- writing: strings and numbers
file = assert(io.open("out", "w+b"))
assert(file:write("a", 1, " ", -2.5, " ", 1e100, "\0", "z") == file)
assert(file:seek("set") == 0)
assert(file:read("a") == "a1 -2.5 1e+100\0z")
assert(file:read("a") == "" and file:read("l") == nil and file:read(0) == nil)
fails("bad argument #1 to 'write' (string expected, got table)", function() file:write({}) end)
fails("bad argument #2 to 'write' (string expected, got nil)", function() file:write("x", nil) end)
file:close()
file = assert(io.open("out", "r"))
f, message, code = file:write("x")
assert(f == nil and message == "Bad file descriptor" and code == 9)
file:close()
-- appending
file = assert(io.open("out", "a"))
file:write("END")
file:close()
file = assert(io.open("out"))
assert(file:read("a"):sub(-5) == "zxEND")
file:close()
-- a full disk
local full = io.open("/dev/full", "w")
if full then
  full:setvbuf("no")
  f, message, code = full:write("x")
  assert(f == nil and message == "No space left on device" and code == 28)
  full:close()
end

-- reading lines and blocks
write("lines", "one\n\nthree\0x\nlast")
file = assert(io.open("lines"))
assert(file:read() == "one" and file:read("L") == "\n" and file:read("l") == "three\0x")
assert(file:read(0) == "" and file:read("L") == "last" and file:read("l") == nil)
file:seek("set")
local a, b, c, d, e = file:read("l", 0, "L", 3, "*a")
assert(a == "one" and b == "" and c == "\n" and d == "thr" and e == "ee\0x\nlast")
a, b, c = file:read("l", "l", "l")
assert(a == nil and b == nil and c == nil and select("#", file:read("l", "l")) == 1)
file:seek("set")
assert(file:read(1000) == "one\n\nthree\0x\nlast" and file:read(1) == nil)
fails("bad argument #1 to 'read' (invalid format)", function() file:read("x") end)
fails("bad argument #2 to 'read' (invalid format)", function()
  file:seek("set") file:read("l", "*x")
end)
file:close()
-- lines longer than any buffer
local long = string.rep("0123456789", 10000)
write("long", long .. "\n" .. long .. "\n")
file = assert(io.open("long"))
assert(file:read("l") == long and file:read("L") == long .. "\n" and file:read("l") == nil)
file:seek("set")
assert(#file:read("a") == 2 * #long + 2)
file:seek("set")
assert(file:read(#long) == long)
file:close()
-- a directory opens, but does not read
file = io.open(".")
if file then
  f, message, code = file:read("a")
  assert(f == nil and message == "Is a directory" and code == 21)
  fails("Is a directory", file:lines())
  file:close()
end

-- numbers
local function numbers(text, ...)
  write("numbers", text)
  local file <close> = assert(io.open("numbers"))
  for i, expected in ipairs({...}) do
    local n = file:read("n")
    assert(math.type(n) == math.type(expected) and n == expected,
           string.format("%s: number %d is %s", text, i, n))
  end
  local rest = file:read("n")
  assert(rest == nil, rest)
  return file:read("a")
end
numbers(" 1 -2 +3 4.5 .5 5. 0x10 -0xA 0xa.8 0x1p4 1e3 1E+2 1e-2",
        1, -2, 3, 4.5, 0.5, 5.0, 16, -10, 10.5, 16.0, 1000.0, 100.0, 0.01)
numbers("99999999999999999999 9223372036854775807 0xffffffffffffffff",
        99999999999999999999.0, math.maxinteger, -1)
assert(numbers("12abc", 12) == "abc")
assert(numbers("1,2", 1) == ",2")
assert(numbers("0x", nil) == "")
assert(numbers("1e+ 7") == " 7")
assert(numbers("- 7") == " 7")
assert(numbers("nan") == "nan")
assert(numbers("\t\n\r 3\n", 3) == "")
assert(numbers(string.rep("1", 200), tonumber(string.rep("1", 200))) == "")
assert(numbers(string.rep("1", 201)) == "1")
assert(numbers("0" .. string.rep("0", 198) .. "7", 7) == "")

-- seek
file = assert(io.open("seek", "w+b"))
file:write("0123456789")
assert(file:seek() == 10 and file:seek("set", 3) == 3 and file:read(1) == "3")
assert(file:seek("cur", -2) == 2 and file:read(1) == "2")
assert(file:seek("end", -1) == 9 and file:read(1) == "9" and file:seek("end") == 10)
f, message, code = file:seek("set", -1)
assert(f == nil and message == "Invalid argument" and code == 22)
fails("bad argument #1 to 'seek' (invalid option 'foo')", function() file:seek("foo") end)
fails("bad argument #2 to 'seek' (number has no integer representation)", function()
  file:seek("set", 1.5)
end)
file:seek("set", 20)
file:write("x")
file:seek("set")
assert(file:read("a") == "0123456789" .. string.rep("\0", 10) .. "x")
file:close()

-- buffering
file = assert(io.open("buffer", "w"))
local other = assert(io.open("buffer"))
assert(file:setvbuf("full", 2000))
file:write("x")
assert(other:read("a") == "")
assert(file:flush())
assert(other:read("a") == "x")
file:setvbuf("no")
file:write("y")
assert(other:read("a") == "y")
assert(file:setvbuf("line"))
file:write("z\n")
assert(other:read("l") == "z")
fails("bad argument #1 to 'setvbuf' (invalid option 'foo')", function() file:setvbuf("foo") end)
fails("bad argument #1 to 'setvbuf' (string expected, got no value)", function() file:setvbuf() end)
file:close() other:close()

-- closing by scope and by the collector
do
  local kept
  do local f <close> = assert(io.open("lines")) kept = f end
  assert(io.type(kept) == "closed file")
end
for i = 1, 200 do assert(io.open("lines")) end
collectgarbage()
