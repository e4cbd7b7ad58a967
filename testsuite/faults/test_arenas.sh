# SPDX-License-Identifier: MIT
# RLIMIT_AS: domains do not take for arenas of malloc the addresses that the heap needs.
. "$TESTSUITE/faults/_faults.sh"
export SAROS_EVENTRING_START=0
limited() { (ulimit -v 120000; exec "$SAROS" "$@" 2>&1); }
[ "$(limited -e 'print(1)')" = 1 ] ||
  { echo "this build does not run within 120 MB of addresses"; exit 77; }

# MB of strings that fit beside that many domains
cat >fit.lua <<'END'
local domain = require "saros.domain"
local gates = {}
for i = 1, tonumber(arg[1]) do
  gates[i] = domain.channel()
  domain.spawn(function(gate) gate:receive() end, gates[i])
end
local t, n = {}, 0
local ok, message = pcall(function()
  while true do
    n = n + 1
    t[n] = ("x"):rep(8000) .. n
  end
end)
t = nil
assert(not ok and message == "not enough memory", message)
print(n * 8 // 1024)
os.exit(0, false)
END
alone=$(limited fit.lua 0) beside=$alone
for _ in 1 2 3 4 5 6 7 8; do # as the layout falls differently
  fits=$(limited fit.lua 4)
  [ "$fits" -ge "$beside" ] || beside=$fits
done
echo "MB that fit: $alone alone, $beside beside four domains"
[ "$beside" -gt $((alone * 7 / 10)) ] || fail "$beside MB fit beside four domains, $alone alone"
finish
