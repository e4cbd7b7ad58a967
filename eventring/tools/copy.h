/* SPDX-License-Identifier: MIT */
/* copy.h: makes another recording of one (`cut`, `snapshot`, `strip`) or of several
 * (`merge`).
 *
 * A copy is what a saver (eventring.h) makes of a recording as it is now, written in
 * order by one thread into a new file. Unlike a recorder it need not keep up with a
 * process, and a failed write ends it: then no file is left. */
#ifndef EVENTRING_TOOL_COPY_H
#define EVENTRING_TOOL_COPY_H

#include "eventring/saver.h"
#include "options.h"

struct copy;

struct copy_options {
  const char *path;   /* of the copy, which must not exist yet */
  struct copy *begun; /* its file, made by copy_begin before; NULL: it is made now */
  bool quiet;       /* prints neither how much was copied nor what is missing */
  struct eventring_saver_options saver_options;
};

/* Copies the recording of `cursor`, checking each block. Returns STATUS_OK, or
   STATUS_WRONG after a message: only what is sound of a damaged recording was copied, or
   there is no copy. SIGINT and SIGTERM end it, and leave no file. options->begun is
   freed. */
int copy_recording(eventring_cursor *cursor, const struct copy_options *options);
/* Copies the recording of the one PID or FILE. Returns the exit status, also of a usage
   error: a wrong operand, or no options->path. */
int copy_target(const struct command *self, const struct operands *operands,
                const struct copy_options *options);
/* Creates the file of a copy that is made in steps, by one saver or by several, each for
   a part (eventring_saver_part). Returns NULL, after a message, if it cannot. */
struct copy *copy_begin(const char *path);
/* Writes what a saver has; with the last one, the front. Returns false after a
   message. */
bool copy_write(struct copy *copy, eventring_saver *saver, bool is_last);
/* Gives the file its name, if all was `done`, and frees the copy. Returns false, after a
   message, if there is no such file. */
bool copy_end(struct copy *copy, bool done);
/* Reports what else was found damaged. Returns true if anything was. */
bool report_damage(eventring_cursor *cursor);

#endif
