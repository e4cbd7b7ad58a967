# SPDX-License-Identifier: MIT
# pictures FOLDER: takes the pictures of the documentation from a run of _requests.lua; prints what
# they do not show that they should, then "done". Needs SAROS, EVENTRING and TESTSUITE.
pictures() {
  local work=$PWD/pictures-work status
  mkdir "$work" && cp "$TESTSUITE/view/_requests.lua" "$work/requests.lua" &&
    (cd "$work" && PATH=$(dirname "$SAROS"):$PATH "$EVENTRING" view --full -o page.html -- saros requests.lua) &&
    node "$TESTSUITE/view/_pictures.mjs" chromium "$work/page.html" "$1" 2>&1
  status=$?
  rm -rf "$work"
  return $status
}
