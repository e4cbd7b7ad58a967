# SPDX-License-Identifier: MIT
# What `export --to folded` writes, made into a flame graph by stackvis.
. "$TESTSUITE/tools/_export.sh"
needs_module stackvis
"$EVENTRING" export --to folded -o heap.folded "$file" || fail "export"
node "$MODULES/stackvis/cmd/stackvis" collapsed flamegraph-svg <heap.folded >heap.svg 2>errors.txt ||
  fail "stackvis: $(tail -5 errors.txt)"
has "the graph" "<svg" "$(head -c 2000 heap.svg)"
has "a function" "site2" "$(cat heap.svg)"
finish
