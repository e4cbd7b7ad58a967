/* SPDX-License-Identifier: MIT */
/* stdlib/io_file.h: handles of files, for the parts of the io library. */
#ifndef SAROS_STDLIB_IO_FILE_H
#define SAROS_STDLIB_IO_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "lua.h"
#include "lauxlib.h"

static inline bool is_closed(const luaL_Stream *handle) {
  return handle->closef == NULL;
}

/* Returns the stream of a handle, or raises if it is closed. An allocation may run a
 * finalizer that closes the file, so the stream must be fetched again after one. */
static inline FILE *open_stream(lua_State *L, const luaL_Stream *handle) {
  if (l_unlikely(is_closed(handle)))
    luaL_error(L, "attempt to use a closed file");
  return handle->f;
}

/* Reads what the formats at stack indices `first` to `last` ask for; without any (last <
 * first), a line. Pushes the results, the last one fail if its item could not be read,
 * and returns their number; after a failure of the system these are fail, message and
 * errno. An invalid format and a closed file are errors. Only for the thread that runs
 * the domain. */
int io_read_items(lua_State *L, const luaL_Stream *handle, int first, int last);

#endif
