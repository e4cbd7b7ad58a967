# SPDX-License-Identifier: MIT
# Debian's packages.

EXTRA_DIST += debian/changelog debian/control debian/copyright debian/not-installed debian/rules \
	debian/source/format debian/eventring.install debian/libeventring0.install \
	debian/libsaros-dev.install debian/saros.install debian/saros.links \
	debian/libeventring0.symbols debian/saros.symbols debian/saros.lintian-overrides \
	debian/tests/control debian/tests/development debian/tests/first-answer debian/tests/stand-in

# make deb: in the folder deb/ of the build directory, from a copy of what a distribution has, as
# dpkg-buildpackage builds in the source tree. DEB_BUILD_OPTIONS: of Debian's policy (nocheck
# leaves out the tests).
deb_tree = deb/$(PACKAGE)-$(VERSION)
deb:
	@command -v dh >/dev/null || \
	  { echo "debhelper is missing: apt-get install debhelper" >&2; exit 1; }
	rm -rf deb && mkdir deb
	$(MAKE) $(AM_MAKEFLAGS) distdir distdir=$(deb_tree) top_distdir=$(deb_tree)
	cd $(deb_tree) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc
	@echo "To install, as root:" && \
	  echo "    apt install `ls $(abs_builddir)/deb/*.deb | grep -v -e -dev_ -e -dbgsym_ | tr '\n' ' '`"
clean-deb:
	rm -rf deb
clean-local: clean-deb

# make check-packages [PARTS="build lintian reproduce chroot"]: see the script's top
check-packages:
	$(SHELL) $(top_srcdir)/testsuite/packages/check.sh $(abs_builddir) $(PARTS)
.PHONY: deb clean-deb check-packages
