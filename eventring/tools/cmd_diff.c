/* SPDX-License-Identifier: MIT */
/* cmd_diff.c: `eventring diff`: what changed between the runs of A and those of B, and what of
 * it is noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"
#include "analysis/saturating.h"
#include "analysis/units.h"
#include "follow.h"
#include "run_pairs.h"
#include "heap_diff.h"
#include "profile_diff.h"
#include "text_table.h"

static bool has_few(const struct runs *runs) { return runs->count / 2 < EVA_LEAST_RUNS; }

/* With fewer runs than a test takes, nothing says by how much times differ from run to run. What
   is exact differs or does not. */
static void judge_few(struct runs *runs) {
  for (size_t i = 0; has_few(runs) && i < runs->figures; i++) {
    struct figure *figure = &runs->figure[i];
    const double a = figure->comparison.a, b = figure->comparison.b;
    figure->comparison.changed =
        figure->compared && figure->exact && fabs(b - a) > 1e-9 * fmax(fabs(a), fabs(b));
  }
}

static const char *verdict_of(const struct runs *runs, const struct figure *figure) {
  const bool changed = figure->comparison.changed;
  if (!has_few(runs)) return changed ? "changed" : "no change";
  if (!figure->exact) return "too few runs to tell";
  return changed ? "different" : "the same";
}

static size_t changes(const struct runs *runs) {
  size_t count = 0;
  for (size_t i = 0; i < runs->figures; i++)
    count += runs->figure[i].compared && runs->figure[i].comparison.changed;
  return count;
}

/* ---- Text ---------------------------------------------------------------------------- */

static void cell_value(struct table *table, enum unit unit, double value) {
  char figure[EVA_FIGURE];
  uint64_t whole = eva_whole(value);
  switch (unit) {
    case UNIT_NS: table_cell(table, eva_duration_text(figure, whole)); break;
    case UNIT_BYTES: table_cell(table, eva_bytes_text(figure, whole)); break;
    case UNIT_COUNT: table_cell(table, eva_count_text(figure, whole)); break;
  }
}

static void cell_change(struct table *table, double change) {
  char text[32];
  if (isfinite(change)) snprintf(text, sizeof text, "%+.1f %%", 100 * change);
  else snprintf(text, sizeof text, "new");
  table_cell(table, text);
}

static void figure_row(struct table *table, const struct runs *runs,
                       const struct figure *figure) {
  const struct eva_comparison *c = &figure->comparison;
  char text[64];
  snprintf(text, sizeof text, "%s",
           has_few(runs) && !figure->exact ? verdict_of(runs, figure) : "-");
  table_cell(table, figure->name);
  cell_value(table, figure->unit, c->a);
  cell_value(table, figure->unit, c->b);
  cell_change(table, c->change);
  if (c->tested)
    snprintf(text, sizeof text, "%+.1f to %+.1f %%", 100 * c->low, 100 * c->high);
  table_cell(table, text);
  table_cell(table, c->changed ? verdict_of(runs, figure) : "");
}

static int weightier_first(const void *a, const void *b) {
  const struct figure *x = *(const struct figure *const *)a, *y = *(const struct figure *const *)b;
  if (x->comparison.changed != y->comparison.changed) return x->comparison.changed ? -1 : 1;
  if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
  return strcmp(x->name, y->name);
}

static void print_group(const struct runs *runs, enum figure_group group, const char *title,
                        size_t most) {
  TABLE(table, "<+", "A", "B", "change", "95 % sure", "<");
  const struct figure **list = need_zeroed(runs->figures, sizeof *list);
  size_t count = 0;
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].compared && runs->figure[i].group == group)
      list[count++] = &runs->figure[i];
  if (group == FIGURES_SPANS) qsort(list, count, sizeof *list, weightier_first);
  for (size_t i = 0; i < count && i < most; i++) figure_row(&table, runs, list[i]);
  if (count) printf("\n%s\n", title);
  table_print(&table, stdout, 2);
  if (count > most) printf("  and %zu more (--top)\n", count - most);
  free(list);
}

