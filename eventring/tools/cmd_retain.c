/* SPDX-License-Identifier: MIT */
/* cmd_retain.c: `eventring retain`: who holds the objects of a live process.
 *
 * Each domain of the process forks a child, which walks through the copy of its memory and
 * writes what it found into a file in memory (vm/question.c has the lines). The file of the
 * child is read here, and the child killed. What it says is checked like anything that
 * another process chose. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/json.h"
#include "analysis/names.h"
#include "analysis/units.h"
#include "ask.h"
#include "options.h"
#include "retain_answer.h"
#include "text_table.h"

enum {
  ANSWER_FD = 3,
  MOST_ANSWER = 16 << 20,   /* bytes of a domain */
  MOST_ANSWERS = 256 << 20, /* of all */
  SHOWN_HOLDERS = 3,
  DEFAULT_TOP = 10,
  PAGE = 79
};

struct answer {
  unsigned slot;
  pid_t child;  /* 0: none */
  char *text;   /* what it wrote */
  size_t size;
  bool over;    /* its last line is there */
  bool valid;
  struct retain_answer said;
};

struct retain {
  const struct command *self;
  /* options */
  bool json;
  uint64_t top, wait_ns, walk_ns, run_ns, domain;
  const char *kind, *name, *prefix;
  /* the answers */
  struct reader reader;
  struct ask ask;
  struct eventring_info info;
  struct answer *answers;
  size_t answer_count, answer_bytes;
};

/* ---- the child's file -------------------------------------------------------------- */

/* Is it a child of the process? Anyone of the user may write numbers into the control page.
   *state: as in /proc/PID/stat; 'Z': it has ended. */
static bool find_child_of(pid_t child, pid_t parent, char *state) {
  char path[64], text[512], *at;
  int found = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  at = strrchr(text, ')'); /* the name before it may contain anything */
  return at && sscanf(at + 1, " %c %d", state, &found) == 2 && found == parent;
}

static bool is_child_of(pid_t child, pid_t parent) {
  char state;
  return find_child_of(child, parent, &state);
}

static bool is_running_child_of(pid_t child, pid_t parent) {
  char state;
  return find_child_of(child, parent, &state) && state != 'Z';
}

/* Until it has ended, or half a second. */
static void end_child(struct retain *r, pid_t child) {
  const uint64_t end = ask_now() + 500000000;
  const pid_t parent = pid_here(&r->info);
  if (!is_child_of(child, parent)) return;
  kill(child, SIGKILL);
  while (is_running_child_of(child, parent) && ask_now() < end) ask_rest(&r->reader);
}

static int open_answer(pid_t child) {
  static const char name[] = "/memfd:saros-retain"; /* before, it is a file of the program */
  char path[64], target[sizeof name - 1];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, ANSWER_FD);
  ssize_t n = readlink(path, target, sizeof target);
  if (n != (ssize_t)sizeof target || memcmp(target, name, sizeof target) != 0) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Reads what there is; true when it is complete, or more than it may be. */
static bool read_answer(const struct retain *r, struct answer *a, int fd) {
  size_t most = MOST_ANSWERS - r->answer_bytes < MOST_ANSWER ? MOST_ANSWERS - r->answer_bytes
                                                             : MOST_ANSWER;
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) return false;
  bool too_large = (uint64_t)file.st_size > most;
  if (!too_large) most = (size_t)file.st_size;
  a->text = need_resized(a->text, most + 1, 1);
  ssize_t n = pread(fd, a->text, most, 0);
  a->size = n > 0 ? (size_t)n : 0;
  a->text[a->size] = '\0';
  return too_large || retain_answer_is_over(a->text, a->size);
}

/* The child has its file some time after it was forked; who has none is not killed. */
static void await_answer(struct retain *r, struct answer *a, uint64_t end) {
  if (!is_child_of(a->child, pid_here(&r->info))) a->child = 0;
  int fd = -1;
  while (a->child && !a->over && ask_now() < end) {
    if (fd < 0) fd = open_answer(a->child);
    if (fd >= 0) a->over = read_answer(r, a, fd);
    if (a->over || !is_running_child_of(a->child, pid_here(&r->info))) break;
    ask_rest(&r->reader);
  }
  if (fd < 0) return;
  close(fd);
  end_child(r, a->child);
}

