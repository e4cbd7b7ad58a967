/* SPDX-License-Identifier: MIT */
/* frames.c: see frames.h.
 *
 * A domain has a few open frames, and frames that have ended and wait. These wait for the
 * reading after their end, or for a loss: a loss becomes known only with the next event,
 * and the frames may lie in the gap. The next pause shows both at the latest. Each
 * reading is added to the open and the waiting frames when it comes, so no reading is
 * kept. Once MOST_WAITING frames have ended since the last pause, they do not wait any
 * longer. A frame that is open within MOST_OPEN others is not followed: only its end is
 * known. */
#include "analysis/frames.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/conditions.h"
#include "format/array.h"

enum { MOST_OPEN = 64, MOST_WAITING = 1 << 16, FIRST_WAITING = 16 };

struct reading { /* ns for which the thread was off the processor between two moments */
  uint64_t from, to, off;
};

struct followed {
  uint64_t begin_ns, end_ns; /* end_ns is UINT64_MAX while the frame is open */
  uint64_t off, pauses_off;  /* ns off the processor in the whole frame, and in its
                                pauses */
  uint64_t pauses;
  bool is_read; /* readings had begun before the frame, and none was lost since its
                   begin */
};

struct open {
  struct followed followed;
  uint64_t context;
  uint32_t depth;
  uint8_t ring;
};

struct waiting {
  struct followed followed;
  struct eva_frame frame;
};

struct domain {
  uint32_t incarnation;
  struct eventring_pause pause;
  uint64_t read_until; /* time of the last reading; 0: none, or some were lost */
  uint64_t latest_ns;  /* time of the newest event of the collector's ring */
  unsigned open_count;
  struct open open[MOST_OPEN];
  struct waiting *waiting;
  size_t waiting_count, waiting_room;
};

struct eva_frames {
  const char *name;
  eva_frame_callback *report;
  void *context;
  struct domain *domain[EVENTRING_MAX_DOMAINS]; /* NULL: no frame and no pause has come */
};

