/* SPDX-License-Identifier: MIT */
/* profile_view.c: shows a profile of time, as tables and as JSON. */
#include "profile_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_sum.h"
#include "analysis/figures.h"

#define REMEDY "SAROS_PROFILE=calls,budget=SIZE"

/* The rows of one domain, or of all chosen domains together. Equal stacks of several
   domains are one row. */
struct part {
  struct time_profile profile;
  const struct profile_view *asked;
  const struct eventring_profile *domain; /* NULL: all */
  struct eventring_profiles sum;
  struct eva_call_rows rows;
};

static void part_open(struct part *p, const struct time_profile *profile,
                      const struct profile_view *asked, struct eventring_profile *domain) {
  const struct eventring_profiles one = {.count = 1, .list = domain};
  int slot = asked->domain == UINT64_MAX ? -1 : (int)asked->domain;
  *p = (struct part){.profile = *profile, .asked = asked, .domain = domain};
  if (eva_call_sum(&p->sum, domain ? &one : &profile->profiles, slot) != EVENTRING_OK) no_memory();
  int status = asked->callers ? eva_call_rows_callers(&p->rows, &p->sum, asked->callers, -1)
                              : eva_call_rows_make(&p->rows, &p->sum, asked->by, -1);
  if (status != EVENTRING_OK) no_memory();
}

static void part_close(struct part *p) {
  eva_call_rows_free(&p->rows);
  eventring_profiles_free(&p->sum);
}

static bool is_asked_for(const struct profile_view *asked, const struct eventring_profile *p) {
  return asked->domain == UINT64_MAX || p->slot == asked->domain;
}

/* ---- Rows --------------------------------------------------------------------- */

const char *profile_function_text(char *text, size_t room,
                                  const struct eventring_calls_function *f) {
  if (f->line) snprintf(text, room, "%s %s:%u", f->name, f->source, f->line);
  else snprintf(text, room, "%s%s%s", f->name, f->source[0] ? " " : "", f->source);
  return text;
}

static bool has_durations(const void *row) { return ((const struct eva_call_row *)row)->most > 0; }

VIEW_GETTER(what, struct eva_call_row) {
  if (row->stack) return view_text(row->stack);
  return view_text(profile_function_text(to->room, sizeof to->room, row->function));
}

/* Returns the count of a row; for samples, the number with the function on their
   stack. */
VIEW_GETTER(count, struct eva_call_row) {
  const struct time_profile *profile = &((const struct part *)to->context)->profile;
  return view_uint(profile->sampled ? row->inclusive / profile->period_ns : row->count);
}

/* Tells whether the profile is of this kind, samples or calls, for figures that only one
   kind has. */
static bool is_of(const struct view_to *to, bool sampled) {
  return ((const struct part *)to->context)->profile.sampled == sampled;
}

VIEW_GETTER(count_of_kind, struct eva_call_row) {
  return is_of(to, column->argument) ? count_of(to, row, column) : view_none();
}

VIEW_GETTER(of_calls, uint64_t) { return is_of(to, false) ? view_uint(*row) : view_none(); }

VIEW_GETTER(time_text, uint64_t) {
  const struct part *p = to->context;
  return view_text(p->profile.sampled ? eva_percent_text(to->room, *row, p->rows.total)
                                      : eva_duration_text(to->room, *row));
}

VIEW_GETTER(share, struct eva_call_row) {
  if (is_of(to, true)) return view_none();
  const struct part *p = to->context;
  return view_text(eva_percent_text(to->room, row->exclusive, p->rows.total));
}

VIEW_GETTER(quantile, struct eva_call_row) {
  const struct part *p = to->context;
  return view_uint(eva_call_quantile(&p->rows, row, column->argument / 100.0));
}

VIEW_GETTER(domain, struct eva_call_row) {
  const struct eventring_profile *of = ((const struct part *)to->context)->domain;
  if (!of) return view_none();
  return column->type == VIEW_TEXT ? view_text(of->domain) : view_uint(of->slot);
}

static VIEW(function_view, struct eventring_calls_function,
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"source", NULL, VIEW_PLAIN, ROW(source)},
    {"line", NULL, VIEW_PLAIN, ROW(line)})

