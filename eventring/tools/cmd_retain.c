/* SPDX-License-Identifier: MIT */
/* cmd_retain.c: `eventring retain`: what holds the objects of a live process.
 *
 * Each domain of the process forks a child, which walks through its copy of the memory
 * and writes what it finds into a file in memory (vm/question.c defines the lines). This
 * command reads the file and kills the child. The file is checked like all data that
 * another process controls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/saturating.h"
#include "ask.h"
#include "child_answer.h"
#include "format/now.h"
#include "options.h"
#include "retain_answer.h"
#include "shared_views.h"

enum {
  MOST_ANSWERS = 256 << 20, /* for all domains together */
  SHOWN_HOLDERS = 3,
  LISTED_HOLDERS = 8,       /* most holders listed in JSON */
  DEFAULT_TOP = 10
};

struct answer {
  unsigned slot;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1]; /* of the domain */
  struct child_answer child;
  bool valid;
  char silent[DOMAIN_STATE_TEXT]; /* why the domain has not answered; "" if it has */
  struct retain_answer said;
};

struct retain {
  const struct command *self;
  /* options */
  struct view_choice as;
  struct ask_patience patience;
  uint64_t top, walk_ns, run_ns, domain;
  const char *kind, *name, *prefix;
  /* the answers */
  struct reader reader;
  struct ask ask;
  struct eventring_info info;
  struct answer *answers;
  size_t answer_count, answer_bytes;
};

/* ---- what is asked for -------------------------------------------------------- */

/* Sets the weight by which a kind is ordered: its bytes. With --name, keeps only those
   ways in which the kind is held whose path has that name; the weight is then the bytes
   that are held in these ways. */
static void choose_ways(const struct retain *r, struct retain_kind *k) {
  size_t kept = 0;
  k->weight = k->bytes;
  if (!r->name) return;
  k->weight = 0;
  for (size_t i = 0; i < k->holder_count; i++) {
    const struct retain_holder *h = &k->holders[i];
    if (!strstr(h->path, r->name) && !strstr(h->shape, r->name)) continue;
    k->weight = eva_add(k->weight, h->bytes);
    k->holders[kept++] = *h;
  }
  k->holder_count = kept;
  k->more_holders = 0; /* unknown, because the further ways are not listed */
}

static int heavier_first(const void *left, const void *right) {
  const struct retain_kind *a = left, *b = right;
  if (a->is_site != b->is_site) return a->is_site ? 1 : -1;
  if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
  return (a->order > b->order) - (a->order < b->order);
}

/* Moves the kinds and sites that the options ask for to the front, and drops the ways
   that the options do not ask for. So later limits apply to what was chosen. */
static void choose(const struct retain *r, unsigned domain, struct retain_answer *a) {
  for (size_t i = 0; i < a->kind_count; i++) {
    struct retain_kind kind = a->kinds[i];
    kind.order = i;
    kind.domain = domain;
    choose_ways(r, &kind);
    a->kinds[i] = kind;
    if ((r->kind && !strstr(kind.name, r->kind)) || (r->name && !kind.holder_count)) continue;
    a->kinds[i] = a->kinds[a->chosen];
    a->kinds[a->chosen++] = kind;
  }
  if (a->chosen) qsort(a->kinds, a->chosen, sizeof *a->kinds, heavier_first);
}

/* ---- what is shown ------------------------------------------------------------ */

static const char *cut_off(uint64_t end) {
  switch (end) {
    case 0: return NULL;
    case 1: return "more objects than the walk may visit";
    case 2: return "the walk took too long";
    default: return "no memory for more of the walk";
  }
}

static VIEW(holder_view, struct retain_holder,
    {"objects", NULL, VIEW_COUNT, ROW(objects)},
    {"bytes", NULL, VIEW_BYTES, ROW(bytes)},
    {"steps", NULL, VIEW_COUNT, ROW(steps)},
    {"path", NULL, VIEW_PLAIN, ROW(path)},
    {"shape", NULL, VIEW_PLAIN, ROW(shape)})

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void listed_holders(struct view_to *to, const void *kind) {
  const struct retain_kind *k = kind;
  for (size_t i = 0; i < least(k->holder_count, LISTED_HOLDERS); i++)
    view_row(to, &k->holders[i]);
}

VIEW_GETTER(more_holders, struct retain_kind) {
  size_t listed = least(row->holder_count, LISTED_HOLDERS);
  return view_uint(eva_add(row->more_holders, row->holder_count - listed));
}

