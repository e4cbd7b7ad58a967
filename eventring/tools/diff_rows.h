/* SPDX-License-Identifier: MIT */
/* diff_rows.h: compares what functions had in each run: the common part of `diff
 * --profile` for calls and for samples.
 *
 * The number of runs is even: A and B in turn; a side is 0 (A) or 1 (B). One row is read
 * per function and run; rows are matched by name and site (diff_match.h). With
 * EVA_LEAST_RUNS runs per side or more, rows are compared by Welch's test
 * (analysis/compare.h). With fewer, it is not known by how much runs vary: the kind says
 * what differs within these runs, and nothing counts as changed. Among all functions
 * together, at most one comparison in 20 finds a change by chance (Holm). */
#ifndef EVENTRING_TOOL_DIFF_ROWS_H
#define EVENTRING_TOOL_DIFF_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/compare.h"
#include "profile_diff.h"
#include "view.h"

struct diff_row {
  char *name, *source;
  uint32_t line;
  size_t run;       /* the run from which it was read */
  uint32_t line_on[2]; /* line on each side; 0 if there is none or it is not known */
  double *own;      /* own figure by run; the kind defines its meaning */
  double calls[2];  /* sum of the calls over all runs of a side */
  /* variance of a call's duration over the square of its mean, times calls */
  double spread[2];
  /* error of the difference between the sides, at 95 %; 0 if not estimated */
  double error;
  double moved;     /* the difference between the sides, by which rows are sorted */
  struct eva_comparison comparison;
};

struct diff_rows {
  const struct diff_kind *kind;
  struct diff_row *rows;
  size_t count, runs;
  size_t run;    /* the run that is being read */
  bool lines;    /* rows are lines of functions */
  double *total; /* by run */
  uint64_t top;  /* how many rows are shown */
};

/* What is compared. */
struct diff_kind {
  /* Returns the value by which a run is compared with others. */
  double (*value)(const struct diff_rows *d, const struct diff_row *row, size_t run);
  /* Fills `comparison`, `error` and `moved` from the sums of the sides. */
  void (*compare)(const struct diff_rows *d, struct diff_row *row);
  /* Tells whether a significant difference is large enough to be reported. `few` is true
     if there are few runs. */
  bool (*matters)(const struct diff_row *row, bool few);

  void (*heading)(const struct diff_rows *d); /* prints one line */
  /* how rows are compared with few runs; text after "... a side. " */
  const char *few;
  /* returns the verdict on a change */
  const char *(*verdict)(const struct diff_row *row, char text[static 64]);
  bool has_counts; /* the calls of a row are exact: a difference is reported */
  /* views of diff_rows and of diff_row; their context is the diff_rows */
  view_function *answer, *rows;
};

/* The parts that the views of all kinds include: the site and the verdict of a row, the
   runs. */
view_function diff_site_view, diff_verdict_view, diff_runs_view;
/* Puts the rows to show. */
void diff_rows_put(struct view_to *to, const void *diff);

/* Adds a row. Copies its texts; the rest is 0. */
struct diff_row *diff_rows_add(struct diff_rows *d, const char *name, const char *source,
                               uint32_t line);
/* Returns the sum over the runs of a side. */
double diff_rows_sum(const struct diff_rows *d, const double *of_runs, size_t side);

/* Reads all runs by `read`, which returns STATUS_GO_ON, or an exit status after a
   message. Then compares and prints them. Returns the exit status. */
int diff_rows(const struct diff_kind *kind, const struct profile_diff *options,
              int (*read)(struct diff_rows *d, const char *path, size_t run), char **paths,
              size_t count);

#endif
