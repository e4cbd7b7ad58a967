# SPDX-License-Identifier: MIT
# quickstart: what it says in the end, by the programs of this build; and what scripts/prepare.sh
# says and does to install packages, as root, with sudo, and without. What installs and builds is
# replaced here.
. "$TESTSUITE/_checks.sh"
[ -s /var/lib/dpkg/status ] || { echo "no Debian machine: /var/lib/dpkg/status is missing"; exit 77; }

mkdir -p tree/scripts tree/examples build/eventring
cp "$SRCDIR/quickstart" tree/
cp "$SRCDIR/examples/dpkg-graph.lua" tree/examples/
ln -s "$SAROS" build/saros
ln -s "$EVENTRING" build/eventring/eventring
cat >tree/scripts/prepare.sh <<'END'
build_packages=
say() { echo "==> $*"; }
die() { echo "$0: $*" >&2; exit 1; }
install_missing() { :; }
generate_configure() { :; }
build() { say "building in $1"; }
END
bash tree/quickstart "$PWD/build" >out.txt 2>errors.txt || fail "quickstart: $?, $(cat errors.txt)"
is "standard error" "" "$(cat errors.txt)"
is "its lines" 9 "$(wc -l <out.txt)"
[[ $(sed -n 's/.*in the collector: \(.*\) % of the time, in \(.*\) steps/\1 \2/p' out.txt) =~ ^[0-9.]+\ [0-9]+$ ]] ||
  fail "the share of the collector: $(cat out.txt)"
grep -qE '^    the longest step, a (collection|part of a collection) of (young|all) objects, took [0-9.]+ ms: ' out.txt ||
  fail "the longest pause: $(cat out.txt)"
has "the page" "browser: $PWD/build/quickstart.html" "$(cat out.txt)"
has "the page is there" "</html>" "$(tail -c 100 build/quickstart.html)"
has "and then" "eventring view" "$(tail -n 1 out.txt)"
bash tree/quickstart "$PWD/build" >again.txt 2>&1 || fail "quickstart again: $?, $(cat again.txt)"

# ---- packages -------------------------------------------------------------------------------
mkdir bin
for program in dpkg-query apt-get sudo id tee rm; do
  printf '#!/bin/bash\n. "%s/fake.sh"; fake_%s "$@"\n' "$PWD" "$program" >bin/$program
  chmod +x bin/$program
done
cat >fake.sh <<'END'
fake_dpkg-query() { case ${!#} in here) echo installed ;; *) return 1 ;; esac; }
fake_apt-get() { echo "apt-get $*" >>"$FAKED/done.txt"; }
fake_id() { echo "$FAKE_USER"; }
fake_sudo() {
  case $1 in
    -n) [ -n "${FAKE_SUDO_FREE-}" ] ;;
    -v) echo "sudo -v" >>"$FAKED/done.txt" ;;
    *) echo "sudo" >>"$FAKED/done.txt"; "$@" ;;
  esac
}
fake_tee() { cat >/dev/null; }
fake_rm() { :; }
END
cat >install.sh <<'END'
. "$SRCDIR/scripts/prepare.sh"
policy=/
install_missing "$@"
END
# installs USER PACKAGE...: what is printed; done.txt has what was run
installs() {
  : >done.txt
  FAKED=$PWD FAKE_USER=$1 PATH=$PWD/bin:$PATH setsid bash install.sh "${@:2}" 2>&1 </dev/null
}
is "nothing is missing" "" "$(installs 1000 here)"
has "as root" "installing one" "$(installs 0 here one)"
has "as root, it updates first" "apt-get update -qq
apt-get install -y -qq --no-install-recommends one" "$(cat done.txt)"
has "without a terminal and with a password" "apt-get update && apt-get install one two" "$(installs 1000 one two)"
is "nothing is run then" "" "$(cat done.txt)"
has "sudo without a password" "installing one" "$(FAKE_SUDO_FREE=1 installs 1000 one)"
has "it is used" "sudo
apt-get update" "$(cat done.txt)"
if command -v script >/dev/null; then
  : >done.txt
  FAKED=$PWD FAKE_USER=1000 PATH=$PWD/bin:$PATH script -qec "bash install.sh one" /dev/null >out.txt </dev/null
  has "with a terminal it may ask" "sudo asks for your password" "$(cat out.txt)"
  has "and asks before it installs" "sudo -v
sudo
apt-get update" "$(cat done.txt)"
fi

# ---- how far a build is -----------------------------------------------------------------------
mkdir made
printf '.PHONY: all\nall: a b c\na b c:\n\t@echo "  CC      " $@; sleep 1; touch $@\n' >made/Makefile
: >made/config.status
: >made/options
cat >make.sh <<'END'
. "$SRCDIR/scripts/prepare.sh"
top=$PWD targets=() progress=yes
build "$PWD/made"
END
bash make.sh >out.txt 2>&1 || fail "build: $?, $(cat out.txt)"
is "a short build without a terminal" "==> building in $PWD/made" "$(cat out.txt)"
if command -v script >/dev/null; then
  rm -f made/a made/b made/c
  script -qec "bash make.sh" /dev/null </dev/null >out.txt || fail "build on a terminal: $?"
  has "progress on a terminal" "compiled" "$(cat out.txt)"
fi
printf '.PHONY: all\nall:\n\t@echo broken; false\n' >made/Makefile
bash make.sh >out.txt 2>&1 && fail "a build that fails is none"
has "why" "broken" "$(cat out.txt)"

# ---- README has the same packages -------------------------------------------------------------
. "$SRCDIR/scripts/prepare.sh"
listed=$(sed -n '/apt-get install/,/[^\\]$/p' "$SRCDIR/README.md" | tr -d '\\' | sed 's/.*apt-get install//')
is "packages of README.md" "$(printf '%s\n' $build_packages | grep -vx libzstd1 | sort)" "$(printf '%s\n' $listed | sort)"
finish
