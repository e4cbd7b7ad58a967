# SPDX-License-Identifier: MIT
# The child of a fork: what it allocates is in the recording of its own and never in that of
# its parent, and its samples are not those of its parent.
. "$TESTSUITE/recording/_recording.sh"

cat >work.lua <<'EOF'
local ok, ffi = pcall(require, "ffi")
if not ok then os.exit(77) end
ffi.cdef "int fork(void); int waitpid(int pid, int *status, int options);"
local eventring = require "saros.eventring"
local kept = {}
local function of_parent(n) for i = 1, n do kept[#kept + 1] = {i} end end
local function of_child(n) for i = 1, n do kept[#kept + 1] = {i, i} end end
of_parent(1234)
local child = ffi.C.fork()
if child == 0 then
  eventring.path() -- its recording begins
  collectgarbage()
  of_child(tonumber(arg[1]))
  collectgarbage()
  os.exit(0)
end
of_parent(7364)
assert(ffi.C.waitpid(child, nil, 0) == child)
collectgarbage()
print(child)
EOF

objects() { # FILE FUNCTION
  "$EVENTRING" heap --json --by function "$1" >heap.json || fail "heap $1"
  jq --arg name $2 '[.rows[] | select(.name == $name) | .allocated_objects] | add // 0' heap.json
}

for n in 1 $((200000 / TEST_SLOWNESS)); do
  SAROS_MEMPROF=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua $n >out.txt
  status=$?
  [ $status = 77 ] && exit 77
  [ $status = 0 ] || fail "status $status"
  child=$(cat out.txt)
  files=$(ls ./*.eventring | wc -l)
  is "recordings" 2 $files
  theirs=$(ls ./*$child*.eventring)
  ours=$(ls ./*.eventring | grep -v -- "$child")
  [ "$(objects "$ours" of_parent)" -ge $((1234 + 7364)) ] ||
    fail "blocks of the parent are missing"
  is "the child's, with the parent" 0 "$(objects "$ours" of_child)"
  [ "$(objects "$theirs" of_child)" -ge "$n" ] || fail "blocks of the child are missing"
  rm -f ./*.eventring
done

# At the same rate, children draw different samples.
cat >draws.lua <<'EOF'
local ffi = require "ffi"
local memprof = require "saros.memprof"
ffi.cdef "int fork(void); int waitpid(int pid, int *status, int options);"
local s = memprof.start {rate = 0.1}
local function draw(name)
  for i = 1, 2000 do local _ = {i} end
  local f = io.open(name, "w")
  f:write(s:snapshot().samples, "\n")
  f:close()
end
for i = 1, 4 do
  local child = ffi.C.fork()
  if child == 0 then draw("drawn" .. i) os.exit(0) end
  assert(ffi.C.waitpid(child, nil, 0) == child)
end
EOF
"$SAROS" draws.lua || fail "draws: status $?"
[ "$(cat drawn? | sort -u | wc -l)" -gt 1 ] || fail "all children have drawn $(cat drawn1) samples"
finish
