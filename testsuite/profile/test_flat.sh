# SPDX-License-Identifier: MIT
# Calls on paths that find no room in the budget are counted by function: a program that counts
# its own calls says the same, with a budget that is far too small, of each function or, of more
# functions than there is room for, of all together; also of domains, and of a process that is
# killed.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=.
cat >counts.lua <<'LUA'
-- counts.lua FUNCTIONS DOMAINS [wait]: random calls of functions f1, f2 ..., in coroutines and
-- through errors; prints how often each was called, over all domains
local domain = require "saros.domain"
local FUNCTIONS, DOMAINS, WAIT = tonumber(arg[1]), tonumber(arg[2]), arg[3]
collectgarbage "stop" -- or its calls differ from run to run
local function work(functions, seed)
  collectgarbage "stop"
  local counts, f, fuel = {}, {}, 6000
  local state = seed
  local function draw(n) state = (state * 1103515245 + 12345) % 2147483648 return state // 65536 % n + 1 end
  for i = 1, functions do
    counts[i] = 0
    f[i] = load(([[local counts, f, go = ...
      local function f%d(depth) counts[%d] = counts[%d] + 1 return (go(depth)) end
      return f%d]]):format(i, i, i, i), "=f" .. i)
  end
  local go
  local function pass(depth) return (go(depth)) end
  for i = 1, functions do f[i] = f[i](counts, f, pass) end
  go = function(depth)
    fuel = fuel - 1
    if fuel < 0 or depth > 10 then return end
    local what = draw(16)
    if what == 1 then pcall(error, "raised") end
    if what == 2 then
      local co = coroutine.wrap(function() f[draw(functions)](depth + 1) coroutine.yield() f[draw(functions)](depth + 1) end)
      co() f[draw(functions)](depth + 1) co()
    end
    for _ = 1, draw(3) do f[draw(functions)](depth + 1) end
    if what == 3 and fuel > 0 then error("up", 0) end
  end
  while fuel > 0 do pcall(f[draw(functions)], 1) end
  return counts
end
local handles, sums = {}, {}
for i = 1, DOMAINS do handles[i] = domain.spawn(work, FUNCTIONS, i) end
local all = { work(FUNCTIONS, 4711) }
for _, h in ipairs(handles) do all[#all + 1] = h:join() end
for _, counts in ipairs(all) do for i, n in ipairs(counts) do sums[i] = (sums[i] or 0) + n end end
for i, n in ipairs(sums) do print("f" .. i, n) end
io.stdout:flush()
local function idle() end
while WAIT do idle() end
LUA
# run NAME BUDGET FUNCTIONS DOMAINS: the truth is in NAME.truth, the answer in NAME.json
run() {
  SAROS_PROFILE=calls,budget=$2 SAROS_EVENTRING_NAME=$1 "$SAROS" counts.lua "$3" "$4" >"$1.truth" ||
    fail "$1: $?"
  "$EVENTRING" profile --top 0 --json "$1.eventring" >"$1.json" || fail "profile of $1: $?"
}
# counted FILE: as the program prints it
counted() {
  jq -r '.rows[] | select(.name | test("^f[0-9]+$")) | "\(.name)\t\(.count)"' "$1" | sort
}
sum() { query "$1" '[.rows[].count] | add'; }

for domains in 0 3; do
  run "few$domains" 64K 12 $domains
  is "each function, $domains domains" "$(sort few$domains.truth)" "$(counted few$domains.json)"
  is "is full" true "$(query few$domains.json .loss.budget_full)"
  has "what helps" budget= "$(query few$domains.json .loss.remedy)"
  [ "$(query few$domains.json .loss.calls)" -gt 1000 ] || fail "few calls are flat"
done
is_same "those of domains, apart" "$(query few3.json '[.rows[] | select(.name == "f1") | .count] | add')" \
  "$("$EVENTRING" profile --top 0 --json --per-domain few3.eventring | jq '[.rows[] | select(.name == "f1") | .count] | add')"

# more functions than there is room for: the rest is one row
run many 64K 300 0
run roomy 256M 300 0
is "a large budget" false "$(query roomy.json .loss.budget_full)"
is "a large budget has no remedy" null "$(query roomy.json .loss.remedy)"
is "a large budget keeps all paths" 0 "$(query roomy.json '[.rows[].path_not_kept // 0] | add')"
is "each function, a large budget" "$(sort roomy.truth)" "$(counted roomy.json)"
is_same "the sum of all calls" "$(sum roomy.json)" "$(sum many.json)"
[ "$(query many.json '[.rows[] | select(.name == "(other)") | .count] | add')" -gt 1000 ] ||
  fail "few calls of others"
is "what is not kept is in rows" "$(query many.json .loss.calls)" \
  "$(query many.json '[.rows[].path_not_kept // 0] | add')"
# own times and outside are all the time, each rounded down
jq -e '([.rows[].exclusive_ns] | add) as $own |
  $own <= .total.ns and $own + (.rows | length) * 2 >= .total.ns' many.json >/dev/null ||
  fail "times: $(jq -c '[.total.ns, ([.rows[].exclusive_ns] | add)]' many.json)"

# views of paths have one row for them, text names the option, and so do callers and formats
text=$("$EVENTRING" profile --by stack --top 0 many.eventring)
has "a row of paths" "(path not kept)  " "$text"
is "calls of that row" "$(query many.json .loss.calls)" \
  "$("$EVENTRING" profile --by stack --top 0 --json many.eventring |
    jq '.rows[] | select(.stack == "(path not kept)") | .count')"
