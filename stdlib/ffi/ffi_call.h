/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_call.h: how a function type is called (ffi_abi.c, ffi_call.c,
 * ffi_callback.c). */
#ifndef SAROS_STDLIB_FFI_CALL_H
#define SAROS_STDLIB_FFI_CALL_H

#include <ffi.h>

#include "ffi_core.h"

/* How libffi is called for a function type; made once for each type. */
struct CallPlan {
  ffi_cif cif;
  /* number of libffi's arguments for each parameter: 0 to 2; with 2, its words */
  uint8_t *parts;
  ffi_type **types;    /* types of libffi's arguments */
  /* number of all these arguments; at most the number of parameters + 1 */
  uint32_t nparts;
  uint32_t *offsets;   /* offsets of the arguments in the buffer */
  uint32_t size;       /* size of the buffer */
  uint32_t result_size;/* bytes that libffi writes */
};

/* Returns the plan of a function type; raises if a type cannot be passed by value. */
CallPlan *ccall_plan(lua_State *L, CType *function);

/* ---- ffi_abi.c ----------------------------------------------------------- */

/* Returns the type of an argument in the form of libffi, or NULL with the reason in
 * *why. */
ffi_type *abi_type(lua_State *L, CType *t, const char **why);
/* Returns the type of the result of a function in the form of libffi, or NULL with the
   reason in *why. */
ffi_type *abi_result_type(lua_State *L, CType *t, const char **why);
/* Sets the parts of each parameter of a function, and the types of all parts, from
 * `whole`, the types of the parameters. Returns the number of parts. */
unsigned abi_assign(const CType *function, ffi_type *const *whole, ffi_type **types,
                    uint8_t *parts);

#endif
