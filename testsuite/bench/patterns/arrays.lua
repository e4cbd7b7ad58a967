-- SPDX-License-Identifier: MIT
-- Queues and arrays: integer keys from 1, or a window of them that moves.
local api = ...
local family, pattern, generator = api.family, api.pattern, api.generator

family "queues"

local function fifo(backlog, n)
  return function()
    local q, head, tail = {}, 1, 1
    for i = 1, backlog do q[tail] = i; tail = tail + 1 end
    for i = 1, n do
      q[tail] = i; tail = tail + 1
      q[head] = nil; head = head + 1
    end
    assert(tail - head == backlog and q[head - 1] == nil and (backlog == 0 or q[tail - 1] == n))
  end
end
for _, backlog in ipairs {0, 1, 3, 10, 60, 100, 500, 1000, 1024, 1100, 10000, 100000} do
  pattern("fifo_" .. backlog, fifo(backlog, 600000))
end

pattern("fifo_growing_slowly", function()
  local q, head, tail = {}, 1, 1
  for i = 1, 400000 do
    q[tail] = i; tail = tail + 1
    if i % 8 ~= 0 then q[head] = nil; head = head + 1 end
  end
  assert(tail - head == 50000)
end)

pattern("fifo_two_in_one_out", function()
  local q, head, tail = {}, 1, 1
  for i = 1, 300000 do
    q[tail] = i; q[tail + 1] = i; tail = tail + 2
    q[head] = nil; head = head + 1
  end
  assert(tail - head == 300000)
end)

pattern("fifo_in_bursts", function()
  local q, head, tail = {}, 1, 1
  for round = 1, 400 do
    for i = 1, round % 7 * 200 do q[tail] = i; tail = tail + 1 end
    while head < tail do q[head] = nil; head = head + 1 end
  end
  assert(next(q) == nil)
end)

pattern("fifo_of_tables", function()
  local q, head, tail = {}, 1, 1
  for i = 1, 300000 do
    q[tail] = {i}; tail = tail + 1
    if tail - head > 500 then
      assert(q[head][1] == head)
      q[head] = nil; head = head + 1
    end
  end
end)

pattern("fifo_by_fields", function()
  local q = {first = 0, last = -1}
  for i = 1, 400000 do
    local last = q.last + 1
    q.last = last
    q[last] = i
    if i > 200 then
      local first = q.first
      q[first] = nil
      q.first = first + 1
    end
  end
  assert(q.last - q.first == 199)
end)

local function deque(size, n)
  return function()
    local random, q, first, last = generator(1), {}, 0, -1
    for i = 1, n do
      local r = random() & 3
      if last - first < size and r < 2 or first > last then
        if r & 1 == 0 then first = first - 1; q[first] = i else last = last + 1; q[last] = i end
      elseif r & 1 == 0 then q[first] = nil; first = first + 1
      else q[last] = nil; last = last - 1 end
    end
  end
end
pattern("deque_small", deque(16, 300000))
pattern("deque_1000", deque(1000, 300000))

pattern("deque_backwards", function()
  local q, first, last = {}, 0, -1
  for i = 1, 400000 do
    first = first - 1; q[first] = i
    if i > 1000 then q[last] = nil; last = last - 1 end
  end
end)

local function window(size, n, from)
  return function()
    local w, sum = {}, 0
    for i = from, from + n do
      w[i] = i; sum = sum + i
      local old = w[i - size]
      if old then sum = sum - old; w[i - size] = nil end
    end
    assert(sum == size * (from + n) - size * (size - 1) // 2)
  end
end
pattern("window_50", window(50, 300000, 1))
pattern("window_500", window(500, 300000, 1))
pattern("window_5000", window(5000, 300000, 1))
pattern("window_far_from_1", window(1000, 300000, 1000000007))
pattern("window_over_0", window(1000, 300000, -150000))

pattern("ring_buffer", function()
  local ring = {}
  for i = 1, 3000000 do ring[i % 1000] = i end
end)

pattern("circular_buffer_of_2", function()
  local pair = {}
  for i = 1, 3000000 do pair[i & 1] = i end
end)

pattern("table_remove_first_of_20", function()
  local q = {}
  for i = 1, 20 do q[i] = i end
  for i = 1, 100000 do q[#q + 1] = table.remove(q, 1) end
end)

pattern("stack", function()
  local s = {}
  for i = 1, 300 do
    for j = 1, 1000 do s[#s + 1] = j end
    for j = 1, 1000 do s[#s] = nil end
  end
end)

family "arrays"

for _, n in ipairs {3, 10, 100, 1000, 100000} do
  pattern("filled_backwards_" .. n, function()
    for _ = 1, 500000 // n do
      local a = {}
      for i = n, 1, -1 do a[i] = i end
    end
  end)
  pattern("filled_forwards_" .. n, function()
    for _ = 1, 1000000 // n do
      local a = {}
      for i = 1, n do a[i] = i end
    end
  end)
end

pattern("filled_at_random", function(order)
  for _ = 1, 5 do
    local a = {}
    for i = 1, #order do a[order[i]] = i end
    assert(#a == #order)
  end
end, function()
  local order, random = {}, generator(3)
  for i = 1, 50000 do order[i] = i end
  for i = #order, 2, -1 do local j = random() % i + 1; order[i], order[j] = order[j], order[i] end
  return order
end)

pattern("filled_from_0", function()
  for _ = 1, 40 do
    local a = {}
    for i = 0, 50000 do a[i] = i end
  end
end)

pattern("every_second", function()
  for _ = 1, 10 do
    local a = {}
    for i = 1, 60000, 2 do a[i] = i end
  end
end)

pattern("append_and_cut", function()
  local a = {}
  for _ = 1, 50 do
    for i = 1, 5000 do a[#a + 1] = i end
    for i = #a, 2500, -1 do a[i] = nil end
    for i = 1, 2499 do a[i] = nil end
  end
end)

pattern("three_items_one_by_one", function()
  for i = 1, 200000 do
    local t = {}
    t[1] = i; t[2] = i; t[3] = i
  end
end)