static void print_side(const struct runs *runs, size_t side) {
  size_t half = runs->count / 2;
  const struct run *first = &runs->run[side];
  uint64_t missing = 0;
  char figure[EVA_FIGURE];
  for (size_t i = side; i < runs->count; i += 2) missing += runs->run[i].missing;
  printf("%c  %zu %s of ", (int)('A' + side), half, half == 1 ? "run" : "runs");
  print_foreign_text(stdout, first->program);
  fputs(": ", stdout);
  print_foreign_text(stdout, first->command ? first->command : first->path);
  fputs(half > 1 && !first->command ? " ..." : "", stdout);
  if (missing) printf("\n   %s events are not there", eva_count_text(figure, missing));
  putchar('\n');
}

static void print_changes(const struct runs *runs, const char *title) {
  const char *comma = " ";
  printf("\n%s:", title);
  for (size_t i = 0; i < runs->figures; i++) {
    const struct figure *figure = &runs->figure[i];
    if (!figure->compared || !figure->comparison.changed) continue;
    fputs(comma, stdout);
    print_foreign_text(stdout, figure->name);
    if (isfinite(figure->comparison.change)) printf(" %+.1f %%", 100 * figure->comparison.change);
    else fputs(" new", stdout);
    comma = ";\n         ";
  }
  puts(".");
}

static void print_verdict(const struct runs *runs) {
  if (has_few(runs))
    printf("\nTimes: too few runs to tell a change from noise: it takes %d a side, better 5.\n",
           EVA_LEAST_RUNS);
  if (changes(runs)) print_changes(runs, has_few(runs) ? "Different" : "Changed");
  else puts(has_few(runs) ? "\nCounts and amounts are the same." : "\nNo change.");
}

