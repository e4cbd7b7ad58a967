# SPDX-License-Identifier: MIT
# What `export --to speedscope` writes, read by speedscope's own importer.
. "$TESTSUITE/tools/_export.sh"
needs_module speedscope
"$EVENTRING" export --to speedscope -o heap.speedscope.json "$file" || fail "export"
node "$TESTSUITE/tools/_speedscope.js" "$MODULES" heap.speedscope.json >read.txt 2>errors.txt ||
  fail "speedscope: $(tail -5 errors.txt)"
is "profiles" 6 "$(wc -l <read.txt)"
about "inuse_space" "$(query heap.json .total.live_bytes)" \
  "$(awk '$1 == "inuse_space" && $2 == "bytes" { print $3 }' read.txt)"
about "alloc_space" "$(query heap.json .total.allocated_bytes)" \
  "$(awk '$1 == "alloc_space" { print $3 }' read.txt)"
finish
