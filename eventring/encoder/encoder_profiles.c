/* SPDX-License-Identifier: MIT */
/* encoder_profiles.c: profiles of calls (encoder.h has the design).
 *
 * Times of a profile are in ticks of the clock by which it was taken, as the bounds of its
 * buckets are powers of two of them: so it says how long these are. */
#include <string.h>

#include "encoder/encoder.h"
#include "eventring/calls.h"
#include "format/profile_parts.h"

enum { HEAD_WORDS = sizeof(struct format_profile) / 8 + 1 }; /* and the multiplier */

/* The least ticks that a reader takes for so many ns. */
static uint64_t ticks_of(uint64_t ns, uint64_t multiplier) {
  unsigned __int128 ticks = (((unsigned __int128)ns << FORMAT_CLOCK_SHIFT) + multiplier - 1) /
                            multiplier;
  return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

static void add_node(struct evr_profile_parts *p, uint32_t number,
                     const struct eventring_profile_node *n, uint64_t multiplier) {
  const struct evr_profile_node node = {
      .parent = n->parent, .function = n->function, .open = n->open,
      .figures = {n->count, ticks_of(n->exclusive, multiplier), ticks_of(n->least, multiplier),
                  ticks_of(n->most, multiplier), ticks_of(n->suspended, multiplier),
                  n->lost_calls, ticks_of(n->lost_ns, multiplier)},
      .histogram = n->histogram};
  evr_profile_parts_node(p, number, &node);
}

/* What comes first in each part, when all are known. */
static void head_parts(struct evr_profile_parts *p, const struct eventring_profile *profile,
                       uint64_t multiplier) {
  struct format_profile head = {
      .slot = profile->slot, .incarnation = profile->incarnation, .written = 1,
      .parts = p->count, .flags = profile->flags, .start_ticks = profile->start_ns,
      .written_ticks = profile->written_ns, .functions = profile->function_count,
      .nodes = profile->node_count, .backwards = profile->backwards};
  for (uint32_t i = 0; i < p->count; i++) {
    uint64_t *to = p->words[i] + FORMAT_BLOCK_HEADER_WORDS;
    head.first = format_record(HEAD_WORDS, FORMAT_PROFILE_PART, i);
    memcpy(to, &head, sizeof head);
    to[HEAD_WORDS - 1] = multiplier;
  }
}

static int put_parts(eventring_encoder *e, struct evr_profile_parts *p, struct eventring_error *error) {
  const struct encoder_records *r = e->records[FORMAT_PROFILES];
  uint64_t before = r ? r->records : 0;
  int status = EVENTRING_OK;
  if (p->failed) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a profile");
  if (before + p->count > FORMAT_PROFILE_BUDGET) return encoder_drop(e, FORMAT_PROFILES, error);
  for (uint32_t i = 0; status == EVENTRING_OK && i < p->count; i++) {
    struct format_block *b = (struct format_block *)p->words[i];
    *b = (struct format_block){.sequence = before + i + 1, .kind = FORMAT_PROFILES,
                               .before = before + i};
    status = encoder_put_block(e, FORMAT_PROFILES, p->words[i], p->ends[i], error);
  }
  return status;
}

static bool profile_is_valid(const eventring_encoder *e, const struct eventring_profile *p) {
  if (!p || p->slot >= EVENTRING_MAX_DOMAINS || !p->incarnation || !p->node_count ||
      !p->nodes || (p->function_count && !p->functions) ||
      !(p->ns_per_tick > 0 && p->ns_per_tick < 0x1p15) || p->start_ns < e->header.start_ns ||
      p->written_ns > INT64_MAX)
    return false;
  for (uint32_t i = 0; i < p->node_count; i++) {
    const struct eventring_profile_node *n = &p->nodes[i];
    bool is_root = n->parent == UINT32_MAX && n->function == UINT32_MAX;
    if (n->least > n->most ||
        (i == 0 ? !is_root : n->parent >= i || n->function >= p->function_count))
      return false;
  }
  return true;
}

int eventring_encoder_profile(eventring_encoder *e, const struct eventring_profile *profile,
                              struct eventring_error *error) {
  struct evr_profile_parts p;
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!profile_is_valid(e, profile))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a profile of calls");
  double exact = profile->ns_per_tick * (double)((uint64_t)1 << FORMAT_CLOCK_SHIFT) + 0.5;
  uint64_t multiplier = exact >= 1 ? (uint64_t)exact : 1;
  evr_profile_parts_begin(&p, HEAD_WORDS);
  for (uint32_t i = 0; i < profile->function_count; i++)
    evr_profile_parts_function(&p, i, &profile->functions[i]);
  for (uint32_t i = 0; i < profile->node_count; i++)
    add_node(&p, i, &profile->nodes[i], multiplier);
  if (!p.failed) head_parts(&p, profile, multiplier);
  status = put_parts(e, &p, error);
  evr_profile_parts_free(&p);
  return status;
}
