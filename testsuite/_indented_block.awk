# SPDX-License-Identifier: MIT
# Writes an indented block of a page, without its indent, as the configurations of doc/OPERATIONS.md:
#   awk -v first="FIRST LINE" -f _indented_block.awk PAGE
# It ends before the next line of text.
$0 == "    " first { on = 1 }
on && !/^    / && NF { exit }
on { print substr($0, 5) }
