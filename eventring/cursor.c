/* cursor.c: all rings of a file, polled.
 *
 * A poll first notes how far each ring has come (its limit), then reads anew what
 * events refer to (definitions, the log of the control page: written before the
 * events that need them), and then delivers up to the limits. Whatever callbacks
 * emit lies beyond the limits: a poll always returns. The one exception, a reader
 * that has been lapped beyond its limit, moves the limit once.
 *
 * Order. Ring by ring, or merged by time. Within a ring events come as written.
 * In a merged poll the next ring to deliver is the one whose next event is the
 * oldest; it goes on until its next event is later than that of the second. An
 * event whose writer was held up between reading the clock and storing the word
 * comes with the next poll, after later ones of other rings.
 */
#include "recorder.h"
#include "reader.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGE_BUDGET = 4096 /* unreadable blocks that one poll looks at */ };

/* ---- Lanes ------------------------------------------------------------------------ */

/* Makes lanes for the slots laid out since. */
static int make_lanes(eventring_cursor *c, struct eventring_error *error) {
  for (unsigned i = 0; i < c->trace.status.laid_out * EVENTRING_RINGS; i++)
    if (!c->lane[i] &&
        !(c->lane[i] = evr_lane_new(i / EVENTRING_RINGS, i % EVENTRING_RINGS)))
      return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  return EVENTRING_OK;
}

static void join_lanes(eventring_cursor *c) {
  unsigned budget = DAMAGE_BUDGET;
  bool now = c->flags & EVENTRING_OPEN_NOW;
  for (unsigned i = 0; i < EVR_LANES && c->lane[i]; i++)
    evr_lane_join(&c->trace, c->lane[i], now, true, &budget);
}

/* ---- Opening and closing ------------------------------------------------------------ */

static void destroy(eventring_cursor *c) {
  for (unsigned i = 0; i < EVR_LANES; i++) evr_lane_free(c->lane[i]);
  evr_trace_close(&c->trace);
  free(c);
}

int evr_cursor_open(eventring_cursor **cursor, struct evr_source source,
                    const char *path, unsigned flags,
                    struct eventring_error *error) {
  struct eventring_error cause = {0};
  eventring_cursor *c = calloc(1, sizeof *c);
  if (!c) {
    evr_source_close(&source);
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  }
  c->trace.source = source;
  c->flags = flags;
  snprintf(c->trace.path, sizeof c->trace.path, "%s", path);
  int status = evr_trace_open(&c->trace, &cause);
  if (status == EVENTRING_OK) status = make_lanes(c, &cause);
  if (status != EVENTRING_OK) {
    destroy(c);
    return evr_fail(error, status, cause.sys_errno, "%.200s: %s", path, cause.text);
  }
  join_lanes(c);
  *cursor = c;
  return EVENTRING_OK;
}

int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error) {
  char path[PATH_MAX];
  struct evr_source source = {.fd = -1};
  if (!cursor) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor");
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r) {
    source.own = r;
    snprintf(path, sizeof path, "%s", r->path);
    evr_recording_hold_locked(r);
  }
  evr_unlock();
  if (!r)
    return evr_fail(error, EVENTRING_E_STATE, 0, "this process does not record");
  return evr_cursor_open(cursor, source, path, flags, error);
}

int eventring_close(eventring_cursor *c) {
  if (!c) return EVENTRING_OK;
  if (c->busy) return EVENTRING_E_BUSY;
  destroy(c);
  return EVENTRING_OK;
}

/* ---- Polling --------------------------------------------------------------------------- */

/* Refines the clock of this process's own recording; see recording.c. */
static void recalibrate_own(struct evr_recording *r) {
  uint64_t at = __atomic_load_n(&r->recalibrate_at, __ATOMIC_RELAXED);
  if (evr_clock_ticks(r->clock) < at) return;
  evr_lock();
  if (!r->ended) evr_recording_recalibrate_locked(r);
  evr_unlock();
}