has "text names the option" "SAROS_PROFILE=calls,budget=SIZE" "$(tr '\n' ' ' <<<"$text")"
has "the tree" "(path not kept)" "$("$EVENTRING" profile --tree many.eventring | sed 1,/domain/d)"
is "callers" "$(grep -w f1 few0.truth | cut -f 2)" \
  "$("$EVENTRING" profile --callers f1 --top 0 --json few0.eventring | jq '[.rows[].count] | add')"
is "the time of a flame graph" "$(query many.json '.total.ns / 1000 | floor')" \
  "$("$EVENTRING" profile --to folded many.eventring | awk '{ sum += $NF } END { printf "%d\n", sum / 1000 }')"

# killed: the last profile that was written is whole
SAROS_PROFILE=calls,budget=64K,period=10ms SAROS_EVENTRING_NAME=killed \
  "$SAROS" counts.lua 12 0 wait >killed.truth & pid=$!
until_so grep -qs f12 killed.truth || fail "the program does not come so far"
same() {
  "$EVENTRING" profile --top 0 --json killed.eventring 2>/dev/null >killed.json &&
    [ "$(counted killed.json)" = "$(sort killed.truth)" ]
}
until_so same || fail "a live process: $(diff <(sort killed.truth) <(counted killed.json))"
kill -9 "$pid"
wait "$pid" 2>/dev/null
same || fail "killed: $(diff <(sort killed.truth) <(counted killed.json))"
"$EVENTRING" cut -q -o cut.eventring killed.eventring || fail "cut: $?"
"$EVENTRING" profile --top 0 --json cut.eventring >cut.json || fail "a copy: $?"
is "a copy" "$(sort killed.truth)" "$(counted cut.json)"

# damaged: a block of the profile that is not valid makes it none, and no figures are made up
python3 - many.eventring damaged.eventring <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(data) - 4095, 4096):
    if data[at + 8:at + 10] == b"\x0a\0" and struct.unpack_from("<Q", data, at)[0]:
        end = struct.unpack_from("<I", data, at + 48)[0]
        word = at + 64
        while word < at + 8 * min(end, 512) and struct.unpack_from("<H", data, word)[0]:
            if struct.unpack_from("<H", data, word + 2)[0] == 4:
                data[word + 24] ^= 1  # its count
            word += 8 * struct.unpack_from("<H", data, word)[0]
open(sys.argv[2], "wb").write(data)
PYTHON
cmp -s many.eventring damaged.eventring && fail "nothing was damaged"
"$EVENTRING" profile damaged.eventring >damaged.txt 2>&1
is "a damaged one" 1 $?
has "says so" "parts of profiles are not valid" "$(cat damaged.txt)"
finish
