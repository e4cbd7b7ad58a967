/* SPDX-License-Identifier: MIT */
/* io_span.h - the events of class io (runtime/events.def) that the libraries io and os
 * write.
 *
 * A span lies around a call of the C library that may block, and around nothing else.
 * Nothing between its begin and its end raises an error, so that each end is written.
 * While the class is off, each call costs the test of the class's bit. All functions
 * below are for the thread that runs the domain.
 */
#ifndef SAROS_STDLIB_IO_SPAN_H
#define SAROS_STDLIB_IO_SPAN_H

#include <stdio.h>

#include "probes.h"

/* Records the begin and the end of a read of an open file, if the class is on
 * (PROBE_ENABLED). `bytes` is the number of bytes that were read. */
void io_read_begins(Domain *d, FILE *f);
void io_read_ends(Domain *d, size_t bytes);

/* Calls fwrite, fflush, and fclose or pclose, in a span. */
size_t io_recorded_write(Domain *d, const char *bytes, size_t size, FILE *f);
int io_recorded_flush(Domain *d, FILE *f);
int io_recorded_close(Domain *d, FILE *f, int (*close)(FILE *f));

static inline size_t io_write_bytes(Domain *d, const char *bytes, size_t size, FILE *f) {
  return likely(!PROBE_ENABLED(d, WRITE)) ? fwrite(bytes, 1, size, f)
                                          : io_recorded_write(d, bytes, size, f);
}

#endif
