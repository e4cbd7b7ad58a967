/* SPDX-License-Identifier: MIT */
/* section.c: a section of the page.
 *
 * A large section is compressed by a thread of its own while its JSON is being written:
 * from its first full buffer on, buffers go to the thread in turn. `filled` and
 * `compressed` count them under the lock. The writer waits when it is SLOTS ahead of the
 * thread; the thread waits when the writer is not ahead of it. */
#include "view/section.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/array.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#define BEFORE_NAME "<script type=\"application/x-eventring\" id=\"section:"
#define BEFORE_TEXT "\">"
#define AFTER_TEXT "</script>\n"

bool page_can_compress(void) {
#ifdef HAVE_ZLIB
  return true;
#else
  return false;
#endif
}

#ifdef HAVE_ZLIB

enum { COMPRESSED = 16 << 10, BUFFER = 64 << 10, SLOTS = 4, LEVEL = 5 };

struct page_deflate {
  z_stream stream;
  bool failed;         /* no memory; owned by the thread until it has ended */
  bool is_cut;         /* the FILE could not pass on all of its data */
  bool has_thread, over;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, compressed;
  size_t size[SLOTS];
  char slot[SLOTS][BUFFER];
  char buffer[BUFFER]; /* buffer of the FILE */
  unsigned char out[COMPRESSED];
};

static bool keep(struct page_section *section, const unsigned char *bytes, size_t size) {
  while (section->room - section->size < size)
    if (!EVR_MAKE_ROOM(section->bytes, section->room, section->room, COMPRESSED)) return false;
  memcpy(section->bytes + section->size, bytes, size);
  section->size += size;
  return true;
}

static bool compress_bytes(struct page_section *section, const char *bytes, size_t size,
                           int flush) {
  struct page_deflate *d = section->deflate;
  int result = Z_OK;
  d->stream.next_in = (unsigned char *)(uintptr_t)bytes;
  d->stream.avail_in = (unsigned)size;
  do {
    d->stream.next_out = d->out;
    d->stream.avail_out = COMPRESSED;
    result = deflate(&d->stream, flush);
    if (!keep(section, d->out, COMPRESSED - d->stream.avail_out)) d->failed = true;
  } while (!d->failed && result == Z_OK && (flush == Z_FINISH || d->stream.avail_in > 0));
  return !d->failed;
}

/* Waits for a full slot. Returns false if no more will come. */
static bool next_slot(struct page_deflate *d) {
  pthread_mutex_lock(&d->lock);
  while (d->compressed == d->filled && !d->over) pthread_cond_wait(&d->changed, &d->lock);
  const bool more = d->compressed != d->filled;
  pthread_mutex_unlock(&d->lock);
  return more;
}

static void *compress_slots(void *context) {
  struct page_section *section = context;
  struct page_deflate *d = section->deflate;
  while (next_slot(d)) {
    const unsigned at = d->compressed % SLOTS;
    if (!d->failed) compress_bytes(section, d->slot[at], d->size[at], Z_NO_FLUSH);
    pthread_mutex_lock(&d->lock);
    d->compressed++;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
  }
  if (!d->failed) compress_bytes(section, "", 0, Z_FINISH);
  /* freed now, perhaps long before page_section_wait */
  deflateEnd(&d->stream);
  return NULL;
}

static void hand_over(struct page_deflate *d, const char *bytes, size_t size) {
  pthread_mutex_lock(&d->lock);
  while (d->filled - d->compressed == SLOTS) pthread_cond_wait(&d->changed, &d->lock);
  pthread_mutex_unlock(&d->lock);
  memcpy(d->slot[d->filled % SLOTS], bytes, size);
  d->size[d->filled % SLOTS] = size;
  pthread_mutex_lock(&d->lock);
  d->filled++;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
}

/* Starts the thread that compresses. (Without a thread, write_cookie compresses.) */
static void start_thread(struct page_section *section) {
  struct page_deflate *d = section->deflate;
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->changed, NULL);
  d->has_thread = pthread_create(&d->thread, NULL, compress_slots, section) == 0;
}

static void stop_thread(struct page_deflate *d) {
  if (!d->has_thread) return;
  pthread_mutex_lock(&d->lock);
  d->over = true;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
  pthread_join(d->thread, NULL);
  pthread_mutex_destroy(&d->lock);
  pthread_cond_destroy(&d->changed);
  d->has_thread = false;
}

/* Takes what the FILE writes: its buffer when it is full and at the end, or a larger
   write as a whole. */
static ssize_t write_cookie(void *cookie, const char *bytes, size_t size) {
  struct page_section *section = cookie;
  struct page_deflate *d = section->deflate;
  if (!d->has_thread && size >= BUFFER) start_thread(section);
  if (!d->has_thread) return compress_bytes(section, bytes, size, Z_NO_FLUSH) ? (ssize_t)size : 0;
  for (size_t at = 0; at < size; at += BUFFER)
    hand_over(d, bytes + at, size - at < BUFFER ? size - at : BUFFER);
  return (ssize_t)size;
}

