/* SPDX-License-Identifier: MIT */
/* events.h: recordings, with all events over time, in the formats of other tools.
 *
 * Each format has a file of its own, which knows the public headers and the analysis alone,
 * and defines `const struct export_events export_events_<name>`. The caller polls the cursor
 * with `event` and `lost`; where it delivers in another order than that of time, that of each
 * ring remains. Memory does not grow with the length of the recording.
 *
 * What is torn and lost appears as that: an end whose begin is unknown (TORN), an end that a
 * reader has made (SYNTHETIC, TORN: begin_ns says when the span began), a loss. The caller
 * may leave out what is not in a window: then a SYNTHETIC begin, with its true time, comes
 * right before an end of which the begin was left out. (A format with `reads_before` is given what
 * is before the window, too.)
 */
#ifndef EVENTRING_EXPORT_EVENTS_H
#define EVENTRING_EXPORT_EVENTS_H

#include "eventring/read.h"
#include "export/out.h"

/* What an exporter is given; valid from `begin` to `finish`. */
struct export_run {
  eventring_cursor *cursor;
  const struct eventring_info *info; /* of the beginning */
  struct export_out *out; /* NULL where the format writes its file, or files, itself ... */
  const char *path;       /* ... here: an empty file, or folder, that the caller has made. It
                             removes all of it where the export has failed */
  uint64_t since_ns, until_ns; /* what is exported; 0, UINT64_MAX: all of the recording */
  const char *resource;   /* attributes that the user gives, KEY=VALUE,...; NULL: none */
  uint64_t every_ns;      /* between the samples of a series; 0: only the last ones */
  /* To be called now and then by those, and by others while they put nothing into `out`. It sets
     `error` where the export is to end. */
  void (*progress)(void *context);
  void *progress_context;
  char note[256];         /* what is to be said of what was exported; empty: nothing */
  char error[512];        /* what has failed, if it is neither memory nor `out` */
};

struct export_events {
  bool own_file;  /* it writes no `out`, but the file run->path */
  /* Of one that writes into the folder run->path: does it give a file in it this name? */
  bool (*makes)(const char *name);
  bool reads_before; /* it needs the events and losses before run->since_ns, which it leaves out */
  bool merged;    /* it needs the events of all rings in the order of time */
  /* Returns its state; NULL: no memory, or run->error has a text. */
  void *(*begin)(struct export_run *run);
  /* As the callbacks of a poll: a result other than 0 ends it (something has failed). */
  int (*event)(void *state, const struct eventring_event *event);
  int (*lost)(void *state, const struct eventring_loss *loss);
  /* Of each span that is open at the end, as eventring_open_spans has it; its begin has been
     given before. */
  int (*open)(void *state, const struct eventring_event *begin);
  /* The end. Frees the state. Returns 0; -1: no memory, or run->error has a text. */
  int (*finish)(void *state);
};

#define EXPORT_EVENTS(name, suffix, form, summary) \
  extern const struct export_events export_events_##name;
#include "export/formats.def"

#endif
