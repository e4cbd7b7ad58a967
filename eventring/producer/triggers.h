/* SPDX-License-Identifier: MIT */
/* triggers.h: setting triggers: by the program, its configuration, other processes. */
#ifndef EVENTRING_TRIGGERS_H
#define EVENTRING_TRIGGERS_H

#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Puts this list of triggers, which was checked, in force as a recording begins. If the
   list is NULL, the present triggers stay. */
void evr_triggers_begin_locked(const char *list);
/* Carries triggers over to `next`, which is about to replace `former`. Triggers that
   other processes have set in `former` stay, and `next` shows their states from now
   on. */
void evr_triggers_carry_locked(struct evr_recording *next, const struct evr_recording *former);
/* Goes on with the next recording as the present one. Its classes stay as they are. */
void evr_triggers_go_on_locked(void);
/* Takes the list that another process has set, in case no domain reaches a safepoint. Any
   thread without the mutex. */
void evr_triggers_look(void);
/* Removes the triggers of other processes: the present recording is about to end. */
void evr_triggers_end_locked(void);

#pragma GCC visibility pop

#endif /* EVENTRING_TRIGGERS_H */
