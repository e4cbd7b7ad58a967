/* SPDX-License-Identifier: MIT */
/* formats.c: the formats of other tools by their names. */
#include "formats.h"

#include <string.h>

#include "export/event_formats.h"
#include "export/export.h"

enum { TEXT, BINARY };
static const struct format formats[] = {
#define EXPORT_PROFILE(name, suffix, form, summary) \
  {#name, suffix, summary, form, export_##name, NULL},
#define EXPORT_EVENTS(name, suffix, form, summary) \
  {#name, suffix, summary, form, NULL, &export_events_##name},
#include "export/formats.def"
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static const struct format *find(const char *name, bool of_events) {
  for (size_t i = 0; i < FORMATS; i++)
    if ((formats[i].events != NULL) == of_events && strcmp(formats[i].name, name) == 0)
      return &formats[i];
  return NULL;
}

const struct format *format_of_profiles(const char *name) { return find(name, false); }
const struct format *format_of_events(const char *name) { return find(name, true); }

/* Writes the names of the formats of events, or of profiles, and returns them. */
static const char *list(char names[FORMATS_ROOM], bool of_events) {
  size_t used = 0;
  for (size_t i = 0; i < FORMATS; i++)
    if ((formats[i].events != NULL) == of_events)
      used += (size_t)snprintf(names + used, FORMATS_ROOM - used, "%s%s", used ? ", " : "",
                               formats[i].name);
  return names;
}

const char *formats_of_profiles(void) {
  static char names[FORMATS_ROOM];
  return list(names, false);
}

const char *formats_of_events(void) {
  static char names[FORMATS_ROOM];
  return list(names, true);
}
