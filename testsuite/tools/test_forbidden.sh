# SPDX-License-Identifier: MIT
# eventring stack and profile of processes that the kernel does not let this user read: of
# another user, and not dumpable. The message says why and what to set; a process that records
# is asked for its stacks instead.
. "$TESTSUITE/tools/_tools.sh"

[ "$(id -u)" = 0 ] || { echo "only root can be another user"; exit 77; }
command -v setpriv >/dev/null || { echo "setpriv is missing (Debian package: util-linux)"; exit 77; }
SOMEBODY=65533 NOBODY=65534
as() { # USER COMMAND...; in the background it is that command's process
  exec setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all "${@:2}"
}
# The folders above this one may be root's alone.
place=$(mktemp -d /tmp/saros-forbidden.XXXXXX) || exit 1
pid=
trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$place"' EXIT
cp "$SAROS" "$place/saros" && cp "$EVENTRING" "$place/eventring" && mkdir "$place/own" &&
  chmod 755 "$place" "$place/saros" "$place/eventring" && chown $NOBODY "$place/own" || exit 1
cd "$place/own" || exit 1
(as $NOBODY "$place/saros" -e "") && (as $SOMEBODY "$place/eventring" --version >/dev/null) ||
  { echo "other users cannot run programs here"; exit 77; }

cat >work.lua <<'END'
if arg[1] == "closed" then
  local ffi = require "saros.ffi"
  ffi.cdef "int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);"
  assert(ffi.C.prctl(4, 0, 0, 0, 0) == 0)
end
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function work() while true do leaf(1000) end end
io.stdout:write("ready\n") io.stdout:flush()
work()
END
# run [NAME=VALUE...] [closed]: sets `pid`
run() {
  rm -f out # that of the process before says "ready", too
  as $NOBODY env SAROS_EVENTRING_STACKS=0 "${@:1:$#-1}" "$place/saros" work.lua "${@: -1}" >out 2>err &
  pid=$!
  until_so grep -qs ready out || fail "it does not start: $(cat err)"
}
end_run() { kill -KILL $pid; wait $pid 2>/dev/null; pid=; }
asked() { # USER COMMAND...: that user's eventring fails and says what is expected
  ends 1 "$expected" as "$1" "$place/eventring" "${@:2}" $pid
}

run open
(as $NOBODY "$place/eventring" stack $pid) >stack.txt 2>&1 || fail "the same user: $(cat stack.txt)"
for command in stack "profile --hz 100 --seconds 0.1" "control --start"; do
  expected="it runs as user $NOBODY: run this as that user, or as root" asked $SOMEBODY $command
done
end_run

if ! (as $NOBODY "$place/saros" -e 'os.exit(pcall(require, "saros.ffi"))'); then finish; fi
run closed
for command in stack "profile --hz 100 --seconds 0.1"; do
  expected="it is not dumpable" asked $NOBODY $command
  expected="prctl(PR_SET_DUMPABLE, 1)" asked $NOBODY $command
  expected="no recording $pid.eventring" asked $NOBODY $command
done
end_run

# one that records samples itself; its file is found where the command runs, or where the
# variable says
run SAROS_EVENTRING_START=1 closed
has_stack() {
  (as $NOBODY "$place/eventring" stack --json $pid) >stack.json 2>stack.err &&
    [ "$(jq '[.rows[0].frames[] | select(.source == "work.lua") | .line] | contains([7])' stack.json)" = true ]
}
until_so has_stack || fail "no stack: $(cat stack.json stack.err)"
has "it says so" "by the process itself" "$(query stack.json .how)"
sampled() {
  (cd / && as $NOBODY env SAROS_EVENTRING_PREFIX="$place/own" "$place/eventring" profile --hz 100 \
    --seconds 0.5 --json --top 0 $pid) >self.json 2>self.err &&
    [ "$(jq '[.rows[] | select(.name == "work" and .source == "work.lua")] | length == 1' self.json)" = true ]
}
until_so sampled || fail "no samples: $(cat self.json self.err)"
has "it says so" "has sampled itself" "$(query self.json .how)"
end_run
finish
