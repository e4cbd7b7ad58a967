# SPDX-License-Identifier: MIT
# The ABI of the libraries is that of the descriptions in this folder, which `make update-abi`
# writes: what is removed or changed breaks programs that are compiled (doc/VERSIONS.md), and what is
# added is promised from then on.
. "$TESTSUITE/_checks.sh"
. "$TESTSUITE/abi/_describe.sh"
command -v abidw >/dev/null || { echo "abidw is missing (Debian package: abigail-tools)"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the descriptions are those of x86-64"; exit 77; }
if ! has_types; then
  echo "this build has no types in its debugging information, or is instrumented"; exit 77
fi
[ -e "$BUILDDIR/.libs/libeventring.so" ] || { echo "built without shared libraries"; exit 77; }

for library in $described; do
  [ -e "$BUILDDIR/.libs/$library.so" ] || continue
  gzip -dc "$TESTSUITE/abi/$library.abi.gz" >then.abi || fail "the description of $library: $?"
  describe "$library" >now.abi || fail "abidw of $library: $?"
  abidiff --no-added-syms then.abi now.abi >kept.txt 2>&1
  status=$?
  [ $status -eq 0 ] || fail "compiled programs may not go on working with $library, status $status:
$(head -n 40 kept.txt)
(doc/VERSIONS.md: that takes a new MAJOR, while MAJOR is 0 a new MINOR, and \`make update-abi\`)"
  abidiff then.abi now.abi >added.txt 2>&1
  status=$?
  [ $status -eq 0 ] || fail "$library has more than is described, status $status:
$(head -n 20 added.txt)
(a new MINOR may add that: \`make update-abi\`)"
done

# The comparison finds what is removed and what is changed.
for change in "s/name='eventring_stop'/name='eventring_stopped'/g" \
              "s/\(name='eventring_config' size-in-bits='\)[0-9]*/\18/"; do
  gzip -dc "$TESTSUITE/abi/libeventring.abi.gz" >then.abi
  sed "$change" then.abi >changed.abi
  cmp -s then.abi changed.abi && fail "nothing was changed by $change"
  abidiff then.abi changed.abi >found.txt 2>&1 && fail "not found: $change"
done
finish
