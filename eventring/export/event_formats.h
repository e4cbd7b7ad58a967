/* SPDX-License-Identifier: MIT */
/* event_formats.h: recordings, with all events over time, in the formats of other tools.
 *
 * Each format has a file of its own, which includes only the public headers and the
 * analysis, and defines `const struct export_events export_events_<name>`. The caller
 * polls the cursor with `event` and `lost`. Events need not come in the order of time,
 * but those of each ring stay in their order. Memory does not grow with the length of the
 * recording.
 *
 * What is torn or lost is shown as such: an end whose begin is unknown (TORN), an end
 * that a reader has made (SYNTHETIC, TORN: begin_ns says when the span began), a loss.
 * The caller may leave out what lies outside a window. Then a SYNTHETIC begin, with its
 * true time, comes right before an end whose begin was left out. (A format with
 * `reads_before` also gets what lies before the window.)
 */
#ifndef EVENTRING_EXPORT_EVENT_FORMATS_H
#define EVENTRING_EXPORT_EVENT_FORMATS_H

#include "eventring/read.h"
#include "export/out.h"

/* What an exporter is given. Valid from `begin` to `finish`. */
struct export_run {
  eventring_cursor *cursor;
  const struct eventring_info *info; /* the recording as it was at the beginning */
  struct export_out *out; /* NULL if the format itself writes `path` */
  const char *path;       /* the file or folder that a format without `out` writes; the
                             caller has made it empty. If the export fails, the caller
                             removes it entirely */
  uint64_t since_ns, until_ns; /* 0, UINT64_MAX: the whole recording */
  const char *resource;   /* attributes that the user gives, KEY=VALUE,...; NULL if
                             none */
  uint64_t every_ns;      /* time between the samples of a series; 0: only the last
                             samples */
  /* Formats call this now and then if they have no `out`, or while they put nothing into
     it. It sets `error` if the export is to end. */
  void (*progress)(void *context);
  void *progress_context;
  char note[256];         /* a note for the user about the export; may be empty */
  char error[512];        /* what has failed, unless it is memory or `out` */
};

struct export_events {
  bool own_file;  /* the format does not use `out`, but writes the file run->path */
  /* For a format that writes into the folder run->path: tells whether it makes a file of
     this name there. */
  bool (*makes)(const char *name);
  bool reads_before; /* the format needs the events before run->since_ns, and leaves them
                        out itself */
  bool merged;    /* the format needs the events of all rings in the order of time */
  /* Returns the format's state, or NULL when out of memory or with a text in
     run->error. */
  void *(*begin)(struct export_run *run);
  /* Like the callbacks of a poll: a result other than 0 ends the poll (something
     failed). */
  int (*event)(void *state, const struct eventring_event *event);
  int (*lost)(void *state, const struct eventring_loss *loss);
  /* Takes each span that is open at the end, as eventring_open_spans gives it; `event`
     got its begin before. */
  int (*open)(void *state, const struct eventring_event *begin);
  /* Ends the export and frees the state. Returns 0, or -1 when out of memory or with a
     text in run->error. */
  int (*finish)(void *state);
};

#define EXPORT_EVENTS(name, suffix, form, summary) \
  extern const struct export_events export_events_##name;
#include "export/formats.def"

#endif
