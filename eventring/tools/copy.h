/* SPDX-License-Identifier: MIT */
/* copy.h: writes another recording out of one: `cut`, `snapshot`, `strip`;
 * or of several: `merge`.
 *
 * A copy is what a saver (eventring.h) makes of a recording as it is now, written in
 * order by one thread into a new file. Unlike a recorder it has no hurry, and what cannot
 * be written ends it: then no file is left. */
#ifndef EVENTRING_TOOL_COPY_H
#define EVENTRING_TOOL_COPY_H

#include "eventring/saver.h"
#include "tool.h"

struct copy;

struct copy_options {
  const char *path;   /* of the copy, which must not exist yet */
  struct copy *begun; /* its file, made by copy_begin before; NULL: it is made now */
  bool quiet;       /* nothing is said of how much it is, and what is not in it */
  struct eventring_saver_options saver;
};

/* Copies the recording of `cursor`, each block checked. STATUS_OK, or STATUS_WRONG after
   a message: what is sound of a damaged one was copied, or there is no such file. SIGINT
   and SIGTERM end it, and leave no file. options->begun is gone after it. */
int copy_recording(eventring_cursor *cursor, const struct copy_options *options);
/* The same in steps, of one saver or of several, each a part (eventring_saver_part).
   copy_begin creates the file; NULL after a message: it cannot. copy_write writes what a
   saver has, the last one with the front. copy_end names the file, if all was `done`, and
   frees the copy. False: there is no such file, after a message. */
struct copy *copy_begin(const char *path);
bool copy_write(struct copy *copy, eventring_saver *saver, bool is_last);
bool copy_end(struct copy *copy, bool done);
/* Says what was found damaged besides. True: something was. */
bool report_damage(eventring_cursor *cursor);

#endif
