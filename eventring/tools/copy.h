/* SPDX-License-Identifier: MIT */
/* copy.h: makes a new recording from one (`cut`, `snapshot`, `strip`) or from several
 * (`merge`).
 *
 * A saver (eventring.h) makes the copy of a recording as it is now; one thread writes it,
 * in order, into a new file. Unlike a recorder, it need not keep up with a process. A
 * failed write ends it and leaves no file. */
#ifndef EVENTRING_TOOL_COPY_H
#define EVENTRING_TOOL_COPY_H

#include "eventring/saver.h"
#include "options.h"

struct copy;

struct copy_options {
  const char *path;   /* path of the copy, which must not exist yet */
  struct copy *begun; /* the file, from copy_begin; NULL if it is made now */
  bool quiet;       /* prints neither how much was copied nor what is missing */
  struct eventring_saver_options saver_options;
};

/* Copies the recording of `cursor`, checking each block. Returns STATUS_OK, or
   STATUS_WRONG after a message: only the sound part of a damaged recording was copied, or
   there is no copy. SIGINT and SIGTERM end the copying, and no file stays. Frees
   options->begun. */
int copy_recording(eventring_cursor *cursor, const struct copy_options *options);
/* Copies the recording of the one PID or FILE. Returns the exit status, also for a usage
   error (a wrong operand, or no options->path). */
int copy_target(const struct command *self, const struct operands *operands,
                const struct copy_options *options);
/* Creates the file of a copy that is made in steps: by one saver, or by several, each for
   a part (eventring_saver_part). Returns NULL after a message. */
struct copy *copy_begin(const char *path);
/* Writes what a saver has, and for the last saver also the front. Returns false after a
   message. */
bool copy_write(struct copy *copy, eventring_saver *saver, bool is_last);
/* Gives the file its name, if all was `done`, and frees the copy. Returns false, after a
   message, if the file was not made. */
bool copy_end(struct copy *copy, bool done);
/* Reports any other damage that was found. Returns true if there was any. */
bool report_damage(eventring_cursor *cursor);

#endif
