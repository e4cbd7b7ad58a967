# SPDX-License-Identifier: MIT
# The source in a page: of files that can be read and did not change, programs alone.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
section() { python3 "$TESTSUITE/tools/_view.py" "$@"; }
"$EVENTRING" view nothing 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }
paths() { section "$1" source | jq -rc '[.files[].path] | sort | join(" ")'; }

mkdir lib
allocates='local t = {} for i = 1, 20000 do t[i % 100] = { i } end'
echo "$allocates -- </script> \"quotes\" & é" >lib/module.lua
echo "$allocates" >changed.lua
echo "$allocates" >secret.txt
printf '#!/usr/bin/env saros\n%s\n' "$allocates" >script
printf '%s -- \xff\xfe\n' "$allocates" >latin.lua
cat >program.lua <<'END'
for _, file in ipairs { "lib/module.lua", "changed.lua", "secret.txt", "script", "latin.lua" } do
  dofile(file)
end
load("local t = {} for i = 1, 20000 do t[i % 100] = { i } end", "@nowhere.lua")()
load("local t = {} for i = 1, 20000 do t[i % 100] = { i } end", "=lib")()
load("local t = {} for i = 1, 20000 do t[i % 100] = { i } end", "@/dev/zero.lua")()
END
sleep 0.1 # the clock of files has ticks
SAROS_EVENTRING_STREAM=run.eventring SAROS_MEMPROF=1e-2 "$SAROS" program.lua || fail "program.lua: $?"
"$EVENTRING" view -o before.html run.eventring || fail "view: $?"
is "files" "changed.lua latin.lua lib/module.lua program.lua script" "$(paths before.html)"
section before.html source | jq -rj '.files[] | select(.path == "lib/module.lua") | .text' >text.lua
is "their text" "$(cat lib/module.lua)" "$(cat text.lua)"
has "of what is no UTF-8" "-- ��" "$(section before.html source |
  jq -r '.files[] | select(.path == "latin.lua") | .text')"
is "elements that it ends" "" "$(grep -c '</script> "quotes"' before.html | grep -v '^0$')"

echo "-- more" >>changed.lua
mkdir other && cp -p lib/module.lua other && mv other/module.lua lib # of the same age, and another
"$EVENTRING" view -o after.html run.eventring || fail "view: $?"
is "files after changes" "latin.lua program.lua script" "$(paths after.html)"
"$EVENTRING" view --no-source -o none.html run.eventring || fail "view --no-source: $?"
is "--no-source" null "$(section none.html source)"
(cd lib && "$EVENTRING" view -o ../elsewhere.html ../run.eventring) || fail "view elsewhere: $?"
is "from another directory" null "$(section elsewhere.html source)"

# A process: relative to its directory
cat >live.lua <<'END'
while true do dofile "script" end
END
sleep 0.1
(cd lib && echo "$allocates" >live-module.lua)
sleep 0.1
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$PWD "$SAROS" live.lua & pid=$!
await $pid
(cd lib && timeout $PATIENCE "$EVENTRING" view --seconds 0.5 -o ../live.html $pid) || fail "a process: $?"
is "of a process" "live.lua script" "$(paths live.html)"
kill -9 $pid
wait $pid 2>/dev/null

# With less room it goes first
for i in $(seq 40); do
  { echo "$allocates"; head -c 20000 /dev/urandom | base64 -w 76 | sed 's/^/-- /'; } >big$i.lua
  echo "dofile 'big$i.lua'" >>big.lua
done
sleep 0.1
SAROS_EVENTRING_STREAM=big.eventring SAROS_MEMPROF=1e-2 "$SAROS" big.lua || fail "big.lua: $?"
"$EVENTRING" view -o big.html big.eventring || fail "view of big files: $?"
size=$(stat -c %s big.html)
[ "$size" -le 1048576 ] || fail "the page has $size bytes"
section big.html head | jq -c '.left_out[] | select(.why == "the size of the page")' >left.txt
has "it says so" '"what":"source files"' "$(head -1 left.txt)"
is "what else is left out" 1 "$(wc -l <left.txt)"
kept=$(section big.html source | jq '.files | length')
is "how many it says" "$kept" "$(jq .kept left.txt)"
[ "$kept" -ge 5 ] && [ "$kept" -lt 41 ] || fail "$kept files"
"$EVENTRING" view --size 10M -o whole.html big.eventring || fail "view --size 10M: $?"
is "with room" 41 "$(section whole.html source | jq '.files | length')"
finish
