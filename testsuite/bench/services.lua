-- SPDX-License-Identifier: MIT
-- Forty shapes of services: what each keeps, replaces and drops is what programs that run
-- for weeks do. services.sh runs them in turn under saros and lua5.4 and compares memory
-- and time.
--
--   services.lua NAME     runs one and prints its figures
--   services.lua          lists the names
--
-- THE LIST IS FROZEN: shapes, sizes and numbers of rounds stay as they are, so that figures
-- of different builds can be compared. A new shape goes into a list of its own. The file is
-- as long as the list.
--
-- A shape makes its state once and then does rounds of the same work, so that memory after
-- the first rounds should not grow. It returns the function of a round, and what is still
-- alive when everything else is dropped. One line of results, in bytes above the start
-- (resident memory before the shape was made):
--
--   peak      greatest resident memory (VmHWM)
--   after     resident memory when all but the live set has been dropped and collected
--   count     what collectgarbage("count") says is alive then
--   dropped   resident memory when everything has been dropped and collected
--   early, late   least and greatest resident memory at the ends of rounds, in the second
--             and in the last third of the rounds
--   cpu       seconds of CPU time for making the state and all rounds
--
-- Plain Lua 5.4; reads /proc (Linux).

local clock, floor, char = os.clock, math.floor, string.char

-- A generator of our own: the same steps everywhere.
local seed = 1
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local shapes, order = {}, {}

-- shape(NAME, ROUNDS, MAKE)
local function shape(name, rounds, make)
  order[#order + 1] = name
  shapes[name] = { rounds = rounds, make = make }
end

---- large things that come and go -----------------------------------------------------

shape("array_rounds", 60, function()
  local sums = {}
  return function(round)
    for _ = 1, 20 do
      local t = {}
      for i = 1, 100000 do t[i] = i end
      sums[round % 10 + 1] = #t
    end
  end, sums
end)

shape("arrays_twenty", 60, function()
  local last = {}
  return function(round)
    local arrays = {}
    for k = 1, 20 do
      local t = {}
      for i = 1, 50000 do t[i] = k end
      arrays[k] = t
    end
    last[1] = #arrays
  end, last
end)

shape("integer_keys", 45, function()
  local last = {}
  return function(round)
    for _ = 1, 3 do
      local t = {}
      for i = 1, 200000 do t[i * 16] = i end
      last[1] = t[16]
    end
  end, last
end)

shape("strings_append", 60, function()
  local piece, last = ("x"):rep(250000), {}
  return function(round)
    for _ = 1, 4 do
      local s = ""
      for i = 1, 12 + round % 13 do s = s .. piece .. i end
      last[1] = s
    end
  end, last
end)

shape("strings_rep_format", 60, function()
  local last = {}
  return function(round)
    for i = 1, 10 do
      local s = ("abcdefgh"):rep(125000 + (round + i) % 12 * 125000)
      last[i % 4 + 1] = ("<%s>"):format(s)
    end
  end, last
end)

shape("strings_gsub_concat", 80, function()
  local text, pieces, last = ("name=value; "):rep(100000), {}, {}
  for i = 1, 4000 do pieces[i] = ("p%d"):format(i):rep(100 + i % 400) end
  return function(round)
    last[1] = text:gsub("=", ": ")
    for i = 1, 8 do
      last[i % 3 + 2] = table.concat(pieces, ",", 1, 1000 + (round * 8 + i) % 3000)
    end
  end, last
end)

shape("file_read_all", 50, function()
  local path, last = os.tmpname(), {}
  local file = assert(io.open(path, "w"))
  for i = 1, 18 do file:write(("%d "):format(i):rep(350000)) end
  file:close()
  return function(round)
    for _ = 1, 3 do
      local f = assert(io.open(path))
      last[1] = #f:read("a")
      f:close()
    end
    if round == 50 then os.remove(path) end
  end, last
end)

-- Small batches, then a few huge ones, then small ones again: what the huge ones took is
-- to be given back. A round is one whole day of them.
shape("phases", 12, function()
  local last = {}
  local function batch(n)
    local rows, index = {}, {}
    for i = 1, n do
      local row = { id = i, name = "row " .. i, { i, i + 1 } }
      rows[i], index[row.name] = row, row
    end
    last[1] = #rows
  end
  return function()
    for _ = 1, 40 do batch(500) end
    batch(60000)
    for _ = 1, 40 do batch(500) end
  end, last
end)

---- the collector's own calls ----------------------------------------------------------

local function churn_with(every, act)
  return function()
    local live, i = {}, 0
    return function()
      for _ = 1, 25000 do
        i = i + 1
        live[i % 20000 + 1] = { i, { i }, tostring(i) }
        if i % every == 0 then act() end
      end
    end, live
  end
end

-- lua5.4 collects everything at each call, so there are few of them.
shape("mode_switch", 50, churn_with(5000, function() collectgarbage("generational") end))
shape("stop_restart", 60, churn_with(500, function()
  collectgarbage("stop")
  collectgarbage("restart")
end))

---- weak tables ------------------------------------------------------------------------

shape("weak_memo", 50, function()
  local memo, ring, i = setmetatable({}, { __mode = "k" }), {}, 0
  return function()
    for _ = 1, 30000 do
      i = i + 1
      local k = { i }
      memo[k] = i
      if i % 10 == 0 then ring[i // 10 % 20000 + 1] = k end
    end
  end, { memo, ring }
end)

shape("weak_values", 50, function()
  local cache, used = setmetatable({}, { __mode = "v" }), {}
  return function()
    for i = 1, 40000 do
      local id = random(60000)
      local page = cache[id]
      if not page then
        page = { id = id, text = "page " .. id }
        cache[id] = page
      end
      used[i % 5000 + 1] = page
    end
  end, used
end)

shape("ephemeron_metadata", 50, function()
  local owner, tags = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })
  local nodes = {}
  return function()
    for _ = 1, 12000 do
      local node, parent = { random(1000) }, nodes[random(20000)]
      owner[node] = { node, parent and owner[parent] and 1 }
      tags[node] = "tag" .. random(500)
      nodes[random(20000)] = node
    end
  end, { nodes, owner, tags }
end)

