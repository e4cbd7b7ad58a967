# SPDX-License-Identifier: MIT
# make check-damage [SEEDS=n] [SEED=n]
check-damage: eventring/eventring testsuite/tools/producer
	@TESTSUITE=$(abs_top_srcdir)/testsuite BUILDDIR=$(abs_top_builddir) \
	  EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  SEEDS=$(or $(SEEDS),100) SEED=$(or $(SEED),1) \
	  bash $(abs_top_srcdir)/testsuite/tools/damage.sh

# make check-kills [KILLS=n]: the recorder and what it records, killed at so many moments each
check-kills: eventring/eventring testsuite/tools/producer
	@for test in record_kills record_hardships record_zstd; do \
	  rm -rf testsuite/tools/kills && $(MKDIR_P) testsuite/tools/kills && \
	  (cd testsuite/tools/kills && RECORD_KILLS=$(or $(KILLS),100) TEST_SLOWNESS=1 \
	   TESTSUITE=$(abs_top_srcdir)/testsuite BUILDDIR=$(abs_top_builddir) \
	   SRCDIR=$(abs_top_srcdir) EVENTRING=$(abs_top_builddir)/eventring/eventring \
	   SAROS=$(abs_top_builddir)/saros \
	   bash $(abs_top_srcdir)/testsuite/tools/test_$$test.sh) || exit 1; \
	  echo "$$test: no fault"; \
	done; rm -rf testsuite/tools/kills

.PHONY: check-damage check-kills

clean-local: clean-damage
clean-damage:
	rm -rf testsuite/tools/damage
