/* names.h: the words for the library's enumerations, the same in tables and in
   JSON. Values that the library does not have give "?". */
#ifndef EVENTRING_TOOL_NAMES_H
#define EVENTRING_TOOL_NAMES_H

#include "tools/tool.h"

const char *ring_name(uint8_t ring);         /* "runtime", "user" */
const char *kind_name(uint8_t kind);         /* "begin", "end", "counter", ... */
const char *def_kind_name(uint8_t kind);     /* "span", "counter", ... */
const char *payload_name(uint8_t payload);   /* "none", "int", ... */
const char *liveness_name(enum eventring_liveness liveness); /* "live", ... */
const char *state_name(enum eventring_state state);          /* "running", ... */

#endif
