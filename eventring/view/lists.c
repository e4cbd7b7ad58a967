/* SPDX-License-Identifier: MIT */
/* lists.c: the lists of `head`. */
#include "view/lists.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lives.h"
#include "analysis/names.h"
#include "format/array.h"
#include "format/table.h"

struct track {
  struct page_lane lane;
  uint64_t context;
  bool is_shared; /* several contexts used the track in turn */
  uint32_t depth;
};

struct page_lists {
  eventring_cursor *cursor;
  int name_at[EVENTRING_MAX_EVENTS];   /* index of an id; -1 if there is no such
                                          definition */
  unsigned names;
  struct eventring_domain_info *domain;
  size_t domains, domain_room;
  int newest[EVENTRING_MAX_DOMAINS];   /* the newest domain of a slot; -1 if none */
  struct track *track;
  size_t tracks, track_room;
  struct evr_table by_lane;            /* by row of a ring: its track's index, plus 1 */
  int last;                            /* index of the track found last */
  int status;
};

struct page_lists *page_lists_new(eventring_cursor *cursor) {
  struct page_lists *lists = calloc(1, sizeof *lists);
  if (!lists) return NULL;
  lists->cursor = cursor;
  lists->last = -1;
  return lists;
}

void page_lists_free(struct page_lists *lists) {
  if (!lists) return;
  free(lists->domain);
  free(lists->track);
  evr_table_free(&lists->by_lane);
  free(lists);
}

static void add_life(void *context, const struct eventring_domain_info *life) {
  struct page_lists *lists = context;
  if (!EVR_MAKE_ROOM(lists->domain, lists->domain_room, lists->domains, 8)) {
    lists->status = EVENTRING_E_MEMORY;
    return;
  }
  lists->newest[life->slot % EVENTRING_MAX_DOMAINS] = (int)lists->domains;
  lists->domain[lists->domains++] = *life;
}

int page_lists_fill(struct page_lists *lists) {
  lists->names = 0;
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++)
    lists->name_at[id] = eventring_cursor_def(lists->cursor, id) ? (int)lists->names++ : -1;
  lists->domains = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    lists->newest[slot] = -1;
    eva_each_life(lists->cursor, slot, add_life, lists);
  }
  return lists->status;
}

int page_name(const struct page_lists *lists, int id) {
  return id < 0 || id >= EVENTRING_MAX_EVENTS ? -1 : lists->name_at[id];
}

int page_domain(const struct page_lists *lists, uint32_t slot) {
  return lists->newest[slot % EVENTRING_MAX_DOMAINS];
}

/* ---- Tracks ----------------------------------------------------------------------- */

static uint64_t hash_of(const struct page_lane *lane) {
  const uint64_t hash = evr_hash_word(evr_hash_seed(), lane->lane);
  return evr_hash_word(hash, (uint64_t)lane->slot << 8 | lane->ring);
}

static bool is_same(const struct page_lane *a, const struct page_lane *b) {
  return a->lane == b->lane && a->slot == b->slot && a->ring == b->ring;
}

static bool is_lane(const void *context, uintptr_t value, const void *key) {
  const struct page_lists *lists = context;
  return is_same(&lists->track[value - 1].lane, key);
}

static int find_track(struct page_lists *lists, const struct page_lane *lane, uint64_t context) {
  if (lists->last >= 0 && is_same(&lists->track[lists->last].lane, lane)) return lists->last;
  uintptr_t *value = evr_table_take(&lists->by_lane, hash_of(lane), is_lane, lists, lane);
  if (!value) return -1;
  if (*value) return (int)(*value - 1);
  if (!EVR_MAKE_ROOM(lists->track, lists->track_room, lists->tracks, 16)) return -1;
  lists->track[lists->tracks++] = (struct track){.lane = *lane, .context = context};
  *value = lists->tracks;
  return (int)lists->tracks - 1;
}

int page_track(struct page_lists *lists, const struct page_lane *lane, uint64_t context) {
  const int at = lists->last = find_track(lists, lane, context);
  if (at < 0) return at;
  struct track *track = &lists->track[at];
  if (track->context != context) track->is_shared = true;
  return at;
}

struct page_lane page_track_lane(const struct page_lists *lists, uint32_t track) {
  return lists->track[track].lane;
}

void page_track_deepen(struct page_lists *lists, uint32_t track, uint32_t depths) {
  if (lists->track[track].depth < depths) lists->track[track].depth = depths;
}

/* ---- Writing ---------------------------------------------------------------------- */

static void write_name(const struct eventring_def *def, const eventring_cursor *cursor,
                       struct eva_json *json) {
  const char *class_name = eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, def->event_class);
  eva_json_open_object(json);
  eva_json_uint_at(json, "id", def->id);
  eva_json_string_at(json, "name", def->name);
  eva_json_string_at(json, "class", class_name ? class_name : "?");
  eva_json_string_at(json, "ring", eva_ring_name(cursor, def->ring));
  eva_json_string_at(json, "kind", eva_def_kind_name(def->kind));
  eva_json_string_at(json, "quantity", eva_quantity_name(def->quantity));
  eva_json_string_at(json, "unit", def->unit);
  if (def->doc && def->doc[0]) eva_json_string_at(json, "doc", def->doc);
  eva_json_close_object(json);
}

static void write_domain(const struct eventring_domain_info *life, const struct page_grid *grid,
                         struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "slot", life->slot);
  eva_json_uint_at(json, "incarnation", life->incarnation);
  eva_json_string_at(json, "name", life->name);
  eva_json_int_at(json, "tid", life->tid);
  eva_json_int_at(json, "start", page_grid_time(grid, life->start_ns));
  eva_json_key(json, "stop");
  if (life->stop_ns) eva_json_int(json, page_grid_time(grid, life->stop_ns));
  else eva_json_null(json);
  eva_json_close_object(json);
}

static void write_track(const struct page_lists *lists, const struct track *track,
                        struct eva_json *json) {
  char context[24];
  snprintf(context, sizeof context, "%" PRIu64, track->context);
  eva_json_open_object(json);
  eva_json_int_at(json, "domain", page_domain(lists, track->lane.slot));
  eva_json_string_at(json, "ring", eva_ring_name(lists->cursor, track->lane.ring));
  eva_json_uint_at(json, "lane", track->lane.lane);
  eva_json_string_at(json, "context", !track->lane.lane ? "0" : track->is_shared ? NULL : context);
  eva_json_uint_at(json, "depth", track->depth);
  eva_json_close_object(json);
}

void page_lists_write(const struct page_lists *lists, const struct page_grid *grid,
                      struct eva_json *json) {
  eva_json_key(json, "domains");
  eva_json_open_array(json);
  for (size_t i = 0; i < lists->domains; i++) write_domain(&lists->domain[i], grid, json);
  eva_json_close_array(json);
  eva_json_key(json, "names");
  eva_json_open_array(json);
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (lists->name_at[id] >= 0)
      write_name(eventring_cursor_def(lists->cursor, id), lists->cursor, json);
  eva_json_close_array(json);
  eva_json_key(json, "tracks");
  eva_json_open_array(json);
  for (size_t i = 0; i < lists->tracks; i++) write_track(lists, &lists->track[i], json);
  eva_json_close_array(json);
}