static void take_answer(struct retain *r, struct answer *a) {
  r->answer_bytes += a->size;
  if (a->text) a->text = need_resized(a->text, a->size + 1, 1);
  if (a->over) a->valid = retain_answer_take(&a->said, a->text, a->size);
}

/* ---- what is shown ----------------------------------------------------------------- */

static bool is_shown(const struct retain *r, const struct retain_kind *k) {
  if (r->kind && !strstr(k->name, r->kind)) return false;
  if (!r->name) return true;
  for (size_t i = 0; i < k->holder_count; i++)
    if (strstr(k->holders[i].path, r->name) || strstr(k->holders[i].shape, r->name)) return true;
  return false;
}

static const char *cut_off(uint64_t end) {
  switch (end) {
  case 0: return NULL;
  case 1: return "more objects than the walk may visit";
  case 2: return "the walk took too long";
  default: return "no memory for more of the walk";
  }
}

static const char *domain_name(struct retain *r, unsigned slot) {
  static struct eventring_domain_info domain;
  return eventring_cursor_domain(r->reader.cursor, slot, &domain) == 0 ? domain.name : "?";
}

/* ---- text -------------------------------------------------------------------------- */

/* In lines of the page; the first begins at `column`, where the cursor is. */
static void print_wrapped(const char *text, int column) {
  size_t width = (size_t)(PAGE - column);
  for (;;) {
    size_t n = table_line(text, width);
    print_foreign(stdout, text, n);
    text += n;
    if (!*text) break;
    printf("\n%*s", column, "");
  }
  putchar('\n');
}

static void print_holder(const struct retain_holder *h) {
  enum { COLUMN = 27 };
  char bytes[EVA_FIGURE], objects[EVA_FIGURE];
  printf("  %11s %11s  ", eva_bytes_text(bytes, h->bytes), eva_count_text(objects, h->objects));
  print_wrapped(h->shape, COLUMN);
  if (strcmp(h->shape, h->path) == 0) return;
  printf("%*s", COLUMN, "as ");
  print_wrapped(h->path, COLUMN);
}

static void print_kind(const struct retain_kind *k) {
  enum { COLUMN = 25 };
  char bytes[EVA_FIGURE], objects[EVA_FIGURE], more[EVA_FIGURE];
  size_t shown = k->holder_count < SHOWN_HOLDERS ? k->holder_count : SHOWN_HOLDERS;
  printf("\n%11s %11s  ", eva_bytes_text(bytes, k->bytes), eva_count_text(objects, k->objects));
  print_wrapped(k->name, COLUMN);
  for (size_t i = 0; i < shown; i++) print_holder(&k->holders[i]);
  uint64_t left = k->more_holders + (k->holder_count - shown);
  if (left)
    printf("%*s and in %s other way%s\n", COLUMN + 1, "", eva_count_text(more, left),
           left > 1 ? "s" : "");
}

/* Returns how many are shown. */
static uint64_t print_list(struct retain *r, const struct answer *a, bool sites) {
  uint64_t shown = 0;
  for (size_t i = 0; i < a->said.kind_count && shown < r->top; i++) {
    const struct retain_kind *k = &a->said.kinds[i];
    if (k->is_site != sites || !is_shown(r, k)) continue;
    if (sites && !shown)
      puts("\nWhere what is held was allocated (sampled: bytes are estimated, of blocks)");
    print_kind(k);
    shown++;
  }
  return shown;
}

