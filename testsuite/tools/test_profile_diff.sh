# SPDX-License-Identifier: MIT
# eventring diff --profile: a function that does three times the work has changed, one that
# does the same has not, in single runs and in several.
. "$TESTSUITE/tools/_tools.sh"
cat >work.lua <<'END'
local function same(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function slower(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local factor = tonumber(arg[1])
for i = 1, 300 do same(2000) slower(2000 * factor) end
END
record_calls() { # NAME FACTOR; CPU time, so that other work on the machine matters less
  SAROS_PROFILE=calls,cpu SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=$1 "$SAROS" work.lua $2 ||
    fail "work.lua"
}
for i in 1 2 3; do record_calls a$i 1; record_calls b$i 8; done
"$EVENTRING" diff --profile --json a1.eventring b1.eventring >one.json || fail "one run"
row() { query "$1" ".rows[] | select(.name == \"$2\") | .$3"; }
is "slower has changed" true "$(row one.json slower changed)"
is "by a factor" true "$(query one.json '.rows[] | select(.name == "slower") | .change > 1')"
is "it comes first, or its like" true "$(query one.json '.rows[0].changed')"
is "too few runs" false "$(query one.json .total.enough)"
"$EVENTRING" diff --profile --json a?.eventring >/dev/null 2>&1
is "an odd number" 2 $?
"$EVENTRING" diff --profile --json a1.eventring b1.eventring a2.eventring b2.eventring \
  a3.eventring b3.eventring >three.json || fail "three runs"
is "slower is tested in three runs" true "$(query three.json \
  '.rows[] | select(.name == "slower") | .change > 1 and .p != null')" # noise may hide it
is "enough runs" true "$(query three.json .total.enough)"
is "counts" 300 "$(row three.json same a_count)"
has "text" "Too few runs" "$("$EVENTRING" diff --profile a1.eventring b1.eventring)"
has "text" "slower work.lua:2" "$("$EVENTRING" diff --profile a1.eventring b1.eventring | tr -s ' ')"
"$EVENTRING" diff --profile --json a1.eventring a1.eventring >same.json || fail "the same"
is "nothing has changed in the same run" '[]' "$(query same.json '[.rows[] | select(.changed)]')"
ends 2 "one of --heap and --profile" "$EVENTRING" diff --heap --profile a1.eventring b1.eventring
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=none "$SAROS" -e ""
ends 1 "no profile of calls" "$EVENTRING" diff --profile a1.eventring none.eventring
finish
