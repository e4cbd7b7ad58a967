# SPDX-License-Identifier: MIT
# A section of a document, as a document of its own:
#
#   awk -f section.awk -v section=NAME [-v first="a line that begins it"] FILE.md
#
# Its heading becomes the title, those below it one level higher. Status 1: there is none.

/^## / {
  on = $0 == "## " section
  if (on) {
    found = 1
    print "# " section
    if (first != "") print "\n    " first
  }
  next
}
on && /^###+ / { sub(/^#/, "") }
on { print }
END { exit !found }
