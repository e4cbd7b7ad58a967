# SPDX-License-Identifier: MIT
# The tests of the C API among the reference's scripts: those that call it through the module T,
# which _reference_library.c has. LUA_REFERENCE_TESTS: the folder `testes` of github lua/lua, tag
# v5.4.8. _reference_expected.txt has the lines that are left out: they ask for internals.
. "$TESTSUITE/tools/_installed.sh"

cc -O1 -g -Wall -Wextra -Werror $(pkg-config --cflags saros) "$TESTSUITE/embedding/_reference_library.c" \
  $(pkg-config --libs saros) -Wl,-rpath,"$(dirname "$pkgconfig")" -o reference || { fail "cc: $?"; finish; }

# What the language of T is needs no script of the reference.
cat >own.lua <<'OWN'
-- sizes, calls, errors, threads, continuations, hooks
assert(T.testC("pushint 1; pushnum 2; arith +; return 1") == 3.0)
local ok, message = pcall(T.newuserdata, math.maxinteger)
assert(not ok and message:find("block too big"), message)
assert(T.testC("pcall 0 1 0; pushstatus; return 1", error) == "ERRRUN")
assert(T.checkpanic("pushstring hi; error", "threadstatus; return 1") == "ERRRUN")
local co = coroutine.wrap(T.makeCfunc("pushnum 3; yieldk 1 U2", "pushnum 4; return 1"))
assert(co() == 3 and co() == 4 and status == "YIELD")
local state = T.newstate()
T.loadlib(state)
assert(T.doremote(state, "return require'string'.upper('x'), 2") == "X")
local none, text, code = T.doremote(state, "return +")
assert(none == nil and code == 3 and text:find("unexpected symbol"))
T.closestate(state)
OWN
./reference own.lua /dev/null || fail "own.lua: $?"
if [ ! -f "${LUA_REFERENCE_TESTS:-}/api.lua" ]; then
  [ $failures = 0 ] || finish
  echo "LUA_REFERENCE_TESTS does not name the folder testes of the reference (github lua/lua, v5.4.8)"
  exit 77
fi
is "of 5.4.8" 1547 "$(wc -l <"$LUA_REFERENCE_TESTS/api.lua")"
export LUA_PATH="$LUA_REFERENCE_TESTS/?.lua"
for script in api coroutine cstack errors events gc gengc locals nextvar strings tpack; do
  ./reference "$LUA_REFERENCE_TESTS/$script.lua" "$TESTSUITE/embedding/_reference_expected.txt" >"$script.txt" 2>&1
  status=$?
  [ $status = 0 ] || tail -n 6 "$script.txt"
  is "$script.lua" 0 $status
  grep -qE '^OK' "$script.txt" || fail "$script.lua has not come to its end"
done
finish
