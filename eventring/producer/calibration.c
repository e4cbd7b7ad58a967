/* SPDX-License-Identifier: MIT */
/* calibration.c: the clock segments of a recording (clock.h).
 *
 * Starting must be quick, so the first rate is the processor's nominal one, or a rough
 * measurement over the start. It is refined while the program runs: soon after the start,
 * then at intervals that double up to MOST_MS. Each refinement adds two segments. The
 * first begins CALIBRATION_LEAD_MS later, so earlier conversions do not change.
 */
#include <string.h>

#include "format/atomics.h"
#include "producer/recording.h"

enum {
  CALIBRATION_LEAD_MS = 100, /* a new clock segment begins this much later */
  CALIBRATION_MIN_US = 50,   /* least time between the first two readings */
  MOST_MS = 2 * 3600 * 1000
};

static void append_segment(struct evr_recording *r, struct format_segment segment) {
  uint64_t words[sizeof segment / 8];
  segment.first = format_record(0, 1, 0);
  memcpy(words, &segment, sizeof segment);
  evr_records_append_locked(&r->records, FORMAT_CLOCK, words, sizeof words / 8);
  memmove(&r->segment[0], &r->segment[1], EVR_LAST_SEGMENT * sizeof segment);
  r->segment[EVR_LAST_SEGMENT] = segment;
  __atomic_store_n(&r->rate, segment.multiplier, __ATOMIC_RELAXED);
}

static uint64_t ticks_of_ms(uint64_t ms, uint64_t multiplier) {
  return (uint64_t)(((unsigned __int128)ms * 1000000u << FORMAT_CLOCK_SHIFT) / multiplier);
}

static uint64_t ticks_of_ms_locked(const struct evr_recording *r, uint64_t ms) {
  return ticks_of_ms(ms, r->segment[EVR_LAST_SEGMENT].multiplier);
}

uint64_t evr_recording_ticks_of_ms(const struct evr_recording *r, uint64_t ms) {
  return ticks_of_ms(ms, r->multiplier);
}

/* Returns the time from calibration number n (0: the start) to the next one. */
static uint64_t interval_ms(unsigned n) {
  static const uint32_t first[] = {20, 1000, 10000, 60000};
  enum { COUNT = sizeof first / sizeof first[0] };
  if (n < COUNT) return first[n];
  unsigned doublings = n - COUNT + 1;
  uint64_t ms = doublings < 8 ? (uint64_t)first[COUNT - 1] << doublings : MOST_MS;
  return ms < MOST_MS ? ms : MOST_MS;
}

static void plan_calibration(struct evr_recording *r, struct evr_pair now) {
  bool done = r->clock == FORMAT_CLOCK_MONOTONIC ||
              !evr_records_have_room_locked(&r->records, FORMAT_CLOCK, 2,
                                            sizeof(struct format_segment) / 8);
  uint64_t interval = ticks_of_ms_locked(r, interval_ms(r->calibrations));
  r->calibrate_at = done ? UINT64_MAX : now.ticks + interval;
}

/* Makes lanes take the slow path for the next calibration or check of the file. */
static void plan_look(struct evr_recording *r, uint64_t now) {
  uint64_t look = now + ticks_of_ms_locked(r, EVR_LINK_LOOK_MS);
  uint64_t at = r->calibrate_at < look ? r->calibrate_at : look;
  __atomic_store_n(&r->recalibrate_at, at, __ATOMIC_RELAXED);
}

void evr_recording_calibrate_first(struct evr_recording *r) {
  uint64_t multiplier = evr_clock_nominal(r->clock);
  struct evr_pair now = evr_clock_pair(r->clock);
  while (!multiplier) {
    if (now.ns - r->origin.ns >= CALIBRATION_MIN_US * 1000u)
      multiplier = evr_clock_measured(r->origin, now);
    now = evr_clock_pair(r->clock);
  }
  append_segment(r, (struct format_segment){.from_ticks = r->origin.ticks,
                                            .from_ns = r->origin.ns,
                                            .multiplier = multiplier});
  for (int i = 0; i < EVR_LAST_SEGMENT; i++) r->segment[i] = r->segment[EVR_LAST_SEGMENT];
  r->calibrated = r->origin;
  r->multiplier = multiplier;
  plan_calibration(r, r->origin);
  plan_look(r, r->origin.ticks);
}

static void calibrate_again(struct evr_recording *r) {
  struct format_segment next[2];
  struct evr_pair now = r->calibrated;
  for (int attempt = 0; attempt < 4; attempt++) {
    now = evr_clock_pair(r->clock);
    uint64_t lead = ticks_of_ms_locked(r, CALIBRATION_LEAD_MS);
    uint64_t interval = ticks_of_ms_locked(r, interval_ms(r->calibrations + 1));
    bool found = evr_next_segments(&r->segment[EVR_LAST_SEGMENT], r->calibrated, now, lead,
                                   interval, next);
    /* after a delay here, the segments would change times that were already delivered */
    if (!found || evr_clock_ticks(r->clock) - now.ticks > lead / 2) continue;
    append_segment(r, next[0]);
    append_segment(r, next[1]);
    r->calibrations++;
    r->calibrated = now;
    break;
  }
  plan_calibration(r, now);
}

void evr_recording_recalibrate_locked(struct evr_recording *r) {
  uint64_t now = evr_clock_ticks(r->clock);
  if (now < r->recalibrate_at) return;
  if (now >= r->calibrate_at) calibrate_again(r);
  plan_look(r, now);
}

uint64_t evr_recording_now_locked(struct evr_recording *r) {
  evr_recording_recalibrate_locked(r);
  const struct evr_conversion conversion = {r->segment, EVR_SEGMENTS};
  return evr_to_ns(&conversion, evr_clock_ticks(r->clock));
}

uint64_t evr_recording_took_locked(const struct evr_recording *r, uint64_t from_ticks,
                                   uint64_t to_ticks) {
  const struct evr_conversion conversion = {r->segment, EVR_SEGMENTS};
  const uint64_t from = evr_to_ns(&conversion, from_ticks), to = evr_to_ns(&conversion, to_ticks);
  return to > from ? to - from : 0;
}
