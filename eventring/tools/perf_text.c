/* SPDX-License-Identifier: MIT */
/* perf_text.c: reads the samples in the text of `perf script`. */
#include "perf_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 1024, DIGITS = 9 };

/* ---- The head of a sample --------------------------------------------------------------- */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* "12345.123456789:" at the start of `at`; returns what is behind it, or NULL. */
static const char *read_time(const char *at, uint64_t *ns) {
  char *end;
  if (!isdigit((unsigned char)*at)) return NULL;
  errno = 0;
  unsigned long long seconds = strtoull(at, &end, 10);
  if (*end != '.' || errno || seconds > UINT64_MAX / 1000000000u - 1) return NULL;
  uint64_t part = 0;
  int digits = 0;
  for (at = end + 1; isdigit((unsigned char)*at) && digits < DIGITS; at++, digits++)
    part = part * 10 + (uint64_t)(*at - '0');
  if (digits == 0 || *at != ':') return NULL;
  for (; digits < DIGITS; digits++) part *= 10;
  *ns = seconds * 1000000000u + part;
  return at + 1;
}

/* "4712" or "4711/4712", a word of `size` bytes. */
static bool read_ids(const char *word, size_t size, struct perf_sample *s) {
  char *end;
  if (!isdigit((unsigned char)*word)) return false;
  s->pid = -1;
  s->tid = (int64_t)strtoull(word, &end, 10);
  if (end < word + size && *end == '/' && isdigit((unsigned char)end[1])) {
    s->pid = s->tid;
    s->tid = (int64_t)strtoull(end + 1, &end, 10);
  }
  return end == word + size;
}

/* The name of the program may have blanks: so the first word that is a time, behind one that
   is a number, ends it. Returns what is behind the time, or NULL. */
static const char *read_head(const char *line, struct perf_sample *s) {
  const char *ids = NULL;
  size_t ids_size = 0;
  for (const char *at = skip_blanks(line); *at; at = skip_blanks(at)) {
    size_t size = strcspn(at, " \t");
    const char *rest = ids ? read_time(at, &s->ns) : NULL;
    if (rest && read_ids(ids, ids_size, s)) return rest;
    if (*at != '[') { /* "[001]": the processor stands between */
      ids = at;
      ids_size = size;
    }
    at += size;
  }
  return NULL;
}

/* "   5000000 cpu-clock:pppH: "; returns what is behind it. */
static const char *read_event(struct perf_text *text, const char *at) {
  char *end;
  at = skip_blanks(at);
  double period = strtod(at, &end);
  if (end != at && *end == ' ') at = skip_blanks(end);
  else period = 0;
  size_t size = strcspn(at, " \t");
  if (size == 0 || at[size - 1] != ':') return at; /* there is no event */
  if (period > 0 && period < 1e18 &&
      (strncmp(at, "cpu-clock", 9) == 0 || strncmp(at, "task-clock", 10) == 0)) {
    text->timed++;
    text->timed_ns += period;
  }
  return at + size;
}

/* ---- Frames ----------------------------------------------------------------------------- */

/* "    5a8f0 vm_execute+0x2e (/usr/bin/saros)". What is of no known file is no function: it
   comes of walking a stack without frame pointers. */
static void read_frame(struct perf_text *text, struct sample_names *names, char *line) {
  char *symbol = line + strspn(line, " \t");
  size_t address = strspn(symbol, "0123456789abcdef");
  if (address == 0 || symbol[address] != ' ') return;
  symbol += address + 1;
  char *file = strrchr(symbol, '('), *close = file ? strrchr(file, ')') : NULL;
  if (file && close && file > symbol) {
    *close = '\0';
    file[-1] = '\0';
    file++;
  } else {
    file = symbol + strlen(symbol);
  }
  char *offset = strstr(symbol, "+0x");
  for (char *next = offset; next; next = strstr(offset + 1, "+0x")) offset = next;
  if (offset) *offset = '\0';
  if (strcmp(symbol, "[unknown]") == 0 && (!*file || strcmp(file, "[unknown]") == 0)) return;
  const char *base = strrchr(file, '/');
  struct perf_sample *s = &text->samples[text->count - 1];
  if (s->count == MOST_DEPTH) return;
  if (text->frame_count == text->frame_room) {
    text->frame_room = text->frame_room ? 2 * text->frame_room : 4096;
    text->frames = need_resized(text->frames, text->frame_room, sizeof(*text->frames));
  }
  text->frames[text->frame_count++] = sample_name(names, symbol, base ? base + 1 : file, false);
  s->count++;
}

/* ---- The text --------------------------------------------------------------------------- */

static bool begin_sample(struct perf_text *text, struct sample_names *names, char *line) {
  struct perf_sample s = {.first = text->frame_count};
  const char *rest = read_head(line, &s);
  if (!rest) {
    text->passed_over++;
    return false;
  }
  if (text->count == text->room) {
    text->room = text->room ? 2 * text->room : 1024;
    text->samples = need_resized(text->samples, text->room, sizeof *text->samples);
  }
  text->samples[text->count++] = s;
  rest = read_event(text, rest);
  read_frame(text, names, line + (rest - line));
  return true;
}

static void read_lines(struct perf_text *text, struct sample_names *names, FILE *file) {
  char *line = NULL;
  size_t room = 0;
  ssize_t size;
  bool within = false, passing = false; /* a sample; what is none, until an empty line */
  while ((size = getline(&line, &room, file)) >= 0) {
    if (size > 0 && line[size - 1] == '\n') line[size - 1] = '\0';
    if (!*skip_blanks(line)) within = passing = false;
    else if (within && isblank((unsigned char)*line)) read_frame(text, names, line);
    else if (!passing && *line != '#') within = begin_sample(text, names, line), passing = !within;
  }
  free(line);
}

static int by_time(const void *left, const void *right) {
  const struct perf_sample *a = left, *b = right;
  if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

bool perf_text_read(struct perf_text *text, struct sample_names *names, const char *path) {
  bool is_input = strcmp(path, "-") == 0;
  errno = 0;
  FILE *file = is_input ? stdin : fopen(path, "re");
  if (file) read_lines(text, names, file);
  bool failed = !file || ferror(file);
  if (failed) complain("%s: %s", path, strerror(errno));
  if (file && !is_input) fclose(file);
  if (failed) return false;
  if (text->count) qsort(text->samples, text->count, sizeof *text->samples, by_time);
  return true;
}

void perf_text_free(struct perf_text *text) {
  free(text->samples);
  free(text->frames);
  *text = (struct perf_text){0};
}
