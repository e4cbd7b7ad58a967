/* SPDX-License-Identifier: MIT */
/* vm/library_fields.h: where code reads a function of a library, as in `math.abs`. */
#ifndef SAROS_VM_LIBRARY_FIELDS_H
#define SAROS_VM_LIBRARY_FIELDS_H

#include "domain.h"
#include "opcodes.h"

/* Turns `pair`, a GETTABUP and GETFIELD in the running function of L, into a GETASSUMED
 * if the value that it reads can be assumed; otherwise returns false. Does not raise. */
bool vm_assume_library_field(lua_State *L, Instruction *pair) COLD;

#endif
