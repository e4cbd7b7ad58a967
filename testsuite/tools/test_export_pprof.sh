# SPDX-License-Identifier: MIT
# What `export --to pprof` writes, read by `go tool pprof`.
command -v go >/dev/null || { echo "go is missing (Debian package: golang-go)"; exit 77; }
. "$TESTSUITE/tools/_export.sh"
export HOME=$PWD GOCACHE=$PWD/go GOFLAGS=-mod=mod GOTOOLCHAIN=local PPROF_TMPDIR=$PWD
"$EVENTRING" export --to pprof -o heap.pb "$file" || fail "export"
go tool pprof -raw heap.pb >raw.txt 2>errors.txt || fail "pprof -raw: $(cat errors.txt)"
has "types of samples" "alloc_objects/count alloc_space/bytes" "$(cat raw.txt)"
for value in inuse_space:live alloc_space:allocated; do
  go tool pprof -top -unit=B -sample_index=${value%:*} heap.pb >top.txt 2>errors.txt ||
    fail "pprof -top: $(cat errors.txt)"
  about "$value" "$(query heap.json ".total.${value#*:}_bytes")" \
    "$(sed -n 's/.*of \([0-9.]*\)B total.*/\1/p' top.txt)"
done
has "a function" "site2" "$(cat top.txt)"
go tool pprof -tags heap.pb >tags.txt 2>errors.txt || fail "pprof -tags: $(cat errors.txt)"
has "tags" "closure" "$(cat tags.txt)"
go tool pprof -traces heap.pb >traces.txt 2>errors.txt || fail "pprof -traces"
has "traces" "caller0" "$(cat traces.txt)"
finish
