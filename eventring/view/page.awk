# SPDX-License-Identifier: MIT
# page.awk: puts the page together: page.html, with the files that the lines @STYLE@ and
# @SCRIPTS@ stand for, without their indentation, their comments and spaces that only readers of the
# files need. What would end their elements is an error.
#
#   awk -v style=FILE -v scripts="FILE..." -f page.awk page.html
function refuse(file, why) {
  print file ": " why | "cat >&2"
  failed = 1
}
# A text over several lines would lose spaces.
function ends_within_text(line) {
  return gsub(/`/, "", line) % 2 || line ~ /\$\{[^}]*$/
}
function put(file, ends,   line) {
  while ((getline line < file) > 0) {
    sub(/^ +/, "", line)
    sub(/ +\/\/ [^"'`]*$/, "", line) # not in a text, whose end would follow
    if (file == style) {
      gsub(/: /, ":", line)
      gsub(/; /, ";", line)
      sub(/ \{ /, "{", line)
      sub(/; ?\}$/, "}", line)
    }
    if (file != style && line !~ /["'`\/]/) # nor a text nor a regular expression
      while (match(line, / (=|=>|===|!==|<|>|<=|>=|&&|\|\||\?|:|\{) |[,;] |\) \{$/)) {
        found = substr(line, RSTART, RLENGTH)
        gsub(/ /, "", found)
        line = substr(line, 1, RSTART - 1) found substr(line, RSTART + RLENGTH)
      }
    lines++
    if (line == "" || line ~ /^\/\//) continue
    if (tolower(line) ~ ends) refuse(file, "has what ends its element: " line)
    if (file != style && ends_within_text(line)) refuse(file, "a text goes on behind: " line)
    print line
  }
  close(file)
  if (!lines) refuse(file, "cannot be read")
  lines = 0
}
/^@STYLE@$/ { put(style, "</style"); next }
/^@SCRIPTS@$/ {
  count = split(scripts, file, " ")
  for (i = 1; i <= count; i++) put(file[i], "</script|<!--")
  next
}
/^@SECTIONS@$/ { places++ }
{ sub(/^ +/, ""); print }
END {
  if (places != 1) refuse("page.html", "no line @SECTIONS@, or several")
  exit failed
}
