/* SPDX-License-Identifier: MIT */
/* follow.h: what the child of a fork needs to be recorded as its parent was. */
#ifndef EVENTRING_FOLLOW_H
#define EVENTRING_FOLLOW_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* A recording has begun: copies its settings, which a child cannot ask the host for. */
void evr_follow_keep_locked(const struct evr_recording *recording,
                            const struct eventring_config *config);
/* In a forked child, whose thread holds the mutex: what is recorded in the parent?
   (NULL: nothing; then a child that was about to follow its own parent still is.) True:
   the child is to follow. Async-signal-safe. */
bool evr_follow_after_fork(const struct evr_recording *recording);
/* The classes that the child wants at once, as a gate. */
uint64_t evr_follow_gate(void);
/* Is it clear that the child goes on? */
bool evr_follow_is_due(void);
/* Nothing is to be followed any more. */
void evr_follow_forget_locked(void);
/* Has the host named no directory for these settings, or those that a child has of its
   parent? And is that of the child's parent a substitute? */
bool evr_follow_any_directory(const struct eventring_config *config);
bool evr_follow_is_elsewhere(const struct eventring_config *config);
/* Settings for the next file of this process, whose present one was deleted: its name in its
   directory, and what is wanted now. They are valid until the next call. */
const struct eventring_config *evr_follow_own_locked(struct evr_recording *recording);
/* The settings for the child's own recording. */
const struct eventring_config *evr_follow_config(void);

#pragma GCC visibility pop

#endif /* EVENTRING_FOLLOW_H */
