# SPDX-License-Identifier: MIT
# sarosc, also saros --compile: the options of luac.
. "$TESTSUITE/tools/_tools.sh"

ln -s "$SAROS" sarosc
cat >one.lua <<'END'
local greeting = ... or "none"
local function show(x) io.write("one ", tostring(x), "\n") end
show(greeting)
shared = {count = (shared and shared.count or 0) + 1}
END
cat >two.lua <<'END'
#!/usr/bin/env saros
for i = 1, 2 do io.write("two ", i, " ", shared.count, "\n") end
END
cat >fails.lua <<'END'
local t = nil
print(t.x)
END
echo 'x = = 1' >wrong.lua

# One file, under both names, with and without a name for the output
./sarosc one.lua || fail "one.lua: $?"
is "default output" "one a" "$("$SAROS" luac.out a 2>&1)"
"$SAROS" --compile -o one.out -- one.lua || fail "--compile: $?"
cmp luac.out one.out || fail "both names compile alike"
./sarosc -o - - <one.lua >stdin.out || fail "standard input: $?"
is "standard input and output" "one a" "$("$SAROS" stdin.out a)"
is "a chunk is compiled, too" "one a" "$(./sarosc -o again.out one.out && "$SAROS" again.out a)"

# Several become one; each keeps the name of its own file.
./sarosc -o both.out one.lua two.lua || fail "both: $?"
is "both" "one none|two 1 1|two 2 1" "$("$SAROS" both.out a | paste -sd'|')"
./sarosc -o thrice.out one.lua one.out two.lua || fail "texts and chunks: $?"
is "texts and chunks" "one none|one none|two 1 2|two 2 2" "$("$SAROS" thrice.out | paste -sd'|')"
./sarosc -o many.out $(printf 'one.lua %.0s' {1..150}) || fail "150 files: $?"
is "150 files" "150 one none" "$("$SAROS" many.out | uniq -c | sed 's/^ *//')"
./sarosc -o nested.out both.out fails.lua || fail "a combined one: $?"
has "its message" "fails.lua:2: attempt to index a nil value (local 't')" "$("$SAROS" nested.out 2>&1)"

# -s, -l, -p
./sarosc -s -o bare.out fails.lua && has "stripped" "?:-1: attempt to index a nil value" "$("$SAROS" bare.out 2>&1)"
[ "$(stat -c %s bare.out)" -lt "$(./sarosc -o - fails.lua | wc -c)" ] || fail "-s makes nothing smaller"
rm -f luac.out
./sarosc -p -l two.lua >list.txt || fail "-p -l: $?"
[ ! -e luac.out ] || fail "-p writes"
is "list" "$("$SAROS" --disassemble two.lua)" "$(cat list.txt)"
./sarosc -l -p both.out >list.txt || fail "-l of a chunk: $?"
for part in 'main =(sarosc)' 'main @one.lua' 'main @two.lua' 'function @one.lua'; do
  has "list of both" "$part" "$(cat list.txt)"
done

# What is wrong: a message, status 1, nothing written
ends 1 "wrong.lua:1: unexpected symbol near '='" ./sarosc -o none.out one.lua wrong.lua
ends 1 "cannot open missing.lua" ./sarosc -o none.out one.lua missing.lua
[ ! -e none.out ] || fail "something was written"
ends 1 "no input files given" ./sarosc
ends 1 "unrecognized option '-x'" ./sarosc -x one.lua
ends 1 "'-o' needs argument" ./sarosc -o
ends 1 "cannot open nowhere/out" ./sarosc -o nowhere/out one.lua
ends 1 "cannot write" ./sarosc -o /dev/full one.lua
ends 1 "truncated" ./sarosc -p <(head -c 30 one.out)
for option in -v --version -h --help; do ./sarosc $option >text.txt || fail "$option: $?"; [ -s text.txt ] || fail "$option prints nothing"; done
finish
