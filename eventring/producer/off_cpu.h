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
/* Resets the clocks of the thread in a forked child. */
void evr_off_cpu_after_fork(void);

#pragma GCC visibility pop

#endif /* EVENTRING_OFF_CPU_H */
