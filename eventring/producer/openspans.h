/* SPDX-License-Identifier: MIT */
/* openspans.h: the open spans that a block header lists. */
#ifndef EVENTRING_OPENSPANS_H
#define EVENTRING_OPENSPANS_H

#include "format/format.h"

#pragma GCC visibility push(hidden)

/* Producer side: bounded, as block headers store it. */
struct evr_open_span {
  uint64_t tail; /* event word of the begin: kind, id; length 0, time 0 */
  uint64_t ticks;
};
struct evr_open_spans {
  uint32_t count;
  uint32_t hidden; /* spans inside the listed ones that found no place */
  struct evr_open_span span[FORMAT_MAX_OPEN];
};
/* Applies the events in words[0 .. count-1] to the stack; base is that of the
   block. */
void evr_open_apply(struct evr_open_spans *open, const uint64_t *words,
                    size_t count, uint64_t base);
/* Drops those whose class is among `classes` and that began before `ticks`.
   class_of maps ids to classes. */
void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of,
                   uint32_t classes, uint64_t ticks);

#pragma GCC visibility pop

#endif /* EVENTRING_OPENSPANS_H */
