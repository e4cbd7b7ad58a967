-- SPDX-License-Identifier: MIT
-- Random programs that count their own calls, against the profile of calls.
--
--   _random_calls.lua PROGRAMS SEED [SHOW]
--
-- Each function of a program stands on a line of its own. It begins by counting itself, if
-- the program knows that it is profiled at that moment (`on`); before the functions of C that
-- it calls it counts these. At the end the profile must have the same counts. Programs start
-- and stop the profile anywhere (`toggle`): deep in calls, in coroutines, in hooks, in
-- handlers, while variables are closed. `fuel` bounds the calls, so that no stack overflows:
-- an error of that kind comes between what is counted here and the call.
--
-- Finalizers may come anywhere. While the profile starts or stops, the collector stands still:
-- the functions that a finalizer called then would be in the profile and not be counted, or
-- the other way round. A finalizer that comes between the entry of a function and its count,
-- or between the count of a function of C and its call, leaves the profile as it is: which of
-- both was before the change is not known to the program. Two local variables say so:
-- `counted` is in scope once a function has counted itself, `calling` from before the count of
-- a function of C until it has returned.
--
-- Status 1: something differs. The seed is shown; with SHOW the program, too.
local profile = require "saros.profile"
local PROGRAMS, SEED, SHOW = tonumber(arg[1]), math.tointeger(tonumber(arg[2])), arg[3]
local FUNCTIONS <const>, FUEL <const> = 16, 60
local ROUNDS <const> = tonumber(os.getenv "TEST_SLOWNESS" or "1") > 4 and 10 or 50

