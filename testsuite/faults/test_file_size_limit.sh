# RLIMIT_FSIZE: never SIGXFSZ; one warning, the program runs on, no file.
. "$TESTSUITE/faults/_faults.sh"
limited() { (ulimit -f "$1"; shift; exec "$@"); }

for kib in 1 4 60 64 68 100 2112 2300 2600; do
  untraced "at most $kib KiB" limited $kib "$SAROS" program.lua
  no_file_in "at most $kib KiB" .
done
undisturbed "at most 3000 KiB" limited 3000 "$SAROS" program.lua
is "at most 3000 KiB: warnings" "" "$(cat errors.txt)"
finish