---- strings and arrays of the sizes between small and large ------------------------------

shape("strings_random", 50, function()
  local held, source = {}, ("0123456789abcdef"):rep(600)
  for i = 1, 50000 do held[i] = source:sub(1, 100 + random(8000)) .. i end
  return function()
    for _ = 1, 12000 do
      local i = random(50000)
      held[i] = source:sub(1, 100 + random(8000)) .. i
    end
  end, held
end)

shape("strings_drift", 60, function()
  local held, source = {}, ("0123456789abcdef"):rep(600)
  for i = 1, 7000 do held[i] = source:sub(1, 200) .. i end
  return function(round)
    -- From 0.2 to 6 KB and back, three times.
    local phase = round % 20
    local size = 200 + (phase < 10 and phase or 20 - phase) * 580
    for _ = 1, 25000 do held[random(7000)] = source:sub(1, size + random(200)) .. round end
  end, held
end)

shape("strings_upload", 60, function()
  local held, source = {}, ("0123456789abcdef"):rep(4200)
  return function(round)
    for i = 1, 3000 do
      held[random(2000)] = source:sub(1, 8000 + random(56000)) .. i .. "/" .. round
    end
  end, held
end)

shape("arrays_mixed", 50, function()
  local held = {}
  local function fresh()
    local t = {}
    for i = 1, random(600) do t[i] = i end
    return t
  end
  for i = 1, 20000 do held[i] = fresh() end
  return function()
    for _ = 1, 5000 do held[random(20000)] = fresh() end
  end, held
end)

