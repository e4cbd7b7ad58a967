/* SPDX-License-Identifier: MIT */
/* heap_export.h: writes a heap in the formats of other tools (export/export.h). */
#ifndef EVENTRING_TOOL_HEAP_EXPORT_H
#define EVENTRING_TOOL_HEAP_EXPORT_H

#include "analysis/heap_sites.h"
#include "tool.h"

/* Writes a heap to the file `path`, which must not exist, or to standard output if `path`
   is NULL. Returns the exit status, after a message. `resource` is NULL, or as in
   export.h. */
int heap_export(const struct eva_heap *heap, enum eva_measure main, eventring_cursor *cursor,
                const char *resource, const char *format, const char *path);
/* Writes any profile, as heap_export does. */
struct export_profile;
int export_write(const struct export_profile *profile, const char *format, const char *path);
/* Opens the file for the output of a command; standard output if `path` is NULL. Returns
   NULL after a message. Only one may be open at a time. Signals are held back (signals.h)
   until it is closed, so that no partial file stays. */
FILE *output_file_open(const char *path);
/* Opens a file as output_file_open does, but replaces an existing file (new_file_replace)
   and does not hold back signals. It is for commands that take long and may leave
   FILE.partial when they are killed. */
FILE *output_file_replace(const char *path);
/* Closes the file (but not standard output). Returns the exit status, after a message. */
int output_file_close(FILE *out, const char *path);

#endif
