/* SPDX-License-Identifier: MIT */
/* profile_view.c: shows a profile of time, as tables and as JSON. */
#include "profile_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_sum.h"
#include "analysis/json.h"
#include "analysis/units.h"
#include "text_table.h"

enum { NAME_WIDTH = 32 };

/* ---- Rows ------------------------------------------------------------------------------- */

/* Of the domains that are asked for, summed; stacks of several domains are one. */
static void make_rows(struct eva_call_rows *rows, struct eventring_profiles *sum,
                      const struct eventring_profiles *profiles,
                      const struct profile_view *view) {
  int domain = view->domain == UINT64_MAX ? -1 : (int)view->domain;
  if (eva_call_sum(sum, profiles, domain) != EVENTRING_OK) no_memory();
  int status = view->callers ? eva_call_rows_callers(rows, sum, view->callers, -1)
                             : eva_call_rows_make(rows, sum, view->by, -1);
  if (status != EVENTRING_OK) no_memory();
}

static size_t shown(const struct eva_call_rows *rows, const struct profile_view *view) {
  return view->top && view->top < rows->count ? (size_t)view->top : rows->count;
}

/* Of samples: how many have the function on their stack. */
static uint64_t count_of(const struct time_profile *profile, const struct eva_call_row *row) {
  return profile->sampled ? row->inclusive / profile->period_ns : row->count;
}

/* ---- Text ------------------------------------------------------------------------------- */

static void function_text(char *text, size_t room, const struct eventring_calls_function *f) {
  if (f->line) snprintf(text, room, "%s %s:%u", f->name, f->source, f->line);
  else snprintf(text, room, "%s%s%s", f->name, f->source[0] ? " " : "", f->source);
}

static void row_cell(struct table *table, const struct eva_call_row *row) {
  char text[512];
  function_text(text, sizeof text, row->function);
  table_cell_end(table, row->stack ? row->stack : text, NAME_WIDTH);
}

static void print_calls(const struct eva_call_rows *rows, const struct profile_view *view) {
  char figure[EVA_FIGURE];
  TABLE(table, "<function", "calls", "inclusive", "own", "share");
  for (size_t i = 0; i < shown(rows, view); i++) {
    const struct eva_call_row *row = &rows->list[i];
    row_cell(&table, row);
    table_cell(&table, eva_count_text(figure, row->count));
    table_cell(&table, eva_duration_text(figure, row->inclusive));
    table_cell(&table, eva_duration_text(figure, row->exclusive));
    table_cell(&table, eva_percent_text(figure, row->exclusive, rows->total));
  }
  table_print(&table, stdout, 2);
}

static void print_samples(const struct time_profile *profile, const struct eva_call_rows *rows,
                          const struct profile_view *view) {
  char figure[EVA_FIGURE];
  TABLE(table, "<function", "samples", "inclusive", "own");
  for (size_t i = 0; i < shown(rows, view); i++) {
    const struct eva_call_row *row = &rows->list[i];
    row_cell(&table, row);
    snprintf(figure, sizeof figure, "%" PRIu64, count_of(profile, row));
    table_cell(&table, figure);
    table_cell(&table, eva_percent_text(figure, row->inclusive, rows->total));
    table_cell(&table, eva_percent_text(figure, row->exclusive, rows->total));
  }
  table_print(&table, stdout, 2);
}

static void print_quantiles(const struct eva_call_rows *rows, const struct profile_view *view) {
  char figure[EVA_FIGURE];
  TABLE(table, "<function", "p50", "p90", "p99", "max");
  for (size_t i = 0; i < shown(rows, view); i++) {
    const struct eva_call_row *row = &rows->list[i];
    if (!row->most) continue;
    row_cell(&table, row);
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.5)));
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.9)));
    table_cell(&table, eva_duration_text(figure, eva_call_quantile(rows, row, 0.99)));
    table_cell(&table, eva_duration_text(figure, row->most));
  }
  putchar('\n');
  table_print(&table, stdout, 2);
}

static bool is_asked_for(const struct profile_view *view, const struct eventring_profile *p) {
  return view->domain == UINT64_MAX || p->slot == view->domain;
}

