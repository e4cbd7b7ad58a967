/* SPDX-License-Identifier: MIT */
/* view_tables.c: makes sections `table:...` of a page: what the commands print, by their
 * own tables (view.h), with the members of rows as in --json and a description of the
 * columns.
 *
 * `stats` prints the tally of the page's reading. The other commands read what they need
 * again, which is little: profiles, and the ring of the collector. With each level of
 * reduction a table keeps the first half of its rows, in the order of its command. */
#include "view_tables.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/heap_sites.h"
#include "heap_view.h"
#include "profile_view.h"
#include "tally_print.h"
#include "view/spans.h"
#include "view_figures.h"
#include "view_page.h"

enum { LEVELS = 6, TOP = 64 };

struct page_table {
  struct page_run *run;
  struct pauses *pauses;
  struct spans *spans;
  const struct eva_heap *heap;
  struct time_profile profile;
};

static void *begin(struct page_run *run) {
  struct page_table *table = calloc(1, sizeof *table);
  if (table) table->run = run;
  return table;
}

static void free_table(void *state) {
  struct page_table *t = state;
  pauses_free(t->pauses);
  spans_free(t->spans);
  time_profile_free(&t->profile);
  free(t);
}

/* Opens the object of the section. */
static void put_head(const struct page_table *t, const char *title, const char *command,
                     struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_string_at(json, "title", title);
  view_put_command(t->run, command, json);
}

/* Notes how many of `count` rows were left out for lack of room. */
static void say_left(const char *what, size_t top, size_t count, unsigned level,
                     struct page_left *left) {
  if (level && count > top) *left = (struct page_left){.what = what, .kept = top, .of = count};
}

/* ---- stats -------------------------------------------------------------------- */

static void count_entry(void *context, const struct eva_tally_entry *entry) {
  (void)entry;
  ++*(uint64_t *)context;
}

static bool put_tally(const struct page_table *t, const char *title, const char *path, int of,
                      unsigned level, struct page_left *left, struct eva_json *json) {
  struct tally_choice choice = {.domain = t->run->domain, .top = UINT64_MAX};
  const struct eva_tally *tally = t->run->events->tally;
  uint64_t count = 0;
  if (of >= 0) tally_choose(&tally->all, &choice, (enum tally_table)of, count_entry, &count);
  if (of >= 0 && !count) return false;
  if (level) choice.top = count >> level ? count >> level : 1;
  say_left(title, choice.top, count, level, left);
  put_head(t, title, "stats", json);
  tally_data(tally, &choice, path, json);
  eva_json_close_object(json);
  return true;
}

#define STATS(id, text, rows, of, most)                                                     \
  static bool write_##id(void *state, struct eva_json *json, unsigned level,                \
                         struct page_left *left) {                                          \
    return put_tally(state, text, rows, of, level, left, json);                             \
  }                                                                                         \
  const struct page_part page_part_table_##id = {.name = "table:" #id, .levels = most,      \
                                                 .begin = begin, .write = write_##id,       \
                                                 .free = free_table}
STATS(gc, "Time in the collector", "domains", -1, 0);
STATS(spans, "Spans", "total.spans", TALLY_SPANS, LEVELS);
STATS(async, "Async spans", "total.async_spans", TALLY_ASYNC, LEVELS);
STATS(counters, "Counters", "total.counters", TALLY_COUNTERS, LEVELS);
STATS(events, "Events", "total.events", TALLY_EVENTS, LEVELS);
STATS(rings, "Rings", "rings", -1, 0);

/* ---- pauses ------------------------------------------------------------------- */

static int finish_pauses(void *state) {
  struct page_table *t = state;
  t->pauses = pauses_taken(t->run, TOP);
  return EVENTRING_OK;
}

static bool write_pauses(void *state, struct eva_json *json, unsigned level,
                         struct page_left *left) {
  const struct page_table *t = state;
  const unsigned top = TOP >> level;
  char command[32];
  if (!t->pauses) return false;
  snprintf(command, sizeof command, "pauses --top %u", top);
  put_head(t, "The longest pauses", command, json);
  say_left("pauses", top, pauses_data(t->pauses, t->run, top, json), level, left);
  eva_json_close_object(json);
  return true;
}

const struct page_part page_part_table_pauses = {
    .name = "table:pauses", .levels = LEVELS, .begin = begin, .finish = finish_pauses,
    .write = write_pauses, .free = free_table};

/* ---- spans -------------------------------------------------------------------- */

static int finish_slow(void *state) {
  struct page_table *t = state;
  t->spans = spans_taken(t->run, PAGE_LONGEST);
  return EVENTRING_OK;
}

static bool write_slow(void *state, struct eva_json *json, unsigned level,
                       struct page_left *left) {
  const struct page_table *t = state;
  (void)level, (void)left;
  if (!t->spans) return false;
  put_head(t, "The longest spans", "spans", json);
  spans_data(t->spans, json);
  eva_json_close_object(json);
  return true;
}

const struct page_part page_part_table_slow = {
    .name = "table:slow", .begin = begin, .finish = finish_slow, .write = write_slow,
    .free = free_table};

/* ---- heap --------------------------------------------------------------------- */

enum { LINES = 1024 };

/* Takes the heap profiles, unless only a part of the run is wanted, for which the
   profiles have no figures. */
static int finish_heap(void *state) {
  struct page_table *t = state;
  if (!t->run->since && t->run->until == UINT64_MAX) t->heap = page_heap_profiles();
  return EVENTRING_OK;
}

static bool write_heap(void *state, struct eva_json *json, unsigned level,
                       struct page_left *left) {
  const struct page_table *t = state;
  const struct eva_heap_row *rows;
  char command[48];
  const unsigned top = LINES >> level;
  if (!t->heap || !eva_heap_rows(t->heap, &rows)) return false;
  snprintf(command, sizeof command, "heap --by line --top %u", top);
  put_head(t, "Where memory is allocated", command, json);
  say_left("lines of the heap", top, heap_data(t->heap, t->run->cursor, top, json), level, left);
  eva_json_close_object(json);
  return true;
}

const struct page_part page_part_table_heap = {
    .name = "table:heap", .levels = LEVELS, .begin = begin, .finish = finish_heap,
    .write = write_heap, .free = free_table};

/* ---- profile ------------------------------------------------------------------ */

/* Takes the profile of calls if there is one; else the samples that were taken for the
   page. */
static int finish_profile(void *state) {
  struct page_table *t = state;
  if (eventring_cursor_profiles(t->run->cursor, &t->profile.profiles, NULL) < 0 ||
      t->profile.profiles.count)
    return EVENTRING_OK;
  page_sampled_profile(&t->profile);
  return EVENTRING_OK;
}

static bool write_profile(void *state, struct eva_json *json, unsigned level,
                          struct page_left *left) {
  const struct page_table *t = state;
  const struct profile_view asked = {.by = EVA_BY_FUNCTION, .top = LINES >> level,
                                     .domain = t->run->domain};
  char command[48];
  if (!t->profile.profiles.count) return false;
  snprintf(command, sizeof command, "%s --top %u",
           t->profile.sampled ? view_sampling(t->run) : "profile", LINES >> level);
  put_head(t, t->profile.sampled ? "Functions, by samples" : "Functions, by calls", command, json);
  say_left("functions", asked.top, profile_data(&t->profile, &asked, json), level, left);
  eva_json_close_object(json);
  return true;
}

const struct page_part page_part_table_profile = {
    .name = "table:profile", .levels = LEVELS, .begin = begin, .finish = finish_profile,
    .write = write_profile, .free = free_table};
