#!/bin/bash
# SAROS_HASH_SEED makes the order of pairs, which follows the hashes, the same in each run.
order='local t = {} for i = 1, 64 do t["key" .. i] = i end for k in pairs(t) do io.write(k, " ") end'
one=$(SAROS_HASH_SEED=1 "$SAROS" -e "$order") || exit 1
[ "$one" = "$(SAROS_HASH_SEED=1 "$SAROS" -e "$order")" ] || { echo "two orders with one seed"; exit 1; }
[ "$one" != "$(SAROS_HASH_SEED=2 "$SAROS" -e "$order")" ] || { echo "one order with two seeds"; exit 1; }
for value in "" none 1x; do # random
  for _ in 1 2 3; do SAROS_HASH_SEED=$value "$SAROS" -e "$order"; echo; done | sort -u | wc -l | grep -qx 3 ||
    { echo "'$value' is taken for a seed"; exit 1; }
done
