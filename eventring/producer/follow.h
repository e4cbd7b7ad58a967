/* SPDX-License-Identifier: MIT */
/* follow.h: what the child of a fork needs for being recorded as its parent was. */
#ifndef EVENTRING_FOLLOW_H
#define EVENTRING_FOLLOW_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Copies the settings of a recording that has begun, which a child cannot ask the host
   for. */
void evr_follow_keep_locked(const struct evr_recording *recording,
                            const struct eventring_config *config);
/* Notes, in a forked child whose thread holds the mutex, what is recorded in the parent.
   (`recording` is NULL if nothing is; but a process that was itself about to follow its
   parent passes on what it noted.) Returns true when the child is to follow.
   Async-signal-safe. */
bool evr_follow_after_fork(const struct evr_recording *recording);
/* Returns the classes that the child wants at once, as a gate. */
uint64_t evr_follow_gate(void);
/* Tells whether it is clear that the child goes on. */
bool evr_follow_is_due(void);
/* Drops what was noted of the parent: the child will not follow it any more. */
void evr_follow_forget_locked(void);
/* Tells whether the host has named no directory in these settings, or in the settings
   that a child has from its parent. evr_follow_is_elsewhere tells whether the directory
   of the child's parent is a substitute. */
bool evr_follow_any_directory(const struct eventring_config *config);
bool evr_follow_is_elsewhere(const struct eventring_config *config);
/* Returns the settings for the next file of this process, whose present file was deleted:
   the same name and directory, and the classes and state wanted now. They are valid until
   the next call. */
const struct eventring_config *evr_follow_own_locked(struct evr_recording *recording);
/* Returns the settings for the child's own recording. */
const struct eventring_config *evr_follow_config(void);

#pragma GCC visibility pop

#endif /* EVENTRING_FOLLOW_H */
