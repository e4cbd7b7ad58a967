-- SPDX-License-Identifier: MIT
-- Calls the functions of saros.eventring with right and wrong arguments, and prints what they
-- return and raise: a line for each call. test_stub.sh compares what Saros prints in a process that
-- does not record with what other Luas print with the stub. Lua 5.1 to 5.4, LuaJIT.
local eventring = require "saros.eventring"

local function shown(value)
  if type(value) == "table" or type(value) == "function" then return type(value) end
  return tostring(value)
end

-- A message of which only the stub knows the text: that there is one.
local function say(name, ...)
  local words = {}
  for i = 1, select("#", ...) do words[i] = shown((select(i, ...))) end
  if words[1] == "true" and words[2] == "nil" and words[3] then words[3] = "MESSAGE" end
  print(name, table.concat(words, " | "))
end

-- Calls of a field have the name of the function in messages; a tail call would have no position.
local function caller(name)
  local text = "local eventring, returned = ... return function(...) return returned(eventring.%s(...)) end"
  return (loadstring or load)(text:format(name), "=caller")(eventring, function(...) return ... end)
end

local function try(name, ...)
  say(name .. "(" .. select("#", ...) .. ")", pcall(caller(name), ...))
end

local function direct(name, f) say(name, pcall(f)) end

-- ---- the recording ------------------------------------------------------------------------
try("stop")
try("pause")
try("resume")
try("classes")
try("path")
try("triggers")
try("triggers", 0.5)
try("triggers", "x")
try("cursor")
try("cursor", 5)
try("cursor", { pid = 2147483647 })
try("cursor", { pid = 1, path = "x" })
try("cursor", { pid = "x" })
try("cursor", { pid = 1.5 })
try("cursor", { pid = 0 })
try("cursor", { path = true })
try("cursor", { path = "/there is no such file" })
try("cursor", { pfad = "x" })
try("start", 5)
try("start", { strem = 1 })
try("start", { stream = 5 })
for _, class in ipairs { "alloc", "calls", "domain", "ffi", "finalizers", "gc", "gc_detail", "io", "lifecycle", "load", "user" } do
  try("enable", class)
  try("disable", class)
end
try("enable")
try("enable", {})
try("enable", "none")
try("disable", "none")

-- ---- probes -------------------------------------------------------------------------------
local names = { 5, 1.5, "", ("x"):rep(95), ("x"):rep(96), "a\nb", "a\0b", "a\127", "a\255", "\195\164",
  "\194\133", "\226\128\168", "\239\191\190", "\244\143\191\191", "\244\144\128\128", "\237\160\128",
  "\224\159\191", "\240\143\191\191", "\192\128", "\195", "\226\130", "\240\159\152", "\128", "ok", "ok" }
for _, name in ipairs(names) do
  try("begin_span", name)
  try("end_span", name)
  try("counter", name, 1)
  try("event", name)
  try("async_begin", name, 1)
  try("async_end", name, 1)
  try("span", name, function() end)
  try("span", { name = name })
end
for _, probe in ipairs { "begin_span", "end_span", "counter", "event", "async_begin", "async_end", "span" } do
  try(probe)
  try(probe, nil)
  try(probe, true)
  try(probe, {}, {})
  for _, value in ipairs { 1, 1.5, -2 ^ 70, "text", "12", "0x10", "0x", " 5 ", true, {} } do
    try(probe, "known", value)
    try(probe, "known", 1, value)
    try(probe, "another", value, value)
  end
  try(probe, "known", nil)
end
try("end_span", "never begun")

-- ---- spans --------------------------------------------------------------------------------
local function pass(...) return ... end
try("span", "x", pass, 1, nil, 3, nil)
try("span", { name = "x" }, pass, 1, nil, 3, nil)
try("span", { name = "x", value = 5 }, pass)
try("span", { name = "x", value = "text" })
try("span", { name = 5 })
try("span", { name = "x", value = {} })
try("span", { name = "x", value = false })
try("span", { name = "x", valeu = 1 })
try("span", { name = "x", [1] = 1 })
try("span", { name = "x", ["a\0\n"] = 1 })
local header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
for _, traceparent in ipairs { header, "not one", true, false, 5, {} } do
  try("span", { name = "x", traceparent = traceparent }, pass, 1)
  try("begin_span", "x", { traceparent = traceparent, value = 1 })
end
try("begin_span", "x", {})
try("begin_span", "x", { value = false })
try("begin_span", "x", { valeu = 1 })
try("begin_span", {}, {})
try("begin_span", "x", print)
try("traceparent")
try("span", { name = "x" }, nil)
try("span", "x", setmetatable({}, { __call = function(_, ...) return ... end }), 1, 2)
try("span", "x", error, "text", 0)
direct("span: an error", function() eventring.span("x", function() error("here") end) end)
direct("span: an error that is a table", function() eventring.span("x", function() error({}) end) end)
say("span: a coroutine yields", (function()
  local thread = coroutine.create(function(...)
    return eventring.span("x", function(...) return coroutine.yield(...) end, ...)
  end)
  local _, first = coroutine.resume(thread, "first")
  local _, second, third = coroutine.resume(thread, "second", "third")
  return first, second, third, coroutine.status(thread)
end)())

-- ---- triggers, measuring ------------------------------------------------------------------
try("trigger")
try("trigger", 5)
try("trigger", {})
try("trigger", { on = 1 })
try("trigger", { on = "error", mox = 1 })
try("trigger", { on = "error", max = "x" })
try("trigger", { on = "error", dir = 1 })
try("trigger", { on = "error", cooldown = {} })
try("untrigger")
try("untrigger", {})
try("untrigger", "x")
try("untrigger", 5)
try("untrigger", 5.5)
try("measure")
try("measure", nil)
try("measure", pass)
direct("measure: an error", function() eventring.measure(function() error("here") end) end)
say("measure: results", (function()
  local results = eventring.measure(pass, 1, nil, 3, nil).results
  return results.n, results[1], results[2], results[3], results[4]
end)())
try("expect")
try("expect", "count(major) == 0")
try("expect", 5, pass)
try("expect", { 5 }, pass)
try("expect", {}, pass, 1, nil, 3)
try("expect", {}, nil)
direct("expect: an error", function() eventring.expect("count(major) == 0", function() error("here") end) end)
