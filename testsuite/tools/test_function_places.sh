# SPDX-License-Identifier: MIT
# C functions that no module has are named by what is the same in each run: their symbol, of a
# file without symbols the one that it exports, else the file and the place in it. Two
# processes have their files at different places.
. "$TESTSUITE/tools/_tools.sh"
unset SAROS_EVENTRING_START

cat >hidden.lua <<'END'
-- string.gsub, which the modules do not have any more
local gsub = string.gsub
string.gsub = nil
io.stdout:write "ready\n" io.stdout:flush()
local text = ("x"):rep(20000)
while true do gsub(text, "y*x?z", "") end
END
cat >exported.lua <<'END'
local pause = assert(package.loadlib(arg[1], "fixture_pause"))
io.stdout:write "ready\n" io.stdout:flush()
while true do pause() end
END

# run NAME.lua [ARGUMENT]: until it has said that it is there
run() {
  rm -f out.txt # what the program before has said is nothing of this one
  "${program:-$SAROS}" "$@" >out.txt 2>err.txt &
  pid=$!
  until_so grep -qs ready out.txt || fail "$1 does not start: $(cat err.txt)"
}
end_run() { kill -KILL $pid; wait $pid 2>/dev/null; true; }
# the innermost function, if it is of C
innermost() {
  "$EVENTRING" stack --json $pid 2>stack.err |
    jq -r '.rows[0].frames[0] | select(.kind == "c") | .name' >innermost.txt
  [ -s innermost.txt ]
}

run hidden.lua
until_so innermost || fail "no function of C is seen: $(cat stack.err)"
is "a static function" strlib_gsub "$(cat innermost.txt)"
end_run

program=$PWD/stripped
strip -o "$program" "$SAROS" || { echo "strip is missing (Debian package: binutils)"; exit 77; }
for i in 1 2; do
  run hidden.lua
  until_so innermost || fail "no function of C is seen: $(cat stack.err)"
  cp innermost.txt place$i.txt
  "$EVENTRING" profile --json --seconds 0.5 $pid >samples$i.json || fail "profile"
  end_run
done
grep -Eqx "stripped\+0x[0-9a-f]+" place1.txt || fail "the place: $(cat place1.txt)"
is_same "the same in both runs" "$(cat place1.txt)" "$(cat place2.txt)"
for i in 1 2; do # its samples are found by this name
  jq -r --arg name "$(cat place1.txt)" '.rows[] | select(.name == $name) | .count' \
    samples$i.json | grep -q '[1-9]' ||
    fail "no samples of $(cat place1.txt): $(head -c 2000 samples$i.json)"
done
is "no address" "" "$(jq -r '.rows[].name' samples1.json samples2.json | grep ' at 0x')"

program=$SAROS
library=$BUILDDIR/testsuite/ffi/libfixture.so
if [ -e "$library" ]; then
  run exported.lua "$library"
  until_so innermost || fail "no function of C is seen: $(cat stack.err)"
  is "an exported one" fixture_pause "$(cat innermost.txt)"
  end_run
fi
