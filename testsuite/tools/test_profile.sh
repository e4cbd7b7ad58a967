# SPDX-License-Identifier: MIT
# The profile of calls in recordings: eventring profile of programs, files, live and killed
# processes; control --profile; copies of recordings keep it; damaged ones do no harm.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function work(n) for i = 1, n do leaf(20000) end end
work(100)
END
cat >endless.lua <<'END'
local function leaf(n) return n + 1 end
while true do local x = 0 for i = 1, 1000 do x = leaf(x) end end
END

cat >names.lua <<'END'
for _, source in ipairs {"=a\\b", "=" .. ("x"):rep(100)} do
  load("local function foreign() return 1 end return foreign", source)()()
end
END

# row NAME FIELD FILE: of the row of a function
row() { "$EVENTRING" profile --top 0 --json "$3" | jq ".rows[] | select(.name == \"$1\") | .$2"; }

export SAROS_EVENTRING_PRESERVE=1
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=work "$SAROS" work.lua || fail "work.lua: $?"
is "calls of leaf" 100 "$(row leaf count work.eventring)"
is "calls of work" 1 "$(row work count work.eventring)"
is "its line" 2 "$(row work line work.eventring)"
is "its source" '"work.lua"' "$(row work source work.eventring)"
is "nothing lost" 0 "$("$EVENTRING" profile --json work.eventring | jq .loss.calls)"
"$EVENTRING" profile --json --per-domain work.eventring >work.json
"$EVENTRING" profile --json-schema >profile.schema
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" profile.schema work.json
has "rows" 'domain,domain_name,name,' "$("$EVENTRING" profile --csv work.eventring)"
has "table" "leaf work.lua:1" "$("$EVENTRING" profile work.eventring)"
has "tree" "work work.lua:2" "$("$EVENTRING" profile --tree work.eventring)"
has "stacks" "work > leaf" "$("$EVENTRING" profile --by stack --top 0 work.eventring)"
has "callers" "work work.lua:2" "$("$EVENTRING" profile --callers leaf work.eventring)"
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=names "$SAROS" names.lua || fail "names.lua: $?"
names=$("$EVENTRING" profile --top 0 names.eventring)
has "a backslash, escaped once" 'foreign a\x5Cb:1 ' "$names"
has "a long name keeps its end" "  ...xxxx" "$names"
has "and all of its end" "x:1 " "$names"
ends 1 "no function \`frob' was called" "$EVENTRING" profile --callers frob work.eventring
ends 2 "not function, line or stack" "$EVENTRING" profile --by frob work.eventring

# the stacks of a program of which it is known how often each is called, in one domain and in
# two; events between the calls are none
cat >stacks.lua <<'END'
local eventring, domain = require "saros.eventring", require "saros.domain"
local function run(a_b_c, a_d, b_c)
  local eventring = require "saros.eventring"
  local function c() eventring.event "an event" end
  local function b() eventring.counter("a number", 1) c() end
  local function d() end
  local function a(deep) if deep then b() else d() end end
  for i = 1, a_b_c do a(true) end
  for i = 1, a_d do a(false) end
  for i = 1, b_c do b() end
end
run(2, 1, 1)
if arg[1] then domain.spawn(run, 1, 2, 3):join() end
END
stacks_of() { # FILE: COUNT STACK of each below `run`, over all domains
  "$EVENTRING" profile --by stack --top 0 --json "$1" | jq -r '[.rows[] | (.stack // "") as $s |
    select($s | test("run > [abcd]( > [abcd])*$")) | [.count, ($s | sub(".* > run > "; ""))]] |
    group_by(.[1]) | map("\(map(.[0]) | add) \(.[0][1])")[]'
}
for domains in 1 2; do
  SAROS_PROFILE=calls SAROS_EVENTRING_NAME=stacks$domains "$SAROS" stacks.lua \
    $([ $domains = 1 ] || echo two) || fail "stacks.lua: $?"
done
is "stacks of one domain" "3 a
2 a > b
2 a > b > c
1 a > d
1 b
1 b > c" "$(stacks_of stacks1.eventring)"
is "stacks of two domains" "6 a
3 a > b
3 a > b > c
3 a > d
4 b
4 b > c" "$(stacks_of stacks2.eventring)"

# functions of the interpreter itself have names
cat >all.lua <<'END'
local domain = require "saros.domain"
assert(domain.spawn(function() return 1 end):join() == 1)
END
SAROS_PROFILE=calls SAROS_EVENTRING_NAME=all "$SAROS" all.lua || fail "all.lua: $?"
is "without a name" 0 "$("$EVENTRING" profile --top 0 --json all.eventring |
  jq '[.rows[] | select(.name | startswith("function saros"))] | length')"

# a program of its own; its status
has "-- PROGRAM" "leaf work.lua:1" "$("$EVENTRING" profile -- "$SAROS" work.lua)"
ends 7 "" "$EVENTRING" profile -- "$SAROS" -e "os.exit(7)"

