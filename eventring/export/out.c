/* SPDX-License-Identifier: MIT */
/* out.c: the file that an exporter of events writes: buffers, and the thread that writes
 * them.
 *
 * The buffers are used in rotation: the exporter fills buffer `filled`, and the thread
 * writes buffer `written`, both modulo the number of buffers. Both numbers only grow,
 * under the lock. The exporter waits when it is BUFFERS ahead of the thread; the thread
 * waits when the exporter is not ahead of it. */
#include "export/out.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { BUFFERS = 4, COMPRESSED = 64 << 10 };

struct export_writer {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *buffer[BUFFERS];
  size_t size[BUFFERS];
  uint64_t filled, written; /* numbers of buffers filled and written so far */
  bool over;                /* no more buffers will be filled */
  int fd, error;
#ifdef HAVE_ZLIB
  bool compress;
  z_stream stream;
  unsigned char compressed[COMPRESSED];
#endif
};

bool export_can_compress(void) {
#ifdef HAVE_ZLIB
  return true;
#else
  return false;
#endif
}

/* ---- Writing ---------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t done = write(fd, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes += done, size -= (size_t)done;
  }
  return 0;
}

#ifdef HAVE_ZLIB
static int compress_all(struct export_writer *w, char *bytes, size_t size, int flush) {
  int result = Z_OK, error = 0;
  w->stream.next_in = (unsigned char *)bytes;
  w->stream.avail_in = (unsigned)size;
  do {
    w->stream.next_out = w->compressed;
    w->stream.avail_out = COMPRESSED;
    result = deflate(&w->stream, flush);
    error = write_all(w->fd, (char *)w->compressed, COMPRESSED - w->stream.avail_out);
  } while (!error && result == Z_OK && (flush == Z_FINISH || w->stream.avail_in > 0));
  return error;
}
#endif

static int write_buffer(struct export_writer *w, char *bytes, size_t size) {
#ifdef HAVE_ZLIB
  if (w->compress) return compress_all(w, bytes, size, Z_NO_FLUSH);
#endif
  return write_all(w->fd, bytes, size);
}

static int finish_file(struct export_writer *w) {
#ifdef HAVE_ZLIB
  if (w->compress) return compress_all(w, NULL, 0, Z_FINISH);
#endif
  (void)w;
  return 0;
}

/* Waits for a full buffer. Returns false if there will be no more. */
static bool next_full(struct export_writer *w) {
  pthread_mutex_lock(&w->lock);
  while (w->written == w->filled && !w->over) pthread_cond_wait(&w->changed, &w->lock);
  bool more = w->written < w->filled;
  pthread_mutex_unlock(&w->lock);
  return more;
}

static void note(struct export_writer *w, int error, bool is_buffer) {
  pthread_mutex_lock(&w->lock);
  if (!w->error) w->error = error;
  w->written += is_buffer;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

static void *run_writer(void *context) {
  struct export_writer *w = context;
  int error = 0;
  while (next_full(w)) {
    size_t at = w->written % BUFFERS;
    if (!error) error = write_buffer(w, w->buffer[at], w->size[at]);
    note(w, error, true);
  }
  if (!error) note(w, finish_file(w), false);
  return NULL;
}

/* ---- Filling ---------------------------------------------------------------------- */

static void begin_buffer(struct export_out *out) {
  struct export_writer *w = out->writer;
  out->at = w->buffer[w->filled % BUFFERS];
  out->end = out->at + EXPORT_BUFFER;
}

static void free_writer(struct export_writer *w) {
  for (int i = 0; i < BUFFERS; i++) free(w->buffer[i]);
  free(w);
}

static int start_compressing(struct export_writer *w) {
#ifdef HAVE_ZLIB
  enum { WINDOW = 15 + 16 /* with the header of gzip */, MEMORY = 8, LEVEL = 1 };
  w->compress = true;
  return deflateInit2(&w->stream, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK
             ? 0 : ENOMEM;
#else
  (void)w;
  return ENOSYS;
#endif
}

int export_out_open(struct export_out *out, int fd, bool compress) {
  struct export_writer *w = calloc(1, sizeof *w);
  *out = (struct export_out){.writer = w};
  if (!w) return ENOMEM;
  bool has_buffers = true;
  for (int i = 0; i < BUFFERS; i++)
    if (!(w->buffer[i] = malloc(EXPORT_BUFFER))) has_buffers = false;
  w->fd = fd;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->changed, NULL);
  int error = has_buffers ? 0 : ENOMEM;
  if (!error && compress) error = start_compressing(w);
  if (!error) error = pthread_create(&w->thread, NULL, run_writer, w);
  if (error) {
    free_writer(w);
    out->writer = NULL;
    return error;
  }
  begin_buffer(out);
  return 0;
}

void export_out_turn(struct export_out *out) {
  struct export_writer *w = out->writer;
  pthread_mutex_lock(&w->lock);
  size_t at = w->filled % BUFFERS;
  w->size[at] = (size_t)(out->at - w->buffer[at]);
  w->filled++;
  pthread_cond_signal(&w->changed);
  while (w->filled - w->written == BUFFERS) pthread_cond_wait(&w->changed, &w->lock);
  out->failed = w->error != 0;
  pthread_mutex_unlock(&w->lock);
  begin_buffer(out);
  if (out->progress) out->progress(out->context);
}

void export_put(struct export_out *out, const void *bytes, size_t size) {
  const char *from = bytes;
  while (size > 0) {
    size_t part = size < EXPORT_MOST ? size : EXPORT_MOST;
    memcpy(export_room(out, part), from, part);
    out->at += part;
    from += part, size -= part;
  }
}

int export_out_close(struct export_out *out) {
  struct export_writer *w = out->writer;
  if (!w) return 0;
  out->progress = NULL;
  export_out_turn(out);
  pthread_mutex_lock(&w->lock);
  w->over = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  int error = w->error;
#ifdef HAVE_ZLIB
  if (w->compress) deflateEnd(&w->stream);
#endif
  pthread_mutex_destroy(&w->lock);
  pthread_cond_destroy(&w->changed);
  free_writer(w);
  out->writer = NULL;
  return error;
}
