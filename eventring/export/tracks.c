/* SPDX-License-Identifier: MIT */
/* tracks.c: rows of a timeline. */
#include "export/tracks.h"
#include "format/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_LANES = 1 << 16,
  RINGS = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS,
  MOST_HELD = 16 << 20
};

/* The rows of a ring ("lanes" in names): their tracks, and which are free. */
struct export_ring_tracks {
  struct export_track **track; /* track of each row; NULL if not made yet */
  uint32_t *idle;              /* free rows; the row that was freed last is at the end */
  uint32_t room, lanes, idle_count;
  uint32_t incarnation;
};

/* A context that has a row. */
struct export_lane {
  uint64_t context;
  uint32_t ring;  /* number of its slot and ring */
  uint32_t lane;  /* number of the row, from 1 on */
};

int export_tracks_open(struct export_tracks *t,
                       void (*introduce)(void *context, struct export_track *track),
                       void *context) {
  *t = (struct export_tracks){.introduce = introduce, .context = context};
  t->rings = calloc(RINGS, sizeof *t->rings);
  return t->rings ? 0 : -1;
}

static void free_ring(struct export_tracks *t, struct export_ring_tracks *ring) {
  for (uint32_t i = 0; i < ring->lanes; i++) {
    struct export_track *track = ring->track[i];
    if (!track) continue;
    for (uint32_t n = 0; n < track->held_count; n++) t->held_bytes -= track->held[n].size;
    free(track->held);
    free(track->held_text);
    free(track);
  }
  free(ring->track);
  free(ring->idle);
}

void export_tracks_close(struct export_tracks *t) {
  for (int i = 0; t->rings && i < RINGS; i++) free_ring(t, &t->rings[i]);
  free(t->rings);
  for (size_t i = 0; i < t->lanes.room; i++) free((void *)t->lanes.entries[i].value);
  evr_table_free(&t->lanes);
  *t = (struct export_tracks){0};
}

/* ---- Rows of contexts ------------------------------------------------------------- */

static uint64_t hash_of(uint64_t context, uint32_t number) {
  return evr_hash_word(evr_hash_word(evr_hash_seed(), number), context);
}

static bool is_lane(const void *none, uintptr_t value, const void *key) {
  const struct export_lane *a = (const struct export_lane *)value, *b = key;
  (void)none;
  return a->context == b->context && a->ring == b->ring;
}

/* Returns the row of a context, or NULL if it has none. */
static struct export_lane *lane_of(const struct export_tracks *t, uint64_t context,
                                   uint32_t number) {
  const struct export_lane key = {.context = context, .ring = number};
  return (struct export_lane *)evr_table_find(&t->lanes, hash_of(context, number), is_lane, NULL,
                                              &key);
}

static void drop_lane(struct export_tracks *t, struct export_lane *lane) {
  evr_table_drop(&t->lanes, hash_of(lane->context, lane->ring), (uintptr_t)lane);
  free(lane);
}

/* ---- Tracks of a ring ------------------------------------------------------------- */

static bool grow_ring(struct export_ring_tracks *ring) {
  if (ring->lanes < ring->room) return true;
  uint32_t room = ring->room ? 2 * ring->room : 4;
  struct export_track **track = realloc(ring->track, room * sizeof *track);
  if (track) ring->track = track;
  uint32_t *idle = realloc(ring->idle, room * sizeof *idle);
  if (idle) ring->idle = idle;
  if (!track || !idle) return false;
  ring->room = room;
  return true;
}

/* Frees the rows of contexts of the domain that used the slot before. */
static void forget_contexts(struct export_tracks *t, uint32_t number) {
  for (size_t i = 0; i < t->lanes.room;) {
    struct export_lane *lane = (struct export_lane *)t->lanes.entries[i].value;
    if (lane && lane->ring == number) drop_lane(t, lane);
    else i++;
  }
}

static struct export_ring_tracks *ring_of(struct export_tracks *t, uint32_t number,
                                          uint32_t incarnation) {
  struct export_ring_tracks *ring = &t->rings[number];
  if (ring->incarnation == incarnation) return ring;
  forget_contexts(t, number);
  free_ring(t, ring);
  *ring = (struct export_ring_tracks){.incarnation = incarnation};
  t->last = NULL;
  return ring;
}

static struct export_track *track_at(struct export_tracks *t, uint32_t number, uint32_t incarnation,
                                     uint32_t lane) {
  struct export_ring_tracks *ring = ring_of(t, number, incarnation);
  while (ring->lanes <= lane) {
    if (!grow_ring(ring)) return NULL;
    ring->track[ring->lanes++] = NULL;
  }
  struct export_track *track = ring->track[lane];
  if (track) return track;
  track = calloc(1, sizeof *track);
  if (!track) return NULL;
  track->id = ++t->count;
  track->domain = number / EVENTRING_RINGS;
  track->ring = number % EVENTRING_RINGS;
  track->incarnation = incarnation;
  track->lane = lane;
  ring->track[lane] = track;
  t->introduce(t->context, track);
  return track;
}

