/* SPDX-License-Identifier: MIT */
/* runtime/message.c: life of messages (message.h). */
#include "message.h"

#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "heap.h"

Message *message_new(size_t size) {
  Message *m = malloc(sizeof *m + size);
  if (m == NULL) return NULL;
  memset(m, 0, sizeof *m);
  m->size = size;
  return m;
}

size_t message_weight(const Message *m) {
  size_t weight = sizeof *m + m->size;
  for (uint32_t i = 0; i < m->nlarge; i++) weight += m->large[i]->size;
  return weight;
}

size_t message_memory(const Message *m, size_t *mapped) {
  size_t bytes = sizeof *m + m->size;
  *mapped = 0;
  for (uint32_t i = 0; i < m->nlarge; i++) {
    const LargeHeader *large = m->large[i];
    *mapped += large->mapped;
    if (large->mapped == 0) bytes += sizeof *large + large->size;
  }
  return bytes;
}

/* ---- what a handle refers to --------------------------------------------- */

MessageLoad *message_load_new(void) {
  MessageLoad *load = malloc(sizeof *load);
  if (load == NULL) return NULL;
  load->bytes = 0;
  load->references = 1;
  return load;
}

/* Drops a reference, and frees the load with the last reference. acq_rel: the last
 * decrement acquires what all other decrements have released, so the load is freed after
 * every other thread has finished with it. */
void message_load_release(MessageLoad *load) {
  if (load != NULL && __atomic_fetch_sub(&load->references, 1, __ATOMIC_ACQ_REL) == 1)
    free(load);
}

/* Counts the message in the load. Relaxed, since the bytes are only a figure, and the
 * sender has a reference of its own. */
void message_weigh(Message *m, MessageLoad *load) {
  m->load = load;
  m->weight = message_weight(m);
  __atomic_fetch_add(&load->references, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&load->bytes, m->weight, __ATOMIC_RELAXED);
}

static void unload_message(const Message *m) {
  if (m->load == NULL) return;
  __atomic_fetch_sub(&m->load->bytes, m->weight, __ATOMIC_RELAXED);
  message_load_release(m->load);
}

/* ---- the end ------------------------------------------------------------- */

void message_free(Message *m) {
  if (m == NULL) return;
  unload_message(m);
  for (uint32_t i = 0; i < m->nchannels; i++) channel_drop_in_flight(m->channels[i]);
  for (uint32_t i = 0; i < m->nlarge; i++) heap_large_discard(m->large[i]);
  free(m->channels);
  free(m->large);
  free(m);
}
