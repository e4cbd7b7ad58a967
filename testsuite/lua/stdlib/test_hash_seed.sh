#!/bin/bash
# SPDX-License-Identifier: MIT
# SAROS_HASH_SEED makes the order of pairs, which follows the hashes, the same in each run.
order='local t = {} for i = 1, 64 do t["key" .. i] = i end
  for k in pairs(t) do io.write(k, " ") end'
one=$(SAROS_HASH_SEED=1 "$SAROS" -e "$order") || exit 1
[ "$one" = "$(SAROS_HASH_SEED=1 "$SAROS" -e "$order")" ] ||
  { echo "two orders with one seed"; exit 1; }
[ "$one" != "$(SAROS_HASH_SEED=2 "$SAROS" -e "$order")" ] ||
  { echo "one order with two seeds"; exit 1; }
for value in "" none 1x 99999999999999999999; do # random
  for _ in 1 2 3; do SAROS_HASH_SEED=$value "$SAROS" -e "$order" 2>/dev/null; echo; done |
    sort -u | wc -l | grep -qx 3 ||
    { echo "'$value' is taken for a seed"; exit 1; }
done
[ -z "$(SAROS_HASH_SEED= "$SAROS" -e "" 2>&1)$(SAROS_HASH_SEED=0x1f "$SAROS" -e "" 2>&1)" ] ||
  { echo "a warning without a reason"; exit 1; }
for value in none 1x 99999999999999999999; do
  SAROS_HASH_SEED=$value "$SAROS" -e "" 2>&1 | grep -q "warning: SAROS_HASH_SEED" ||
    { echo "no warning of '$value'"; exit 1; }
done
