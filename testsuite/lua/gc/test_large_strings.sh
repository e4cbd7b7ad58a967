#!/bin/bash
# SPDX-License-Identifier: MIT
# Large strings (_large_strings.lua) under the heap verifier, where there is one.
rounds=$((300 / TEST_SLOWNESS + 30))
for seed in 1 2 3 4; do
  SAROS_VERIFY=1 "$SAROS" "$TESTSUITE/lua/gc/_large_strings.lua" "$seed" "$rounds" || exit 1
done
