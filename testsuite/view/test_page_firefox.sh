# SPDX-License-Identifier: MIT
# The page of `eventring view` opens in Firefox, shows all views, and fetches nothing.
. "$TESTSUITE/_checks.sh"
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
command -v firefox-esr >/dev/null || { echo "firefox-esr is missing (Debian package: firefox-esr)"; exit 77; }
node "$TESTSUITE/view/_generate.mjs" small page.html || fail "a page: $?"
is "what is wrong" "done" "$(node "$TESTSUITE/view/_firefox.mjs" firefox-esr "$PWD" page.html 2>&1)"
for view in overview timeline flame source pauses tables; do
  [ -s firefox-$view.png ] || fail "no picture of $view"
done
finish
