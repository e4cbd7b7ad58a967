-- SPDX-License-Identifier: MIT
-- Default files, io.lines and file:lines, pipes.

local fails, write = require "_fails", require "_write"

-- default files
assert(io.input() == io.stdin and io.output() == io.stdout)
assert(io.output("out") ~= io.stdout)
assert(io.write("a\n", 2, "\n", 3.5) == io.output())
assert(io.flush())
assert(io.close() == true)
fails("default output file is closed", io.write, "x")
fails("attempt to use a closed file", io.close)
assert(io.output(io.stdout) == io.stdout)
local file = io.input("out")
assert(io.read() == "a" and io.read("n", "l", "n") == 2)
assert(io.read("a") == "" and io.read() == nil)
assert(io.close(file))
fails("default input file is closed", io.read)
fails("attempt to use a closed file", io.lines)
io.input(io.stdin)
fails("cannot open file 'none' (No such file or directory)", io.input, "none")
fails("cannot open file 'no/dir' (No such file or directory)", io.output, "no/dir")
fails("FILE* expected, got table", io.input, {})
fails("bad argument #1 to 'read' (invalid format)", function() io.read("x") end)
fails("bad argument #1 to 'write' (string expected, got function)", function() io.write(print) end)

-- io.lines with a name: four values, closed at the end
write("lines", "one\ntwo\n\nfour")
local iterator, state, control, closing = io.lines("lines")
assert(type(iterator) == "function" and state == nil and control == nil and
  io.type(closing) == "file")
local seen = {}
for line in iterator do seen[#seen + 1] = line end
assert(table.concat(seen, "|") == "one|two||four" and io.type(closing) == "closed file")
fails("file is already closed", iterator)
-- closed also when the loop is left
local kept
for line in io.lines("lines") do
  kept = line
  break
end
assert(kept == "one")
pcall(function()
  local it, s, c, f = io.lines("lines")
  kept = f
  for line in it, s, c, f do error("out") end
end)
assert(io.type(kept) == "closed file")
-- formats
seen = {}
for a, b in io.lines("lines", 1, "L") do seen[#seen + 1] = a .. "/" .. tostring(b) end
assert(table.concat(seen, "|") == "o/ne\n|t/wo\n|\n/four" or table.concat(seen, "|"))
for all in io.lines("lines", "a") do assert(all == "one\ntwo\n\nfour") break end
write("pairs", "1 2\n3 4\n")
local sum = 0
for a, b in io.lines("pairs", "n", "n") do sum = sum + a * b end
assert(sum == 14)
fails("cannot open file 'none' (No such file or directory)", io.lines, "none")
fails("bad argument #1 to 'lines' (string expected, got function)", function() io.lines(print) end)
fails("invalid format", io.lines("lines", "x"))
fails("too many arguments", io.lines, "lines", table.unpack({}, 1, 251))
assert(io.lines("lines", table.unpack({}, 1, 250)))

-- file:lines leaves the file open
file = assert(io.open("lines"))
for line in file:lines() do end
assert(io.type(file) == "file" and file:read() == nil)
file:seek("set")
for line in file:lines("L") do assert(line == "one\n") break end
assert(file:read() == "two")
local it = file:lines()
file:close()
fails("file is already closed", it)

-- io.lines without a name: the default input, which stays open
io.input("lines")
seen = {}
for line in io.lines() do seen[#seen + 1] = line end
assert(#seen == 4 and io.type(io.input()) == "file" and io.read() == nil)
io.input():seek("set")
for line in io.lines(nil, "L") do assert(line == "one\n") break end
io.close(io.input())
io.input(io.stdin)
assert(select("#", io.lines()) == 1)

-- pipes
local pipe = assert(io.popen("echo out; echo more; exit 3"))
assert(pipe:read() == "out" and pipe:read("a") == "more\n")
local ok, how, code = pipe:close()
assert(ok == nil and how == "exit" and code == 3)
ok, how, code = io.popen("kill -9 $$"):close()
assert(ok == nil and how == "signal" and code == 9)
ok, how, code = io.popen("true"):close()
assert(ok == true and how == "exit" and code == 0)
pipe = assert(io.popen("cat > piped", "w"))
assert(pipe:write("through a pipe"))
assert(pipe:close())
for line in io.lines("piped") do assert(line == "through a pipe") end
fails("bad argument #2 to 'popen' (invalid mode)", function() io.popen("x", "rw") end)
-- what was written before comes first
file = assert(io.open("order", "w"))
file:write("first\n")
io.popen("echo second >> order"):close()
file:close()
assert(io.open("order"):read("a") == "first\nsecond\n")

-- print goes to the C stream, not to the default output
io.output("elsewhere")
io.write("")
io.close()
io.output(io.stdout)
