/* SPDX-License-Identifier: MIT */
/* io_span.c - the events of class io that the libraries io and os write. */
#include "io_span.h"

COLD void io_read_begins(Domain *d, FILE *f) { PROBE_BEGIN_INT(d, READ, fileno(f)); }

COLD void io_read_ends(Domain *d, size_t bytes) {
  PROBE_COUNTER(d, READ_BYTES, bytes);
  PROBE_END(d, READ);
}

COLD size_t io_recorded_write(Domain *d, const char *bytes, size_t size, FILE *f) {
  PROBE_BEGIN_INT(d, WRITE, fileno(f));
  size_t written = fwrite(bytes, 1, size, f);
  PROBE_COUNTER(d, WRITTEN_BYTES, written);
  PROBE_END(d, WRITE);
  return written;
}

int io_recorded_flush(Domain *d, FILE *f) {
  PROBE_BEGIN_INT(d, FLUSH, fileno(f));
  int result = fflush(f);
  PROBE_END(d, FLUSH);
  return result;
}

int io_recorded_close(Domain *d, FILE *f, int (*close)(FILE *f)) {
  PROBE_BEGIN_INT(d, CLOSE, fileno(f));
  int result = close(f);
  PROBE_END(d, CLOSE);
  return result;
}