static void print_totals(const struct time_profile *profile, const struct profile_view *view) {
  char figure[EVA_FIGURE], lost[EVA_FIGURE];
  struct eva_call_rows rows;
  struct eventring_profiles sum;
  size_t domains = 0;
  for (size_t i = 0; i < profile->profiles.count; i++)
    domains += is_asked_for(view, &profile->profiles.list[i]);
  make_rows(&rows, &sum, &profile->profiles, view);
  if (profile->sampled)
    printf("%" PRIu64 " samples, %" PRIu64 " torn (not counted), %" PRIu64
           " without the innermost functions; %" PRIu64 " were late: the next one counts for"
           " them\n\n",
           profile->samples, profile->torn, profile->moving, profile->late);
  else
    printf("calls over %s of %s, %zu domain%s\n\n", eva_duration_text(figure, rows.total),
           sum.list->flags & EVENTRING_PROFILE_CPU ? "CPU time" : "time", domains,
           domains == 1 ? "" : "s");
  if (profile->how) {
    print_foreign(stdout, profile->how, strlen(profile->how));
    printf("\n\n");
  }
  if (rows.lost_calls)
    printf("(not recorded): %s calls, %s\n\n", eva_count_text(lost, rows.lost_calls),
           eva_duration_text(figure, rows.lost_ns));
  eva_call_rows_free(&rows);
  eventring_profiles_free(&sum);
}

static void print_part(const struct time_profile *profile,
                       const struct eventring_profiles *part, const struct profile_view *view) {
  struct eva_call_rows rows;
  struct eventring_profiles sum;
  make_rows(&rows, &sum, part, view);
  if (profile->sampled) print_samples(profile, &rows, view);
  else print_calls(&rows, view);
  if (!profile->sampled && view->by != EVA_BY_STACK) print_quantiles(&rows, view);
  eva_call_rows_free(&rows);
  eventring_profiles_free(&sum);
}

