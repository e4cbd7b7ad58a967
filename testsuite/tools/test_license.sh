# SPDX-License-Identifier: MIT
# Every source, header, script, table and makefile of ours says its license.
. "$TESTSUITE/_checks.sh"

[ -s "$SRCDIR/LICENSE" ] || fail "LICENSE is missing"
silent=$(cd "$SRCDIR" && find debian eventring runtime vm stdlib include examples rock testsuite scripts m4/saros.m4 \
           Makefile.am configure.ac runtests quickstart \
           -type f -not -path 'testsuite/fuzz/corpus/*' -not -path 'testsuite/log/*' \
           \( -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' -o -name '*.def' -o -name '*.lua' -o -name '*.sh' \
              -o -name '*.mk' -o -name '*.am' -o -name '*.ac' -o -name '*.m4' -o -name '*.py' -o -name '*.awk' \
              -o -name '*.pml' -o -name '*.rockspec' -o -name runtests -o -name quickstart \) -print0 |
         xargs -0 grep -L "SPDX-License-Identifier: MIT" | sort)
is "files without their license" "" "$silent"
finish