# copies
"$EVENTRING" snapshot -o copy.eventring work.eventring || fail "snapshot: $?"
is "in a snapshot" 100 "$(row leaf count copy.eventring)"
"$EVENTRING" strip -o strip.eventring work.eventring 2>/dev/null || fail "strip: $?"
is "without names" "" "$(row leaf count strip.eventring)"
is "but with counts" 1 "$("$EVENTRING" profile --top 0 --json strip.eventring | jq '[.rows[] | select(.count == 100)] | length')"
"$EVENTRING" cut -o cut.eventring work.eventring 2>/dev/null || fail "cut: $?"
is "in a cut" 100 "$(row leaf count cut.eventring)"

# one that is killed leaves its profile; nothing asks for it first
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=endless "$SAROS" endless.lua &
pid=$!
await "$pid"
ends 1 "no profile of calls in this recording" "$EVENTRING" profile endless.eventring
"$EVENTRING" control "$pid" --profile calls || fail "control --profile calls: $?"
ends 2 "--profile: must be calls or off" "$EVENTRING" control "$pid" --profile frob
calls=
for ((i = 0; i < 600; i++)); do
  calls=$(row leaf count endless.eventring 2>/dev/null)
  if [ -n "$calls" ]; then break; fi
  sleep 0.1
done
[ "${calls:-0}" -gt 0 ] || fail "no profile of a live process"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
[ "$(row leaf count endless.eventring)" -ge "$calls" ] || fail "no profile of a killed process"

# What is switched off stays off: a domain that begins before another one has seen that does not
# switch it on again, and a domain that mostly waits in C sees it, too.
cat >waits.lua <<'END'
local domain = require "saros.domain"
local function leaf() return 1 end
local input = io.open "input"
for line in input:lines() do leaf() end
domain.spawn(function() for i = 1, 100 do (function() return i end)() end end):join()
io.open("spawned", "w"):close()
while not io.open "stop" do leaf() os.execute "sleep 0.1" end
END
mkfifo input
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=waits SAROS_EVENTRING_PRESERVE=1 "$SAROS" waits.lua &
pid=$!
exec 8>input
await "$pid"
total() { "$EVENTRING" profile --json --top 0 waits.eventring | jq -c ".total.$1"; }
"$EVENTRING" control "$pid" --profile calls || fail "control --profile calls: $?"
echo line >&8 # it goes on, sees that, and waits in a call again
until_so eval '"$EVENTRING" profile waits.eventring >/dev/null 2>&1 || { echo line >&8; sleep 0.2; false; }' ||
  fail "no profile of one that waits"
"$EVENTRING" control "$pid" --profile off || fail "control --profile off: $?"
exec 8>&-
until_so [ -e spawned ] || fail "no domain"
is "domains with a profile" 1 "$(total domains)"
is_off() { local before=$(total ns); sleep 1.5; [ "$(total ns)" = "$before" ]; }
until_so is_off || fail "the profile goes on"
touch stop
wait "$pid" || fail "waits.lua: $?"
is "domains with a profile" 1 "$(total domains)"

# wrong settings: a warning, and the program runs
has "a wrong word" "SAROS_PROFILE" "$(SAROS_PROFILE=frob "$SAROS" -e 'print(1)' 2>&1)"
has "profiled already" "profiled already" "$(SAROS_PROFILE=calls,cpu "$SAROS" -e '
  print(select(2, pcall(require "saros.profile".start, {budget = 1 << 20})))' 2>&1)"
SAROS_EVENTRING_START=0 SAROS_PROFILE=calls SAROS_EVENTRING_NAME=unwanted "$SAROS" work.lua ||
  fail "start=0: $?"
[ ! -e unwanted.eventring ] || fail "recorded although SAROS_EVENTRING_START=0 forbids it"
has "a wrong budget" "budget" "$(SAROS_PROFILE=calls,budget=1 "$SAROS" -e 'print(1)' 2>&1)"

# class calls: each call is a span
SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=+calls SAROS_EVENTRING_NAME=spans "$SAROS" work.lua
is "spans of leaf" 100 "$("$EVENTRING" dump --json --class calls spans.eventring |
  jq -r 'select(.kind == "end") | .name' | grep -c '^leaf ')"

# damage: a message or a profile, no crash
size=$(stat -c %s work.eventring)
for ((i = 0; i < 60; i++)); do
  cp work.eventring damaged.eventring
  printf '\xff\x00\xff' | dd of=damaged.eventring bs=1 seek=$((69632 + RANDOM * 32768 % (size - 69632) + RANDOM % 999)) \
    conv=notrunc status=none
  timeout 60 "$EVENTRING" profile --json damaged.eventring >out 2>&1
  status=$?
  [ $status -le 1 ] || fail "damaged: status $status: $(head -3 out)"
done
finish
