/* SPDX-License-Identifier: MIT */
/* so_far.c: for how long open spans have lasted so far. */
#include "analysis/so_far.h"

#include <stdio.h>

#include "eventring/stack.h"
#include "eventring/tools.h"

static void reach(uint64_t *until, uint64_t ns) {
  if (ns > *until) *until = ns;
}

/* Returns the last time at which a domain wrote, the time of its newest event or of its
   last stack; 0 if there is neither. */
static uint64_t last_of_domain(eventring_cursor *cursor, unsigned slot) {
  struct eventring_ring_info ring = {.size = sizeof ring};
  struct eventring_last_stack stack;
  uint64_t last = 0;
  for (int r = 0; r < EVENTRING_RINGS; r++)
    if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)r, &ring) >= 0)
      reach(&last, ring.newest_ns);
  if (eventring_cursor_last_stack(cursor, slot, &stack) == EVENTRING_OK) reach(&last, stack.ns);
  return last;
}

static uint32_t process_of(eventring_cursor *cursor, unsigned slot) {
  struct eventring_domain_info domain = {.size = sizeof domain};
  return eventring_cursor_domain(cursor, slot, &domain) == EVENTRING_OK ? domain.process : 0;
}

/* Returns the last known time of a process apart from its events, the time of its end or
   of its error; 0 if there is neither. */
static uint64_t last_of_process(eventring_cursor *cursor, uint32_t number) {
  struct eventring_info info = {.size = sizeof info};
  struct eventring_process process;
  uint64_t last = 0;
  if (!number && eventring_cursor_info(cursor, &info) == EVENTRING_OK)
    reach(&last, info.end_ns), reach(&last, info.error_ns);
  if (number && eventring_cursor_process(cursor, number, &process) == EVENTRING_OK)
    reach(&last, process.end_ns), reach(&last, process.error_ns);
  return last;
}

/* Finds the last known time of each domain. What one domain wrote shows that the other
   domains of its process existed then, too. */
static void find_last(struct eva_known *known, eventring_cursor *cursor) {
  uint64_t last[EVENTRING_MAX_DOMAINS];
  uint32_t process[EVENTRING_MAX_DOMAINS];
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  /* read once: each such call reads the front of the file anew */
  const unsigned slots = info.domains_laid_out;
  for (unsigned slot = 0; slot < slots; slot++) {
    last[slot] = last_of_domain(cursor, slot);
    process[slot] = process_of(cursor, slot);
  }
  for (unsigned slot = 0; slot < slots; slot++) {
    if (!last[slot]) continue;
    reach(&known->until[slot], last_of_process(cursor, process[slot]));
    for (unsigned other = 0; other < slots; other++)
      if (process[other] == process[slot]) reach(&known->until[slot], last[other]);
  }
}

void eva_known_find(struct eva_known *known, eventring_cursor *cursor, uint64_t until) {
  uint64_t now = eventring_now();
  *known = (struct eva_known){
      .is_now = until >= now && eventring_cursor_liveness(cursor) == EVENTRING_LIVE};
  if (!known->is_now) find_last(known, cursor);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (known->is_now) known->until[slot] = now;
    if (known->until[slot] > until) known->until[slot] = until;
    reach(&known->latest, known->until[slot]);
  }
}

uint64_t eva_last_known(eventring_cursor *cursor) {
  struct eva_known known = {0};
  uint64_t last = last_of_process(cursor, 0);
  find_last(&known, cursor);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) reach(&last, known.until[slot]);
  return last;
}

uint64_t eva_end(eventring_cursor *cursor) {
  bool is_live = eventring_cursor_liveness(cursor) == EVENTRING_LIVE;
  return is_live ? eventring_now() : eva_last_known(cursor);
}

/* Returns when a domain stopped; UINT64_MAX: it has not, or nothing is known of it. */
static uint64_t stop_of(eventring_cursor *cursor, unsigned slot, uint32_t incarnation) {
  struct eventring_domain_info life = {.size = sizeof life};
  if (eventring_cursor_life(cursor, slot, incarnation, &life) != EVENTRING_OK) return UINT64_MAX;
  return life.alive || life.stop_ns == 0 ? UINT64_MAX : life.stop_ns;
}

uint64_t eva_known_until(const struct eva_known *known, eventring_cursor *cursor, unsigned slot,
                         uint32_t incarnation) {
  uint64_t until = known->until[slot % EVENTRING_MAX_DOMAINS];
  uint64_t stop = stop_of(cursor, slot, incarnation);
  return stop < until ? stop : until;
}

struct eva_so_far eva_so_far(const struct eva_known *known, eventring_cursor *cursor,
                             const struct eventring_event *open) {
  uint64_t until = eva_known_until(known, cursor, open->domain, open->incarnation);
  bool stopped = until < known->until[open->domain % EVENTRING_MAX_DOMAINS];
  struct eva_so_far so_far = {.known = !(open->flags & EVENTRING_MAY_BE_OVER),
                              .at_least = !known->is_now || stopped};
  so_far.ns = so_far.known && until > open->ns ? until - open->ns : 0;
  return so_far;
}

struct eva_so_far eva_so_far_longer(struct eva_so_far a, struct eva_so_far b) {
  if (a.known != b.known) return a.known ? a : b;
  return b.ns > a.ns ? b : a;
}

bool eva_open_before(const struct eventring_event *end, uint64_t until,
                     struct eventring_event *open) {
  if (eventring_event_took(end) < 0 || end->ns <= until || end->begin_ns > until) return false;
  *open = *end;
  open->kind = EVENTRING_BEGIN;
  open->ns = end->begin_ns;
  open->flags = (uint16_t)(EVENTRING_SYNTHETIC | (end->flags & EVENTRING_UNKNOWN));
  open->payload = EVENTRING_NONE;
  open->value.u = open->suspended_ns = open->size = 0;
  open->bytes = NULL;
  return true;
}

char *eva_so_far_text(char text[EVA_SO_FAR], const struct eva_so_far *so_far) {
  char figure[EVA_FIGURE];
  eva_duration_text(figure, so_far->ns);
  if (!so_far->known) snprintf(text, EVA_SO_FAR, "?");
  else if (so_far->at_least) snprintf(text, EVA_SO_FAR, "at least %s", figure);
  else snprintf(text, EVA_SO_FAR, "%s so far", figure);
  return text;
}
