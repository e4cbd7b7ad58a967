/* SPDX-License-Identifier: MIT */
/* runtime/assumed.h: functions of libraries that code has found, and may take for granted
 * until somebody sets such a field (design: assumed.c). Of a domain; on its own thread. */
#ifndef SAROS_RUNTIME_ASSUMED_H
#define SAROS_RUNTIME_ASSUMED_H

#include "object.h"

typedef struct AssumedField {
  const Table *globals;      /* in which `library` was found; NULL: look again */
  const Primitive *function;
  const String *library, *name;
} AssumedField;

typedef struct Assumptions {
  AssumedField *fields;
  uint32_t count, room;
  uint32_t changes; /* fields that were set after all, up to a limit */
  Table *globals;   /* of all fields that have some; a root of the collector */
} Assumptions;

#define NO_ASSUMPTION UINT32_MAX
/* The number of an assumed field: `library`, a node of globals, has a table, in which `function`
 * is a node with a primitive. NO_ASSUMPTION: it must be looked up each time. */
uint32_t assumed_field(Domain *d, Table *globals, Node *library, Node *function);
/* Nothing is taken for granted any more. */
void assumed_drop(Domain *d) COLD;
/* What the node of a short string has is set by someone: `node` is one that was assumed, or
 * any other. */
void assumed_set(Domain *d, Node *node) COLD;
void assumed_free(Domain *d);

#endif
