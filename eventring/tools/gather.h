/* SPDX-License-Identifier: MIT */
/* gather.h: gathers the metrics of all processes that record, as one text. */
#ifndef EVENTRING_TOOL_GATHER_H
#define EVENTRING_TOOL_GATHER_H

#include <stdbool.h>
#include <stdio.h>

#include "export/metrics.h"
#include "live_processes.h"

/* Writes the metrics of all recording processes in the list, as it was last refreshed.
   Returns false if a recording could not be read, after a message if `says`. `out` keeps
   its errors (ferror). Ends the command if it is out of memory. */
bool gather_metrics(struct live_processes *live, struct metrics *metrics, FILE *out,
                    enum metrics_format format, bool says);

#endif
