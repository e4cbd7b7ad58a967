# SPDX-License-Identifier: MIT
# Headers as gcc -E -P leaves them: module ffi reads each, and lays out its structs and
# unions as gcc does. A header of a package that is missing is left out.
. "$TESTSUITE/_checks.sh"
"$SAROS" -e 'os.exit(pcall(require, "saros.ffi"))' || { echo "built without libffi"; exit 77; }
command -v gcc >/dev/null || { echo "gcc is missing"; exit 77; }

# Prints the sizes of the types that are named on the command line, by what the header says.
cat >sizes.lua <<'LUA'
local ffi = require "saros.ffi"
ffi.cdef(io.read "a")
for line in io.lines "types.txt" do
  print(line, ffi.sizeof(line) or "unknown", ffi.alignof(line) or "unknown")
end
LUA

# The tags of structs and unions whose bodies stand outside of others, as C code.
types_of() { # FILE
  tr '\n' ' ' <"$1" | grep -oE '(^|[;}]) *(typedef )?(struct|union) [A-Za-z_][A-Za-z0-9_]* *\{' |
    grep -oE '(struct|union) [A-Za-z_][A-Za-z0-9_]*' | sort -u
}

count=0 missing= types=0
# check HEADER [FLAG...]: what is there, by both
check() {
  local header=$1
  shift
  if ! echo "#include <$header>" | gcc -E -P "$@" - >header.i 2>gcc.err; then
    grep -q "No such file" gcc.err || fail "$header: $(head -n 1 gcc.err)"
    missing="$missing $header"
    return
  fi
  count=$((count + 1))
  types_of header.i >types.txt
  types=$((types + $(wc -l <types.txt)))
  { cat header.i
    echo "int printf(const char *, ...); int main(void) {"
    sed 's/.*/printf("&\\t%zu\\t%zu\\n", sizeof(&), _Alignof(&));/' types.txt
    echo "return 0; }"
  } >sizes.c
  gcc -w -o sizes sizes.c 2>gcc.err && ./sizes >expected.txt || fail "$header: $(head -n 1 gcc.err)"
  "$SAROS" sizes.lua <header.i >got.txt 2>err || fail "$header: $(cat err)"
  diff expected.txt got.txt >differences.txt || fail "$header: $(cat differences.txt)"
}

for header in stdlib.h stdio.h string.h sys/types.h sys/socket.h netinet/in.h arpa/inet.h \
  sys/epoll.h sys/stat.h sys/mman.h unistd.h time.h pthread.h signal.h netdb.h math.h complex.h \
  wchar.h termios.h setjmp.h semaphore.h regex.h ucontext.h net/if.h stdatomic.h tgmath.h \
  linux/io_uring.h linux/perf_event.h zlib.h zstd.h sqlite3.h ffi.h jansson.h histedit.h \
  expat.h X11/Xlib.h openssl/evp.h openssl/ssl.h; do
  check $header
done
check freetype/freetype.h -I/usr/include/freetype2
[ "$(uname -m)" != x86_64 ] || check immintrin.h
# with the bodies of glibc's checked functions
check stdio.h -O2 -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE
check unistd.h -O2 -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE

echo "$count headers, $types types; missing:$missing"
[ "$count" -ge 30 ] || fail "only $count headers"
[ "$types" -ge 300 ] || fail "only $types types"
finish
