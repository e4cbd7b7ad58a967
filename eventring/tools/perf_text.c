/* SPDX-License-Identifier: MIT */
/* perf_text.c: reads the samples in the text of `perf script`. */
#include "perf_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 1024, DIGITS = 9 };

/* ---- The head of a sample ----------------------------------------------------- */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* Reads a time, "12345.123456789:", at the start of `at`. Returns what is behind it, or
   NULL. */
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

/* Reads the ids of a sample, "4712" or "4711/4712", from a word of `size` bytes. Returns
   false if the word is no such id. */
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

/* Tells whether a word is one that -F misc shows after the ids: "U", "KP". */
static bool is_misc(const char *word, size_t size) {
  return size <= 4 && strspn(word, "KUHGgMESpD?") >= size;
}

/* Reads the head of a sample. The name of the program may contain blanks, so the name
   ends before the first number that is followed by a time. Returns what is behind the
   time, or NULL. */
static const char *read_head(const char *line, struct perf_sample *s) {
  const char *ids = NULL;
  size_t ids_size = 0;
  bool misc = false;
  for (const char *at = skip_blanks(line); *at; at = skip_blanks(at)) {
    size_t size = strcspn(at, " \t");
    const char *rest = ids ? read_time(at, &s->ns) : NULL;
    if (rest && read_ids(ids, ids_size, s)) return rest;
    if (*at == '[' || (ids && !misc && read_ids(ids, ids_size, s) && is_misc(at, size))) {
      misc |= *at != '['; /* the processor, "[001]", may come in between */
    } else {
      ids = at;
      ids_size = size;
      misc = false;
    }
    at += size;
  }
  return NULL;
}

/* Tells whether an event is wanted: "cycles" includes "cycles:ppp". */
static bool is_wanted(const struct perf_text *text, const char *event, size_t size) {
  if (!text->wanted) return true;
  const size_t wanted = strlen(text->wanted);
  if (size < wanted || strncmp(event, text->wanted, wanted) != 0) return false;
  if (size == wanted) return true;
  return event[wanted] == ':' && strspn(event + wanted + 1, "ukhIGHpPSDWeb") >= size - wanted - 1;
}

/* Notes the event of a sample. Returns whether it is wanted. */
static bool note_event(struct perf_text *text, const char *event, size_t size) {
  const size_t most = sizeof text->events[0].name - 1, kept = size < most ? size : most;
  for (size_t i = text->latest, n = 0; n < text->event_count;
       n++, i = (i + 1) % text->event_count) {
    const struct perf_event *e = &text->events[i];
    if (strncmp(e->name, event, kept) != 0 || e->name[kept] != '\0') continue;
    text->latest = i;
    return kept < size ? is_wanted(text, event, size) : e->wanted;
  }
  const bool wanted = is_wanted(text, event, size);
  if (text->event_count == PERF_MOST_EVENTS) {
    text->further++;
    return wanted;
  }
  struct perf_event *e = &text->events[text->latest = text->event_count++];
  memcpy(e->name, event, kept);
  e->wanted = wanted;
  return wanted;
}

/* Reads period and event, "   5000000 cpu-clock:pppH: ". Returns what is behind them, or
   NULL if it is no sample. */
static const char *read_event(struct perf_text *text, const char *at, bool *wanted) {
  char *end;
  at = skip_blanks(at);
  const double period = strtod(at, &end);
  const char *event = end != at && *end == ' ' ? skip_blanks(end) : at;
  size_t size = strcspn(event, " \t");
  if (strncmp(event, "PERF_RECORD_", 12) == 0) return NULL;
  *wanted = !text->wanted;
  if (size == 0 || event[size - 1] != ':') return at; /* there is no event */
  *wanted = note_event(text, event, size - 1);
  if (*wanted && event != at && period > 0 && period < 1e18 &&
      (strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0)) {
    text->timed++;
    text->timed_ns += period;
  }
  return event + size;
}

/* ---- Frames ------------------------------------------------------------------- */

static const char hex[] = "0123456789abcdef";

/* Cuts off "(/usr/bin/saros (deleted))" at the end of a text. Returns the text in the
   parentheses, which may contain further parentheses; an empty text if there are none. */
static char *cut_file(char *symbol) {
  size_t size = strlen(symbol);
  while (size > 0 && isblank((unsigned char)symbol[size - 1])) size--;
  char *end = symbol + size, *at = end;
  int depth = 0;
  if (size == 0 || end[-1] != ')') return end;
  do {
    at--;
    if (*at == ')') depth++;
    else if (*at == '(') depth--;
  } while (depth > 0 && at > symbol);
  if (depth > 0) at = strrchr(symbol, '('); /* parentheses do not match */
  if (!at || (at > symbol && at[-1] != ' ')) return end;
  end[-1] = '\0';
  if (at > symbol) at[-1] = '\0';
  else *at = '\0';
  return at + 1;
}

