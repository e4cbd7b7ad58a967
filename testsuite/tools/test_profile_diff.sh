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
is "slower differs" true "$(row one.json slower differs)"
is "but one run says of no change" '[]' "$(query one.json '[.rows[] | select(.changed)]')"
is "by a factor" true "$(query one.json '.rows[] | select(.name == "slower") | .change > 1')"
is "it comes first, or its like" true "$(query one.json '.rows[0].differs')"
is "too few runs" false "$(query one.json .total.enough)"
"$EVENTRING" diff --profile --json a?.eventring >/dev/null 2>&1
is "an odd number" 2 $?
"$EVENTRING" diff --profile --json a1.eventring b1.eventring a2.eventring b2.eventring \
  a3.eventring b3.eventring >three.json || fail "three runs"
is "slower is tested in three runs" true "$(query three.json \
  '.rows[] | select(.name == "slower") | .change > 1 and .p != null')" # noise may hide it
is "enough runs" true "$(query three.json .total.enough)"
is "counts" 300 "$(row three.json same a_count)"
has "text" "too few runs to tell" "$("$EVENTRING" diff --profile a1.eventring b1.eventring)"
has "text" "slower work.lua:2" "$("$EVENTRING" diff --profile a1.eventring b1.eventring | tr -s ' ')"
"$EVENTRING" diff --profile --json a1.eventring a1.eventring >same.json || fail "the same"
is "nothing has changed in the same run" '[]' "$(query same.json '[.rows[] | select(.changed)]')"
# ---- Edited in between, and in another directory: each function is the one of the same name, and
# of those without a name the one in the same place. The program knows how often it calls which.

mkdir old new
write_program() { # FOLDER TOP MIDDLE END: what is added to the program there
  {
    printf '%s' "$2"
    cat <<'LUA'
local function named(n) return n end
for i = 1, 7 do pcall(function() return 1 end) end
for i = 1, 11 do pcall(function() return 2 end) end
LUA
    printf '%s' "$3"
    cat <<'LUA'
local function again(n) return n end
for i = 1, 13 do pcall(function() return 3 end) end
for i = 1, 17 do again(named(i)) end
LUA
    printf '%s' "$4"
  } >"$1/edited.lua"
}
calls_of() { # NAME PROGRAM
  SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=$1 "$SAROS" "$2" || fail "$2"
}
write_program old "" "" ""
write_program new "-- a comment
" "-- two comments

" "for i = 1, 5 do pcall(function() return 4 end) end
"
calls_of old "$PWD/old/edited.lua"
(cd new && SAROS_EVENTRING_PREFIX=.. calls_of new edited.lua) || fail "edited.lua"
"$EVENTRING" diff --profile --json old.eventring new.eventring >edited.json || fail "diff of edited"
is "calls of each, in A and in B" \
  '[[0,5],[1,1],[7,7],[11,11],[13,13],[17,17],[17,17]]' "$(query edited.json \
  '[.rows[] | select(.source | endswith("edited.lua")) | [.a_count, .b_count]] | sort')"
is "where they are" '[[1,2],[2,3],[3,4],[4,7],[5,8]]' "$(query edited.json \
  '[.rows[] | select((.source | endswith("edited.lua")) and .a_line > 0 and .b_line > 0) |
   [.a_line, .b_line]] | sort')"
is "which counts differ" '[5,36]' \
  "$(query edited.json '[.rows[] | select(.counts_differ).b_count] | sort')" # and pcall's
"$EVENTRING" diff --profile --top 100 old.eventring new.eventring >edited.txt || fail "diff of edited, text"
has "the line in B" "edited.lua:1 (B: 2)" "$(tr -s ' \n' ' ' <edited.txt)"
is "nothing is gone or new in full" 0 "$(grep -c 'inf\|-100' edited.txt)"

ends 2 "one of --heap and --profile" "$EVENTRING" diff --heap --profile a1.eventring b1.eventring
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=none "$SAROS" -e ""
ends 1 "no profile of calls" "$EVENTRING" diff --profile a1.eventring none.eventring
finish
