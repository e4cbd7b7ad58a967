# SPDX-License-Identifier: MIT
# Debian's packages, as far as that needs no package built: the lists of debian/ against what `make
# install` installs and what the libraries export; the version. (make check-packages does the rest.)
. "$TESTSUITE/tools/_installed.sh"
debian=$SRCDIR/debian
version=$(sed -n 's/^AC_INIT(\[saros\], \[\(.*\)\])$/\1/p' "$SRCDIR/configure.ac")
is_same "version of debian/changelog" "$version" "$(sed -n '1s/^saros (\(.*\)) .*/\1/p' "$debian/changelog")"

# Each file that is installed is in one list, and each line of a list has a file. The lists have
# Debian's folders; here those of the build.
folder() { make -C "$BUILDDIR" -s --no-print-directory -f Makefile -f <(echo "print:;@echo \$($1)") print; }
libdir=$(folder libdir) prefix=$(folder prefix)
(cd root && find . ! -type d -printf '%P\n' | sort) >installed.txt
declare -A places
# expand LIST: each line, and what it matches
expand() {
  local line pattern file
  while read -r line; do
    pattern=${line%% *}
    case $pattern in
      '' | '#'*) continue ;;
      usr/lib/\*/*) pattern=${libdir#/}/${pattern#usr/lib/*/} ;;
      usr/share/zsh/vendor-completions/*) pattern=${prefix#/}/share/zsh/site-functions/${pattern##*/} ;;
      usr/*) pattern=${prefix#/}/${pattern#usr/} ;;
      *) compgen -G "$SRCDIR/$pattern" >/dev/null || fail "$1: there is no $pattern in the tree"; continue ;;
    esac
    # what a build with --disable-static has not
    [[ $pattern != */libeventring.a ]] || ! grep -q '^build_old_libs=no' "$BUILDDIR/libtool" || continue
    (cd root && compgen -G "$pattern") >matches.txt ||
      fail "${1##*/}: nothing that is installed matches '$line'"
    while read -r file; do
      places[$file]+="${1##*/} "
    done < <(cd root && xargs -r -d '\n' -I{} find {} ! -type d <../matches.txt)
  done <"$1"
}
for list in "$debian"/*.install "$debian/not-installed"; do expand "$list"; done
while read -r file; do
  is "lists that have $file" 1 "$(wc -w <<<"${places[$file]-}")"
done <installed.txt

# What the libraries export is what the packages promise
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@@/@/' | sort; }
for package in libeventring0:libeventring.so.0 saros:libsaros.so.0; do
  list=$debian/${package%:*}.symbols
  is "first line of ${list##*/}" "${package#*:} ${package%:*} #MINVER#" "$(head -n 1 "$list")"
  exported "root$libdir/${package#*:}" >exported.txt
  grep -v -e _1@ -e '^\S' "$list" | awk '{ print $1 }' | sort >listed.txt
  is "exported and not in ${list##*/}, or there and not exported" "" "$(comm -3 exported.txt listed.txt)"
done

# README installs packages that there are, and so does the container
packages=$(sed -n 's/^Package: //p' "$debian/control")
for file in README.md examples/container/Containerfile; do
  named=$(grep -oE '\b(saros|eventring|libeventring[0-9]|libsaros-dev)_\*\.deb' "$SRCDIR/$file" | sed 's/_.*//' | sort -u)
  is "unknown packages of $file" "" "$(comm -23 <(echo "$named") <(sort <<<"$packages"))"
  has "$file" saros "$named"
done
finish
