/* SPDX-License-Identifier: MIT */
/* cmd_profile.c: `eventring profile`: shows the profile of calls of a recording.
 *
 * A PROGRAM is started with SAROS_PROFILE=calls, if the variable is not set, and its
 * profile is shown when it has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_rows.h"
#include "analysis/json.h"
#include "analysis/units.h"
#include "follow.h"
#include "options.h"
#include "sample.h"
#include "text_table.h"

struct profile_options {
  bool json, tree, cpu;
  const char *by, *callers, *prefix;
  uint64_t top, domain;
  enum eva_calls_by kind;
};

enum { DEFAULT_TOP = 20, NAME_WIDTH = 32, STACK_WIDTH = 60, TREE_SHARE = 100 };

static int check_words(const struct command *self, struct profile_options *o) {
  static const char *const names[] = {"function", "line", "stack"};
  for (unsigned i = 0; i < 3; i++)
    if (!strcmp(o->by, names[i])) o->kind = (enum eva_calls_by)i;
    else if (i == 2 && strcmp(o->by, names[o->kind]))
      return usage_error(self, "--by: function, line or stack");
  if (o->domain != UINT64_MAX && o->domain >= EVENTRING_MAX_DOMAINS)
    return usage_error(self, "--domain: 0 to %d", EVENTRING_MAX_DOMAINS - 1);
  if (o->tree && (o->callers || o->json || o->kind != EVA_BY_FUNCTION))
    return usage_error(self, "--tree is alone");
  if (o->callers && o->kind != EVA_BY_FUNCTION)
    return usage_error(self, "both --callers and --by");
  return -1;
}

static int read_words(const struct command *self, int count, char **words,
                      struct profile_options *o, struct operands *operands) {
  *o = (struct profile_options){.by = "function", .prefix = "SAROS_EVENTRING",
                                .top = DEFAULT_TOP, .domain = UINT64_MAX};
  const struct option_spec specs[] = {
      {"by", 0, OPTION_TEXT, &o->by, "WHAT", "rows: function, line or stack"},
      {"tree", 0, OPTION_FLAG, &o->tree, NULL, "the tree of calls, from 1 % of the time on"},
      {"callers", 0, OPTION_TEXT, &o->callers, "NAME", "who calls this function"},
      {"top", 't', OPTION_COUNT, &o->top, "N", "at most N rows (20); 0: all"},
      {"domain", 'd', OPTION_COUNT, &o->domain, "N", "of domain N alone"},
      {"cpu", 0, OPTION_FLAG, &o->cpu, NULL, "measure CPU time of a PROGRAM"},
      {"json", 'j', OPTION_FLAG, &o->json, NULL, "one JSON object"},
      {"env-prefix", 0, OPTION_TEXT, &o->prefix, "NAME",
       "of the variables that make PROGRAM record (SAROS_EVENTRING)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0) status = require_target(self, operands, true);
  return status >= 0 ? status : check_words(self, o);
}

/* ---- text ----------------------------------------------------------------- */

/* A text of at most `width` characters: of a longer one its end, which says more. */
static void name_cell(struct table *t, const char *text, size_t width) {
  char *safe = need_zeroed(4 * strlen(text) + 4, 1);
  eventring_printable(safe + 3, 4 * strlen(text) + 1, text, strlen(text));
  size_t characters = 0, size = strlen(safe + 3);
  for (size_t i = 0; i < size; i++) characters += ((unsigned char)safe[3 + i] & 0xc0) != 0x80;
  char *from = safe + 3;
  bool cut = characters > width;
  for (; cut && characters > width - 3; characters--)
    do from++; while (((unsigned char)*from & 0xc0) == 0x80);
  if (cut) memcpy(from -= 3, "...", 3);
  table_cell(t, from);
  free(safe);
}

static void function_text(char *text, size_t room, const struct eventring_calls_function *f) {
  if (f->line) snprintf(text, room, "%s %s:%u", f->name, f->source, f->line);
  else snprintf(text, room, "%s", f->name);
}

