# SPDX-License-Identifier: MIT
# What a heap profile says is alive, and was allocated, by site, is what the same program's
# profile at rate 1 says, as far as chance allows (truth.py). Where nothing is collected
# before the end, allocations are the same at every rate, too.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/_checks.sh"
export PYTHONDONTWRITEBYTECODE=1
program=$TESTSUITE/memprof/_sites.lua
python3 "$TESTSUITE/memprof/truth.py" "$SAROS" "$EVENTRING" 0.02 3 live "$program 400" ||
  fail "what is alive"
python3 "$TESTSUITE/memprof/truth.py" "$SAROS" "$EVENTRING" 0.05 2 both "$program stop 200" ||
  fail "what was allocated"
finish