static void end_deflate(struct page_section *section) {
  if (!section->deflate) return;
  if (section->json.out) fclose(section->json.out);
  section->json.out = NULL;
  stop_thread(section->deflate);
  deflateEnd(&section->deflate->stream);
  free(section->deflate);
  section->deflate = NULL;
}

bool page_section_begin(struct page_section *section, const char *name) {
  enum { WINDOW = 15 + 16 /* with the header of gzip */, MEMORY = 9 };
  static const cookie_io_functions_t functions = {.write = write_cookie};
  *section = (struct page_section){0};
  snprintf(section->name, sizeof section->name, "%s", name);
  struct page_deflate *d = section->deflate = calloc(1, sizeof *d);
  if (!d) return false;
  if (deflateInit2(&d->stream, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
    free(d);
    section->deflate = NULL;
    return false;
  }
  FILE *out = fopencookie(section, "w", functions);
  eva_json_start(&section->json, out);
  if (!out) {
    end_deflate(section);
    return false;
  }
  setvbuf(out, d->buffer, _IOFBF, sizeof d->buffer);
  return true;
}

/* Frees unused room; nothing more may be added. */
static void trim(struct page_section *section) {
  unsigned char *bytes = realloc(section->bytes, section->size);
  if (!bytes) return;
  section->bytes = bytes;
  section->room = section->size;
}

bool page_section_wait(struct page_section *section) {
  struct page_deflate *d = section->deflate;
  if (!d) return section->bytes != NULL;
  const bool has_thread = d->has_thread;
  stop_thread(d);
  if (!has_thread && !d->failed) compress_bytes(section, "", 0, Z_FINISH);
  const bool done = !d->failed && !d->is_cut;
  end_deflate(section);
  if (!done) page_section_free(section);
  else trim(section);
  return done;
}

/* Closes the section (section.h). (A small section is finished at once, because its
   compressor takes half a MiB.) */
void page_section_close(struct page_section *section) {
  struct page_deflate *d = section->deflate;
  if (fflush(section->json.out) != 0) d->is_cut = true;
  if (!d->has_thread) {
    page_section_wait(section);
    return;
  }
  pthread_mutex_lock(&d->lock);
  d->over = true;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
}

#else /* without zlib there are no sections: the command says so */

static void end_deflate(struct page_section *section) { (void)section; }

bool page_section_begin(struct page_section *section, const char *name) {
  *section = (struct page_section){0};
  snprintf(section->name, sizeof section->name, "%s", name);
  return false;
}

void page_section_close(struct page_section *section) { (void)section; }

bool page_section_wait(struct page_section *section) {
  (void)section;
  return false;
}

#endif

bool page_section_end(struct page_section *section) {
  page_section_close(section);
  return page_section_wait(section);
}

void page_section_free(struct page_section *section) {
  end_deflate(section);
  free(section->bytes);
  section->bytes = NULL;
  section->size = section->room = 0;
}

/* ---- In the page ------------------------------------------------------------------ */

size_t page_section_size(const struct page_section *section) {
  return sizeof BEFORE_NAME - 1 + strlen(section->name) + sizeof BEFORE_TEXT - 1 +
         (section->size + 2) / 3 * 4 + sizeof AFTER_TEXT - 1;
}

/* Writes the base64 of a group of 3 bytes; the last group may have 1 or 2. */
static void put_group(const unsigned char *bytes, size_t size, char text[4]) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  unsigned group = (unsigned)bytes[0] << 16;
  if (size > 1) group |= (unsigned)bytes[1] << 8;
  if (size > 2) group |= bytes[2];
  text[0] = digits[group >> 18];
  text[1] = digits[group >> 12 & 63];
  text[2] = size > 1 ? digits[group >> 6 & 63] : '=';
  text[3] = size > 2 ? digits[group & 63] : '=';
}

static void put_base64(const unsigned char *bytes, size_t size, FILE *out) {
  enum { PART = 3 << 10 };
  char text[PART / 3 * 4];
  while (size > 0) {
    size_t part = size < PART ? size : PART, used = 0;
    for (size_t i = 0; i < part; i += 3, used += 4) put_group(bytes + i, part - i, text + used);
    fwrite(text, 1, used, out);
    bytes += part, size -= part;
  }
}

void page_section_put(const struct page_section *section, FILE *out) {
  fputs(BEFORE_NAME, out);
  fputs(section->name, out);
  fputs(BEFORE_TEXT, out);
  put_base64(section->bytes, section->size, out);
  fputs(AFTER_TEXT, out);
}
