# SPDX-License-Identifier: MIT
# make check-hooks [LUA_REFERENCE=PROGRAM]: do hooks see the same of the guest tests as under the
# reference (compare.sh)? Not of those of the collector and of memory, which decide themselves when
# they collect. The logs of what differs stay in hooks/.
HOOKED = $(foreach folder,language stdlib regression limits, \
	$(wildcard $(abs_top_srcdir)/testsuite/lua/$(folder)/*.lua))
check-hooks: saros
	rm -rf hooks && mkdir hooks && cd hooks && $(SHELL) $(abs_top_srcdir)/testsuite/hooks/compare.sh \
	  --saros=$(abs_top_builddir)/saros --reference=$(LUA_REFERENCE) $(HOOKED)
	rm -rf hooks

.PHONY: check-hooks
