/* SPDX-License-Identifier: MIT */
/* tool.c: shared code of the command: messages and memory. */
#include "tool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_errno;

/* ---- Progress ------------------------------------------------------------- */

enum { TERMINAL_LINE = 79 };

static size_t progress_bytes; /* bytes of the shown line; guarded by the lock of stderr */

static void replace_progress_locked(const char *line, size_t size) {
  size_t before = progress_bytes;
  if (before == 0 && size == 0) return;
  fprintf(stderr, "\r%.*s%*s", (int)size, line, (int)(before > size ? before - size : 0), "");
  fputs(size == 0 ? "\r" : "", stderr);
  fflush(stderr);
  progress_bytes = size;
}

/* Shows a line of progress. (Each byte of a character counts as a column, which is at
   least its width.) */
void show_progress(const char *format, ...) {
  char line[256], safe[TERMINAL_LINE + 1];
  va_list arguments;
  if (!isatty(STDERR_FILENO)) return;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  eventring_printable(safe, sizeof safe, line, strlen(line));
  flockfile(stderr);
  replace_progress_locked(safe, strlen(safe));
  funlockfile(stderr);
}

void hide_progress(void) {
  flockfile(stderr);
  replace_progress_locked("", 0);
  funlockfile(stderr);
}

/* ---- Messages ------------------------------------------------------------- */

static void (*write_output)(void *output);
static void *kept_output;

void write_before_messages(void (*write)(void *output), void *output) {
  write_output = write;
  kept_output = output;
}

static void say(const char *format, va_list arguments) {
  char text[2048];
  char safe[sizeof text * 4 + 1];
  int length = vsnprintf(text, sizeof text, format, arguments);
  if (length < 0) return;
  if ((size_t)length >= sizeof text) length = sizeof text - 1;
  if (write_output) write_output(kept_output);
  fflush(stdout);
  flockfile(stderr);
  replace_progress_locked("", 0);
  fprintf(stderr, "eventring: %s\n",
          eventring_printable(safe, sizeof safe, text, (size_t)length));
  funlockfile(stderr);
}

bool complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return false;
}

int wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return STATUS_WRONG;
}

bool someone_can_interrupt(void) {
  return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

uint64_t watch_limit(uint64_t asked_ns) {
  enum { SECONDS = 10 };
  if (asked_ns || someone_can_interrupt()) return asked_ns;
  complain("no terminal, so this ends after %d s (--seconds N: after N)", SECONDS);
  return SECONDS * (uint64_t)1000000000;
}

void complain_damaged(uint64_t blocks) {
  complain("%" PRIu64 " damaged blocks of events were left out", blocks);
}

void print_foreign(FILE *out, const void *text, size_t size) {
  enum { PART = 256 };
  char safe[4 * PART + 1];
  const char *from = text;
  while (size > 0) {
    size_t part = size < PART ? size : PART;
    /* not in the middle of a UTF-8 sequence */
    while (part < size && part > PART - 4 && ((unsigned char)from[part] & 0xC0) == 0x80) part--;
    fputs(eventring_printable(safe, sizeof safe, from, part), out);
    from += part, size -= part;
  }
}

void print_foreign_text(FILE *out, const char *text) { print_foreign(out, text, strlen(text)); }

void no_memory(void) {
  complain("out of memory");
  exit(STATUS_WRONG);
}

static void *need(void *memory) {
  if (!memory) no_memory();
  return memory;
}

void *need_zeroed(size_t count, size_t size) {
  return need(calloc(count ? count : 1, size ? size : 1));
}

void *need_resized(void *memory, size_t count, size_t size) {
  return need(reallocarray(memory, count ? count : 1, size));
}

char *need_copy(const char *text) { return need(strdup(text)); }

void *need_next(void *array, size_t count, size_t size) {
  bool is_full = (count & (count - 1)) == 0; /* also for the first element */
  return is_full ? need_resized(array, count ? 2 * count : 1, size) : array;
}
