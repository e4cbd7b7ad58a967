/* SPDX-License-Identifier: MIT */
/* names.h: the words for the library's enumerations, which are the same in tables and in
 * JSON. An instant is called "event", like the guest's function that writes one.
 *
 * Returns "?" for values that the library does not have. The strings are constants; names
 * from the file are valid as long as the cursor. Errors: none. Any thread; where there is
 * a cursor, its thread.
 */
#ifndef EVENTRING_ANALYSIS_NAMES_H
#define EVENTRING_ANALYSIS_NAMES_H

#include <stdint.h>

#include "eventring/read.h"

/* Returns the name that the file gives the ring; "ring4" if it gives none (or cursor is
   NULL). */
const char *eva_ring_name(const eventring_cursor *cursor, uint8_t ring);
const char *eva_kind_name(uint8_t kind);         /* "begin", "end", "counter", ... */
const char *eva_role_name(uint8_t role);         /* "begin", "end", "step" */
const char *eva_def_kind_name(uint8_t kind);     /* "span", "counter", ... */
const char *eva_measure_name(uint8_t measure);   /* "none", "level", ... */
const char *eva_quantity_name(uint8_t quantity); /* "none", "heap", ... */
const char *eva_payload_name(uint8_t payload);   /* "none", "int", ... */
const char *eva_liveness_name(enum eventring_liveness liveness); /* "live", ... */
const char *eva_state_name(enum eventring_state state);          /* "running", ... */
/* Returns ", no room" if rings lack blocks (eventring_info.no_room), else "". */
const char *eva_room_text(uint32_t no_room);
enum { EVA_NO_ROOM = 160 };
/* Writes into `text` (EVA_NO_ROOM bytes) how many rings lack blocks, and since when, as a
   sentence; "" if none does. Returns `text`. */
char *eva_no_room_text(char *text, const struct eventring_info *info);
const char *eva_activity_name(uint32_t activity); /* "running", "waiting", ... */
/* Returns the id of the definition that the event's value stands for: with the begin of a
   collection, for instance, its reason. Returns -1 if the value stands for no definition,
   or if the reader made the event up. */
int eva_named_by(const struct eventring_event *event);

#endif
