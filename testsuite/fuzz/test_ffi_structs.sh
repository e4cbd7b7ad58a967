# SPDX-License-Identifier: MIT
# Module ffi and gcc agree on random structs, in a few libraries that are always the same
# (make fuzz-ffi: others).
. "$TESTSUITE/_checks.sh"
"$SAROS" -e 'os.exit(pcall(require, "saros.ffi"))' || { echo "built without libffi"; exit 77; }
command -v gcc >/dev/null || { echo "gcc is missing (Debian package: gcc)"; exit 77; }
bash "$TESTSUITE/fuzz/ffi.sh" --saros="$SAROS" --seed=1 --count=3 >out.txt 2>&1 ||
  fail "status $?: $(cat out.txt)"
has "all seeds" "fuzz-ffi: 3 libraries (seeds 1 to 3), 0 failed" "$(tail -n 1 out.txt)"
