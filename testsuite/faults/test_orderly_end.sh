# SPDX-License-Identifier: MIT
# However a program ends in an orderly way, an attached reader gets the last
# event, no file is left unless it is to be preserved, and the status is right.
. "$TESTSUITE/faults/_faults.sh"
cat >ending.lua <<'END'
local eventring = require "saros.eventring"
local how = ...
while not io.open("go", "r") do require "saros.domain".sleep(0.002) end
eventring.counter("last", 42)
if how == "error" then error("the end")
elseif how == "error object" then error({})
elseif how == "exit" then os.exit(5)
elseif how == "exit and close" then os.exit(6, true)
elseif how == "exit in a coroutine" then coroutine.wrap(function() os.exit(4) end)()
elseif how == "return" then return
end
io.open("ready", "w"):close()
while true do local t = {} end
END

# ends HOW STATUS [SIGNAL]
ends() {
  rm -f go ready dump.json
  "$SAROS" ending.lua "$1" 2>errors.txt &
  pid=$!
  await $pid
  timeout $PATIENCE "$EVENTRING" dump --json --follow $pid >dump.json 2>dump.err &
  reader=$!
  until_so [ -s dump.json ] # it is attached
  touch go
  if [ -n "${3-}" ]; then
    until_so [ -e ready ]
    kill -"$3" $pid
  fi
  wait $pid
  is "$1 ${3-}: status" "$2" $?
  wait $reader
  is "$1 ${3-}: status of the reader" 0 $?
  is "$1 ${3-}: last counter seen" 42 \
    "$(jq -r 'select(.name == "last") | .value' dump.json)"
}
for preserve in 0 1; do
  export SAROS_EVENTRING_PRESERVE=$preserve
  count=0
  for how in "return 0" "error 1" "error object 1" "exit 5" "exit and close 6" \
      "exit in a coroutine 4"; do
    ends "${how% *}" "${how##* }"
    count=$((count + 1))
  done
  for end in "TERM 143" "HUP 129" "INT 1"; do
    ends loop "${end#* }" "${end% *}"
    count=$((count + 1))
  done
  is "files left, preserve=$preserve" $((preserve * count)) \
    "$(find . -name '*.eventring' | wc -l)"
  for file in ./*.eventring; do
    [ -e "$file" ] || continue
    is "how $file ended" '"ended"' "$("$EVENTRING" show --json "$file" 2>show.err | jq .liveness)"
    is "what there is to complain of in $file" "" "$(cat show.err)"
  done
done
# blocked in a system call: it ends at once
SAROS_EVENTRING_PRESERVE=0 "$SAROS" -e 'io.popen("sleep 5"):read("a")' &
pid=$!
await $pid
kill $pid
SECONDS=0
wait $pid
is "SIGTERM while it reads: status" 143 $?
[ $SECONDS -le 2 ] || fail "SIGTERM while it reads: $SECONDS s"
[ -e $pid.eventring ] && fail "SIGTERM while it reads: a file is left"
# what the parent has switched off stays off
output=$(trap '' TERM; "$SAROS" -e 'os.execute("kill -TERM $PPID"); io.write("ran\n")' 2>&1)
is "SIGTERM ignored by the parent" ran "$output"
finish
