/* SPDX-License-Identifier: MIT */
/* otlp_traces.h: the state of the export of traces (otlp_traces.c), which makes records
 * of spans, and spans of the file from records (otlp_records.c).
 *
 * Errors: no memory, `failed`. Threads: one. */
#ifndef EVENTRING_EXPORT_OTLP_TRACES_H
#define EVENTRING_EXPORT_OTLP_TRACES_H

#include "analysis/shares.h"
#include "analysis/so_far.h"
#include "export/otlp_batch.h"
#include "export/otlp_spans.h"

/* A topmost span of a class in the runtime's ring of a domain. */
struct otlp_step {
  bool is_open;
  int reason;              /* id of a definition; -1 if none */
  uint32_t depth;
  uint64_t begin_ns, context, span_context;
  struct otlp_span *span;  /* the span that it interrupted, or NULL */
};

struct otlp_domain {
  uint32_t incarnation, process;
  bool is_known;
  uint64_t hash;               /* a hash, from which span ids are derived */
  uint64_t start_ns;           /* start of the recording of its process */
  struct otlp_text attributes; /* attributes that all its spans have */
  struct otlp_step *steps;          /* open steps, by class */
};

/* An async span that is open, or the last span of a flow. */
struct otlp_linked {
  uint64_t link;
  uint16_t id;
  bool is_flow;
  struct otlp_linked *older, *newer; /* the list of all flows */
  struct otlp_span *span;
  uint32_t domain, incarnation;
  uint64_t begin_ns, context;
  struct otlp_text value;
};

struct otlp_traces {
  struct export_run *run;
  struct otlp_file file;
  struct otlp_ids ids;
  struct otlp_spans spans;
  struct eva_shares *shares;
  struct eva_known known; /* valid (`knows`) once a span was found open at the end */
  bool knows, failed;
  bool is_before;         /* the present events lie before the window */
  uint64_t seen;
  struct otlp_domain domain[EVENTRING_MAX_DOMAINS];
  struct otlp_text class_name[EVENTRING_MAX_CLASSES]; /* name of each class, as an
                                                         attribute */
  struct otlp_text scratch, body;
  struct evr_table linked;
  struct otlp_linked *oldest, *newest;
  uint32_t flow_count;
};

enum otlp_end { OTLP_WHOLE, OTLP_OPEN, OTLP_NO_BEGIN, OTLP_NO_END };

/* A span that has ended, or is open. */
struct otlp_ended {
  enum otlp_end end;
  const char *name;
  uint64_t begin_ns, end_ns;
  unsigned event_class;
  uint64_t context, suspended_ns;
  int64_t off_cpu;
  bool is_async;
  uint64_t link;
  const char *value;   /* value of its begin, as an attribute */
  size_t value_size;
};

/* Returns what is known about a domain. */
struct otlp_domain *otlp_domain_of(struct otlp_traces *t, uint32_t slot, uint32_t incarnation);
/* Forgets the steps that are open in a domain. */
void otlp_end_steps(struct otlp_domain *domain);
/* Makes the record of a span. `frame` has what happened in it, and gives its links to the
   record; it may be NULL. Returns NULL when out of memory. */
struct otlp_record *otlp_record_of(struct otlp_traces *t, const struct otlp_domain *domain,
                                   struct otlp_span *span, const struct otlp_ended *ended,
                                   struct otlp_frame *frame);
/* Puts a record into the file (struct otlp_ids, `write`). */
void otlp_write_record(void *traces, struct otlp_record *record);

#endif
