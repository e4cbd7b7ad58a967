-- SPDX-License-Identifier: MIT
-- saros/limits.lua: limits for single tests, and a report of what tests cost, for any framework.
-- saros/busted.lua and saros/luaunit.lua are made of it.
--
--   limits.new { fail = function(message), skip = function(reason) } -> functions of a framework
--
-- `fail` and `skip` end the running test by raising what the framework takes for a failure and
-- for a skipped test. A limit is a function around the function of a test; limits around limits
-- are joined, so that a test is measured once. Where there is only the stub of saros.eventring
-- the test runs, so that what it asserts is checked, and is skipped at its end.

local eventring = require "saros.eventring"

local unpack = table.unpack or unpack

local limits = {}

-- Function with limits -> {f = function of the test, words =, seconds =, no_major =}
local limits_of = setmetatable({}, { __mode = "k" })
-- Functions that measure already, as keys
local measures = setmetatable({}, { __mode = "k" })

local function copy(from)
  local to = {}
  for key, value in pairs(from) do to[key] = value end
  return to
end

-- ---- what is wrong ---------------------------------------------------------------------------

local function seconds_text(seconds) return ("%.6f s"):format(seconds) end
local function ms_text(ns) return ("%.3f ms"):format(ns / 1e6) end

-- Whether the recording that goes on leaves out what the collector does.
local function is_gc_off()
  local classes = eventring.classes()
  return classes and not classes.gc
end

-- Why nothing can be measured, or nil; found out once, as a recording is made for it.
local fault_of_recording
local function cannot_measure()
  if fault_of_recording == nil then
    fault_of_recording = false
    if not eventring.classes() then -- nothing is recorded
      local started, message = eventring.start()
      if started then eventring.stop() else fault_of_recording = message end
    end
  end
  return fault_of_recording
end

-- A line for each limit that does not hold, or nil.
local function faults(limit, cost)
  local found = {}
  local function add(...) found[#found + 1] = (...):format(select(2, ...)) end
  if limit.words and cost.words > limit.words then
    add("it allocated %.0f words, and may allocate %.0f", cost.words, limit.words)
  end
  if limit.seconds and cost.time_ns > limit.seconds * 1e9 then
    add("it took %s, and may take %s", seconds_text(cost.time_ns / 1e9),
        seconds_text(limit.seconds))
  end
  if limit.no_major and cost.major > 0 then
    add("major collections began: %d, and none may", cost.major)
  elseif limit.no_major and cost.lost > 0 then
    add("whether a major collection began is not known: %d events were lost", cost.lost)
  elseif limit.no_major and is_gc_off() then
    add("whether a major collection began is not known: class 'gc' is not recorded")
  end
  return #found > 0 and table.concat(found, "\n") or nil
end

-- Where the function begins, as messages of errors say it.
local function place(f)
  local info = type(f) == "function" and debug.getinfo(f, "S")
  return info and info.what ~= "C" and ("%s:%d: "):format(info.short_src, info.linedefined) or ""
end

-- ---- the report ------------------------------------------------------------------------------

local columns = "%14s %14s %12s  %s\n"

-- Those of which the field is not 0, the greatest first
local function add_rows(lines, costs, title, field, most)
  local sorted = {}
  for _, cost in ipairs(costs) do
    if cost[field] > 0 then sorted[#sorted + 1] = cost end
  end
  if #sorted == 0 then return end
  table.sort(sorted, function(a, b)
    if a[field] ~= b[field] then return a[field] > b[field] end
    return a.order < b.order
  end)
  lines[#lines + 1] = title .. "\n" .. columns:format("words", "longest pause", "time", "test")
  for i = 1, math.min(most, #sorted) do
    local cost = sorted[i]
    lines[#lines + 1] = columns:format(("%.0f"):format(cost.words), ms_text(cost.longest_pause_ns),
                                       ms_text(cost.time_ns), cost.name)
  end
end

-- The two tables, of at most so many tests; nil: nothing was measured.
local function report_text(costs, most)
  if #costs == 0 or most == 0 then return nil end
  local lines = {}
  lines[1] = ("\nsaros: tests measured: %d\n"):format(#costs)
  add_rows(lines, costs, "those that allocated most:", "words", most)
  add_rows(lines, costs, "those with the longest pauses of the collector:", "longest_pause_ns",
           most)
  return table.concat(lines)
end

-- ---- a framework -----------------------------------------------------------------------------

-- NaN is no limit, either.
local function check_limit(name, value)
  if type(value) ~= "number" or not (value >= 0) then
    error("bad argument #1 to '" .. name .. "' (number that is not negative expected, got " ..
          (type(value) == "number" and tostring(value) or type(value)) .. ")", 3)
  end
end

-- new(framework) -> {limit_words =, limit_time =, no_major =, report =} for those who write tests,
-- and for the adapter `measured`, `text`.
function limits.new(framework)
  local self = { name = "?", costs = {}, most = 10 }

  local function note(cost)
    local costs = self.costs
    costs[#costs + 1] = { name = self.name, order = #costs, words = cost.words,
                          time_ns = cost.time_ns, longest_pause_ns = cost.longest_pause_ns }
  end

  local function run(limit, ...)
    if eventring.stub then
      limit.f(...)
      return framework.skip(place(limit.f) .. "its limits were not checked: " .. eventring.stub)
    end
    if cannot_measure() then
      return framework.fail(place(limit.f) .. "its limits cannot be checked: " .. cannot_measure())
    end
    if limit.no_major then collectgarbage() end -- the collection of what others left
    local cost = eventring.measure(limit.f, ...)
    note(cost)
    local text = faults(limit, cost)
    if text then framework.fail(place(limit.f) .. text) end
    return unpack(cost.results, 1, cost.results.n)
  end

  local function limited(field, value, f)
    local limit = copy(limits_of[f] or { f = f })
    if limit[field] == nil or type(value) == "number" and value < limit[field] then
      limit[field] = value
    end
    local function limited_test(...) return run(limit, ...) end
    limits_of[limited_test] = limit
    return limited_test
  end

  local function check_test(name, number, f)
    if type(f) ~= "function" then
      local text = "bad argument #%d to '%s' (function expected, got %s)"
      error(text:format(number, name, type(f)), 3)
    end
  end

  -- limit_words(words, f) -> f that may allocate at most so many words of 8 bytes
  function self.limit_words(words, f)
    check_limit("limit_words", words)
    check_test("limit_words", 2, f)
    return limited("words", words, f)
  end

  -- limit_time(seconds, f) -> f that may take at most so long
  function self.limit_time(seconds, f)
    check_limit("limit_time", seconds)
    check_test("limit_time", 2, f)
    return limited("seconds", seconds, f)
  end

  -- no_major(f) -> f in which no major collection may begin. A full collection precedes it.
  function self.no_major(f)
    check_test("no_major", 1, f)
    return limited("no_major", true, f)
  end

  -- report(most): how many tests each table of the report has; 0: there is no report
  function self.report(most)
    check_limit("report", most)
    self.most = most
  end

  -- measured(name, f) -> f that is measured for the report
  function self.measured(name, f)
    if measures[f] then return f end
    local function measured_test(...)
      self.name = name
      if eventring.stub or limits_of[f] or cannot_measure() then return f(...) end
      local cost = eventring.measure(f, ...)
      note(cost)
      return unpack(cost.results, 1, cost.results.n)
    end
    measures[measured_test] = true
    return measured_test
  end

  -- text() -> the report, or nil; another one begins
  function self.text()
    local text = report_text(self.costs, self.most)
    self.costs = {}
    return text
  end

  return self
end

return limits
