-- SPDX-License-Identifier: MIT
-- The environment of a generated program, made anew for each: the library, the log, and
-- helpers whose one-letter names keep programs short.
--
--   L(...)      logs values          D(t)        logs the contents of a table
--   T()         uses up fuel         S()  G()    a step, a full collection
--   C(name, …)  a closer             O(name, …)  an object whose metamethods log
--   Y(...)      yields, if it can    e(name, v)  logs that it was evaluated, returns v
--   drive(co, ...)  resumes to the end       W()         a place to switch instruments at
--
-- All of them call `tick`, if there is one (watch.lua).
--
-- What it logs does not depend on addresses, on the order of pairs, or on what is cheap
-- to have differently: see differences.lua for texts.

local MAX_TEXT = 160
local FUEL = 1500

-- The signs of NaN and addresses in text (messages, tostring).
local function normal(text)
  return (text:gsub("0x%x%x%x%x%x%x%x+", "ADDRESS"):gsub("%-nan", "nan"))
end

local function new(write, tick)
  local env = {}
  tick = tick or function() end
  local ids = setmetatable({}, { __mode = "k" })
  local count, fuel = 0, FUEL
  local raw_tostring, raw_format, raw_type = tostring, string.format, type
  local yield, isyieldable = coroutine.yield, coroutine.isyieldable

  local function text(value)
    local kind = raw_type(value)
    if kind == "number" then
      if value ~= value then return "nan" end
      return math.type(value) == "integer" and raw_format("%d", value) or raw_format("%.17gf",
          value)
    elseif kind == "string" then
      value = normal(value)
      if #value > MAX_TEXT then value = value:sub(1, MAX_TEXT) .. "..." .. #value end
      return (raw_format("%q", value):gsub("\n", "n"))
    elseif kind == "nil" or kind == "boolean" then
      return raw_tostring(value)
    end
    if not ids[value] then
      count = count + 1
      ids[value] = kind .. "#" .. count
    end
    return ids[value]
  end

  env.W = tick

  function env.T()
    tick()
    fuel = fuel - 1
    if fuel < 0 then error("out of fuel", 0) end
  end

  local function log(...)
    tick()
    if fuel < -200 then return end
    fuel = fuel - 1
    local line = table.pack(...)
    for i = 1, line.n do line[i] = text(line[i]) end
    write(table.concat(line, " ", 1, line.n))
    return ...
  end
  env.L = log

  function env.D(t, depth)
    if raw_type(t) ~= "table" then return log(t) end
    local lines = {}
    for k, v in next, t do
      if raw_type(v) == "table" and (depth or 1) > 0 and getmetatable(v) == nil then
        local inner = {}
        for kk, vv in next, v do inner[#inner + 1] = text(kk) .. "=" .. raw_type(vv) end
        table.sort(inner)
        v = "{" .. table.concat(inner, ",") .. "}"
      end
      local kind = raw_type(k)
      lines[#lines + 1] = (kind == "table" or kind == "function") and kind or
        text(k) .. "=" .. ((raw_type(v) == "table" or raw_type(v) == "function") and raw_type(v) or
            text(v))
    end
    table.sort(lines)
    return log("D", table.concat(lines, " "))
  end

  function env.S()
    tick()
    collectgarbage("step")
  end

  function env.G()
    tick()
    collectgarbage()
  end

  function env.e(name, ...)
    log("e", name)
    return ...
  end

  function env.Y(...)
    tick()
    if isyieldable() then return yield(...) end
    return ...
  end

  -- Cuts what could grow without bound.
  function env.cut(v)
    if raw_type(v) == "string" and #v > 120 then return v:sub(1, 20) end
    return v
  end

  -- A value to close. how: nil, "error" (its handler fails), "yield".
  function env.C(name, how)
    return setmetatable({}, {
      __name = "closer",
      __close = function(_, err)
        log("close", name, err)
        if how == "yield" then log("closing", name, env.Y("close", name)) end
        if how == "error" then error("closing " .. name, 0) end
        if how == "object" then error({ name }) end
      end,
    })
  end

  local events = { "add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor",
    "shl", "shr", "bnot", "concat", "len", "eq", "lt", "le", "index", "newindex", "call", "close" }

  -- An object; how: nil, "yield" (each handler yields where it can), "error" (each
  -- fails), "nothing" (each returns nothing), "many" (three values), "tail" (calls).
  function env.O(name, how, result)
    local mt = { __name = "O" .. name }
    for _, event in ipairs(events) do
      mt["__" .. event] = function(a, b, ...)
        env.T()
        log(name, event, a, b, ...)
        if how == "yield" then log(name, "again", env.Y(event)) end
        if how == "error" then error(name .. "." .. event, 0) end
        if how == "nothing" then return end
        if how == "many" then return result or event, a, b end
        if how == "tail" then return env.e(event, result or 7) end
        if result ~= nil then return result end
        if event == "len" or event == "unm" or event == "bnot" then return 3 end
        if event == "eq" or event == "lt" or event == "le" then return rawequal(a, b) or nil end
        if event == "index" or event == "call" then return b end
        return name .. event
      end
    end
    mt.__tostring = function() return "object " .. name end
    mt.__pairs = function(o)
      log(name, "pairs")
      return function(_, i)
        tick()
        if how == "yield" then env.Y("pairs") end
        i = (i or 0) + 1
        if i <= 3 then return i, name end
      end, o, nil
    end
    return setmetatable({}, mt)
  end

  function env.drive(co, ...)
    log("drive", coroutine.status(co))
    log("resumed", coroutine.resume(co, ...))
    for i = 1, 12 do
      if coroutine.status(co) == "dead" then break end
      env.T()
      log("resumed", coroutine.resume(co, i, "r" .. i))
    end
    log(coroutine.status(co), coroutine.close(co))
  end

  -- The library; what shows addresses is wrapped, so that also their lengths agree.
  for _, name in ipairs { "assert", "error", "ipairs", "next", "pairs", "pcall",
      "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable", "tonumber", "type",
      "xpcall", "collectgarbage" } do
    env[name] = _G[name]
  end
  for _, name in ipairs { "dofile", "loadfile", "require" } do env[name] = _G[name] end
  for _, name in ipairs { "string", "table", "math", "coroutine", "utf8", "debug" } do
    env[name] = setmetatable({}, { __index = _G[name] })
    for k, v in pairs(_G[name]) do rawset(env[name], k, v) end
    setmetatable(env[name], nil)
  end
  env.yield = yield
  function env.tostring(...) return normal(raw_tostring(...)) end
  function env.string.format(...) return normal(raw_format(...)) end
  function env.load(chunk, name, mode, e)
    return load(chunk, name or "=l", mode, e == nil and env or e)
  end
  -- The metatable of strings stays as it is for the programs that follow.
  local strings = { __index = env.string }
  function env.getmetatable(...)
    if raw_type(...) == "string" then return strings end
    return getmetatable(...)
  end
  function env.debug.getmetatable(v)
    if raw_type(v) == "string" then return strings end
    return debug.getmetatable(v)
  end
  env._G = env
  return env
end

return new