#define ROW_GET(value_type, function, member) \
  .type = VIEW_##value_type, .get = function, .offset = offsetof(struct eva_call_row, member)
#define TIMED .has = has_durations, .flags = VIEW_MAYBE
static VIEW(row_view, struct eva_call_row,
    {"domain", NULL, VIEW_PLAIN, VIEW_GET(U32, domain), .flags = VIEW_MAYBE,
     .help = "--per-domain"},
    {"domain_name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, domain), .flags = VIEW_MAYBE},
    {NULL, "<function", VIEW_PLAIN, VIEW_GET(TEXT, what), .flags = VIEW_END},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct eva_call_row, function),
     .flags = VIEW_POINTER, .view = &function_view},
    {"stack", NULL, VIEW_PLAIN, ROW(stack), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "--by stack"},
    {"count", NULL, VIEW_COUNT, .type = VIEW_UINT, .get = count,
     .help = "calls, or samples that have it on their stack"},
    {NULL, "?calls", VIEW_COUNT, VIEW_GET(UINT, count_of_kind), .argument = false},
    {NULL, "?samples", VIEW_PLAIN, VIEW_GET(UINT, count_of_kind), .argument = true},
    {"inclusive_ns", NULL, VIEW_NS, ROW(inclusive)},
    {NULL, "inclusive", VIEW_PLAIN, ROW_GET(TEXT, time_text, inclusive)},
    {"exclusive_ns", NULL, VIEW_NS, ROW(exclusive)},
    {NULL, "own", VIEW_PLAIN, ROW_GET(TEXT, time_text, exclusive)},
    {NULL, "?share", VIEW_PLAIN, VIEW_GET(TEXT, share)},
    {"suspended_ns", NULL, VIEW_NS, ROW_GET(UINT, of_calls, suspended), .flags = VIEW_MAYBE},
    {"began_before", NULL, VIEW_COUNT, ROW_GET(UINT, of_calls, open), .flags = VIEW_MAYBE,
     .help = "calls that had begun before"},
    {"path_not_kept", NULL, VIEW_COUNT, ROW(not_kept), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "calls that are in `inclusive' with their own time alone"},
    {"min_ns", NULL, VIEW_NS, ROW(least), TIMED},
    {"p50_ns", "|?p50", VIEW_NS, VIEW_GET(UINT, quantile), TIMED, .argument = 50},
    {"p90_ns", "?p90", VIEW_NS, VIEW_GET(UINT, quantile), TIMED, .argument = 90},
    {"p99_ns", "?p99", VIEW_NS, VIEW_GET(UINT, quantile), TIMED, .argument = 99},
    {"max_ns", "?max", VIEW_NS, ROW(most), TIMED})

static void part_rows(struct view_to *to, const void *part) {
  const struct part *p = part;
  to->context = p;
  for (size_t i = 0; i < p->rows.count && (!p->asked->top || i < p->asked->top); i++)
    view_row(to, &p->rows.list[i]);
}

/* Calls `visit` with a part for each chosen domain. */
static void each_domain(const struct part *all, void *context,
                        void (*visit)(void *context, struct part *part)) {
  const struct eventring_profiles *profiles = &all->profile.profiles;
  struct part part;
  for (size_t i = 0; i < profiles->count; i++) {
    if (!is_asked_for(all->asked, &profiles->list[i])) continue;
    part_open(&part, &all->profile, all->asked, &profiles->list[i]);
    visit(context, &part);
    part_close(&part);
  }
}

static void hand_out_domain(void *to, struct part *part) { part_rows(to, part); }

static void all_rows(struct view_to *to, const void *all) {
  const struct part *p = all;
  if (p->asked->per_domain) each_domain(p, to, hand_out_domain);
  else part_rows(to, p);
}

const char *const profile_by_names[] = {[EVA_BY_FUNCTION] = "function", [EVA_BY_LINE] = "line",
                                        [EVA_BY_STACK] = "stack", NULL};

/* ---- The answer --------------------------------------------------------------- */

static bool is_sampled(const void *part) { return ((const struct part *)part)->profile.sampled; }
static bool is_exact(const void *part) { return !is_sampled(part); }