local random = math.random
local function one(list) return list[random(#list)] end

-- ---- the text of a program -------------------------------------------------

local statement, lines
local function any() return "F[" .. random(FUNCTIONS) .. "]" end
local counted_natives = {}
local function native(name, call)
  counted_natives[name] = true
  return ("do local calling if on then N[%q] = N[%q] + 1 end %s end"):format(name, name, call)
end
local function place() return random(6) end

local chunks, labels = 0, 0
local function chunk()
  chunks = chunks + 1
  return ("local f = load('if on then count(\"chunk%d\") end local counted ' .. %q, NAME .. 'chunk%d', 't', E) if f then f(...) end")
    :format(chunks, "return " .. any() .. "(...)", chunks)
end

local forms = {
  function() return any() .. "(...)" end,
  function() return any() .. "(1, nil, " .. any() .. "(...))" end,
  function() return "local _ = select('#', ...) + (" .. any() .. "() or 0)" end,
  function() return "do return " .. any() .. "(...) end" end,
  function() return "do return " .. any() .. "(select(2, ...)) end" end,
  function() return native("pcall", "pcall(" .. any() .. ", ...)") end,
  function() return native("pcall", "pcall(" .. any() .. ", ...)") end,
  function() return native("xpcall", "xpcall(" .. any() .. ", " .. any() .. ", 1)") end,
  function() return native("error", "error('raised')") end,
  function() return "local a = nil; a()" end,
  function() return "local _ = O[" .. place() .. "]." .. one {"field", "other"} end,
  function() return "O[" .. place() .. "].field = 1" end,
  function() return "local _ = O[" .. place() .. "] " .. one {"+", "..", "<", "<=", "==", "//", "&"} .. " O[" .. place() .. "]" end,
  function() return "local _ = " .. one {"#", "-", "~"} .. "O[" .. place() .. "]" end,
  function() return "O[" .. place() .. "](2, ...)" end,
  function() return "O[" .. place() .. "]:method(...)" end,
  function() return "do local x <close> = O[" .. place() .. "] " .. statement() .. " end" end,
  function() return native("coroutine.create", "K[" .. place() .. "] = coroutine.create(" .. any() .. ")") end,
  function() return "local k = K[" .. place() .. "] if k then " .. native("coroutine.resume", "coroutine.resume(k, ...)") .. " end" end,
  function() return "local k = K[" .. place() .. "] if k then " .. native("coroutine.resume", "coroutine.resume(k, ...)") .. " end" end,
  function() return "W[" .. place() .. "] = coroutine.wrap(" .. any() .. ")" end,
  function() return "local w = W[" .. place() .. "] if w then " .. native("pcall", "pcall(w, 1)") .. " end" end,
  function() return "local w = W[" .. place() .. "] if w then w(1) end" end,
  function() return "if coroutine.isyieldable() then " .. native("coroutine.yield", "coroutine.yield(1)") .. " end" end,
  function() return "if coroutine.isyieldable() then " .. native("coroutine.yield", "coroutine.yield(1)") .. " end" end,
  function() return "local k = K[" .. place() .. "] if k and coroutine.status(k) == 'suspended' then " ..
    native("coroutine.close", "coroutine.close(k)") .. " end" end,
  function() return "for a in " .. any() .. " do " .. statement() .. " break end" end,
  function() return "for i = 1, 3 do " .. statement() .. " end" end,
  function()
    labels = labels + 1
    local label = "again" .. labels
    return ("do local i = 0 ::%s:: %s i = i + 1 if i < 3 then goto %s end end"):format(label, statement(), label)
  end,
  function() return native("table.sort", "table.sort(TO_SORT, " .. any() .. ")") end,
  function() return native("string.gsub", "string.gsub('ab', '.', " .. any() .. ")") end,
  function() return "setmetatable({}, G[" .. place() .. "])" end,
  function() return "collectgarbage 'step'" end,
  function() return chunk() end,
  function() return "toggle()" end,
  function() return "toggle()" end,
  function() return "debug.sethook(H[" .. place() .. "], '" .. one {"r", "cr", "l", "crl"} .. "', " .. random(0, 20) .. ")" end,
  function() return "debug.sethook()" end,
  function()
    return ("local g = function(...) if on then count(%d) end local counted return %s(...) end g()")
      :format(#lines + 1, any())
  end,
}
local depth = 0
function statement()
  depth = depth + 1
  local text = depth > 4 and any() .. "()" or one(forms)()
  depth = depth - 1
  return "do " .. text .. " end "
end

local function line(text) lines[#lines + 1] = text end
local function counted(prefix, names, more)
  local number = #lines + 1
  line(("%s function(%s) if on then count(%d) end local counted fuel = fuel - 1 if fuel < 0 then return end %s end")
    :format(prefix, names, number, more or ""))
end
local function body()
  local text = {}
  for i = 1, random(4) do text[i] = statement() end
  return table.concat(text)
end

local events = {"add", "concat", "lt", "le", "eq", "idiv", "band", "len", "unm", "bnot", "call", "index", "newindex", "close"}
local function program()
  lines, chunks = {}, 0
  line "local F, O, K, W, G, H, N, count, toggle, NAME, E = ... E.F = F"
  for i = 1, FUNCTIONS do counted(("F[%d] ="):format(i), "...", body()) end
  for i = 1, 6 do
    line "do local m = {}"
    for _, event in ipairs(events) do
      if random(3) > 1 then counted("m.__" .. event .. " =", "...", random(3) == 1 and body() or "") end
    end
    counted("local method =", "...", body())
    line(("O[%d] = setmetatable({method = method}, m) end"):format(i))
    counted(("G[%d] = {__gc ="):format(i), "...", "local before = unsure unsure = unsure or is_unsure() " ..
            native("pcall", "pcall(" .. any() .. ", ...)") .. " unsure = before")
    lines[#lines] = lines[#lines] .. "}"
    -- in hooks of calls a function has begun that has not counted itself yet
    counted(("H[%d] ="):format(i), "event", random(2) == 1 and "if event == 'return' then toggle() end" or "")
  end
  line(("for i = 1, %d do fuel = %d "):format(ROUNDS, FUEL) ..
    native("pcall", "pcall(F[i % " .. FUNCTIONS .. " + 1], 1, 2, 3)") .. " end")
  return table.concat(lines, "\n") .. "\n"
end

-- ---- running it ------------------------------------------------------------

on, fuel, TO_SORT = false, 0, {3, 1, 2}

-- Has a finalizer, which calls this, come between an entry and its count, or a count and its
-- call? `unsure`: one that runs has.
unsure = false
function is_unsure()
  local above = "Lua" -- what the frame above is: here the finalizer
  for level = 3, math.maxinteger do
    local frame = debug.getinfo(level, "S")
    if not frame then return false end
    local is_called = frame.source:find "^=p%d+chunk" or frame.what == "Lua"
    if frame.source:find "^=p%d" then
      local scope = {}
      for i = 1, math.maxinteger do
        local name = debug.getlocal(level, i)
        if not name then break end
        scope[name] = true
      end
      if is_called and not scope.counted or scope.calling and above ~= "C" then return true end
    end
    above = frame.what
  end
end
local natives = {} -- of this program and of finalizers of those before it

local function run(seed)
  math.randomseed(seed)
  local text = program()
  local counts, profiled, p, toggling, over = {}, {}, nil, false, false
  for name in pairs(counted_natives) do natives[name] = 0 end
  for place = 1, #lines do counts[place] = 0 end
  for chunk = 1, chunks do counts["chunk" .. chunk] = 0 end
  local function count(place) counts[place] = counts[place] + 1 end
  local function add(report)
    local sum = report.outside + report.lost
    assert(report.lost_calls == 0, "lost calls")
    for _, row in ipairs(report.rows) do
      sum = sum + row.exclusive
      assert(row.inclusive >= row.exclusive and row.inclusive <= report.total, row.name)
      local key = row.source == "[C]" and row.name or row.source .. ":" .. row.line
      profiled[key] = (profiled[key] or 0) + row.count
    end
    assert(sum <= report.total and sum + #report.rows + 2 >= report.total, "sum of times")
  end
  -- neither a hook nor a finalizer may come between the start and `on`
  local function switch()
    local hook, mask, every = debug.gethook()
    debug.sethook()
    collectgarbage "stop"
    if p then
      on = false
      p:stop()
      add(p:report())
      p = nil
    else
      p = profile.start {budget = 4 << 20}
      on = true
    end
    collectgarbage "restart"
    debug.sethook(hook, mask, every)
  end
  local function toggle() -- what fails here must not be caught by the program
    -- over: by a finalizer of this program in the next one
    if toggling or over or unsure then return end
    toggling = true
    if on then natives.pcall = natives.pcall + 1 end
    local ok, e = pcall(switch)
    if not ok then print("seed", seed, e) os.exit(1) end
    toggling = false
  end
  local f = assert(load(text, "=p" .. seed))
  natives.pcall = 1
  toggle()
  local ok, e = pcall(f, {}, {}, {}, {}, {}, {}, natives, count, toggle, "=p" .. seed,
                      setmetatable({count = count}, {__index = _G}))
  debug.sethook()
  if on then toggle() end
  over = true
  local calls = 0
  local function differs(key, own)
    calls = calls + own
    if (profiled[key] or 0) == own then return end
    print(("seed %d: %s: %d calls, in the profile %d"):format(seed, key, own, profiled[key] or 0))
    if SHOW then print(text) end
    os.exit(1)
  end
  for place, own in pairs(counts) do
    differs(math.type(place) and ("p%d:%d"):format(seed, place) or ("p%d%s:0"):format(seed, place), own)
  end
  for key, own in pairs(natives) do differs(key, own) end
  for key in pairs(profiled) do
    local place = tonumber(key:match("^p" .. seed .. ":([1-9]%d*)$"))
    if place then differs(key, counts[place]) end
  end
  return calls, ok and nil or e
end

local all = 0
warn "@off"
for i = 0, PROGRAMS - 1 do
  local calls, e = run(SEED + i)
  if SHOW and e then print(SEED + i, e) end
  all = all + calls
  collectgarbage()
end
print(("%d programs, %d calls"):format(PROGRAMS, all))