#define KIND_COLUMNS(name_key, count_key)                                       \
  {"domain", NULL, VIEW_PLAIN, ROW(domain)},                                    \
  {name_key, NULL, VIEW_PLAIN, ROW(name)},                                      \
  {count_key, NULL, VIEW_COUNT, ROW(objects)},                                  \
  {"bytes", NULL, VIEW_BYTES, ROW(bytes)},                                      \
  {"more_holders", NULL, VIEW_COUNT, .type = VIEW_UINT, .get = more_holders},   \
  {"holders", .form = VIEW_ROWS, .view = &holder_view, .rows = listed_holders}
static VIEW(kind_view, struct retain_kind, KIND_COLUMNS("kind", "objects"))
static VIEW(site_view, struct retain_kind, KIND_COLUMNS("site", "blocks"))

static size_t count_chosen(const struct answer *a, bool sites) {
  size_t n = 0;
  for (size_t i = 0; i < a->said.chosen; i++) n += a->said.kinds[i].is_site == sites;
  return n;
}

VIEW_GETTER(chosen, struct answer) { return view_uint(count_chosen(row, column->argument)); }
VIEW_GETTER(why_cut_off, struct answer) { return view_text(cut_off(row->said.end)); }

static bool is_silent(const void *row) { return ((const struct answer *)row)->silent[0] != '\0'; }

#define VALID VIEW_IF(valid), .flags = VIEW_PART
static VIEW(domain_view, struct answer,
    {"domain", NULL, VIEW_PLAIN, ROW(slot)},
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"answered", NULL, VIEW_PLAIN, ROW(valid)},
    {"state", NULL, VIEW_PLAIN, ROW(silent), .has = is_silent, .flags = VIEW_PART,
     .help = "why it has not answered: \"asleep in C function io.read\""},
    {"objects", NULL, VIEW_COUNT, ROW(said.objects), VALID},
    {"bytes", NULL, VIEW_BYTES, ROW(said.bytes), VALID},
    {"walk_ns", NULL, VIEW_NS, ROW(said.walk_ns), VALID},
    {"fork_ns", NULL, VIEW_NS, ROW(said.fork_ns), VALID},
    {"cut_off", NULL, VIEW_PLAIN, VIEW_GET(TEXT, why_cut_off), VALID,
     .help = "why the walk did not see everything"},
    {"kinds", NULL, VIEW_COUNT, VIEW_GET(UINT, chosen), VALID, .argument = false},
    {"sites", NULL, VIEW_COUNT, VIEW_GET(UINT, chosen), VALID, .argument = true},
    {"cut_kinds", NULL, VIEW_COUNT, ROW(said.cut_kinds), VALID},
    {"cut_ways", NULL, VIEW_COUNT, ROW(said.cut_ways), VALID},
    {"in_no_way", NULL, VIEW_COUNT, ROW(said.in_no_way), VALID},
    {"in_no_kind", NULL, VIEW_COUNT, ROW(said.in_no_kind), VALID})

static void all_domains(struct view_to *to, const void *retain) {
  const struct retain *r = retain;
  for (size_t i = 0; i < r->answer_count; i++) view_row(to, &r->answers[i]);
}

static void put_kinds(struct view_to *to, const struct retain *r, bool sites) {
  for (size_t n = 0; n < r->answer_count; n++) {
    const struct retain_answer *a = &r->answers[n].said;
    uint64_t shown = 0;
    for (size_t i = 0; i < a->chosen && shown < r->top; i++) {
      if (a->kinds[i].is_site != sites) continue;
      view_row(to, &a->kinds[i]);
      shown++;
    }
  }
}

static void all_kinds(struct view_to *to, const void *retain) { put_kinds(to, retain, false); }
static void all_sites(struct view_to *to, const void *retain) { put_kinds(to, retain, true); }

VIEW_GETTER(sum, struct retain) {
  uint64_t sum = 0;
  for (size_t i = 0; i < row->answer_count; i++)
    sum += column->argument ? row->answers[i].said.bytes : row->answers[i].said.objects;
  return view_uint(sum);
}

static VIEW(total_view, struct retain,
    {"objects", NULL, VIEW_COUNT, VIEW_GET(UINT, sum), .argument = 0},
    {"bytes", NULL, VIEW_BYTES, VIEW_GET(UINT, sum), .argument = 1})

static VIEW(retain_view, struct retain,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct retain, info), .view = &head_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"domains", .form = VIEW_ROWS, .view = &domain_view, .rows = all_domains},
    {"rows", .form = VIEW_ROWS, .view = &kind_view, .rows = all_kinds, .flags = VIEW_MAIN},
    {"sites", .form = VIEW_ROWS, .view = &site_view, .rows = all_sites})

/* ---- text --------------------------------------------------------------------- */

