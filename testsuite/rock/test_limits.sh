# SPDX-License-Identifier: MIT
# Limits of tests with the modules saros.busted and saros.luaunit of the rock: they hold or fail on
# Saros, in other Luas the tests run and are skipped. Debian's busted and LuaUnit; LUAUNIT names
# the folder of another luaunit.lua to try.
. "$TESTSUITE/_checks.sh"
set -u
skip() { echo "skipped: $*"; exit 77; }
have_busted=; [ ! -e /usr/bin/busted ] || have_busted=yes
have_luaunit=; [ ! -e /usr/share/lua/5.4/luaunit.lua ] || have_luaunit=yes
[ -n "$have_busted$have_luaunit" ] || skip "no framework is installed (Debian packages: lua-busted, lua-unit)"

here=$TESTSUITE/rock
export LUA_PATH="$SRCDIR/rock/saros-eventring/?.lua;${LUAUNIT:+$LUAUNIT/?.lua;};"
others=
for lua in lua5.1 lua5.3 lua5.4 luajit; do command -v $lua >/dev/null && others="$others $lua"; done

# verdicts FILE: `ok NAME`, `not ok NAME`, of a test that was skipped `skip`, a line each
verdicts() {
  sed -nE 's/^ok [0-9]+[ \t]+-? ?# SKIP.*/skip/p; t
           s/^(ok|not ok) +[0-9]+[ \t]+(- )?/\1 /p' "$1"
}

# run NAME COMMAND...: standard output and error to NAME.out and NAME.err
run() { "${@:2}" >"$1.out" 2>"$1.err"; echo "status $?" >>"$1.out"; }

# row TEXT FILE: the words that stand before the name of the test
row() { awk -v name="$1" 'index($0, name) && !found { print $1; found = 1 }' "$2"; }

# What the report says, of the same tests in both frameworks
check_report() { # NAME PREFIX LONG SHORT
  local words few
  has "$1: report" "those that allocated most:" "$(cat "$1.err")"
  has "$1: report" "those with the longest pauses of the collector:" "$(cat "$1.err")"
  words=$(row "$3" "$1.err") few=$(row "$4" "$1.err")
  [ "${words:-0}" -ge 8000 ] || fail "$1: the test without a limit allocated ${words:-nothing} words"
  [ -z "$few" ] || [ "$few" -lt "${words:-0}" ] || fail "$1: $few words of few are not below $words"
  is "$1: the first row is that with most" "$3" \
    "$(sed -n '/allocated most/{n;n;p}' "$1.err" | sed -E 's/^ *[0-9]+ +[0-9.]+ ms +[0-9.]+ ms  //')"
}

if [ -n "$have_busted" ]; then
  run busted "$SAROS" /usr/bin/busted -o TAP "$here/limits_spec.lua"
  is "busted on Saros" "ok limits few words
not ok limits too many words
ok limits time enough
not ok limits no time
ok limits no collection
not ok limits a collection
ok limits all hold
not ok limits two do not
not ok limits fails by itself
not ok limits raises
ok limits without a limit
skip" "$(verdicts busted.out)"
  has "words" "limits_spec.lua:13: it allocated " "$(cat busted.out)"
  has "words" " words, and may allocate 10" "$(cat busted.out)"
  has "time" "limits_spec.lua:15: it took " "$(cat busted.out)"
  has "collections" "limits_spec.lua:17: major collections began: 1, and none may" "$(cat busted.out)"
  has "a second limit" "# major collections began: 1, and none may" "$(cat busted.out)"
  has "what a test itself says" "limits_spec.lua:26: says why" "$(cat busted.out)"
  check_report busted limits "limits without a limit" "limits few words"

  # As a helper it measures tests that know nothing of it, in all files, in one report.
  echo 'describe("plain", function() it("one", function() local t = {} for i = 1, 5000 do t[i] = {} end end) end)' >one_spec.lua
  echo 'describe("plain", function() it("two", function() end) end)' >two_spec.lua
  cp "$here/limits_spec.lua" .
  run helper "$SAROS" /usr/bin/busted --helper=saros.busted -o TAP one_spec.lua limits_spec.lua two_spec.lua
  is "reports" 1 "$(grep -c "allocated most" helper.err)"
  has "tests of all files" "plain one" "$(cat helper.err)"
  is "tests measured" "saros: tests measured: 11" "$(grep measured: helper.err)"

  # Without the collector's events nothing is known of collections; words are counted all the same.
  export SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=user
  run user "$SAROS" /usr/bin/busted -o TAP "$here/limits_spec.lua"
  unset SAROS_EVENTRING_START SAROS_EVENTRING_CLASSES
  has "class gc is off" "limits_spec.lua:16: whether a major collection began is not known: class 'gc'" "$(cat user.out)"
  has "class gc is off: words" "limits_spec.lua:13: it allocated " "$(cat user.out)"
  # Where no recording can be made, limits fail, and other tests run.
  SAROS_EVENTRING_PREFIX=$PWD/absent run nowhere "$SAROS" /usr/bin/busted --helper=saros.busted -o TAP limits_spec.lua one_spec.lua
  is "no recording: limits" 11 "$(grep -c "its limits cannot be checked: .*/absent" nowhere.out)"
  is "no recording: other tests" "ok limits without a limit
