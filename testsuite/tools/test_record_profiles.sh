# SPDX-License-Identifier: MIT
# eventring record of a process that rewrites its profile of calls all the time: the file has
# the newest one, as the process's own, and does not grow with their number.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'END'
local function leaf() return 1 end
local functions = {}
for i = 1, 300 do functions[i] = load("return function(f) return f() end", "=f" .. i)() end
local started, seconds = os.time(), tonumber(arg[1])
while os.time() - started < seconds do for i = 1, 300 do functions[i](leaf) end end
END
export SAROS_EVENTRING_PRESERVE=1 SAROS_PROFILE=calls,period=10ms
counts() { # FILE
  "$EVENTRING" profile --top 0 --json $1.eventring |
    jq -c '[.rows[] | [.name, .source, .line, .count, .exclusive_ns]] | sort' || fail "profile of $1"
}
for writer in threads serial; do
  rm -f *.eventring
  "$EVENTRING" record -q -w $writer -o all.eventring -- "$SAROS" work.lua 3 2>/dev/null ||
    fail "record: $?"
  mv [0-9]*.eventring own.eventring || fail "the process's own file is not kept"
  counts own >own.jsons
  counts all >all.jsons
  cmp -s own.jsons all.jsons || fail "the profiles differ: $(wc -c own.jsons all.jsons | tr '\n' ' ')"
  is "functions" 300 "$(jq '[.[] | select(.[1] != "work.lua" and .[2] == 1)] | length' all.jsons)"
  own=$(query <("$EVENTRING" show --json own.eventring) .file_size)
  all=$(query <("$EVENTRING" show --json all.eventring) .file_size)
  [ "$all" -le $((3 * own + (1 << 20))) ] || fail "$writer: $all bytes, of $own"
done
finish
