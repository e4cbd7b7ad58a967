-- SPDX-License-Identifier: MIT
-- The ways to write a span: by its name, with a value, of a function, until a variable is closed,
-- and the end of the innermost one.
local eventring = require "saros.eventring"
local expect = require "_expect"
local begin_span, end_span, span = eventring.begin_span, eventring.end_span, eventring.span

-- Each begin with its value, each end; in the order in which they are written.
local expected = "+one +two=2 -two -one " ..
  "+outer=path +inner=1.5 -inner -outer " ..
  "+raises=x -raises " ..
  "+scope=7 +bare -bare -scope " ..
  "+loop=1 -loop +loop=2 -loop " ..
  "+yields=3 -yields " ..
  "+a +b +c -b -c -a"

local function write_all()
  begin_span "one"
  begin_span("two", 2)
  end_span()
  end_span()
  local function sum(a, b)
    return a + b, span({ name = "inner", value = 1.5 }, function(...) return ... end, "x", nil, "z")
  end
  local results = table.pack(span({ name = "outer", value = "path" }, sum, 3, 4))
  assert(results.n == 4 and results[1] == 7 and results[2] == "x" and results[4] == "z")
  local ok, why = pcall(span, { name = "raises", value = "x" }, error, "E")
  assert(not ok and why == "E")
  do
    local scope <close> = span { name = "scope", value = 7 }
    local bare <close> = span { name = "bare" }
  end
  for i = 1, 2 do
    local loop <close> = span { name = "loop", value = i }
    if i == 2 then break end
  end
  -- a function that yields
  local co = coroutine.wrap(span)
  assert(co({ name = "yields", value = 3 }, coroutine.yield, "out") == "out" and co("in") == "in")
  -- the innermost that is open, whatever ended before
  begin_span "a"; begin_span "b"; begin_span "c"; end_span "b"; end_span(); end_span()
end

local function wrong_arguments()
  local function wrong(why, ...)
    expect(("bad argument #1 to 'eventring.span' (%s)"):format(why), span, ...)
  end
  wrong("field 'name' is not a string", {})
  wrong("field 'name' is not a string", { name = 5 }, print)
  wrong("field 'value' is not a number or string", { name = "s", value = true }, print)
  wrong("no field 'valeu'; did you mean 'value'?", { name = "s", valeu = 1 }, print)
  wrong("no field '1'", { "s" }, print)
  wrong("an event name must have 1 to 95 bytes", { name = "" }, print)
  expect("attempt to call a nil value", span, { name = "s" }, nil)
  expect("bad argument #1 to 'eventring.end_span' (string expected, got nil)", end_span, nil)
end

-- More than are kept: the ends are those of the 64 innermost.
local function nest(depth)
  for i = 1, depth do begin_span("level " .. i) end
  for _ = 1, depth do end_span() end
end

local recorded = eventring.path()
if not recorded then -- the same, and nothing happens
  write_all()
  wrong_arguments()
  end_span()
end
if not recorded and not eventring.start() then return end -- told by other tests

local cursor = assert(eventring.cursor())
cursor:poll {}
local function seen()
  local all = {}
  cursor:poll {
    user_begin = function(_, _, name, _, value)
      all[#all + 1] = "+" .. name .. (value and "=" .. value or "")
    end,
    user_end = function(_, _, name) all[#all + 1] = "-" .. name end,
    lost_events = function() error "lost" end,
  }
  return table.concat(all, " ")
end

for _ = 1, 2 do -- names that are new, and known
  write_all()
  local found = seen()
  assert(found == expected, ("%s\ninstead of\n%s"):format(found, expected))
end
wrong_arguments()
end_span() -- none is open
assert(seen() == "+s -s", "the one whose function was nil")

-- What closes a span takes nothing else.
do
  local scope <close> = span { name = "scope" }
  for _, other in ipairs { 5, "x", {}, io.stdout, print } do
    local ok, why = pcall(getmetatable(scope).__close, other)
    assert(not ok and why:find("(span expected, got ", 1, true), why)
  end
end
assert(seen() == "+scope -scope")

nest(64)
local _, begins = seen():gsub("%+", "")
assert(begins == 64)

-- Each coroutine ends its own.
begin_span "main"
coroutine.wrap(function()
  end_span()
  begin_span "other"
  end_span()
end)()
end_span()
assert(seen() == "+main +other -other -main")

assert(cursor:info().torn == 0)

-- The end of a span is noted while the recording is paused: another one writes nothing.
begin_span "before"
eventring.pause()
end_span()
eventring.resume()
seen()
end_span()
assert(seen() == "")

nest(70) -- the six outermost stay open
local _, ends = seen():gsub("%-level", "")
assert(ends == 64)
