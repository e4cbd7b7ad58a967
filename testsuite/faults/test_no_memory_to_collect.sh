# The collector has not even memory for its own records: the process ends, says why, by
# SIGABRT, and what it recorded can be read.
. "$TESTSUITE/faults/_faults.sh"
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "a bound on the address space is for the plain build"; exit 77; }

(ulimit -c 0 && ulimit -v 100000 || exit 77
 SAROS_EVENTRING_START=1 exec "$SAROS" "$TESTSUITE/faults/_weak_tables.lua" 2>said) 2>shell_said
status=$?
[ $status -ne 77 ] || { echo "the address space cannot be bounded here"; exit 77; }
[ $status -eq 134 ] || { echo "status $status instead of that of SIGABRT"; cat said; exit 1; }
[ "$(cat said)" = "saros: no memory left for the collector's own records" ] || { cat said; exit 1; }
"$EVENTRING" stats ./*.eventring >stats || exit 1
grep -q "died without an orderly end" stats && grep -q "recorder_start" stats || { cat stats; exit 1; }
"$EVENTRING" dump --last 2 ./*.eventring | tail -n 1 >last
grep -q "open since then" last || { echo "what it did last:"; cat last; exit 1; }
