# SPDX-License-Identifier: MIT
# What `make install` installs is enough to build C modules, and programs that embed the
# interpreter, in C and C++; the installed program runs the modules.
. "$TESTSUITE/tools/_installed.sh"

saros=$(find "$PWD/root" -path '*/bin/saros')
is_same "version of pkg-config" "$("$saros" -v | awk '{print $2}')" "$(pkg-config --modversion saros)"

sarosc=$(find "$PWD/root" -path '*/bin/sarosc')
is_same "version of sarosc" "$("$saros" -v)" "$("$sarosc" -v)"
"$sarosc" --help >help.txt || fail "sarosc --help: $?"
for option in $(sed -n 's/.*compgen -W "\(.*\)" --.*/\1/p' "$SRCDIR/vm/completion/sarosc"); do
  has "option of sarosc" "$option" "$(cat help.txt)"
done

sources=$TESTSUITE/embedding
strict="-O1 -Wall -Wextra -Werror"
cc -std=c99 $strict -Wpedantic -shared -fPIC $(pkg-config --cflags saros) -o counter.so "$sources/_counter.c" >cc.txt 2>&1 || { cat cc.txt; fail "the module: $?"; }
cc -std=c99 $strict $(pkg-config --cflags saros) -o host "$sources/_host.c" $(pkg-config --libs saros) >cc.txt 2>&1 || { cat cc.txt; fail "the program: $?"; }

export LUA_CPATH="./?.so"
export LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name libsaros.a)")
is "module in the interpreter" "|||||||" "$("$saros" -e "print((dofile '$sources/_use_counter.lua'))" 2>&1)"
is "module in the program" "|||||||-host" "$(./host "$sources/_use_counter.lua" 2>&1)"

# An idle state is small
cc -std=c99 $strict $(pkg-config --cflags saros) -o states "$sources/_states.c" $(pkg-config --libs saros) >cc.txt 2>&1 || { cat cc.txt; fail "the states: $?"; }
read -r resident addresses < <(./states) || fail "states: $?"
echo "an idle state: $resident KB, $addresses KB of addresses"
# 33 and 15 where it was measured; pages and allocators differ a little
[ "$resident" -le 37 ] || fail "an idle state takes $resident KB"
[ "$addresses" -le 256 ] || fail "an idle state takes $addresses KB of addresses"
read -r resident addresses < <(./states bare) || fail "states without libraries: $?"
echo "one without libraries: $resident KB"
[ "$resident" -le 17 ] || fail "an idle state without libraries takes $resident KB"

# The program obeys the environment variables of the recording.
export EVENTRING=$(find "$PWD/root" -path '*/bin/eventring')
recordings() { ls -- *.eventring 2>/dev/null | wc -l; }
is "recordings without a variable" 0 "$(recordings)"
is "recorded, not kept" "|||||||-host" "$(SAROS_EVENTRING_START=1 ./host "$sources/_use_counter.lua" 2>&1)"
is "recordings not kept" 0 "$(recordings)"
is "recorded" "|||||||-host" "$(SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 ./host "$sources/_use_counter.lua" 2>&1)"
is "recordings" 1 "$(recordings)"
"$EVENTRING" show --json ./*.eventring >show.json || fail "show: $?"
is "program and end" '["host","ended"]' "$(query show.json '[.program, .liveness]')"
"$EVENTRING" stats --json ./*.eventring >stats.json || fail "stats: $?"
is "collections" true "$(query stats.json '[.spans[] | select(.name == "major") | .count] | add >= 1')"
rm -f -- *.eventring

# What a recording has no place for is counted, and told
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 ./states >states.txt 2>warning.txt || fail "recorded states: $?"
has "the warning" "128 are already" "$(cat warning.txt)"
is "states that are not recorded" 872 "$("$EVENTRING" show --json ./*.eventring | jq .unrecorded)"
has "show" "128 of 128 have rings; 872 more were not recorded" "$("$EVENTRING" show ./*.eventring)"
list=$("$EVENTRING" list .) # on two lines where a long name of a program stands beside it
has "list" "872 domains" "$list"
has "list" "unrecorded" "$list"
"$EVENTRING" cut --last 1ms -o cut.eventring ./[0-9]*.eventring >cut.txt 2>&1 || fail "cut: $(cat cut.txt)"
is "and in a part of it" 872 "$("$EVENTRING" list --json . | jq 'select(.path | test("cut")) | .unrecorded')"
rm -f -- *.eventring

# What a state records goes into its own domain, whichever thread runs it
cc -std=gnu99 $strict $(pkg-config --cflags saros) -o handed "$sources/_handed.c" $(pkg-config --libs saros) -lpthread >cc.txt 2>&1 || { cat cc.txt; fail "the pool: $?"; }
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 ./handed >handed.txt 2>&1 || fail "the pool: $?"
is "its states" "" "$(cat handed.txt)"
"$EVENTRING" dump --json ./*.eventring >dump.json || fail "dump: $?"
is "turns of each state in order, in one domain" 6 "$(jq -rs '[.[] | select(.name // "" | startswith("turns of"))]
  | group_by(.name) | map(select(map(.value) == [range(1; 61)] and (map([.domain, .incarnation]) | unique | length) == 1)) | length' dump.json)"
is "spans of its coroutine, the last one ended by lua_close" 366 "$(jq -rs '[.[] | select(.name == "in a coroutine" and .kind == "end")] | length' dump.json)"
rm -f -- *.eventring
is "standing by" "|||||||-host" "$(SAROS_EVENTRING_START=standby SAROS_EVENTRING_PRESERVE=1 ./host "$sources/_use_counter.lua" 2>&1)"
is "its control page" 1 "$(recordings)"
rm -f -- *.eventring
text=$(SAROS_EVENTRING_START=maybe ./host "$sources/_use_counter.lua" 2>&1)
has "a bad value" "saros: warning: not recording: SAROS_EVENTRING_START" "$text"
has "and the program runs" "|||||||-host" "$text"

if command -v g++ >/dev/null; then
  g++ -x c++ -std=c++11 $strict -Wpedantic $(pkg-config --cflags saros) -o host_cc "$sources/_host.c" -x none $(pkg-config --libs saros) >cc.txt 2>&1 || { cat cc.txt; fail "the program in C++: $?"; }
  is "module in the C++ program" "|||||||-host" "$(./host_cc "$sources/_use_counter.lua" 2>&1)"
else
  echo "C++ is not tested: g++ is missing (Debian package: g++)"
fi

# only the names of the API are visible
library=$(find root -name libsaros.a)
is "foreign names" "" "$(nm -g --defined-only -P "$library" | awk 'NF > 1 {print $1}' | grep -Ev '^(lua(L|open)?|saros)_')"
finish
