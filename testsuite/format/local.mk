# SPDX-License-Identifier: MIT
# What records for the tests of doc/FORMAT.md in this folder.
check_PROGRAMS += testsuite/format/shapes
testsuite_format_shapes_CPPFLAGS = $(SEE_EVENTRING)
testsuite_format_shapes_LDADD = $(LINK_EVENTRING)
