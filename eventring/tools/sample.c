/* SPDX-License-Identifier: MIT */
/* sample.c: `eventring stack --hz`: samples the stacks of a live process.
 *
 * Every period each domain's stack is read (remote/stack.h) and counted in a tree. The
 * process is not stopped and runs no instruction for it. What the collector or a wait takes
 * is a node of its own, below the function in which it happens.
 */
#include "sample.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/json.h"
#include "options.h"
#include "remote/stack.h"
#include "remote/tasks.h"
#include "sample_tree.h"
#include "text_table.h"

enum { MOST_HZ = 20000, DEFAULT_TOP = 20, DOMAINS_AGAIN_MS = 100, TEXT = 512 };

enum by { BY_FUNCTION, BY_LINE, BY_STACK, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"function", "line", "stack"};

struct sample_options {
  uint64_t hz, top, seconds_ns, domain;
  bool wall, cpu, idle, json, tree;
  const char *by_text, *to;
  enum by by;
};

struct sampled_domain {
  struct remote_domain about;
  struct remote_reader *reader;
  struct remote_task task;
  bool seen; /* in the latest list */
};

struct sampler {
  const struct sample_options *options;
  struct remote_host host;
  struct remote_functions functions;
  struct sampled_domain domains[REMOTE_DOMAINS];
  size_t domain_count;
  uint64_t listed_ns;
  struct remote_stack stack;
  struct sample_tree tree;
  uint64_t samples; /* counted in the tree */
  uint64_t moving;  /* of them, without the innermost frames */
  uint64_t torn, late;
};

static volatile sig_atomic_t interrupted;
static void on_interrupt(int number) { interrupted = number; }

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Sampling ------------------------------------------------------------ */

static void add_domain(struct sampler *s, uint64_t address) {
  for (size_t i = 0; i < s->domain_count; i++)
    if (s->domains[i].about.address == address) {
      s->domains[i].seen = true;
      return;
    }
  if (s->domain_count == REMOTE_DOMAINS) return;
  struct sampled_domain *domain = &s->domains[s->domain_count];
  memset(domain, 0, sizeof *domain);
  if (!remote_domain_read(&s->host, address, &domain->about)) return;
  if (s->options->domain != UINT64_MAX && s->options->domain != domain->about.id) return;
  domain->reader = remote_reader_open(&s->functions, address);
  if (!domain->reader) no_memory();
  domain->task = remote_task_find(s->host.memory.pid, domain->about.thread);
  domain->seen = true;
  s->domain_count++;
}

static void list_domains(struct sampler *s, uint64_t now) {
  static uint64_t addresses[REMOTE_DOMAINS];
  size_t count = remote_domains(&s->host, addresses, REMOTE_DOMAINS), kept = 0;
  for (size_t i = 0; i < s->domain_count; i++) s->domains[i].seen = false;
  for (size_t i = 0; i < count; i++) add_domain(s, addresses[i]);
  for (size_t i = 0; i < s->domain_count; i++) {
    if (s->domains[i].seen) s->domains[kept++] = s->domains[i];
    else remote_reader_close(s->domains[i].reader);
  }
  s->domain_count = kept;
  s->listed_ns = now;
}

/* A constant text for the key of a node. */
static const char *activity_text(struct sampler *s, const struct remote_domain *about) {
  for (int i = 0; i < EVENTRING_MAX_RULES; i++)
    if (about->text == s->host.at.rules[i].text) return s->host.at.rules[i].text;
  return NULL;
}

static void count_stack(struct sampler *s, const struct remote_domain *about) {
  const struct remote_stack *stack = &s->stack;
  uint32_t node = 0;
  for (size_t i = stack->count; i-- > 0;) {
    const struct remote_frame *frame = &stack->frames[i];
    struct sample_key key = {.function = frame->function};
    if (s->options->by == BY_LINE) key.line = frame->line;
    node = sample_tree_child(&s->tree, node, key);
  }
  if (about->activity == EVENTRING_ACTIVITY_COLLECTING ||
      about->activity == EVENTRING_ACTIVITY_WAITING)
    node = sample_tree_child(&s->tree, node,
                             (struct sample_key){.text = activity_text(s, about)});
  s->tree.nodes[node].here++;
  s->samples++;
  s->moving += stack->moving;
}

/* Is the domain in the state that is asked for? */
static bool wanted(struct sampler *s, struct sampled_domain *domain) {
  if (!s->options->cpu && !s->options->idle) return true;
  remote_task_read(s->host.memory.pid, &domain->task);
  bool runs = domain->about.activity != EVENTRING_ACTIVITY_WAITING && domain->task.state == 'R';
  return runs == s->options->cpu;
}

