#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory runs out, and the program goes on (_memory.lua), to its orderly end, whichever
# bound is met.
[ "${TEST_SLOWNESS:-1}" -eq 1 ] ||
  { echo "a bound on the address space is for the plain build"; exit 77; }
for bound in 80000 100000; do
  (ulimit -v $bound && exec "$SAROS" "$TESTSUITE/lua/limits/_memory.lua") ||
    { echo "status $? with $bound KiB of address space"; exit 1; }
done
