# SPDX-License-Identifier: MIT
# A recording ends whose file cannot be removed, because its directory has become read-only:
# eventring_stop says so, and the host's end warns once; what the program does stays the same.
. "$TESTSUITE/faults/_faults.sh"
export SAROS_EVENTRING_PREFIX=$PWD/locked SAROS_EVENTRING_PRESERVE=0
chmod 755 . && mkdir -m 777 locked

cat >locking.lua <<'END'
local how = ...
os.execute("chmod 555 locked")
if how == "stop" then
  local eventring = require "eventring"
  local ok, message = eventring.stop()
  assert(ok == nil and message:find("could not be removed", 1, true), message)
  assert(eventring.path() == nil)
end
io.write("ran\n")
os.exit(7, how == "close")
END

if [ "$(id -u)" -eq 0 ]; then # whom no directory stops
  need_root "be another user"
  need_reachable_programs
  chown 65534 locked
  owner() { as_nobody "$@"; }
else
  owner() { "$@"; }
fi
for how in stop exit close; do
  unrecorded "left at $how" owner "$SAROS" locking.lua $how
  has "left at $how: which file" "locked/" "$(cat "$errors")"
  has "left at $how: why" "ermission denied" "$(cat "$errors")"
  chmod 755 locked
  is "left at $how: it says that it ended" '"ended"' \
    "$("$EVENTRING" show --json locked/*.eventring 2>show.err | jq .liveness)"
  rm -f locked/*.eventring
done
finish