enum eva_frame_cause eva_frame_cause(const struct eva_frame *frame, uint64_t limit) {
  if (!frame->knows_collector) return EVA_FRAME_UNKNOWN;
  if (frame->program > limit) return EVA_FRAME_PROGRAM;
  return frame->program + frame->collector > limit ? EVA_FRAME_COLLECTOR : EVA_FRAME_OFF_CPU;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- Frames that have ended -------------------------------------------------------- */

/* Reports a frame. `off`: ns for which the thread was off the processor in the whole
   frame. */
static void report(struct eva_frames *frames, const struct followed *followed,
                   struct eva_frame *frame, uint64_t off) {
  const uint64_t under_pauses = frame->knows_collector ? frame->collector : 0;
  frame->pauses = followed->pauses;
  frame->collector = under_pauses - least(followed->pauses_off, under_pauses);
  frame->off_cpu = least(off, frame->ns - frame->collector);
  frame->program = frame->ns - frame->collector - frame->off_cpu;
  frames->report(frames->context, frame);
}

static void report_waiting(struct eva_frames *frames, struct domain *domain) {
  for (size_t i = 0; i < domain->waiting_count; i++) {
    struct waiting *w = &domain->waiting[i];
    w->frame.knows_off_cpu = w->followed.is_read && domain->read_until >= w->followed.end_ns;
    report(frames, &w->followed, &w->frame, w->followed.off);
  }
  domain->waiting_count = 0;
}

static void forget(struct eva_frames *frames, struct domain *domain) {
  report_waiting(frames, domain);
  domain->open_count = 0;
  domain->read_until = domain->latest_ns = 0;
  domain->pause.open = false;
}

/* Returns the domain of a slot, made if there is none yet; NULL: no memory. A new
   incarnation replaces all that was known of the one before. */
static struct domain *domain_of(struct eva_frames *frames, uint32_t slot, uint32_t incarnation) {
  struct domain **kept = &frames->domain[slot % EVENTRING_MAX_DOMAINS];
  if (!*kept && !(*kept = calloc(1, sizeof **kept))) return NULL;
  if ((*kept)->incarnation != incarnation) forget(frames, *kept);
  (*kept)->incarnation = incarnation;
  return *kept;
}

/* ---- Begins and ends --------------------------------------------------------------- */

/* Takes the frame that the event ends or begins anew out of the open ones. Returns false
   if it is none of the open frames. */
static bool take_open(struct domain *domain, const struct eventring_event *event,
                      struct followed *taken) {
  for (unsigned i = domain->open_count; i-- > 0;) {
    struct open *open = &domain->open[i];
    if (open->ring != event->ring || open->context != event->context ||
        open->depth != event->depth)
      continue;
    *taken = open->followed;
    domain->open_count--;
    memmove(open, open + 1, (domain->open_count - i) * sizeof *open);
    return true;
  }
  return false;
}

static void begin(struct domain *domain, const struct eventring_event *event) {
  struct followed unended;
  take_open(domain, event, &unended);
  if (domain->open_count == MOST_OPEN) return;
  const bool is_read = domain->read_until > 0 && !(event->flags & EVENTRING_SYNTHETIC);
  domain->open[domain->open_count++] =
      (struct open){.followed = {.begin_ns = event->ns, .end_ns = UINT64_MAX, .is_read = is_read},
                    .context = event->context, .depth = event->depth, .ring = event->ring};
}

static int wait_for_pause(struct eva_frames *frames, struct domain *domain,
                          const struct waiting *frame) {
  if (domain->waiting_count == MOST_WAITING) report_waiting(frames, domain);
  if (!EVR_MAKE_ROOM(domain->waiting, domain->waiting_room, domain->waiting_count, FIRST_WAITING))
    return EVENTRING_E_MEMORY;
  domain->waiting[domain->waiting_count++] = *frame;
  return EVENTRING_OK;
}

static int end(struct eva_frames *frames, struct domain *domain,
               const struct eventring_event *event, const struct eva_span_time *time) {
  struct waiting ended = {.followed = {0}};
  const int64_t off = eventring_event_off_cpu(event);
  const bool was_open = take_open(domain, event, &ended.followed);
  if (!time) return EVENTRING_OK;
  ended.followed.end_ns = event->ns;
  if (!was_open || ended.followed.begin_ns != event->begin_ns)
    ended.followed = (struct followed){.begin_ns = event->begin_ns, .end_ns = event->ns};
  ended.frame = (struct eva_frame){
      .begin_ns = event->begin_ns, .ns = time->ns, .context = event->context,
      .domain = event->domain, .incarnation = event->incarnation, .id = event->id,
      .collector = time->part[EVA_COLLECTOR], .knows_collector = time->knows_parts};
  if (off < 0) return wait_for_pause(frames, domain, &ended);
  ended.frame.knows_off_cpu = true;
  report(frames, &ended.followed, &ended.frame, (uint64_t)off);
  return EVENTRING_OK;
}

/* ---- Readings ---------------------------------------------------------------------- */

/* Returns how much of from .. to the frame `f` covers, in ns. */
static uint64_t part_of(const struct followed *f, uint64_t from, uint64_t to) {
  if (f->begin_ns > from) from = f->begin_ns;
  to = least(to, f->end_ns);
  return to > from ? to - from : 0;
}

/* Returns how much of a reading the frames cover, each moment once. The waiting frames
   are in the order of their ends, so each adds only what lies before the begins of those
   behind it. */
static uint64_t covered(const struct domain *domain, const struct reading *reading) {
  uint64_t sum = 0, until = reading->to;
  for (unsigned i = 0; i < domain->open_count; i++)
    until = least(until, domain->open[i].followed.begin_ns);
  if (until < reading->from) until = reading->from;
  sum = reading->to - until;
  for (size_t i = domain->waiting_count; i-- > 0 && until > reading->from;) {
    const struct followed *f = &domain->waiting[i].followed;
    sum += part_of(f, reading->from, until);
    until = least(until, f->begin_ns);
  }
  return sum;
}

/* Adds a reading to the frames. Outside frames the thread may have been off the processor
   all the time, so only the rest of the reading was in the frames; it is spread evenly
   over the time that they cover. */
static void add_reading(struct domain *domain, const struct reading *reading) {
  const uint64_t within = covered(domain, reading);
  const uint64_t outside = reading->to - reading->from - within;
  const uint64_t off = reading->off > outside ? least(reading->off - outside, within) : 0;
  domain->read_until = reading->to;
  if (!off) return;
  for (size_t i = 0; i < domain->open_count + domain->waiting_count; i++) {
    struct followed *f = i < domain->open_count ? &domain->open[i].followed
                                                : &domain->waiting[i - domain->open_count].followed;
    f->off += (uint64_t)((unsigned __int128)part_of(f, reading->from, reading->to) * off / within);
  }
}

/* Takes a counter OFF_CPU as a reading of the time since the reading before it. */
static void take_counter(struct domain *domain, const struct eventring_event *event) {
  const bool is_it = event->def && event->def->quantity == EVENTRING_QUANTITY_OFF_CPU &&
                     event->payload == EVENTRING_INT && event->value.i >= 0;
  if (!is_it || event->ns < domain->read_until) return;
  if (domain->read_until)
    add_reading(domain, &(struct reading){domain->read_until, event->ns, event->value.u});
  domain->read_until = event->ns;
}

/* Takes the begin of a span of class gc. If it begins a pause, no frame waits any longer;
   if the pause is measured, all time before it has been read. */
static void begin_pause(struct eva_frames *frames, struct domain *domain,
                        const struct eventring_event *event) {
  const bool is_outermost = !domain->pause.open || event->depth <= domain->pause.depth;
  eventring_pause_begin(&domain->pause, event->depth, event->id, event->ns);
  if (!is_outermost) return;
  if (event->def && event->def->measure == EVENTRING_OFF_CPU && event->ns > domain->read_until)
    domain->read_until = event->ns;
  report_waiting(frames, domain);
}

/* Counts a pause in the frame in which it lies. (If a frame and a pause begin or end at
   the same time, these events may be delivered in the wrong order.) */
static void add_pause(struct followed *f, const struct eventring_event *end_of_pause,
                      uint64_t off) {
  if (end_of_pause->begin_ns < f->begin_ns || end_of_pause->ns > f->end_ns) return;
  f->pauses++;
  f->pauses_off += off;
}

static void end_pause(struct domain *domain, const struct eventring_event *event) {
  if (!eventring_pause_end(&domain->pause, event->depth) || eventring_event_took(event) < 0) return;
  const int64_t measured = eventring_event_off_cpu(event);
  const uint64_t off = measured > 0 ? (uint64_t)measured : 0;
  for (unsigned i = 0; i < domain->open_count; i++)
    add_pause(&domain->open[i].followed, event, off);
  for (size_t i = 0; i < domain->waiting_count; i++)
    add_pause(&domain->waiting[i].followed, event, off);
  if (measured >= 0 && event->ns >= domain->read_until)
    add_reading(domain, &(struct reading){event->begin_ns, event->ns, off});
}

static void see_collector(struct eva_frames *frames, struct domain *domain,
                          const struct eventring_event *event) {
  if (event->kind == EVENTRING_COUNTER) take_counter(domain, event);
  else if (event->kind == EVENTRING_BEGIN) begin_pause(frames, domain, event);
  else if (event->kind == EVENTRING_END) end_pause(domain, event);
}

/* ---- All --------------------------------------------------------------------------- */

struct eva_frames *eva_frames_new(const char *name, eva_frame_callback *report_to,
                                  void *context) {
  struct eva_frames *frames = calloc(1, sizeof *frames);
  if (!frames) return NULL;
  frames->name = name;
  frames->report = report_to;
  frames->context = context;
  return frames;
}

void eva_frames_free(struct eva_frames *frames) {
  for (int i = 0; frames && i < EVENTRING_MAX_DOMAINS; i++) {
    if (frames->domain[i]) free(frames->domain[i]->waiting);
    free(frames->domain[i]);
  }
  free(frames);
}

/* Notes up to what time the events of the collector's ring are known. */
static void note_time(const struct eva_frames *frames, const struct eventring_event *event) {
  struct domain *domain = frames->domain[event->domain % EVENTRING_MAX_DOMAINS];
  if (domain && domain->incarnation == event->incarnation && !(event->flags & EVENTRING_SYNTHETIC))
    domain->latest_ns = event->ns;
}

int eva_frames_event(struct eva_frames *frames, const struct eventring_event *event,
                     const struct eva_span_time *time) {
  const bool is_gc = event->event_class == EVENTRING_CLASS_GC;
  const bool is_frame = event->kind <= EVENTRING_END && strcmp(event->name, frames->name) == 0;
  if (is_gc || is_frame) {
    struct domain *domain = domain_of(frames, event->domain, event->incarnation);
    if (!domain) return EVENTRING_E_MEMORY;
    if (is_gc) see_collector(frames, domain, event);
    if (is_frame && event->kind == EVENTRING_BEGIN) begin(domain, event);
    else if (is_frame && end(frames, domain, event, time) < 0) return EVENTRING_E_MEMORY;
  }
  if (event->ring == EVENTRING_RUNTIME) note_time(frames, event);
  return EVENTRING_OK;
}

void eva_frames_lost(struct eva_frames *frames, const struct eventring_loss *loss) {
  struct domain *domain = frames->domain[loss->domain % EVENTRING_MAX_DOMAINS];
  if (!domain || loss->ring != EVENTRING_RUNTIME) return;
  for (size_t i = 0; i < domain->waiting_count; i++) {
    struct waiting *w = &domain->waiting[i];
    if (w->followed.end_ns > domain->latest_ns) w->frame.knows_collector = false;
  }
  report_waiting(frames, domain);
  for (unsigned i = 0; i < domain->open_count; i++) domain->open[i].followed.is_read = false;
  domain->read_until = 0;
  domain->pause.open = false;
}

void eva_frames_finish(struct eva_frames *frames) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    if (frames->domain[i]) report_waiting(frames, frames->domain[i]);
}
