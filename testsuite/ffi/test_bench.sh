# SPDX-License-Identifier: MIT
# The bench of module ffi runs, in all its parts.
"$SAROS" -e 'os.exit(pcall(require, "saros.ffi"))' || { echo "built without libffi"; exit 77; }
"$SAROS" "$TESTSUITE/bench/ffi_bench.lua" "$BUILDDIR/testsuite/ffi/libfixture.so" \
  --quick >out.txt 2>&1 || { cat out.txt; exit 1; }
rows=$(grep -cE ' (ns|ms) ' out.txt)
[ "$rows" -eq 21 ] || { cat out.txt; echo "$rows rows"; exit 1; }
grep -q '^ratio .* bar 3 ' out.txt || { cat out.txt; exit 1; }
