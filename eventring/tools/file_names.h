/* SPDX-License-Identifier: MIT */
/* file_names.h: the names of the files of one recording.
 *
 * In a template %i stands for the number of the file, from 1 on, and %% for a %; any other
 * % stands for itself. Without %i the number is put before the suffix, `trace.2.eventring`,
 * of the first file only if it is to be numbered. What is a device has no numbers. */
#ifndef EVENTRING_TOOL_FILE_NAMES_H
#define EVENTRING_TOOL_FILE_NAMES_H

#include "tool.h"

/* The name of a file, to be freed. */
char *file_name(const char *template, bool numbered, unsigned number);

#endif /* EVENTRING_TOOL_FILE_NAMES_H */
