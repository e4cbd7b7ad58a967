/* SPDX-License-Identifier: MIT */
/* off_cpu.h: for how long the calling thread was not on a processor
   (eventring_off_cpu_begin). */
#ifndef EVENTRING_OFF_CPU_H
#define EVENTRING_OFF_CPU_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Switches the measurement on or off; when it is off, eventring_off_cpu_begin returns 0.
   Any thread. */
void evr_off_cpu_measure(bool on);
/* Leaves it to evr_off_cpu_find to find out how the time can be measured, for which a
   thread must sleep. Until then both clocks are read, which works anywhere. */
void evr_off_cpu_find_later(void);
/* Says that evr_off_cpu_find will not be called: the next measurement finds it out. */
void evr_off_cpu_find_yourself(void);
/* Finds out how the time can be measured, if that was left to it. Sleeps. */
void evr_off_cpu_find(void);
/* Begins the clocks of the thread anew in a forked child, which has no helper. */
void evr_off_cpu_after_fork(void);

#pragma GCC visibility pop

#endif /* EVENTRING_OFF_CPU_H */
