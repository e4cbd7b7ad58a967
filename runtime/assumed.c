/* SPDX-License-Identifier: MIT */
/* runtime/assumed.c: what code may assume about the tables of libraries.
 *
 * `math.abs` takes two lookups, in the globals and in `math`; hardly any program ever
 * changes their results. Code that has found a primitive by two such lookups gets the
 * number of an AssumedField. From then on the code does no lookup: it only compares its
 * globals with the globals of the field (GETASSUMED in vm/opcodes.def). The tables do not
 * change for other code, except that code which sets one of the two nodes has to report
 * it. Both nodes have Node.assumed set, so that the interpreter's own stores, which
 * compare a node's tags and this mark at once, leave them to the slow paths. Their tables
 * have TABLE_ASSUMED, which slow paths test. When a node is set, or a table gets other
 * nodes or becomes weak, all fields are dropped. The code then finds that its globals
 * differ, does the lookups again, and may assume again. After MOST_CHANGES changes (a
 * node was set, or other globals were used) nothing is assumed any more, so that a
 * program that changes a function again and again does not pay for it.
 *
 * Marks may stay on nodes of which nothing is assumed; each costs one slow path. The
 * number of a field stands for the same two names for ever, since code with an old number
 * may run at any time. Names are compared by the addresses of strings, which the
 * constants of the code keep alive.
 *
 * The globals are those of the registry. They are kept alive until the fields are
 * dropped: otherwise another table at the same address would be taken for them.
 * Primitives are not collected. Virtual machines with compilers call this a dependency on
 * a constant.
 */
#include "assumed.h"

#include "domain.h"
#include "heap.h"
#include "table.h"

#define MOST_FIELDS 1024
#define MOST_CHANGES 100

static uint32_t find_field(const Assumptions *a, const String *library, const String *name) {
  for (uint32_t i = 0; i < a->count; i++)
    if (a->fields[i].name == name && a->fields[i].library == library) return i;
  return NO_ASSUMPTION;
}

static bool grow(Domain *d) {
  Assumptions *a = &d->assumed;
  if (a->count < a->room) return true;
  if (a->room == MOST_FIELDS) return false;
  uint32_t room = a->room == 0 ? 8 : 2 * a->room;
  AssumedField *fields = heap_memory_try_resize(d, a->fields, a->room * sizeof *fields,
                                                room * sizeof *fields);
  if (fields == NULL) return false;
  a->fields = fields;
  a->room = room;
  return true;
}

static bool may_be_weak(Domain *d, const Table *t) {
  return table_fast_metamethod(d, t->metatable, META_MODE) != NULL;
}

static void change(Domain *d) {
  d->assumed.changes++;
  assumed_drop(d);
}

uint32_t assumed_field(Domain *d, Table *globals, Node *library, Node *function) {
  Assumptions *a = &d->assumed;
  Table *t = (Table *)library->v.gc;
  if (a->globals != NULL && a->globals != globals) change(d);
  if (a->changes == MOST_CHANGES || may_be_weak(d, globals) || may_be_weak(d, t))
    return NO_ASSUMPTION;
  const String *of = library->key.p, *name = function->key.p;
  uint32_t i = find_field(a, of, name);
  if (i == NO_ASSUMPTION) {
    if (!grow(d)) return NO_ASSUMPTION;
    i = a->count++;
  }
  a->fields[i] = (AssumedField){globals, function->v.prim, of, name};
  a->globals = globals;
  library->assumed = function->assumed = 1;
  globals->state |= TABLE_ASSUMED;
  t->state |= TABLE_ASSUMED;
  return i;
}

void assumed_drop(Domain *d) {
  Assumptions *a = &d->assumed;
  for (uint32_t i = 0; i < a->count; i++) a->fields[i].globals = NULL;
  a->globals = NULL;
}

void assumed_set(Domain *d, Node *node) {
  if (!node->assumed) return;
  node->assumed = 0;
  if (d->assumed.globals != NULL) change(d);
}

void assumed_free(Domain *d) {
  heap_memory_free(d, d->assumed.fields, d->assumed.room * sizeof *d->assumed.fields);
}
