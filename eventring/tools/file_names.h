/* SPDX-License-Identifier: MIT */
/* file_names.h: makes the names of the files of one recording.
 *
 * In a template %i is replaced by the number of the file, from 1 on, and %% by a %; any
 * other % stays. Without %i the number is put before the suffix, as in
 * `trace.2.eventring`; the first file has a number only if it must be numbered. A device
 * gets no number. */
#ifndef EVENTRING_TOOL_FILE_NAMES_H
#define EVENTRING_TOOL_FILE_NAMES_H

#include <sys/types.h>

#include "tool.h"

/* Returns the name of a file. The caller frees it. */
char *file_name(const char *template, bool numbered, unsigned number);

/* Tells whether a template contains %p, the number of a process. */
bool file_name_has_process(const char *template);
/* Tells whether a template contains %i, the number of one file among several. */
bool file_name_has_number(const char *template);
/* Returns the template of the files of one process among several: %p is replaced by its
   number. Without %p the number is put before the suffix, as in `trace.4711.eventring`.
   For further recordings of a process, `again` is 2 or more and is added: `4711-2`. The
   caller frees the template. */
char *file_name_of_process(const char *template, pid_t pid, unsigned again);

#endif /* EVENTRING_TOOL_FILE_NAMES_H */
