# SPDX-License-Identifier: MIT
# make check-figures [RECORDINGS=50] [SEED=n] [FIGURES="--kind=losses"]: do all commands, exports
# and `sql` say the same of the corpus and of random recordings (figures.py)? The suite does it
# with a few. The recordings stay in figures/ when something differs.
check-figures: all testsuite/format/shapes testsuite/tools/producer
	rm -rf figures && mkdir figures && cd figures && TESTSUITE=$(abs_top_srcdir)/testsuite \
	  SAROS=$(abs_top_builddir)/saros EVENTRING=$(abs_top_builddir)/eventring/eventring \
	  BUILDDIR=$(abs_top_builddir) PYTHONDONTWRITEBYTECODE=1 PYTHONIOENCODING=utf-8 \
	  python3 $(abs_top_srcdir)/testsuite/figures/figures.py \
	  --recordings=$(or $(RECORDINGS),50) --seed=$(or $(SEED),1) $(FIGURES)
	rm -rf figures

.PHONY: check-figures
