-- SPDX-License-Identifier: MIT
-- What differs on purpose between Saros and the lua5.4 it is compared with, in one
-- place. doc/LUA.md says the same to users. Each rule has its reason.

local Differences = {}

-- A program whose log (under lua5.4) has one of these is not compared; `always`: nor with
-- itself, while it is watched.
Differences.skipped = {
  { "stack overflow", "how deep calls may nest differs (doc/LUA.md, Limits)", always = true },
  { "not enough memory", "what memory suffices for differs", always = true },
  { "error in error handling",
      "how often a handler that fails is called again depends on the C stack there", always = true },
  { "C stack overflow", "the same", always = true },
  { "out of fuel", "what runs after the end of the fuel is not worth comparing" },
  { '"attempt to call a nil value"',
      "5.4.4 calls this in vararg functions when __concat returned nil amidst of a .. b .. c" },
}

-- Nor one whose text matches one of these patterns.
Differences.skipped_texts = {
  { ", C%b() do%s.*%f[%w]break%f[%W]",
      "5.4.4 loses the closing value of a generic for that is left by break" },
  { "[%w%)%]]%s*%-%s*%(?0%f[^%w.]", "the reference adds -0 for `a - 0`, which makes 0.0 of -0.0 (doc/LUA.md)" },
}

-- Both logs are rewritten by these before they are compared: { pattern, replacement, reason }.
Differences.rewritten = {
  { "[%w?=]+:[%d?-]+: (attempt to divide by zero)", "%1", "5.4.4 may name an earlier line" },
  { "[%w?=]+:[%d?-]+: (attempt to perform 'n[/%%]+0')", "%1", "5.4.4 may name an earlier line" },
  { "bad argument #%d to 'fmod' %b()", "bad argument to 'fmod'",
      "which of two wrong arguments is named (doc/LUA.md)" },
  { "bad argument #%d to 'gsub' %b()", "bad argument to 'gsub'", "the same" },
  { "(attempt to concatenate a %w+ value) %(local '[%w_]+'%)", "%1",
      "5.4.4 may not name it when a __concat ran before" },
  { "bad argument #[12] to 'remove'", "bad argument # to 'remove'",
      "5.4.4 names #1, 5.4.8 and Saros #2" },
  { "(%(to close '%(' at line )%d+", "%1",
      "of a call whose ( is on a later line 5.4.4 names the line of the function; 5.4.8 and Saros do not" },
}

-- Why a program is not compared; `same`: with the same interpreter.
function Differences.skip(log, text, same)
  for _, rule in ipairs(same and {} or Differences.skipped_texts) do
    if text:find(rule[1]) then return rule[2] end
  end
  for _, rule in ipairs(Differences.skipped) do
    if (rule.always or not same) and log:find(rule[1], 1, true) then return rule[2] end
  end
end

function Differences.rewrite(log)
  for _, rule in ipairs(Differences.rewritten) do log = log:gsub(rule[1], rule[2]) end
  return log
end

return Differences