static int set_limits(eventring_cursor *c, struct evr_sink *sink) {
  if (c->trace.source.own) recalibrate_own(c->trace.source.own);
  int status = evr_trace_refresh(&c->trace, &c->error);
  if (status == EVENTRING_OK) status = make_lanes(c, &c->error);
  unsigned lanes = c->trace.status.laid_out * EVENTRING_RINGS;
  for (unsigned i = 0; status == EVENTRING_OK && i < lanes; i++)
    evr_lane_limit(&c->trace, c->lane[i], &sink->budget);
  return status == EVENTRING_OK ? evr_trace_catch_up(&c->trace, &c->error) : status;
}

static void poll_ring_by_ring(eventring_cursor *c, struct evr_sink *sink) {
  for (unsigned i = 0; i < EVR_LANES && c->lane[i] && !sink->stopped; i++)
    evr_lane_drain(&c->trace, c->lane[i], UINT64_MAX, sink);
}

/* Of the lanes that have something: the one to go first, and until when. */
static struct evr_lane *earliest(struct evr_lane **active, unsigned count,
                                 uint64_t *until) {
  struct evr_lane *first = NULL;
  uint64_t first_ns = UINT64_MAX;
  *until = UINT64_MAX;
  for (unsigned i = 0; i < count; i++) {
    uint64_t ns = active[i]->item.order_ns;
    if (!first || ns < first_ns) {
      *until = first ? first_ns : UINT64_MAX;
      first = active[i];
      first_ns = ns;
    } else if (ns < *until) {
      *until = ns;
    }
  }
  return first;
}

static void poll_merged(eventring_cursor *c, struct evr_sink *sink) {
  struct evr_lane *active[EVR_LANES];
  unsigned count = 0;
  for (unsigned i = 0; i < EVR_LANES && c->lane[i]; i++)
    if (evr_lane_peek(&c->trace, c->lane[i], &sink->budget)) active[count++] = c->lane[i];
  while (count && !sink->stopped) {
    uint64_t until;
    struct evr_lane *lane = earliest(active, count, &until);
    bool more = evr_lane_drain(&c->trace, lane, until, sink);
    for (unsigned i = 0; !more && i < count; i++)
      if (active[i] == lane) active[i--] = active[--count];
  }
}

/* Damage is told once, then reading goes on with what is sound. */
static int take_damage(eventring_cursor *c) {
  int code = c->trace.damage.code;
  if (code) c->error = c->trace.damage;
  c->trace.damage.code = 0;
  return code;
}

static int poll_all(eventring_cursor *c, struct evr_sink *sink) {
  /* asked before the limits are set: what a dead producer has written is all
     within them */
  bool over = evr_trace_liveness(&c->trace) != EVENTRING_LIVE;
  int status = set_limits(c, sink);
  if (status != EVENTRING_OK) {
    c->finished = over;
    return status;
  }
  (c->flags & EVENTRING_OPEN_MERGED ? poll_merged : poll_ring_by_ring)(c, sink);
  status = take_damage(c);
  c->finished = over && !sink->stopped && sink->budget > 0;
  return status;
}

int eventring_poll(eventring_cursor *c, const struct eventring_callbacks *callbacks,
                   void *context, uint64_t max) {
  if (!c) return EVENTRING_E_ARGUMENT;
  if (c->busy) return EVENTRING_E_BUSY;
  struct evr_sink sink = {.context = context, .left = max ? max : UINT64_MAX,
                          .budget = DAMAGE_BUDGET};
  if (callbacks) sink.callbacks = *callbacks;
  c->busy = true;
  int status = poll_all(c, &sink);
  c->busy = false;
  if (status != EVENTRING_OK) return status;
  return sink.delivered > INT_MAX ? INT_MAX : (int)sink.delivered;
}

const struct eventring_error *eventring_cursor_error(const eventring_cursor *c) {
  return &c->error;
}

bool eventring_finished(eventring_cursor *c) { return c->finished; }

enum eventring_liveness eventring_cursor_liveness(eventring_cursor *c) {
  return evr_trace_liveness(&c->trace);
}
