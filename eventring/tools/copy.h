/* SPDX-License-Identifier: MIT */
/* copy.h: writes another recording out of one: `cut`, `strip`; or of several: `merge`.
 *
 * A copy is what a saver (eventring.h) makes of a recording as it is now, written in order by
 * one thread into a new file. Unlike a recorder it has no hurry, and what cannot be written
 * ends it: then no file is left. */
#ifndef EVENTRING_TOOL_COPY_H
#define EVENTRING_TOOL_COPY_H

#include "eventring/saver.h"
#include "tool.h"

struct copy_options {
  const char *path; /* of the copy, which must not exist yet */
  struct eventring_saver_options saver;
};

/* Copies the recording of `cursor`; fills *info with what was saved, and *bytes with the length
   of the file. COPY_DAMAGED: what is sound of it was; COPY_FAILED: there is no such file. Both
   after a message. SIGINT and SIGTERM end it, and leave no file. */
enum copy_status { COPY_DONE, COPY_DAMAGED, COPY_FAILED };
enum copy_status copy_recording(eventring_cursor *cursor, const struct copy_options *options,
                                struct eventring_saver_info *info, uint64_t *bytes);
/* The same in steps, of one saver or of several, each a part (eventring_saver_part). copy_begin
   creates the file; NULL after a message: it cannot. copy_write writes what a saver has. copy_end
   writes the front with the last one, if all was `done`, and frees the copy. False: there is no
   such file, after a message. */
struct copy;
struct copy *copy_begin(const char *path);
bool copy_write(struct copy *copy, eventring_saver *saver, bool over);
bool copy_end(struct copy *copy, bool done);
/* Says on standard error how much that is, and what is not in it. */
void print_copy(const char *path, const struct eventring_saver_info *info, uint64_t bytes);

/* Says what was found damaged besides. True: something was. */
bool report_damage(eventring_cursor *cursor);

#endif
