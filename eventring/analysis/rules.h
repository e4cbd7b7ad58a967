/* SPDX-License-Identifier: MIT */
/* rules.h: tells whether conditions hold for a recording (doc/CONDITIONS.md).
 *
 * Add rules, feed them what a cursor delivers, merged by time (eva_rules_event), call
 * eva_rules_finish, and read the results. A rule without a figure holds if each value
 * fulfils it. A span whose begin or end is not known has no duration. An open span counts
 * for a rule that its length so far already breaks (so_far.h). A rule is undecided if its
 * subject was not recorded, because a class was off, or is not known exactly. It is
 * decided all the same if nothing that is missing could change the result.
 *
 * Units: as in struct eventring_condition. Errors: EVENTRING_E_MEMORY; from then on
 * nothing more is taken. Memory: some KiB a rule, and 57 KiB more for a quantile.
 * Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_RULES_H
#define EVENTRING_ANALYSIS_RULES_H

#include "analysis/histogram.h"
#include "analysis/links.h"
#include "eventring/conditions.h"

enum { EVA_MAX_RULES = 1000 };

struct eva_rule_within { /* when the spans of `within` were open in a domain */
  uint32_t open;
  uint64_t since, until; /* begin and end of the latest period with an open span; `until`
                            is set when it is over */
  uint64_t counted_ns;   /* when a counter of differences was last written */
  unsigned totals;       /* number of values of NAME_total in that period */
  double total_first, total_last; /* the first and the last of these values */
};

/* The sum of a counter of differences over the time in which the spans are open. A value
   belongs to the time since the previous one, which may lie only partly in a span. */
struct eva_rule_bounds {
  double least, most;   /* sum of the values wholly in spans; `most` also has the values
                           partly in spans */
  double exact;         /* sum from a counter NAME_total, which is written at the borders
                           of the spans */
  uint64_t spans, counted; /* number of all spans, and of spans with an exact amount */
};

struct eva_rule {
  struct eventring_condition condition;
  char *text;          /* the rule as it was given */
  unsigned line;       /* line of the file of rules, or 0 */
  /* After eva_rules_finish: */
  bool holds;
  bool undecided;      /* the result is not known; then `holds` is false, and `reason`
                          says why */
  bool has_value;      /* `value` is set, to the figure or the worst of the values */
  double value;
  bool is_open;        /* the value belongs to an open span, or includes one */
  bool at_least;       /* if is_open: as in struct eva_so_far */
  char reason[160];    /* why the rule cannot hold, whatever the values are; or "" */
  bool is_wrong;       /* the rule compares a span with a number or a counter with a
                          time */
  uint64_t values;     /* number of values that were seen */
  uint64_t bad;        /* number of these values that do not fulfil a rule without a
                          figure */
  /* Until then: */
  double sum, min, max, last;
  struct eva_histogram *histogram; /* for a quantile of durations; else NULL */
  uint64_t unmeasured; /* number of spans whose time on a processor is not known */
  uint64_t begun;      /* lifecycle events NAME_begin */
  bool met;            /* a value has fulfilled the rule */
  struct eva_rule_bounds bounds;  /* for a rule within a span about a counter of
                                     differences */
  struct eva_rule_within *within; /* by slot of the domain; NULL if the rule has no
                                     `within` */
  uint8_t *role;       /* by id of a definition: how its events count (enum role); 0 if
                          not known yet */
  uint32_t *named;     /* for a count, by id of a definition: number of events with this
                          id as their value (eva_named_by) */
};

struct eva_rules_domain; /* what is open in a domain */

struct eva_rules { /* zeroed: none */
  struct eva_rule *rule;
  size_t count, room;
  struct eva_rules_domain *domains; /* EVENTRING_MAX_DOMAINS; from the first rule on */
  struct eva_links links;
  uint64_t since;      /* classes that were off only before this time do not matter; 0
                          means the first event */
  uint64_t open_since; /* open spans that began before this time do not count */
  bool one_domain;     /* open spans of other domains than `domain` do not count */
  uint32_t domain;
  int status;  /* 0, or the error after which nothing more is taken */
};

/* Adds a rule. Returns 0, E_MEMORY, or E_FULL: there are EVA_MAX_RULES. */
int eva_rules_add(struct eva_rules *rules, const struct eventring_condition *condition,
                  const char *text, size_t size, unsigned line);
/* Returns the classes (bits) that must be recorded for the rules, as far as the names in
   the rules are defined; never the class of calls. */
uint64_t eva_rules_classes(const struct eva_rules *rules, eventring_cursor *cursor);
/* Takes an event, and returns `status`. */
int eva_rules_event(struct eva_rules *rules, const struct eventring_event *event);
/* Decides the rules when all events have come. `lost`: the number of lost events. `until`
   is the end of the window, or UINT64_MAX for the end of the recording. */
void eva_rules_finish(struct eva_rules *rules, eventring_cursor *cursor, uint64_t lost,
                      uint64_t until);
/* Tells whether a value has fulfilled a rule without a figure. For `record --on`. */
bool eva_rules_met(const struct eva_rules *rules);
/* Tells whether a value, or the length so far of an open span, has fulfilled a rule
   without a figure. */
bool eva_rules_open_met(struct eva_rules *rules, eventring_cursor *cursor);
void eva_rules_free(struct eva_rules *rules);
/* Writes a value of the rule into `text` (EVA_RULE_VALUE bytes), and returns it: "12.5
   ms", "3", "1.2 MiB". */
enum { EVA_RULE_VALUE = 72 };
char *eva_rule_value_text(char *text, const struct eva_rule *rule, double value);

#endif
