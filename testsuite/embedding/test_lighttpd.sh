# SPDX-License-Identifier: MIT
# lighttpd with mod_magnet answers as with the system's library, while it is started to record,
# watched and asked from outside. LIGHTTPD_REQUESTS: how many (default: 1000).
. "$TESTSUITE/tools/_installed.sh"

export PATH=$PATH:/usr/sbin
host=$(find "$PWD/root" -path '*/bin/saros-host')
command -v lighttpd >/dev/null || { echo "lighttpd is missing (Debian package: lighttpd)"; exit 77; }
[ -n "$(find /usr/lib -name mod_magnet.so 2>/dev/null)" ] ||
  { echo "mod_magnet is missing (Debian package: lighttpd-modules-lua)"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
requests=${LIGHTTPD_REQUESTS:-1000}

# two ports that are free now
ports=$(python3 -c '
import socket
s = [socket.socket() for _ in range(2)]
for each in s: each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in s])')
read -r plain_port our_port <<<"$ports"
cp "$TESTSUITE/embedding/_magnet.lua" magnet.lua
mkdir records
serve() { # PORT COMMAND...: sets `pid`
  local port=$1; shift
  cat >"$port.conf" <<END
server.modules = ("mod_magnet")
server.document-root = "$PWD"
server.bind = "127.0.0.1"
server.port = $port
server.errorlog = "$PWD/$port.log"
magnet.attract-raw-url-to = ("$PWD/magnet.lua")
END
  "$@" lighttpd -D -f "$PWD/$port.conf" >"$port.txt" 2>&1 &
  pid=$!
  trap "kill $pid 2>/dev/null" EXIT
  local tries=0
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 $pid 2>/dev/null && [ $((tries += 1)) -lt $((PATIENCE * 10)) ] ||
      { cat "$port.log" "$port.txt"; fail "lighttpd does not listen"; finish; }
    sleep 0.1
  done
}
serve "$plain_port"
plain=$pid
SAROS_EVENTRING_START=standby SAROS_EVENTRING_PREFIX=$PWD/records serve "$our_port" "$host" -q
ours=$pid
asked() { python3 "$TESTSUITE/embedding/_ask.py" "$plain_port" "$our_port" "$1"; }
is "answers while it stands by" "same 10" "$(asked 10 2>&1)"
grep -q stand-in "/proc/$ours/maps" || fail "it does not run on the stand-in"
grep -q stand-in "/proc/$plain/maps" && fail "the other one does, too"

"$EVENTRING" control --start "$ours" || fail "control --start: $?"
"$EVENTRING" stats --json "$ours" --seconds 600 >watched.json &
watcher=$!
is "answers while it is recorded" "same $requests" "$(asked "$requests" 2>&1)"
has "list" lighttpd "$("$EVENTRING" list records)"
"$EVENTRING" pauses --json "$ours" >pauses.json || fail "pauses: $?"
is "steps of the collector" true "$(query pauses.json '.rows | length > 0')"
kill "$ours"
wait "$ours"
wait $watcher || fail "stats of the live one: $?"
is "watched until its end" true "$(query watched.json '[.spans[] | select(.name == "minor") | .count] | add > 0')"
kill "$plain"
wait "$plain" 2>/dev/null
finish
