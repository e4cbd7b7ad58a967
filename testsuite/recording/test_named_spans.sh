# SPDX-License-Identifier: MIT
# `eventring control --span FUNCTION`: the calls of a function become spans, as if it had begun and
# ended them by hand: random programs with coroutines, errors, tail calls and calls from C, which are
# named and no longer named while they run, say themselves which spans there must be. NAMED_SEED=n,
# NAMED_PROGRAMS=n.
. "$TESTSUITE/recording/_recording.sh"
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }
export SAROS_EVENTRING_SECONDS=0 SAROS_EVENTRING_WSIZE=18

# As the program prints them: contexts by their first span. What a reader has made is left out.
spans() { # FILE
  "$EVENTRING" dump --json --class calls "$1" | jq -r '
    select((.kind == "begin" or .kind == "end") and (.synthetic | not)) |
    "\(if .kind == "begin" then "B" else "E" end) \(.name | sub(" .*"; "")) \(.context // 0)\(if .torn then " torn" else "" end)"' |
    awk '{ if (!($3 in number)) number[$3] = ++count; $3 = number[$3]; print }'
}

seed=${NAMED_SEED:-1}
for n in $(seq "${NAMED_PROGRAMS:-5}"); do
  rm -f -- *.eventring
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=named \
    "$SAROS" "$TESTSUITE/recording/_named_spans.lua" $((seed * 1000 + n)) "$EVENTRING" 4000 >expected.txt 2>errors.txt ||
    fail "program $n: $? $(cat errors.txt)"
  spans named.eventring >spans.txt
  [ "$(wc -l <expected.txt)" -gt 10 ] || [ "$n" -gt 1 ] || fail "program $n: hardly any spans"
  diff expected.txt spans.txt >differ.txt || fail "program $n: $(head -20 differ.txt)"
done

# the ways to name a function; those that are loaded later; another domain; what is refused
cat >m.lua <<'END'
local M = {}
function M.work(n) return n end
local function other(n) return n end
function M.outer(n) return (other(n)) end
return M
END
mkdir -p pack && cat >pack/init.lua <<'END'
return { inside = function(n) return n end, beside = function(n) return n end }
END
cat >ways.lua <<'END'
local m, pack, domain = require "m", require "pack", require "saros.domain"
local worker = domain.spawn(function()
  local m, domain = require "m", require "saros.domain"
  while not io.open "stop" do m.work(1) domain.sleep(0.002) end
end)
while not io.open "stop" do
  domain.sleep(0.002)
  m.work(1) m.outer(2) pack.inside(3) pack.beside(4)
  if not far and io.open "far" then load("function far() return 1 end", "@" .. io.open "far":read "l")() end
  if not late and io.open "later" then load("function late() return 1 end", "@late.lua")() end
  if late then late() end
  if far then far() end