static void figure_cells(struct table *t, const struct eva_call_rows *rows,
                         const struct eva_call_row *row) {
  char figure[EVA_FIGURE];
  table_cell(t, eva_count_text(figure, row->count));
  table_cell(t, eva_duration_text(figure, row->inclusive));
  table_cell(t, eva_duration_text(figure, row->exclusive));
  table_cell(t, eva_percent_text(figure, row->exclusive, rows->total));
}

static size_t shown(const struct eva_call_rows *rows, const struct profile_options *o) {
  return o->top && o->top < rows->count ? (size_t)o->top : rows->count;
}

static void print_rows(const struct eva_call_rows *rows, const struct profile_options *o) {
  char text[512];
  TABLE(table, "<function", "calls", "inclusive", "own", "share");
  for (size_t i = 0; i < shown(rows, o); i++) {
    const struct eva_call_row *row = &rows->list[i];
    function_text(text, sizeof text, row->function);
    name_cell(&table, row->stack ? row->stack : text, NAME_WIDTH);
    figure_cells(&table, rows, row);
  }
  table_print(&table, stdout, 2);
}

static void print_quantiles(const struct eva_call_rows *rows, const struct profile_options *o) {
  char text[512], figure[EVA_FIGURE];
  TABLE(table, "<function", "p50", "p90", "p99", "max");
  for (size_t i = 0; i < shown(rows, o); i++) {
    const struct eva_call_row *row = &rows->list[i];
    if (!row->most) continue;
    function_text(text, sizeof text, row->function);
    name_cell(&table, text, NAME_WIDTH);
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.5)));
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.9)));
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.99)));
    table_cell(&table, eva_duration_text(figure, row->most));
  }
  putchar('\n');
  table_print(&table, stdout, 2);
}

static void print_totals(const struct eventring_profiles *profiles,
                         const struct eva_call_rows *rows, const struct profile_options *o) {
  char figure[EVA_FIGURE], lost[EVA_FIGURE];
  size_t domains = 0;
  bool cpu = false;
  for (size_t i = 0; i < profiles->count; i++) {
    if (o->domain != UINT64_MAX && profiles->list[i].slot != o->domain) continue;
    domains++;
    cpu = cpu || profiles->list[i].flags & EVENTRING_PROFILE_CPU;
  }
  printf("calls over %s of %s, %zu domain%s\n\n", eva_duration_text(figure, rows->total),
         cpu ? "CPU time" : "time", domains, domains == 1 ? "" : "s");
  if (rows->lost_calls)
    printf("(not recorded): %s calls, %s\n\n", eva_count_text(lost, rows->lost_calls),
           eva_duration_text(figure, rows->lost_ns));
}

/* ---- tree ----------------------------------------------------------------- */

static void print_node(const struct eventring_profile *p, uint32_t node, unsigned depth,
                       uint64_t total) {
  char text[512], share[EVA_FIGURE], count[EVA_FIGURE], time[EVA_FIGURE];
  const struct eventring_profile_node *n = &p->nodes[node];
  function_text(text, sizeof text, &p->functions[n->function]);
  printf("%8s %10s %12s  %*s", eva_percent_text(share, n->inclusive, total),
         eva_duration_text(time, n->inclusive), eva_count_text(count, n->count),
         (int)(depth < 20 ? depth : 20), "");
  size_t width = 44 - (depth < 20 ? depth : 20), size = strlen(text);
  if (size > width) printf("...");
  print_foreign_text(stdout, size > width ? text + size - width + 3 : text);
  putchar('\n');
}

struct branch {
  uint32_t node;
  unsigned depth;
};

