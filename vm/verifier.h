/* SPDX-License-Identifier: MIT */
/* vm/verifier.h: proves that bytecode cannot harm the interpreter (design: top of
   verifier.c). */
#ifndef SAROS_VM_VERIFIER_H
#define SAROS_VM_VERIFIER_H

#include "domain.h"

/* Checks a prototype whose arrays and header are in place and whose inner prototypes were
 * checked already. Takes scratch memory from the domain or, if d is NULL, from malloc.
 * Returns NULL, or what is wrong (verify_no_memory if there is no scratch memory). Raises
 * nothing. */
const char *verify_prototype(Domain *d, const Prototype *p);
extern const char verify_no_memory[];

#endif
