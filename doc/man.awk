# SPDX-License-Identifier: MIT
# Makes a manual page of a document of this folder:
#
#   awk -v page=eventring -v section=1 -v what="one line" -v version=0.1.0 -f man.awk X.md
#
# It knows what these documents use: headings (the first is the title), paragraphs,
# text indented by four or more (kept as it is), lists with `- ` or `1. `, tables, and
# within text `code`, **strong**, *emphasis* and [links](target). Tables are for tbl. A picture is
# left out.

function begin_page() {
  print "'\\\" t"
  # on a terminal there are no pages, whose ends tables do not fit across
  print ".if n .pl 1000i"
  printf ".TH %s %s \"\" \"Saros %s\" \"Saros\"\n", toupper(page), section, version
  print ".ad l\n.SH NAME"
  print page " \\- " text(what)
  print ".SH DESCRIPTION"
}

# Text with its markup; what groff would take for its own is protected.
function text(s,    out, part, mark) {
  gsub(/\\\|/, "|", s)
  gsub(/\\/, "\\e", s)
  gsub(/-/, "\\-", s)
  gsub(/\^/, "\\(ha", s)
  gsub(/~/, "\\(ti", s)
  while (match(s, /\[[^\]]*\]\([^)]*\)/)) {
    part = substr(s, RSTART + 1, RLENGTH - 1)
    sub(/\].*/, "", part)
    s = substr(s, 1, RSTART - 1) part substr(s, RSTART + RLENGTH)
  }
  out = ""
  while (match(s, /`[^`]+`|\*\*[^*]+\*\*|\*[^* ][^*]*\*/)) {
    mark = substr(s, RSTART, 1) == "`" ? 1 : substr(s, RSTART, 2) == "**" ? 2 : 1
    part = substr(s, RSTART + mark, RLENGTH - 2 * mark)
    out = out substr(s, 1, RSTART - 1)
    if (substr(s, RSTART, 1) == "*" && mark == 1) out = out "\\fI" part "\\fP"
    else out = out "\\fB" part "\\fP"
    s = substr(s, RSTART + RLENGTH)
  }
  return protect(out s)
}

function protect(s) { return s ~ /^[.']/ ? "\\&" s : s }

function literal(s) {
  gsub(/\\/, "\\e", s)
  gsub(/-/, "\\-", s)
  gsub(/\^/, "\\(ha", s)
  gsub(/~/, "\\(ti", s)
  gsub(/`/, "\\(ga", s)
  gsub(/'/, "\\(aq", s)
  return protect(s)
}

# A paragraph is held until it is complete: markup may go over its lines.
function flush() {
  if (held != "") print text(held)
  held = ""
}

function end_literal() {
  if (in_literal) print ".EE\n.RE"
  in_literal = 0
}

function end_table() {
  if (in_table) print ".TE"
  in_table = 0
}

function cells(line, cell,    n, i) {
  sub(/^[ ]*\|[ ]*/, "", line)
  sub(/[ ]*\|[ ]*$/, "", line)
  gsub(/\\\|/, "\001", line)
  n = split(line, cell, /[ ]*\|[ ]*/)
  for (i = 1; i <= n; i++) gsub(/\001/, "|", cell[i])
  return n
}

# The last column takes the room that is left. A head without titles is left out.
function table_row(line,    cell, n, i, row, empty) {
  n = cells(line, cell)
  empty = 1
  row = ""
  for (i = 1; i <= n; i++) {
    if (cell[i] != "") empty = 0
    row = row (i > 1 ? "\t" : "") "T{\n" text(cell[i]) "\nT}"
  }
  if (!in_table) {
    print ".PP\n.TS"
    for (i = 1; i < n; i++) printf "l "
    print "lx."
    in_table = 1
    if (empty) return
  }
  print row
}

BEGIN { begin_page() }

/^# / && !titled { titled = 1; next }

/^\|[ -|]*-[ -|]*\|$/ && in_table && $0 !~ /[A-Za-z0-9]/ { next }
/^\|/ { flush(); end_literal(); table_row($0); next }
{ end_table() }

/^    / && (in_literal || !in_item || blank) && held == "" {
  if (!in_literal) print ".PP\n.RS 4\n.EX"
  else while (blank-- > 0) print ""
  blank = 0
  in_literal = 1
  print literal(substr($0, 5))
  next
}

/^[ ]*$/ { flush(); blank++; next }
{ end_literal() }

/^## / { flush(); in_item = 0; print ".SH " toupper(text(substr($0, 4))); blank = 0; next }
/^###+ / { flush(); in_item = 0; sub(/^#+ /, ""); print ".SS " text($0); blank = 0; next }

/^!\[.*\)$/ { flush(); next } # a picture

/^- / { flush(); in_item = 1; blank = 0; print ".IP \\(bu 2"; held = substr($0, 3); next }
/^[0-9]+\. / { flush(); in_item = 1; blank = 0; print ".IP " $1 " 4"; held = substr($0, length($1) + 2); next }

{
  line = $0
  sub(/^ +/, "", line)
  if (blank && !(in_item && $0 ~ /^  /)) { in_item = 0; print ".PP" }
  blank = 0
  held = held (held != "" ? " " : "") line
}

END { flush(); end_literal(); end_table() }
