-- SPDX-License-Identifier: MIT
-- goto and labels (what is refused: syntax_errors.lua).

do -- forward, backward, nested
  local visited = {}
  local i = 1
  ::top::
  visited[#visited + 1] = i
  i = i + 1
  if i <= 3 then goto top end
  goto done
  visited[#visited + 1] = "never"
  ::done::
  assert(table.concat(visited, ",") == "1,2,3")

  for a = 1, 3 do
    for b = 1, 3 do
      if a * b == 4 then goto found end
    end
  end
  error("not reached")
  ::found::
end

do -- continue in every loop
  local odd = {}
  for i = 1, 6 do
    if i % 2 == 0 then goto continue end
    odd[#odd + 1] = i
    ::continue::
  end
  assert(table.concat(odd, " ") == "1 3 5")
  local i, n = 0, 0
  repeat
    i = i + 1
    if i == 2 then goto continue end
    n = n + 1
    ::continue::
  until i >= 4
  assert(n == 3)
end

do -- a label at the end of a block is outside the scope of its locals
  local function f(x)
    if x then goto last end
    local y = 5
    do return y end
    ::last::
  end
  assert(f(false) == 5 and f(true) == nil)
  do
    goto skip
    local hidden = 1
    ::skip:: ;;
  end
end

do -- jumping backwards leaves the scope: each round has variables of its own
  local fs = {}
  do
    local n = 0
    ::again::
    local x = n
    fs[#fs + 1] = function() x = x + 1 return x end
    n = n + 1
    if n < 3 then goto again end
  end
  assert(fs[1]() == 1 and fs[1]() == 2 and fs[2]() == 2 and fs[3]() == 3)
end

do -- same names in different functions and in blocks that do not enclose each other
  do goto a; ::a:: end
  do goto a; ::a:: end
  local function f() goto a; ::a:: return 1 end
  assert(f() == 1)
end

do -- a state machine
  local function accepts(s)
    local i = 0
    local c
    ::even:: i = i + 1 c = s:sub(i, i)
    if c == "a" then goto odd elseif c == "" then return true else return false end
    ::odd:: i = i + 1 c = s:sub(i, i)
    if c == "a" then goto even else return false end
  end
  assert(accepts "" and accepts "aa" and not accepts "a" and not accepts "aab" and accepts "aaaa")
end

assert(load("local goto1 = 1; return goto1")() == 1)