static bool sample_domain(struct sampler *s, struct sampled_domain *domain, uint64_t now) {
  enum remote_result result = remote_stack_read(domain->reader, &s->stack, &domain->about, now);
  if (result == REMOTE_GONE) return false;
  if (!wanted(s, domain)) return true;
  if (result == REMOTE_TORN) s->torn++;
  else count_stack(s, &domain->about);
  return true;
}

/* Until the time is up, the process ends, or the user interrupts. */
static void sample(struct sampler *s) {
  const uint64_t period = 1000000000u / s->options->hz;
  uint64_t start = now_ns(), due = start;
  while (!interrupted) {
    uint64_t now = now_ns();
    if (s->options->seconds_ns != 0 && now - start >= s->options->seconds_ns) return;
    if (s->listed_ns == 0 || now - s->listed_ns >= (uint64_t)DOMAINS_AGAIN_MS * 1000000)
      list_domains(s, now);
    if (s->domain_count == 0 && kill(s->host.memory.pid, 0) != 0) return;
    for (size_t i = 0; i < s->domain_count; i++)
      if (!sample_domain(s, &s->domains[i], now)) s->listed_ns = 0;
    due += period;
    now = now_ns();
    if (due <= now) { /* what could not be done in time is left out, and counted */
      s->late += (now - due) / period + 1;
      due += ((now - due) / period + 1) * period;
    }
    struct timespec until = {.tv_sec = (time_t)(due / 1000000000u),
                             .tv_nsec = (long)(due % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
}

/* ---- Rows ---------------------------------------------------------------- */

struct row {
  struct sample_key key;
  uint32_t node; /* of a stack */
  uint64_t inclusive, exclusive;
};

struct rows {
  struct row *items;
  size_t count;
};

/* Children come after their parents. */
static void sum_below(struct sample_tree *tree) {
  for (uint32_t i = tree->count - 1; i > 0; i--)
    tree->nodes[tree->nodes[i].parent].below += tree->nodes[i].here + tree->nodes[i].below;
}

/* Is there a node of the same key above? Then its time is in that one's. */
static bool repeats(const struct sample_tree *tree, uint32_t node) {
  for (uint32_t i = tree->nodes[node].parent; i != 0; i = tree->nodes[i].parent)
    if (sample_key_same(tree->nodes[i].key, tree->nodes[node].key)) return true;
  return false;
}

static int by_key(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  uintptr_t f = (uintptr_t)x->key.function, g = (uintptr_t)y->key.function;
  uintptr_t t = (uintptr_t)x->key.text, u = (uintptr_t)y->key.text;
  if (f != g) return f < g ? -1 : 1;
  if (t != u) return t < u ? -1 : 1;
  return (x->key.line > y->key.line) - (x->key.line < y->key.line);
}

static int by_exclusive(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->exclusive != y->exclusive) return x->exclusive > y->exclusive ? -1 : 1;
  if (x->inclusive != y->inclusive) return x->inclusive > y->inclusive ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static struct rows make_rows(const struct sampler *s) {
  const struct sample_tree *tree = &s->tree;
  struct rows rows = {.items = need_zeroed(tree->count, sizeof *rows.items)};
  bool stacks = s->options->by == BY_STACK;
  for (uint32_t i = 0; i < tree->count; i++) {
    const struct sample_node *node = &tree->nodes[i];
    if ((i == 0 || stacks) && node->here == 0) continue;
    rows.items[rows.count++] = (struct row){
        .key = node->key, .node = i, .exclusive = node->here,
        .inclusive = repeats(tree, i) ? 0 : node->here + (i == 0 ? 0 : node->below)};
  }
  if (!stacks && rows.count > 0) {
    size_t kept = 0;
    qsort(rows.items, rows.count, sizeof *rows.items, by_key);
    for (size_t i = 1; i < rows.count; i++) {
      if (by_key(&rows.items[kept], &rows.items[i]) != 0) {
        rows.items[++kept] = rows.items[i];
        continue;
      }
      rows.items[kept].inclusive += rows.items[i].inclusive;
      rows.items[kept].exclusive += rows.items[i].exclusive;
    }
    rows.count = kept + 1;
  }
  if (rows.count > 0) qsort(rows.items, rows.count, sizeof *rows.items, by_exclusive);
  return rows;
}

/* ---- Output -------------------------------------------------------------- */

/* The functions of a stack, the outermost first. Semicolons and newlines separate them, and
   so are replaced in names. */
static void print_folded_node(const struct sample_tree *tree, uint32_t node) {
  uint32_t path[REMOTE_FRAMES + 8];
  size_t depth = 0;
  for (uint32_t i = node; i != 0 && depth < REMOTE_FRAMES + 8; i = tree->nodes[i].parent)
    path[depth++] = i;
  if (depth == 0) printf("(no function)");
  while (depth-- > 0) {
    char text[TEXT];
    sample_key_text(tree->nodes[path[depth]].key, text, sizeof text);
    for (char *c = text; *c; c++)
      if (*c == ';' || *c == '\n') *c = ',';
    print_foreign_text(stdout, text);
    if (depth > 0) putchar(';');
  }
}

static void print_folded(const struct sampler *s) {
  for (uint32_t i = 0; i < s->tree.count; i++) {
    if (s->tree.nodes[i].here == 0) continue;
    print_folded_node(&s->tree, i);
    printf(" %" PRIu64 "\n", s->tree.nodes[i].here);
  }
}

static void print_tree(const struct sampler *s, uint32_t node, unsigned depth) {
  const struct sample_node *at = &s->tree.nodes[node];
  char text[TEXT];
  uint64_t all = at->here + at->below;
  if (node != 0) {
    if (all * 100 < s->samples) return; /* below 1 % */
    sample_key_text(at->key, text, sizeof text);
    printf("%6.2f %% %6.2f %%  %*s", 100.0 * (double)all / (double)s->samples,
           100.0 * (double)at->here / (double)s->samples, (int)(2 * (depth < 40 ? depth : 40)), "");
    print_foreign_text(stdout, text);
    putchar('\n');
  }
  for (uint32_t i = at->first_child; i != 0; i = s->tree.nodes[i].next_sibling)
    print_tree(s, i, node == 0 ? 0 : depth + 1);
}

static void stack_text(const struct sample_tree *tree, uint32_t node, char *text, size_t room) {
  size_t at = 0;
  text[0] = '\0';
  for (uint32_t i = node; i != 0 && at < room; i = tree->nodes[i].parent) {
    char one[TEXT];
    sample_key_text(tree->nodes[i].key, one, sizeof one);
    int n = snprintf(text + at, room - at, "%s%s", at ? " < " : "", one);
    at += n > 0 ? (size_t)n : 0;
  }
}

static void row_text(const struct sampler *s, const struct row *row, char *text, size_t room) {
  if (row->node == 0) snprintf(text, room, "(no function)");
  else if (s->options->by == BY_STACK) stack_text(&s->tree, row->node, text, room);
  else sample_key_text(row->key, text, room);
}

static size_t shown_rows(const struct sampler *s, const struct rows *rows) {
  uint64_t top = s->options->top;
  return top == 0 || top > rows->count ? rows->count : (size_t)top;
}

static void print_rows(const struct sampler *s, const struct rows *rows) {
  TABLE(table, "<what", "samples", "inclusive", "exclusive");
  for (size_t i = 0; i < shown_rows(s, rows); i++) {
    char text[4 * TEXT], figure[32];
    const struct row *row = &rows->items[i];
    row_text(s, row, text, sizeof text);
    table_cell(&table, text);
    snprintf(figure, sizeof figure, "%" PRIu64, row->inclusive);
    table_cell(&table, figure);
    snprintf(figure, sizeof figure, "%.2f %%", 100.0 * (double)row->inclusive / (double)s->samples);
    table_cell(&table, figure);
    snprintf(figure, sizeof figure, "%.2f %%", 100.0 * (double)row->exclusive / (double)s->samples);
    table_cell(&table, figure);
  }
  table_print(&table, stdout, 0);
}

static void row_json(const struct sampler *s, struct eva_json *json, const struct row *row) {
  const struct remote_function *f = row->key.function;
  const uint64_t period = 1000000000u / s->options->hz;
  char text[4 * TEXT];
  row_text(s, row, text, sizeof text);
  eva_json_open_object(json);
  eva_json_string_at(json, "name", text);
  if (f != NULL) {
    eva_json_string_at(json, "source", f->source);
    if (!f->is_c) eva_json_uint_at(json, "line", row->key.line ? row->key.line : f->first_line);
  }
  eva_json_uint_at(json, "count", row->inclusive);
  eva_json_uint_at(json, "inclusive_ns", row->inclusive * period);
  eva_json_uint_at(json, "exclusive_ns", row->exclusive * period);
  eva_json_close_object(json);
}

static void print_json(const struct sampler *s, const struct rows *rows) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_int_at(&json, "pid", s->host.memory.pid);
  eva_json_string_at(&json, "by", by_names[s->options->by]);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < shown_rows(s, rows); i++) row_json(s, &json, &rows->items[i]);
  eva_json_close_array(&json);
  eva_json_key(&json, "loss");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "torn", s->torn);
  eva_json_uint_at(&json, "moving", s->moving);
  eva_json_uint_at(&json, "late", s->late);
  eva_json_close_object(&json);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "samples", s->samples);
  eva_json_close_object(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

static void show(struct sampler *s) {
  struct rows rows = make_rows(s);
  if (s->options->to) print_folded(s);
  else if (s->options->json) print_json(s, &rows);
  else {
    printf("%" PRIu64 " samples, %" PRIu64 " torn (not counted), %" PRIu64
           " without the innermost functions, %" PRIu64 " left out because it was late\n\n",
           s->samples, s->torn, s->moving, s->late);
    if (s->options->tree && s->samples > 0) print_tree(s, 0, 0);
    else if (s->samples > 0) print_rows(s, &rows);
  }
  free(rows.items);
}

/* ---- The command --------------------------------------------------------- */

bool sample_is_asked(int count, char **words) {
  for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
    if (strcmp(words[i], "--hz") == 0 || strncmp(words[i], "--hz=", 5) == 0) return true;
  return false;
}

static int check_options(const struct command *self, struct sample_options *o) {
  for (o->by = 0; o->by < BY_COUNT && strcmp(o->by_text, by_names[o->by]) != 0; o->by++);
  if (o->by == BY_COUNT) return usage_error(self, "--by: function, line or stack");
  if (o->hz < 1 || o->hz > MOST_HZ) return usage_error(self, "--hz: 1 to %d", MOST_HZ);
  if (o->wall + o->cpu + o->idle > 1) return usage_error(self, "one of --wall, --cpu, --idle");
  if (o->to && strcmp(o->to, "folded") != 0) return usage_error(self, "--to: folded");
  if ((o->to != NULL) + o->json + o->tree > 1)
    return usage_error(self, "one of --to, --json, --tree");
  return -1;
}

static int run(const struct sample_options *options, pid_t pid) {
  static struct sampler s;
  s.options = options;
  if (!remote_host_open(&s.host, pid)) {
    complain("%ld: %s", (long)pid, s.host.error);
    return STATUS_WRONG;
  }
  remote_functions_open(&s.functions, &s.host);
  sample_tree_open(&s.tree);
  struct sigaction stop = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &stop, NULL);
  sample(&s);
  sum_below(&s.tree);
  show(&s);
  for (size_t i = 0; i < s.domain_count; i++) remote_reader_close(s.domains[i].reader);
  sample_tree_close(&s.tree);
  remote_functions_close(&s.functions);
  return STATUS_OK;
}

