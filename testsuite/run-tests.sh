#!/bin/bash
# Runs the tests of a build and ends with one line: N passed, N failed[, N skipped].
#
#   testsuite/run-tests.sh [--builddir=DIR] [--unit="PROGRAM..."] [--only=PATTERN]...
#                          [--except=PATTERN]... [--jobs=N] [--timeout=SECONDS] [--verbose]
#
# A test is one of
#   - a unit program named by --unit (paths relative to the build directory) whose
#     name is test_NAME or NAME_test; others there are what tests use;
#   - a guest suite testsuite/lua/FOLDER/NAME.lua, run as `saros NAME.lua` with
#     its own folder and testsuite/lua on package.path; folders and files whose name
#     begins with `_` are support files, not tests;
#   - a script testsuite/**/test_NAME.sh, run with bash.
#
# In a build without the interpreter (configured with --disable-saros) the guest suites are left
# out, and a script is skipped that needs it: that has $SAROS in itself or in what it sources, or
# uses a library of the interpreter.
#
# Exit status 0 is a pass, 77 a skip (the last line of its output says why),
# anything else a failure; so is running longer than the timeout. Each test runs
# in an empty directory of its own and sees
#   SAROS, EVENTRING    the programs (absolute paths)
#   TESTSUITE           this folder;  SRCDIR  the source tree;  BUILDDIR  the build
#   LUA_REFERENCE       lua5.4, or empty
#   TEST_SLOWNESS       1, or by how much this build is slower than a plain one
# and leaves its output in BUILDDIR/testsuite/log/NAME.log; results.txt there has the
# verdicts with the seconds that each took, and of those how many it had a processor.
# `--only` keeps the tests whose name matches one of the shell patterns (or contains the
# word), `--except` leaves such tests out.
#
# A test that failed runs once more, alone, when all others have ended. It has failed if it
# fails again. If it passes then, it counts as passed, and a line FLAKY says so: a test that
# depends on what runs beside it is a fault of its own, but not of the change under test.
# NAME.first.log has the output of the first run. No test runs again when more than
# RETRIES (default 5) failed.
#
# The status of the runner is 1 when a test failed, 2 on wrong usage.
# SPDX-License-Identifier: MIT

set -u

usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

# ---- One test (the runner calls itself through xargs) -----------------------

# The processor time in FILE, which has the output of `times`: its second line is that of
# the children that the shell has waited for, in minutes and seconds.
processor_seconds() { # FILE
  awk 'NR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/)
    printf "%.1f", 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }' "$1"
}

# needs_interpreter SCRIPT...: one of them, or what it sources, uses the interpreter
needs_interpreter() {
  local script sourced
  for script in "$@"; do
    grep -qE '\$SAROS\>|bin/saros|libsaros|stand-in|(cflags|libs) saros' "$script" && return 0
    mapfile -t sourced < <(sed -n 's|^\(.*[;&] \)\?\. "\$TESTSUITE/\([^"$]*\)".*|\2|p' "$script")
    [ ${#sourced[@]} -gt 0 ] && needs_interpreter "${sourced[@]/#/$TESTSUITE/}" && return 0
  done
  return 1
}

run_one() {
  local name=$1 log=$LOGDIR/${1//\//_}.log work status command took
  work=$(mktemp -d "${TMPDIR:-/tmp}/saros-test.XXXXXX") || exit 1
  case $name in
    unit:*) command=("$BUILDDIR/${name#unit:}") ;;
    *.sh) command=(bash "$TESTSUITE/$name") ;;
    *.lua) command=("$SAROS" "$TESTSUITE/$name")
           export LUA_PATH="$(dirname "$TESTSUITE/$name")/?.lua;$TESTSUITE/lua/?.lua;;" ;;
  esac
  if [ "$INTERPRETER" = no ] && [[ $name == *.sh ]] && needs_interpreter "$TESTSUITE/$name"; then
    echo "SKIP $name: this build has no interpreter (--disable-saros)"
    rm -rf "$work"
    return
  fi
  # Signals are as on a terminal, also when we run in the background.
  # The group takes what the shell itself says of a test that a signal ended.
  SECONDS=0
  # What it leaves running is in the group that `timeout` makes, and would disturb the others.
  { (cd "$work" && exec env --default-signal=INT,QUIT,PIPE timeout -k 10 "$TIMEOUT" "${command[@]}") </dev/null &
    wait $!; } >"$log" 2>&1
  status=$? took="$SECONDS s"
  kill -KILL -- -$! 2>/dev/null
  times >"$log.times" && took="$took, $(processor_seconds "$log.times") on a processor"
  rm -rf "$work" "$log.times"
  case $status in
    0) echo "PASS $name ($took)" ;;
    77) echo "SKIP $name: $(tail -n 1 "$log")" ;;
    124 | 137) echo "FAIL $name (no end within $TIMEOUT s)" ;;
    *) echo "FAIL $name (status $status, $took)" ;;
  esac
}

if [ "${1-}" = --run-one ]; then run_one "$2"; exit 0; fi

# ---- Options ----------------------------------------------------------------

