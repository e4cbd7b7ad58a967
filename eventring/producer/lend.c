/* SPDX-License-Identifier: MIT */
/* lend.c: the recording of this process, lent to who reads it in the same process.
 *
 * The loan is a reference: what was lent stays mapped, however the recording ends, until
 * it is given back. Readers look at the mappings without the producer's mutex: the front
 * and the catalogue are mapped before there is a recording to lend, the rings of a slot
 * are published with release when they are laid out, and none of them moves. */
#include "producer/producer.h"

#include <stdio.h>

static const uint64_t *words_of_recording(const void *recording, uint64_t offset,
                                          size_t size) {
  const struct evr_recording *r = recording;
  if (offset + size <= FORMAT_FRONT_BYTES) return (const uint64_t *)(r->front + offset);
  if (offset < FORMAT_RINGS_OFFSET)
    return (const uint64_t *)(r->catalogue + (offset - FORMAT_CATALOGUE_OFFSET));
  uint64_t stride = r->header.domain_stride;
  uint64_t slot = (offset - FORMAT_RINGS_OFFSET) / stride;
  if (slot >= EVENTRING_MAX_DOMAINS) return NULL;
  const uint8_t *map = __atomic_load_n(&r->slot[slot].map, __ATOMIC_ACQUIRE);
  return map ? (const uint64_t *)(map + (offset - FORMAT_RINGS_OFFSET) % stride) : NULL;
}

/* A forked child has closed it. */
static int descriptor_of_recording(const void *recording) {
  return ((const struct evr_recording *)recording)->fd;
}

static void give_back_recording(void *recording) {
  evr_lock();
  evr_recording_release_locked(recording);
  evr_unlock();
}

bool evr_producer_lend(struct evr_memory *memory, char path[PATH_MAX]) {
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  if (r) {
    *memory = (struct evr_memory){.recording = r, .words_at = words_of_recording,
                                  .descriptor = descriptor_of_recording,
                                  .release = give_back_recording};
    snprintf(path, PATH_MAX, "%s", r->path);
    evr_recording_hold_locked(r);
  }
  evr_unlock();
  return r != NULL;
}
