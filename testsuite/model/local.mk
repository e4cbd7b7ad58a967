# SPDX-License-Identifier: MIT
# make check-model: the models, by spin, all states; of the block transition two readers; some
# minutes and 3 GB. (The tests test_model_*.sh are its brief form.)
check-model:
	@CC="$(CC)" $(SHELL) $(top_srcdir)/testsuite/model/check-model.sh $(abs_top_srcdir) || \
	  test $$? = 77

.PHONY: check-model
