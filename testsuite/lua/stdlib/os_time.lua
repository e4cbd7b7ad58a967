-- SPDX-License-Identifier: MIT
-- os: date, time, clock, difftime.

local fails = require "_fails"

do -- UTC dates of known moments
  assert(os.date("!%Y-%m-%d %H:%M:%S", 0) == "1970-01-01 00:00:00")
  assert(os.date("!%Y-%m-%dT%H:%M:%SZ", 1700000000) == "2023-11-14T22:13:20Z")
  assert(os.date("!%a %A %b %B %d %j %p %y %%", 0) == "Thu Thursday Jan January 01 001 AM 70 %")
  assert(os.date("!%c", 0) == "Thu Jan  1 00:00:00 1970" and
    os.date("!%x %X", 0) == "01/01/70 00:00:00")
  assert(os.date("!%D %e %F %T %R %C %G %V %u %w", 0) ==
    "01/01/70  1 1970-01-01 00:00:00 00:00 19 1970 01 4 4")
  assert(os.date("!%Ex %EY %Od", 0) == "01/01/70 1970 01")
  assert(os.date("!\0%Y\0", 0) == "\0001970\0" and os.date("") == "" and
    os.date("!plain", 0) == "plain")
  assert(os.date("!%n%t", 0) == "\n\t")
  local t = os.date("!*t", 86400 * 200 + 3661)
  assert(t.year == 1970 and t.month == 7 and t.day == 20 and t.hour == 1 and
    t.min == 1 and t.sec == 1)
  assert(t.wday == 2 and t.yday == 201 and t.isdst == false)
  assert(os.date("!*t", -1).year == 1969)
  assert(#os.date() > 0 and os.date("%Y"):find("^%d%d%d%d+$"))
  assert(os.date(("!%Y"):rep(300), 0) == ("1970!"):rep(299) .. "1970")
end

do -- what date refuses
  for _, bad in ipairs { "%", "%9", "%Q", "%E", "%O", "%Ea", "%Oc", "%Ez", "%i" } do
    fails("invalid conversion specifier '" .. bad .. "'", os.date, bad)
  end
  fails("invalid conversion specifier '%Ez def'", os.date, "abc%Ez def")
  fails("number has no integer representation", os.date, "%d", 1.5)
  fails("number expected, got string", os.date, "%d", "x")
  fails("date result cannot be represented in this installation", os.date, "!*t", 1 << 60)
  fails("date result cannot be represented in this installation", os.date, "*t", math.maxinteger)
end

do -- time: there and back, and fields made normal
  local now = os.time()
  assert(math.type(now) == "integer" and os.time(os.date("*t", now)) == now)
  for _, moment in ipairs { 0, 951782400, 1700000000, 1719835200, 4102444800 } do
    assert(os.time(os.date("*t", moment)) == moment)
  end
  local t = { year = 2024, month = 14, day = -3, hour = 30, min = -70, sec = 4000 }
  local moment = os.time(t)
  assert(t.year == 2025 and t.month == 1 and t.day == 29 and t.hour == 5 and
    t.min == 56 and t.sec == 40)
  assert(t.wday == 4 and t.yday == 29 and os.time(t) == moment)
  local base = os.time { year = 2020, month = 1, day = 1, hour = 0 }
  assert(os.time { year = 2020, month = 1, day = 1 } - base == 12 * 3600,
    "noon when no hour is given")
  assert(os.time { year = 2020, month = 1, day = 2, hour = 0 } - base == 86400)
  assert(os.time { year = "2020", month = "01", day = 1.0, hour = "0x0" } == base)
  assert(os.date("%Y-%m-%d", os.time { year = 2000, month = 2, day = 30 }) == "2000-03-01")
  local through_index = setmetatable({},
    { __index = { year = 2020, month = 1, day = 1, hour = 0 } })
  assert(os.time(through_index) == base)
end

do -- what time refuses
  fails("field 'year' missing in date table", os.time, {})
  fails("field 'month' missing in date table", os.time, { year = 2000 })
  fails("field 'day' missing in date table", os.time, { year = 2000, month = 1 })
  fails("field 'month' is not an integer", os.time, { year = 2000, month = "x", day = 1 })
  fails("field 'day' is not an integer", os.time, { year = 2000, month = 1, day = 1.5 })
  fails("field 'min' is not an integer", os.time, { year = 2000, month = 1, day = 1, min = {} })
  fails("field 'year' is not an integer", os.time, { year = 1e50 })
  fails("field 'year' is out-of-bound", os.time, { year = 1 << 40, month = 1, day = 1 })
  fails("field 'year' is out-of-bound", os.time, { year = -(1 << 31), month = 1, day = 1 })
  fails("field 'month' is out-of-bound", os.time, { year = 2000, month = (1 << 31) + 1, day = 1 })
  fails("field 'hour' is out-of-bound", os.time,
    { year = 2000, month = 1, day = 1, hour = math.mininteger })
  fails("table expected, got number", os.time, 1)
  fails("time result cannot be represented in this installation", os.time,
    { year = 1969, month = 12, day = 31, hour = 23, min = 59,
    sec = 59 - os.time { year = 1970, month = 1, day = 1, hour = 0 } })
  local t = { year = (1 << 31) + 1899, month = 12, day = 31, hour = 0 }
  assert(os.time(t) > 1 << 50 and t.year == (1 << 31) + 1899, "the last year there is")
end

do -- clocks
  local before = os.clock()
  local x = 0
  for i = 1, 100000 do x = x + i end
  assert(os.clock() >= before and math.type(before) == "float")
  assert(os.difftime(5, 3) == 2.0 and math.type(os.difftime(5, 3)) == "float" and
    os.difftime(3, 5) == -2.0)
  fails("bad argument #2", os.difftime, 1)
  fails("number has no integer representation", os.difftime, 1.5, 1)
end
print "OK"
