/* SPDX-License-Identifier: MIT */
/* runtime/footprint.h: says in the recording what the memory of a domain is used for. */
#ifndef SAROS_RUNTIME_FOOTPRINT_H
#define SAROS_RUNTIME_FOOTPRINT_H

#include "domain.h"

/* Measures, and writes what it found: for a tool that asks. Some ns for each page. */
void footprint_measure(Domain *d);
/* Writes what the heap knows by its own counts, in some microseconds: after a major
 * cycle. */
void footprint_reckon(Domain *d);
/* The same if that was not done for a second: after a minor collection, before a wait. */
void footprint_reckon_if_old(Domain *d);

#endif
