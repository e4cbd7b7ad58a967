/* SPDX-License-Identifier: MIT */
/* outside.h: what other processes may ask of this one through the control page.
 *
 * The file belongs to the user who started the program, and who may write whatever there.
 * A program that can do more than that user (set-user-id or set-group-id, capabilities of
 * its file), or that keeps others from its memory (not dumpable), must not make files
 * where they say, nor stop for their questions. It obeys the word `wanted` only: that
 * decides what it records. */
#ifndef EVENTRING_OUTSIDE_H
#define EVENTRING_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Decides which of the words that the program knows are obeyed (format_status.obeys), and
   lets others read the memory of the process if the recording says so. */
void evr_outside_begin(struct evr_recording *r, uint64_t known);
/* Ends what evr_outside_begin began, for a recording that ends and has no successor. */
void evr_outside_end(struct evr_recording *r);
/* Restores what others wrote into words that are not obeyed and that this process reads
   all the same: what is sampled, kept and grown. Called ten times a second. */
void evr_outside_put_back(struct evr_recording *r);
/* Tells whether this word is obeyed now. Asks the kernel whether the process is dumpable:
   not for fast paths. Says no in the status page, too, from the first no on. Any
   thread. */
bool evr_outside_obeys(struct evr_recording *r, enum format_control_word word);

#pragma GCC visibility pop

#endif /* EVENTRING_OUTSIDE_H */
