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

void message_free(Message *m) {
  if (m == NULL) return;
  for (uint32_t i = 0; i < m->nchannels; i++) channel_drop_in_flight(m->channels[i]);
  for (uint32_t i = 0; i < m->nlarge; i++) heap_large_discard(m->large[i]);
  free(m->channels);
  free(m->large);
  free(m);
}
