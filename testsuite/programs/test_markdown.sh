# SPDX-License-Identifier: MIT
# Debian's lua-markdown over real documents: those of this tree and of the packages
# that are installed.
. "$TESTSUITE/programs/_compare.sh"
markdown=$modules/5.1/markdown.lua
need "$markdown" lua-markdown

documents() {
  ls "$SRCDIR"/*.md "$SRCDIR"/doc/*.md
  find /usr/share/doc /usr/lib/python3 \( -name '*.md' -o -name '*.md.gz' -o -name MANUAL.gz \) -size -60k 2>/dev/null |
    LC_ALL=C sort | head -n $((24 / TEST_SLOWNESS + 4))
}

number=0
while read -r document; do
  number=$((number + 1))
  zcat -f "$document" >"document$number.md"
  compare "$document" "document$number.md" -e "dofile '$TESTSUITE/programs/lua51.lua'" "$markdown"
done < <(documents)
finish
