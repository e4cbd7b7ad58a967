-- SPDX-License-Identifier: MIT
-- Files: reading in all formats, writing, lines; the standard streams.
local api = ...
local family, pattern, code = api.family, api.pattern, api.code

-- A file of so many copies of a text, open to be read and written.
local function file_of(text, copies)
  return function()
    local file = io.tmpfile()
    file:write(text:rep(copies))
    return file
  end
end

-- reading(NAME, TIMES, TEXT, COPIES, BODY): the body is given the file, at its beginning
local function reading(name, times, text, copies, body)
  pattern(name, times, function(n, file)
    for _ = 1, n do file:seek("set") body(file) end
    file:close()
  end, file_of(text, copies))
end

family "reading"

reading("lines_short", 30, "a short line of text\n", 10000, function(f) local c = 0 for l in f:lines() do c = c + 1 end assert(c == 10000) end)
reading("lines_empty", 40, "\n", 10000, function(f) local c = 0 for l in f:lines() do c = c + 1 end assert(c == 10000) end)
reading("lines_long", 25, ("x"):rep(5000) .. "\n", 200, function(f) local c = 0 for l in f:lines() do c = c + 1 end assert(c == 200) end)
reading("lines_very_long", 15, ("x"):rep(300000) .. "\n", 5, function(f) local c = 0 for l in f:lines() do c = c + 1 end assert(c == 5) end)
reading("lines_with_newline", 25, "a short line of text\n", 10000, function(f) local c = 0 for l in f:lines("L") do c = c + 1 end assert(c == 10000) end)
reading("line_by_read", 20, "a short line of text\n", 10000, function(f) local c = 0 while f:read("l") do c = c + 1 end assert(c == 10000) end)
reading("all_small", 20000, "a short text\n", 1, function(f) assert(#f:read("a") == 13) end)
reading("all_50_KB", 2500, ("x"):rep(1000), 50, function(f) assert(#f:read("a") == 50000) end)
reading("all_3_MB", 10, ("x"):rep(1000), 3000, function(f) assert(#f:read("a") == 3000000) end)
reading("number", 60, "12345\n", 5000, function(f) local s = 0 for k in f:lines("n") do s = s + k end assert(s == 12345 * 5000) end)
reading("number_float", 30, "12345.678 ", 5000, function(f) local c = 0 while f:read("n") do c = c + 1 end assert(c == 5000) end)
reading("two_numbers", 75, "12 34\n", 3000, function(f) local c = 0 for a, b in f:lines("n", "n") do c = c + 1 end assert(c == 3000) end)
reading("block_1", 14, "abcd", 5000, function(f) local c = 0 while f:read(1) do c = c + 1 end assert(c == 20000) end)
reading("block_100", 200, ("x"):rep(100), 1000, function(f) local c = 0 while f:read(100) do c = c + 1 end assert(c == 1000) end)
reading("block_4096", 100, ("x"):rep(4096), 200, function(f) local c = 0 while f:read(4096) do c = c + 1 end assert(c == 200) end)
reading("block_1_MB", 100, ("x"):rep(1000), 1000, function(f) assert(#f:read(1000000) == 1000000) end)
reading("block_0", 65000, "x", 1, function(f) assert(f:read(0) == "") end)
reading("line_and_number", 65, "12 items\n", 3000, function(f) local c = 0 while true do local k, l = f:read("n", "l") if not k then break end c = c + 1 end assert(c == 3000) end)
reading("end_of_file", 20000, "", 1, function(f) assert(f:read("l") == nil) end)
reading("seek_and_read", 13, "0123456789", 1000, function(f) for i = 1, 5000 do f:seek("set", i * 7 % 9000) assert(#f:read(10) == 10) end end)
reading("parse_csv", 40, "name,12,13.5,some text\n", 1500, function(f) local c = 0 for l in f:lines() do for field in l:gmatch("[^,]+") do c = c + 1 end end assert(c == 6000) end)
reading("count_words", 50, "the quick brown fox jumps over the lazy dog\n", 500, function(f)
  local count = {} for l in f:lines() do for w in l:gmatch("%a+") do count[w] = (count[w] or 0) + 1 end end assert(count.the == 1000) end)
pattern("io_lines", 30, function(n, name) for _ = 1, n do local c = 0 for l in io.lines(name) do c = c + 1 end assert(c == 10000) end end,
  function() return api.file_with(("a short line of text\n"):rep(10000)) end)
pattern("io_lines_small_file", 4500, function(n, name) for _ = 1, n do local c = 0 for l in io.lines(name) do c = c + 1 end assert(c == 3) end end,
  function() return api.file_with(("a short line of text\n"):rep(3)) end)
pattern("open_and_read_all", 5000, function(n, name) for _ = 1, n do local f = io.open(name) assert(#f:read("a") == 600) f:close() end end,
  function() return api.file_with(("a short text"):rep(50)) end)
pattern("io_input", 100000, function(n, name)
  local old = io.input()
  io.input(name)
  for i = 1, n do
    if i % 1000 == 0 then io.input():seek("set") end
    assert(#io.read() == 20)
  end
  io.input():close()
  io.input(old)
end, function() return api.file_with(("a short line of text\n"):rep(1000)) end)

family "writing"

local function writing(name, times, body)
  pattern(name, times, function(n)
    local file = io.open("/dev/null", "w")
    body(n, file)
    file:close()
  end)
end
writing("short_string", 450000, function(n, f) for _ = 1, n do f:write("hello") end end)
writing("line", 300000, function(n, f) for _ = 1, n do f:write("a short line of text", "\n") end end)
writing("integer", 300000, function(n, f) for i = 1, n do f:write(i) end end)
writing("float", 150000, function(n, f) for i = 1, n do f:write(i + 0.5) end end)
writing("several", 150000, function(n, f) for i = 1, n do f:write("item ", i, ": ", "text", "\n") end end)
writing("ten_values", 55000, function(n, f) for i = 1, n do f:write(i, i, i, i, i, i, i, i, i, i) end end)
writing("long_string", 60000, function(n, f) local s = ("x"):rep(5000) for _ = 1, n do f:write(s) end end)
writing("very_long_string", 40000, function(n, f) local s = ("x"):rep(100000) for _ = 1, n do f:write(s) end end)
writing("formatted", 80000, function(n, f) for i = 1, n do f:write(("%d: %s\n"):format(i, "text")) end end)
writing("chained", 200000, function(n, f) for i = 1, n do f:write("a"):write("b") end end)
writing("flushed", 65000, function(n, f) for _ = 1, n do f:write("hello") f:flush() end end)
writing("unbuffered", 80000, function(n, f) f:setvbuf("no") for _ = 1, n do f:write("hello") end end)
writing("line_buffered", 70000, function(n, f) f:setvbuf("line") for _ = 1, n do f:write("hello\n") end end)
writing("large_buffer", 400000, function(n, f) f:setvbuf("full", 65536) for _ = 1, n do f:write("hello\n") end end)
writing("through_method_local", 450000, function(n, f) local write = f.write for _ = 1, n do write(f, "hello") end end)
pattern("io_write", 600000, function(n) for _ = 1, n do io.write("hello\n") end end)
pattern("io_write_integers", 300000, function(n) for i = 1, n do io.write(i, "\n") end end)
pattern("io_stdout_write", 400000, function(n) for _ = 1, n do io.stdout:write("hello\n") end end)
pattern("io_output_to_null", 600000, function(n)
  local old = io.output()
  io.output("/dev/null")
  for _ = 1, n do io.write("hello\n") end
  io.output():close()
  io.output(old)
end)
pattern("open_and_close", 5000, function(n) for _ = 1, n do io.open("/dev/null", "w"):close() end end)
pattern("open_fails", 15000, function(n) for _ = 1, n do assert(io.open("/nowhere/at/all") == nil) end end)
pattern("write_and_read_back", 15000, function(n)
  for _ = 1, n // 50 + 1 do
    local f = io.tmpfile()
    for i = 1, 200 do f:write(i, "\n") end
    f:seek("set")
    local s = 0
    for k in f:lines("n") do s = s + k end
    assert(s == 20100)
    f:close()
  end
end)
pattern("io_type", 600000, function(n) local f, r = io.stdout for _ = 1, n do r = io.type(f) end assert(r == "file") end)
pattern("tostring_of_file", 150000, function(n) local f, r = io.stdout for _ = 1, n do r = tostring(f) end assert(#r > 4) end)
pattern("seek", 95000, function(n) local f = io.tmpfile() for _ = 1, n do f:seek("cur") end f:close() end)
pattern("popen", 300, function(n) for _ = 1, n do local f = io.popen("exit 0") f:read("a") f:close() end end)
