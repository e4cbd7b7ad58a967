# SPDX-License-Identifier: MIT
# The collector has not even memory for its own records: that costs time, and the program ends
# with the errors that it catches, never by the collector.
. "$TESTSUITE/faults/_faults.sh"
[ "${TEST_SLOWNESS:-1}" -eq 1 ] ||
  { echo "a bound on the address space is for the plain build"; exit 77; }
unset SAROS_EVENTRING_START

# limited KIB PROGRAM: says "caught" and nothing else
limited() {
  local status
  (ulimit -c 0 && ulimit -v "$1" || exit 77
   shift
   exec timeout 120 "$SAROS" "$@" >said 2>errors)
  status=$?
  [ $status -ne 77 ] || { echo "the address space cannot be bounded here"; exit 77; }
  is "$2: status" 0 "$status"
  is "$2: output" caught "$(tail -n 1 said)"
  is "$2: errors" "" "$(cat errors)"
}

limited 100000 "$TESTSUITE/faults/_weak_tables.lua"
limited 120000 "$TESTSUITE/faults/_workers.lua"
