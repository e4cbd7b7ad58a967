#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's packages, from the build to the last trace of them: make check-packages.
#
#   check.sh BUILDDIR [PART...]         (default: all parts, in this order)
#
#   build       make deb, without a network where that can be taken away
#   lintian     no error, no warning
#   reproduce   the same bytes from another folder, locale, time zone and umask
#   chroot      a fresh Debian 12: installed, asked as another user, upgraded, removed; the time
#               from the first command to the first answer is printed, and nothing is left
#
# `chroot` needs root, mmdebstrap, and a mirror of Debian 12: those that this machine's apt uses,
# read from its sources. PACKAGES_BEFORE: a folder with the packages of an earlier version, to
# upgrade from (default: those of this build, with a lower version and a file more).
#
# Packages are built without the tests of the language (DEB_BUILD_OPTIONS=nocheck) unless
# DEB_BUILD_OPTIONS is set. PACKAGES_CHROOT: a tar archive of a fresh Debian 12, instead of making
# one. A part that this machine cannot do is skipped, with the reason. The last line has the counts;
# the status is 1 when a part failed.
set -u
builddir=$1
shift
[ $# -gt 0 ] || set -- build lintian reproduce chroot
top=$(cd "$(dirname "$0")/../.." && pwd)
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck}
work=$(mktemp -d "${TMPDIR:-/tmp}/saros-packages.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$work"' EXIT
passed=0 failed=0 skipped=0

say() { echo "==> $*"; }
skip() { echo "$*"; exit 77; }
has_command() { command -v "$1" >/dev/null || skip "$1 is missing (Debian package: ${2:-$1})"; }

# Runs a command without a network, if this may be done here.
offline() {
  if unshare --net true 2>/dev/null; then unshare --net "$@"; else "$@"; fi
}

part_build() {
  has_command dh debhelper
  offline make -C "$builddir" --no-print-directory deb
}

part_lintian() {
  has_command lintian
  lintian --fail-on error,warning --info --tag-display-limit 0 --allow-root "$builddir"/deb/*.changes
}

part_reproduce() {
  has_command dh debhelper
  local other=$work/elsewhere/of-another-length deb
  mkdir -p "$other"
  (cd "$other" && umask 027 && export LC_ALL=C TZ=Asia/Tokyo &&
    "$top/configure" -q && make --no-print-directory deb) || return
  (cd "$builddir/deb" && ls *.deb) | while read -r deb; do
    cmp "$builddir/deb/$deb" "$other/deb/$deb" || {
      mkdir "$work/one" "$work/two"
      dpkg-deb -R "$builddir/deb/$deb" "$work/one" && dpkg-deb -R "$other/deb/$deb" "$work/two"
      diff -rq "$work/one" "$work/two"
      exit 1
    }
  done
}

# repack DEB FOLDER: the same with a lower version, and with a file that the next one has not
repack() {
  local tree=$work/repacked
  dpkg-deb -R "$1" "$tree" &&
    sed -i -E 's/^(Version: .*)$/\1~before/; s/\(= ([^)]*)\)/(= \1~before)/g' "$tree/DEBIAN/control" &&
    mkdir -p "$tree/usr/share/saros-before" &&
    basename "$1" >"$tree/usr/share/saros-before/$(basename "$1" | sed 's/_.*//')" &&
    dpkg-deb --root-owner-group -b "$tree" "$2" >/dev/null && rm -rf "$tree"
}

part_chroot() {
  [ "$(id -u)" -eq 0 ] || skip "a chroot needs root"
  has_command mmdebstrap
  unshare --mount --pid --fork true 2>/dev/null || skip "this machine allows no namespaces"
  local root=$work/root started=$SECONDS sources deb
  # what this machine's apt calls bookworm, wherever it gets it from, and how it is told to
  sources=$(grep -lrE '\bbookworm\b' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
    xargs -r grep -lE '^(deb |URIs:).*/debian/?( |$)')
  [ -n "$sources" ] || skip "apt of this machine has no mirror of Debian 12"
  # shellcheck disable=SC2086
  if [ -n "${PACKAGES_CHROOT-}" ]; then
    mkdir "$root" && tar -xpf "$PACKAGES_CHROOT" -C "$root" || return
  elif ! mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$root" $sources \
    2>"$work/mmdebstrap.txt"; then
    sed -E 's,(https?://)[^/ ]*,\1...,g' "$work/mmdebstrap.txt" | tail -n 5
    grep -qE 'Could not (resolve|connect)|Failed to fetch|Unable to fetch|Network is unreachable' "$work/mmdebstrap.txt" &&
      skip "the mirror of Debian 12 does not answer"
    return 1
  fi
  echo "a fresh Debian 12: $((SECONDS - started)) s"
  mkdir "$root/tmp/debs" "$root/tmp/before"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  apt-config dump | grep -E '^Acquire::(http|https|Check-)' >"$root/etc/apt/apt.conf.d/99outside"
  echo 'APT::Get::Assume-Yes "true";' >>"$root/etc/apt/apt.conf.d/99outside"
  for deb in "$builddir"/deb/*.deb; do
    case $deb in
      *-dbgsym_*) ;;
      *) cp "$deb" "$root/tmp/debs/" &&
           { [ -n "${PACKAGES_BEFORE-}" ] || repack "$deb" "$root/tmp/before/"; } || return ;;
    esac
  done
  [ -z "${PACKAGES_BEFORE-}" ] || cp "$PACKAGES_BEFORE"/*.deb "$root/tmp/before/" || return
  cp "$top/testsuite/packages/inside.sh" "$top/README.md" "$root/tmp/"
  cp -r "$top/debian/tests" "$root/tmp/tests"
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" || exit
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive bash /tmp/inside.sh' - "$root"
}

for part; do
  say "packages: $part"
  log=$builddir/check-packages-$part.txt
  started=$SECONDS
  (part_"$part") >"$log" 2>&1
  status=$?
  case $status in
    0) passed=$((passed + 1)); grep -E '^(TIME|a fresh)' "$log" ;;
    77) skipped=$((skipped + 1)); echo "SKIP $part: $(tail -n 1 "$log")" ;;
    *) failed=$((failed + 1)); tail -n 40 "$log"; echo "FAIL $part (status $status); all of it: $log" ;;
  esac
  echo "    $((SECONDS - started)) s"
done
line="$passed passed, $failed failed"
[ $skipped -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ]
