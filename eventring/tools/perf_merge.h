/* SPDX-License-Identifier: MIT */
/* perf_merge.h: puts each sample of perf below the spans that its thread had open at that
   time. */
#ifndef EVENTRING_TOOL_PERF_MERGE_H
#define EVENTRING_TOOL_PERF_MERGE_H

#include "perf_text.h"
#include "reader.h"
#include "time_profile.h"

struct perf_merge_options {
  const char *path;  /* of the text of `perf script`; "-": standard input */
  const char *event; /* only samples of this event; NULL for all */
  /* only the native frames within the innermost frame of this name; NULL for all */
  const char *below;
};

struct perf_merge;
/* Reads the text, and the recording (opened with OPEN_MERGED) to its end, and makes the
   profile. Returns STATUS_GO_ON, or the exit status after a message. perf_merge_free must
   come after time_profile_free. */
int perf_merge(struct perf_merge **merge, struct reader *reader,
               const struct perf_merge_options *options, enum sample_detail detail,
               struct time_profile *profile);
void perf_merge_free(struct perf_merge *merge); /* NULL: does nothing */

#endif
