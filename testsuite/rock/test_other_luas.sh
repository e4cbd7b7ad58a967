# SPDX-License-Identifier: MIT
# The table of doc/OTHER_LUAS.md: each expression has in each Lua the result that stands there.
. "$TESTSUITE/_checks.sh"
set -u
page=$SRCDIR/doc/OTHER_LUAS.md
rows=$(grep -cE '^\| `[^|]*` \| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \|' "$page")
[ "$rows" -ge 30 ] || fail "the table has $rows rows"

# holds COLUMN INTERPRETER [OPTION...]
holds() {
  is "$2" "$rows expressions" "$("${@:2}" "$TESTSUITE/rock/differences.lua" "$page" "$1" 2>&1)"
}
# `ffi` is there if it was built.
"$SAROS" -e 'require "ffi"' 2>/dev/null || grep -v 'require, "ffi"' "$page" >page.md
if [ -e page.md ]; then page=$PWD/page.md rows=$((rows - 1)); fi
holds 4 "$SAROS"
column=1
for lua in lua5.1 luajit lua5.3; do
  if command -v $lua >/dev/null; then holds $column $lua; else echo "$lua is not installed"; fi
  column=$((column + 1))
done

# A program for 5.1: syntax is found by compiling it, as the page says.
printf 'local goto = 1\n' >old.lua
has "compiled" "<name> expected near 'goto'" "$("$SAROS" --compile -p old.lua 2>&1)"
if command -v luacheck >/dev/null; then
  printf 'setfenv(1, {})\nprint(unpack{1})\n' >old.lua
  luacheck --no-color --std lua54 old.lua >check.txt
  has "luacheck" "accessing undefined variable 'setfenv'" "$(cat check.txt)"
  has "luacheck" "accessing undefined variable 'unpack'" "$(cat check.txt)"
fi

# Chunks of others are refused.
for lua in lua5.1 luajit; do
  command -v $lua >/dev/null || continue
  $lua -e 'io.write(string.dump(function() end))' >chunk
  has "a chunk of $lua" "bad binary format" "$("$SAROS" chunk 2>&1)"
done
finish
