/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_call.h: how a function type is called (ffi_call.c, ffi_callback.c). */
#ifndef SAROS_STDLIB_FFI_CALL_H
#define SAROS_STDLIB_FFI_CALL_H

#include <ffi.h>

#include "ffi_core.h"

/* Made once for each function type. */
struct CallPlan {
  ffi_cif cif;
  ffi_type **types;    /* of the parameters */
  uint32_t *offsets;   /* of the arguments in the buffer */
  uint32_t size;       /* of the buffer */
  uint32_t result_size;/* bytes that libffi writes */
};

/* The plan of a function type; raises when a type cannot be passed by value. */
CallPlan *ccall_plan(lua_State *L, CType *function);

#endif
