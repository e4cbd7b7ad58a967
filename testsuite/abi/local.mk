# SPDX-License-Identifier: MIT
# make update-abi: the descriptions that test_abi_kept.sh compares with, of this build: after a
# function was added, or for a new version that may change the ABI.
update-abi: all
	@BUILDDIR=$(abs_top_builddir) SRCDIR=$(abs_top_srcdir) && export BUILDDIR SRCDIR && \
	. $(abs_top_srcdir)/testsuite/abi/_describe.sh && \
	{ has_types || { echo "update-abi: configure with CFLAGS that have -g: this build has no types" >&2; false; }; } && \
	for library in $$described; do \
	  describe $$library | gzip -9n >$(abs_top_srcdir)/testsuite/abi/$$library.abi.gz || exit 1; \
	done

.PHONY: update-abi
