/* SPDX-License-Identifier: MIT */
/* heap_query.h: reads the heap for `heap`, `export` and `diff --heap`. */
#ifndef EVENTRING_TOOL_HEAP_QUERY_H
#define EVENTRING_TOOL_HEAP_QUERY_H

#include "analysis/heap_sites.h"
#include "query.h"

struct heap_query {
  struct query q;
  uint64_t survived;
  bool live, allocated, peak, temporary; /* options; if none is set, `live` and
                                            `allocated` apply */
  struct eva_heap *heap;
};

#define HEAP_QUERY_NEW {.q = QUERY_NEW(0)}

#define HEAP_MEASURE_SPECS(h)                                                          \
  {"live", 0, OPTION_FLAG, &(h)->live, NULL, "what is alive"},                         \
  {"allocated", 0, OPTION_FLAG, &(h)->allocated, NULL, "what was allocated"},          \
  {"peak", 0, OPTION_FLAG, &(h)->peak, NULL, "what was alive when most was"},          \
  {"temporary", 0, OPTION_FLAG, &(h)->temporary, NULL,                                 \
   "what died in its first collection"},                                               \
  {"survived", 0, OPTION_COUNT, &(h)->survived, "N",                                   \
   "only what lived through N collections (out of events)"}

/* Checks the options. Returns STATUS_GO_ON, or the usage error. */
int heap_query_check(const struct command *self, const struct heap_query *h);
/* Opens the recording, in a PROGRAM with sampling switched on, and reads the heap: from
   its profiles, or from the events if there is a window or --survived. Returns
   STATUS_GO_ON, or the exit status after a message. */
int heap_query_read(struct heap_query *h, const struct operands *operands);
/* Returns the measure by which rows are ordered. */
enum eva_measure heap_query_main(const struct heap_query *h);
/* Frees the heap and closes the recording. Returns the exit status. */
int heap_query_close(struct heap_query *h, int status);

#endif
