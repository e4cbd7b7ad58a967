/* SPDX-License-Identifier: MIT */
/* vm/library_fields.c: turns the pair of GETTABUP and GETFIELD that reads `math.abs` into
 * a GETASSUMED, which assumes its value (runtime/assumed.c).
 *
 * The replacement is tried when GETTABUP does not find the library where it searches
 * first, as when the pair runs for the first time. (If the library is there by chance,
 * the pair stays a pair.) The number of the assumption replaces the position in the first
 * aux word. If the GETASSUMED runs with another table of globals, it turns itself back
 * into the pair.
 */
#include "library_fields.h"

#include "func.h"
#include "table.h"
#include "thread.h"

static Node *node_of(Table *t, const TValue *key) {
  const TValue *slot = table_get_str(t, as_string(key));
  return slot != &table_absent ? (Node *)slot : NULL;
}

bool vm_assume_library_field(lua_State *L, Instruction *pair) {
  Domain *d = L->domain;
  const LuaClosure *closure = as_lua_closure(L->ci->func);
  const Prototype *p = closure->p;
  if (INS_OP(pair[0]) != OP_GETTABUP_GETFIELD || INS_A(pair[0]) != INS_A(pair[2])) return false;
  const TValue *globals = closure->upvalues[INS_B(pair[0])]->v;
  const TValue *own = table_get_int(as_table(&d->registry), LUA_RIDX_GLOBALS);
  if (!is_table(globals) || !is_table(own) || as_table(globals) != as_table(own)) return false;
  Node *library = node_of(as_table(globals), &p->k[AUX_KEY(pair[1])]);
  if (library == NULL || library->tag != TAG_TABLE) return false;
  Node *function = node_of((Table *)library->v.gc, &p->k[AUX_KEY(pair[3])]);
  if (function == NULL || function->tag != TAG_PRIMITIVE) return false;
  uint32_t number = assumed_field(d, as_table(globals), library, function);
  if (number == NO_ASSUMPTION) return false;
  pair[1] = AUX_KEY(pair[1]) | number << 16;
  pair[0] = (pair[0] & ~(Instruction)0xff) | OP_GETASSUMED;
  return true;
}
