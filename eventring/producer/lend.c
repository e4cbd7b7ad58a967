/* SPDX-License-Identifier: MIT */
/* lend.c: lends the recording of this process to readers in the same process.
 *
 * The loan is a counted reference: the memory stays mapped, however the recording ends,
 * until the loan is given back. Readers use the mappings without the producer's mutex:
 * the front is mapped before there is a recording to lend, extents are published with
 * release when they are claimed, and no extent moves. */
#include "producer/producer.h"

#include <stdio.h>

static const uint64_t *words_of_recording(const void *recording, uint64_t offset,
                                          size_t size) {
  return evr_recording_words(recording, offset, size);
}

/* Returns the descriptor, or -1 if it is closed: a forked child has closed it, and the
   program may have. */
static int descriptor_of_recording(const void *recording) {
  const struct evr_descriptor *file = &((const struct evr_recording *)recording)->extents.file;
  return evr_descriptor_holds(file) ? file->fd : -1;
}

static void give_back_recording(void *recording) {
  evr_lock();
  evr_recording_release_locked(recording);
  evr_unlock();
}

bool evr_producer_lend(struct evr_memory *memory, char path[PATH_MAX]) {
  evr_producer_follow_now();
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
