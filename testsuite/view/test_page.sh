# SPDX-License-Identifier: MIT
# The page of `eventring view` in Chromium: all views, ranges, keys, clicks, names that are hard to
# show, widths, harmed data; no message on the console, no request. Pictures are left in
# BUILDDIR/testsuite/view.
. "$TESTSUITE/tools/_tools.sh"
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
command -v chromium >/dev/null || { echo "chromium is missing (Debian package: chromium)"; exit 77; }

echo 'local t = {} for i = 1, 300000 do t[i % 1000] = {tostring(i)} end' >run.lua
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=run "$SAROS" run.lua || fail "run.lua: $?"
"$EVENTRING" view -o run.html run.eventring 2>view.errors ||
  grep -q "without zlib" view.errors || fail "view: $(cat view.errors)"

pictures=$BUILDDIR/testsuite/view
mkdir -p "$pictures"
node "$TESTSUITE/view/_page.mjs" chromium "$pictures" $([ -e run.html ] && echo "$PWD/run.html") >told.txt 2>&1 ||
  fail "the browser: $(tail -5 told.txt)"
is "what is wrong" "done" "$(cat told.txt)"
finish
