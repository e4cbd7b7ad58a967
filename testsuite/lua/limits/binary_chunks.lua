-- SPDX-License-Identifier: MIT
-- Binary chunks: what was dumped loads; what was cut or changed is refused, or at
-- worst runs: never does it crash.

local sources = {
  [[local a, b = ...
    local t = {}
    for i = 1, 10 do t[i] = i * 2 end
    for k, v in next, t do b = k end
    do local x <close> = nil; t.f = function() a = a; return a end end
    return a, b, t, ...]],
  [[local x = 1
    local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end
    local y = f(5)
    return {f(1), f(2), x, y, select('#', ...)}]],
  [[local t = {}
    for i = 1.0, 3.5, 0.25 do local j = i; t[#t + 1] = function() j = j + 1; return j end end
    return t[1](), t[2]()]],
  [[goto a
    do ::b:: return 1 end
    ::a::
    local s = "x" .. 1 .. "y"
    local u = s:upper()
    while #u < 10 do u = u .. u if #u > 5 then break end end
    return u, ...]],
}

local dumps = {}
for i, source in ipairs(sources) do
  local f = assert(load(source, "=s" .. i))
  for _, strip in ipairs {false, true} do
    local dump = string.dump(f, strip)
    dumps[#dumps + 1] = dump
    local again = assert(load(dump, "=d", "b"))
    assert(string.dump(again, strip) == dump)
    assert(select("#", again(1, 2)) == select("#", f(1, 2)))
  end
end

-- Only names are lost by stripping
do
  local source = "local name = nil; return name.field"
  local _, message = pcall(load(string.dump(load(source, "=s"))))
  assert(message == "s:1: attempt to index a nil value (local 'name')", message)
  _, message = pcall(load(string.dump(load(source, "=s"), true)))
  assert(message == "?:-1: attempt to index a nil value", message)
end

-- Cut anywhere
for length = 1, #dumps[1] - 1 do
  local f, message = load(dumps[1]:sub(1, length), "=d", "b")
  assert(not f and message:find("truncated", 1, true), message)
end

-- A header of another implementation, version or build
local function changed(dump, position, byte)
  return dump:sub(1, position - 1) .. string.char(byte) .. dump:sub(position + 1)
end
for position = 2, 34 do
  local dump = dumps[1]
  local f, message = load(changed(dump, position, dump:byte(position) ~ 1), "=d", "b")
  assert(not f and message:find("d: bad binary format (", 1, true), message)
end
assert(not load(dumps[1], "=d", "t"))
assert(select(2, load("\27Lua", "@file")):find("^file: bad binary format %(truncated chunk%)"))
assert(select(2, load("\27Lua", "\27Lua")):find("^binary string: "))

-- Changed at random: refused or harmless
local random, refused = math.random, 0
math.randomseed(tonumber(os.getenv "SEED") or 54)
local environment = {next = next, select = select}
local function run(f)
  local co = coroutine.create(f)
  debug.sethook(co, function() error "long enough" end, "", 5000)
  coroutine.resume(co, 1, 2, 3)
end
for round = 1, 3000 do
  local dump = dumps[random(#dumps)]
  for _ = 1, random(3) do
    local position = random(40, #dump)
    local byte = dump:byte(position)
    local choices = {random(0, 255), byte ~ (1 << random(0, 7)), (byte + 1) & 255,
      (byte - 1) & 255, random(0, 10)}
    dump = changed(dump, position, choices[random(#choices)])
  end
  local f, message = load(dump, "=d", "b", environment)
  if f then
    run(f)
  else
    refused = refused + 1
    assert(message:find("d: bad binary format (", 1, true), message)
  end
  if round % 100 == 0 then collectgarbage() end
end
assert(refused > 0 and refused < 3000)

-- A jump backwards is a LOOP, which has a safe point: no chunk gets by without (JMP is
-- the instruction before it in the table).
do
  local chunk = string.dump(load "while true do end")
  -- jumps to itself: the word is its opcode and -1
  local at = assert(chunk:find("\xff\xff\xff", 1, true))
  local patched = chunk:sub(1, at - 2) .. string.char(chunk:byte(at - 1) - 1) .. chunk:sub(at)
  assert(load(chunk, "loop", "b"))
  local f, message = load(patched, "jump", "b")
  assert(not f and message:find("loop without safe point", 1, true), message)
end
