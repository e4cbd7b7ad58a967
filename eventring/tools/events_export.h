/* SPDX-License-Identifier: MIT */
/* events_export.h: writes all events of a recording in the formats of other tools
   (export/event_formats.h). */
#ifndef EVENTRING_TOOL_EVENTS_EXPORT_H
#define EVENTRING_TOOL_EVENTS_EXPORT_H

#include "query.h"

/* Reads the recording, within the given window and domain, and writes the file `path`,
   which must not exist. Compresses it if the name ends with ".gz". `every_ns`: the time
   between the samples of a series, in formats that have series; 0: only the last ones.
   Returns the exit status. */
int events_export(struct query *q, const struct operands *operands, const char *format,
                  const char *path, uint64_t every_ns, const char *resource);

#endif
