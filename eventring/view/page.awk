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
# Code without the spaces that only readers need.
function squeezed(code,   found) {
  while (match(code, / (=|=>|===|!==|<|>|<=|>=|&&|\|\||\?|:|\{) |[,;] |\) \{$/) ||
         match(code, / [-+*\/] [A-Za-z0-9_([]|^ \+ | \+ $/)) {
    found = substr(code, RSTART, RLENGTH)
    gsub(/ /, "", found)
    code = substr(code, 1, RSTART - 1) found substr(code, RSTART + RLENGTH)
  }
  return code
}
# Nothing is taken from texts, nor from a line that may have a regular expression (a division has
# spaces) or a text within a text.
function without_spaces(line,   done, begin, end) {
  if (line ~ /\/[^ ]|[^ ]\/|\\/ || gsub(/`/, "`", line) > 2) return line
  while (match(line, /["'`]/)) {
    begin = RSTART
    done = done squeezed(substr(line, 1, begin - 1))
    line = substr(line, begin)
    end = index(substr(line, 2), substr(line, 1, 1)) + 1
    if (end == 1) break # goes on behind the line
    done = done substr(line, 1, end)
    line = substr(line, end + 1)
  }
  return done (line ~ /^["'`]/ ? line : squeezed(line))
}
function put(file, ends,   line) {
  while ((getline line < file) > 0) {
    sub(/^ +/, "", line)
    sub(/ +\/\/ [^"'`]*$/, "", line) # not in a text, whose end would follow
    if (file == style) {
      gsub(/: /, ":", line)
      gsub(/; /, ";", line)
      gsub(/, /, ",", line)
      sub(/ \{ /, "{", line)
      sub(/; ?\}$/, "}", line)
    }
    if (file != style) line = without_spaces(line)
    lines++
    if (line == "" || line ~ /^\/[\/*]/) continue
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
/^@SECTIONS@$/ { marks++ }
{ sub(/^ +/, ""); print }
END {
  if (marks != 1) refuse("page.html", "no line @SECTIONS@, or several")
  exit failed
}
