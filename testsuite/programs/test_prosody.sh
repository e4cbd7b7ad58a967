# SPDX-License-Identifier: MIT
# Debian's Prosody (an XMPP server, with modules in C) as a daemon: serves clients as it does
# with lua5.4, is recorded and watched from outside under load, stops in order on SIGTERM,
# and leaves nothing behind.
. "$TESTSUITE/programs/_compare.sh"
. "$TESTSUITE/recording/_recording.sh"
need /usr/bin/prosody prosody
command -v python3 >/dev/null || skip "python3 is not installed (Debian package: python3)"
unset LUA_PATH LUA_CPATH
# the process that daemonizes exits without freeing what its modules hold
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
clients=10 messages=200 server=

end_server() { [ -z "$server" ] || kill -KILL "$server" 2>/dev/null; }
trap end_server EXIT

free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# configure DIRECTORY: a server with a port of its own, in $port
configure() {
  rm -rf "$1" && mkdir -p "$1/data" "$1/certs"
  port=$(free_port)
  cat >"$1/prosody.cfg.lua" <<END
run_as_root = true
daemonize = true
pidfile = "$1/prosody.pid"
data_path = "$1/data"
certificates = "$1/certs"
interfaces = { "127.0.0.1" }
c2s_ports = { $port }
modules_enabled = { "roster"; "saslauth"; "disco"; "posix"; "ping"; "time"; "version"; "private";
  "vcard4"; "pep"; "carbons"; "register"; "mam"; "blocklist"; "bookmarks"; "vcard_legacy" }
modules_disabled = { "s2s"; "tls" }
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
allow_registration = true
authentication = "internal_plain"
log = { { levels = { min = "debug" }, to = "file", filename = "$1/prosody.log" } }
VirtualHost "localhost"
Component "conference.localhost" "muc"
muc_room_locking = false
END
}

listens() { [ -s "$1/prosody.pid" ] && python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# serve WHO PROGRAM [VARIABLE=VALUE...]: starts the daemon; its pid is $server
serve() {
  local who=$1 program=$2
  shift 2
  where=$PWD/$who
  configure "$where"
  (cd "$where" && env "$@" timeout $PATIENCE "$program" /usr/bin/prosody --config "$where/prosody.cfg.lua") \
    </dev/null >"$who.start" 2>&1
  is "$who: status of the start" 0 $?
  until_so listens "$where" || { fail "$who: does not listen: $(cat "$who.start" "$where/prosody.log")"; finish; }
  server=$(cat "$where/prosody.pid")
}

load() { python3 "$TESTSUITE/programs/_xmpp_clients.py" "$port" $clients $messages; }

# stop WHO: in order
stop() {
  kill -TERM "$server"
  until_so gone "$server" || fail "$1: does not end on SIGTERM"
  server=
  has "$1: shutdown" "Exiting with status code: 0" "$(cat "$where/prosody.log")"
  is "$1: what is left" "certs data prosody.cfg.lua prosody.log" "$(cd "$where" && echo *)"
  is "$1: errors in the log" "" "$(grep -E $'\terror\t|traceback' "$where/prosody.log" | head -n 5)"
}

serve lua5.4 "$LUA_REFERENCE"
expected=$(load 2>&1)
is "lua5.4: status of the clients" 0 $?
stop lua5.4
echo "clients received: $expected"

serve recorded "$SAROS" SAROS_EVENTRING_START=1
await "$server" # the child of the fork records some time after it
has "recorded: found" "\"pid\":$server," "$("$EVENTRING" list --json "$where")"
timeout $PATIENCE "$EVENTRING" dump --json --follow "$server" >dump.txt 2>dump.err &
reader=$!
timeout $PATIENCE "$EVENTRING" stats --json --seconds 1 "$server" >stats.txt 2>stats.err &
watcher=$!
until_so [ -s dump.txt ] || fail "recorded: the reader does not get attached"
load >clients.txt 2>&1 &
driver=$!
until_so grep -qs '"name":"minor' dump.txt || fail "recorded: nothing of the collector"
has "recorded: control" '"state":"running"' \
  "$("$EVENTRING" control --disable load --status --json "$server" 2>&1 | tr -d ' ')"
"$EVENTRING" snapshot -o copy.eventring "$server" >/dev/null || fail "recorded: no snapshot"
kill -HUP "$server" # configuration and log once more
wait $driver
is "recorded: clients" "0 $expected" "$? $(cat clients.txt)"
wait $watcher
is "recorded: stats" "0 " "$? $(cat stats.err)"
has "recorded: in the collector" '"gc' "$(cat stats.txt)"
has "recorded: log" "Received SIGHUP" "$(cat "$where/prosody.log")"
stop recorded
wait $reader
is "recorded: follower" "0 " "$? $(cat dump.err)"
# behind it may be a span of class load that was open when the class was turned off
has "recorded: last event" domain_stop "$(grep -v '"kind":"open"' dump.txt | tail -n 1)"
"$EVENTRING" dump copy.eventring >/dev/null || fail "recorded: the snapshot cannot be read"

serve standby "$SAROS" SAROS_EVENTRING_START=standby
await "$server"
load >clients.txt 2>&1 &
driver=$!
"$EVENTRING" control --resume "$server" || fail "standby: cannot be started"
until_so sh -c "\"$EVENTRING\" dump --json $server 2>/dev/null | grep -q '\"name\":\"minor'" ||
  fail "standby: nothing of the collector"
wait $driver
is "standby: clients" "0 $expected" "$? $(cat clients.txt)"
stop standby
finish
