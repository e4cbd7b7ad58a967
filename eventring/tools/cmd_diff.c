/* SPDX-License-Identifier: MIT */
/* cmd_diff.c: `eventring diff`: finds what changed between the runs of A and the runs of
   B, and which changes are noise. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/saturating.h"
#include "heap_diff.h"
#include "profile_diff.h"
#include "reader.h"
#include "run_pairs.h"

static bool has_few(const struct runs *runs) { return runs->count / 2 < EVA_LEAST_RUNS; }

/* Judges figures if there are fewer runs than a test needs. Then it is unknown by how
   much times vary from run to run, so only exact figures count: they either differ or are
   equal. */
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

/* ---- Figures ------------------------------------------------------------------ */

VIEW_GETTER(group, struct figure) {
  static const char *const names[] = {"run", "work", "collector", "spans"};
  return view_text(names[row->group]);
}
VIEW_GETTER(unit, struct figure) {
  static const char *const names[] = {"ns", "bytes", "count"};
  return view_text(names[row->unit]);
}

/* Returns the value of A, or of B. */
VIEW_GETTER(value, struct figure) {
  double value = column->argument ? row->comparison.b : row->comparison.a;
  uint64_t whole = eva_whole(value);
  if (!view_is_text(to)) return view_double(value);
  if (row->unit == UNIT_NS) return view_text(eva_duration_text(to->room, whole));
  if (row->unit == UNIT_BYTES) return view_text(eva_bytes_text(to->room, whole));
  return view_text(eva_count_text(to->room, whole));
}

VIEW_GETTER(change, struct figure) {
  if (isfinite(row->comparison.change)) return view_double(row->comparison.change);
  return view_text(view_is_text(to) ? "new" : NULL);
}
/* Returns a number of the test, or none if no test was made. */
VIEW_GETTER(of_test, struct eva_comparison) {
  double number = *(const double *)(const void *)((const char *)row + column->argument);
  return row->tested && isfinite(number) ? view_double(number) : view_none();
}
VIEW_GETTER(range, struct figure) {
  const struct eva_comparison *c = &row->comparison;
  if (c->tested) return view_printf(to, "%+.1f to %+.1f %%", 100 * c->low, 100 * c->high);
  bool is_unknown = has_few(to->context) && !row->exact;
  return view_text(is_unknown ? verdict_of(to->context, row) : NULL);
}
VIEW_GETTER(told, struct figure) {
  bool is_told = !view_is_text(to) || row->comparison.changed;
  return view_text(is_told ? verdict_of(to->context, row) : "");
}

#define OF_TEST(member)                                                   \
  VIEW_GET(DOUBLE, of_test), .offset = offsetof(struct figure, comparison), \
      .argument = offsetof(struct eva_comparison, member)
static VIEW(row_view, struct figure,
    {"name", "<+", VIEW_PLAIN, ROW(name)},
    {"group", NULL, VIEW_PLAIN, VIEW_GET(TEXT, group)},
    {"unit", NULL, VIEW_PLAIN, VIEW_GET(TEXT, unit)},
    {"a", "A", VIEW_PLAIN, VIEW_GET(DOUBLE, value), .argument = 0},
    {"b", "B", VIEW_PLAIN, VIEW_GET(DOUBLE, value), .argument = 1},
    {"change", "change", VIEW_CHANGE, VIEW_GET(DOUBLE, change)},
    {"low", NULL, VIEW_CHANGE, OF_TEST(low), .help = "of the change, with 95 %"},
    {"high", NULL, VIEW_CHANGE, OF_TEST(high)},
    {NULL, "95 % sure", VIEW_PLAIN, VIEW_GET(TEXT, range)},
    {"p", NULL, VIEW_PLAIN, OF_TEST(p)},
    {"changed", NULL, VIEW_PLAIN, ROW(comparison.changed)},
    {"verdict", "<", VIEW_PLAIN, VIEW_GET(TEXT, told)})

static void all_figures(struct view_to *to, const void *runs) {
  const struct runs *r = runs;
  for (size_t i = 0; i < r->figures; i++)
    if (r->figure[i].compared) view_row(to, &r->figure[i]);
}

