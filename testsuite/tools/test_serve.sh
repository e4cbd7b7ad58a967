# SPDX-License-Identifier: MIT
# `eventring serve`: what it answers is what the commands say; who may ask; what hostile clients
# leave behind: nothing.
. "$TESTSUITE/tools/_tools.sh"
"$EVENTRING" serve --listen 127.0.0.1:0 --max-series x 2>usage.txt
"$EVENTRING" serve --listen unix:nowhere/s 2>built.txt
if grep -q "built without" built.txt; then echo "built without libmicrohttpd (Debian package: libmicrohttpd-dev)"; exit 77; fi
command -v curl >/dev/null || { echo "curl is missing (Debian package: curl)"; exit 77; }

serves() { [ -s "$1" ] && grep -q serving "$1"; }

cat >work.lua <<'LUA'
local kept, waiting = {}, {}
local function waiter() coroutine.yield() end
for i = 1, 30 do waiting[i] = coroutine.wrap(waiter); waiting[i]() end
local function fill() for i = 1, 20000 do kept[i % 500 + 1] = {i} end end
while true do fill() end
LUA
SAROS_EVENTRING_START=1 "$SAROS" work.lua &
pid=$!
await "$pid"
mkfifo input
exec 3<>input
SAROS_EVENTRING_START=1 "$SAROS" -e 'io.read()' <input &
still=$!
await "$still"
"$EVENTRING" serve --listen 127.0.0.1:0 >serve.txt 2>errors.txt &
server=$!
until_so serves serve.txt || fail "it does not serve: $(cat errors.txt)"
at=$(sed -n 's/^serving on \(.*\)\/$/\1/p' serve.txt)

# get STATUS FILE PATH [OPTIONS...]
get() {
  local status=$1 file=$2 path=$3
  shift 3
  is "status of $path $*" "$status" "$(curl -s -m $((2 * PATIENCE)) -o "$file" -w '%{http_code}' "$@" "$at$path")"
}

get 200 metrics.txt /metrics
"$EVENTRING" metrics "$still" >still.txt
is_same "metrics" "$(grep -v '^#\|process_' still.txt)" \
  "$(grep "pid=\"$still\"" metrics.txt | grep -v process_)"
get 200 om.txt /metrics -H 'Accept: application/openmetrics-text; version=1.0.0'
is "OpenMetrics" "# EOF" "$(tail -1 om.txt)"
get 200 page.html /
has "the page" "pid=$pid" "$(cat page.html)"
get 200 profile.pb "/debug/pprof/profile?seconds=1&pid=$pid"
if command -v go >/dev/null; then
  go tool pprof -top profile.pb >top.txt 2>&1 || fail "go tool pprof: $(cat top.txt)"
  has "the busy function" fill "$(cat top.txt)"
  HOME=$PWD go tool pprof -top "$at/debug/pprof/profile?seconds=1&pid=$pid" >fetched.txt 2>&1 ||
    fail "go tool pprof URL: $(cat fetched.txt)"
  has "the busy function, fetched" fill "$(cat fetched.txt)"
fi
get 200 coroutines.pb "/debug/pprof/coroutines?pid=$pid"
if command -v go >/dev/null; then
  go tool pprof -traces coroutines.pb >traces.txt 2>&1 || fail "go tool pprof: $(cat traces.txt)"
  has "where they wait" waiter "$(cat traces.txt)"
  has "how many" 30 "$(go tool pprof -top -sample_index=coroutines coroutines.pb 2>&1)"
fi
get 404 heap.txt "/debug/pprof/heap?pid=$pid"
has "the switch is named" sample "$(cat heap.txt)"
"$EVENTRING" control --memprof 0.01 "$pid" || fail "control: $?"
sampled() { [ "$(curl -s -o heap.pb -w '%{http_code}' "$at/debug/pprof/heap?pid=$pid")" = 200 ]; }
until_so sampled || fail "no heap profile"
get 200 allocs.pb "/debug/pprof/allocs?pid=$pid"
get 200 copy.eventring "/snapshot?pid=$pid"
is "the copy" "$pid" "$("$EVENTRING" show --json copy.eventring | jq .pid)"
get 200 view.html "/view?pid=$pid"
has "the page of a run" "<!DOCTYPE html>" "$(head -c 200 view.html)"
get 404 none.txt "/snapshot?pid=$$"
get 400 bad.txt "/snapshot?pid=x"
get 400 many.txt /snapshot
get 400 seconds.txt "/debug/pprof/profile?seconds=0&pid=$pid"
get 400 seconds.txt "/debug/pprof/profile?seconds=1e99&pid=$pid"
get 404 where.txt /nowhere

# ---- a stream: what `top` says, a refresh an event; nothing is left when nobody reads any more
streams() { pgrep -c -P "$server" -x eventring; }
no_streams() { [ "$(streams)" = 0 ]; }
: >events.txt
curl -s -N "$at/events" >events.txt &
reader=$!
has_events() { [ "$(command grep -c '^data: ' events.txt)" -ge 3 ]; }
until_so has_events || fail "no events: $(cat errors.txt)"
kill "$reader"; wait "$reader" 2>/dev/null
sed -n 's/^data: //p' events.txt | head -2 >refreshes.txt
is_same "the process" "$("$EVENTRING" top --json --once "$still" | jq -c '.rows[] | [.pid, .program, .domains]')" \
  "$(tail -1 refreshes.txt | jq -c ".rows[] | select(.pid == $still) | [.pid, .program, .domains]")"
