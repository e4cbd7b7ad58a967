-- SPDX-License-Identifier: MIT
-- saros/eventring.lua: the module `saros.eventring` for Lua 5.1 to 5.4 and LuaJIT, where there is
-- no recording: the same functions, which check their arguments and record nothing. On Saros,
-- `require "saros.eventring"` finds the module of Saros before any file, so this file is not read.
--
-- The functions behave as those of Saros in a process that does not record and cannot start to:
-- probes return nothing, what controls the recording returns nil and a message, wrong arguments
-- raise the same messages. What a caller learns only from a recording is nil, and never a zero
-- that was not measured. `stub` is the message: a string here, nil on Saros.
--
-- Errors are raised through `wrong`, called by the public function itself (not in a tail call), or
-- by a helper with one level more: so the message has the position of the caller.

local stub = "the stub of saros.eventring records nothing: that needs Saros"
local eventring = { stub = stub }

local type, select, tonumber, error, pairs = type, select, tonumber, error, pairs
local floor = math.floor

-- ---- wrong arguments ------------------------------------------------------------------------

-- level: of the caller of the public function, as seen from the caller of `wrong`
local function wrong(level, number, name, text)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. text .. ")", level + 1)
end

-- The type of the argument `number` of those that follow.
local function type_of(number, ...)
  if select("#", ...) < number then return "no value" end
  return type((select(number, ...)))
end

local function wrong_type(level, number, name, expected, ...)
  wrong(level + 1, number, name, expected .. " expected, got " .. type_of(number, ...))
end