int sample_command(const struct command *self, int count, char **words) {
  struct sample_options o = {.hz = 1000, .top = DEFAULT_TOP, .domain = UINT64_MAX,
                             .by_text = "function"};
  const struct option_spec specs[] = {
    {"hz", 0, OPTION_COUNT, &o.hz, "N", "take N samples a second of a live process, from outside"},
    {"seconds", 0, OPTION_SECONDS, &o.seconds_ns, "N", "for so long (else until it ends, or ^C)"},
    {"wall", 0, OPTION_FLAG, &o.wall, NULL, "count all samples (default)"},
    {"cpu", 0, OPTION_FLAG, &o.cpu, NULL, "count those of threads that run"},
    {"idle", 0, OPTION_FLAG, &o.idle, NULL, "count those of threads that wait or sleep"},
    {"by", 0, OPTION_TEXT, &o.by_text, "WHAT", "rows: function, line or stack"},
    {"tree", 0, OPTION_FLAG, &o.tree, NULL, "the tree of calls, from 1 % of the samples on"},
    {"top", 't', OPTION_COUNT, &o.top, "N", "at most N rows (20); 0: all"},
    {"domain", 'd', OPTION_COUNT, &o.domain, "N", "of domain N alone"},
    {"to", 0, OPTION_TEXT, &o.to, "folded", "stacks with counts, for flame graphs"},
    {"json", 'j', OPTION_FLAG, &o.json, NULL, "one JSON object"},
  };
  struct operands operands;
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0) status = check_options(self, &o);
  if (status >= 0) return status;
  char *end;
  long pid = strtol(operands.words[0], &end, 10);
  if (!isdigit((unsigned char)operands.words[0][0]) || *end != '\0' || pid <= 0 || pid > INT32_MAX)
    return usage_error(self, "%s is not the number of a process", operands.words[0]);
  return run(&o, (pid_t)pid);
}