end
worker:join()
END
rm -f -- *.eventring
SAROS_EVENTRING_START=1 "$SAROS" ways.lua &
pid=$!
await $pid
ends() { # STATUS TEXT ARGUMENT...
  local status=$1 text=$2 was
  shift 2
  "$EVENTRING" "$@" >out.txt 2>&1
  was=$?
  is "status of $*" "$status" "$was"
  has "$*" "$text" "$(cat out.txt)"
}
made() { # the functions of spans that have ended
  "$EVENTRING" dump --json --class calls --last 1 $pid 2>/dev/null | jq -r 'select(.kind == "end" and (.torn | not)) | "\(.domain) \(.name | sub(" .*"; ""))"' | sort -u | xargs
}
is_made() { [ "$(made)" = "$1" ]; }
ends 0 "spans of     m.work,m.lua:4" control --span m.work --span m.lua:4 --status $pid
until_so is_made "0 M.outer 0 M.work 1 M.work" || fail "spans of m.work and m.lua:4: $(made)"
ends 0 '"call_names":"m.work,m.lua:4,pack.inside,late"' control --span pack.inside,late --status --json $pid
touch later
until_so is_made "0 M.outer 0 M.work 0 inside 0 late 1 M.work" || fail "spans of four: $(made)"
ends 0 "spans of     late,outer" control --no-span pack.inside,m.work,m.lua:4 --span outer --status $pid
until_so is_made "0 M.outer 0 late" || fail "spans of outer and late: $(made)"
# a path that others shorten
long=/srv/$(printf 'folder/%.0s' $(seq 20))far.lua
echo "$long" >far
ends 0 "$long:1" control --span "$long:1" --status --json $pid
until_so is_made "0 M.outer 0 far 0 late" || fail "a span of a function with a long path: $(made)"
ends 0 "spans of     late,outer" control --no-span "$long:1" --status $pid
until_so is_made "0 M.outer 0 late" || fail "spans of outer and late: $(made)"
ends 0 "far.lua:1" control --span folder/far.lua:1 --status $pid
until_so is_made "0 M.outer 0 far 0 late" || fail "a span of a function by the end of a long path: $(made)"
ends 0 "spans of     late,outer" control --no-span folder/far.lua:1 --status $pid
# what is refused changes nothing at all
state() { "$EVENTRING" control --status --json $pid | jq -c '[.call_names, .classes.calls, .classes.io, .profile, .triggers, .state]'; }
before=$(state)
ends 1 "nonexist" control --snapshot nonexist/copy --span x $pid
ends 1 "control character" control --span $'a\tb' --enable io --pause $pid
ends 1 "control character" control --span $'a\tb' --profile calls --trigger 'span("main")>1s' $pid
ends 1 "no span was asked for of \`bad'" control --no-span bad --enable io --pause --snapshot copy.eventring $pid
ends 2 "class \`calls' is of all functions: it cannot be switched together with --span" control --span bad --enable calls $pid
ends 2 "it cannot be switched together with --span" control --span bad --disable io,calls $pid
ends 2 "it cannot be switched together with --no-span" control --no-span late --enable all $pid
ends 2 "\`all' is no function" control --span late,all $pid
ends 2 "\`x' is given both in --span and in --no-span" control --span y,x --no-span x $pid
is "what is refused changes nothing" "$before" "$(state)"
[ ! -e copy.eventring ] && [ ! -e copy.eventring.partial ] || fail "a copy was made"
ends 1 "no span was asked for of \`nope'" control --no-span nope $pid
ends 1 "more than 480 bytes" control --span "$(printf '%0500d' 0)" $pid
ends 1 "control character" control --span $'a\tb' $pid
ends 2 "--span" control --span
is "what is refused changes nothing" late,outer "$("$EVENTRING" control --status --json $pid | jq -r .call_names)"
ends 0 "spans of     all functions" control --enable calls --status $pid
ends 1 "every call is a span" control --span late $pid
ends 0 "spans of     none" control --disable calls --status $pid
ends 0 "on           lifecycle gc domain user load calls" control --span late --status $pid
"$EVENTRING" strip -q -o stripped.eventring $pid >/dev/null || fail "strip: $?"
is "a stripped copy has no names" null "$("$EVENTRING" control --status --json stripped.eventring | jq .call_names)"
ends 0 "spans of     none" control --no-span all --status $pid
is "class calls is off" false "$("$EVENTRING" control --status --json $pid | jq .classes.calls)"
touch stop
wait $pid || fail "ways.lua: $?"

# calls in coroutines that do not run while the watch of calls changes, and changes back
cat >suspended.lua <<'END'
local function wait_for(file)
  while not io.open(file) do for i = 1, 1000 do local t = {} end end
end
local function held(n) coroutine.yield() return n end
local function work() held(1) end
wait_for "named"
local coroutines = {}
for i = 1, 3 do
  coroutines[i] = coroutine.create(i < 3 and held or work)
  coroutine.resume(coroutines[i])
end
io.open("suspended", "w"):close()
wait_for "go"
for i = 1, 3 do coroutine.resume(coroutines[i]) end
END
rm -f -- *.eventring named suspended go
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" suspended.lua &
pid=$!
await $pid
profile_is() { [ "$("$EVENTRING" control --status --json $pid | jq -r .profile)" = "$1" ]; }
ends 0 "" control --span held $pid
touch named
until_so test -e suspended
for i in 1 2; do
  "$EVENTRING" control --profile calls $pid
  until_so profile_is on || fail "no profile"
  "$EVENTRING" control --profile off $pid
  until_so profile_is off || fail "the profile does not end"
done
touch go
wait $pid || fail "suspended.lua: $?"
is "spans of calls that were suspended" "B held 1 B held 2 B held 3 E held 1 E held 2 E held 3" \
  "$(spans $pid.eventring | grep held | xargs)"
finish