VIEW_GETTER(source, struct part) { return view_text(is_sampled(row) ? "samples" : "calls"); }
VIEW_GETTER(by, struct part) {
  return view_text(row->asked->callers ? "caller" : profile_by_names[row->asked->by]);
}
VIEW_GETTER(clock_name, struct part) {
  return view_text(row->sum.list->flags & EVENTRING_PROFILE_CPU ? "cpu" : "wall");
}

/* Tells whether there was no room for the paths of all calls. */
static bool is_full(const void *part) {
  const struct part *p = part;
  return is_exact(part) && (p->rows.lost_calls || p->rows.lost_ns);
}
static bool has_children(const void *part) {
  return ((const struct part *)part)->profile.unseen_ms != 0;
}
static bool has_lines(const void *part) { return ((const struct part *)part)->profile.exact_lines; }
VIEW_GETTER(budget_full, struct part) { return view_bool(is_full(row)); }
VIEW_GETTER(remedy, struct part) { return view_text(REMEDY); }
VIEW_GETTER(stacks, struct part) { return view_uint(row->profile.samples - row->profile.late); }

static VIEW(window_view, struct eventring_profile,
    {"start_ns", NULL, VIEW_MOMENT, ROW(start_ns)},
    {"end_ns", NULL, VIEW_MOMENT, ROW(written_ns)})

#define EXACT .has = is_exact, .flags = VIEW_MAYBE
#define SAMPLED .has = is_sampled, .flags = VIEW_MAYBE
#define WITH_CHILDREN .has = has_children, .flags = VIEW_MAYBE
static VIEW(loss_view, struct part,
    {"calls", NULL, VIEW_COUNT, ROW(rows.lost_calls), EXACT,
     .help = "whose path found no room in the budget"},
    {"ns", NULL, VIEW_NS, ROW(rows.lost_ns), EXACT},
    {"budget_full", NULL, VIEW_PLAIN, VIEW_GET(BOOL, budget_full), EXACT},
    {"remedy", NULL, VIEW_PLAIN, VIEW_GET(TEXT, remedy), .has = is_full, .flags = VIEW_MAYBE,
     .help = "what gives paths more room"},
    {"damaged_profiles", NULL, VIEW_COUNT, ROW(profile.profiles.damaged), EXACT},
    {"torn", NULL, VIEW_COUNT, ROW(profile.torn), SAMPLED},
    {"moving", NULL, VIEW_COUNT, ROW(profile.moving), SAMPLED},
    {"late", NULL, VIEW_COUNT, ROW(profile.late), SAMPLED},
    {"coarse", NULL, VIEW_COUNT, ROW(profile.coarse), .has = has_lines, .flags = VIEW_MAYBE,
     .help = "samples with the line that was noted last, which may be an earlier one"},
    {"unsampled", NULL, VIEW_COUNT, ROW(profile.unsampled), WITH_CHILDREN,
     .help = "processes that ended before a sample was taken of them"},
    {"unseen_ms", NULL, VIEW_PLAIN, ROW(profile.unseen_ms), WITH_CHILDREN,
     .help = "a process that lives shorter may not have been seen"})

static VIEW(total_view, struct part,
    {"ns", NULL, VIEW_NS, ROW(rows.total)},
    {"domains", NULL, VIEW_COUNT, ROW(profile.profiles.count)},
    {"processes", NULL, VIEW_COUNT, ROW(profile.processes), WITH_CHILDREN},
    {"clock", NULL, VIEW_PLAIN, VIEW_GET(TEXT, clock_name), .help = "wall or cpu"},
    {"clock_went_back", NULL, VIEW_COUNT, ROW(rows.backwards), EXACT},
    {"samples", NULL, VIEW_COUNT, ROW(profile.samples), SAMPLED},
    {"stacks", NULL, VIEW_COUNT, VIEW_GET(UINT, stacks), SAMPLED,
     .help = "samples without the late ones"})

