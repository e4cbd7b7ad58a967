/* SPDX-License-Identifier: MIT */
/* diff_rows.h: functions and what each had in each run, compared: what `diff --profile`
 * of calls and of samples have in common.
 *
 * Runs are those of A and B in turn, an even number; a side is 0 (A) or 1 (B). Rows are
 * read one a function and run, and matched by name and place (diff_match.h). With
 * EVA_LEAST_RUNS runs a side or more they are compared by Welch's test
 * (analysis/compare.h). With fewer it is said what differs within these runs, as the kind
 * says, and nothing has changed: nobody knows by how much runs differ. Of all functions
 * together one is found by chance in 20 comparisons at most (Holm). */
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
  size_t run;       /* that it was read of */
  uint32_t line_on[2]; /* on each side; 0: not there, or not known */
  double *own;      /* of each run; what it is, the kind says */
  double calls[2];  /* of all runs of a side */
  double spread[2]; /* variance of a call's duration over the square of its mean, times calls */
  double error;     /* of the difference between the sides, with 95 %; 0: none was estimated */
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
  uint64_t top;  /* rows that are shown */
};

/* What is compared. */
struct diff_kind {
  /* The value of a run by which it is compared with others. */
  double (*value)(const struct diff_rows *d, const struct diff_row *row, size_t run);
  /* Fills `comparison`, `error` and `moved` from the sums of the sides. */
  void (*compare)(const struct diff_rows *d, struct diff_row *row);
  /* Is a difference that is no chance large enough to tell? `few`: runs. */
  bool (*matters)(const struct diff_row *row, bool few);

  void (*heading)(const struct diff_rows *d); /* one line */
  const char *few;              /* how it is compared with few runs, after "... a side. " */
  const char *(*verdict)(const struct diff_row *row, char text[static 64]); /* of a change */
  bool has_counts; /* the calls of a row are exact: where they differ, it is said */
  view_function *answer, *rows; /* views, of diff_rows and diff_row, in the context of these */
};

/* What the views of all kinds include: the place and the verdict of a row, the runs. */
view_function diff_place_view, diff_verdict_view, diff_runs_view;
/* Hands out the rows that are shown. */
void diff_rows_put(struct view_to *to, const void *diff);

/* Adds a row, of which the texts are copied and all else is 0. */
struct diff_row *diff_rows_add(struct diff_rows *d, const char *name, const char *source,
                               uint32_t line);
/* The sum over the runs of a side. */
double diff_rows_sum(const struct diff_rows *d, const double *of_runs, size_t side);

/* Reads all runs by `read`, which returns -1, or an exit status after a message; compares
   and prints them. Returns the exit status. */
int diff_rows(const struct diff_kind *kind, const struct profile_diff *options,
              int (*read)(struct diff_rows *d, const char *path, size_t run), char **paths,
              size_t count);

#endif