-- How many changes of a letter lead from one word to the other (put in, left out, replaced,
-- exchanged with its neighbour).
local function distance(a, b)
  local rows = { [0] = {} }
  for j = 0, #b do rows[0][j] = j end
  for i = 1, #a do
    local now, last, before = { [0] = i }, rows[i - 1], rows[i - 2]
    for j = 1, #b do
      local here, there = a:byte(i), b:byte(j)
      local least = math.min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (here == there and 0 or 1))
      if before and j > 1 and here == b:byte(j - 1) and a:byte(i - 1) == there then
        least = math.min(least, before[j - 2] + 1)
      end
      now[j] = least
    end
    rows[i] = now
  end
  return rows[#a][#b]
end

-- The word that was meant, or nil: at most a third of the letters is changed.
local function nearest(given, words)
  local found, least = nil, floor(#given / 3) + 1 + (#given == 2 and 1 or 0)
  if #given > 32 then return nil end
  for _, word in ipairs(words) do
    local far = distance(given, word)
    if far < least then found, least = word, far end
  end
  return found
end

local function is_among(word, words)
  for _, each in ipairs(words) do
    if word == each then return true end
  end
  return false
end

local function shown(value)
  local function escape(c) return ("\\%03d"):format(c:byte()) end
  return (tostring(value):gsub("[%z\1-\31\127]", escape))
end

-- `number`: of the argument, which is 1 if it is missing.
local function check_fields(level, name, kind, given, words, number)
  for key in pairs(given) do
    if type(key) ~= "string" or not is_among(key, words) then
      local meant = type(key) == "string" and nearest(key, words)
      wrong(level + 1, number or 1, name, "no " .. kind .. " '" .. shown(key) .. "'" ..
            (meant and "; did you mean '" .. meant .. "'?" or ""))
    end
  end
end

local function check_field(level, name, given, field, expected)
  local value = given[field]
  if value ~= nil and type(value) ~= expected then
    wrong(level + 1, 1, name, "field '" .. field .. "' is not a " .. expected)
  end
  return value
end

-- ---- names and values -----------------------------------------------------------------------

-- Bytes of the character of UTF-8 at i; nil if it is none, or a second result "control".
local function character(text, i)
  local a, b, c, d = text:byte(i, i + 3)
  local function follows(byte, from, to)
    return byte and byte >= (from or 0x80) and byte <= (to or 0xBF)
  end
  if a < 0x80 then return 1, (a < 0x20 or a == 0x7F) and "control" or nil end
  if a >= 0xC2 and a <= 0xDF and follows(b) then
    return 2, a == 0xC2 and b < 0xA0 and "control" or nil
  end
  if a >= 0xE0 and a <= 0xEF and follows(c) and
     follows(b, a == 0xE0 and 0xA0 or nil, a == 0xED and 0x9F or nil) then return 3 end
  if a >= 0xF0 and a <= 0xF4 and follows(c) and follows(d) and
     follows(b, a == 0xF0 and 0x90 or nil, a == 0xF4 and 0x8F or nil) then return 4 end
  return nil
end

-- What is wrong with the name of an event, or nil.
local function fault_of_name(name)
  if #name < 1 or #name > 95 then return "an event name must have 1 to 95 bytes" end
  local i = 1
  while i <= #name do
    local size, control = character(name, i)
    if not size then return "an event name is not valid UTF-8" end
    if control then return "an event name holds a control character" end
    i = i + size
  end
  return nil
end

-- Names that were checked. A program may use any number of names: a full table is dropped.
local known, known_count = {}, 0
local MOST_KNOWN = 8192

-- The first of the arguments, which is not known yet, is the name.
local function check_name(level, name, ...)
  local given = ...
  if type(given) ~= "string" and type(given) ~= "number" then
    wrong_type(level + 1, 1, name, "string", ...)
  end
  local text = given .. ""
  local fault = fault_of_name(text)
  if fault then wrong(level + 1, 1, name, fault) end
  if known_count == MOST_KNOWN then known, known_count = {}, 0 end
  known[text], known_count = true, known_count + 1
end

local function check_value(level, number, name, value)
  local kind = type(value)
  if kind ~= "nil" and kind ~= "number" and kind ~= "string" then
    wrong(level + 1, number, name, "number or string expected, got " .. kind)
  end
end

-- Is the number one that fits into an integer of 64 bits? (In 5.3 and 5.4 all integers are.)
local function is_integer(number)
  return number == floor(number) and number >= -2 ^ 63 and number < 2 ^ 63
end

-- ---- probes ---------------------------------------------------------------------------------

-- Fields of a span that say more than its name.
local function check_details(level, number, name, fields)
  local value, trace = fields.value, fields.traceparent
  if value ~= nil and type(value) ~= "number" and type(value) ~= "string" then
    wrong(level + 1, number, name, "field 'value' is not a number or string")
  end
  if trace ~= nil and trace ~= true and type(trace) ~= "string" then
    wrong(level + 1, number, name, "field 'traceparent' is not a string or true")
  end
end

local begin_span_fields = { "value", "traceparent" }

-- begin_span(name [, value | {value =, traceparent =}])
function eventring.begin_span(...)
  local name, value = ...
  if not known[name] then check_name(2, "begin_span", ...) end
  local kind = type(value)
  if kind == "nil" or kind == "number" or kind == "string" then return end
  if kind ~= "table" then
    wrong(2, 2, "begin_span", "number, string or table expected, got " .. kind)
  end
  check_fields(2, "begin_span", "field", value, begin_span_fields, 2)
  check_details(2, 2, "begin_span", value)
end

-- traceparent() -> nil: no span is recorded.
function eventring.traceparent() return nil end

-- end_span([name])
function eventring.end_span(...)
  local name = ...
  if known[name] or select("#", ...) == 0 then return end
  check_name(2, "end_span", ...)
end

-- counter(name, number)
function eventring.counter(...)
  local name, value = ...
  if not known[name] then check_name(2, "counter", ...) end
  if type(value) ~= "number" and not (type(value) == "string" and tonumber(value)) then
    wrong_type(2, 2, "counter", "number", ...)
  end
end

-- event(name [, value])
function eventring.event(...)
  local name, value = ...
  if not known[name] then check_name(2, "event", ...) end
  if value ~= nil then check_value(2, 2, "event", value) end
end

local function check_id(level, name, ...)
  local _, id = ...
  if type(id) == "number" then
    if not is_integer(id) then wrong(level + 1, 2, name, "number has no integer representation") end
  elseif type(id) ~= "string" then
    wrong_type(level + 1, 2, name, "integer or string", ...)
  end
end

-- async_begin(name, id [, value])
function eventring.async_begin(...)
  local name, _, value = ...
  if not known[name] then check_name(2, "async_begin", ...) end
  check_id(2, "async_begin", ...)
  if value ~= nil then check_value(2, 3, "async_begin", value) end
end

-- async_end(name, id)
function eventring.async_end(...)
  if not known[(...)] then check_name(2, "async_end", ...) end
  check_id(2, "async_end", ...)
end

-- Can it be called? Where debug is missing, a protected metatable looks like one that cannot.
local metatable_of = debug and debug.getmetatable or getmetatable
local function is_callable(f)
  if type(f) == "function" then return true end
  local metatable = metatable_of(f)
  return type(metatable) == "table" and metatable.__call ~= nil
end

-- As a function in C says it: without a position.
local function check_callable(f)
  if not is_callable(f) then error("attempt to call a " .. type(f) .. " value", 0) end
end

local span_fields = { "name", "value", "traceparent" }

local function check_span_of_fields(level, fields)
  check_fields(level + 1, "span", "field", fields, span_fields)
  check_details(level + 1, 1, "span", fields)
  if type(fields.name) ~= "string" then
    wrong(level + 1, 1, "span", "field 'name' is not a string")
  end
  if not known[fields.name] then check_name(level + 1, "span", fields.name) end
end

-- span(name | {name =, value =, traceparent =}, f, ...) -> results of f(...). A table without f begins a span for
-- a variable <close>: there is none, so it returns nothing. f is called in a tail call: it may
-- yield, raise, and return any number of results.
function eventring.span(...)
  local name, f = ...
  if type(name) == "table" then
    check_span_of_fields(2, name)
    if select("#", ...) == 1 then return end
  else
    if not known[name] then check_name(2, "span", ...) end
    if select("#", ...) < 2 then wrong(2, 2, "span", "value expected") end
  end
  if type(f) ~= "function" then check_callable(f) end
  return f(select(3, ...))
end

-- ---- the recording --------------------------------------------------------------------------

-- start([{stream = string}]) -> nil and a message
function eventring.start(options)
  if options ~= nil then
    if type(options) ~= "table" then wrong_type(2, 1, "start", "table", options) end
    check_fields(2, "start", "option", options, { "stream" })
    check_field(2, "start", options, "stream", "string")
  end
  return nil, stub
end

-- stop() -> true: nothing is recorded afterwards
function eventring.stop() return true end

function eventring.pause() return nil, stub end
function eventring.resume() return nil, stub end
function eventring.classes() return nil, stub end
function eventring.path() return nil end

-- The classes of Saros; the name of another one is an error there.
local class_names = "alloc calls domain ffi finalizers gc gc_detail io lifecycle load user"
local classes = {}
for name in class_names:gmatch("%S+") do classes[name] = true end

local function switch_class(level, name, ...)
  local class = ...
  if type(class) ~= "string" and type(class) ~= "number" then
    wrong_type(level + 1, 1, name, "string", ...)
  end
  if not classes[class] then wrong(level + 1, 1, name, "no class '" .. class .. "'") end
end

function eventring.enable(...)
  switch_class(2, "enable", ...)
  return nil, stub
end

function eventring.disable(...)
  switch_class(2, "disable", ...)
  return nil, stub
end

-- cursor([{pid = integer} or {path = string}]) -> nil and a message: as there is no cursor, no
-- callback is ever called.
function eventring.cursor(where)
  if where ~= nil then
    if type(where) ~= "table" then wrong_type(2, 1, "cursor", "table", where) end
    check_fields(2, "cursor", "option", where, { "pid", "path" })
    local pid, path = where.pid, where.path
    if pid ~= nil and path ~= nil then
      wrong(2, 1, "cursor", "fields 'pid' and 'path' exclude each other")
    end
    if path ~= nil and type(path) ~= "string" and type(path) ~= "number" then
      wrong(2, 1, "cursor", "field 'path' is not a string")
    end
    pid = pid == nil and 1 or tonumber(pid)
    if not pid or not is_integer(pid) or pid <= 0 or pid > 2147483647 then
      wrong(2, 1, "cursor", "field 'pid' is not a process id")
    end
  end
  return nil, stub
end

-- ---- triggers -------------------------------------------------------------------------------

local trigger_options = { "on", "dir", "cooldown", "max", "size" }

-- trigger(text | {on =, dir =, cooldown =, max =, size =}) -> nil and a message. The types are
-- checked, but not what the text says.
function eventring.trigger(...)
  local given = ...
  if type(given) ~= "string" then
    if type(given) ~= "table" then wrong(2, 1, "trigger", "table expected, got " .. type(given)) end
    check_fields(2, "trigger", "option", given, trigger_options)
    if check_field(2, "trigger", given, "on", "string") == nil then
      wrong(2, 1, "trigger", "no field 'on'")
    end
    check_field(2, "trigger", given, "dir", "string")
    check_field(2, "trigger", given, "cooldown", "number")
    check_field(2, "trigger", given, "max", "number")
    check_field(2, "trigger", given, "size", "number")
  end
  return nil, stub
end

-- untrigger(number) -> false: there was none
function eventring.untrigger(...)
  local number = tonumber((...))
  if not number or type((...)) == "boolean" then wrong_type(2, 1, "untrigger", "number", ...) end
  if not is_integer(number) then
    wrong(2, 1, "untrigger", "number has no integer representation")
  end
  return false
end

-- triggers([seconds]) -> an empty table
function eventring.triggers(...)
  local seconds = ...
  if seconds ~= nil and not tonumber(seconds) then wrong_type(2, 1, "triggers", "number", ...) end
  return {}
end

-- ---- measuring ------------------------------------------------------------------------------

local function pack(...) return { n = select("#", ...), ... } end

-- measure(f, ...) -> {results = those of f(...) and their number n, stub = message}. What f cost
-- is not known: words, time_ns, major and the others are nil.
function eventring.measure(...)
  if select("#", ...) == 0 then wrong(2, 1, "measure", "value expected") end
  local f = ...
  check_callable(f)
  return { results = pack(f(select(2, ...))), stub = stub }
end

local function check_rules(level, rules, ...)
  if type(rules) == "string" then return rules end
  if type(rules) ~= "table" then wrong_type(level + 1, 1, "expect", "table", rules, ...) end
  for _, rule in ipairs(rules) do
    if type(rule) ~= "string" then wrong(level + 1, 1, "expect", "a rule is not a string") end
  end
  return table.concat(rules, "\n\texpected ")
end

-- expect(rules, f, ...): calls f(...), then raises: whether the rules hold is not known. (Without
-- rules it returns the results.)
function eventring.expect(...)
  if select("#", ...) < 2 then wrong(2, 2, "expect", "value expected") end
  local rules, f = check_rules(2, ...), select(2, ...)
  check_callable(f)
  if rules == "" then return f(select(3, ...)) end
  f(select(3, ...))
  error("expected " .. rules .. ": not known: " .. stub, 2)
end

return eventring
