/* SPDX-License-Identifier: MIT */
/* out.h: the file that an exporter of events writes.
 *
 * The exporter fills a buffer through pointers, without a call for each piece:
 * export_room ensures that there is room, and the exporter moves `at`. While it fills a
 * buffer, a thread writes the full ones, and compresses them on request. There are four
 * buffers of 1 MiB, however long the file is.
 *
 * Errors: the first one is kept, and export_out_close reports it. From then on all output
 * is discarded, and `failed` is true; exporters return it to end the poll.
 *
 * Threads: one thread calls all functions.
 */
#ifndef EVENTRING_EXPORT_OUT_H
#define EVENTRING_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  EXPORT_BUFFER = 1 << 20,
  EXPORT_MOST = 32 << 10 /* the most bytes that export_room makes room for */
};

struct export_out {
  char *at, *end; /* next byte and end of the buffer that is being filled */
  bool failed;
  /* Called with each full buffer; may be NULL. */
  void (*progress)(void *context);
  void *context;
  struct export_writer *writer;
};

/* Tells whether files can be compressed (zlib). */
bool export_can_compress(void);
/* Writes to the descriptor, which stays the caller's. Returns 0, or the errno. */
int export_out_open(struct export_out *out, int fd, bool compress);
/* Writes what is left and frees everything. Returns 0, or the errno of the first write
   that failed. */
int export_out_close(struct export_out *out);
/* Hands over the buffer, and takes the next one. */
void export_out_turn(struct export_out *out);

/* Returns where at least `size` bytes, at most EXPORT_MOST, can be put. The caller moves
   out->at behind what it puts. */
static inline char *export_room(struct export_out *out, size_t size) {
  if (__builtin_expect((size_t)(out->end - out->at) < size, 0)) export_out_turn(out);
  return out->at;
}
/* Puts any number of bytes, or a text. */
void export_put(struct export_out *out, const void *bytes, size_t size);
static inline void export_puts(struct export_out *out, const char *text) {
  export_put(out, text, strlen(text));
}

#endif