static void print_text(const struct runs *runs, uint64_t top) {
  size_t most = top < SIZE_MAX ? (size_t)top : SIZE_MAX;
  print_side(runs, 0);
  print_side(runs, 1);
  print_group(runs, FIGURES_MAIN, "The run", SIZE_MAX);
  print_group(runs, FIGURES_WORK, "Its work, whatever else the machine did", SIZE_MAX);
  print_group(runs, FIGURES_PAUSES, "The collector", SIZE_MAX);
  print_group(runs, FIGURES_SPANS, "Spans", most);
  print_verdict(runs);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void put_side(struct eva_json *json, const struct runs *runs, const char *key, size_t side) {
  eva_json_key(json, key);
  eva_json_open_array(json);
  for (size_t i = side; i < runs->count; i += 2) {
    eva_json_open_object(json);
    const char *command = runs->run[i].command;
    eva_json_string_at(json, command ? "command" : "path", command ? command : runs->run[i].path);
    eva_json_string_at(json, "program", runs->run[i].program);
    eva_json_uint_at(json, "missing", runs->run[i].missing);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

static void put_number(struct eva_json *json, const char *key, double value, bool known) {
  eva_json_key(json, key);
  if (known && isfinite(value)) eva_json_double(json, value);
  else eva_json_null(json);
}

static void put_figure(struct eva_json *json, const struct runs *runs,
                       const struct figure *figure) {
  static const char *const units[] = {"ns", "bytes", "count"};
  static const char *const groups[] = {"run", "work", "collector", "spans"};
  const struct eva_comparison *c = &figure->comparison;
  eva_json_open_object(json);
  eva_json_string_at(json, "name", figure->name);
  eva_json_string_at(json, "group", groups[figure->group]);
  eva_json_string_at(json, "unit", units[figure->unit]);
  eva_json_double_at(json, "a", c->a);
  eva_json_double_at(json, "b", c->b);
  put_number(json, "change", c->change, true);
  put_number(json, "low", c->low, c->tested);
  put_number(json, "high", c->high, c->tested);
  put_number(json, "p", c->p, c->tested);
  eva_json_bool_at(json, "changed", c->changed);
  eva_json_string_at(json, "verdict", verdict_of(runs, figure));
  eva_json_close_object(json);
}

static void print_json(const struct runs *runs) {
  struct eva_json json;
  const char *none = has_few(runs) ? "too few runs to tell" : "no change";
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  put_side(&json, runs, "a", 0);
  put_side(&json, runs, "b", 1);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "runs", runs->count / 2);
  eva_json_bool_at(&json, "enough", !has_few(runs));
  eva_json_string_at(&json, "verdict", !changes(runs) ? none : has_few(runs) ? "different" : "changed");
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].compared) put_figure(&json, runs, &runs->figure[i]);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command --------------------------------------------------------------------- */

struct asked {
  bool json, heap, profile;
  uint64_t top;  /* 0: not given */
  uint64_t runs; /* UINT64_MAX: not given */
  const char *by, *prefix;
  char **programs[2]; /* to be launched; NULL: recordings are given */
};

enum { RUNS_BY_DEFAULT = 5, MOST_RUNS = 1000 };

static int check_programs(const struct command *self, struct asked *asked,
                          const struct operands *operands) {
  if (operands->count)
    return usage_error(self, "`%s' and a command to launch", operands->words[0]);
  if (asked->heap || asked->profile)
    return usage_error(self, "--heap and --profile compare recordings");
  if (asked->by) return usage_error(self, "--by goes with --heap");
  if (asked->runs == UINT64_MAX) asked->runs = RUNS_BY_DEFAULT;
  if (asked->runs < 1 || asked->runs > MOST_RUNS)
    return usage_error(self, "--runs: 1 to %d", MOST_RUNS);
  if (!run_pairs_split(operands->command, asked->programs))
    return usage_error(self, "two programs are needed: -- PROGRAM_A -- PROGRAM_B");
  return -1;
}

static int read_words(const struct command *self, int count, char **words, struct asked *asked,
                      struct operands *operands) {
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &asked->json, NULL, "one JSON object"},
      {"top", 't', OPTION_COUNT, &asked->top, "N", "at most N lines (10 of spans, 20 of a heap)"},
      {"heap", 0, OPTION_FLAG, &asked->heap, NULL,
       "what is alive, beyond the error of the estimates"},
      {"profile", 0, OPTION_FLAG, &asked->profile, NULL,
       "functions, out of profiles of calls or samples, and which have changed"},
      {"by", 0, OPTION_TEXT, &asked->by, "WHAT",
       "of a heap: line (default), function, kind, origin, span or domain"},
      {"runs", 'n', OPTION_COUNT, &asked->runs, "N", "run each PROGRAM N times (5), in turn"},
      {"env-prefix", 0, OPTION_TEXT, &asked->prefix, "NAME",
       "of the variables that make PROGRAM record (SAROS_EVENTRING)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status >= 0) return status;
  if (operands->command) return check_programs(self, asked, operands);
  if (asked->runs != UINT64_MAX) return usage_error(self, "--runs goes with two PROGRAMs");
  if (operands->count < 2) return usage_error(self, "two recordings, A and B, are needed");
  if (asked->heap && operands->count > 2)
    return usage_error(self, "--heap compares two recordings");
  if (asked->heap && asked->profile) return usage_error(self, "one of --heap and --profile");
  if (asked->by && !asked->heap) return usage_error(self, "--by goes with --heap");
  if (operands->count % 2)
    return usage_error(self, "`%s' has no counterpart: runs of A and B in turn",
                       operands->words[operands->count - 1]);
  return -1;
}

static int read_recordings(struct runs *runs, const struct operands *operands) {
  int status = -1;
  for (size_t i = 0; status < 0 && i < runs->count; i++) {
    struct reader reader;
    runs->run[i].path = operands->words[i];
    status = reader_open_target(&reader, operands->words[i],
                                EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW);
    if (status < 0) status = runs_read(runs, i, &reader);
  }
  return status;
}

int command_diff(const struct command *self, int count, char **words) {
  struct asked asked = {.prefix = "SAROS_EVENTRING", .runs = UINT64_MAX};
  struct operands operands;
  int status = read_words(self, count, words, &asked, &operands);
  if (status >= 0) return status;
  if (asked.heap) {
    const struct heap_diff options = {asked.by, asked.json, asked.top};
    return heap_diff(self, &options, operands.words);
  }
  if (asked.profile) {
    const struct profile_diff options = {asked.json, asked.top};
    return profile_diff(&options, operands.words, operands.count);
  }
  struct runs runs = {.count = asked.programs[0] ? 2 * asked.runs : operands.count};
  runs.run = need_zeroed(runs.count, sizeof *runs.run);
  status = asked.programs[0] ? run_pairs(&runs, asked.programs, asked.prefix)
                             : read_recordings(&runs, &operands);
  if (status < 0) {
    runs_compare(&runs);
    judge_few(&runs);
    if (asked.json) print_json(&runs);
    else print_text(&runs, asked.top ? asked.top : 10);
    status = STATUS_OK;
  }
  runs_free(&runs);
  return status;
}