static void print_holder(const struct retain_holder *h) {
  enum { COLUMN = 27 };
  printf("  %11s %11s  ", eva_bytes(h->bytes), eva_count(h->objects));
  table_wrapped(stdout, h->shape, COLUMN, COLUMN);
  if (strcmp(h->shape, h->path) == 0) return;
  printf("%*s", COLUMN, "as ");
  table_wrapped(stdout, h->path, COLUMN, COLUMN);
}

static void print_kind(const struct retain_kind *k) {
  enum { COLUMN = 25 };
  size_t shown = least(k->holder_count, SHOWN_HOLDERS);
  printf("\n%11s %11s  ", eva_bytes(k->bytes), eva_count(k->objects));
  table_wrapped(stdout, k->name, COLUMN, COLUMN);
  for (size_t i = 0; i < shown; i++) print_holder(&k->holders[i]);
  uint64_t left = eva_add(k->more_holders, k->holder_count - shown);
  if (left)
    printf("%*s and in %s other way%s\n", COLUMN + 1, "", eva_count(left), left > 1 ? "s" : "");
}

static void print_list(const struct retain *r, const struct answer *a, bool sites) {
  const size_t all = count_chosen(a, sites);
  uint64_t shown = 0;
  if (sites && all)
    puts("\nWhere what is held was allocated (sampled: bytes are estimated, of blocks)");
  for (size_t i = 0; i < a->said.chosen && shown < r->top; i++) {
    if (a->said.kinds[i].is_site != sites) continue;
    print_kind(&a->said.kinds[i]);
    shown++;
  }
  if (all > shown)
    printf("\nand %s more %s (--top)\n", eva_count(all - shown), sites ? "sites" : "kinds");
}

/* Prints what the domain could not find out, even if it may not concern what was asked
   for. */
static void print_cut(const struct retain_answer *a) {
  if (a->cut_kinds || a->cut_ways)
    printf("not in the answer, which is full: %s kinds and sites, %s ways\n",
           eva_count(a->cut_kinds), eva_count(a->cut_ways));
  if (a->in_no_way)
    printf("in ways that are too many to be told apart: %s objects\n", eva_count(a->in_no_way));
  if (a->in_no_kind)
    printf("of kinds that are too many to be told apart: %s objects\n", eva_count(a->in_no_kind));
}

static void print_answer(const struct retain *r, const struct answer *a) {
  putchar('\n');
  if (!a->valid)
    return table_say(stdout, 0, 4, "Domain %u %s: no answer: %s", a->slot, a->name,
                     a->child.over ? "it is not valid" : a->silent);
  table_say(stdout, 0, 4, "Domain %u %s: %s objects, %s", a->slot, a->name,
            eva_count(a->said.objects), eva_bytes(a->said.bytes));
  printf("(walk %s, in a child; the program waited %s for the fork)\n",
         eva_duration(a->said.walk_ns), eva_duration(a->said.fork_ns));
  if (cut_off(a->said.end)) printf("not all: %s\n", cut_off(a->said.end));
  print_cut(&a->said);
  print_list(r, a, false);
  print_list(r, a, true);
  if (!a->said.chosen) puts("nothing that was asked for is in this domain");
}

static void print_text(const struct retain *r) {
  char process[PROCESS_TEXT];
  table_say(stdout, 0, 4, "%s, process %s", r->info.program, process_text(process, &r->info));
  for (size_t i = 0; i < r->answer_count; i++) print_answer(r, &r->answers[i]);
}

/* ---- the command -------------------------------------------------------------- */

static void collect(struct retain *r) {
  const uint64_t end = now_ns() + r->walk_ns;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!r->ask.asked[slot] || (r->domain != UINT64_MAX && r->domain != slot)) continue;
    struct answer *a = NEED_NEXT(r->answers, r->answer_count);
    *a = (struct answer){.slot = slot};
    struct eventring_domain_info domain = {.size = sizeof domain};
    bool known = eventring_cursor_domain(r->reader.cursor, slot, &domain) == 0;
    snprintf(a->name, sizeof a->name, "%s", known ? domain.name : "?");
    child_answer_await(&a->child, &r->reader, &r->info, r->ask.answers[slot],
                       MOST_ANSWERS - r->answer_bytes, end);
    r->answer_bytes += a->child.size;
    if (a->child.over) a->valid = retain_answer_take(&a->said, a->child.text, a->child.size);
    else if (a->child.pid && !a->child.ended)
      snprintf(a->silent, sizeof a->silent, "its child has not finished");
    else ask_why_silent(a->silent, &r->ask, slot);
    choose(r, slot, &a->said);
  }
  ask_nothing(&r->ask);
}

