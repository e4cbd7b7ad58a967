# SPDX-License-Identifier: MIT
# What the tests of module ffi (testsuite/lua/ffi) call. Not through libtool, which
# makes no shared libraries in builds configured without them.

if HAVE_FFI
check_DATA = testsuite/ffi/libfixture.so
testsuite/ffi/libfixture.so: testsuite/ffi/fixture.c
	@$(MKDIR_P) testsuite/ffi
	$(AM_V_CC)$(CC) -std=gnu11 -O1 -g -Wno-psabi -fPIC -shared -o $@ $(srcdir)/testsuite/ffi/fixture.c -lpthread
CLEANFILES += testsuite/ffi/libfixture.so
endif
