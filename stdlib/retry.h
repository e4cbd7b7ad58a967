/* SPDX-License-Identifier: MIT */
/* stdlib/retry.h: what to do if the system has no more descriptors, memory or
   processes. */
#ifndef SAROS_STDLIB_RETRY_H
#define SAROS_STDLIB_RETRY_H

#include <errno.h>
#include <stdbool.h>

#include "lua.h"

/* Prepares another attempt. `error` is the errno of an attempt that failed. If `error`
 * says that the system has run out of a resource that garbage may hold (files that were
 * not closed, pipes, libraries, domains), collects everything, calls the finalizers, and
 * returns true: the attempt may be repeated. Returns false in a finalizer, which must not
 * touch the collector. */
static inline bool collect_for_retry(lua_State *L, int error) {
  if (error != EMFILE && error != ENFILE && error != ENOMEM && error != EAGAIN) return false;
  if (lua_gc(L, LUA_GCCOLLECT) != 0) return false;
  errno = 0;
  return true;
}

#endif
