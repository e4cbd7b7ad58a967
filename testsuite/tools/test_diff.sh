# SPDX-License-Identifier: MIT
# `diff` says what changed between runs. What is asserted does not depend on the machine:
# allocation, and counts.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'LUA'
local eventring, size, turns = require "eventring", tonumber(arg[1]), tonumber(arg[2])
for i = 1, turns do
  eventring.span("request", function()
    local t = {}
    for j = 1, size do t[j] = {i} end
  end)
end
LUA
# run NAME SIZE TURNS
run() {
  SAROS_EVENTRING_STREAM=./"$1" SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua "$2" "$3" ||
    fail "the program"
}
pairs=() same=()
for i in 1 2 3 4 5; do
  run a$i 100 2000; run b$i 150 2000; run c$i 100 2200
  pairs+=(a$i.eventring b$i.eventring) same+=(a$i.eventring c$i.eventring)
done

# of FILE: has the figure changed?
changed() { query "$1" ".rows[] | select(.name == \"$2\").changed"; }
"$EVENTRING" diff --json "${pairs[@]}" >diff.json || fail "diff: $?"
is "verdict" '"changed"' "$(query diff.json .total.verdict)"
is "allocation" true "$(changed diff.json allocated)"
is "by how much" true "$(query diff.json \
  '.rows[] | select(.name == "allocated") | .change > 0.2 and .change < 0.8')"
is "steps of the collector" true "$(changed diff.json "pauses, count")"
is "what they did" true "$(changed diff.json "collector, work")"
group() { query diff.json ".rows[] | select(.name == \"$1\").group"; }
is "CPU time at equal speed decides" '"run"' "$(group "CPU time, equal speed")"
is "not CPU time" '"collector"' "$(group "CPU time")"
is "not run time" '"collector"' "$(group "run time")"
is "spans" false "$(changed diff.json "request, count")"
"$EVENTRING" diff --json "${same[@]}" >same.json || fail "diff: $?"
is "more spans" true "$(changed same.json "request, count")"
"$EVENTRING" diff --json a1.eventring a2.eventring a3.eventring a4.eventring a5.eventring \
  a1.eventring >none.json || fail "diff: $?"
is "no other allocation" false "$(changed none.json allocated)"
is "no other number of spans" false "$(changed none.json "request, count")"

# too few runs
"$EVENTRING" diff a1.eventring b1.eventring >few.txt || fail "diff of two: $?"
has "few" "too few runs to tell" "$(cat few.txt)"
is "not a word of change" 0 "$(grep -ci "changed\|no change" few.txt)"
"$EVENTRING" diff --json a1.eventring a2.eventring >few.json || fail "diff of two: $?"
"$EVENTRING" diff --json-schema >diff.schema || fail "diff --json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" diff.schema few.json
has "rows" 'name,group,unit,a,b,' "$("$EVENTRING" diff --csv a1.eventring a2.eventring)"
is "not enough" false "$(query few.json .total.enough)"
is "no p" null "$(query few.json '.rows[0].p')"
# counts and amounts are exact: of one run a side, too, they differ or do not
"$EVENTRING" diff a1.eventring c1.eventring >few.txt || fail "diff of two: $?"
has "more spans" "request, count +10.0 %" "$(sed -n '/^Different:/,$p' few.txt)"
is "no word of change" 0 "$(grep -ci "changed\|no change" few.txt)"
"$EVENTRING" diff --json c1.eventring a1.eventring >back.json || fail "diff the other way: $?"
is "the other way: fewer spans" "[2200,2000,-0.0909]" "$(query back.json '.rows[] |
  select(.name == "request, count") | [.a, .b, (.change * 10000 | round / 10000)]')"
"$EVENTRING" diff --json a1.eventring c1.eventring >few.json || fail "diff of two: $?"
is "different" '"different"' "$(query few.json .total.verdict)"
is "times" '["too few runs to tell"]' \
  "$(query few.json '[.rows[] | select(.unit == "ns").verdict] | unique')"
is "no time has changed" '[]' "$(query few.json '[.rows[] | select(.unit == "ns" and .changed)]')"
is "counts" '[true,"different"]' \
  "$(query few.json '.rows[] | select(.name == "request, count") | [.changed, .verdict]')"
"$EVENTRING" diff a1.eventring a1.eventring >few.txt || fail "diff of the same: $?"
has "the same" "Counts and amounts are the same." "$(cat few.txt)"
is "no word of change" 0 "$(grep -ci "changed\|no change" few.txt)"
"$EVENTRING" diff --json a1.eventring a1.eventring >few.json || fail "diff of the same: $?"
is "the same" '["too few runs to tell",["the same"]]' "$(query few.json \
  '[.total.verdict, ([.rows[] | select(.unit != "ns").verdict] | unique)]')"

# lines of a page (the paths may be longer)
"$EVENTRING" diff "${pairs[@]}" >diff.txt || fail "diff as text: $?"
# (mawk counts bytes)
is "wide lines" 0 "$(tail -n +3 diff.txt | sed 's/µ/u/g' | awk 'length > 80' | wc -l)"
ends 2 "counterpart" "$EVENTRING" diff a1.eventring b1.eventring a2.eventring
ends 2 "two recordings" "$EVENTRING" diff a1.eventring
ends 1 "no-such" "$EVENTRING" diff a1.eventring no-such.eventring

# two programs, run in turn; what they print does not get in the way
cat >turn.lua <<'LUA'
local names <close> = assert(io.open("order.txt", "a"))
names:write(arg[3], "\n")
print("printed by the program", assert(io.read("a") == ""))
dofile "work.lua"
LUA
programs=(-- "$SAROS" turn.lua 100 500 A -- "$SAROS" turn.lua 150 500 B)
mkdir temporary
TMPDIR=$PWD/temporary "$EVENTRING" diff --runs 3 --json "${programs[@]}" >launched.json || fail "diff of programs: $?"
is "in turn" "A B B A A B" "$(paste -sd' ' order.txt)"
is "verdict" '"changed"' "$(query launched.json .total.verdict)"
is "runs" 3 "$(query launched.json .total.runs)"
is "allocation" true "$(changed launched.json allocated)"
is "what was run" true "$(query launched.json '.b[0].command | endswith("turn.lua 150 500 B")')"
is "nothing is left" "" "$(ls temporary)"
"$EVENTRING" diff "${programs[@]}" >launched.txt || fail "diff of programs as text: $?"
has "five by default" "B  5 runs of turn.lua: " "$(cat launched.txt)"
is "only the table" 0 "$(grep -c "printed by" launched.txt)"
ends 3 "run 1 of 2 of B ended with status 3" "$EVENTRING" diff --runs 2 -- "$SAROS" -e "" -- \
  "$SAROS" -e "os.exit(3)"
ends 2 "two programs" "$EVENTRING" diff -- "$SAROS" -e ""
ends 2 "two programs" "$EVENTRING" diff -- "$SAROS" --
ends 2 "or a command to launch, not both" "$EVENTRING" diff a1.eventring "${programs[@]}"
for n in 0 1001; do ends 2 "not 1 to 1000" "$EVENTRING" diff --runs $n -- true -- true; done
ends 2 "two PROGRAMs" "$EVENTRING" diff --runs 3 a1.eventring b1.eventring
ends 2 "compare recordings" "$EVENTRING" diff --heap "${programs[@]}"
finish