static VIEW(run_view, struct run,
    {"command", NULL, VIEW_PLAIN, ROW(command), .flags = VIEW_MAYBE | VIEW_NO_0},
    {"path", NULL, VIEW_PLAIN, ROW(path), .flags = VIEW_MAYBE | VIEW_NO_0},
    {"program", NULL, VIEW_PLAIN, ROW(program)},
    {"missing", NULL, VIEW_COUNT, ROW(missing), .help = "events"})

static void put_side(struct view_to *to, const struct runs *runs, size_t side) {
  for (size_t i = side; i < runs->count; i += 2) view_row(to, &runs->run[i]);
}
static void side_a(struct view_to *to, const void *runs) { put_side(to, runs, 0); }
static void side_b(struct view_to *to, const void *runs) { put_side(to, runs, 1); }

VIEW_GETTER(half, struct runs) { return view_uint(row->count / 2); }
VIEW_GETTER(is_enough, struct runs) { return view_bool(!has_few(row)); }
VIEW_GETTER(whole_verdict, struct runs) {
  if (!changes(row)) return view_text(has_few(row) ? "too few runs to tell" : "no change");
  return view_text(has_few(row) ? "different" : "changed");
}

static VIEW(total_view, struct runs,
    {"runs", NULL, VIEW_COUNT, VIEW_GET(UINT, half), .help = "of a side"},
    {"enough", NULL, VIEW_PLAIN, VIEW_GET(BOOL, is_enough)},
    {"verdict", NULL, VIEW_PLAIN, VIEW_GET(TEXT, whole_verdict)})

static VIEW_WITH(diff_view, struct runs, (.other = &call_diff_view),
    {"a", .form = VIEW_ROWS, .view = &run_view, .rows = side_a},
    {"b", .form = VIEW_ROWS, .view = &run_view, .rows = side_b},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_figures, .flags = VIEW_MAIN})

/* ---- Text --------------------------------------------------------------------- */

static int weightier_first(const void *a, const void *b) {
  const struct figure *x = *(const struct figure *const *)a, *y = *(const struct figure *const *)b;
  if (x->comparison.changed != y->comparison.changed) return x->comparison.changed ? -1 : 1;
  if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
  return strcmp(x->name, y->name);
}

struct shown {
  const struct figure **list;
  size_t count;
};

static void shown_figures(struct view_to *to, const void *shown) {
  const struct shown *s = shown;
  for (size_t i = 0; i < s->count; i++) view_row(to, s->list[i]);
}

static void print_group(const struct runs *runs, enum figure_group group, const char *title,
                        size_t most) {
  struct view_to to = {.out = stdout, .context = runs};
  struct shown shown = {need_zeroed(runs->figures, sizeof *shown.list), 0};
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].compared && runs->figure[i].group == group)
      shown.list[shown.count++] = &runs->figure[i];
  size_t more = shown.count > most ? shown.count - most : 0;
  if (group == FIGURES_SPANS) qsort(shown.list, shown.count, sizeof *shown.list, weightier_first);
  shown.count -= more;
  view_section(&to, title, &row_view, shown_figures, &shown);
  if (more) printf("  and %zu more (--top)\n", more);
  free(shown.list);
}

