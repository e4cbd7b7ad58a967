# SPDX-License-Identifier: MIT
# Debian's lua-ldoc documents Penlight; both interpreters write the same pages.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/ldoc lua-ldoc
need "$modules/5.4/pl/utils.lua" lua-penlight
for who in saros reference; do
  program=$SAROS
  [ "$who" = reference ] && program=$LUA_REFERENCE
  mkdir "$who"
  (cd "$who" && "$program" /usr/bin/ldoc -d pages "$modules/5.4/pl" >/dev/null 2>&1) || fail "ldoc with $who: $?"
  find "$who" -name '*.html' -exec sed -i 's/Last updated.*//' {} +
done
comparisons=$(find saros -name '*.html' | wc -l)
diff -r saros reference | head -n 20
diff -rq saros reference >/dev/null || fail "the pages differ"
finish
