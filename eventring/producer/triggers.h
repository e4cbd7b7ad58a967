/* SPDX-License-Identifier: MIT */
/* triggers.h: setting triggers: by the program, its configuration, other processes. */
#ifndef EVENTRING_TRIGGERS_H
#define EVENTRING_TRIGGERS_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* The present recording has begun, with this list of triggers, which was checked; NULL: those
   that are set stay. */
void evr_triggers_begin_locked(const char *list);
/* `next` is about to go on for `former`: triggers that other processes have set there stay, and
   their states are shown in `next` from now on. */
void evr_triggers_carry_locked(struct evr_recording *next, const struct evr_recording *former);
/* `next` is the present recording now. Its classes stay what they are. */
void evr_triggers_go_on_locked(void);
/* Takes the list that another process has set, where no domain comes to a safepoint. Any thread
   without the mutex. */
void evr_triggers_look(void);
/* The present recording is about to end: those of other processes go. */
void evr_triggers_end_locked(void);

#pragma GCC visibility pop

#endif /* EVENTRING_TRIGGERS_H */
