/* SPDX-License-Identifier: MIT */
/* questions_read.c: questions_test asks each damaged file all questions that commands
 * answer and exports it in all formats (formats.def), in one process, and checks the
 * output: text without control characters, and valid JSON (by the grammar of RFC 8259) in
 * UTF-8. */
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording_input.h"
#include "tools/tool.h"

/* The questions: X(command, what it prints, words before the file). TEXT prints text, and
   JSON with --json. PAIR does so, too, and compares the file with itself. NOTHING only
   writes a file. For the first four, damage is an error. */
#define MADE "questions.made"
#define QUESTIONS(X) \
  X(pauses, TEXT, NULL) X(pauses, TEXT, "--frames", "0", "--frame-span", "request") \
  X(spans, TEXT, NULL) X(stats, TEXT, NULL) X(autopsy, TEXT, NULL) \
  X(heap, TEXT, NULL) X(heap, TEXT, "--by", "line") X(heap, TEXT, "--temporary") \
  X(profile, TEXT, NULL) X(memory, TEXT, NULL) X(show, TEXT, NULL) \
  X(diff, PAIR, NULL) X(diff, PAIR, "--heap") X(merge, NOTHING, "-q", "-o", MADE) \
  X(strip, NOTHING, "-q", "--keep-names", "-o", MADE)
#define DECLARE(name, prints, ...) \
  int command_##name(const struct command *self, int count, char **words);
QUESTIONS(DECLARE)
DECLARE(export, NOTHING)
#undef DECLARE

enum prints { TEXT, PAIR, NOTHING };
enum { MOST_WORDS = 4 };
static const struct question {
  struct command command;
  enum prints prints;
  const char *words[MOST_WORDS + 1];
} questions[] = {
#define QUESTION(word, what, ...) \
  {{.name = #word, .synopsis = "", .summary = "", .run = command_##word}, what, {__VA_ARGS__}},
    QUESTIONS(QUESTION)
#undef QUESTION
};
enum { COUNT = sizeof questions / sizeof questions[0] };

static const struct command exporter = {
    .name = "export", .synopsis = "", .summary = "", .run = command_export};
static const struct format {
  const char *name, *suffix;
  bool of_profile;
} formats[] = {
#define EXPORT_PROFILE(name, suffix, form, summary) {#name, suffix, true},
#define EXPORT_EVENTS(name, suffix, form, summary) {#name, suffix, false},
#include "export/formats.def"
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* ---- What was printed ------------------------------------------------------------- */

struct text {
  const char *at, *end;
  unsigned depth;
};

static bool value(struct text *t);

static void blanks(struct text *t) {
  while (t->at < t->end && strchr(" \t\r\n", *t->at)) t->at++;
}

static bool literal(struct text *t, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(t->end - t->at) < size || memcmp(t->at, word, size) != 0) return false;
  t->at += size;
  return true;
}

static bool digits(struct text *t) {
  const char *from = t->at;
  while (t->at < t->end && *t->at >= '0' && *t->at <= '9') t->at++;
  return t->at > from;
}

static bool number(struct text *t) {
  literal(t, "-");
  if (!literal(t, "0") && !digits(t)) return false;
  if (literal(t, ".") && !digits(t)) return false;
  if (literal(t, "e") || literal(t, "E")) {
    if (!literal(t, "+")) literal(t, "-");
    return digits(t);
  }
  return true;
}

static bool escape(struct text *t) {
  if (t->at >= t->end) return false;
  if (*t->at != 'u') return strchr("\"\\/bfnrt", *t->at++) != NULL;
  for (int i = 1; i <= 4; i++)
    if (t->end - t->at <= i || !strchr("0123456789abcdefABCDEF", t->at[i])) return false;
  t->at += 5;
  return true;
}

static bool string(struct text *t) {
  if (!literal(t, "\"")) return false;
  while (t->at < t->end && *t->at != '"') {
    struct eventring_character c = eventring_character_at(t->at, (size_t)(t->end - t->at));
    if (!c.printable) return false;
    t->at += c.size;
    if (c.code == '\\' && !escape(t)) return false;
  }
  return literal(t, "\"");
}

static bool member(struct text *t) {
  blanks(t);
  if (!string(t)) return false;
  blanks(t);
  return literal(t, ":") && value(t);
}

static bool list(struct text *t, const char *close, bool (*element)(struct text *)) {
  t->at++;
  blanks(t);
  if (literal(t, close)) return true;
  do
    if (!element(t)) return false;
  while (literal(t, ","));
  return literal(t, close);
}

static bool value(struct text *t) {
  bool right;
  blanks(t);
  if (t->at >= t->end || t->depth++ > 64) return false;
  switch (*t->at) {
    case '{': right = list(t, "}", member); break;
    case '[': right = list(t, "]", value); break;
    case '"': right = string(t); break;
    case 't': right = literal(t, "true"); break;
    case 'f': right = literal(t, "false"); break;
    case 'n': right = literal(t, "null"); break;
    default: right = number(t); break;
  }
  t->depth--;
  blanks(t);
  return right;
}

static bool is_harmless(const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    struct eventring_character c = eventring_character_at(text + at, size - at);
    if (!c.printable && text[at] != '\n') return false;
    at += c.size;
  }
  return true;
}

/* ---- Asking ----------------------------------------------------------------------- */

static int out = -1;

static void check_output(int fd, const char *name, const char *path, bool json) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = malloc((size_t)size + 1);
  if (!text || pread(fd, text, (size_t)size, 0) != size) abort();
  struct text t = {.at = text, .end = text + size};
  bool right = size == 0 || (json ? value(&t) && t.at == t.end : is_harmless(text, (size_t)size));
  if (!right) {
    fprintf(stderr, "%s%s of %s printed: %.*s\n", name, json ? " --json" : "", path, (int)size,
            text);
    abort();
  }
  free(text);
}

