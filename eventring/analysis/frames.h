/* SPDX-License-Identifier: MIT */
/* frames.h: the frames of a program that draws, plays or responds at a fixed rate: what
 * their time was spent on, and why some took longer than they may.
 *
 * A frame is a span of a given name. Its time has three parts:
 *
 *   collector   pauses in it (outermost spans of class gc), while the thread was on a
 *               processor
 *   off CPU     the time for which the thread was not on a processor, in pauses or
 *               elsewhere
 *   program     the rest, including the time of the spans in it
 *
 * The time under pauses comes from shares.h. The recording has the time off the processor
 * as readings: the end of a pause says how much of it lies in the pause, and the counter
 * of quantity OFF_CPU how much lies between two pauses. If a reading reaches beyond a
 * frame, the thread is taken to have been off the processor all the time between frames,
 * and only the rest counts: "at least". (This is close where a program sleeps between
 * frames and lets the collector work there.) Several frames in one reading share it by
 * their length. A frame waits for the reading after its end, unless the definition of its
 * span has the measure OFF_CPU. Then the end of the span has the exact time.
 *
 * Units: nanoseconds of the recording's clock. Errors: EVENTRING_E_MEMORY; the event is
 * not taken then. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_FRAMES_H
#define EVENTRING_ANALYSIS_FRAMES_H

#include <stdbool.h>

#include "analysis/shares.h"

struct eva_frame {
  uint64_t begin_ns, ns, context;
  uint32_t domain, incarnation;
  uint16_t id;
  uint64_t pauses;       /* pauses that ended in the frame */
  uint64_t collector, off_cpu, program; /* ns of each part, which add up to `ns`;
                                           `collector` is 0 if unknown */
  bool knows_collector;  /* false: events in the frame were lost, or it began before
                            reading */
  bool knows_off_cpu;    /* off_cpu includes the time outside pauses */
};

/* Why a frame took longer than its limit: the part that first took the sum beyond the
   limit, when the parts are added in this order: the program's work, the collector, the
   time off the processor. */
enum eva_frame_cause {
  EVA_FRAME_PROGRAM,
  EVA_FRAME_COLLECTOR,
  EVA_FRAME_OFF_CPU,
  EVA_FRAME_UNKNOWN, /* what the collector did in the frame is not known */
  EVA_FRAME_CAUSES
};
/* Returns why a frame that took longer than `limit` (ns) did so. */
enum eva_frame_cause eva_frame_cause(const struct eva_frame *frame, uint64_t limit);

typedef void eva_frame_callback(void *context, const struct eva_frame *frame);
struct eva_frames;

/* Makes an analysis of the spans called `name`, which must stay valid. NULL: no
   memory. */
struct eva_frames *eva_frames_new(const char *name, eva_frame_callback *report, void *context);
/* Frees `frames`, which may be NULL. */
void eva_frames_free(struct eva_frames *frames);

/* Takes the next event of a merged cursor, after shares.h has taken it. `time`: what
   shares.h says of the span that the event ended; NULL if the event ended no span, or the
   span is not wholly known. */
int eva_frames_event(struct eva_frames *frames, const struct eventring_event *event,
                     const struct eva_span_time *time);
void eva_frames_lost(struct eva_frames *frames, const struct eventring_loss *loss);
/* Reports the frames that wait for a reading, but no open frames. */
void eva_frames_finish(struct eva_frames *frames);

#endif
