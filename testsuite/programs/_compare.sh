# SPDX-License-Identifier: MIT
# Sourced by the tests in this folder: runs Debian's pure-Lua programs, unchanged,
# with saros and with lua5.4, and compares what they print.
#
# Where the modules live: /usr/share/lua/5.4, 5.3 or 5.1, as packaged.

. "$TESTSUITE/_checks.sh"

set -u
modules=/usr/share/lua
LUA_PATH=
for version in 5.4 5.3 5.1; do LUA_PATH+="$modules/$version/?.lua;$modules/$version/?/init.lua;"; done
export LUA_PATH+="./?.lua"
comparisons=0

skip() { echo "skipped: $*"; exit 77; }

[ -n "${LUA_REFERENCE-}" ] || skip "lua5.4 is not installed (Debian package: lua5.4)"

# need FILE PACKAGE: skips the test when the package is not installed.
need() { [ -e "$1" ] || skip "$2 is not installed (Debian package: $2)"; }

# Takes out what no two runs share: addresses, durations, the name of the interpreter.
normalise() {
  sed -E '/WARNING: AddressSanitizer failed to allocate/d
          s/0x[0-9a-f]+/ADDRESS/g; s/[0-9]+\.[0-9]+ s(econds)?/TIME/g; s/time="[0-9.]+"/time="T"/g
          s/timestamp="[^"]*"/timestamp="T"/g; s/^(# )?Started on .*/\1Started on DATE/; s#^(lua5\.4|lua|saros|/[^ :]*/(saros|lua5\.4)): #INTERPRETER: #'
}

# compare NAME INPUT ARGUMENT...: standard output, standard error and exit
# status of both interpreters, run with the same arguments and input.
compare() {
  local name=$1 input=$2; shift 2
  local who status
  for who in saros reference; do
    local program=$SAROS
    [ "$who" = reference ] && program=$LUA_REFERENCE
    { "$program" "$@" <"$input" 2>&1; echo "status $?"; } | normalise >"$who.out"
  done
  comparisons=$((comparisons + 1))
  if ! diff -u --label lua5.4 reference.out --label saros saros.out >difference; then
    fail "$name: saros prints something else than lua5.4"
    head -n 40 difference
  fi
}

# A test that passes has compared something.
compared() {
  echo "$comparisons runs compared"
  [ "$status" -ne 0 ] || [ "$comparisons" -gt 0 ] || fail "nothing was compared"
}
trap compared EXIT
