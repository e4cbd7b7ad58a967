# SPDX-License-Identifier: MIT
# A file that `eventring record` still writes is read to its end, although the process that it
# records ended long ago: the file says that the recording has ended when all of it is there, not
# before. Writes are slow here, so that the file is updated several times in between.
. "$TESTSUITE/tools/_tools.sh"
sanitized && { echo "nothing can be preloaded in front of a sanitizer"; exit 77; }
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
cc -shared -fPIC -o slow.so "$TESTSUITE/tools/_slow_writes.c" -ldl || fail "cc: $?"

SAROS_EVENTRING_WSIZE=20 record --domains 2 --rounds 10000 --extras

for how in "" "--zstd --zstd-threads 1" "--rotate-size 2M"; do
  # shellcheck disable=SC2086
  WRITE_MS=10 LD_PRELOAD="$PWD/slow.so" "$EVENTRING" record -q -w serial --buffer-size 64K $how \
    -o live.eventring "$file" 2>record.txt &
  recorder=$!
  name=live.eventring
  [[ $how = --rotate* ]] && name=live.1.eventring
  until_so test -e "$name" || fail "$how: no file"
  "$EVENTRING" stats --json "$name" >followed.json 2>errors.txt ||
    fail "$how: follower: status $? $(cat errors.txt)"
  wait $recorder || { grep -q "not in this build" record.txt && continue; fail "$how: $(cat record.txt)"; }
  "$EVENTRING" stats --json "$name" >stats.json || fail "$how: status $?"
  is_same "$how: followed to its end" "$(counts_of stats.json)" "$(counts_of followed.json)"
  rm -f live*
done
finish
