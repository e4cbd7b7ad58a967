#!/bin/bash
# SPDX-License-Identifier: MIT
# The documents speak of what is there: files, headers, functions, targets of make, options of
# configure, links. And the check finds what is wrong (check_docs.py).
. "$TESTSUITE/_checks.sh"
top=$TESTSUITE/..
check() { python3 "$TESTSUITE/docs/check_docs.py" "$1"; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }

is "what is wrong in the documents" "" "$(check "$top")"

# README.md is a front door: short, and without words that only other documents explain
[ "$(wc -l <"$top/README.md")" -le 150 ] || fail "README.md has $(wc -l <"$top/README.md") lines, more than 150"
is "words of README.md that it does not explain" "" \
  "$(grep -nwiE 'rings?|torn|standby|domains?|version [0-9]' "$top/README.md" | grep -v 'doc/DOMAINS.md')"
for word in 'eventring view' 'eventring autopsy' 'ExecStart=saros' 'kill -9' 'lua5.4'; do
  has "the first 25 lines of README.md" "$word" "$(head -n 25 "$top/README.md")"
done

# A copy of what is looked at, and one fault of each kind in it
mkdir tree
for part in README.md HACKING.md CONTRIBUTING.md SECURITY.md NEWS LICENSE Makefile.am configure.ac runtests doc eventring examples include \
  debian m4 rock runtime scripts stdlib testsuite vm; do
  ln -s "$(realpath "$top/$part")" "tree/$part"
done
rm tree/README.md tree/doc
cp "$top/README.md" tree/
cp -r "$top/doc" tree/doc
chmod -R u+w tree/doc tree/README.md
name=no_such # this script is among the sources that are searched
cat >>tree/README.md <<EOF
[one](doc/NOWHERE.md), [two](HACKING.md#no-such-heading), \`runtime/no_such_file.c\`,
\`eventring_${name}_call()\`, make check-nothing, --enable-nothing, SAROS_${name^^}_VARIABLE
EOF
echo "# Not listed" >tree/doc/UNLISTED.md
sed -i '0,/\[label="/s//[label="Changed: /' tree/doc/pictures/life.dot
sed -i 's,^| M1 |\(.*\)`lua/memprof/statistics.lua`,| M1 |\1`lua/memprof/gone.lua`,
  s,`test_distances`,`test_gone`,; s,^| E14 | many.*,| E14 | speed | | part |,' tree/doc/notes/behaviours.md
found=$(check tree)
has "link" "a link to doc/NOWHERE.md" "$found"
has "heading" "HACKING.md#no-such-heading" "$found"
has "file" "no_such_file.c" "$found"
has "function" "eventring_${name}_call" "$found"
has "target" "make check-nothing" "$found"
has "option" "--enable-nothing" "$found"
has "variable" "SAROS_NO_SUCH_" "$found"
has "list" "does not list UNLISTED.md" "$found"
has "picture" "its picture lacks 'Changed" "$found"
has "test" "M1: there is no test lua/memprof/gone.lua" "$found"
has "check" "M13: unit/memprof_random_test.c has no check \`test_gone\`" "$found"
has "row" "E14 names no test" "$found"
is "faults found" 12 "$(wc -l <<<"$found")"

# The headers say of each function which threads may call it, and the check finds those that don't
headers() { python3 "$TESTSUITE/docs/check_headers.py" "$1"; }
is "what is wrong in the headers" "" "$(headers "$top/eventring/include")"
cp -r "$top/eventring/include" headers
chmod -R u+w headers
cat >>headers/eventring/word.h <<'EOF'
/* Counts. */
int eventring_planted_count(int a);

/* Returns the number. Any thread. */
int eventring_planted_good(int a);
int eventring_planted_better(int b);

/* When it was. Any thread. */
double eventring_planted_time(uint64_t since, uint64_t until_ns);

/* Fills in a structure of the caller's; E_ARGUMENT. Owner. */
int eventring_planted_sized(void *to, size_t size);
/* A body. Returns 0. */
static inline int eventring_planted_body(int a) { return a ? eventring_planted_good(a) : 0; }
EOF
for i in {1..100}; do echo "/* one more line */"; done >>headers/eventring.h
is "wrong in the headers" "eventring.h: 500
eventring/word.h: eventring_planted_count: its comment does not say what it returns
eventring/word.h: eventring_planted_count: its comment does not say which threads
eventring/word.h: eventring_planted_time: what is the unit of \`since'?
eventring/word.h: eventring_planted_sized: the size stands in the structure
eventring/word.h: eventring_planted_body: its comment does not say which threads" \
  "$(headers headers | sed 's/eventring.h: .* lines, more than/eventring.h:/')"

# The style of C files, and one fault of each kind
cd "$top" || exit 1
is "wrong in style" "" \
  "$(python3 "$TESTSUITE/docs/check_style.py" vm stdlib examples testsuite eventring runtime include)"
cd - >/dev/null || exit 1
cat >planted.c <<'EOF'
/* planted.c: a comment at the top, which says nothing of a function. */
int planted;

/* Returns what was planted. */
int planted_good(void) { return planted; }

/* The number of seeds. */
static unsigned planted_seeds(const char *name);

/* Writes a seed, about which there is much to say, and more than fits into ninety columns. */
void planted_write(void) {
  __atomic_store_n(&planted, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&planted, 2, __ATOMIC_RELAXED);
  __atomic_store_n(&planted, 3, __ATOMIC_RELAXED);
  __atomic_store_n(&planted, 4, __ATOMIC_RELEASE);
  /* pairs with the acquire load in planted_read */

  __atomic_store_n(&planted, 1, __ATOMIC_RELEASE);
}
static _Atomic int planted_elsewhere;
static int planted_long(int one, int two, int three) { return one + two + three + planted_good() + 7; }
static int planted_switch(int one) {
  switch (one) {
  case 1: return 2;
    default: return 3;
  }
}
EOF
printf '#include <%s.h>\n' stdint immintrin >planted.h
is "wrong in planted files" "planted.h:2: a header that includes the processor's intrinsics
planted.c:7: planted_seeds: begins with no verb: The number of seeds.
planted.c:10: a line of comment with 94 columns
planted.c:21: a line of code with 103 columns
planted.c:24: a case at the column of its switch
planted.c:15: a memory order without its partner
planted.c:20: a C11 atomic beside those of GCC" "$(python3 "$TESTSUITE/docs/check_style.py" planted.h planted.c)"
finish
