/* SPDX-License-Identifier: MIT */
/* lock.h: the producer's mutex.
 *
 * It guards all that the producer keeps for the whole process: the present recording, the
 * list of domains, the slots, the catalogue. Nobody holds it on the path of an
 * event. The name of a function that ends in _locked says that the caller holds it.
 */
#ifndef EVENTRING_LOCK_H
#define EVENTRING_LOCK_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

void evr_lock(void);
void evr_unlock(void);
/* For handlers of signals: false when the mutex does not get free within 20 ms, because
   the interrupted thread itself holds it. */
bool evr_lock_soon(void);
/* In a forked child, whose only thread holds the mutex: releases it. */
void evr_lock_renew(void);

/* Is this thread between evr_lock and evr_unlock? Read by probes in handlers of signals
   that interrupt it there; so it must be there without an allocation. */
extern __thread bool evr_locking __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop

#endif /* EVENTRING_LOCK_H */
