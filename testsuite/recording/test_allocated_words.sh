# SPDX-License-Identifier: MIT
# The counter of allocated words is exact when a domain ends, however it ends: two runs of a
# program that differ in 1000 tables differ in 1000 times their words, in the counter and in
# the heap profile.
. "$TESTSUITE/recording/_recording.sh"

cat >work.lua <<'EOF'
local ending, n = arg[1], tonumber(arg[2])
local function allocate(n)
  for _ = 1, n do local _ = {} end
end
if ending == "spawned" then
  local domain = require "saros.domain"
  domain.spawn({name = "worker"}, allocate, n):join()
  return
end
allocate(n)
if ending == "exit" then os.exit(0) end
if ending == "close" then os.exit(0, true) end
if ending == "error" then error "as it should be" end
EOF

# words ENDING TABLES: sets what was asked for, counted and by the heap profiles
words() {
  SAROS_MEMPROF=1 SAROS_EVENTRING_PRESERVE=1 SAROS_HASH_SEED=1 "$SAROS" work.lua $1 $2 2>err.txt
  file=$(echo *.eventring)
  "$EVENTRING" stats --json "$file" >stats.json || fail "stats"
  counted=$(jq .total.allocated_words stats.json)
  "$EVENTRING" heap --json "$file" >heap.json || fail "heap"
  profiled=$(jq .total.counted_words heap.json)
  rm -f "$file"
}

for ending in ends exit close error spawned; do
  words $ending 1000
  first_counted=$counted first_profiled=$profiled
  words $ending 2000
  is "$ending: counted" 6000 $((counted - first_counted))
  is "$ending: profiled" 6000 $((profiled - first_profiled))
done
finish
