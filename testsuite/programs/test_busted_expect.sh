# SPDX-License-Identifier: MIT
# eventring.expect and measure in specs that Debian's lua-busted runs: what holds passes, what
# does not is a failure that names the rule.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/busted lua-busted
need "$modules/5.4/luassert/init.lua" lua-luassert
unset LUA_CPATH SAROS_EVENTRING_START
cat >expect_spec.lua <<'END'
local eventring = require "saros.eventring"
describe("a request", function()
  it("holds", function()
    eventring.expect({ "count(major) == 0", "lost == 0" }, function() return {} end)
    assert.is_true(eventring.measure(function() end).time_ns > 0)
  end)
  it("does not hold", function() eventring.expect("count(major) == 0", collectgarbage) end)
end)
END
"$SAROS" /usr/bin/busted -o TAP expect_spec.lua >out.txt 2>&1
grep -q "^ok 1 - a request holds" out.txt || fail "what holds: $(cat out.txt)"
grep -q "^not ok 2 - a request does not hold" out.txt || fail "what does not: $(cat out.txt)"
grep -q "expected count(major) == 0: it was" out.txt || fail "which rule: $(cat out.txt)"
comparisons=3 # with what is expected
finish
