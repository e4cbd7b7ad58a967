# SPDX-License-Identifier: MIT
# `eventring view`: words, files, what is left when it fails.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
view() { python3 "$TESTSUITE/tools/_view.py" "$@"; }

record --rounds 50
"$EVENTRING" view -o page.html "$file" >out.txt 2>err.txt || fail "view: $?: $(cat err.txt)"
[ -s err.txt ] && { grep -q "without zlib" err.txt && { echo "built without zlib"; exit 77; }; }
is "what it says with -o" "" "$(cat out.txt err.txt)"
has "the sections" "head" "$(view page.html)"
is "mode of the page" 600 "$(stat -c %a page.html)"
ends 1 "page.html: File exists" "$EVENTRING" view -o page.html "$file"
ends 1 "page.html: File exists" "$EVENTRING" view -o page.html -- "$SAROS" -e 'io.open("ran", "w")'
[ ! -e ran ] || fail "the program ran, though its page cannot be made"
has "the page" "<!DOCTYPE html>" "$(head -1 page.html)"
is "elements that the data ends" "" "$(grep -i '</script' page.html | grep -v '^</script>$' |
  grep -v '^<script type="application/x-eventring"')"

# without -o: the name of the recording
mv "$file" run.eventring
is "its name" "run.html" "$("$EVENTRING" view run.eventring)"
ends 1 "run.html: File exists" "$EVENTRING" view run.eventring

# to standard output
"$EVENTRING" view -o - run.eventring >stream.html || fail "view -o -: $?"
is "sections of a stream" "$(view run.html | cut -d' ' -f1)" "$(view stream.html | cut -d' ' -f1)"
ends 2 "there is no file" "$EVENTRING" view --open -o - run.eventring
if ! command -v xdg-open >/dev/null; then
  ends 1 "there is no xdg-open" "$EVENTRING" view --open -o opened.html run.eventring
  [ -s opened.html ] || fail "there is no page to be opened"
fi
mkdir bin
printf '#!/bin/sh\necho "shows $1"\n' >bin/xdg-open
chmod +x bin/xdg-open
has "--open" "shows shown.html" "$(PATH=$PWD/bin:$PATH "$EVENTRING" view --open -o shown.html run.eventring)"

# what has begun is not left
mkdir taken.html.partial
ends 1 "taken.html.partial exists" "$EVENTRING" view -o taken.html run.eventring
touch left.html.partial # by a command that was killed
"$EVENTRING" view -o left.html run.eventring || fail "where a part was left: $?"
[ -e left.html.partial ] && fail "the part is there still"
ends 1 "No such file" "$EVENTRING" view -o nowhere/page.html run.eventring
ends 2 "the page itself takes" "$EVENTRING" view --size 1K run.eventring
ends 2 "--full and --size cannot be combined" "$EVENTRING" view --size 1M --full run.eventring
[ -e /dev/full ] && ln -s /dev/full full.html
ends 1 "full.html: File exists" "$EVENTRING" view -o full.html run.eventring
rm -f full.html
(trap "" XFSZ; ulimit -f 1; "$EVENTRING" view -o full.html run.eventring) >/dev/null 2>&1 &&
  fail "a page of more than is allowed: status 0"
is "left behind" "" "$(ls full.html* 2>/dev/null)"
finish
