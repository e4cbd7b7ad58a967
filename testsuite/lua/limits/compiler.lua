-- SPDX-License-Identifier: MIT
-- Limits of the compiler are errors with a message, and what is below them works.

local function refused(source, expected)
  local f, message = load(source, "=c")
  assert(not f, "accepted: " .. source:sub(1, 60))
  assert(message:find(expected, 1, true), message)
end

local function list(n, prefix, separator)
  local names = {}
  for i = 1, n do names[i] = prefix .. i end
  return table.concat(names, separator or ", ")
end

-- Local variables: 200 in a function
assert(load("local " .. list(200, "a") .. "; a200 = 7; return a200")() == 7)
refused("local " .. list(201, "a"), "too many local variables (limit is 200) in main function near")
refused("\nlocal function f()\nlocal " .. list(201, "a") .. " end", "in function at line 2")

-- Upvalues: 255 in a function
do
  local function nested(n)
    local source = {}
    local perblock = 150
    for i = 1, n do
      if (i - 1) % perblock == 0 then source[#source + 1] = "return (function()" end
      source[#source + 1] = ("local u%d = %d"):format(i, i)
    end
    source[#source + 1] = "return function() return " .. list(n, "u", " + ") .. " end"
    for _ = 1, (n - 1) // perblock + 1 do source[#source + 1] = "end)()" end
    return table.concat(source, "\n")
  end
  assert(load(nested(240))()() == 240 * 241 // 2)
  refused(nested(256), "too many upvalues (limit is 255)")
end

-- Registers: long argument lists and concatenations
assert(load("return select('#', " .. list(240, "") .. ")")() == 240)
refused("return f(" .. list(260, "") .. ")", "function or expression needs too many registers")
assert(not load("return " .. list(300, "x", " .. "))) -- right associative: nesting or registers

-- Constants and jumps: far more than what fits short operands
do
  local source = { "local t = {}" }
  for i = 1, 70000 do source[#source + 1] = ("t[%d] = 'k%d'"):format(i, i) end
  source[#source + 1] = "return t"
  local t = load(table.concat(source, "\n"))()
  assert(t[1] == "k1" and t[300] == "k300" and t[70000] == "k70000")
  local floats = {}
  for i = 1, 400 do floats[i] = i .. ".5" end
  local sum = load("local s = 0 for _, v in ipairs {" .. table.concat(floats, ",") ..
    "} do s = s + v end return s")()
  assert(sum == 400 * 401 / 2 + 200)
  local body = ("x = x + 1\n"):rep(40000)
  assert(load("local x = 0 for i = 1, 2 do\n" .. body .. "end return x")() == 80000)
  assert(load("local x = 0 if false then\n" .. body .. "else x = 5 end return x")() == 5)
  local branches = { "local n = ..." }
  for i = 1, 1000 do
    branches[#branches + 1] = ("%s n == %d then return 'v%d'"):format(i == 1 and "if" or
      "elseif", i, i)
  end
  branches[#branches + 1] = "end"
  local choose = load(table.concat(branches, "\n"))
  assert(choose(1) == "v1" and choose(1000) == "v1000" and choose(1001) == nil)
end

-- Nesting: reasonable depths compile, absurd ones are an error, not a crash
for _, pair in ipairs { { "(", ")" }, { "{", "}" }, { "do ", " end " },
  { "while nil do ", " end " },
    { "function f() ", " end " }, { "- ", "" }, { "not ", "" }, { "x = {{", "}}" } } do
  local open, close = pair[1], pair[2]
  local expression = not (open:find("do") or open:find("function") or open:find("x ="))
  local inner = expression and "1" or ""
  local start = expression and "return " or ""
  if not open:find("x =") then
    assert(load(start .. open:rep(150) .. inner .. close:rep(150)), open)
    local f, message = load(start .. open:rep(100000) .. inner .. close:rep(100000))
    assert(not f and (message:find("overflow", 1, true) or message:find("limit", 1, true)), open ..
      tostring(message))
  end
end
do
  local chain = ("a.b"):rep(1) .. (".c"):rep(50000)
  assert(load("return " .. chain)) -- a chain of fields is no nesting
  assert(load("return " .. ("1 + "):rep(50000) .. "1")() == 50001)
  local f = load("return " .. ("2 ^ "):rep(100000) .. "1")
  assert(not f) -- right associative: nesting
  assert(load("return " .. ("'a' .. "):rep(100) .. "'b'")() == ("a"):rep(100) .. "b")
end

-- Long strings, names and lines
do
  local name = ("n"):rep(10000)
  assert(load("local " .. name .. " = 5 return " .. name)() == 5)
  local text = ("t"):rep(100000)
  assert(load("return '" .. text .. "'")() == text)
  assert(#load("return [[" .. ("line\n"):rep(20000) .. "]]")() == 100000)
  local _, message = load(("\n"):rep(100000) .. "x = = 1", "=c")
  assert(message:find("^c:100001:"), message)
end
