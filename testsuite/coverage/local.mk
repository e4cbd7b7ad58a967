# SPDX-License-Identifier: MIT
# make coverage [COVERAGE="PATTERN..."]: branches of libeventring that the tests take, by folder
# and file; status 1 below 90 %. It makes a build of its own in coverage/.
coverage:
	@bash $(abs_top_srcdir)/testsuite/coverage/coverage.sh $(abs_top_srcdir) $(COVERAGE)

.PHONY: coverage

clean-local: clean-coverage
clean-coverage:
	rm -rf coverage
