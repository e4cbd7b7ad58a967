/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_call.h: how a function type is called (ffi_abi.c, ffi_call.c,
 * ffi_callback.c). */
#ifndef SAROS_STDLIB_FFI_CALL_H
#define SAROS_STDLIB_FFI_CALL_H

#include <ffi.h>

#include "ffi_core.h"

/* Made once for each function type. */
struct CallPlan {
  ffi_cif cif;
  uint8_t *parts;      /* arguments of libffi's that each parameter is: 0 to 2, words of it if 2 */
  ffi_type **types;    /* of these */
  uint32_t nparts;     /* of all parameters; at most one more than these */
  uint32_t *offsets;   /* of the arguments in the buffer */
  uint32_t size;       /* of the buffer */
  uint32_t result_size;/* bytes that libffi writes */
};

/* The plan of a function type; raises when a type cannot be passed by value. */
CallPlan *ccall_plan(lua_State *L, CType *function);

/* ---- ffi_abi.c ----------------------------------------------------------- */

/* The type of an argument as libffi wants it, or NULL with the reason in *why. */
ffi_type *abi_type(lua_State *L, CType *t, const char **why);
/* The same for the result of a function. */
ffi_type *abi_result_type(lua_State *L, CType *t, const char **why);
/* Where the arguments of a function go: sets the parts of each parameter, and the types of all
 * parts, out of those of whole parameters; returns the number of parts. */
unsigned abi_place(const CType *function, ffi_type *const *whole, ffi_type **types,
                   uint8_t *parts);

#endif
