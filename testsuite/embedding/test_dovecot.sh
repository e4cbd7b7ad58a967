# SPDX-License-Identifier: MIT
# dovecot, whose auth process runs a passdb in Lua, answers as with the system's library, while it
# is started to record, watched and asked from outside. Its master clears the environment of its
# processes: the setting import_environment keeps what the stand-in needs.
# DOVECOT_REQUESTS: how many (default: 2000).
. "$TESTSUITE/tools/_installed.sh"

export PATH=$PATH:/usr/sbin
host=$(find "$PWD/root" -path '*/bin/saros-host')
command -v dovecot >/dev/null || { echo "dovecot is missing (Debian package: dovecot-core)"; exit 77; }
[ -n "$(find /usr/lib/dovecot -name 'libauthdb_lua.so' 2>/dev/null)" ] ||
  { echo "its auth in Lua is missing (Debian package: dovecot-auth-lua)"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
requests=${DOVECOT_REQUESTS:-2000}

cp "$TESTSUITE/embedding/_auth.lua" auth.lua
mkdir records
runs=$(mktemp -d) # the path of a socket has at most 107 characters
trap "rm -rf $runs" EXIT
serve() { # NAME COMMAND...: a dovecot of the user who runs this; sets `pid`, `auth`
  local name=$1 user group tries=0; shift
  user=$(id -un) group=$(id -gn)
  mkdir "$runs/$name"
  cat >"$name.conf" <<CONF
base_dir = $runs/$name
state_dir = $runs/$name
log_path = $PWD/$name.log
protocols =
ssl = no
auth_mechanisms = plain
auth_failure_delay = 0
auth_cache_size = 0
default_internal_user = $user
default_internal_group = $group
default_login_user = $user
import_environment = TZ LD_LIBRARY_PATH SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX
passdb {
  driver = lua
  args = file=$PWD/auth.lua blocking=no
}
userdb {
  driver = lua
  args = file=$PWD/auth.lua blocking=no
}
service auth {
  user = $user
  unix_listener auth-client {
    mode = 0600
    user = $user
    group = $group
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
CONF
  "$@" dovecot -F -c "$PWD/$name.conf" >"$name.txt" 2>&1 &
  pid=$!
  trap "kill $pid 2>/dev/null; wait $pid 2>/dev/null" EXIT
  until [ -S "$runs/$name/auth-client" ]; do
    kill -0 $pid 2>/dev/null && [ $((tries += 1)) -lt $((PATIENCE * 10)) ] ||
      { cat "$name.log" "$name.txt"; fail "dovecot does not listen"; finish; }
    sleep 0.1
  done
}
# auth_of PID: the auth process of that dovecot
auth_of() {
  local process
  for process in $(cat "/proc/$1/task/$1/children"); do
    [ "$(cat "/proc/$process/comm")" = auth ] && echo "$process"
  done
}
asked() { python3 "$TESTSUITE/embedding/_ask_auth.py" "$runs/plain/auth-client" "$runs/ours/auth-client" "$1"; }

serve plain
plain=$pid
SAROS_EVENTRING_START=standby SAROS_EVENTRING_PREFIX=$PWD/records serve ours "$host" -q
ours=$pid
has "answers while it stands by" "same 100 ok " "$(asked 100 2>&1)"
auth=$(auth_of "$ours")
grep -q stand-in "/proc/$auth/maps" || fail "it does not run on the stand-in"
grep -q stand-in "/proc/$(auth_of "$plain")/maps" && fail "the other one does, too"

"$EVENTRING" control --start "$auth" || fail "control --start: $?"
"$EVENTRING" stats --json "$auth" --seconds 600 >watched.json &
watcher=$!
# One that has set its user is not dumpable and takes no questions (doc/SECURITY.md).
"$EVENTRING" memory --json "$auth" >memory.json 2>refused.txt ||
  has "memory" "is not dumpable" "$(cat refused.txt)"
has "answers while it is recorded" "same $requests ok " "$(asked "$requests" 2>&1)"
# sampled while it works: it is asked anew until a sample has met the function
profiled() {
  asked "$requests" >asked.txt 2>&1 &
  local asking=$!
  "$EVENTRING" profile --json --seconds 1 "$auth" >profile.json || fail "profile: $?"
  wait $asking
  grep -q auth_passdb_lookup profile.json
}
until_so profiled || fail "no function of the script in: $(cat profile.json)"
has "answers while it is sampled" "same $requests ok " "$(cat asked.txt)"
has "list" auth "$("$EVENTRING" list records)"
[ ! -s memory.json ] || is "memory of Lua" true "$(query memory.json '[.rows[] | select(.name == "live heap")] | length == 1')"
doveadm -c "$PWD/ours.conf" auth test -x service=imap user-a-1 secret1 >doveadm.txt 2>&1
has "doveadm" "auth succeeded" "$(cat doveadm.txt)"
kill "$ours"
wait "$ours"
wait $watcher || fail "stats of the live one: $?"
is "watched until its end" true "$(query watched.json '[.spans[] | select(.name == "minor") | .count] | add > 0')"
finish
