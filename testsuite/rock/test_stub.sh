# SPDX-License-Identifier: MIT
# The rock saros-eventring: the stub of saros.eventring has every name of the module, and its
# functions return and raise the same in each Lua that is installed. On Saros the module wins.
. "$TESTSUITE/_checks.sh"
set -u
rock=$SRCDIR/rock/saros-eventring
skip() { echo "skipped: $*"; exit 77; }

others=
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
  command -v $lua >/dev/null && others="$others $lua"
done
[ -n "$others" ] || skip "no other Lua is installed (Debian packages: lua5.4, lua5.1, luajit)"

export LUA_PATH="$rock/?.lua;$TESTSUITE/lua/?.lua;;"

# ---- on Saros the module wins, whatever the order of the path -------------------------------
for path in "$rock/?.lua" "$rock/?.lua;;" ";;$rock/?.lua"; do
  is "which one, with $path" "nil function" \
    "$(LUA_PATH=$path "$SAROS" -e 'local e = require "saros.eventring"; print(tostring(e.stub) .. " " .. type(e.cursor))')"
done
is "package.path, set by the program" "nil" "$("$SAROS" -e "package.path = '$rock/?.lua'; print((require 'saros.eventring').stub)")"
is "the short name is the same module" "true" \
  "$("$SAROS" -e 'print(require "eventring" == require "saros.eventring")')"
has "where a host removed the module, there is the stub" "needs Saros" \
  "$("$SAROS" -e 'package.preload["saros.eventring"] = nil; print(require "saros.eventring".stub)')"

# ---- the lists of names ----------------------------------------------------------------------
list='local names = {}
for name, value in pairs(require "saros.eventring") do names[#names + 1] = name .. " " .. type(value) end
table.sort(names); print(table.concat(names, "\n"))'
"$SAROS" -e "$list" >saros.names
for lua in $others; do
  $lua -e "$list" >stub.names
  is "names that only $lua has" "stub string" "$(comm -13 saros.names stub.names)"
  is "names that $lua lacks" "" "$(comm -23 saros.names stub.names)"
done

# Classes of Saros are those that the stub knows.
"$SAROS" -e 'local e = require "saros.eventring"; e.start(); for name in pairs(e.classes()) do print(name) end' >classes
[ -s classes ] || fail "there are no classes"
for lua in $others; do
  while read -r class; do
    has "$lua: class $class" "nil" "$($lua -e "print((require 'saros.eventring'.enable('$class')))" 2>&1)"
  done <classes
done

# ---- what calls return and raise --------------------------------------------------------------
# Names of types and formats of numbers differ between versions; not more.
normalise() { sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/([0-9])\.0( |$)/\1\2/g; s/^\[C\]: //' "$1"; }
"$SAROS" "$TESTSUITE/rock/calls.lua" >saros.txt 2>&1 || fail "calls.lua on Saros: $(tail -n 3 saros.txt)"
normalise saros.txt >saros.out
[ "$(wc -l <saros.out)" -gt 400 ] || fail "calls.lua makes few calls: $(wc -l <saros.out)"
for lua in $others; do
  $lua "$TESTSUITE/rock/calls.lua" >other.txt 2>&1 || fail "calls.lua on $lua: $(tail -n 3 other.txt)"
  normalise other.txt >other.out
  diff -u saros.out other.out >difference || { fail "the stub on $lua differs from the module"; head -n 60 difference; }
done

# ---- what is not known says so -----------------------------------------------------------------
for lua in $others; do
  is "$lua: measure" "nil nil nil nil nil string" "$($lua -e 'local m = require "saros.eventring".measure(function() end)
    print((("%s %s %s %s %s "):format(tostring(m.words), tostring(m.time_ns), tostring(m.major), tostring(m.pauses), tostring(m.longest_pause_ns)) .. type(m.stub)))')"
  has "$lua: expect" "expected count(major) == 0: not known: the stub of saros.eventring records nothing" \
    "$($lua -e 'print(pcall(function() require "saros.eventring".expect("count(major) == 0", function() end) end))')"
  has "$lua: start" "that needs Saros" "$($lua -e 'print(require "saros.eventring".start())')"
  has "$lua: trigger" "that needs Saros" "$($lua -e 'print(require "saros.eventring".trigger("error"))')"
done

# A variable <close>, of 5.4
if command -v lua5.4 >/dev/null; then
  is "lua5.4: <close>" "nil" "$(lua5.4 -e 'do local s <close> = require "saros.eventring".span { name = "x", value = 1 } print(s) end' 2>&1)"
fi

# In Neovim, where its plugins have their modules
if command -v nvim >/dev/null; then
  mkdir -p plugin home && cp -r "$rock" plugin/lua
  HOME=$PWD/home timeout $PATIENCE nvim --headless -u NONE --cmd "set rtp^=$PWD/plugin" \
    -c 'lua local e = require "saros.eventring"; io.stdout:write(tostring(e.span("x", function() return vim.fn.has("nvim") end)), " ", e.stub)' \
    -c 'qa!' >nvim.txt 2>&1 </dev/null
  has "Neovim" "1 the stub of saros.eventring" "$(cat nvim.txt)"
fi

# The stub leaves the globals as they are.
for lua in $others; do
  is "$lua: globals" "" "$($lua -e 'local before = {}; for k in pairs(_G) do before[k] = true end
    require "saros.eventring"; for k in pairs(_G) do if not before[k] then print(k) end end')"
done
finish