static void print_answer(struct retain *r, const struct answer *a) {
  char objects[EVA_FIGURE], bytes[EVA_FIGURE], walk[EVA_FIGURE], forked[EVA_FIGURE];
  printf("\nDomain %u ", a->slot);
  print_foreign_text(stdout, domain_name(r, a->slot));
  if (!a->valid) {
    puts(a->over ? ": its answer is not valid"
                 : a->child ? ": its child has not finished" : ": no answer");
    return;
  }
  printf(": %s objects, %s\n(walk %s, in a child; the program waited %s for the fork)\n",
         eva_count_text(objects, a->said.objects), eva_bytes_text(bytes, a->said.bytes),
         eva_duration_text(walk, a->said.walk_ns), eva_duration_text(forked, a->said.fork_ns));
  if (cut_off(a->said.end)) printf("not all: %s\n", cut_off(a->said.end));
  uint64_t shown = print_list(r, a, false);
  if (!(shown + print_list(r, a, true))) puts("nothing of what is asked for");
}

static void print_text(struct retain *r) {
  char process[PROCESS_TEXT];
  print_foreign_text(stdout, r->info.program);
  printf(", process %s\n", process_text(process, &r->info));
  for (size_t i = 0; i < r->answer_count; i++) print_answer(r, &r->answers[i]);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_holder(struct eva_json *json, const struct retain_holder *h) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "objects", h->objects);
  eva_json_uint_at(json, "bytes", h->bytes);
  eva_json_uint_at(json, "steps", h->steps);
  eva_json_string_at(json, "path", h->path);
  eva_json_string_at(json, "shape", h->shape);
  eva_json_close_object(json);
}

static void put_kinds(const struct retain *r, const struct answer *a, bool sites,
                      struct eva_json *json) {
  uint64_t shown = 0;
  for (size_t i = 0; i < a->said.kind_count && shown < r->top; i++) {
    const struct retain_kind *k = &a->said.kinds[i];
    if (k->is_site != sites || !is_shown(r, k)) continue;
    shown++;
    eva_json_open_object(json);
    eva_json_uint_at(json, "domain", a->slot);
    eva_json_string_at(json, sites ? "site" : "kind", k->name);
    eva_json_uint_at(json, sites ? "blocks" : "objects", k->objects);
    eva_json_uint_at(json, "bytes", k->bytes);
    eva_json_uint_at(json, "more_holders", k->more_holders);
    eva_json_key(json, "holders");
    eva_json_open_array(json);
    for (size_t h = 0; h < k->holder_count; h++) put_holder(json, &k->holders[h]);
    eva_json_close_array(json);
    eva_json_close_object(json);
  }
}

static void put_domain(struct retain *r, const struct answer *a, struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", a->slot);
  eva_json_string_at(json, "name", domain_name(r, a->slot));
  eva_json_bool_at(json, "answered", a->valid);
  if (a->valid) {
    eva_json_uint_at(json, "objects", a->said.objects);
    eva_json_uint_at(json, "bytes", a->said.bytes);
    eva_json_uint_at(json, "walk_ns", a->said.walk_ns);
    eva_json_uint_at(json, "fork_ns", a->said.fork_ns);
    eva_json_key(json, "cut_off");
    if (cut_off(a->said.end)) eva_json_string(json, cut_off(a->said.end));
    else eva_json_null(json);
  }
  eva_json_close_object(json);
}

static void print_json(struct retain *r) {
  struct eva_json json;
  uint64_t objects = 0, bytes = 0;
  for (size_t i = 0; i < r->answer_count; i++) {
    objects += r->answers[i].said.objects;
    bytes += r->answers[i].said.bytes;
  }
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_string_at(&json, "program", r->info.program);
  put_process(&json, &r->info);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "objects", objects);
  eva_json_uint_at(&json, "bytes", bytes);
  eva_json_close_object(&json);
  eva_json_key(&json, "domains");
  eva_json_open_array(&json);
  for (size_t i = 0; i < r->answer_count; i++) put_domain(r, &r->answers[i], &json);
  eva_json_close_array(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < r->answer_count; i++) put_kinds(r, &r->answers[i], false, &json);
  eva_json_close_array(&json);
  eva_json_key(&json, "sites");
  eva_json_open_array(&json);
  for (size_t i = 0; i < r->answer_count; i++) put_kinds(r, &r->answers[i], true, &json);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- the command ------------------------------------------------------------------- */

