# SPDX-License-Identifier: MIT
# Programs that are scraped by Prometheus through `eventring serve`, for some seconds (fleet.py): it
# has what the streams have.
. "$TESTSUITE/_checks.sh"
[ -x "$SAROS" ] || { echo "there is no interpreter in this build"; exit 77; }
"$EVENTRING" serve --listen unix:nowhere/s 2>built.txt
if grep -q "built without" built.txt; then echo "built without libmicrohttpd (Debian package: libmicrohttpd-dev)"; exit 77; fi
TMPDIR=$PWD PYTHONDONTWRITEBYTECODE=1 python3 "$TESTSUITE/soak/fleet.py" --seconds=12 --programs=3 >fleet.txt 2>&1
status=$?
[ $status -ne 77 ] || { cat fleet.txt; exit 77; }
[ $status -eq 0 ] || fail "$(tail -20 fleet.txt)"
has "what it says" "0 are not" "$(cat fleet.txt)"
finish
