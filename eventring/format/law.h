/* SPDX-License-Identifier: MIT */
/* law.h: laws of the library, asserted in debug builds (configure --enable-debug).
 *
 * A law that a design states stands once as EVR_LAW, at the end of the step that must
 * keep it. In other builds it costs nothing. A law is about private data of the process,
 * never about words in a mapped file: another process may write those, and must not be
 * able to end this one. `make check-laws` breaks each law in turn, and expects that it is
 * reported. */
#ifndef EVENTRING_LAW_H
#define EVENTRING_LAW_H

#ifdef SAROS_DEBUG
#include <assert.h>
#define EVR_LAW(condition) assert(condition)
/* Its arguments are compiled only where laws are checked. */
#define EVR_IN_DEBUG(...) __VA_ARGS__
#else
/* The condition is compiled, so that it stays valid, but not evaluated. */
#define EVR_LAW(condition) ((void)(0 && (condition)))
#define EVR_IN_DEBUG(...)
#endif

#endif /* EVENTRING_LAW_H */
