/* SPDX-License-Identifier: MIT */
/* auxlib_load.c - chunks from files and from memory.
 *
 * A file is read in pieces.  Before the first piece, a UTF-8 byte order mark and a first
 * line that starts with '#' are dropped. The line break of the dropped line stays, so
 * that lines keep their numbers; but it is dropped if a binary chunk follows, which must
 * start with its signature.
 *
 * Failures: a file that cannot be opened or read gives LUA_ERRFILE and a message that
 * names it; a chunk that does not compile gives the status and the message of lua_load.
 * In each case exactly one value is pushed.
 */
#define LUA_LIB

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api_chunk.h"
#include "call.h"
#include "lauxlib.h"
#include "lua.h"

/* The state of the reader of a file. */
typedef struct FileSource {
  FILE *file;
  /* number of bytes at the start of `bytes` that the reader has not returned yet */
  size_t pending;
  char bytes[BUFSIZ];
} FileSource;

static const char *next_file_piece(lua_State *L, void *ud, size_t *size) {
  FileSource *source = ud;
  (void)L;
  if (source->pending > 0) {
    *size = source->pending;
    source->pending = 0;
    return source->bytes;
  }
  /* A terminal reports the end of its input only once. */
  if (feof(source->file))
    return NULL;
  *size = fread(source->bytes, 1, sizeof source->bytes, source->file);
  return source->bytes;
}

/* Keeps `c` for the first piece, unless it is EOF. */
static void keep_char(FileSource *source, int c) {
  if (c != EOF)
    source->bytes[source->pending++] = (char)c;
}

/* Drops a byte order mark. Returns the first character behind it, which is not yet kept.
 * An incomplete mark is not a mark: its bytes are kept. */
static int skip_byte_order_mark(FileSource *source) {
  static const unsigned char mark[] = {0xEF, 0xBB, 0xBF};
  int c = getc(source->file);
  for (size_t i = 0; i < sizeof mark; i++) {
    if (c != mark[i])
      return c;
    source->bytes[source->pending++] = (char)c;
    c = getc(source->file);
  }
  source->pending = 0;
  return c;
}

static void skip_start_of_file(FileSource *source) {
  int c = skip_byte_order_mark(source);
  if (c != '#' || source->pending > 0) {
    keep_char(source, c);
    return;
  }
  do
    c = getc(source->file);
  while (c != EOF && c != '\n');
  if (c == EOF)
    return;
  c = getc(source->file);
  if (c != LUA_SIGNATURE[0])
    keep_char(source, '\n');
  keep_char(source, c);
}

/* Replaces the chunk name at `name_index` with a message about the file. */
static int fail_with_file(lua_State *L, const char *action, int name_index,
                          int code) {
  const char *filename = lua_tostring(L, name_index) + 1;
  if (code != 0)
    lua_pushfstring(L, "cannot %s %s: %s", action, filename, strerror(code));
  else
    lua_pushfstring(L, "cannot %s %s", action, filename);
  lua_remove(L, name_index);
  return LUA_ERRFILE;
}

int luaL_loadfilex(lua_State *L, const char *filename, const char *mode) {
  FileSource source = {.file = stdin};
  int name_index = lua_gettop(L) + 1;
  if (filename == NULL) {
    lua_pushliteral(L, "=stdin");
  } else {
    lua_pushfstring(L, "@%s", filename);
    source.file = fopen(filename, "r");
    if (source.file == NULL)
      return fail_with_file(L, "open", name_index, errno);
  }
  errno = 0;
  skip_start_of_file(&source);
  int status = lua_load(L, next_file_piece, &source,
                        lua_tostring(L, name_index), mode);
  int read_code = errno;
  int failed = ferror(source.file);
  if (filename != NULL)
    fclose(source.file); /* nothing can be lost: the file was only read */
  if (failed) {
    lua_settop(L, name_index);
    return fail_with_file(L, "read", name_index, read_code);
  }
  lua_remove(L, name_index);
  return status;
}

int luaL_loadbufferx(lua_State *L, const char *buff, size_t size,
                     const char *name, const char *mode) {
  return vm_load_block(L, buff, size, name, mode);
}

int luaL_loadstring(lua_State *L, const char *s) {
  return luaL_loadbuffer(L, s, strlen(s), s);
}
