/* SPDX-License-Identifier: MIT */
/* outside.c: see outside.h. */
#include "producer/outside.h"

#include <sys/auxv.h>
#include <sys/prctl.h>

/* Tells whether the process is privileged. A process that has changed its user is not
   dumpable either, unless it makes itself dumpable. */
static bool is_privileged(void) {
  return getauxval(AT_SECURE) != 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
}

static uint64_t obeyed(const struct evr_recording *r, uint64_t known) {
  if (r->closed) return 0;
  return is_privileged() ? known & 1u << FORMAT_WORD_WANTED : known;
}

void evr_outside_begin(struct evr_recording *r, uint64_t known) {
  __atomic_store_n(&evr_status(r)->obeys, obeyed(r, known), __ATOMIC_RELAXED);
  /* fails on a kernel without Yama, which forbids nothing */
  if (r->lets_read) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

void evr_outside_end(struct evr_recording *r) {
  if (r->lets_read) prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

bool evr_outside_obeys(struct evr_recording *r, enum format_control_word word) {
  uint64_t *obeys = &evr_status(r)->obeys, before = __atomic_load_n(obeys, __ATOMIC_RELAXED);
  uint64_t now = obeyed(r, before);
  if (now != before) __atomic_fetch_and(obeys, now, __ATOMIC_RELAXED);
  return now >> word & 1;
}

void evr_outside_put_back(struct evr_recording *r) {
  struct format_control *control = evr_control(r);
  if (!evr_outside_obeys(r, FORMAT_WORD_HOLD))
    __atomic_store_n(&control->hold_ns, r->hold_ns, __ATOMIC_RELAXED);
  if (!evr_outside_obeys(r, FORMAT_WORD_SAMPLE_RATE))
    __atomic_store_n(&control->sample_rate, r->sample_rate, __ATOMIC_RELAXED);
  if (!evr_outside_obeys(r, FORMAT_WORD_CALL_PROFILE))
    __atomic_fetch_and(&control->requests, ~(uint32_t)FORMAT_REQUEST_CALLS, __ATOMIC_RELAXED);
}
