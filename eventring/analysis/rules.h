/* SPDX-License-Identifier: MIT */
/* rules.h: do conditions hold for a recording (doc/CONDITIONS.md)?
 *
 * Add rules, feed it what a cursor delivers, merged by time (eva_rules_event), then
 * eva_rules_finish, and look at the results. A rule without a figure holds if each value
 * fulfils it. A span whose begin or end is not known has no duration. A span that is open counts
 * for a rule that it breaks already (so_far.h). A rule about what was not recorded, as its class
 * was off, or about what is not known exactly, is undecided, unless what is known decides it.
 *
 * Units: as in struct eventring_condition. Errors: EVENTRING_E_MEMORY; from then on nothing
 * more is taken. Memory: some KiB a rule, and 57 KiB for a quantile. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_RULES_H
#define EVENTRING_ANALYSIS_RULES_H

#include "analysis/histogram.h"
#include "analysis/links.h"
#include "eventring/conditions.h"

enum { EVA_MAX_RULES = 1000 };

struct eva_rule_within { /* of a domain: when spans that the rule is within were open */
  uint32_t open;
  uint64_t since, until; /* the present or the last time */
  uint64_t counted_ns;   /* when a counter of differences was last written */
  unsigned totals;       /* how often in the present time a NAME_total was: the first value of */
  double total_first, total_last; /* these, and the last */
};

/* What a counter of differences, which covers the time since it was written before, says of
   spans that begin and end in between. */
struct eva_rule_bounds {
  double least, most;   /* what lies in them for certain; what may */
  double exact;         /* by a counter NAME_total, which is written at their borders */
  uint64_t spans, counted; /* that there were; of these those that have an exact amount */
};

struct eva_rule {
  struct eventring_condition condition;
  char *text;          /* as it was given */
  unsigned line;       /* of its file, or 0 */
  /* After eva_rules_finish: */
  bool holds;
  bool undecided;      /* nobody knows: `reason` says why; then it does not hold */
  bool has_value;      /* there is a `value`: the figure, or of each value the worst */
  double value;
  bool is_open;        /* the value is that of a span that is open, or has it in it: */
  bool at_least;       /* as struct eva_so_far has it */
  char reason[160];    /* why it cannot hold, whatever the values are; "" */
  bool is_wrong;       /* it compares a span with a number, or a counter with a time */
  uint64_t values;     /* that were seen, */
  uint64_t bad;        /* and of a rule without a figure, those that do not fulfil it */
  /* Meanwhile: */
  double sum, min, max, last;
  struct eva_histogram *histogram; /* of a quantile of durations; else NULL */
  uint64_t unmeasured; /* spans whose time on a processor is not known */
  uint64_t begun;      /* lifecycle events NAME_begin */
  bool met;            /* a value has fulfilled it */
  struct eva_rule_bounds bounds;  /* of a rule within a span about a counter of differences */
  struct eva_rule_within *within; /* by domain; NULL: the rule is about all */
  uint8_t *role;       /* of each id: how its events count, 0: not known yet */
  uint32_t *named;     /* of a count, of each id: how often a value stood for it */
};

struct eva_rules_domain; /* what is open there */

struct eva_rules { /* zeroed: none */
  struct eva_rule *rule;
  size_t count, room;
  struct eva_rules_domain *domains; /* EVENTRING_MAX_DOMAINS of them, from the first event on */
  struct eva_links links;
  uint64_t since;      /* what was off before does not matter; 0: the first event */
  uint64_t open_since; /* open spans that began before do not count */
  bool one_domain;     /* open spans of another one than `domain` do not */
  uint32_t domain;
  int status;  /* 0, or the error that ended it */
};

/* Adds a rule. 0, E_MEMORY, or E_FULL: there are EVA_MAX_RULES. */
int eva_rules_add(struct eva_rules *rules, const struct eventring_condition *condition,
                  const char *text, size_t size, unsigned line);
/* The classes (bits) that are to be recorded for the rules, as far as their names are defined; never
   that of calls. */
uint64_t eva_rules_classes(const struct eva_rules *rules, eventring_cursor *cursor);
/* Takes an event; returns `status`. */
int eva_rules_event(struct eva_rules *rules, const struct eventring_event *event);
/* All events have come. `lost`: how many have not. `until`: the end of the window; UINT64_MAX:
   that of the recording. */
void eva_rules_finish(struct eva_rules *rules, eventring_cursor *cursor, uint64_t lost,
                      uint64_t until);
/* Has a value fulfilled a rule without a figure? For `record --on`. */
bool eva_rules_met(const struct eva_rules *rules);
/* Has one, or does the length so far of a span that is open? */
bool eva_rules_open_met(struct eva_rules *rules, eventring_cursor *cursor);
void eva_rules_free(struct eva_rules *rules);
/* "12.5 ms", "3", "1.2 MiB": a value of the rule. Returns `text`, of EVA_RULE_VALUE bytes. */
enum { EVA_RULE_VALUE = 72 };
char *eva_rule_value_text(char *text, const struct eva_rule *rule, double value);

#endif
