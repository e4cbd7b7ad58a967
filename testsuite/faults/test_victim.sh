# SPDX-License-Identifier: MIT
# What a program with threads may do to itself while it records: forks of all
# kinds, the largest payloads in the smallest rings, a full catalogue, SIGBUS
# handlers of its own.
. "$TESTSUITE/faults/_faults.sh"
victim=$BUILDDIR/testsuite/faults/victim
[ -x "$victim" ] || { echo "$victim is not built"; exit 77; }

for mode in fork-exit fork-exec fork-record fork-follow vfork-exec raw-clone orphan \
    threads-fork smallest full twice foreign-handler chained-handler later-handler \
    cut-control; do
  timeout $PATIENCE "$victim" $mode >output.txt 2>errors.txt
  is "$mode: status" 0 $?
  # (in a child, LeakSanitizer says that the parent's other threads are not there)
  is "$mode: output" "" "$(cat output.txt errors.txt | sed '/was not suspended. False leaks/d')"
  no_file_in "$mode" .
done

# (what inherits a descriptor is found out)
exec 9>left.eventring
"$victim" heir 2>/dev/null && fail "an open file of a recording is not noticed"
exec 9>&-
rm left.eventring

# the same through the interpreter: children have no recording of ours
"$SAROS" -e '
  assert(os.execute("test $(ls | grep -c eventring$) = 1"))
  assert(io.popen("ls -l /proc/self/fd"):read("a"):find("eventring", 1, true) == nil)
  assert(os.execute("exit 3") == nil)' || fail "children of a saros: status $?"
no_file_in "children of a saros" .
finish
