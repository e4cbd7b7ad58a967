local t = { x = 1, y = 2 }
function round(n)
  for i = 1, n do
    t.x = t.y
    t.y = i
    t.x = t.x + t.y; t.y = t.x - t.y; t.x = t.x & 1023; t.y = t.y | 1; t.x = t.x * 3; t.y = t.y // 7; t.x = t.x - t.y
    local z = t.x
  end
end
