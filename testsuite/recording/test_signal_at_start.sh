# SPDX-License-Identifier: MIT
# A signal that arrives while the file of the recording is being made ends the program as
# ever, and leaves no file behind.
. "$TESTSUITE/recording/_recording.sh"
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
cat >arrives.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>

static int arrives(const char *name, int fd, off_t size) {
  int (*next)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, name);
  const char *number = getenv("ARRIVES");
  if (number) raise(atoi(number));
  return next(fd, size);
}
int ftruncate(int fd, off_t size) { return arrives("ftruncate", fd, size); }
int ftruncate64(int fd, off_t size) { return arrives("ftruncate64", fd, size); }
END
cc -shared -fPIC -o arrives.so arrives.c -ldl || fail "cc: $?"
export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0

for signal in TERM HUP INT; do
  number=$(kill -l $signal)
  for start in 1 standby; do
    env --default-signal=INT,TERM,HUP LD_PRELOAD="$PWD/arrives.so" ARRIVES="$number" \
      SAROS_EVENTRING_START=$start "$SAROS" -e 'while true do end' 2>errors.txt
    status=$?
    is "SIG$signal, $start: status" $((128 + number)) $status
    is "SIG$signal, $start: files" "" "$(ls ./*.eventring 2>/dev/null)"
    rm -f ./*.eventring
  done
done
finish
