/* SPDX-License-Identifier: MIT */
/* events.h: takes the events of a recording once, for all parts of a page that use them.
 *
 * The cursor is merged. Most events come in batches, from which only figures are taken. A
 * batch is taken as a whole if it lies in one cell (an interval of time, grid.h) and
 * drives no clock; all other events are taken one by one.
 *
 * Each event passes, in this order:
 *
 *   the grid       is made to reach it (grid.h)
 *   cells          take what the tally had until now, when time goes to another cell
 *                  (cells.h)
 *   tally          counts it, as `stats` does
 *   shares, steps  find what the time of spans was spent on, and where the collector ran
 *   spans          keep the spans that are shown one by one (spans.h)
 *   moments        instants and links
 *   pauses         steps
 *   parts          the parts of the command that take events by themselves (part.h)
 *
 * Errors: the first one, EVENTRING_E_MEMORY, ends each poll from then on (`status`).
 * Threads: that of the cursor.
 */
#ifndef EVENTRING_VIEW_EVENTS_H
#define EVENTRING_VIEW_EVENTS_H

#include "analysis/shares.h"
#include "analysis/steps.h"
#include "analysis/tally.h"
#include "export/tracks.h"
#include "view/page.h"

struct page_events {
  struct page_run *run;
  struct page *page;        /* whose parts may take events, too */
  struct eva_tally *tally;
  struct page_cells *cells;
  const uint32_t *cells_now;       /* page_cells_now of `cells` */
  struct page_spans *spans;        /* owned by the queue until reading is over */
  struct page_spans_queue *queue;  /* NULL once reading is over */
  struct page_moments *moments;
  struct page_pauses *pauses;
  struct page_texts *texts;
  struct eva_shares *shares;
  struct eva_steps steps;
  struct export_tracks tracks;
  uint64_t last_ns[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* times of the last events */
  struct page_cell_at now; /* cell of the last event */
  struct {          /* the track of the last event that has one */
    uint64_t context;
    uint32_t id, track; /* id: that of export_track, 0 if there is none; track: index in
                           the lists */
  } last_track;
  uint64_t end_ns; /* the last moment of all parts */
  uint64_t classes; /* classes that parts take by themselves; set after their begin */
  int status;
};

/* Prepares to take events. Returns 0 or EVENTRING_E_MEMORY; must be freed in both
   cases. */
int page_events_begin(struct page_events *events, struct page_run *run, struct page *page);
/* Callbacks for eventring_poll, eventring_cursor_switches and eventring_cursor_batches;
   their context is the struct page_events. */
extern const struct eventring_callbacks page_events_callbacks;
int page_events_switch(void *events, const struct eventring_switch *change);
int page_events_batch(void *events, const struct eventring_batch *batch);
/* Ends reading. Returns `status`. */
int page_events_finish(struct page_events *events);
void page_events_free(struct page_events *events);

#endif
