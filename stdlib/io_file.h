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
 * finalizer that closes the file, so the stream must be fetched again after an
 * allocation. */
static inline FILE *open_stream(lua_State *L, const luaL_Stream *handle) {
  if (l_unlikely(is_closed(handle)))
    luaL_error(L, "attempt to use a closed file");
  return handle->f;
}

/* Reads what the formats at stack indices `first` to `last` ask for, or a line if there
 * are none (last < first). Pushes the results and returns their number. The last result
 * is fail if its item could not be read. After a failure of the system the results are
 * fail, message and errno. Raises for an invalid format and for a closed file. Only for
 * the thread that runs the domain. */
int io_read_items(lua_State *L, const luaL_Stream *handle, int first, int last);

#endif
