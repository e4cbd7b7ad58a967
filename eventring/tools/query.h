/* SPDX-License-Identifier: MIT */
/* query.h: shared code of the commands that answer a query: their options, how they read
 * the recording, the head of their text and of their JSON.
 *
 * A FILE, and a live process without --seconds, is read as it is. A PROGRAM, and a
 * process with --seconds, is watched to the end. All events come in the order of their
 * times.
 */
#ifndef EVENTRING_TOOL_QUERY_H
#define EVENTRING_TOOL_QUERY_H

#include "analysis/so_far.h"
#include "eventring/tools.h"
#include "name_choice.h"
#include "reader.h"
#include "shared_views.h"
#include "time_window.h"

struct query {
  /* options */
  struct view_choice as;
  uint64_t top, limit_ns;
  uint64_t domain; /* UINT64_MAX: all */
  const char *class_name, *prefix;
  struct name_choice name;
  struct time_window window;
  /* the recording */
  struct reader reader;
  const char *target; /* NULL: a program was launched */
  uint64_t classes; /* bit of class_name, or 0 for all classes */
  struct eventring_info info;
  struct eventring_totals totals;
  uint64_t first_ns, last_ns; /* times of the first and last event in the window */
  const struct eventring_callbacks *callbacks;
  /* takes batches; set before query_read; NULL if all events go to the callbacks */
  int (*batch)(void *context, const struct eventring_batch *batch);
  enum eventring_order order; /* order that suffices for batches; set before query_read */
  void *context;
  eventring_cursor *again; /* cursor of query_look_up, or NULL */
};

#define QUERY_NEW(shown) \
  {.top = (shown), .domain = UINT64_MAX, .prefix = "SAROS_EVENTRING", .window = TIME_WINDOW_ALL}

#define QUERY_SPECS(q, view)                                                       \
  VIEW_SPECS(&(q)->as, view, "one JSON object"), QUERY_CHOICE_SPECS(q)
/* The options of QUERY_SPECS without --json, --csv and --json-schema. */
#define QUERY_CHOICE_SPECS(q)                                                      \
  {"top", 't', OPTION_COUNT, &(q)->top, "N", "the N longest ones"},                   \
  DOMAIN_SPEC(&(q)->domain),                                                          \
  TIME_WINDOW_SPECS(&(q)->window),                                                    \
  {"seconds", 's', OPTION_SECONDS, &(q)->limit_ns, "N",                               \
   "watch a live process for N seconds, not only what it holds"},                     \
  ENV_PREFIX_SPEC(&(q)->prefix)

/* Opens the recording and finds the window and the class. Returns STATUS_GO_ON, or the
   exit status. */
int query_open(struct query *q, const struct operands *operands);
/* Delivers the events in the window, and the available events before it, so that the open
   spans are known (query_is_past_start tells which events are in the window). `switched`
   may be NULL. */
void query_read(struct query *q, const struct eventring_callbacks *callbacks,
                int (*switched)(void *, const struct eventring_switch *), void *context);

/* A span that had not ended at the end of the window: a row of open_span_view. */
struct open_span {
  uint64_t ns; /* ns for which the span has been open, as far as known */
  uint64_t begin_ns, context;
  uint32_t domain, incarnation;
  uint16_t id;
  struct eva_so_far so_far;
};
view_function open_span_view;
/* Calls `open` for each span that was open at the end of the window, after query_read.
   `late` is the first event after the window, which may have ended one of the spans;
   zeroed if none came. Sets `known`, for query_open_span. */
void query_open_spans(const struct query *q, struct eva_known *known,
                      const struct eventring_event *late,
                      int (*open)(void *context, const struct eventring_event *begin),
                      void *context);
/* Returns the row of the span with this begin. */
struct open_span query_open_span(const struct query *q, const struct eva_known *known,
                                 const struct eventring_event *begin);
/* Tells whether the shown items can be looked up one by one, instead of reading the whole
   recording. */
bool query_can_look_up(const struct query *q);
/* Returns a cursor on the recording for reading again from about `ns` on, or NULL if the
   recording is gone. It is the same cursor each time, until query_looked_up. */
eventring_cursor *query_look_up(struct query *q, uint64_t ns);
void query_looked_up(struct query *q);
/* Tells whether a moment is not before the start of the window. */
static inline bool query_is_past_start(const struct query *q, uint64_t ns) {
  return ns >= q->window.since;
}
static inline bool query_is_past_end(const struct query *q, uint64_t ns) {
  return ns > q->window.until;
}
/* Tells whether a domain is wanted. */
static inline bool query_wants_domain(const struct query *q, uint32_t domain) {
  return q->domain == UINT64_MAX || q->domain == domain;
}

/* Returns the name of a definition, or "?" if there is none. */
const char *query_name(const struct query *q, int id);
/* Writes the seconds from the start of the recording, "12.345678". Returns `text`. */
enum { MOMENT_TEXT = 32 };
char *moment_text(char text[MOMENT_TEXT], const struct query *q, uint64_t ns);

/* Prints which process was recorded, how it ended, for how long it was recorded, and what
   is missing. */
void query_head(const struct query *q, FILE *out);
/* Makes heads print only for how long the process was recorded and what is missing. This
   command's output is then part of a text that names the process above. */
void query_heads_are_brief(void);
/* The head as members: program ..., window, loss. */
view_function query_view;
/* Returns the struct view_to for the views of an answer. */
struct view_to query_output(const struct query *q);
/* Prints the answer, a row of the view, as JSON or CSV. */
void query_put(const struct query *q, view_function *view, const void *answer);

#endif
