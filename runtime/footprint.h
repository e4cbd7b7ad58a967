/* SPDX-License-Identifier: MIT */
/* runtime/footprint.h: records what the memory of a domain is used for. */
#ifndef SAROS_RUNTIME_FOOTPRINT_H
#define SAROS_RUNTIME_FOOTPRINT_H

#include "domain.h"

/* Measures the memory of the domain page by page and writes the result, for a tool that
 * asks. Takes some ns for each page. */
void footprint_measure(Domain *d);
/* Writes the heap's own counts. Takes some microseconds; called after a major cycle. */
void footprint_reckon(Domain *d);
/* Calls footprint_reckon if nothing was written for a second. Called after a minor
 * collection and before a wait. */
void footprint_reckon_if_old(Domain *d);

#endif
