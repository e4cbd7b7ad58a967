/* SPDX-License-Identifier: MIT */
/* runs.h: compares the figures of several recordings, for `eventring diff`. */
#ifndef EVENTRING_TOOL_RUNS_H
#define EVENTRING_TOOL_RUNS_H

#include "analysis/compare.h"
#include "tool.h"

enum unit { UNIT_NS, UNIT_BYTES, UNIT_COUNT };

/* Groups of figures: times and work decide the verdict, the others are only shown. Holm's
   correction is made for each group. */
enum figure_group { FIGURES_MAIN, FIGURES_WORK, FIGURES_PAUSES, FIGURES_SPANS, FIGURE_GROUPS };

struct figure {
  char name[EVENTRING_MAX_NAME + 32];
  enum unit unit;
  enum figure_group group;
  double weight;       /* in a group, figures with the greatest weight are shown */
  double *value;       /* value by run; NAN if the run has none */
  struct eva_comparison comparison; /* set for a figure that all runs have */
  bool compared;
  /* the figure is a count or an amount, not per second, so it is equal if runs do the
     same */
  bool exact;
};

struct run {
  const char *path; /* NULL: the run was launched */
  char *command;    /* the words of the run if it was launched, allocated */
  char program[EVENTRING_MAX_PROGRAM + 1];
  uint64_t missing; /* number of events that were overwritten or lost */
};

struct runs {
  struct run *run;  /* runs of A and of B in turn */
  size_t count;
  struct figure *figure;
  size_t figures;
};

struct reader;

/* Reads run number `n` of `runs->count`, and closes the reader. Returns STATUS_GO_ON, or
   the exit status after a message; or the status of a launched program if that is not
   0. */
int runs_read(struct runs *runs, size_t n, struct reader *reader);
/* Compares the even runs with the odd ones. */
void runs_compare(struct runs *runs);
void runs_free(struct runs *runs);

#endif