/* Takes a row for a context that has none. Returns 0 if all rows are in use. */
static uint32_t take_lane(struct export_tracks *t, uint32_t number, uint32_t incarnation,
                          uint64_t context) {
  struct export_ring_tracks *ring = ring_of(t, number, incarnation);
  struct export_lane *made = t->lanes.used < MOST_LANES ? malloc(sizeof *made) : NULL;
  if (!made) return 0;
  *made = (struct export_lane){.context = context, .ring = number};
  uintptr_t *value = evr_table_take(&t->lanes, hash_of(context, number), is_lane, NULL, made);
  if (!value) {
    free(made);
    return 0;
  }
  *value = (uintptr_t)made;
  made->lane = ring->idle_count ? ring->idle[--ring->idle_count]
                                   : ring->lanes ? ring->lanes : 1;
  return made->lane;
}

static uint32_t number_of(uint32_t domain, uint8_t ring) {
  return (domain % EVENTRING_MAX_DOMAINS) * EVENTRING_RINGS + ring % EVENTRING_RINGS;
}

struct export_track *export_track_of_ring(struct export_tracks *t, uint32_t domain,
                                          uint32_t incarnation, uint8_t ring) {
  return track_at(t, number_of(domain, ring), incarnation, 0);
}

struct export_track *export_track_find(struct export_tracks *t,
                                       const struct eventring_event *event) {
  uint32_t number = number_of(event->domain, event->ring), lane = 0;
  ring_of(t, number, event->incarnation);
  const struct export_lane *known = event->context ? lane_of(t, event->context, number) : NULL;
  if (known) lane = known->lane;
  bool opens = event->kind == EVENTRING_BEGIN;
  if (event->context && !lane && opens)
    lane = take_lane(t, number, event->incarnation, event->context);
  struct export_track *track = track_at(t, number, event->incarnation, lane);
  t->last = !event->context || lane ? track : NULL;
  t->last_context = event->context;
  return track;
}

void export_track_leave(struct export_tracks *t, const struct eventring_event *end) {
  uint32_t number = number_of(end->domain, end->ring);
  struct export_lane *lane = lane_of(t, end->context, number);
  struct export_ring_tracks *ring = &t->rings[number];
  if (!lane) return;
  if (ring->idle_count < ring->room) ring->idle[ring->idle_count++] = lane->lane;
  drop_lane(t, lane);
  t->last = NULL;
}

/* ---- Values of begins ------------------------------------------------------------- */

static bool grow_held(struct export_track *track, size_t size) {
  if (!EVR_MAKE_ROOM(track->held, track->held_room, track->held_count, 8)) return false;
  if (size > track->held_text_room) {
    char *text = realloc(track->held_text, 2 * size);
    if (!text) return false;
    track->held_text = text;
    track->held_text_room = 2 * size;
  }
  return true;
}

/* Forgets spans at this depth and deeper: they are over. */
static void drop_held(struct export_tracks *t, struct export_track *track, uint32_t depth) {
  while (track->held_count && track->held[track->held_count - 1].depth >= depth)
    t->held_bytes -= track->held[--track->held_count].size;
}

void export_hold(struct export_tracks *t, struct export_track *track, uint32_t depth,
                 const char *text, size_t size) {
  drop_held(t, track, depth);
  uint32_t from = 0;
  if (track->held_count) {
    const struct export_held *top = &track->held[track->held_count - 1];
    from = top->from + top->size;
  }
  if (t->held_bytes + size > MOST_HELD || !grow_held(track, from + size)) return;
  memcpy(track->held_text + from, text, size);
  track->held[track->held_count++] =
      (struct export_held){.depth = depth, .from = from, .size = (uint32_t)size};
  t->held_bytes += size;
}

const char *export_held(struct export_tracks *t, struct export_track *track, uint32_t depth,
                        size_t *size) {
  drop_held(t, track, depth + 1);
  if (!track->held_count) return NULL;
  const struct export_held *top = &track->held[track->held_count - 1];
  if (top->depth != depth) return NULL;
  *size = top->size;
  track->held_count--;
  t->held_bytes -= top->size;
  return track->held_text + top->from;
}

/* ---- Names ------------------------------------------------------------------------ */

uint32_t export_domain_text(char text[EXPORT_DOMAIN_TEXT], eventring_cursor *cursor,
                            uint32_t domain, uint32_t incarnation, int32_t *tid) {
  struct eventring_domain_info info = {.size = sizeof info};
  bool known = eventring_cursor_life(cursor, domain, incarnation, &info) == 0 ||
               (eventring_cursor_domain(cursor, domain, &info) == 0 &&
                info.incarnation == incarnation);
  if (!known) info.name[0] = '\0', info.process = 0, info.tid = 0;
  snprintf(text, EXPORT_DOMAIN_TEXT, "%" PRIu32 "%s%s", domain, info.name[0] ? " " : "", info.name);
  *tid = info.tid;
  return info.process;
}
