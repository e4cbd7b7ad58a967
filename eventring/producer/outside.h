/* SPDX-License-Identifier: MIT */
/* outside.h: what other processes may ask of this one through the control page.
 *
 * The file belongs to the user who started the program, and that user may write anything
 * into it. A program that has more rights than its user (set-user-id or set-group-id,
 * capabilities of its file), or that protects its memory from others (not dumpable), must
 * not make files where that user says, nor stop for that user's questions. It obeys only
 * the word `wanted`, which decides what it records. */
#ifndef EVENTRING_OUTSIDE_H
#define EVENTRING_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Decides which of the words in `known` are obeyed (format_status.obeys), and lets others
   read the memory of the process if the recording says so. */
void evr_outside_begin(struct evr_recording *r, uint64_t known);
/* Undoes evr_outside_begin for a recording that ends and has no successor. */
void evr_outside_end(struct evr_recording *r);
/* Restores the words that this process reads but does not obey, in case others wrote
   them: the sampling rate, the request for a profile of calls, and the time that rings
   hold. Called ten times a second. */
void evr_outside_put_back(struct evr_recording *r);
/* Tells whether this word is obeyed now. Asks the kernel whether the process is dumpable,
   so it is not for fast paths. After the first false result the status page says so, too.
   Any thread. */
bool evr_outside_obeys(struct evr_recording *r, enum format_control_word word);

#pragma GCC visibility pop

#endif /* EVENTRING_OUTSIDE_H */