/* Nodes in depth, of at least a hundredth of the time, without recursion: it may be deep. */
static void print_tree(const struct eventring_profile *p) {
  uint64_t total = p->nodes[0].inclusive;
  uint32_t *first = need_zeroed(p->node_count, sizeof *first);
  uint32_t *next = need_zeroed(p->node_count, sizeof *next);
  struct branch *stack = need_zeroed(p->node_count, sizeof *stack);
  size_t count = 0;
  for (uint32_t i = p->node_count; i-- > 1;) { /* the root is no child: 0 says none */
    if (!p->nodes[i].inclusive || p->nodes[i].inclusive < total / TREE_SHARE) continue;
    next[i] = first[p->nodes[i].parent];
    first[p->nodes[i].parent] = i;
  }
  stack[count++] = (struct branch){0, 0};
  while (count > 0) {
    struct branch b = stack[--count];
    if (b.node) print_node(p, b.node, b.depth - 1, total);
    size_t from = count;
    for (uint32_t i = first[b.node]; i; i = next[i])
      stack[count++] = (struct branch){i, b.depth + 1};
    for (size_t i = from, k = count; i + 1 < k; i++) { /* the heaviest last: it comes first */
      size_t least = i;
      for (size_t j = i; j < k; j++)
        if (p->nodes[stack[j].node].inclusive < p->nodes[stack[least].node].inclusive) least = j;
      struct branch swap = stack[i];
      stack[i] = stack[least];
      stack[least] = swap;
    }
  }
  free(first);
  free(next);
  free(stack);
}

static void print_trees(const struct eventring_profiles *profiles,
                        const struct profile_options *o) {
  for (size_t i = 0; i < profiles->count; i++) {
    const struct eventring_profile *p = &profiles->list[i];
    if (o->domain != UINT64_MAX && p->slot != o->domain) continue;
    printf("%sdomain %u ", i ? "\n" : "", p->slot);
    print_foreign_text(stdout, p->domain);
    printf("\n   share  inclusive        calls  function\n");
    print_tree(p);
  }
}

/* ---- JSON ----------------------------------------------------------------- */

