# SPDX-License-Identifier: MIT
# What check.sh does inside a fresh Debian 12, as root there. /tmp/debs has the packages,
# /tmp/before those of an earlier version, /tmp/tests the tests that any Debian can run of them. apt
# assumes that the answer is yes.
set -u
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() { "$@" >/tmp/log.txt 2>&1 || { cat /tmp/log.txt; fail "$*: $?"; }; }
stranger() { setpriv --reuid=stranger --regid=stranger --clear-groups env HOME=/home/stranger bash -c "cd && $*"; }

# Every path, what it is, and where a link leads; without what apt and the tests keep for themselves
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /home/stranger \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) -prune \
    -o -printf '%y %m %u %p %l\n' | sort
}
ours() { dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 2>/dev/null |
  awk '$1 ~ /^i/ && $2 ~ /^(saros|eventring|libeventring0|libsaros-dev)$/ { print $2, $3 }'; }
# nothing_left FILE: of what was there before
nothing_left() {
  apt-get purge saros eventring libeventring0 libsaros-dev >/tmp/log.txt 2>&1 || { cat /tmp/log.txt; fail "purge"; }
  run apt-get autoremove --purge
  files >/tmp/after.txt
  diff "$1" /tmp/after.txt || fail "what is different after the packages were removed stands above"
  [ -z "$(ours)" ] || fail "packages are left: $(ours)"
  [ -z "$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' | awk '$2 == "rc"')" ] ||
    fail "configuration is left"
}

printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # no service starts
chmod +x /usr/sbin/policy-rc.d
useradd --create-home --shell /bin/bash stranger
files >/tmp/before.txt

# A stranger, with the packages and README
cd /tmp/debs || exit 1
install=$(sed -n 's/^    \(.*apt install .*\)/\1/p' /tmp/README.md)
[ "$(wc -l <<<"$install")" -eq 1 ] || fail "README's command that installs: $install"
began=$(date +%s.%N)
run sh -c "$install"
installed=$(date +%s.%N)
stranger /tmp/tests/first-answer || fail "first-answer: $?"
awk -v began="$began" -v installed="$installed" -v ended="$(date +%s.%N)" 'BEGIN {
  printf "TIME installed in %.1f s; README'\''s three commands, ten seconds of which are recorded, in %.1f s\n",
    installed - began, ended - installed
  exit ended - began > 120 }' || fail "the first answer took more than two minutes"
[ -n "$(zcat -f /usr/share/man/man1/eventring.1.gz | head -c 1)" ] || fail "no manual page of eventring"
examples=$(mktemp -d) && cp -r /usr/share/saros/examples/{app.lua,container} "$examples"
nothing_left /tmp/before.txt

# The container of examples/container/, without an engine: its instructions one by one. They are
# followed from a folder with the packages and app.lua; the entry point records and is asked.
instructions() { sed -e '/^#/d' -e '/^$/d' "$1" | sed -e ':more' -e '/\\$/{N; s/\\\n//; b more' -e '}'; }
container() {
  local context=/tmp/context word rest user=root folder=/ variables=() words=() pid
  mkdir $context && cp /tmp/debs/*.deb "$1"/container/Containerfile "$1/app.lua" $context/
  cd $context || return
  while read -r word rest; do
    case $word in
      FROM) [ "$rest" = debian:12 ] || return ;;
      COPY)
        # shellcheck disable=SC2206 # patterns are to be expanded
        words=($rest)
        mkdir -p "$(dirname "${words[-1]}x")" && cp "${words[@]}" || return
        ;;
      RUN) run sh -c "$rest" ;;
      USER) user=$rest ;;
      WORKDIR) folder=$rest ;;
      ENV) read -ra words <<<"$rest" && variables+=("${words[@]}") ;;
      CMD)
        mapfile -t words < <(tr -d '[],' <<<"$rest" | xargs -n 1)
        cd "$folder" || return
        setpriv --reuid="$user" --regid="$user" --clear-groups env "${variables[@]}" "${words[@]}" >/tmp/app.txt & pid=$!
        cd /tmp || return
        ;;
      *) echo "unknown: $word"; return 1 ;;
    esac
  done < <(instructions $context/Containerfile)
  eventring pauses --seconds 5 $pid >/tmp/pauses.txt || return
  kill -9 $pid
  wait $pid 2>/dev/null
  grep -q 'steps of the collector' /tmp/pauses.txt && [ -s "$folder/$pid.eventring" ] || return
  userdel -r "$user" 2>/dev/null
  rm -rf $context
  rm -f /srv/app.lua
}
container "$examples" || fail "the container: $?"
run apt-get update
nothing_left /tmp/before.txt

# Other programs, an upgrade, development
run apt-get install --no-install-recommends lighttpd lighttpd-modules-lua gcc libc6-dev make pkg-config cmake libffi-dev
files >/tmp/before.txt
cd /tmp/before || exit 1
run apt-get install ./*.deb
before=$(ours)
old=$(dpkg -L saros eventring libeventring0 libsaros-dev 2>/dev/null | sort -u)
cd /tmp/debs || exit 1
run apt-get install ./*.deb
[ "$(ours | wc -l)" -eq 4 ] || fail "installed after the upgrade: $(ours)"
[ "$(ours)" != "$before" ] || fail "it was no upgrade: $(ours)"
for path in $(comm -23 <(echo "$old") <(dpkg -L saros eventring libeventring0 libsaros-dev | sort -u)); do
  [ ! -e "$path" ] || fail "left by the upgrade: $path"
done
dpkg --verify saros eventring libeventring0 libsaros-dev || fail "dpkg --verify"
for test in first-answer stand-in development; do
  stranger /tmp/tests/$test || fail "$test: $?"
done
nothing_left /tmp/before.txt

[ $failures -eq 0 ]
