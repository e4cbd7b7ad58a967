# make check-model [MODEL_MINUTES=n]: the block transition, by spin. A minute or two.
check-model:
	@CC="$(CC)" MODEL_MINUTES="$(MODEL_MINUTES)" $(SHELL) $(top_srcdir)/testsuite/model/check-model.sh \
	  $(abs_top_srcdir) || test $$? = 77

.PHONY: check-model
