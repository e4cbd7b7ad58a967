/* SPDX-License-Identifier: MIT */
/* names.h: the words for the library's enumerations, the same in tables and in JSON. An
 * instant is called "event", as the guest's function that writes one.
 *
 * Values that the library does not have give "?". The strings are constants, and names
 * out of the file valid as long as the cursor. Errors: none. Any thread, that of the
 * cursor where there is one.
 */
#ifndef EVENTRING_ANALYSIS_NAMES_H
#define EVENTRING_ANALYSIS_NAMES_H

#include <stdint.h>

#include "eventring/read.h"

/* The name that the file gives the ring; "ring4" when it gives none (or cursor is
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
/* ", no room" where rings lack blocks (eventring_info.no_room), else "". */
const char *eva_room_text(uint32_t no_room);
enum { EVA_NO_ROOM = 160 };
/* The same as a sentence, into `text` (EVA_NO_ROOM bytes), which it returns; else "". */
char *eva_no_room_text(char *text, const struct eventring_info *info);
const char *eva_activity_name(uint32_t activity);                /* "running", "waiting", ... */
/* The id of the definition that the event's value stands for, such as the reason of a collection
   with its begin; -1: its value is none, or was made up by the reader. */
int eva_named_by(const struct eventring_event *event);

#endif
