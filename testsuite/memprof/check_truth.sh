# SPDX-License-Identifier: MIT
# make check-memprof-truth AWFY=FOLDER [RATE=0.01] [RUNS=20]: what heap profiles say is
# alive, by site, against the truth (truth.py), of are-we-fast-yet's Lua programs in FOLDER
# (`benchmarks/Lua` of github smarr/are-we-fast-yet, not in this tree; without it of the
# program of the suite alone). programs.txt: the instructions after which each stands still,
# and its command.
here=$TESTSUITE/memprof
commands=("$here/_sites.lua 4000")
if [ -n "${AWFY-}" ]; then
  while read -r instructions program; do
    commands+=("$here/_stop.lua $instructions $AWFY $program")
  done <"$here/programs.txt"
fi
exec python3 "$here/truth.py" "$SAROS" "$EVENTRING" "${RATE:-0.01}" "${RUNS:-20}" live \
  "${commands[@]}"
