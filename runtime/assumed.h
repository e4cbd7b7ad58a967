/* SPDX-License-Identifier: MIT */
/* runtime/assumed.h: functions of libraries that code has found and may rely on until one
 * of the fields is set (design: assumed.c). Each domain has its own Assumptions, used by
 * its thread only. */
#ifndef SAROS_RUNTIME_ASSUMED_H
#define SAROS_RUNTIME_ASSUMED_H

#include "object.h"

typedef struct AssumedField {
  /* table in which `library` was found; NULL if it must be looked up again */
  const Table *globals;
  const Primitive *function;
  const String *library, *name;
} AssumedField;

typedef struct Assumptions {
  AssumedField *fields;
  uint32_t count, room;
  uint32_t changes; /* times that an assumed field was set after all, up to a limit */
  Table *globals; /* the globals of all fields that have some; a root of the collector */
} Assumptions;

#define NO_ASSUMPTION UINT32_MAX
/* Returns the number of an assumed field: `library` is a node of globals that holds a
 * table, and `function` a node of that table that holds a primitive. Returns
 * NO_ASSUMPTION if the function must be looked up each time. */
uint32_t assumed_field(Domain *d, Table *globals, Node *library, Node *function);
/* Drops all assumptions of the domain. */
void assumed_drop(Domain *d) COLD;
/* Handles a store into `node`, which has a short string as its key: if something was
 * assumed of the node, drops all assumptions. */
void assumed_set(Domain *d, Node *node) COLD;
void assumed_free(Domain *d);

#endif
