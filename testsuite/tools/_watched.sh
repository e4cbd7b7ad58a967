# SPDX-License-Identifier: MIT
# Sourced by the tests of commands that look into a process: programs that run meanwhile, and what
# `look`, which the test defines, says of $pid as JSON.
. "$TESTSUITE/tools/_tools.sh"
unset SAROS_EVENTRING_START

# run NAME: runs NAME.lua, until it has said that it is there; sets `pid`
run() {
  rm -f $1.out # of an earlier one
  "$SAROS" $1.lua >$1.out 2>$1.err &
  pid=$!
  until_so grep -qs ready $1.out || fail "$1 does not start: $(cat $1.err)"
}
end_run() { kill -KILL $pid; wait $pid 2>/dev/null; }
# shows FILTER VALUE WHAT: the process comes to be seen so
shows() {
  until_so seen "$1" "$2" || fail "$3: $1 is not $2: $(head -c 4000 seen.json seen.err)"
}
seen() { look >seen.json 2>seen.err && [ "$(jq -c "$1" seen.json)" = "$2" ]; }
