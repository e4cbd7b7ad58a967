/* SPDX-License-Identifier: MIT */
/* runtime/memprof_dump.c: SAROS_MEMPROF_DUMP=FILE, the heap profile as a text that can be
 * read while the program runs and after it was killed.
 *
 * At the end of a major cycle of any domain, and at the end of the process, the heap
 * profiles of the recording are read as any reader does it. Blocks that are alive are
 * written as folded stacks: one line for each stack, outermost frame first, with the
 * bytes. The text goes to a new file beside FILE, readable by the user alone, which
 * replaces FILE when it is complete. If other users have put a file or link at FILE, in a
 * directory where they may write, it is neither followed nor written to. Only a fraction
 * of the time is spent on this: if cycles follow each other closely, some of them write
 * nothing.
 *
 * Only the first failure is reported, and the program goes on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "eventring/memory.h"
#include "eventring/tools.h"
#include "memprof.h"

#define TIME_SHARE 20            /* dumps take at most 1 / TIME_SHARE of the time */
#define MOST_BYTES (16 << 20)    /* bytes of the text; the rest is one line */
#define VARIABLE "SAROS_MEMPROF_DUMP"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static char path[PATH_MAX];  /* empty: no dumps */
static pid_t pid;            /* process to which `path` belongs */
static uint64_t not_before;  /* ns of the monotonic clock */
static bool complained;

static void complain(const char *what, const char *name) {
  if (complained) return;
  complained = true;
  fprintf(stderr, "saros: warning: " VARIABLE ": cannot %s %s: %s\n", what, name, strerror(errno));
}

/* ---- the text ------------------------------------------------------------------ */

typedef struct Dump {
  eventring_cursor *cursor;
  FILE *out;
  long written;
  double left_out; /* bytes of stacks beyond MOST_BYTES */
} Dump;

/* Writes the text of a frame. Semicolons separate frames, so they are replaced, and bytes
 * that are not printable are written as \xNN. Returns the number of bytes written. */
static int put_text(FILE *out, const char *text) {
  int n = 0;
  for (size_t size = strlen(text); size > 0;) {
    const struct eventring_character c = eventring_character_at(text, size);
    char safe[4 * sizeof(uint32_t) + 1];
    eventring_printable(safe, sizeof safe, text, c.size);
    if (*text == '\\') strcpy(safe, "\\");
    n += fprintf(out, "%s", *text == ';' ? "," : safe);
    text += c.size, size -= c.size;
  }
  return n;
}

static int put_frame(Dump *dump, const struct eventring_stack_info *frame) {
  struct eventring_function_info f;
  bool known = eventring_cursor_function(dump->cursor, frame->function, &f) == 0;
  int n = put_text(dump->out, known && f.name[0] != '\0' ? f.name : "?");
  if (known && f.source[0] != '\0') {
    n += fprintf(dump->out, " (");
    n += put_text(dump->out, f.source);
    if (frame->line > 0) n += fprintf(dump->out, ":%" PRIu32, frame->line);
    n += fprintf(dump->out, ")");
  }
  return n;
}

static void put_stack(Dump *dump, uint32_t stack) {
  struct eventring_stack_info frames[64];
  size_t n = 0;
  while (stack != 0 && n < sizeof frames / sizeof frames[0] &&
         eventring_cursor_stack(dump->cursor, stack, &frames[n]) == 0)
    stack = frames[n++].parent;
  if (n == 0) dump->written += fprintf(dump->out, ";(unknown)");
  while (n-- > 0) {
    putc(';', dump->out);
    dump->written += 1 + put_frame(dump, &frames[n]);
  }
}

static int put_entry(void *context, const struct eventring_heap *profile,
                     const struct eventring_heap_entry *entry) {
  Dump *dump = context;
  if (!(entry->live.bytes >= 0.5)) return 0;
  if (dump->written > MOST_BYTES) {
    dump->left_out += entry->live.bytes;
    return 0;
  }
  dump->written += fprintf(dump->out, "domain %" PRIu32, profile->domain);
  put_stack(dump, entry->stack);
  dump->written += fprintf(dump->out, " %.0f\n", entry->live.bytes);
  return 0;
}

static int put_profile(void *context, const struct eventring_heap *profile) {
  Dump *dump = context;
  if (profile->lost_live.bytes >= 0.5)
    dump->written += fprintf(dump->out, "domain %" PRIu32 ";(found no room) %.0f\n",
                             profile->domain, profile->lost_live.bytes);
  return 0;
}

/* Writes the heap profiles of all domains. In domains that have ended nothing is
 * alive. */
static bool put_all(Dump *dump) {
  static const struct eventring_heap_callbacks callbacks = {put_profile, put_entry};
  struct eventring_error error;
  if (eventring_open_self(&dump->cursor, 0, &error) != 0) return false;
  int status = eventring_cursor_heaps(dump->cursor, &callbacks, dump);
  if (dump->left_out > 0) fprintf(dump->out, "(not shown) %.0f\n", dump->left_out);
  eventring_close(dump->cursor);
  return status == 0;
}

/* ---- the file ------------------------------------------------------------------ */

/* Returns the path of the file of this process: a child of a fork has one of its own. */
static const char *own_path(char *buffer, size_t size) {
  if (getpid() == pid) return path;
  snprintf(buffer, size, "%s.%ld", path, (long)getpid());
  return buffer;
}

static void write_file(void) {
  char own[PATH_MAX + 32], beside[PATH_MAX + 64];
  const char *name = own_path(own, sizeof own);
  snprintf(beside, sizeof beside, "%s.tmp-XXXXXX", name);
  int fd = mkostemp(beside, O_CLOEXEC); /* O_EXCL, mode 0600 */
  Dump dump = {.out = fd >= 0 ? fdopen(fd, "w") : NULL};
  if (dump.out == NULL) {
    complain("write", beside);
    if (fd >= 0) close(fd), unlink(beside);
    return;
  }
  bool read = put_all(&dump), failed = ferror(dump.out) != 0;
  if (fclose(dump.out) != 0 || failed) complain("write", beside);
  else if (read && rename(beside, name) == 0) return;
  else if (read) complain("replace", name);
  unlink(beside);
}

bool memprof_dump_configure(void) {
  const char *file = secure_getenv(VARIABLE);
  if (file == NULL || *file == '\0') return false;
  pthread_mutex_lock(&mutex);
  pid = getpid();
  errno = ENAMETOOLONG;
  if (strlen(file) < sizeof path) strcpy(path, file);
  else complain("write", "the file");
  bool wanted = path[0] != '\0';
  pthread_mutex_unlock(&mutex);
  return wanted;
}

void memprof_dump(bool last) {
  if (path[0] == '\0') return;
  int saved = errno;
  if (last) pthread_mutex_lock(&mutex);
  /* another domain writes the dump */
  else if (pthread_mutex_trylock(&mutex) != 0) return;
  uint64_t begun = monotonic_ns();
  if (last || begun >= not_before) {
    write_file();
    uint64_t now = monotonic_ns();
    not_before = now + (now - begun) * (TIME_SHARE - 1);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
}

/* Resets the mutex in the child of a fork, since another thread may have held it. */
void memprof_dump_after_fork(void) {
  pthread_mutex_init(&mutex, NULL);
  not_before = 0;
}
