#!/bin/bash
# SPDX-License-Identifier: MIT
# RLIMIT_AS: a program that runs with little address space runs with more, too. (A reserve
# that was taken at the start where there was room for it left none for the first chunk of the
# heap.) The layout of memory is random, and so is what exactly is needed: half a MiB more
# than the least must do, always.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] ||
  { echo "a bound on the address space is for the plain build"; exit 77; }
runs() { # several times
  for _ in 1 2 3 4 5; do
    printed=$( (ulimit -v "$1"; SAROS_EVENTRING_START=0 exec "$SAROS" -e 'print(1)') 2>/dev/null)
    [ "$printed" = 1 ] || return 1
  done
}
runs 1000000 || { echo "this build does not run within 1 GB of address space"; exit 77; }

low=1000 high=1000000 # KiB: too little, enough, as far as halving can find out
while [ $((high - low)) -gt 64 ]; do
  middle=$(((low + high) / 2))
  if runs $middle; then high=$middle; else low=$middle; fi
done
echo "runs within $high KiB"
failed=0
for more in $(seq -3072 256 8192); do
  [ $((high + more)) -gt 1000 ] && runs $((high + more)) && ran=1 || ran=0
  [ $ran = 1 ] && [ "${least:-}" = "" ] && least=$((high + more))
  if [ $ran = 0 ] && [ -n "${least:-}" ] && [ $((high + more)) -ge $((least + 512)) ]; then
    echo "FAIL: runs within $least KiB, but not within $((high + more)) KiB"
    failed=1
  fi
done
exit $failed
