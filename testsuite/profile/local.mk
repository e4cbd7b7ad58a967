# SPDX-License-Identifier: MIT
# make check-profile [PROGRAMS=n] [SEED=n]: random programs that count their own calls, with
# the profile of calls (_random_calls.lua). The suite runs a few.
check-profile: all
	./saros $(srcdir)/testsuite/profile/_random_calls.lua $(or $(PROGRAMS),3000) $(or $(SEED),1)
.PHONY: check-profile
