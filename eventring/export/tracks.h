/* SPDX-License-Identifier: MIT */
/* tracks.h: the rows of a timeline; in each row spans are properly nested.
 *
 * Spans nest within their context and ring. So each ring of a domain has row 0, for the
 * spans that belong to no context and for all other events. A context has a row of its
 * own as long as it has open spans. Then the row is free for another context, so there
 * are only as many rows as there are contexts with open spans at a time. A track is a row
 * of one incarnation. (In names, a row of a ring is called a lane.)
 *
 * A new incarnation of a domain gets new tracks. Memory follows the largest number of
 * rows at a time, at most MOST_LANES over all rings; contexts beyond that share row 0.
 */
#ifndef EVENTRING_EXPORT_TRACKS_H
#define EVENTRING_EXPORT_TRACKS_H

#include "eventring/read.h"
#include "format/table.h"

/* The value of a span's begin, kept until its end; see export_hold. */
struct export_held {
  uint32_t depth;
  uint32_t from, size; /* position in held_text of the track */
};

struct export_track {
  uint32_t id;         /* from 1 */
  uint32_t domain, incarnation, lane;
  uint8_t ring, text_size;
  char text[64];       /* what the exporter repeats in each event of the track;
                          `introduce` fills it in */
  struct export_held *held;
  uint32_t held_count, held_room;
  char *held_text;
  size_t held_text_room;
};

struct export_ring_tracks;

struct export_tracks {
  /* The track that was found last, and its context. */
  struct export_track *last;
  uint64_t last_context;
  /* Called for each new track before its first use. */
  void (*introduce)(void *context, struct export_track *track);
  void *context;
  uint32_t count;  /* number of tracks so far */
  uint64_t held_bytes;
  struct export_ring_tracks *rings; /* by slot and ring */
  struct evr_table lanes; /* rows of contexts, struct export_lane */
};

/* Prepares for tracks. Returns 0, or -1 when out of memory. */
int export_tracks_open(struct export_tracks *tracks,
                       void (*introduce)(void *context, struct export_track *track),
                       void *context);
void export_tracks_close(struct export_tracks *tracks);

/* Returns the track of an event (of a begin, an end, or another), or NULL when out of
   memory. */
struct export_track *export_track_find(struct export_tracks *tracks,
                                       const struct eventring_event *event);
static inline struct export_track *export_track_of(struct export_tracks *tracks,
                                                   const struct eventring_event *event) {
  struct export_track *last = tracks->last;
  if (__builtin_expect(last && last->domain == event->domain && last->ring == event->ring &&
                           last->incarnation == event->incarnation &&
                           tracks->last_context == event->context, 1))
    return last;
  return export_track_find(tracks, event);
}
/* Returns the track of row 0 of a ring, for losses, or NULL when out of memory. */
struct export_track *export_track_of_ring(struct export_tracks *tracks, uint32_t domain,
                                          uint32_t incarnation, uint8_t ring);
/* Frees the row of a context after an end that leaves it without open spans. */
void export_track_leave(struct export_tracks *tracks, const struct eventring_event *end);
static inline void export_track_ended(struct export_tracks *tracks,
                                      const struct eventring_event *end) {
  if (end->context && !end->depth) export_track_leave(tracks, end);
}

/* Keeps text that belongs to a span that has begun, until it ends. At most 16 MiB are
   kept; text beyond that is dropped. */
void export_hold(struct export_tracks *tracks, struct export_track *track, uint32_t depth,
                 const char *text, size_t size);
/* Returns the text of the span that ends, and stores its size in *size; NULL if there is
   none. Valid until the next call of export_hold. */
const char *export_held(struct export_tracks *tracks, struct export_track *track,
                        uint32_t depth, size_t *size);

/* The slot and the name of a domain, as users see it: "0 main". */
enum { EXPORT_DOMAIN_TEXT = EVENTRING_MAX_DOMAIN_NAME + 16 };
/* Writes the slot and name of a domain, and stores its thread in *tid. Returns the number
   of its process (eventring_cursor_process), which is 0 for the recording's own
   process. */
uint32_t export_domain_text(char text[EXPORT_DOMAIN_TEXT], eventring_cursor *cursor,
                            uint32_t domain, uint32_t incarnation, int32_t *tid);

#endif
