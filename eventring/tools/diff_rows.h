/* SPDX-License-Identifier: MIT */
/* diff_rows.h: functions and what each had in each run, compared: what `diff --profile`
 * of calls and of samples have in common.
 *
 * The runs are an even number, those of A and of B in turn; a side is 0 (A) or 1 (B). One
 * row is read per function and run; rows are matched by name and site (diff_match.h).
 * With EVA_LEAST_RUNS runs per side or more, rows are compared by Welch's test
 * (analysis/compare.h). With fewer, the kind says what differs within these runs, and
 * nothing counts as changed: it is not known by how much runs differ. Among all functions
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
  size_t run;       /* that it was read from */
  uint32_t line_on[2]; /* on each side; 0: not there, or not known */
  double *own;      /* of each run; the kind says what it is */
  double calls[2];  /* of all runs of a side */
  /* variance of a call's duration over the square of its mean, times calls */
  double spread[2];
  /* of the difference between the sides, with 95 %; 0: none was estimated */
  double error;
  double moved;     /* the difference between the sides, by which rows are sorted */
  struct eva_comparison comparison;
};

struct diff_rows {
  const struct diff_kind *kind;
  struct diff_row *rows;
  size_t count, runs;
  size_t run;    /* that is being read */
  bool lines;    /* rows are lines of functions */
  double *total; /* of each run */
  uint64_t top;  /* how many rows are shown */
};

/* What is compared. */
struct diff_kind {
  /* Returns the value of a run by which it is compared with others. */
  double (*value)(const struct diff_rows *d, const struct diff_row *row, size_t run);
  /* Fills `comparison`, `error` and `moved` from the sums of the sides. */
  void (*compare)(const struct diff_rows *d, struct diff_row *row);
  /* Tells whether a difference that is not due to chance is large enough to be reported.
     `few`: there are few runs. */
  bool (*matters)(const struct diff_row *row, bool few);

  void (*heading)(const struct diff_rows *d); /* prints one line */
  /* how it is compared with few runs; text after "... a side. " */
  const char *few;
  /* returns the verdict on a change */
  const char *(*verdict)(const struct diff_row *row, char text[static 64]);
  bool has_counts; /* the calls of a row are exact: if they differ, that is reported */
  /* views of diff_rows and of diff_row, with the diff_rows as their context */
  view_function *answer, *rows;
};

/* The parts that the views of all kinds include: the site and the verdict of a row, the
   runs. */
view_function diff_place_view, diff_verdict_view, diff_runs_view;
/* Puts the rows that are shown. */
void diff_rows_put(struct view_to *to, const void *diff);

/* Adds a row. Its texts are copied, and all else is 0. */
struct diff_row *diff_rows_add(struct diff_rows *d, const char *name, const char *source,
                               uint32_t line);
/* Returns the sum over the runs of a side. */
double diff_rows_sum(const struct diff_rows *d, const double *of_runs, size_t side);

/* Reads all runs by `read`, which returns STATUS_GO_ON, or an exit status after a
   message; compares and prints them. Returns the exit status. */
int diff_rows(const struct diff_kind *kind, const struct profile_diff *options,
              int (*read)(struct diff_rows *d, const char *path, size_t run), char **paths,
              size_t count);

#endif
