# libeventring: knows nothing of Lua; libc and pthread only.

eventring_sources =

eventring_headers =

eventringincludedir = $(includedir)/eventring
eventringinclude_HEADERS =

lib_LTLIBRARIES += libeventring.la
libeventring_la_SOURCES = $(eventring_sources) $(eventring_headers)
libeventring_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libeventring_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/eventring/eventring.map
EXTRA_libeventring_la_DEPENDENCIES = $(top_srcdir)/eventring/eventring.map

noinst_LIBRARIES += libeventring_host.a
libeventring_host_a_SOURCES = $(eventring_sources) $(eventring_headers)
libeventring_host_a_CFLAGS = $(AM_CFLAGS)

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = eventring/eventring.pc

EXTRA_DIST += eventring/eventring.map