shape("templates", 60, function()
  local cache, parts = {}, {}
  for i = 1, 40 do parts[i] = "<p>" .. ("text "):rep(i) .. "</p>" end
  return function(round)
    for _ = 1, 1200 do
      local page, id = {}, random(3000)
      for i = 1, 20 + random(40) do
        page[#page + 1] = parts[random(40)]:gsub("text", "t" .. i % 7, 3)
      end
      cache[id] = table.concat(page, "\n"):sub(1, 2200)
    end
  end, cache
end)

shape("records_mixed", 60, function()
  local held, source = {}, ("lorem ipsum "):rep(200)
  local function fresh(i)
    local kind = random(4)
    if kind == 1 then return { id = i, name = "user " .. i } end
    if kind == 2 then return { id = i, body = source:sub(1, random(2000)) .. i } end
    if kind == 3 then
      local items = {}
      for k = 1, random(30) do items[k] = { k, "item " .. k } end
      return { id = i, items = items }
    end
    return { id = i, at = i * 0.5, a = 1, b = 2, c = 3, d = "x" .. i, e = { i } }
  end
  for i = 1, 30000 do held[i] = fresh(i) end
  return function()
    for i = 1, 4000 do held[random(30000)] = fresh(i) end
  end, held
end)

shape("log_lines", 60, function()
  local kept, n = {}, 0
  return function()
    for _ = 1, 25000 do
      n = n + 1
      local line = ("%08d level=%d module=%s message=%s"):format(n, n % 5, "m" .. n % 17,
        ("word "):rep(n % 40))
      if n % 25 == 0 then kept[n // 25 % 12000 + 1] = line end
    end
  end, kept
end)

---- coroutines and closures ----------------------------------------------------------------

shape("coroutines_suspended", 60, function()
  local threads = {}
  local function session(id)
    local state = { 0, id = id }
    while true do
      local message = coroutine.yield(state)
      if message == "stop" then return end
      state[1] = message
    end
  end
  local function start(i)
    local thread = coroutine.create(session)
    coroutine.resume(thread, i)
    threads[i] = thread
  end
  for i = 1, 100000 do start(i) end
  return function()
    for k = 1, 25000 do
      local i = random(100000)
      if k % 3 == 0 then
        coroutine.resume(threads[i], "stop")
        start(i)
      else
        coroutine.resume(threads[i], k)
      end
    end
  end, threads
end)

shape("generators", 60, function()
  local last = {}
  local function walk(tree)
    if not tree then return end
    walk(tree[1])
    coroutine.yield(tree[3])
    walk(tree[2])
  end
  local function build(low, high)
    if low > high then return nil end
    local middle = (low + high) // 2
    return { build(low, middle - 1), build(middle + 1, high) or false, middle }
  end
  local tree = build(1, 30)
  local function fixed(t) -- false and nil both end a branch
    if not t then return nil end
    return { fixed(t[1]), fixed(t[2]), t[3] }
  end
  tree = fixed(tree)
  return function()
    for i = 1, 4500 do
      local sum = 0
      for value in coroutine.wrap(function() walk({ tree, false, 0 }) end) do sum = sum + value end
      last[i % 100 + 1] = sum
    end
  end, last
end)

shape("event_loop", 60, function()
  local slots, now, handled = {}, 0, { 0 }
  for i = 1, 512 do slots[i] = {} end
  local function after(delay, act)
    local slot = slots[(now + delay) % 512 + 1]
    slot[#slot + 1] = act
  end
  local function connection(id)
    local bytes, buffer = 0, {}
    local function on_data()
      bytes = bytes + random(100)
      buffer[#buffer % 8 + 1] = "data " .. bytes
      handled[1] = handled[1] + 1
      after(random(500), bytes < 600 and on_data or connection(id + 1))
    end
    return on_data
  end
  for i = 1, 20000 do after(random(500), connection(i)) end
  return function()
    for _ = 1, 250 do
      now = now + 1
      local due = slots[now % 512 + 1]
      slots[now % 512 + 1] = {}
      for i = 1, #due do due[i]() end
    end
  end, { slots, handled }
end)

shape("pubsub_rings", 60, function()
  local topics, rings = {}, {}
  for i = 1, 500 do topics[i] = {} end
  for i = 1, 2000 do rings[i] = { at = 0 } end
  local function subscriber(ring)
    return function(message)
      ring.at = ring.at % 32 + 1
      ring[ring.at] = message
    end
  end
  for i = 1, 500 do
    for k = 1, 8 do topics[i][k] = subscriber(rings[random(2000)]) end
  end
  return function(round)
    for i = 1, 11000 do
      local topic = topics[random(500)]
      local message = { topic = topic, text = "message " .. i, round = round }
      for k = 1, #topic do topic[k](message) end
      if i % 10 == 0 then topic[random(8)] = subscriber(rings[random(2000)]) end
    end
  end, { topics, rings }
end)

---- stores ----------------------------------------------------------------------------------

shape("lru_cache", 60, function()
  local map, count = {}, 0
  local head = {}
  head.next, head.previous = head, head
  local function unlink(node) node.previous.next, node.next.previous = node.next, node.previous end
  local function push(node)
    node.next, node.previous = head.next, head
    head.next.previous, head.next = node, node
  end
  local function get(key)
    local node = map[key]
    if node then
      unlink(node)
    else
      node = { key = key, value = "value of " .. key }
      map[key], count = node, count + 1
      if count > 30000 then
        local last = head.previous
        unlink(last)
        map[last.key], count = nil, count - 1
      end
    end
    push(node)
    return node.value
  end
  return function()
    for _ = 1, 10000 do get("key " .. random(random(100000))) end
  end, { map, head }
end)

shape("sessions", 60, function()
  local sessions, expiry, now = {}, {}, 0
  return function()
    for _ = 1, 250 do
      now = now + 1
      for _ = 1, 30 do
        local id = ("%08x%06d"):format(random(2147483647), now)
        local cart = { random(9), random(9) }
        sessions[id] = { user = "u" .. random(5000), data = { last = now, cart = cart } }
        local list = expiry[now + 1000] or {}
        expiry[now + 1000] = list
        list[#list + 1] = id
      end
      for _, id in ipairs(expiry[now] or {}) do sessions[id] = nil end
      expiry[now] = nil
    end
  end, { sessions, expiry }
end)

shape("hash_grow_shrink", 40, function()
  local index = {}
  return function(round)
    for i = 1, 30000 do index["k" .. i .. ":" .. round % 2] = i end
    for i = 1, 30000 do index["k" .. i .. ":" .. (round + 1) % 2] = nil end
  end, index
end)

shape("interned_ids", 60, function()
  local known, names, dictionary = {}, {}, {}
  local function insert(word) -- a trie of its letters
    local node = dictionary
    for i = 1, #word do
      local letter = word:byte(i)
      local below = node[letter]
      if not below then
        below = {}
        node[letter] = below
      end
      node = below
    end
    node[0] = word
  end
  for i = 1, 8000 do insert(("%x"):format(random(2147483647))) end
  return function(round)
    for i = 1, 20000 do
      local id = "id-" .. random(60000) .. "-" .. random(3)
      known[id] = (known[id] or 0) + 1
      names[i] = id
    end
    if round % 10 == 0 then known = {} end
  end, { names, dictionary }
end)

shape("btree", 50, function()
  local n, root = 0, nil
  local function node(leaf) return { keys = {}, [leaf and "values" or "children"] = {} } end
  local function insert(at, key, value)
    local keys, place = at.keys, 1
    while keys[place] and keys[place] < key do place = place + 1 end
    if at.values then
      if keys[place] == key then at.values[place] = value return end
      table.insert(keys, place, key)
      table.insert(at.values, place, value)
      n = n + 1
    else
      local right, split = insert(at.children[place], key, value)
      if not right then return end
      table.insert(keys, place, split)
      table.insert(at.children, place + 1, right)
    end
    if #keys <= 32 then return end
    local right, middle = node(at.values ~= nil), #keys // 2
    local split = keys[middle]
    local first = middle + 1
    table.move(keys, first, #keys, 1, right.keys)
    if at.values then table.move(at.values, first, #keys, 1, right.values)
    else table.move(at.children, first, #keys + 1, 1, right.children) end
    for i = #keys + 1, first + 1, -1 do
      if at.children then at.children[i] = nil end
    end
    for i = #keys, at.values and first or middle, -1 do
      keys[i] = nil
      if at.values then at.values[i] = nil end
    end
    return right, split
  end
  root = node(true)
  local tree = { root }
  return function()
    for _ = 1, 8000 do
      local key = random(150000)
      local right, split = insert(tree[1], key, { key, "v" .. key })
      if right then
        local above = node(false)
        above.keys[1], above.children[1], above.children[2] = split, tree[1], right
        tree[1] = above
      end
    end
    if n > 40000 then tree[1], n = node(true), 0 end
  end, tree
end)

shape("undo_history", 60, function()
  local document, history, at = {}, {}, 0
  for i = 1, 2000 do document[i] = "line " .. i end
  return function(round)
    for i = 1, 8000 do
      local line = random(2000)
      at = at % 20000 + 1
      history[at] = { line = line, old = document[line], undo = function() document[line] = i end }
      document[line] = document[line]:sub(1, 60) .. "+" .. round
      if i % 50 == 0 then
        for _ = 1, 10 do
          local change = history[at]
          if change then document[change.line] = change.old end
          at = (at - 2) % 20000 + 1
        end
      end
    end
  end, { document, history }
end)

shape("config_copies", 60, function()
  local function copy(value)
    if type(value) ~= "table" then return value end
    local new = {}
    for k, v in pairs(value) do new[k] = copy(v) end
    return new
  end
  local template = {}
  for i = 1, 40 do
    local flags = { on = true, level = i }
    template["section" .. i] = { name = "s" .. i, limits = { i, i + 1, i + 2 }, flags = flags }
  end
  local tenants = {}
  for i = 1, 300 do tenants[i] = copy(template) end
  return function()
    for _ = 1, 120 do
      local new = copy(template)
      new["section" .. random(40)].flags.level = random(100)
      tenants[random(300)] = new
    end
  end, tenants
end)

shape("object_pool", 60, function()
  local free, busy, made = {}, {}, 0
  local function take()
    local object = table.remove(free)
    if not object then
      made = made + 1
      object = { id = made, buffer = {} }
    end
    return object
  end
  return function()
    for i = 1, 8000 do
      local slot = random(15000)
      local old = busy[slot]
      if old then
        for k = #old.buffer, 1, -1 do old.buffer[k] = nil end
        if #free < 5000 then free[#free + 1] = old end
      end
      local object = take()
      for k = 1, 4 do object.buffer[k] = { k } end
      busy[slot] = object
    end
  end, { free, busy }
end)

---- computing -------------------------------------------------------------------------------

shape("json", 60, function()
  local function serialise(value, out)
    local kind = type(value)
    if kind == "table" then
      if value[1] ~= nil then
        out[#out + 1] = "["
        for i, v in ipairs(value) do
          if i > 1 then out[#out + 1] = "," end
          serialise(v, out)
        end
        out[#out + 1] = "]"
      else
        out[#out + 1] = "{"
        local first = true
        for k, v in pairs(value) do
          if not first then out[#out + 1] = "," end
          first = false
          out[#out + 1] = '"' .. k .. '":'
          serialise(v, out)
        end
        out[#out + 1] = "}"
      end
    elseif kind == "string" then
      out[#out + 1] = '"' .. value .. '"'
    else
      out[#out + 1] = tostring(value)
    end
  end
  local parse
  local function list(text, at, close, element)
    at = at + 1
    if text:sub(at, at) == close then return at + 1 end
    while true do
      at = element(at)
      local c = text:sub(at, at)
      at = at + 1
      if c == close then return at end
    end
  end
  function parse(text, at)
    local c = text:sub(at, at)
    if c == "{" then
      local result = {}
      return result, list(text, at, "}", function(i)
        local key, after = text:match('^"([^"]*)":()', i)
        result[key], after = parse(text, after)
        return after
      end)
    elseif c == "[" then
      local result = {}
      return result, list(text, at, "]", function(i)
        local value, after = parse(text, i)
        result[#result + 1] = value
        return after
      end)
    elseif c == '"' then
      local value, after = text:match('^"([^"]*)"()', at)
      return value, after
    end
    local word, after = text:match("^([^,%]}]+)()", at)
    return tonumber(word) or word == "true", after
  end
  local function document(n)
    local items = {}
    for i = 1, n do
      local tags = { "a", "b", "c" .. i }
      items[i] = { id = i, name = "name " .. i, price = i * 1.25, tags = tags, on = true }
    end
    return { items = items, total = n, owner = { name = "x", mail = "x@y" } }
  end
  local kept = {}
  return function(round)
    for i = 1, 14 do
      local out = {}
      serialise(document(100), out)
      local text = table.concat(out)
      kept[(round * 14 + i) % 100 + 1] = { parse(text, 1), text }
    end
  end, kept
end)

shape("string_builder", 60, function()
  local kept = {}
  return function(round)
    for i = 1, 150 do
      local buffer, n = {}, 0
      for k = 1, 400 do
        n = n + 1
        buffer[n] = char(97 + k % 26) .. k .. round
      end
      local text = table.concat(buffer, ";")
      local quoted = text:gsub(";", "&"):upper()
      kept[(round * 150 + i) % 1500 + 1] = quoted
    end
  end, kept
end)

shape("scheduler", 60, function()
  local queue, first, last, heap = {}, 1, 0, {}
  local function push(item)
    local at = #heap + 1
    heap[at] = item
    while at > 1 and heap[at // 2].at > item.at do
      heap[at], at = heap[at // 2], at // 2
      heap[at] = item
    end
  end
  local function pop()
    local top, item = heap[1], table.remove(heap)
    if #heap == 0 then return top end
    local at, size = 1, #heap
    while true do
      local child = at * 2
      if child > size then break end
      if child < size and heap[child + 1].at < heap[child].at then child = child + 1 end
      if heap[child].at >= item.at then break end
      heap[at], at = heap[child], child
    end
    heap[at] = item
    return top
  end
  for i = 1, 15000 do push { at = random(100000), name = "job " .. i } end
  return function()
    for _ = 1, 4000 do
      local job = pop()
      last = last + 1
      queue[last] = { job = job, result = { job.at, job.name } }
      if last - first > 8000 then
        queue[first] = nil
        first = first + 1
      end
      push { at = job.at + random(100000), name = job.name }
    end
  end, { queue, heap }
end)

shape("matrix_rows", 50, function()
  local kept, sparse = {}, {}
  return function(round)
    for i = 1, 6 do
      local matrix = {}
      for r = 1, 150 do
        local row = {}
        for c = 1, 150 do row[c] = r * c + 0.5 end
        matrix[r] = row
      end
      kept[(round * 6 + i) % 12 + 1] = matrix
    end
    for _ = 1, 6000 do
      local r, c = random(3000), random(3000)
      local row = sparse[r] or {}
      sparse[r] = row
      row[c] = { r + c }
      if random(10) == 1 then sparse[random(3000)] = nil end
    end
  end, { kept, sparse }
end)

shape("lines_split", 60, function()
  local lines, table_of = {}, {}
  for i = 1, 3000 do
    lines[i] = ("%d,name %d,%d.5,city%d,%s"):format(i, i, i, i % 50, ("z"):rep(i % 30))
  end
  local text = table.concat(lines, "\n") .. "\n"
  return function(round)
    local rows = {}
    for line in text:gmatch("([^\n]*)\n") do
      local fields = {}
      for field in line:gmatch("[^,]+") do fields[#fields + 1] = field .. round % 3 end
      rows[#rows + 1] = fields
    end
    table_of[round % 5 + 1] = rows
  end, table_of
end)

shape("tokens_and_trees", 60, function()
  local source = {}
  for i = 1, 60 do source[i] = ("f%d ( a%d + b * ( c - %d ) ) ;"):format(i, i % 9, i) end
  source = table.concat(source, " ")
  local trees = {}
  local function expression(tokens, at)
    local nodes = {}
    while tokens[at] and tokens[at].text ~= ")" and tokens[at].text ~= ";" do
      if tokens[at].text == "(" then
        nodes[#nodes + 1], at = expression(tokens, at + 1)
      else
        nodes[#nodes + 1] = { kind = "leaf", token = tokens[at] }
      end
      at = at + 1
    end
    return { kind = "list", nodes = nodes }, at
  end
  return function(round)
    for i = 1, 18 do
      local tokens, at, roots = {}, 1, {}
      for place, text in source:gmatch("()(%S+)") do
        tokens[#tokens + 1] = { text = text, place = place }
      end
      while at <= #tokens do
        roots[#roots + 1], at = expression(tokens, at)
        at = at + 1
      end
      trees[(round * 18 + i) % 60 + 1] = roots
    end
  end, trees
end)

shape("graph_search", 60, function()
  local nodes, paths = {}, {}
  for i = 1, 20000 do nodes[i] = { id = i, edges = {} } end
  for i = 1, 20000 do
    for k = 1, 4 do nodes[i].edges[k] = nodes[random(20000)] end
  end
  return function(round)
    for k = 1, 6 do
      local from = { [nodes[random(20000)]] = false }
      local queue, first = { (next(from)) }, 1
      while queue[first] and first < 4000 do
        local node = queue[first]
        first = first + 1
        for _, below in ipairs(node.edges) do
          if from[below] == nil then
            from[below] = node
            queue[#queue + 1] = below
          end
        end
      end
      local path, node = {}, queue[first - 1]
      while node do path[#path + 1], node = node, from[node] end
      paths[(round * 6 + k) % 50 + 1] = path
    end
    nodes[random(20000)].edges[random(4)] = nodes[random(20000)]
  end, { nodes, paths }
end)

shape("files", 50, function()
  local open, closed = {}, { 0 }
  local mt = { __gc = function(object) closed[1] = closed[1] + object[1] end }
  return function()
    for i = 1, 3000 do
      local file = assert(io.open("/dev/null", "w"))
      local slot = random(200)
      if open[slot] then open[slot][1]:close() end
      open[slot] = { file, setmetatable({ 1 }, mt) }
    end
    for _ = 1, 4000 do setmetatable({ 1, { random(9) } }, mt) end
  end, { open, closed }
end)

---- the measurement ---------------------------------------------------------------------------

local memory = dofile((arg[0]:match("^(.*/)[^/]*$") or "") .. "resident.lua")
local resident, peak, collect = memory.now, memory.peak, memory.collect

-- run(SHAPE, SAMPLES): the live set, seconds
local function run(this, samples)
  local began = clock()
  local step, live = this.make()
  for round = 1, this.rounds do
    step(round)
    samples[round] = resident()
  end
  return live, clock() - began
end

local function range(samples, from, to)
  local least, most = math.huge, 0
  for i = from, to do least, most = math.min(least, samples[i]), math.max(most, samples[i]) end
  return least, most
end

local function measure(name)
  local this, samples, live, cpu = shapes[name], {}, nil, nil
  assert(this, "no shape " .. name)
  for i = 1, this.rounds do samples[i] = 0 end
  collect()
  local start, count = resident(), collectgarbage("count")
  live, cpu = run(this, samples)
  local most = peak()
  collect()
  local after, alive = resident(), collectgarbage("count")
  live = nil
  collect()
  local dropped, n = resident(), #samples
  local low1, high1 = range(samples, n // 3 + 1, 2 * n // 3)
  local low2, high2 = range(samples, 2 * n // 3 + 1, n)
  print(("peak=%d after=%d count=%d dropped=%d early=%d-%d late=%d-%d cpu=%.3f"):format(
    most - start, after - start, floor((alive - count) * 1024), dropped - start,
    low1 - start, high1 - start, low2 - start, high2 - start, cpu))
end

if not arg[1] then
  print(table.concat(order, "\n"))
else
  measure(arg[1])
end
