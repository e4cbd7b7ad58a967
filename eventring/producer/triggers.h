/* SPDX-License-Identifier: MIT */
/* triggers.h: setting triggers: by the program, its configuration, other processes. */
#ifndef EVENTRING_TRIGGERS_H
#define EVENTRING_TRIGGERS_H

#pragma GCC visibility push(hidden)

/* The present recording has begun, with this list of triggers, which was checked; NULL: those
   that are set stay. */
void evr_triggers_begin_locked(const char *list);
/* It is about to end: those of other processes go. */
void evr_triggers_end_locked(void);

#pragma GCC visibility pop

#endif /* EVENTRING_TRIGGERS_H */