static void collect(struct retain *r) {
  const uint64_t end = ask_now() + r->walk_ns;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!r->ask.asked[slot] || (r->domain != UINT64_MAX && r->domain != slot)) continue;
    r->answers = need_resized(r->answers, r->answer_count + 1, sizeof *r->answers);
    struct answer *a = &r->answers[r->answer_count++];
    *a = (struct answer){.slot = slot, .child = r->ask.answers[slot] <= INT32_MAX
                                                    ? (pid_t)r->ask.answers[slot]
                                                    : 0};
    await_answer(r, a, end);
    take_answer(r, a);
  }
  ask_nothing(&r->ask);
}

static int report(struct retain *r) {
  size_t valid = 0, over = 0;
  for (size_t i = 0; i < r->answer_count; i++) {
    valid += r->answers[i].valid;
    over += r->answers[i].over;
  }
  (r->json ? print_json : print_text)(r);
  fflush(stdout); /* a PROGRAM goes on for long */
  if (valid == r->answer_count && valid > 0) return STATUS_OK;
  if (over > valid) complain("the answer of %s is not valid", valid > 0 ? "a domain" : "the process");
  else
    complain("%s has not answered: it waits, or is in C code",
             over > 0 ? "a domain" : "the process");
  return STATUS_WRONG;
}

static int ask_and_report(struct retain *r) {
  if (r->reader.launched && !ask_let_run(&r->reader, r->run_ns)) {
    complain("the program ended before it was asked (--seconds)");
    return STATUS_WRONG;
  }
  eventring_cursor_info(r->reader.cursor, &r->info);
  int status = ask_domains(&r->ask, &r->reader, EVENTRING_ASKS_RETAIN, r->wait_ns);
  if (status >= 0) return status;
  collect(r);
  return report(r);
}

static void forget(struct retain *r) {
  for (size_t i = 0; i < r->answer_count; i++) {
    retain_answer_free(&r->answers[i].said);
    free(r->answers[i].text);
  }
  free(r->answers);
}

static int open_target(struct retain *r, const struct operands *operands) {
  if (operands->command) return reader_open(&r->reader, operands, r->prefix, EVENTRING_OPEN_NOW);
  return reader_open_target(&r->reader, operands->words[0], EVENTRING_OPEN_NOW);
}

int command_retain(const struct command *self, int count, char **words) {
  struct retain r = {.self = self, .top = DEFAULT_TOP, .wait_ns = 10000000000u,
                     .walk_ns = 90000000000u, .run_ns = 2000000000u, .domain = UINT64_MAX,
                     .prefix = "SAROS_EVENTRING"};
  struct operands operands;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &r.json, NULL, "one JSON object"},
      {"top", 't', OPTION_COUNT, &r.top, "N", "the N largest kinds, and sites (10)"},
      {"kind", 'k', OPTION_TEXT, &r.kind, "TEXT", "kinds, and sites, whose name contains TEXT"},
      {"name", 'n', OPTION_TEXT, &r.name, "TEXT", "what is held by a path that contains TEXT"},
      {"domain", 'd', OPTION_COUNT, &r.domain, "N", "only domain N"},
      {"wait", 'w', OPTION_SECONDS, &r.wait_ns, "N", "for an answer, at most N seconds (10)"},
      {"seconds", 's', OPTION_SECONDS, &r.run_ns, "N",
       "let PROGRAM run for N seconds before it is asked (2)"},
      {"env-prefix", 0, OPTION_TEXT, &r.prefix, "NAME",
       "of the variables that make PROGRAM record (SAROS_EVENTRING)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, true);
  if (status < 0) status = open_target(&r, &operands);
  if (status >= 0) return status;
  status = ask_and_report(&r);
  forget(&r);
  return reader_close(&r.reader, status);
}