TESTSUITE=$(cd "$(dirname "$0")" && pwd)
SRCDIR=$(dirname "$TESTSUITE")
BUILDDIR=$PWD
units= jobs=$(nproc) TIMEOUT= verbose=no
only=() except=()
for argument in "$@"; do
  case $argument in
    --builddir=*) BUILDDIR=${argument#*=} ;;
    --unit=*) units=${argument#*=} ;;
    --only=*) only+=("${argument#*=}") ;;
    --except=*) except+=("${argument#*=}") ;;
    --jobs=*) jobs=${argument#*=} ;;
    --timeout=*) TIMEOUT=${argument#*=} ;;
    --verbose) verbose=yes ;;
    *) usage ;;
  esac
done
SAROS=${SAROS:-$BUILDDIR/saros}
EVENTRING=${EVENTRING:-$BUILDDIR/eventring/eventring}
LUA_REFERENCE=${LUA_REFERENCE-$(command -v lua5.4)}
TEST_SLOWNESS=${TEST_SLOWNESS:-1}
TIMEOUT=${TIMEOUT:-$((300 * TEST_SLOWNESS))}
LOGDIR=$BUILDDIR/testsuite/log
INTERPRETER=yes
! grep -qs '^INTERPRETER = no' "$BUILDDIR/Makefile" || INTERPRETER=no
export INTERPRETER TESTSUITE SRCDIR BUILDDIR SAROS EVENTRING LUA_REFERENCE TEST_SLOWNESS TIMEOUT LOGDIR
export LC_ALL=C.UTF-8 TZ=UTC
# What a sanitizer ends must not look like an error that a program reports; and more memory
# than there is, which malloc refuses, is no fault of the program.
export ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS} TSAN_OPTIONS=exitcode=99${TSAN_OPTIONS:+:$TSAN_OPTIONS}
# What the caller's shell has set must not reach the tests.
unset LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_PATH_5_4 LUA_CPATH LUA_CPATH_5_4
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE SAROS_EVENTRING_NAME SAROS_EVENTRING_WSIZE

# ---- Which tests ------------------------------------------------------------

all_tests() {
  local unit
  for unit in $units; do
    case ${unit##*/} in test_* | *_test) echo "unit:$unit" ;; esac
  done
  (cd "$TESTSUITE" && {
    [ "$INTERPRETER" = no ] || find lua -name '*.lua' ! -path '*/_*' 2>/dev/null
    find . -name 'test_*.sh' ! -path '*/_*' | sed 's|^\./||'
  }) | LC_ALL=C sort
}

# matches NAME PATTERN...
matches() {
  local name=$1 pattern
  shift
  for pattern in "$@"; do
    # shellcheck disable=SC2053
    [[ $name == $pattern || $name == *$pattern* ]] && return 0
  done
  return 1
}

wanted() {
  { [ ${#only[@]} -eq 0 ] || matches "$1" "${only[@]}"; } && ! matches "$1" "${except[@]}"
}

# ---- Run --------------------------------------------------------------------

mkdir -p "$LOGDIR/bin" || exit 2
# Tests start python3 hundreds of times: Debian's takes 18 ms for it where that of a version manager
# takes up to 90.
[ ! -x /usr/bin/python3 ] || ln -sfn /usr/bin/python3 "$LOGDIR/bin/python3"
PATH=$LOGDIR/bin:$PATH
results=$LOGDIR/results.txt
all_tests | while read -r name; do wanted "$name" && echo "$name"; done |
  xargs -r -d '\n' -n 1 -P "$jobs" bash "$0" --run-one |
  tee "$results" |
  if [ "$verbose" = yes ]; then cat; else grep --line-buffered -v '^PASS'; fi

# Those that failed run once more.
retries=${RETRIES:-5}
mapfile -t again < <(sed -n 's/^FAIL \([^ ]*\) .*/\1/p' "$results")
if [ ${#again[@]} -le "$retries" ]; then
  for name in "${again[@]}"; do
    log=$LOGDIR/${name//\//_}
    cp "$log.log" "$log.first.log"
    first=$(grep -F "FAIL $name " "$results")
    second=$(run_one "$name")
    [[ $second == FAIL* ]] && continue
    echo "FLAKY $name: it failed at first${first#FAIL "$name"}, and passed alone; $log.first.log:"
    tail -n 15 "$log.first.log" | sed 's/^/    /'
    grep -vF "FAIL $name " "$results" >"$results.new"
    echo "$second" >>"$results.new" && mv "$results.new" "$results"
  done
fi

count() { grep -c "^$1 " "$results"; }
passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)

if [ "$failed" -gt 0 ]; then
  grep '^FAIL' "$results" | while read -r _ name _; do
    log=$LOGDIR/${name//\//_}.log
    echo "---- failed checks in $log"
    grep -aE -m 5 '^FAILED|^# FAIL|ERROR: |runtime error: |[Aa]ssert' "$log"
    echo "---- its end"
    tail -n 25 "$log"
  done
  echo "----"
fi
line="$passed passed, $failed failed"
[ "$skipped" -gt 0 ] && line="$line, $skipped skipped"
echo "$line"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