static void put_row(struct eva_json *j, const struct eva_call_rows *rows,
                    const struct eva_call_row *row) {
  static const struct { const char *key; double part; } quantiles[] = {
      {"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}};
  eva_json_open_object(j);
  eva_json_string_at(j, "name", row->function->name);
  eva_json_string_at(j, "source", row->function->source);
  eva_json_uint_at(j, "line", row->function->line);
  if (row->stack) eva_json_string_at(j, "stack", row->stack);
  eva_json_uint_at(j, "count", row->count);
  eva_json_uint_at(j, "inclusive_ns", row->inclusive);
  eva_json_uint_at(j, "exclusive_ns", row->exclusive);
  eva_json_uint_at(j, "suspended_ns", row->suspended);
  eva_json_uint_at(j, "began_before", row->open);
  if (row->most) {
    eva_json_uint_at(j, "min_ns", row->least);
    eva_json_uint_at(j, "max_ns", row->most);
    for (unsigned i = 0; i < 3; i++)
      eva_json_uint_at(j, quantiles[i].key, eva_call_quantile(rows, row, quantiles[i].part));
  }
  eva_json_close_object(j);
}

static void print_json(const struct eventring_profiles *profiles,
                       const struct eva_call_rows *rows, const struct profile_options *o) {
  struct eva_json j;
  uint64_t start = UINT64_MAX, end = 0;
  bool cpu = false;
  for (size_t i = 0; i < profiles->count; i++) {
    const struct eventring_profile *p = &profiles->list[i];
    start = p->start_ns < start ? p->start_ns : start;
    end = p->written_ns > end ? p->written_ns : end;
    cpu = cpu || p->flags & EVENTRING_PROFILE_CPU;
  }
  eva_json_start(&j, stdout);
  eva_json_open_object(&j);
  eva_json_uint_at(&j, "version", 1);
  eva_json_key(&j, "window");
  eva_json_open_object(&j);
  eva_json_uint_at(&j, "start_ns", start);
  eva_json_uint_at(&j, "end_ns", end);
  eva_json_close_object(&j);
  eva_json_key(&j, "loss");
  eva_json_open_object(&j);
  eva_json_uint_at(&j, "calls", rows->lost_calls);
  eva_json_uint_at(&j, "ns", rows->lost_ns);
  eva_json_uint_at(&j, "damaged_profiles", profiles->damaged);
  eva_json_close_object(&j);
  eva_json_key(&j, "total");
  eva_json_open_object(&j);
  eva_json_uint_at(&j, "ns", rows->total);
  eva_json_uint_at(&j, "domains", profiles->count);
  eva_json_string_at(&j, "clock", cpu ? "cpu" : "wall");
  eva_json_uint_at(&j, "clock_went_back", rows->backwards);
  eva_json_close_object(&j);
  eva_json_key(&j, "rows");
  eva_json_open_array(&j);
  for (size_t i = 0; i < shown(rows, o); i++) put_row(&j, rows, &rows->list[i]);
  eva_json_close_array(&j);
  eva_json_close_object(&j);
  eva_json_line(&j);
}

/* ---- the command ---------------------------------------------------------- */

static int show(const struct eventring_profiles *profiles, const struct profile_options *o) {
  struct eva_call_rows rows;
  int domain = o->domain == UINT64_MAX ? -1 : (int)o->domain;
  int status = o->callers ? eva_call_rows_callers(&rows, profiles, o->callers, domain)
                          : eva_call_rows_make(&rows, profiles, o->kind, domain);
  if (status != EVENTRING_OK) no_memory();
  if (o->callers && !rows.count) {
    complain("no function `%s' was called", o->callers);
    eva_call_rows_free(&rows);
    return STATUS_WRONG;
  }
  if (o->json) {
    print_json(profiles, &rows, o);
  } else {
    print_totals(profiles, &rows, o);
    if (o->tree) print_trees(profiles, o);
    else print_rows(&rows, o);
    if (!o->tree && o->kind != EVA_BY_STACK) print_quantiles(&rows, o);
  }
  eva_call_rows_free(&rows);
  return STATUS_OK;
}

static int serve(struct reader *reader, const struct profile_options *o) {
  struct eventring_profiles profiles;
  struct eventring_error error;
  if (reader->launched) {
    const struct eventring_callbacks none = {NULL, NULL};
    const struct reading reading = {.callbacks = &none, .follow = true, .until = UINT64_MAX};
    reader_run(reader, &reading);
  }
  if (eventring_cursor_profiles(reader->cursor, &profiles, &error) < 0) {
    complain("%s", error.text);
    return STATUS_WRONG;
  }
  if (profiles.damaged && eventring_cursor_liveness(reader->cursor) != EVENTRING_LIVE)
    complain("%llu parts of profiles are not valid", (unsigned long long)profiles.damaged);
  int status = STATUS_WRONG;
  if (profiles.count) status = show(&profiles, o);
  else complain("no profile of calls in this recording (start it with SAROS_PROFILE=calls, or "
                "ask a live process with eventring control PID --profile calls)");
  eventring_profiles_free(&profiles);
  return status;
}

/* The variable of the profile is named like those of the recording. */
static void ask_for_profile(const struct profile_options *o) {
  static const char suffix[] = "_EVENTRING";
  char name[256];
  size_t size = strlen(o->prefix), cut = sizeof suffix - 1;
  if (size > cut && !strcmp(o->prefix + size - cut, suffix)) size -= cut;
  snprintf(name, sizeof name, "%.*s_PROFILE", (int)size, o->prefix);
  setenv(name, o->cpu ? "calls,cpu" : "calls", o->cpu);
}

int command_profile(const struct command *self, int count, char **words) {
  struct profile_options o;
  struct operands operands;
  struct reader reader;
  if (sample_is_asked(count, words)) return sample_command(self, count, words);
  int status = read_words(self, count, words, &o, &operands);
  if (status >= 0) return status;
  if (operands.command) ask_for_profile(&o);
  status = operands.command
               ? reader_open(&reader, &operands, o.prefix, 0)
               : reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  return status >= 0 ? status : reader_close(&reader, serve(&reader, &o));
}
