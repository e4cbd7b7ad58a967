# SPDX-License-Identifier: MIT
# A program that counts tables while the profile of calls and class calls are switched on and
# off from outside: each count is right.
. "$TESTSUITE/tools/_tools.sh"

cat >counting.lua <<'END'
local list, map = {}, {}
for i = 1, 50000 do list[i] = i map["key " .. i] = i end
local function count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end
local function count_next(t) local n = 0 for _ in next, t do n = n + 1 end return n end
local wrong, rounds = 0, 0
repeat
  for _, t in ipairs {list, map} do
    if count(t) ~= 50000 then wrong = wrong + 1 end
    if count_next(t) ~= 50000 then wrong = wrong + 1 end
  end
  rounds = rounds + 1
  local stop = io.open "stop"
until stop
print(wrong .. " wrong")
END
SAROS_EVENTRING_START=1 "$SAROS" counting.lua >counted &
pid=$!
await "$pid"
for ((i = 0; i < 20; i++)); do
  "$EVENTRING" control "$pid" --profile calls || fail "--profile calls: $?"
  sleep 0.05
  "$EVENTRING" control "$pid" --profile off || fail "--profile off: $?"
  sleep 0.05
  "$EVENTRING" control "$pid" --enable calls || fail "--enable calls: $?"
  sleep 0.05
  "$EVENTRING" control "$pid" --disable calls || fail "--disable calls: $?"
  sleep 0.05
done
touch stop
wait "$pid" || fail "counting.lua: $?"
is "counts" "0 wrong" "$(cat counted)"
finish
