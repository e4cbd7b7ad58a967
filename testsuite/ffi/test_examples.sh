# SPDX-License-Identifier: MIT
# The examples of module ffi: sqlite3, zlib, libc, libeventring.
. "$TESTSUITE/_checks.sh"
has() { grep -qF -- "$1" out.txt || { fail "no '$1' in"; cat out.txt; }; }
run() { "$SAROS" "$@" >out.txt 2>&1 || { fail "$*: status $?"; cat out.txt; }; }

"$SAROS" -e 'os.exit(pcall(require, "saros.ffi"))' || { echo "built without libffi"; exit 77; }
examples=$SRCDIR/examples
missing=

if ldconfig -p | grep -q libsqlite3.so.0; then
  printf 'one two three two three three\nthree\n' >words.txt
  run "$examples/ffi-sqlite.lua" words.txt
  has "7 words"
  has "  three 4 2"
  has "  one 1 1"
  has "an error reads: no such column: nonsense"
  run "$examples/ffi-sqlite.lua" "$SRCDIR/HACKING.md"
else
  missing="$missing libsqlite3-0"
fi

if ldconfig -p | grep -q libz.so.1; then
  for _ in $(seq 1000); do echo "line after line"; done >lines.txt
  run "$examples/ffi-zlib.lua" lines.txt "$SAROS"
  has "lines.txt: 16000 bytes"
  has "crc $(python3 -c 'import zlib; print("%08x" % zlib.crc32(open("lines.txt", "rb").read()))')"
else
  missing="$missing zlib1g"
fi

run "$examples/ffi-libc.lua" "$SRCDIR/README.md"
has "qsort: -1.000 to 1.000"
has "README.md has $(stat -c %s "$SRCDIR/README.md") bytes"
has "getaddrinfo: localhost is "
"$SAROS" "$examples/ffi-libc.lua" /no/such/file 2>errors.txt >/dev/null &&
  fail "a missing file passes"
grep -qxF "/no/such/file: No such file or directory" errors.txt ||
  fail "message of a missing file: $(cat errors.txt)"

# Another process, which records and then waits: by its pid, and by its file.
library=$BUILDDIR/.libs/libeventring.so
if [ -e "$library" ]; then
  mkfifo go
  cat >recorded.lua <<'END'
local eventring = require "saros.eventring"
for i = 1, 1000 do eventring.span("work", function() eventring.counter("progress", i) end) end
collectgarbage()
io.open("ready", "w"):close()
io.open("go"):read()
END
  SAROS_EVENTRING_START=1 "$SAROS" recorded.lua &
  pid=$!
  until_so [ -e ready ]
  run "$examples/ffi-eventring.lua" --library "$library" "$pid"
  has "both readers agree"
  has "    2000 work"
  has "    1000 progress"
  has "major"
  run "$examples/ffi-eventring.lua" --library "$library" "$pid.eventring"
  has "    2000 work"
  echo >go
  wait "$pid" || fail "the recorded process: $?"
  # one with async spans, and with rings that have lost the begins of open spans
  cat >lossy.lua <<'END'
local eventring = require "saros.eventring"
eventring.begin_span "outer"
for i = 1, 1000 do
  eventring.span("work", collectgarbage, "step")
  eventring.async_begin("job", i)
  eventring.async_end("job", i)
end
eventring.end_span "outer"
os.exit(false)
END
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_NAME=lossy \
    "$SAROS" lossy.lua && fail "lossy: $?"
  "$EVENTRING" stats --json lossy.eventring >stats.json || fail "stats: $?"
  jq -e '.total.missed > 0' stats.json >/dev/null || fail "nothing is missed"
  run "$examples/ffi-eventring.lua" --library "$library" lossy.eventring
  has "both readers agree"
  has " job"
  has "       2 outer"
  "$SAROS" "$examples/ffi-eventring.lua" --library "$library" "$pid" 2>errors.txt &&
    fail "an ended process is read"
  [ -s errors.txt ] || fail "no message about an ended process"
else
  echo "no shared libeventring in this build: its example is left out"
fi

[ -z "$missing" ] || { echo "missing (Debian packages:$missing)"; exit 77; }
