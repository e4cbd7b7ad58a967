/* SPDX-License-Identifier: MIT */
/* formats.h: the formats of other tools by their names (export/formats.def). */
#ifndef EVENTRING_TOOL_FORMATS_H
#define EVENTRING_TOOL_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

struct export_profile;
struct export_events;

struct format {
  const char *name, *suffix, *summary;
  bool is_binary; /* a terminal should not get it */
  int (*write_profile)(const struct export_profile *profile, FILE *out); /* NULL: of events */
  const struct export_events *events;                                   /* NULL: of profiles */
};

/* The format of profiles, of events, of this name; NULL: there is none. */
const struct format *format_of_profiles(const char *name);
const struct format *format_of_events(const char *name);
/* Their names, "pprof, speedscope, folded", for messages. Not by several threads at
   once. */
const char *formats_of_profiles(void);
const char *formats_of_events(void);

#endif
