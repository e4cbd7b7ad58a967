/* SPDX-License-Identifier: MIT */
/* file_names.h: the names of the files of one recording.
 *
 * In a template %i stands for the number of the file, from 1 on, and %% for a %; any
 * other % stands for itself. Without %i the number is put before the suffix,
 * `trace.2.eventring`, of the first file only if it is to be numbered. What is a device
 * has no numbers. */
#ifndef EVENTRING_TOOL_FILE_NAMES_H
#define EVENTRING_TOOL_FILE_NAMES_H

#include <sys/types.h>

#include "tool.h"

/* The name of a file, to be freed. */
char *file_name(const char *template, bool numbered, unsigned number);

/* The template of the files of one process among several: %p stands for its number;
   without it that is put before the suffix, `trace.4711.eventring`. `again`: from 2 on it
   is added, `4711-2`, for a process that has several recordings. To be freed. */
bool file_name_has_process(const char *template);
/* The same of %i, the number of one file among several. */
bool file_name_has_number(const char *template);
char *file_name_of_process(const char *template, pid_t pid, unsigned again);

#endif /* EVENTRING_TOOL_FILE_NAMES_H */
