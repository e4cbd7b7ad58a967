#!/bin/bash
# Memory runs out, and the program goes on (_memory.lua).
[ "${TEST_SLOWNESS:-1}" -eq 1 ] || { echo "a bound on the address space is for the plain build"; exit 77; }
ulimit -v 100000 || { echo "the address space cannot be bounded here"; exit 77; }
exec "$SAROS" "$TESTSUITE/lua/limits/_memory.lua"
