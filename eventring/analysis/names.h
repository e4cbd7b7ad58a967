/* SPDX-License-Identifier: MIT */
/* names.h: the words for the library's enumerations, the same in tables and in JSON. An
 * instant is called "event", as the guest's function that writes one.
 *
 * Values that the library does not have give "?". The strings are constants. Errors:
 * none. Any thread.
 */
#ifndef EVENTRING_ANALYSIS_NAMES_H
#define EVENTRING_ANALYSIS_NAMES_H

#include <stdint.h>

#include "eventring.h"

const char *eva_ring_name(uint8_t ring);         /* "runtime", "user" */
const char *eva_kind_name(uint8_t kind);         /* "begin", "end", "counter", ... */
const char *eva_def_kind_name(uint8_t kind);     /* "span", "counter", ... */
const char *eva_payload_name(uint8_t payload);   /* "none", "int", ... */
const char *eva_liveness_name(enum eventring_liveness liveness); /* "live", ... */
const char *eva_state_name(enum eventring_state state);          /* "running", ... */

#endif
