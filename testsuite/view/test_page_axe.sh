# SPDX-License-Identifier: MIT
# axe-core finds nothing serious in the page of `eventring view`, in any view, light or dark.
. "$TESTSUITE/tools/_timeline.sh"
needs_module axe-core
command -v chromium >/dev/null || { echo "chromium is missing (Debian package: chromium)"; exit 77; }
is "what is wrong" "done" "$(node "$TESTSUITE/view/_axe.mjs" chromium "$MODULES/axe-core/axe.min.js" "$PWD" 2>&1)"
finish
