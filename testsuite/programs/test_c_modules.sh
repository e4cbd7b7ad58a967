# SPDX-License-Identifier: MIT
# Modules in C that Debian compiled for lua5.4 run here unchanged: those installed
# of lpeg, cjson, lfs, luasql, lxp, socket, rex, yaml, zlib, openssl, cqueues, luv.
. "$TESTSUITE/programs/_compare.sh"
unset LUA_CPATH
directory=/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)/lua/5.4
while read -r module file; do
  [ -e "$directory/$file" ] || { echo "$module is not installed"; continue; }
  compare "$module" /dev/null "$TESTSUITE/programs/c_modules.lua" "$module"
done <<'END'
lpeg lpeg.so
cjson cjson.so
lfs lfs.so
luasql.sqlite3 luasql/sqlite3.so
lxp lxp.so
socket socket/core.so
rex_pcre2 rex_pcre2.so
yaml yaml.so
zlib zlib.so
openssl.digest _openssl.so
cqueues _cqueues.so
luv luv.so
END
[ "$comparisons" -gt 0 ] || skip "no module in C is installed (Debian packages: lua-lpeg, lua-cjson, lua-filesystem, ...)"
finish
