/* SPDX-License-Identifier: MIT */
/* heap_export.h: a heap in the formats of other tools (export/export.h). */
#ifndef EVENTRING_TOOL_HEAP_EXPORT_H
#define EVENTRING_TOOL_HEAP_EXPORT_H

#include "analysis/heap.h"
#include "tool.h"

/* Writes it to the file `path`, which must not be there, or NULL: standard output.
   Returns the exit status, after a message. `resource`: NULL, or as export.h has it. */
int heap_export(const struct eva_heap *heap, enum eva_measure main, eventring_cursor *cursor,
                const char *resource, const char *format, const char *path);
/* The same of any profile. */
struct export_profile;
int export_write(const struct export_profile *profile, const char *format, const char *path);
/* Opens the file for the output of a command, NULL: standard output. NULL after a
   message. One at a time; signals.h holds back signals until it is closed, so that no
   part of it stays. */
FILE *output_file_open(const char *path);
/* The same, but the file may be there and is replaced (new_file_replace), and signals are
   not held back: for a command that takes its time, and may leave FILE.partial when it is
   killed. */
FILE *output_file_replace(const char *path);
/* Closes it (not standard output); the exit status, after a message. */
int output_file_close(FILE *out, const char *path);

#endif
