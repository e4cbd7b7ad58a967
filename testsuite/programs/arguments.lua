-- SPDX-License-Identifier: MIT
-- arguments.lua: every function of the standard library with wrong and odd arguments: each
-- of a list of values alone, each pair of them, and some longer lists chosen by a fixed
-- generator. One line each, for comparison with the reference.

-- Left out: what has effects outside, waits, or answers something else in each run; what
-- changes this program; and where Debian's 5.4.4 is not the judge: math.ldexp cuts exponents
-- to 32 bits, math.atan has two names there, math.fmod may look at either argument first, and
-- table.remove names the wrong one.
local left_out = [[
  os.exit os.execute os.remove os.rename os.tmpname os.clock os.time os.date os.setlocale
  io.read io.popen io.lines io.close io.input io.output io.write io.open io.tmpfile
  dofile loadfile print warn collectgarbage math.random math.randomseed coroutine.wrap
  debug.debug debug.sethook debug.setmetatable debug.getregistry debug.upvalueid debug.setlocal
  debug.setupvalue debug.upvaluejoin debug.setuservalue debug.setcstacklimit
  math.ldexp math.atan math.atan2 math.fmod table.remove
]]
local skip = {}
for name in left_out:gmatch "%S+" do skip[name] = true end

local values = { -- name, what makes one
  { "nil", function() return nil end }, { "true", function() return true end },
  { "0", function() return 0 end }, { "-1", function() return -1 end }, { "2", function() return 2 end },
  { "1.5", function() return 1.5 end }, { "3.0", function() return 3.0 end }, { "2^63", function() return 2.0 ^ 63 end },
  { "mininteger", function() return math.mininteger end }, { "maxinteger", function() return math.maxinteger end },
  { "nan", function() return 0 / 0 end }, { "''", function() return "" end }, { "'x'", function() return "x" end },
  { "'10'", function() return "10" end }, { "'0x1p4'", function() return "0x1p4" end },
  { "'%d'", function() return "%d" end }, { "'n'", function() return "n" end }, { "'%'", function() return "%" end },
  { "'[a'", function() return "[a" end }, { "{}", function() return {} end },
  { "{1,2,3}", function() return { 1, 2, 3 } end }, { "function", function() return function(a) return a end end },
  { "math.abs", function() return math.abs end },
  { "coroutine", function() return coroutine.create(function() end) end }, { "stderr", function() return io.stderr end },
  { "raising", function()
    return setmetatable({}, { __name = "MyType", __index = function() error("indexed", 0) end })
  end },
  { "locked", function()
    return setmetatable({}, { __metatable = "locked", __len = function() return "x" end, __tostring = function() return 1 end })
  end },
}

local functions = {}
local libraries = {
  _G = _G, string = string, table = table, math = math, utf8 = utf8,
  coroutine = coroutine, debug = debug, os = os, io = io,
}
for library, members in pairs(libraries) do
  for name, f in pairs(members) do
    local full = library == "_G" and name or library .. "." .. name
    if type(f) == "function" and not skip[full] then functions[#functions + 1] = { full, f } end
  end
end
table.sort(functions, function(a, b) return a[1] < b[1] end)

-- They would take all memory, or years.
local copies_much = { ["string.rep"] = true, ["table.move"] = true, ["table.concat"] = true }

local function shown(value)
  local kind = type(value)
  if kind == "string" then
    if value:find "^\27" then return "<chunk>" end
    return (value:gsub("0x%x+", "ADDRESS"):gsub("%c", function(c) return "\\" .. c:byte() end))
  elseif kind == "number" then return value ~= value and "nan" or tostring(value)
  elseif kind == "nil" or kind == "boolean" then return tostring(value)
  else return "<" .. kind .. ">" end
end

local function call(f, ...)
  local results, texts = table.pack(pcall(f, ...)), {}
  for i = 1, math.min(results.n, 20) do texts[i] = shown(results[i]) end
  return table.concat(texts, ",")
end

local function try(name, f, ...)
  local chosen, arguments, names = { ... }, {}, {}
  for i = 1, #chosen do
    local value = values[chosen[i]]
    arguments[i], names[i] = value[2](), value[1]
    if copies_much[name] and value[1]:find "integer" then return end
  end
  io.write(name, "(", table.concat(names, ","), ") -> ", call(f, table.unpack(arguments, 1, #chosen)), "\n")
end

local seed = 12345
local function any()
  seed = (seed * 1103515245 + 12345) % 2147483648
  return (seed >> 8) % #values + 1
end

for _, entry in ipairs(functions) do
  local name, f = entry[1], entry[2]
  try(name, f)
  for i = 1, #values do
    try(name, f, i)
    for j = 1, #values do try(name, f, i, j) end
  end
  for _ = 1, 100 do
    try(name, f, any(), any(), any())
    try(name, f, any(), any(), any(), any())
  end
end
