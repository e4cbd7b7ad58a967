# SPDX-License-Identifier: MIT
# make check-repair [SEEDS=n] [SEED=n]
check-repair: eventring/eventring testsuite/tools/producer
	@TESTSUITE=$(abs_top_srcdir)/testsuite BUILDDIR=$(abs_top_builddir) \
	  EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  SEEDS=$(or $(SEEDS),100) SEED=$(or $(SEED),1) \
	  bash $(abs_top_srcdir)/testsuite/tools/repair.sh

.PHONY: check-repair

clean-local: clean-repair
clean-repair:
	rm -rf testsuite/tools/repair
