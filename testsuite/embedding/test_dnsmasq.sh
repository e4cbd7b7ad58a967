# SPDX-License-Identifier: MIT
# dnsmasq, which reports its leases to a script in Lua in a process of its own, writes the same
# with the system's library and on the stand-in, while it is started to record, watched and asked
# from outside. DNSMASQ_ROUNDS: how often it reports all leases (default: 20).
. "$TESTSUITE/tools/_installed.sh"

export PATH=$PATH:/usr/sbin
host=$(find "$PWD/root" -path '*/bin/saros-host')
command -v dnsmasq >/dev/null || { echo "dnsmasq is missing (Debian package: dnsmasq-base-lua)"; exit 77; }
"$host" --check "$(command -v dnsmasq)" >/dev/null 2>&1 ||
  { echo "this dnsmasq does not link liblua5.4.so.0 (Debian package: dnsmasq-base-lua)"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "dnsmasq gives addresses as root only"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
rounds=${DNSMASQ_ROUNDS:-20}
leases=200

mkdir records
# ports that are free now, below those that the system gives away
python3 -c '
import random, socket
ports = []
while len(ports) < 4:
    port = random.randrange(20000, 30000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try: s.bind(("127.0.0.1", port))
        except OSError: continue
    ports.append(port)
print(*ports)' >ports.txt
read -r -a ports <ports.txt
for i in $(seq $leases); do
  printf '%d 02:00:00:00:%02x:%02x 127.0.1.%d host-%d 01:02:00:00:00:%02x:%02x\n' \
    $(($(date +%s) + 86400)) $((i / 256)) $((i % 256)) "$i" "$i" $((i / 256)) $((i % 256))
done >leases.txt
serve() { # NAME PORT PORT COMMAND...: a dnsmasq that knows the leases; sets `pid`
  local name=$1 ports=$2,$3; shift 3
  cp leases.txt "$name.leases"
  LEASES_LOG=$PWD/$name.log "$@" dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 \
    --user=root --group= --interface=lo --bind-interfaces --dhcp-alternate-port="$ports" \
    --dhcp-range=127.0.1.1,127.0.1.250,255.255.255.0,1d --dhcp-leasefile="$PWD/$name.leases" \
    --dhcp-luascript="$TESTSUITE/embedding/_leases.lua" --pid-file="$PWD/$name.pid" \
    --log-facility="$PWD/$name.messages" >"$name.txt" 2>&1 &
  pid=$!
  trap "kill $pid 2>/dev/null; wait $pid 2>/dev/null" EXIT
  until_so lines_are "$name" $((leases + 1)) ||
    { cat "$name.messages" "$name.txt"; fail "dnsmasq does not report its leases"; finish; }
}
lines_are() { [ "$(cat "$1.log" 2>/dev/null | wc -l)" -ge "$2" ]; }
# report ROUND: both report all leases once more
report() {
  kill -HUP "$plain" "$ours"
  until_so lines_are plain $((leases * ($1 + 1) + 1)) && until_so lines_are ours $((leases * ($1 + 1) + 1)) ||
    fail "round $1"
}
# helper_of PID: its process that runs the script
helper_of() { cat "/proc/$1/task/$1/children" | tr -d ' '; }

serve plain "${ports[@]:0:2}"
plain=$pid
SAROS_EVENTRING_START=standby SAROS_EVENTRING_PREFIX=$PWD/records serve ours "${ports[@]:2}" "$host"
ours=$pid
helper=$(helper_of "$ours")
grep -q stand-in "/proc/$helper/maps" || fail "it does not run on the stand-in"
grep -q stand-in "/proc/$plain/maps" && fail "the other one does, too"
report 1

"$EVENTRING" control --start "$helper" || fail "control --start: $?"
"$EVENTRING" stats --json "$helper" --seconds 600 >watched.json &
watcher=$!
"$EVENTRING" profile --json --seconds 2 "$helper" >profile.json 2>profile.txt &
profiler=$!
for i in $(seq 2 "$rounds"); do report "$i"; done
wait $profiler || { cat profile.txt; fail "profile: $?"; }
"$EVENTRING" memory --json "$helper" >memory.json || fail "memory: $?"
is "memory of Lua" true "$(query memory.json '[.rows[] | select(.name == "live heap")] | length == 1')"
has "list" dnsmasq "$("$EVENTRING" list records)"
kill "$ours" "$plain"
wait "$ours"
wait "$plain"
wait $watcher || fail "stats of the live one: $?"
until_so grep -q shutdown plain.log
until_so grep -q shutdown ours.log
cmp plain.log ours.log || fail "other lines"
is "watched until its end" true "$(query watched.json '[.spans[] | select(.name == "minor") | .count] | add > 0')"
finish