static int say_silent(const struct retain *r) {
  char why[DOMAIN_STATE_TEXT];
  if (r->answer_count == 0 && r->domain != UINT64_MAX)
    return wrong("the process has no such domain");
  if (r->answer_count == 0 && ask_is_silent(why, &r->ask))
    return wrong("no domain is recorded yet: %s", why);
  for (size_t i = 0; i < r->answer_count; i++) {
    const struct answer *a = &r->answers[i];
    if (a->silent[0]) wrong("domain %u %s has not answered: %s", a->slot, a->name, a->silent);
  }
  return STATUS_WRONG;
}

static int report(struct retain *r) {
  size_t valid = 0, over = 0;
  for (size_t i = 0; i < r->answer_count; i++) {
    valid += r->answers[i].valid;
    over += r->answers[i].child.over;
  }
  struct view_to to = {.out = stdout, .as = r->as};
  if (view_wants_text(&r->as)) print_text(r);
  else view_object(&to, &retain_view, r);
  fflush(stdout); /* a PROGRAM may run for long */
  if (valid == r->answer_count && valid > 0) return STATUS_OK;
  if (over > valid)
    return wrong("the answer of %s is not valid", valid > 0 ? "a domain" : "the process");
  return say_silent(r);
}

static void forget(struct retain *r) {
  for (size_t i = 0; i < r->answer_count; i++) {
    retain_answer_free(&r->answers[i].said);
    free(r->answers[i].child.text);
  }
  free(r->answers);
  r->answers = NULL;
  r->answer_count = r->answer_bytes = 0;
}

static int ask_and_report(struct retain *r) {
  r->info.size = sizeof r->info;
  eventring_cursor_info(r->reader.cursor, &r->info);
  int status = ask_domains(&r->ask, &r->reader, EVENTRING_ASKS_RETAIN, r->patience);
  if (!goes_on(status)) return status;
  collect(r);
  status = report(r);
  forget(r);
  return status;
}

/* Asks each recording process of the program, one after the other. */
static int ask_each(struct retain *r, char *const *paths) {
  int status = STATUS_OK, asked = 0;
  for (; *paths; paths++) {
    if (!reader_go_on_in(&r->reader, *paths, EVENTRING_OPEN_NOW) ||
        eventring_cursor_liveness(r->reader.cursor) != EVENTRING_LIVE)
      continue;
    if (asked++ && view_wants_text(&r->as)) putchar('\n');
    int of_this = ask_and_report(r);
    if (of_this != STATUS_OK) status = of_this;
  }
  return asked ? status : wrong("no process of the program records any more");
}

/* Asks the processes of a PROGRAM. If there are no recordings in the usual directories,
   because the user has put a stream elsewhere, asks only the process that was opened. */
static int ask_program(struct retain *r) {
  if (!ask_let_run(&r->reader, r->run_ns))
    return wrong("the program ended before it was asked (--seconds)");
  char **paths = launch_recordings(&r->reader.launch);
  int status = paths[0] ? ask_each(r, paths) : ask_and_report(r);
  for (char **path = paths; *path; path++) free(*path);
  free(paths);
  return status;
}

int command_retain(const struct command *self, int count, char **words) {
  static struct retain r;
  r = (struct retain){.self = self, .top = DEFAULT_TOP, .patience = {UINT64_MAX, 10000000000u},
                     .walk_ns = 90000000000u, .run_ns = 2000000000u, .domain = UINT64_MAX,
                     .prefix = "SAROS_EVENTRING"};
  struct operands operands;
  const struct option_spec specs[] = {
      VIEW_SPECS(&r.as, retain_view, "one JSON object"),
      {"top", 't', OPTION_COUNT, &r.top, "N", "the N largest kinds, and sites (10)"},
      {"kind", 'k', OPTION_TEXT, &r.kind, "TEXT", "kinds, and sites, whose name contains TEXT"},
      {"name", 'n', OPTION_TEXT, &r.name, "TEXT", "what is held by a path that contains TEXT"},
      DOMAIN_SPEC(&r.domain),
      {"wait", 'w', OPTION_SECONDS, &r.patience.ns, "N",
       "for an answer, at most N seconds (10, but not for a domain that is asleep)"},
      {"seconds", 's', OPTION_SECONDS, &r.run_ns, "N",
       "let PROGRAM run for N seconds before it is asked (2)"},
      ENV_PREFIX_SPEC(&r.prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (goes_on(status)) status = require_target(self, &operands, true);
  if (goes_on(status))
    status = operands.command
                 ? reader_open(&r.reader, &operands, r.prefix, EVENTRING_OPEN_NOW)
                 : reader_open_target(&r.reader, operands.words[0], EVENTRING_OPEN_NOW);
  if (!goes_on(status)) return status;
  status = r.reader.launched ? ask_program(&r) : ask_and_report(&r);
  return reader_close(&r.reader, status);
}