static void empty_output(void) {
  if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0) abort();
}

/* Asks a question and returns the status. The words may be changed. */
static int ask(const struct question *question, const char *path, bool json) {
  char texts[MOST_WORDS + 3][512];
  char *words[MOST_WORDS + 4];
  int count = 0;
  bool is_text = question->prints == TEXT || question->prints == PAIR;
  json = json && is_text;
  for (int i = 0; question->words[i]; i++)
    snprintf(texts[count++], sizeof texts[0], "%s", question->words[i]);
  if (json) snprintf(texts[count++], sizeof texts[0], "--json");
  for (int i = question->prints == PAIR ? 2 : 1; i > 0; i--)
    snprintf(texts[count++], sizeof texts[0], "%s", path);
  for (int i = 0; i < count; i++) words[i] = texts[i];
  words[count] = NULL;
  empty_output();
  int status = question->command.run(&question->command, count, words);
  fflush(stdout);
  if (is_text) check_output(out, question->command.name, path, json);
  unlink(MADE);
  return status;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *at) {
  (void)st, (void)flag, (void)at;
  return remove(path);
}

/* Removes a file, or (CTF) a folder. */
static void remove_all(const char *path) {
  nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Checks that each line is JSON. */
static void check_lines(int fd, const char *name, const char *path) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = malloc((size_t)size + 1);
  if (!text || pread(fd, text, (size_t)size, 0) != size) abort();
  for (struct text t = {.at = text, .end = text + size}; t.at < t.end; t.depth = 0)
    if (!value(&t)) {
      fprintf(stderr, "%s of %s: %.*s\n", name, path, (int)size, text);
      abort();
    }
  free(text);
}

static bool ends_with(const char *file, const char *end) {
  size_t size = strlen(file), tail = strlen(end);
  return size > tail && strcmp(file + size - tail, end) == 0;
}

static int export(const struct format *format, const char *path) {
  char to[64], file[64], name[512];
  char *words[] = {"--to", to, "-o", file, name, NULL};
  snprintf(to, sizeof to, "%s", format->name);
  snprintf(file, sizeof file, "exported%s", format->suffix);
  snprintf(name, sizeof name, "%s", path);
  remove_all(file);
  empty_output();
  int status = exporter.run(&exporter, 5, words);
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (status == STATUS_OK && fd < 0) abort();
  if (fd >= 0 && ends_with(file, ".json")) check_output(fd, to, path, true);
  if (fd >= 0 && ends_with(file, ".jsonl")) check_lines(fd, to, path);
  if (fd >= 0) close(fd);
  remove_all(file);
  return status;
}

/* Redirects standard output to a file in memory, and messages to a file. */
static void redirect(void) {
  out = memfd_create("questions", MFD_CLOEXEC);
  if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || !freopen("questions.err", "w", stderr)) abort();
  setvbuf(stderr, NULL, _IONBF, 0); /* the message before an abort must be seen */
}

enum { DAMAGE_IS_AN_ERROR = 4 }; /* number of questions for which damage is an error */

extern const unsigned mutations_by_default;
const unsigned mutations_by_default = 200;

int read_mutation(const char *path, unsigned number) {
  int reported = 0, kept = dup(STDOUT_FILENO);
  if (out < 0) redirect();
  else if (dup2(out, STDOUT_FILENO) < 0) abort();
  for (unsigned i = 0; i < COUNT; i++) {
    int status = ask(&questions[i], path, (number + i) % 2);
    if (status != STATUS_OK && status != STATUS_WRONG) abort();
    /* that a file has no samples is no error of the file */
    if (status == STATUS_WRONG && i < DAMAGE_IS_AN_ERROR) reported = -1;
  }
  for (unsigned i = 0; i < FORMATS; i++) {
    int status = export(&formats[i], path);
    if (status != STATUS_OK && status != STATUS_WRONG) abort();
    if (status == STATUS_WRONG && !formats[i].of_profile) reported = -1;
  }
  if (kept < 0 || dup2(kept, STDOUT_FILENO) < 0) abort();
  close(kept);
  return reported;
}
