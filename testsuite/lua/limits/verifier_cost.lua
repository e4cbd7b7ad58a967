-- SPDX-License-Identifier: MIT
-- The verifier's work is bounded by the size of the chunk: code made to lose one fact at
-- a time is run a few times only, or refused, and what the compiler makes is never.
local chunk = require "_chunk"
local op = chunk.op
local words = 20000

-- Ways back that each lose another register: all of them are seen before the start is run
-- again.
local function many_ways_back()
  local code, n = {op.LOADNIL(0, 254)}, 250
  while #code < words do
    code[#code + 1] = op.TEST(0, 0, 0)
    code[#code + 1] = op.JMP(0)
  end
  local first = #code + 2 * n + 1
  for k = 0, n - 1 do
    code[#code + 1] = op.TEST(0, 0, 0)
    code[#code + 1] = op.JMP(first + 3 * k - (#code + 1))
  end
  code[#code + 1] = op.RETURN0(0)
  for k = 1, n do
    code[#code + 1] = op.NEWTABLE(254 - k)
    code[#code + 1] = 0
    code[#code + 1] = op.LOOP(1 - (#code + 1))
  end
  return {stack = 255, code = code}
end
assert(chunk.load(many_ways_back()))

-- The same, but each is found by going back from the one before.
local function ways_back_in_rounds(words, n)
  local code = {op.LOADNIL(0, 254)}
  while #code < words do
    code[#code + 1] = op.TEST(0, 0, 0)
    code[#code + 1] = op.JMP(0)
  end
  code[#code + 1] = op.JMP(6 * (n - 1))
  for k = n, 1, -1 do
    code[#code + 1] = op.NEWTABLE(254 - k)
    code[#code + 1] = 0
    code[#code + 1] = op.TEST(0, 0, 0)
    code[#code + 1] = op.JMP(1)
    code[#code + 1] = op.LOOP(1 - (#code + 1))
    code[#code + 1] = k == n and op.RETURN0(0) or op.LOOP(-12)
  end
  return {stack = 255, code = code}
end
assert(chunk.load(ways_back_in_rounds(1000, 5)))
chunk.refused(ways_back_in_rounds(words, 250), "too complicated")

-- Nests of loops as deep as the parser takes them
local loops = {
  function(d, body) return ("while x%d() do local a, b = x() %s f(a) end"):format(d, body) end,
  function(d, body)
    return ("repeat local a%d = x() local g = function() return a%d end %s until g(x, a%d)")
      :format(d, d, body, d)
  end,
  function(d, body)
  return ("for i%d = 1, x() do %s x(i%d, function() return i%d end) end"):format(d, body, d, d) end,
  function(d, body) return ("for k%d, v%d in x() do %s x(k%d, {x()}) end"):format(d,
  d, body, d) end,
  function(d, body)
    return ("do ::l%d:: local c%d = x() if x then goto l%d end %s if c%d then goto l%d end end")
      :format(d, d, d, body, d, d)
  end,
  function(d, body)
    return ("while true do if x then break end do local z <close> = x() %s end x(1, 2, 3) end")
      :format(body)
  end,
}
for first = 1, #loops do
  for step = 0, 1 do
    local depth, body, f = 0, "x()", load "x()"
    repeat
      local deeper = loops[(first + step * depth - 1) % #loops + 1](depth, body)
      local g = load(deeper)
      if g then depth, body, f = depth + 1, deeper, g end
    until not g or depth == 190
    assert(depth > 15 and load(string.dump(f)))
  end
end
