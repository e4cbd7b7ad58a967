-- SPDX-License-Identifier: MIT
-- Tests with limits, for busted: test_limits.sh knows which of them hold.
local limits = require "saros.busted"

local kept
local function allocate(tables)
  kept = {}
  for i = 1, tables do kept[i] = { i, i, i, i } end
end

describe("limits", function()
  it("few words", limits.limit_words(100000, function() allocate(10) end))
  it("too many words", limits.limit_words(10, function() allocate(1000) end))
  it("time enough", limits.limit_time(3600, function() allocate(10) end))
  it("no time", limits.limit_time(0, function() allocate(10) end))
  it("no collection", limits.no_major(function() allocate(10) end))
  it("a collection", limits.no_major(function() collectgarbage() end))
  it("all hold", limits.limit_time(3600, limits.no_major(limits.limit_words(100000, function() allocate(10) end))))
  it("two do not", limits.limit_words(10, limits.no_major(limits.limit_words(100000, function()
    allocate(1000)
    collectgarbage()
  end))))
  it("fails by itself", limits.limit_words(100000, function() assert.are.equal(1, 2) end))
  it("raises", limits.limit_words(100000, function() error("an error of the test") end))
  it("without a limit", function() allocate(2000) end)
  it("a body that is pending", limits.limit_words(1, function() pending("says why") end))
end)
