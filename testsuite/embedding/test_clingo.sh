# SPDX-License-Identifier: MIT
# clingo, a solver in C++ whose programs hold scripts in Lua, finds the same answers with the
# system's library and on the stand-in, recorded and asked from outside.
. "$TESTSUITE/tools/_installed.sh"

host=$(find "$PWD/root" -path '*/bin/saros-host')
command -v clingo >/dev/null || { echo "clingo is missing (Debian package: gringo)"; exit 77; }
"$host" --check "$(command -v clingo)" >/dev/null 2>&1 ||
  { echo "this clingo does not link liblua5.4.so.0"; exit 77; }
cat >squares.lp <<'END_OF_PROGRAM'
#script (lua)
clingo = require("clingo")
local Number, Function, String = clingo.Number, clingo.Function, clingo.String
calls = 0

-- the divisors of a number, as terms
function divisors(n)
  calls = calls + 1
  local found = {}
  for i = 1, n.number do
    if n.number % i == 0 then found[#found + 1] = Function("d", {Number(i), String(("x"):rep(i % 7))}) end
  end
  return found
end

function digits(n)
  local sum = 0
  for digit in tostring(n.number):gmatch("%d") do sum = sum + digit * 1 end
  if sum > 27 then error("too large") end
  return Number(sum)
end

function main(program)
  program:ground({{"base", {}}})
  local models = 0
  print(program:solve{on_model = function(model)
    models = models + 1
    local atoms = {}
    for i, atom in ipairs(model:symbols{shown = true}) do atoms[i] = tostring(atom) end
    table.sort(atoms)
    print(models, table.concat(atoms, " "))
  end})
  print("calls", calls)
end
#end.
number(1..limit).
divisor(N, @divisors(N)) :- number(N).
sum(N, @digits(N)) :- number(N).
{chosen(N) : sum(N, S), S = 9} = 3.
:- chosen(N), chosen(M), N < M, not divisor(M - N, d(9, _)).
#show chosen/1.
#show count(C) : C = #count{N, D : divisor(N, D)}.
END_OF_PROGRAM
solve() { # LIMIT COMMAND...: takes the place of this shell
  local limit=$1; shift
  exec "$@" clingo -c limit="$limit" --outf=3 --warn=none squares.lp 20
}
(solve 400) >expected.txt 2>errors.txt
status=$?
has "answers" chosen "$(cat expected.txt errors.txt)"
(solve 400 "$host") >actual.txt 2>other.txt
is "status" $status $?
cmp expected.txt actual.txt || fail "other answers"
cmp errors.txt other.txt || fail "other errors"
(export SAROS_EVENTRING_START=1; solve 4000 "$host") >long.txt 2>&1 &
pid=$!
await $pid
profiled() {
  "$EVENTRING" profile --json --seconds 0.3 $pid >profile.json || fail "profile: $?"
  grep -q divisors profile.json
}
until_so profiled || fail "no function of the script in: $(cat profile.json)"
"$EVENTRING" memory --json $pid >memory.json || fail "memory: $?"
"$EVENTRING" stats --json $pid --seconds 600 >stats.json || fail "stats: $?"
wait $pid
is "it has collected" true "$(query stats.json '[.spans[] | select(.name == "minor") | .count] | add > 0')"
(solve 4000) >expected.txt 2>&1
cmp expected.txt long.txt || fail "other answers when recorded"
finish