is "an empty line behind each" "$(command grep -c '^data: ' events.txt)" "$(command grep -c '^$' events.txt)"
until_so no_streams || fail "a stream is left that nobody reads"
is "HEAD" "200 text/event-stream" "$(curl -s -I -m 5 -o head.txt -w '%{http_code} %{content_type}' "$at/events")"
is "HEAD starts nothing" 0 "$(streams)"
readers=
for i in 1 2 3 4 5 6 7 8; do # (one that has just ended may still count)
  curl -s -N --retry 50 --retry-delay 1 -o "events$i.txt" "$at/events" &
  readers="$readers $!"
done
all_begun() { for i in 1 2 3 4 5 6 7 8; do grep -qs "^data: " "events$i.txt" || return 1; done; }
until_so all_begun || fail "not all of eight streams begin"
get 503 ninth.txt /events -m 20
kill $readers; wait $readers 2>/dev/null
until_so no_streams || fail "streams are left that nobody reads"
get 403 other.txt /events -H 'Sec-Fetch-Site: cross-site'
get 405 post.txt /metrics -X POST -d x=1
get 405 delete.txt "/snapshot?pid=$pid" -X DELETE
get 403 host.txt /metrics -H 'Host: example.org'
get 403 site.txt /metrics -H 'Sec-Fetch-Site: cross-site'
get 200 same.txt /metrics -H 'Sec-Fetch-Site: same-origin'

# ---- a Unix socket
"$EVENTRING" serve --listen unix:socket >unix.txt 2>errors.txt &
unix=$!
until_so serves unix.txt || fail "it does not serve: $(cat errors.txt)"
is "its mode" 600 "$(stat -c %a socket)"
is "metrics of it" 200 "$(curl -s -o unix.om -w '%{http_code}' --unix-socket socket http://x/metrics)"
ends 1 "in use" "$EVENTRING" serve --listen unix:socket
kill -9 "$unix"; wait "$unix" 2>/dev/null
rm unix.txt # what the first one has said is nothing of the second one
"$EVENTRING" serve --listen unix:socket >unix.txt 2>errors.txt & # one that was left is replaced
unix=$!
until_so serves unix.txt || fail "it does not serve again: $(cat errors.txt)"
kill "$unix"; wait "$unix"
is "status at SIGTERM" 0 $?
[ ! -e socket ] || fail "the socket was left"

# ---- hostile clients
before=$(ls "/proc/$server/fd" | wc -l)
python3 - "$at" "$pid" <<'PY' >facts.txt 2>&1 || fail "$(tail -20 facts.txt)"
import os, random, socket, sys, threading, time
host, port = sys.argv[1].removeprefix("http://").split(":")
random.seed(int(os.environ.get("SERVE_SEED", "1")))
def send(data, read=True, keep=None):
    s = socket.create_connection((host, int(port)), timeout=5)
    s.settimeout(0.1)  # what waits for more is left
    try:
        s.sendall(data)
        if read:
            while s.recv(65536): pass
    except OSError:
        pass
    if keep is None: s.close()
    else: keep.append(s)
words = [b"GET", b"HEAD", b"POST", b"/", b"/metrics", b"/debug/pprof/heap", b"?pid=", b"?pid=99999999999999999999", b"%00",
         b"%2e%2e/", b"HTTP/1.1", b"HTTP/9.9", b"\r\n", b"\r\n\r\n", b"Host: localhost", b"Content-Length: -1",
         b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b" ", b":", b"\0", b"\xff" * 9, b"A" * 3000,
         b"Accept: application/openmetrics-text", b"Range: bytes=0-", b"Expect: 100-continue", b"Connection: keep-alive"]
for n in range(600):
    data = b"".join(random.choice(words) + random.choice((b"", b" ", b"\r\n")) for _ in range(random.randrange(1, 14)))
    if n % 6 == 0: data = b"GET " + random.choice(words) + b" HTTP/1.1\r\nConnection: close\r\n" + data + b"\r\n\r\n"
    send(data, read=n % 6 == 0)
kept = []
for n in range(1000):
    try: send(b"GET /metrics HTTP/1.1\r\nX: " if n % 2 else b"", read=False, keep=kept)
    except OSError: pass
for s in kept: s.close()
PY
get_again() { [ "$(curl -s -m 5 -o again.txt -w '%{http_code}' "$at/metrics")" = 200 ]; }
until_so get_again || fail "it does not answer any more"
all_closed() { [ "$(ls "/proc/$server/fd" | wc -l)" -le $((before + 3)) ]; }
until_so all_closed || fail "descriptors: $before before, then $(ls -l "/proc/$server/fd")"
if ! sanitized; then
  resident=$(awk '/VmHWM/ { print $2 }' "/proc/$server/status")
  [ "$resident" -le 65536 ] || fail "$resident KiB resident at most"
fi
curl -s -N "$at/events" >last.txt & # a stream keeps nobody waiting at the end
reader=$!
begun() { [ -s last.txt ]; }
until_so begun || fail "no last stream"
kill "$server"; wait "$server"
is "status at SIGTERM" 0 $?
wait "$reader"

# ---- wrong use
ends 2 "for other machines" "$EVENTRING" serve --listen 0.0.0.0:9464
ends 2 "for other machines" "$EVENTRING" serve --listen :9464
ends 2 "no operands" "$EVENTRING" serve 1
ends 1 "nowhere" "$EVENTRING" serve --listen unix:nowhere/s
kill -9 "$pid" "$still"; wait "$pid" "$still" 2>/dev/null
finish
