/* SPDX-License-Identifier: MIT */
/* vm/library_fields.h: where code reads a function of a library, as in `math.abs`. */
#ifndef SAROS_VM_LIBRARY_FIELDS_H
#define SAROS_VM_LIBRARY_FIELDS_H

#include "domain.h"
#include "opcodes.h"

/* `pair` is one of GETTABUP and GETFIELD in the running function of L. Makes it a
 * GETASSUMED if what it reads can be assumed; else false. Does not raise. */
bool vm_assume_library_field(lua_State *L, Instruction *pair) COLD;

#endif
