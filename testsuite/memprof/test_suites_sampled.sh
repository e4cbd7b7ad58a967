# SPDX-License-Identifier: MIT
# Guest suites while every word that they ask for is sampled, with callbacks that allocate
# and collect (_hostile.lua). MEMPROF="NAME..." says which, `all`: all of
# testsuite/lua (make check-memprof); the suite runs a few.
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
for name in $names; do
  file=$TESTSUITE/lua/$name.lua
  is_left_out "$name" && continue
  [ -e "$file" ] || continue
  rm -rf "$here/run" && mkdir "$here/run" && cd "$here/run" || exit 1
  LUA_INIT="@$TESTSUITE/memprof/_hostile.lua" LUA_PATH="$(dirname "$file")/?.lua;$TESTSUITE/lua/?.lua;;" \
    timeout -k 10 300 "$SAROS" "$file" >"$here/out" 2>&1 </dev/null
  status=$?
  cd "$here" || exit 1
  [ $status = 0 ] || [ $status = 77 ] || fail "$name: status $status: $(tail -n 5 out)"
done
finish
