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
#include "analysis/saturating.h"
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
  LISTED_HOLDERS = 8,       /* as JSON */
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

/* ---- what is asked for -------------------------------------------------------------- */

static bool is_asked_for(const struct retain *r, const struct retain_holder *h) {
  return !r->name || strstr(h->path, r->name) || strstr(h->shape, r->name);
}

/* By which kinds are ordered: its bytes, or with --name those in the ways that remain. */
static uint64_t weight_of(const struct retain *r, const struct retain_kind *k) {
  uint64_t sum = 0;
  for (size_t i = 0; r->name && i < k->holder_count; i++) sum = eva_add(sum, k->holders[i].bytes);
  return r->name ? sum : k->bytes;
}

static void choose_ways(const struct retain *r, struct retain_kind *k) {
  size_t kept = 0;
  for (size_t i = 0; i < k->holder_count; i++)
    if (is_asked_for(r, &k->holders[i])) k->holders[kept++] = k->holders[i];
  k->holder_count = kept;
  if (r->name) k->more_holders = 0; /* what they are is not known */
  k->weight = weight_of(r, k);
}

static int heavier_first(const void *left, const void *right) {
  const struct retain_kind *a = left, *b = right;
  if (a->is_site != b->is_site) return a->is_site ? 1 : -1;
  if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
  return (a->place > b->place) - (a->place < b->place);
}

/* Puts the kinds and sites first that the options ask for, and of them only the ways that are
   asked for, so that all that is cut later is of these. */
static void choose(const struct retain *r, struct retain_answer *a) {
  for (size_t i = 0; i < a->kind_count; i++) {
    struct retain_kind kind = a->kinds[i];
    kind.place = i;
    choose_ways(r, &kind);
    a->kinds[i] = kind;
    if ((r->kind && !strstr(kind.name, r->kind)) || (r->name && !kind.holder_count)) continue;
    a->kinds[i] = a->kinds[a->chosen];
    a->kinds[a->chosen++] = kind;
  }
  if (a->chosen) qsort(a->kinds, a->chosen, sizeof *a->kinds, heavier_first);
}

static void take_answer(struct retain *r, struct answer *a) {
  r->answer_bytes += a->size;
  if (a->text) a->text = need_resized(a->text, a->size + 1, 1);
  if (a->over) a->valid = retain_answer_take(&a->said, a->text, a->size);
  choose(r, &a->said);
}

/* ---- what is shown ----------------------------------------------------------------- */

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
  uint64_t left = eva_add(k->more_holders, k->holder_count - shown);
  if (left)
    printf("%*s and in %s other way%s\n", COLUMN + 1, "", eva_count_text(more, left),
           left > 1 ? "s" : "");
}

static size_t count_chosen(const struct answer *a, bool sites) {
  size_t n = 0;
  for (size_t i = 0; i < a->said.chosen; i++) n += a->said.kinds[i].is_site == sites;
  return n;
}

static void print_list(const struct retain *r, const struct answer *a, bool sites) {
  const size_t all = count_chosen(a, sites);
  char more[EVA_FIGURE];
  uint64_t shown = 0;
  if (sites && all)
    puts("\nWhere what is held was allocated (sampled: bytes are estimated, of blocks)");
  for (size_t i = 0; i < a->said.chosen && shown < r->top; i++) {
    if (a->said.kinds[i].is_site != sites) continue;
    print_kind(&a->said.kinds[i]);
    shown++;
  }
  if (all > shown)
    printf("\nand %s more %s (--top)\n", eva_count_text(more, all - shown),
           sites ? "sites" : "kinds");
}

/* What the domain could not say; so it is not known whether it is asked for. */
static void print_cut(const struct retain_answer *a) {
  char kinds[EVA_FIGURE], ways[EVA_FIGURE], objects[EVA_FIGURE];
  if (a->cut_kinds || a->cut_ways)
    printf("not in the answer, which is full: %s kinds and sites, %s ways\n",
           eva_count_text(kinds, a->cut_kinds), eva_count_text(ways, a->cut_ways));
  if (a->in_no_way)
    printf("in ways that are too many to be told apart: %s objects\n",
           eva_count_text(objects, a->in_no_way));
  if (a->in_no_kind)
    printf("of kinds that are too many to be told apart: %s objects\n",
           eva_count_text(objects, a->in_no_kind));
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
  print_cut(&a->said);
  print_list(r, a, false);
  print_list(r, a, true);
  if (!a->said.chosen) puts("nothing of what is asked for");
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

static void put_one_kind(const struct answer *a, const struct retain_kind *k,
                         struct eva_json *json) {
  const size_t listed = k->holder_count < LISTED_HOLDERS ? k->holder_count : LISTED_HOLDERS;
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", a->slot);
  eva_json_string_at(json, k->is_site ? "site" : "kind", k->name);
  eva_json_uint_at(json, k->is_site ? "blocks" : "objects", k->objects);
  eva_json_uint_at(json, "bytes", k->bytes);
  eva_json_uint_at(json, "more_holders", eva_add(k->more_holders, k->holder_count - listed));
  eva_json_key(json, "holders");
  eva_json_open_array(json);
  for (size_t h = 0; h < listed; h++) put_holder(json, &k->holders[h]);
  eva_json_close_array(json);
  eva_json_close_object(json);
}

static void put_kinds(const struct retain *r, const struct answer *a, bool sites,
                      struct eva_json *json) {
  uint64_t shown = 0;
  for (size_t i = 0; i < a->said.chosen && shown < r->top; i++) {
    if (a->said.kinds[i].is_site != sites) continue;
    put_one_kind(a, &a->said.kinds[i], json);
    shown++;
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
    eva_json_uint_at(json, "kinds", count_chosen(a, false));
    eva_json_uint_at(json, "sites", count_chosen(a, true));
    eva_json_uint_at(json, "cut_kinds", a->said.cut_kinds);
    eva_json_uint_at(json, "cut_ways", a->said.cut_ways);
    eva_json_uint_at(json, "in_no_way", a->said.in_no_way);
    eva_json_uint_at(json, "in_no_kind", a->said.in_no_kind);
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
