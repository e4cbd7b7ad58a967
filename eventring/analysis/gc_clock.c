/* SPDX-License-Identifier: MIT */
/* gc_clock.c: watched time and time in the collector of one ring. */
#include "analysis/gc_clock.h"

#include "analysis/saturating.h"

/* Adds what the open span covers of the present stretch up to `until`. */
static void add_open_part(struct eva_gc_clock *clock, uint64_t until) {
  uint64_t begin =
      clock->open_since > clock->from ? clock->open_since : clock->from;
  if (clock->running && until > begin)
    clock->in_gc = eva_add(clock->in_gc, until - begin);
}

static void begin_stretch(struct eva_gc_clock *clock, uint64_t ns) {
  clock->running = true;
  clock->from = clock->last = ns;
}

static void end_stretch(struct eva_gc_clock *clock) {
  if (!clock->running) return;
  if (clock->open) add_open_part(clock, clock->last);
  clock->watched = eva_add(clock->watched, clock->last - clock->from);
  clock->running = false;
}

static void see_begin(struct eva_gc_clock *clock,
                      const struct eventring_event *event) {
  if (clock->open && event->depth > clock->open_depth) return;
  clock->open = true;
  clock->open_since = event->ns;
  clock->open_depth = event->depth;
}

static void see_end(struct eva_gc_clock *clock, const struct eventring_event *event) {
  if (!clock->open || event->depth > clock->open_depth) return;
  /* a torn one was counted up to the gap that tore it */
  if (event->flags & EVENTRING_MATCHED) add_open_part(clock, event->ns);
  clock->open = false;
}

void eva_gc_clock_event(struct eva_gc_clock *clock,
                    const struct eventring_event *event) {
  if (event->incarnation != clock->incarnation) {
    end_stretch(clock);
    clock->open = false;
    clock->incarnation = event->incarnation;
  }
  if (!(event->flags & EVENTRING_SYNTHETIC)) {
    if (!clock->running) begin_stretch(clock, event->ns);
    if (event->ns > clock->last) clock->last = event->ns;
  }
  if (event->kind == EVENTRING_LIFECYCLE && event->id == EVENTRING_ID_PAUSE)
    end_stretch(clock);
  if (event->event_class != EVENTRING_CLASS_GC) return;
  if (event->kind == EVENTRING_BEGIN) see_begin(clock, event);
  if (event->kind == EVENTRING_END) see_end(clock, event);
}

void eva_gc_clock_lost(struct eva_gc_clock *clock, const struct eventring_loss *loss) {
  end_stretch(clock);
  if (loss->incarnation != clock->incarnation) clock->open = false;
  clock->incarnation = loss->incarnation;
  begin_stretch(clock, loss->ns);
}

void eva_gc_clock_stop(struct eva_gc_clock *clock, uint64_t end) {
  if (clock->running && end > clock->last) clock->last = end;
  end_stretch(clock);
}
