/* SPDX-License-Identifier: MIT */
/* producer.c: the state of the producer for the whole process. */
#include "producer/producer.h"

struct evr_producer evr_producer;

struct evr_listener evr_producer_listener(void) {
  struct evr_listener listener = {0};
  evr_lock();
  if (evr_producer.recording) listener = evr_producer.listener;
  evr_unlock();
  return listener;
}

void evr_producer_follow_now(void) {
  /* acquire: pairs with the release in after_fork_in_child (state.c), after the child's
     state was renewed */
  void (*follow)(bool) = __atomic_load_n(&evr_producer.follow, __ATOMIC_ACQUIRE);
  if (__builtin_expect(follow != NULL, 0)) follow(true);
}

void evr_producer_warn(struct evr_listener listener, const struct eventring_error *error) {
  if (listener.warn) listener.warn(listener.context, error);
}
