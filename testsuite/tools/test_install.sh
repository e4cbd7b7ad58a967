# SPDX-License-Identifier: MIT
# What `make install` installs is enough to embed the library: the example is built
# against it through pkg-config, run, watched, and counted exactly; the headers are
# C++; the manual pages are there.
. "$TESTSUITE/tools/_installed.sh"

[ -e "$pkgconfig/eventring.pc" ] || fail "no eventring.pc in $pkgconfig"
library=$(dirname "$(find "$PWD/root" -name libeventring.so)")
export LD_LIBRARY_PATH=$library
command=$(find "$PWD/root" -path '*/bin/eventring')
[ -x "$command" ] || fail "the command is not installed"

# only our symbols are exported
foreign=$(nm -D --defined-only -P "$library/libeventring.so" | awk '$2 != "A" {print $1}' | grep -v '^eventring_' | grep -v '^EVENTRING_1')
is "foreign symbols" "" "$foreign"
is_same "version of pkg-config" "$("$command" --version | awk '{print $2}')" \
  "$(pkg-config --modversion eventring)"

# the version of the header, the license and the news
header=$(find root -path "*/include/eventring/types.h")
part() { sed -n "s/^#define EVENTRING_VERSION_$1 //p" "$header"; }
is_same "version of the header" "$(pkg-config --modversion eventring)" \
  "$(part MAJOR).$(part MINOR).$(part PATCH)"
for file in LICENSE NEWS; do
  [ -s "$(find root -path "*/doc/*/$file")" ] || fail "$file is not installed"
done

# the example
mkdir embed
cp "$SRCDIR"/examples/embed/{Makefile,embed.c} embed/
make -C embed CC=cc CFLAGS="-O1 -Wall -Wextra -Werror" >make.txt 2>&1 ||
  { cat make.txt; fail "make in examples/embed: $?"; finish; }
./embed/embed >plain.txt || fail "unrecorded: $?"
is "no file" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"
"$command" stats --json -o stats.json --env-prefix EMBED -- ./embed/embed --workers 3 --jobs 500 >counts.txt || fail "stats of the example: $?"
expected() { awk -v name="$1" '$1 == name {print $2}' counts.txt; }
is_same "jobs" "$(expected job)" \
  "$(query stats.json '[.spans[] | select(.name == "job") | .count] | add')"
is "none torn" 0 "$(query stats.json '[.spans[].torn] | add')"
is_same "samples" "$(expected job_size)" \
  "$(query stats.json '[.counters[] | select(.name == "job_size") | .samples] | add')"
is_same "bytes" "$(expected bytes)" \
  "$(query stats.json '[.counters[] | select(.name == "job_size") | .sum] | add')"
is_same "workers" "$(expected worker_done)" \
  "$(query stats.json '[.events[] | select(.name == "worker_done") | .count] | add')"
is "detail is off" 0 "$(query stats.json '[.spans[] | select(.name == "prepare")] | length')"
is "lost" 0 "$(query stats.json .total.lost)"
text=$("$command" stats --env-prefix EMBED -- ./embed/embed)
has "domains as text" "worker 1" "$text"
[[ $text != *collector* ]] || fail "a program without a collector: $text"
EMBED_CLASSES=+detail "$command" stats --json -o stats.json --env-prefix EMBED -- ./embed/embed --workers 2 --jobs 300 >counts.txt || fail "with detail: $?"
is "detail" 600 "$(query stats.json '[.spans[] | select(.name == "prepare") | .count] | add')"

# watched and controlled by pid, started from outside
EMBED_START=standby ./embed/embed --jobs 1000000 --pause-us 500 >/dev/null &
pid=$!
EVENTRING=$command await "$pid"
"$command" control "$pid" --resume --enable detail || fail "control: $?"
"$command" stats --json --seconds 0.3 "$pid" >stats.json || fail "stats PID: $?"
is "workers recorded" '["worker 0","worker 1"]' "$(query stats.json '[.domains[].name] | sort')"
is "own classes" '["prepare"]' \
  "$(query stats.json '[.spans[] | select(.name == "prepare" and .count > 0) | .name] | unique')"
kill "$pid"
wait "$pid" 2>/dev/null
rm -f -- *.eventring

# the installed headers in C++
if command -v g++ >/dev/null; then
  g++ -std=c++11 -Wall -Wextra -Werror -Wpedantic $(pkg-config --cflags eventring) -o header "$TESTSUITE/tools/_header.cc" $(pkg-config --libs eventring) -pthread 2>gpp.txt || { cat gpp.txt; fail "the headers in C++"; }
  ./header || fail "C++ program: $?"
else
  echo "C++ is not tested: g++ is missing (Debian package: g++)"
fi

# the manual pages
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$SRCDIR/eventring/tools/commands.def")
interpreter=$(printf '%s ' man1/saros.1 man1/sarosc.1 man1/saros-host.1 \
  man3/saros.{coroutines,eventring,domain,ffi,memprof,profile,retain}.3)
if [ "$INTERPRETER" = no ]; then
  interpreter=
  is "of the interpreter, which is not built" "" \
    "$(find root \( -type f -o -type l \) -path '*saros*' ! -path '*/share/doc/*' ! -path '*/examples/embed/*')"
fi
for page in man1/eventring.1 man3/eventring.3 man5/eventring.5 man7/eventring-conditions.7 \
            $interpreter $(printf 'man1/eventring-%s.1 ' $commands); do
  file=$(find root -path "*/$page")
  [ -s "$file" ] || { fail "$page is not installed"; continue; }
  command -v groff >/dev/null || continue
  warnings=$(groff -t -man -Tutf8 -Kutf8 -ww -z "$file" 2>&1)
  is "warnings of $page" "" "$warnings"
done
finish
