# SPDX-License-Identifier: MIT
# RLIMIT_AS: wherever the limit falls, a program that would run unrecorded runs. (What it
# needs varies with the random layout of memory, and its heap takes larger pieces where
# it may, so that it can fail with more and run with less: it must run unrecorded with the
# limit, and with half a MiB less.)
. "$TESTSUITE/faults/_faults.sh"
limited() { (ulimit -v "$1"; shift; exec "$@"); }
runs() { # several times, as the layout falls differently
  for _ in 1 2 3 4 5 6; do
    [ "$(SAROS_EVENTRING_START=0 limited "$1" "$SAROS" program.lua 2>/dev/null)" = ran ] || return 1
  done
}

runs 1000000 ||
  { echo "this build does not run within 1 GB of address space (a sanitizer)"; exit 77; }
low=1000 high=1000000 # KiB: too little, enough
while [ $((high - low)) -gt 64 ]; do
  middle=$(((low + high) / 2))
  if runs $middle; then high=$middle; else low=$middle; fi
done
echo "runs unrecorded within $high KiB"
warned=0 recorded=0
for more in 512 1024 2048 3072 5000 6000 8000 12000 20000 40000; do
  runs $((high + more - 512)) && runs $((high + more)) || continue
  undisturbed "$((high + more)) KiB" limited $((high + more)) "$SAROS" program.lua
  no_file_in "$((high + more)) KiB" .
  if [ -s errors.txt ]; then warned=$((warned + 1)); else recorded=$((recorded + 1)); fi
done
[ $recorded -gt 0 ] || fail "never recorded"
[ $warned -gt 0 ] || fail "never too little for a recording"
# rings larger than what there is
SAROS_EVENTRING_WSIZE=23 unrecorded "rings of 64 MiB" limited $((high + 40000)) "$SAROS" program.lua
no_file_in "rings of 64 MiB" .
echo "$warned warned, $recorded recorded"
finish