ok plain one" "$(verdicts nowhere.out | grep '^ok')"
  is "no recording: no report" "" "$(cat nowhere.err)"

  for lua in $others; do
    $lua -e 'require "busted"' 2>/dev/null || continue # its modules in C are not for that one
    run $lua $lua /usr/bin/busted -o TAP "$here/limits_spec.lua"
    is "busted on $lua" "skip
skip
skip
skip
skip
skip
skip
skip
not ok limits fails by itself
not ok limits raises
ok limits without a limit
skip" "$(verdicts $lua.out)"
    has "busted on $lua: why" "limits_spec.lua:12: its limits were not checked: the stub" "$(cat $lua.out)"
    is "busted on $lua: no report" "" "$(cat $lua.err)"
  done
fi

if [ -n "$have_luaunit" ]; then
  run luaunit "$SAROS" "$here/limits_luaunit.lua" -o tap
  is "LuaUnit on Saros" "not ok TestLimits.test_a_collection
not ok TestLimits.test_fails_by_itself
ok TestLimits.test_few_words
ok TestLimits.test_no_collection
not ok TestLimits.test_no_time
not ok TestLimits.test_raises
ok TestLimits.test_self
ok TestLimits.test_time_enough
not ok TestLimits.test_too_many_words
ok TestLimits.test_without_a_limit
ok test_function" "$(verdicts luaunit.out)"
  has "LuaUnit: words" "limits_luaunit.lua:14: it allocated " "$(cat luaunit.out)"
  has "LuaUnit: failures and an error" "6 successes, 4 failures, 1 error" "$(cat luaunit.out)"
  check_report luaunit TestLimits. "TestLimits.test_without_a_limit" "TestLimits.test_few_words"
  is "LuaUnit: rows of a report of 3" 3 "$(sed -n '/allocated most/,/longest pauses of/p' luaunit.err | grep -c "Test")"

  for lua in $others; do
    run $lua $lua "$here/limits_luaunit.lua" -o tap
    is "LuaUnit on $lua" "not ok TestLimits.test_fails_by_itself
not ok TestLimits.test_raises
ok TestLimits.test_without_a_limit" "$(verdicts $lua.out | grep -v '^skip$')"
    has "LuaUnit on $lua: skipped" "8 skipped" "$(cat $lua.out)"
    has "LuaUnit on $lua: why" "its limits were not checked: the stub" "$(cat $lua.out)"
    is "LuaUnit on $lua: no report" "" "$(cat $lua.err)"
  done
fi

# Wrong arguments of limits
for call in 'limit_words("x", print)' 'limit_words(-1, print)' 'limit_time(0/0, print)' 'limit_words(1)' 'no_major()' 'report("x")'; do
  has "$call" "bad argument" "$("$SAROS" -e "local l = require 'saros.limits'.new {}; print(pcall(function() l.$call end))")"
done
finish
