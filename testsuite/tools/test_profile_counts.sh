# SPDX-License-Identifier: MIT
# Counts of a profile of calls equal those of a counting hook, exactly, over the suite of the
# language. Left out: programs that set hooks themselves, those that use coroutine.wrap, whose
# coroutines the hook does not see, and recursions to the limit, which find no room.
. "$TESTSUITE/tools/_tools.sh"

cat >compare.lua <<'END'
local profile = require "saros.profile"
local counts, getinfo, sethook = {}, debug.getinfo, debug.sethook
local function hook()
  local i = getinfo(2, "S")
  if i.what == "C" then return end
  local key = i.short_src .. ":" .. i.linedefined
  counts[key] = (counts[key] or 0) + 1
end
local create = coroutine.create
function coroutine.create(f) local co = create(f) sethook(co, hook, "c") return co end
local name = getinfo(assert(loadfile(arg[1])), "S").short_src
local f = loadfile(arg[1])
local p = profile.start {budget = 64 << 20}
sethook(hook, "c")
local ok, e = pcall(f)
sethook()
local rows, profiled = p:stop():report().rows, {}
assert(ok, e)
for _, r in ipairs(rows) do
  local key = r.source .. ":" .. r.line
  profiled[key] = (profiled[key] or 0) + r.count
end
local calls = 0
for key, count in pairs(counts) do
  if key:sub(1, #name) == name then -- chunks of `load` may have signs that are not shown
    calls = calls + count
    if profiled[key] ~= count then print(key, "hook", count, "profile", profiled[key]) os.exit(1) end
  end
end
assert(calls > 0)
END

export LUA_PATH="$TESTSUITE/lua/?.lua;;"
cp "$TESTSUITE"/lua/language/*.lua .
compared=0
for file in *.lua; do
  case $file in compare.lua | _*) continue ;; esac
  if grep -q 'sethook\|coroutine.wrap\|os.exit\|stack overflow' "$file"; then continue; fi
  out=$(timeout $((60 * TEST_SLOWNESS)) "$SAROS" compare.lua "$file" 2>&1) || fail "$file: $out"
  compared=$((compared + 1))
done
[ $compared -ge 10 ] || fail "only $compared programs"
finish
