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

/* Lanes of a ring: their tracks, and those that are free. */
struct export_ring_tracks {
  struct export_track **track; /* by lane; NULL: not made yet */
  uint32_t *idle;              /* lanes that no context has, the last one first */
  uint32_t room, lanes, idle_count;
  uint32_t incarnation;
};

/* A context that has a lane; lane 0: the place is empty. */
struct export_lane {
  uint64_t context;
  uint32_t place; /* slot and ring */
  uint32_t lane;
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
  free(t->lanes);
  *t = (struct export_tracks){0};
}

/* ---- Lanes of contexts ---------------------------------------------------------------- */

static size_t hash_of(uint64_t context, uint32_t place) {
  uint64_t x = (context ^ (uint64_t)place << 48) * 0x9e3779b97f4a7c15;
  return (size_t)(x ^ x >> 32);
}

/* The place of a context in the table: its own, or the empty one where it would be. */
static struct export_lane *lane_place(const struct export_tracks *t, uint64_t context,
                                      uint32_t place) {
  for (size_t at = hash_of(context, place);; at++) {
    struct export_lane *lane = &t->lanes[at & (t->lanes_room - 1)];
    if (!lane->lane || (lane->context == context && lane->place == place)) return lane;
  }
}

static bool grow_lanes(struct export_tracks *t) {
  if (t->lanes_used * 2 < t->lanes_room) return true;
  struct export_lane *before = t->lanes;
  size_t count = t->lanes_room, room = count ? 2 * count : 64;
  struct export_lane *lanes = calloc(room, sizeof *lanes);
  if (!lanes) return false;
  t->lanes = lanes;
  t->lanes_room = room;
  for (size_t i = 0; i < count; i++)
    if (before[i].lane) *lane_place(t, before[i].context, before[i].place) = before[i];
  free(before);
  return true;
}

/* Empties a place, and moves what was put behind it because it was taken. */
static void empty_lane(struct export_tracks *t, struct export_lane *lane) {
  size_t mask = t->lanes_room - 1, hole = (size_t)(lane - t->lanes);
  t->lanes[hole].lane = 0;
  t->lanes_used--;
  for (size_t at = (hole + 1) & mask; t->lanes[at].lane; at = (at + 1) & mask) {
    size_t home = hash_of(t->lanes[at].context, t->lanes[at].place) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    t->lanes[hole] = t->lanes[at];
    t->lanes[at].lane = 0;
    hole = at;
  }
}

/* ---- Tracks of a ring --------------------------------------------------------------------- */

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

/* Contexts of the domain that was in the slot before have no lanes any more. */
static void forget_contexts(struct export_tracks *t, uint32_t place) {
  for (size_t i = 0; i < t->lanes_room;)
    if (t->lanes[i].lane && t->lanes[i].place == place) empty_lane(t, &t->lanes[i]);
    else i++;
}

static struct export_ring_tracks *ring_of(struct export_tracks *t, uint32_t place,
                                          uint32_t incarnation) {
  struct export_ring_tracks *ring = &t->rings[place];
  if (ring->incarnation == incarnation) return ring;
  forget_contexts(t, place);
  free_ring(t, ring);
  *ring = (struct export_ring_tracks){.incarnation = incarnation};
  t->last = NULL;
  return ring;
}

static struct export_track *track_at(struct export_tracks *t, uint32_t place, uint32_t incarnation,
                                     uint32_t lane) {
  struct export_ring_tracks *ring = ring_of(t, place, incarnation);
  while (ring->lanes <= lane) {
    if (!grow_ring(ring)) return NULL;
    ring->track[ring->lanes++] = NULL;
  }
  struct export_track *track = ring->track[lane];
  if (track) return track;
  track = calloc(1, sizeof *track);
  if (!track) return NULL;
  track->id = ++t->count;
  track->domain = place / EVENTRING_RINGS;
  track->ring = place % EVENTRING_RINGS;
  track->incarnation = incarnation;
  track->lane = lane;
  ring->track[lane] = track;
  t->introduce(t->context, track);
  return track;
}

/* A lane for a context that has none; 0: there are enough. */
static uint32_t take_lane(struct export_tracks *t, uint32_t place, uint32_t incarnation,
                          uint64_t context) {
  struct export_ring_tracks *ring = ring_of(t, place, incarnation);
  if (t->lanes_used >= MOST_LANES || !grow_lanes(t)) return 0;
  uint32_t lane = ring->idle_count ? ring->idle[--ring->idle_count]
                                   : ring->lanes ? ring->lanes : 1;
  *lane_place(t, context, place) = (struct export_lane){context, place, lane};
  t->lanes_used++;
  return lane;
}

static uint32_t place_of(uint32_t domain, uint8_t ring) {
  return (domain % EVENTRING_MAX_DOMAINS) * EVENTRING_RINGS + ring % EVENTRING_RINGS;
}

struct export_track *export_track_of_ring(struct export_tracks *t, uint32_t domain,
                                          uint32_t incarnation, uint8_t ring) {
  return track_at(t, place_of(domain, ring), incarnation, 0);
}

struct export_track *export_track_find(struct export_tracks *t,
                                       const struct eventring_event *event) {
  uint32_t place = place_of(event->domain, event->ring), lane = 0;
  ring_of(t, place, event->incarnation);
  if (event->context && t->lanes_room) lane = lane_place(t, event->context, place)->lane;
  bool opens = event->kind == EVENTRING_BEGIN;
  if (event->context && !lane && opens)
    lane = take_lane(t, place, event->incarnation, event->context);
  struct export_track *track = track_at(t, place, event->incarnation, lane);
  t->last = !event->context || lane ? track : NULL;
  t->last_context = event->context;
  return track;
}

void export_track_leave(struct export_tracks *t, const struct eventring_event *end) {
  uint32_t place = place_of(end->domain, end->ring);
  if (!t->lanes_room) return;
  struct export_lane *lane = lane_place(t, end->context, place);
  struct export_ring_tracks *ring = &t->rings[place];
  if (!lane->lane) return;
  if (ring->idle_count < ring->room) ring->idle[ring->idle_count++] = lane->lane;
  empty_lane(t, lane);
  t->last = NULL;
}

/* ---- What begins have said ----------------------------------------------------------------- */

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

/* ---- Names ------------------------------------------------------------------------------ */

uint32_t export_domain_text(char text[EXPORT_DOMAIN_TEXT], eventring_cursor *cursor,
                            uint32_t domain, uint32_t incarnation, int32_t *tid) {
  struct eventring_domain_info info;
  bool known = eventring_cursor_life(cursor, domain, incarnation, &info) == 0 ||
               (eventring_cursor_domain(cursor, domain, &info) == 0 &&
                info.incarnation == incarnation);
  if (!known) info.name[0] = '\0', info.process = 0, info.tid = 0;
  snprintf(text, EXPORT_DOMAIN_TEXT, "%" PRIu32 "%s%s", domain, info.name[0] ? " " : "", info.name);
  *tid = info.tid;
  return info.process;
}