static void print_side(const struct runs *runs, size_t side) {
  size_t half = runs->count / 2;
  const struct run *first = &runs->run[side];
  uint64_t missing = 0;
  for (size_t i = side; i < runs->count; i += 2) missing += runs->run[i].missing;
  table_say(stdout, 0, 3, "%c  %zu %s of %s: %s%s", (int)('A' + side), half,
            half == 1 ? "run" : "runs", first->program,
            first->command ? first->command : first->path,
            half > 1 && !first->command ? " ..." : "");
  if (missing) printf("   %s events are not there\n", eva_count(missing));
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

/* ---- The command -------------------------------------------------------------- */

struct asked {
  struct view_choice as;
  bool heap, profile;
  uint64_t top;  /* 0: not given */
  uint64_t runs; /* UINT64_MAX: not given */
  unsigned by;   /* an index of bys; UINT_MAX: not given */
  const char *prefix;
  char **programs[2]; /* to be launched; NULL: recordings are given */
};

enum { RUNS_BY_DEFAULT = 5, MOST_RUNS = 1000 };

static const char *const *const bys = &heap_by_names[BY_LINE];

static int check_programs(const struct command *self, struct asked *asked,
                          const struct operands *operands) {
  if (operands->count)
    return usage_error(self, "either `%s' or a command to launch, not both", operands->words[0]);
  if (asked->heap || asked->profile)
    return usage_error(self, "--heap and --profile compare recordings");
  if (asked->by != UINT_MAX) return usage_error(self, "--by goes with --heap");
  if (asked->runs == UINT64_MAX) asked->runs = RUNS_BY_DEFAULT;
  if (!run_pairs_split(operands->command, asked->programs))
    return usage_error(self, "two programs are needed: -- PROGRAM_A -- PROGRAM_B");
  return STATUS_GO_ON;
}

static int read_words(const struct command *self, int count, char **words, struct asked *asked,
                      struct operands *operands) {
  const struct option_spec specs[] = {
      VIEW_SPECS(&asked->as, diff_view, "one JSON object"),
      {"top", 't', OPTION_COUNT, &asked->top, "N", "at most N lines (10 of spans, 20 of a heap)"},
      {"heap", 0, OPTION_FLAG, &asked->heap, NULL,
       "what is alive, beyond the error of the estimates"},
      {"profile", 0, OPTION_FLAG, &asked->profile, NULL,
       "functions, out of profiles of calls or samples, and which have changed"},
      {"by", 0, OPTION_CHOICE, CHOICE(&asked->by, bys), "WHAT",
       "of a heap: line (default), function, kind, origin, span or domain"},
      {"runs", 'n', OPTION_BETWEEN, BETWEEN(&asked->runs, 1, MOST_RUNS), "N",
       "run each PROGRAM N times (5), in turn"},
      ENV_PREFIX_SPEC(&asked->prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (!goes_on(status)) return status;
  if (operands->command) return check_programs(self, asked, operands);
  if (asked->runs != UINT64_MAX) return usage_error(self, "--runs goes with two PROGRAMs");
  if (operands->count < 2) return usage_error(self, "two recordings, A and B, are needed");
  if (asked->heap && operands->count > 2)
    return usage_error(self, "--heap compares two recordings");
  if (asked->heap && asked->profile) return usage_error(self, "only one of --heap and --profile");
  if (asked->by != UINT_MAX && !asked->heap) return usage_error(self, "--by goes with --heap");
  if (operands->count % 2)
    return usage_error(self, "`%s' has no counterpart: A and B are run in turn",
                       operands->words[operands->count - 1]);
  return STATUS_GO_ON;
}

static int read_recordings(struct runs *runs, const struct operands *operands) {
  int status = STATUS_GO_ON;
  for (size_t i = 0; goes_on(status) && i < runs->count; i++) {
    struct reader reader;
    runs->run[i].path = operands->words[i];
    status = reader_open_target(&reader, operands->words[i],
                                EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW);
    if (goes_on(status)) status = runs_read(runs, i, &reader);
  }
  return status;
}

int command_diff(const struct command *self, int count, char **words) {
  struct asked asked = {.prefix = "SAROS_EVENTRING", .runs = UINT64_MAX, .by = UINT_MAX};
  struct operands operands;
  int status = read_words(self, count, words, &asked, &operands);
  if (!goes_on(status)) return status;
  if (asked.heap) {
    const enum heap_by by = asked.by == UINT_MAX ? BY_LINE : BY_LINE + asked.by;
    return heap_diff(&(struct heap_diff){by, asked.as, asked.top}, operands.words);
  }
  if (asked.profile) {
    const struct profile_diff options = {asked.as, asked.top};
    return profile_diff(&options, operands.words, operands.count);
  }
  struct runs runs = {.count = asked.programs[0] ? 2 * asked.runs : operands.count};
  runs.run = need_zeroed(runs.count, sizeof *runs.run);
  status = asked.programs[0] ? run_pairs(&runs, asked.programs, asked.prefix)
                             : read_recordings(&runs, &operands);
  if (goes_on(status)) {
    runs_compare(&runs);
    judge_few(&runs);
    struct view_to to = {.out = stdout, .context = &runs, .as = asked.as};
    if (!view_wants_text(&asked.as)) view_object(&to, &diff_view, &runs);
    else print_text(&runs, asked.top ? asked.top : 10);
    status = STATUS_OK;
  }
  runs_free(&runs);
  return status;
}
