/* SPDX-License-Identifier: MIT */
/* room.c: see room.h. */
#include "producer/room.h"

#include <errno.h>

#include "format/error.h"
#include "producer/recording.h"

static void set_short(struct evr_room *room, bool is_short) {
  __atomic_store_n(&room->is_short, is_short, __ATOMIC_RELAXED);
}

void evr_room_reset(struct evr_room *room) {
  set_short(room, false);
  room->failure = 0;
  room->retry_at = 0;
}

bool evr_room_is_hopeless(const struct evr_recording *r, struct evr_room *room) {
  uint64_t now = evr_clock_ticks(r->clock);
  if (room->failure && now < room->retry_at) return true;
  room->retry_at = now + evr_recording_ticks_of_ms(r, EVR_ROOM_RETRY_MS);
  return false;
}

/* Stores in the status page since when there is no room, if this lane is the first. Two
   lanes that run out of room at once may both store it. */
static void show_lack(struct evr_recording *r) {
  struct format_status *status = evr_status(r);
  if (__atomic_load_n(&status->no_room, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&status->no_room_ticks, evr_clock_ticks(r->clock), __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the time */
  __atomic_fetch_add(&status->no_room, 1, __ATOMIC_RELEASE);
}

void evr_room_lacks(struct evr_recording *r, struct evr_room *room, int failure) {
  room->failure = failure ? failure : ENOSPC;
  if (room->is_short) return;
  set_short(room, true);
  show_lack(r);
  if (__atomic_exchange_n(&r->room_news.said, true, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&r->room_news.failure, room->failure, __ATOMIC_RELAXED);
  /* release: pairs with the acquire exchange in evr_room_is_news, which then finds the
     failure */
  __atomic_store_n(&r->room_news.is_new, true, __ATOMIC_RELEASE);
}

void evr_room_found(struct evr_recording *r, struct evr_room *room) {
  room->failure = 0;
  if (!room->is_short) return;
  set_short(room, false);
  /* release: pairs with the acquire fence in read_status, as in show_lack; no other store
     needs to be seen with it */
  __atomic_fetch_sub(&evr_status(r)->no_room, 1, __ATOMIC_RELEASE);
}

void evr_room_count_aside(struct evr_recording *r, struct evr_room *room, uint64_t events) {
  uint64_t before = __atomic_exchange_n(&room->aside, events, __ATOMIC_RELAXED);
  if (events != before)
    __atomic_fetch_add(&evr_status(r)->kind[FORMAT_EVENTS].dropped, events - before,
                       __ATOMIC_RELAXED);
}

bool evr_room_is_news(struct evr_recording *r, struct eventring_error *error) {
  /* acquire: pairs with the release in evr_room_lacks */
  if (__builtin_expect(!__atomic_load_n(&r->room_news.is_new, __ATOMIC_RELAXED), 1) ||
      !__atomic_exchange_n(&r->room_news.is_new, false, __ATOMIC_ACQUIRE))
    return false;
  int failure = __atomic_load_n(&r->room_news.failure, __ATOMIC_RELAXED);
  const char *most = failure == EFBIG ? " is as large as it may be" : "";
  if (failure == EFBIG) failure = 0;
  if (r->streams.rings)
    evr_fail(error, EVENTRING_LOSING, failure,
             "%.200s%s: events are lost (and counted) while there "
             "is no room",
             r->path, most);
  else
    evr_fail(error, EVENTRING_LOSING, failure, "%.200s%s: rings go on in the blocks that they have "
             "while there is no room", r->path, most);
  return true;
}
