# SPDX-License-Identifier: MIT
# page.awk leaves out spaces and comments of scripts, and refuses what would be harmed by it.
. "$TESTSUITE/_checks.sh"
view=$SRCDIR/eventring/view
make_page() { # SCRIPT
  printf '%s\n' "$1" >script.js
  awk -v style="$view/page.css" -v scripts=script.js -f "$view/page.awk" "$view/page.html" >page.made 2>errors.txt
}

make_page '  const a = b ? c : d; // a remark' || fail "a sound script: $?: $(cat errors.txt)"
has "spaces and comments" 'const a=b?c:d;' "$(cat page.made)"
make_page 'const a = "b = c" + `d = ${e}, f`;' || fail "texts on one line: $?: $(cat errors.txt)"
has "texts" 'const a="b = c"+`d = ${e}, f`;' "$(cat page.made)"
make_page 'a = b / (c + d) / 2;' || fail "a division: $?: $(cat errors.txt)"
has "a division" 'a=b/(c+d)/2;' "$(cat page.made)"
make_page 'const a = "it'"'"'s, b", c = `${d ? `e, f` : ", "}`;' || fail "texts in texts: $?: $(cat errors.txt)"
has "texts in texts" 'const a = "it'"'"'s, b", c = `${d ? `e, f` : ", "}`;' "$(cat page.made)"
make_page 'a("b, c", '"'"'d; "e'"'"', f - 1, g + h); const i = /j, k/, l = "\", m";' || fail "a regular expression: $?"
has "a regular expression" 'a("b, c", '"'"'d; "e'"'"', f - 1, g + h); const i = /j, k/, l = "\", m";' "$(cat page.made)"
make_page 'a("b, c", '"'"'d; "e'"'"', f - 1, g + h, i - -j);' || fail "two kinds of texts: $?"
has "two kinds of texts" 'a("b, c",'"'"'d; "e'"'"',f-1,g+h,i - -j);' "$(cat page.made)"

refuses() { # WHY SCRIPT
  make_page "$2"
  is "status: $2" 1 $?
  has "message: $2" "$1" "$(cat errors.txt)"
}
refuses "a text goes on behind" 'const a = `b, c'
refuses "a text goes on behind" 'const a = `<ul>${b.map((c) => `'
refuses "what ends its element" 'const a = "</script>"'
refuses "what ends its element" 'if (a < !--b) c();'
finish