/* Cuts off "+0x2e" at the end of a text. */
static void cut_offset(char *text) {
  char *offset = strstr(text, "+0x");
  for (char *next = offset; next; next = strstr(offset + 1, "+0x")) offset = next;
  if (offset && offset[3] && offset[3 + strspn(offset + 3, hex)] == '\0') *offset = '\0';
}

/* Returns the name of a file: "saros" for "/usr/bin/saros (deleted)+0x5a8f0" (the offset
   comes from -F dsoff). */
static const char *base_name(char *file) {
  static const char deleted[] = " (deleted)";
  cut_offset(file);
  const size_t size = strlen(file), end = sizeof deleted - 1;
  if (size > end && strcmp(file + size - end, deleted) == 0) file[size - end] = '\0';
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

/* Reads a frame, "    5a8f0 vm_execute+0x2e (/usr/bin/saros)". A frame without symbol and
   file is no function: it results from walking a stack without frame pointers. */
static void read_frame(struct perf_text *text, struct sample_names *names, char *line) {
  char *symbol = line + strspn(line, " \t");
  size_t address = strspn(symbol, hex);
  if (address == 0 || symbol[address] != ' ') return;
  symbol += address + 1;
  char *file = cut_file(symbol);
  cut_offset(symbol);
  if (strcmp(symbol, "[unknown]") == 0 && (!*file || strcmp(file, "[unknown]") == 0)) return;
  struct perf_sample *s = &text->samples[text->count - 1];
  if (s->count == MOST_DEPTH) return;
  *NEED_NEXT(text->frames, text->frame_count) = sample_name(names, symbol, base_name(file), false);
  s->count++;
}

/* Returns the frame after the event, for a sample without a chain of calls. With -F addr,
   another address, with or without a symbol, comes before the frame. So the frame begins
   at the last hexadecimal word that follows two blanks, or at the next word if the next
   word is hexadecimal and has a symbol. */
static char *last_frame(char *at) {
  char *frame = at;
  for (char *word = at; (word = strstr(word, "  ")) != NULL;) {
    word += strspn(word, " ");
    const size_t size = strspn(word, hex);
    if (size > 0 && word[size] == ' ') frame = word;
  }
  frame += strspn(frame, " \t");
  const size_t size = strspn(frame, hex);
  char *next = frame + size + strspn(frame + size, " ");
  const size_t more = strspn(next, hex);
  if (size == 0 || next == frame + size || more == 0 || next[more] != ' ') return frame;
  return next[more + strspn(next + more, " ")] == '(' ? frame : next;
}

/* ---- The text ----------------------------------------------------------------- */

enum within { NOTHING, SAMPLE, CHAIN };
enum head { NO_HEAD, OTHER_HEAD, UNWANTED_HEAD, SAMPLE_HEAD };

static enum head begin_sample(struct perf_text *text, struct sample_names *names, char *line) {
  struct perf_sample s = {.first = text->frame_count};
  const char *rest = read_head(line, &s);
  if (!rest) return NO_HEAD;
  bool wanted;
  rest = read_event(text, rest, &wanted);
  if (!rest) return OTHER_HEAD;
  if (!wanted) {
    text->unwanted++;
    return UNWANTED_HEAD;
  }
  *NEED_NEXT(text->samples, text->count) = s;
  read_frame(text, names, last_frame(line + (rest - line)));
  return SAMPLE_HEAD;
}

/* Drops the frame in the head of a sample: it repeats the chain's frame, or is another
   address. */
static void begin_chain(struct perf_text *text) {
  struct perf_sample *s = &text->samples[text->count - 1];
  text->frame_count -= s->count;
  s->count = 0;
}

/* Reads all lines. A head begins with the name of a program, aligned to the right;
   without chains there are no empty lines between heads. The lines of a chain begin with
   a tab. */
static void read_lines(struct perf_text *text, struct sample_names *names, FILE *file) {
  char *line = NULL;
  size_t room = 0;
  ssize_t size;
  enum within within = NOTHING;
  bool passing = false; /* skipping lines up to an empty one or a sample */
  while ((size = getline(&line, &room, file)) >= 0) {
    if (size > 0 && line[size - 1] == '\n') line[size - 1] = '\0';
    if (!*skip_blanks(line)) {
      within = NOTHING;
      passing = false;
      continue;
    }
    const enum head head =
        *line == '\t' || *line == '#' ? NO_HEAD : begin_sample(text, names, line);
    if (head == SAMPLE_HEAD) {
      within = SAMPLE;
      passing = false;
    } else if (head == NO_HEAD && within != NOTHING && isblank((unsigned char)*line)) {
      if (within == SAMPLE && *line == '\t') begin_chain(text);
      if (*line == '\t') within = CHAIN;
      read_frame(text, names, line);
    } else if (head == UNWANTED_HEAD) {
      within = NOTHING;
      passing = true;
    } else if ((!passing || head == OTHER_HEAD) && *line != '#') {
      text->passed_over++;
      passing = head == NO_HEAD;
      within = NOTHING;
    }
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
