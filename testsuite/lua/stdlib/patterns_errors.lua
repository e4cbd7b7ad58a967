-- SPDX-License-Identifier: MIT
-- Patterns that are malformed, or too much.

local function fails(pattern, expected, subject)
  local ok, message = pcall(string.find, subject or "a", pattern)
  assert(not ok, pattern)
  assert(message:find(expected, 1, true), message)
end

local function all_fail(rows)
  for _, row in ipairs(rows) do fails(table.unpack(row)) end
end

all_fail {
  {"(.", "unfinished capture"}, {"(a", "unfinished capture"}, {"()(.", "unfinished capture"},
  {".)", "invalid pattern capture"}, {"(.))", "invalid pattern capture"},
  {"[a", "malformed pattern (missing ']')"}, {"[]", "malformed pattern (missing ']')"},
  {"[^]", "malformed pattern (missing ']')"}, {"[a%]", "malformed pattern (missing ']')"},
  {"[a%", "malformed pattern (missing ']')"}, {"%f[a", "malformed pattern (missing ']')"},
  {"%b", "malformed pattern (missing arguments to '%b')"},
  {"%ba", "malformed pattern (missing arguments to '%b')"},
  {"%", "malformed pattern (ends with '%')"}, {"a%", "malformed pattern (ends with '%')"},
  {"%f", "missing '[' after '%f' in pattern"}, {"%fa", "missing '[' after '%f' in pattern"},
  {"%1", "invalid capture index %1"}, {"(%1)", "invalid capture index %1"},
  {"(%0)", "invalid capture index %0"}, {"(.)%2", "invalid capture index %2", "ab"},
  {("(a)"):rep(33), "too many captures", ("a"):rep(33)},
}

-- a fault that matching does not get to does not matter
assert(not string.find("a", "b["))
assert(not string.find("a", "b%"))
assert(not string.find("a", "b(.))"))
assert(not string.find("", ".(%1)"))
assert(string.gsub("abc", "d%", "") == "abc")

-- unfinished captures are errors only where they are used
assert(not pcall(string.match, "a", "(a"))
assert(not pcall(string.gsub, "a", "(a", "%1"))
assert(string.gsub("aa", "(a", "x") == "xx")

do -- depth: as many repetitions as can be open at once
  local function optional(n) return pcall(string.match, ("a"):rep(n), (".?"):rep(n)) end
  local ok, result = optional(80)
  assert(ok and #result == 80)
  ok, result = optional(200000)
  assert(not ok and result:find("pattern too complex", 1, true))
  -- and the same state goes on working
  assert(("abc"):match("b"))
  -- items that do not have to be tried again are not limited
  assert(("ab"):rep(2000):match(("a+b+"):rep(2000)) == ("ab"):rep(2000))
  ok, result = pcall(string.rep, "x", 10)
  assert(ok and result == "xxxxxxxxxx")
end

do -- errors inside the iterator and the replacement loop
  local ok, message = pcall(function() for _ in ("ab"):gmatch("a(") do end end)
  assert(not ok and message:find("unfinished capture", 1, true))
  ok, message = pcall(string.gsub, "ab", "b[", "x")
  assert(not ok and message:find("missing ']'", 1, true))
end
print "OK"