static void print_text(const struct time_profile *profile, const struct profile_view *view) {
  const struct eventring_profiles *all = &profile->profiles;
  bool first = true;
  print_totals(profile, view);
  if (view->tree) {
    profile_print_trees(profile, view);
    return;
  }
  if (!view->per_domain) {
    print_part(profile, all, view);
    return;
  }
  for (size_t i = 0; i < all->count; i++) {
    const struct eventring_profiles one = {.count = 1, .list = &all->list[i]};
    if (!is_asked_for(view, one.list)) continue;
    printf("%sdomain %u ", first ? "" : "\n", one.list->slot);
    print_foreign_text(stdout, one.list->domain);
    putchar('\n');
    print_part(profile, &one, view);
    first = false;
  }
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_row(struct eva_json *j, const struct time_profile *profile,
                    const struct eva_call_rows *rows, const struct eva_call_row *row,
                    const struct eventring_profile *domain) {
  static const struct { const char *key; double part; } quantiles[] = {
      {"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}};
  eva_json_open_object(j);
  if (domain) {
    eva_json_uint_at(j, "domain", domain->slot);
    eva_json_string_at(j, "domain_name", domain->domain);
  }
  eva_json_string_at(j, "name", row->function->name);
  eva_json_string_at(j, "source", row->function->source);
  eva_json_uint_at(j, "line", row->function->line);
  if (row->stack) eva_json_string_at(j, "stack", row->stack);
  eva_json_uint_at(j, "count", count_of(profile, row));
  eva_json_uint_at(j, "inclusive_ns", row->inclusive);
  eva_json_uint_at(j, "exclusive_ns", row->exclusive);
  if (!profile->sampled) {
    eva_json_uint_at(j, "suspended_ns", row->suspended);
    eva_json_uint_at(j, "began_before", row->open);
  }
  if (row->most) {
    eva_json_uint_at(j, "min_ns", row->least);
    eva_json_uint_at(j, "max_ns", row->most);
    for (unsigned i = 0; i < 3; i++)
      eva_json_uint_at(j, quantiles[i].key, eva_call_quantile(rows, row, quantiles[i].part));
  }
  eva_json_close_object(j);
}

static void put_loss(struct eva_json *j, const struct time_profile *profile,
                     const struct eva_call_rows *rows) {
  eva_json_key(j, "loss");
  eva_json_open_object(j);
  if (profile->sampled) {
    eva_json_uint_at(j, "torn", profile->torn);
    eva_json_uint_at(j, "moving", profile->moving);
    eva_json_uint_at(j, "late", profile->late);
  } else {
    eva_json_uint_at(j, "calls", rows->lost_calls);
    eva_json_uint_at(j, "ns", rows->lost_ns);
    eva_json_uint_at(j, "damaged_profiles", profile->profiles.damaged);
  }
  eva_json_close_object(j);
}

static void put_head(struct eva_json *j, const struct time_profile *profile,
                     const struct eventring_profiles *sum, const struct eva_call_rows *rows) {
  bool cpu = sum->list->flags & EVENTRING_PROFILE_CPU;
  eva_json_uint_at(j, "version", 1);
  if (profile->pid) eva_json_int_at(j, "pid", profile->pid);
  eva_json_string_at(j, "source", profile->sampled ? "samples" : "calls");
  if (profile->how) eva_json_string_at(j, "how", profile->how);
  eva_json_key(j, "window");
  eva_json_open_object(j);
  eva_json_uint_at(j, "start_ns", sum->list->start_ns);
  eva_json_uint_at(j, "end_ns", sum->list->written_ns);
  eva_json_close_object(j);
  put_loss(j, profile, rows);
  eva_json_key(j, "total");
  eva_json_open_object(j);
  eva_json_uint_at(j, "ns", rows->total);
  eva_json_uint_at(j, "domains", profile->profiles.count);
  eva_json_string_at(j, "clock", cpu ? "cpu" : "wall");
  if (!profile->sampled) {
    eva_json_uint_at(j, "clock_went_back", rows->backwards);
  } else {
    eva_json_uint_at(j, "samples", profile->samples);
    eva_json_uint_at(j, "stacks", profile->samples - profile->late);
  }
  eva_json_close_object(j);
}

static void put_rows(struct eva_json *j, const struct time_profile *profile,
                     const struct eventring_profiles *part, const struct profile_view *view,
                     const struct eventring_profile *domain) {
  struct eva_call_rows rows;
  struct eventring_profiles sum;
  make_rows(&rows, &sum, part, view);
  for (size_t i = 0; i < shown(&rows, view); i++)
    put_row(j, profile, &rows, &rows.list[i], domain);
  eva_call_rows_free(&rows);
  eventring_profiles_free(&sum);
}

static void print_json(const struct time_profile *profile, const struct profile_view *view) {
  static const char *const names[] = {"function", "line", "stack"};
  const struct eventring_profiles *all = &profile->profiles;
  struct eva_call_rows rows;
  struct eventring_profiles sum;
  struct eva_json j;
  make_rows(&rows, &sum, all, view);
  eva_json_start(&j, stdout);
  eva_json_open_object(&j);
  put_head(&j, profile, &sum, &rows);
  eva_json_string_at(&j, "by", view->callers ? "caller" : names[view->by]);
  eva_json_key(&j, "rows");
  eva_json_open_array(&j);
  for (size_t i = 0; view->per_domain && i < all->count; i++) {
    const struct eventring_profiles one = {.count = 1, .list = &all->list[i]};
    if (is_asked_for(view, one.list)) put_rows(&j, profile, &one, view, one.list);
  }
  if (!view->per_domain) put_rows(&j, profile, all, view, NULL);
  eva_json_close_array(&j);
  eva_json_close_object(&j);
  eva_json_line(&j);
  eva_call_rows_free(&rows);
  eventring_profiles_free(&sum);
}

/* ---- All -------------------------------------------------------------------------------- */

int profile_show(const struct time_profile *profile, const struct profile_view *view) {
  struct eva_call_rows rows;
  struct eventring_profiles sum;
  make_rows(&rows, &sum, &profile->profiles, view);
  bool missing = view->callers && !rows.count;
  eva_call_rows_free(&rows);
  eventring_profiles_free(&sum);
  if (missing) {
    complain("no function `%s' was called", view->callers);
    return STATUS_WRONG;
  }
  if (view->json) print_json(profile, view);
  else print_text(profile, view);
  return STATUS_OK;
}

void time_profile_free(struct time_profile *profile) {
  for (size_t i = 0; profile->lines && i < profile->profiles.count; i++) free(profile->lines[i]);
  free(profile->lines);
  eventring_profiles_free(&profile->profiles);
}
