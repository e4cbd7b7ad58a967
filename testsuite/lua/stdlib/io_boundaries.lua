-- SPDX-License-Identifier: MIT
-- Lines, all, and counts of characters, where what is read ends at, before and behind the
-- ends of the buffers that it passes through, compared with what string functions find.
local path = os.tmpname()

local function with_file(contents, f)
  local file = assert(io.open(path, "wb"))
  assert(file:write(contents))
  assert(file:close())
  file = assert(io.open(path, "rb"))
  f(file)
  file:close()
end

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local sizes = {0, 1, 40, 41, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 20000, 100000}
for _, size in ipairs(slow and {0, 41, 1024, 4096, 4097, 9000} or sizes) do
  for _, tail in ipairs {"", "\n", "\nx", "\n\n", "\0\nab\0\n"} do
    local contents = ("a"):rep(size) .. tail
    local lines = {}
    for line in (contents:gsub("[^\n]$", "%0\n")):gmatch "([^\n]*)\n" do
      lines[#lines + 1] = line
    end

    with_file(contents, function(file)
      local n = 0
      for line in file:lines() do n = n + 1 assert(line == lines[n]) end
      assert(n == #lines)
    end)
    with_file(contents, function(file)
      local all = {}
      for line in file:lines "L" do all[#all + 1] = line end
      assert(table.concat(all) == contents)
    end)
    with_file(contents, function(file)
      assert(file:read "a" == contents and file:read "a" == "" and file:read "l" == nil)
    end)
    with_file(contents, function(file)
      assert(file:read(3) == (contents ~= "" and contents:sub(1, 3) or nil))
      assert(file:read "a" == contents:sub(4))
    end)
    for _, count in ipairs {1, 1000, 4096, 70000} do
      if count > 1 or size < 5000 then
        with_file(contents, function(file)
          local all = {}
          for piece in file:lines(count) do all[#all + 1] = piece assert(#piece <= count) end
          assert(table.concat(all) == contents)
        end)
      end
    end
  end
end

-- A file that grows while it is read.
with_file(("a"):rep(5000), function(file)
  local other = assert(io.open(path, "ab"))
  assert(#file:read(10) == 10)
  other:write(("b"):rep(5000))
  other:close()
  assert(file:read "a" == ("a"):rep(4990) .. ("b"):rep(5000))
end)

-- Reads and writes of one file in turn.
do
  local file = assert(io.open(path, "w+"))
  file:write("hello\nworld\n")
  file:seek("set", 2)
  assert(file:read() == "llo")
  file:seek("cur", 0)
  file:write("XY")
  file:seek("set")
  assert(file:read "a" == "hello\nXYrld\n")
  file:close()
end

-- What stands before a wrong argument is written; numbers as "%d" and "%.14g" have them.
do
  local file = assert(io.open(path, "w"))
  assert(not pcall(file.write, file, "a", 12, {}, "b"))
  file:write(1, " ", 1.0, " ", 1.5, " ", 1e15, " ", -0.0, " ", 2^53, ("x"):rep(600), "\n")
  file:close()
  file = assert(io.open(path))
  assert(file:read "a" == "a121 1 1.5 1e+15 -0 9.007199254741e+15" .. ("x"):rep(600) .. "\n")
  file:close()
end

os.remove(path)
