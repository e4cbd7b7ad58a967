/* SPDX-License-Identifier: MIT */
/* formats.h: the formats of other tools by their names (export/formats.def). */
#ifndef EVENTRING_TOOL_FORMATS_H
#define EVENTRING_TOOL_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

struct export_profile;
struct export_events;

/* Bytes for the names of all formats, each followed by a comma and a space, or at the end
   by the 0. */
enum {
  FORMATS_ROOM = 0
#define EXPORT_PROFILE(name, suffix, form, summary) +(int)sizeof #name + 1
#define EXPORT_EVENTS(name, suffix, form, summary) +(int)sizeof #name + 1
#include "export/formats.def"
};

struct format {
  const char *name, *suffix, *summary;
  bool is_binary; /* it is not written to a terminal */
  /* NULL for a format of events */
  int (*write_profile)(const struct export_profile *profile, FILE *out);
  /* NULL for a format of profiles */
  const struct export_events *events;
};

/* Returns the format of profiles, or of events, that has this name; NULL if there is
   none. */
const struct format *format_of_profiles(const char *name);
const struct format *format_of_events(const char *name);
/* Returns the names of such formats, "pprof, speedscope, folded", for messages. Must not
   be called by several threads at once. */
const char *formats_of_profiles(void);
const char *formats_of_events(void);

#endif
