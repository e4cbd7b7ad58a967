# SPDX-License-Identifier: MIT
# make check-arm64: a cross build and its tests under qemu, see check.sh. It makes a build of its
# own in arm64/.
check-arm64: all testsuite/soak/watch
	@bash $(abs_top_srcdir)/testsuite/arm64/check.sh $(abs_top_srcdir) $(abs_top_builddir)

.PHONY: check-arm64

clean-local: clean-arm64
clean-arm64:
	rm -rf arm64
