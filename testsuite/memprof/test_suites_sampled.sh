# SPDX-License-Identifier: MIT
# Guest suites while every word that they ask for is sampled, with callbacks that allocate
# and collect (_hostile.lua). MEMPROF="NAME..." says which, `all`: all of
# testsuite/lua (make check-memprof); the suite runs a few. MEMPROF_JOBS=n at once.
#
# In a stress build everything that a callback allocates collects. There samples have 3
# frames, one callback of 16 allocates, and after 1000 callbacks of a file each word is a
# sample with probability 1/1000 only: a file takes some times longer than without samples,
# not a hundred times.
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
language/errors                 overflows a stack again and again: collections scan it each time
limits/recursion                the same
memprof/*                       profiles of their own replace this one
'
# In a stress build each callback that allocates collects; elsewhere these pass.
left_out_in_stress='
stdlib/debug_hooks              counts instructions, and callbacks run some
stdlib/eventring_*              read what they record, to which each collection adds
ffi/recorded_calls              the same
gc/weak_clearing                compares two traversals, between which entries are cleared
gc/weak_both_clearing           the same
stdlib/main_options             expects that nothing is collected before the program ends
stdlib/main_interactive         interrupts a program, which may be in a callback then
'
if grep -q -e '-DSAROS_STRESS=1' "$BUILDDIR/Makefile" 2>/dev/null; then
  left_out+=$left_out_in_stress
  export MEMPROF_DEPTH=3 MEMPROF_EVERY=16 MEMPROF_MOST=${MEMPROF_MOST:-1000}
  MEMPROF_TIMEOUT=${MEMPROF_TIMEOUT:-3600}
fi

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
  LUA_INIT="@$TESTSUITE/memprof/_hostile.lua" LUA_PATH="$(dirname "$file")/?.lua;$TESTSUITE/lua/?.lua;;" \
    timeout -k 10 "${MEMPROF_TIMEOUT:-300}" "$SAROS" "$file" >"$to.out" 2>&1 </dev/null
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
