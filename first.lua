function round(n)
  local k = n
  while k > 0 do
    local x = k * 3 + 1; x = x ~ 5; x = x & 255; x = x * x; x = x % 17; x = x // 2; x = x | 9; x = x - k
    k = k - 1
  end
end