VIEW(profile_answer_view, struct part,
    {"pid", NULL, VIEW_PLAIN, ROW(profile.pid), .flags = VIEW_MAYBE | VIEW_NO_0},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, source), .help = "calls or samples"},
    {"how", NULL, VIEW_PLAIN, ROW(profile.how), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "how it was measured"},
    {"window", .form = VIEW_OBJECT, .offset = offsetof(struct part, sum.list),
     .flags = VIEW_POINTER, .view = &window_view},
    {"loss", .form = VIEW_OBJECT, .view = &loss_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"by", NULL, VIEW_PLAIN, VIEW_GET(TEXT, by)},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN})

/* ---- Text --------------------------------------------------------------------- */

static void print_totals(const struct part *all) {
  const struct time_profile *profile = &all->profile;
  size_t domains = 0;
  for (size_t i = 0; i < profile->profiles.count; i++)
    domains += is_asked_for(all->asked, &profile->profiles.list[i]);
  if (profile->sampled)
    table_say(stdout, 0, 0,
              "%" PRIu64 " samples, %" PRIu64 " torn (not counted), %" PRIu64 " without the "
              "innermost functions; %" PRIu64 " were late: the next one counts for them",
              profile->samples, profile->torn, profile->moving, profile->late);
  if (profile->exact_lines && profile->coarse)
    table_say(stdout, 0, 0,
              "%" PRIu64
              " have the line of a call, an allocation or a turn of a loop, which may be "
              "an earlier one than what ran",
              profile->coarse);
  else
    table_say(stdout, 0, 0, "calls over %s of %s, %zu domain%s", eva_duration(all->rows.total),
              all->sum.list->flags & EVENTRING_PROFILE_CPU ? "CPU time" : "time", domains,
              domains == 1 ? "" : "s");
  if (has_children(all))
    table_say(stdout, 0, 0,
              "%" PRIu64 " processes, of which %" PRIu64 " ended before a sample was taken of "
              "them; one that lives for less than %" PRIu64 " ms may be missing",
              profile->processes, profile->unsampled, profile->unseen_ms);
  putchar('\n');
  if (profile->how) table_say(stdout, 0, 0, "%s", profile->how), putchar('\n');
  if (!is_full(all)) return;
  table_say(stdout, 0, 0, EVA_NOT_KEPT ": the budget was full; %s calls, %s, are counted by "
            "function, with the time they took themselves (" REMEDY " gives paths more room)",
            eva_count(all->rows.lost_calls), eva_duration(all->rows.lost_ns));
  putchar('\n');
}

static void print_rows(const struct part *part) {
  struct view_to to = {.out = stdout, .context = part};
  view_table(&to, &row_view, part_rows, part, 2);
}

static void print_domain(void *first, struct part *part) {
  bool *is_first = first;
  if (!*is_first) putchar('\n');
  table_say(stdout, 0, 4, "domain %u %s", part->domain->slot, part->domain->domain);
  print_rows(part);
  *is_first = false;
}

static void print_text(const struct part *all) {
  bool first = true;
  print_totals(all);
  if (all->asked->tree) profile_print_trees(&all->profile, all->asked);
  else if (all->asked->per_domain) each_domain(all, &first, print_domain);
  else print_rows(all);
}

/* ---- All ---------------------------------------------------------------------- */

int profile_show(const struct time_profile *profile, const struct profile_view *asked) {
  struct part all;
  part_open(&all, profile, asked, NULL);
  struct view_to to = {.out = stdout, .context = &all, .as = asked->as};
  bool missing = asked->callers && !all.rows.count;
  if (missing) complain("no function `%s' was called", asked->callers);
  else if (view_wants_text(&asked->as)) print_text(&all);
  else view_object(&to, &profile_answer_view, &all);
  part_close(&all);
  return missing ? STATUS_WRONG : STATUS_OK;
}

size_t profile_data(const struct time_profile *profile, const struct profile_view *asked,
                    struct eva_json *json) {
  struct part all;
  part_open(&all, profile, asked, NULL);
  struct view_to to = {.context = &all};
  view_data(&to, json, &profile_answer_view, "rows", &all);
  const size_t count = all.rows.count;
  part_close(&all);
  return count;
}

void time_profile_free(struct time_profile *profile) {
  for (size_t i = 0; profile->lines && i < profile->profiles.count; i++) free(profile->lines[i]);
  free(profile->lines);
  eventring_profiles_free(&profile->profiles);
}
