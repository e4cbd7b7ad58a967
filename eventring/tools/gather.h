/* SPDX-License-Identifier: MIT */
/* gather.h: the metrics of all processes that record, as one text. */
#ifndef EVENTRING_TOOL_GATHER_H
#define EVENTRING_TOOL_GATHER_H

#include <stdbool.h>
#include <stdio.h>

#include "export/metrics.h"
#include "live_processes.h"

/* Writes the metrics of all processes of the list, as it was last refreshed, that record.
   Returns false if the recording of one could not be read, after a message if `says`.
   Errors of `out` stay in it (ferror). Ends the command if it is out of memory. */
bool gather_metrics(struct live_processes *live, struct metrics *metrics, FILE *out,
                    enum metrics_format format, bool says);

#endif
