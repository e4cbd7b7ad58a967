# SPDX-License-Identifier: MIT
# Guest suites while every word that they ask for is sampled, with callbacks that allocate
# and collect (_hostile.lua). MEMPROF="NAME..." says which, `all`: all of
# testsuite/lua (make check-memprof); the suite runs a few. MEMPROF_JOBS=n at once.
#
# In a stress build everything that a callback allocates collects, and each call copies its
# stack, which asks for words, too. So there a word is a sample with probability 1e-5 only
# after 20,000 callbacks of a domain: all of it takes some minutes.
. "$TESTSUITE/_checks.sh"

# NAME: why it is left out
left_out='
gc/files_left_open              measures memory
gc/arrays_reuse_pages           measures memory
gc/count                        measures memory
gc/growing                      measures memory
gc/memory_is_given_back_again   measures memory
gc/outgrown_parts               measures memory
gc/weak_keys_memory             measures memory
domain/memory                   measures memory
ffi/external_memory             measures memory
stdlib/gmatch_iterators         measures memory
stdlib/profile                  counts calls, which callbacks make, too
memprof/*                       profiles of their own replace this one
'
# The same, in a stress build only.
left_out_in_stress='
stdlib/debug_hooks              counts instructions: callbacks of blocks that died before run some
language/fused_instructions     the same
stdlib/eventring_errors         polls one event: a begin or end of a cycle may come before its own
stdlib/eventring_lost           counts lost events: begins and ends of cycles are among them
stdlib/eventring_wait           waits for no event: each poll collects, and so records some
gc/weak_clearing                compares two traversals, between which entries are cleared
stdlib/main_options             expects that nothing is collected before the program ends
'
# NAME VARIABLE=VALUE: why it is run with that
settings='
language/errors       MEMPROF_MOST=20000  overflows a stack again and again: collections scan it
limits/recursion      MEMPROF_MOST=20000  the same
'
# Each event that a poll reads makes a callback, which collects. Where that is recorded, the
# poll reads it next, and never ends.
settings_in_stress='
stdlib/eventring_load_names  SAROS_EVENTRING_CLASSES=user,load  such polls
stdlib/eventring_stream      SAROS_EVENTRING_CLASSES=user       such polls
ffi/recorded_calls           SAROS_EVENTRING_CLASSES=user       such polls
stdlib/eventring_io          SAROS_EVENTRING_CLASSES=user       its ring is too small for cycles
'
if grep -qs -e '-DSAROS_STRESS=1' "$BUILDDIR/Makefile"; then
  left_out+=$left_out_in_stress settings+=$settings_in_stress
  export MEMPROF_MOST=${MEMPROF_MOST:-20000}
fi

# settings_of NAME: VARIABLE=VALUE, or nothing
settings_of() {
  local name setting
  while read -r name setting _; do
    [ "$name" = "$1" ] && echo "$setting"
  done <<<"$settings"
}

is_left_out() {
  local pattern
  while read -r pattern _; do
    case $1 in $pattern) [ -n "$pattern" ] && return 0 ;; esac
  done <<<"$left_out"
  return 1
}

names=${MEMPROF-"language/closures language/coroutines language/metamethods language/varargs
  gc/weak gc/finalizers stdlib/table_functions stdlib/patterns_gsub"}
if [ "$names" = all ]; then
  names=$(cd "$TESTSUITE/lua" && find . -name '_*' -prune -o -name '*.lua' -print |
    sed 's,^\./,,; s,\.lua$,,' | sort)
fi

here=$PWD
export TEST_SLOWNESS=$((TEST_SLOWNESS * 20))

# run NAME: its status and last lines go to results/, with `/` as `.`
run() {
  local file=$TESTSUITE/lua/$1.lua to=$here/results/${1//\//.}
  mkdir -p "$here/run/$1" && cd "$here/run/$1" || exit 1
  local start=$SECONDS
  # shellcheck disable=SC2046 # none, or one
  env LUA_INIT="@$TESTSUITE/memprof/_hostile.lua" \
    LUA_PATH="$(dirname "$file")/?.lua;$TESTSUITE/lua/?.lua;;" $(settings_of "$1") \
    timeout -k 10 "${MEMPROF_TIMEOUT:-600}" "$SAROS" "$file" >"$to.out" 2>&1 </dev/null
  echo "$? $((SECONDS - start)) $1" >"$to.status"
  [ -z "${MEMPROF_VERBOSE:-}" ] || cat "$to.status"
}

mkdir results
for name in $names; do
  is_left_out "$name" && continue
  [ -e "$TESTSUITE/lua/$name.lua" ] || continue
  while [ "$(jobs -pr | wc -l)" -ge "${MEMPROF_JOBS:-1}" ]; do wait -n; done
  run "$name" &
done
wait
cd "$here" || exit 1
for file in results/*.status; do
  read -r status seconds name <"$file"
  [ "$status" = 0 ] || [ "$status" = 77 ] ||
    fail "$name: status $status after $seconds s: $(tail -n 5 "${file%.status}.out")"
done
finish
