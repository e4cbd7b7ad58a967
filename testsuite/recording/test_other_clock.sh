# SPDX-License-Identifier: MIT
# Where the processor's counter is no clock, times are those of CLOCK_MONOTONIC, also those that
# triggers measure.
. "$TESTSUITE/recording/_recording.sh"
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the kernel is asked about the counter on x86-64 only"; exit 77; }
cat >no_counter.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

int open(const char *path, int flags, ...) {
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return next(strstr(path, "/available_clocksource") ? "clocks.txt" : path, flags, mode);
}
END
echo hpet >clocks.txt
cc -shared -fPIC -o no_counter.so no_counter.c -ldl || fail "cc: $?"
cat >sleeps.lua <<'END'
require "saros.eventring".span("sleeps", require "saros.domain".sleep, 0.02)
END
ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=$PWD/no_counter.so \
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=sleeps.eventring \
  SAROS_EVENTRING_TRIGGER="span(\"sleeps\") >= 0ns, dir=$PWD/copies" "$SAROS" sleeps.lua
is "status" 0 $?
has "the clock" "monotonic, 1000 MHz" "$("$EVENTRING" show sleeps.eventring | grep ^clock)"
"$EVENTRING" dump --json sleeps.eventring >dump.json
took=$(jq 'select(.name == "sleeps" and .kind == "end") | .duration_ns' dump.json)
[ "$took" -ge 20000000 ] || fail "a sleep of 20 ms took $took ns"
is "what the trigger measured, in ns" "$took" \
  "$(jq 'select(.name | startswith("trigger ")) | .value' dump.json)"
finish
