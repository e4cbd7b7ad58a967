# SPDX-License-Identifier: MIT
# The reader of the soak test (soak.sh), which the suite runs for some seconds.
check_PROGRAMS += testsuite/soak/watch
testsuite_soak_watch_CPPFLAGS = $(SEE_EVENTRING)
testsuite_soak_watch_LDADD = $(LINK_EVENTRING)

# make soak [SOAK_SECONDS=n] [SOAK_ROWS=n] [SOAK_SEED=n]
soak: all testsuite/soak/watch
	@SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  SOAK_WATCH=$(abs_top_builddir)/testsuite/soak/watch \
	  SOAK_SECONDS=$(or $(SOAK_SECONDS),7200) SOAK_ROWS=$(or $(SOAK_ROWS),30) \
	  SOAK_SEED=$(SOAK_SEED) bash $(abs_top_srcdir)/testsuite/soak/soak.sh

# make hour [HOUR_SECONDS=n] [HOUR_SEED=n] [HOUR_REPORT=FILE] [HOUR_LOG=FILE]
hour: all
	@SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  LUA_REFERENCE=$(or $(LUA_REFERENCE),lua5.4) PYTHONDONTWRITEBYTECODE=1 \
	  python3 $(abs_top_srcdir)/testsuite/soak/hour.py --seconds $(or $(HOUR_SECONDS),3600) \
	  $(if $(HOUR_SEED),--seed $(HOUR_SEED)) $(if $(HOUR_REPORT),--report $(HOUR_REPORT)) \
	  $(if $(HOUR_LOG),--log $(HOUR_LOG))

.PHONY: soak hour

# make check-fleet [FLEET_SECONDS=n]
check-fleet: all
	@SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  PYTHONDONTWRITEBYTECODE=1 python3 $(abs_top_srcdir)/testsuite/soak/fleet.py \
	  --seconds=$(or $(FLEET_SECONDS),120)

.PHONY: check-fleet

# make check-alerts
check-alerts: all
	@SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  PYTHONDONTWRITEBYTECODE=1 python3 $(abs_top_srcdir)/testsuite/soak/alerts.py

.PHONY: check-alerts
