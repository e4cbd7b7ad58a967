/* SPDX-License-Identifier: MIT */
/* lib_io.c - files.
 *
 * A file is a userdata luaL_Stream (lauxlib.h): a C stream, and the function that closes
 * it. Ordinary files, pipes and the standard files differ in this function; a closed file
 * has NULL. Files that other libraries make with the same layout and metatable work here
 * too.
 *
 * A handle exists before its stream is opened (as a closed one), so that an error in
 * between leaks nothing. Every failure of the system is returned as fail, message, errno;
 * errors are raised for wrong arguments, closed files, and by io.lines, io.input and
 * io.output, which have no result to report a failure with.
 *
 * The default files are in the registry, one pair for each state.
 */
#define LUA_LIB

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "arguments.h"
#include "io_file.h"
#include "io_span.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "number.h"
#include "retry.h"
#include "thread.h"

/* The registry's names for the default files. */
#define DEFAULT_INPUT NAME_IO_INPUT
#define DEFAULT_OUTPUT NAME_IO_OUTPUT

/* Returns the value that the registry has under this name. */
static inline const TValue *registered_value(lua_State *L, Name name) {
  return table_get_str(as_table(&L->domain->registry), L->domain->names[name]);
}

static void set_registered(lua_State *L, Name name) {
  lua_setfield(L, LUA_REGISTRYINDEX, L->domain->names[name]->data);
}

/* -------------------------------------------------------------- handles -- */

/* Returns the file that the value is, or NULL if it is not a file. */
static inline luaL_Stream *handle_of(lua_State *L, const TValue *o) {
  const TValue *metatable = registered_value(L, NAME_FILE);
  if (is_userdata(o) && is_table(metatable) &&
      as_userdata(o)->metatable == as_table(metatable))
    return userdata_payload(as_userdata(o));
  return NULL;
}

static luaL_Stream *check_handle(lua_State *L, int arg) {
  luaL_Stream *handle = handle_of(L, argument(L, arg));
  return l_likely(handle != NULL) ? handle
                                  : luaL_checkudata(L, arg, LUA_FILEHANDLE);
}

/* Returns the open stream of argument 1. */
static FILE *check_file(lua_State *L) {
  return open_stream(L, check_handle(L, 1));
}

static luaL_Stream *push_closed_handle(lua_State *L) {
  luaL_Stream *handle = lua_newuserdatauv(L, sizeof *handle, 0);
  handle->closef = NULL;
  handle->f = NULL;
  luaL_setmetatable(L, LUA_FILEHANDLE);
  return handle;
}

#define STREAM_BYTES 4700 /* bytes of an open stream in the C library, with its buffer */

/* Marks the handle on top as open, after its stream has been opened. Sets its closing
 * function first, so that the stream is not lost if noting its bytes raises. */
static void note_open(lua_State *L, luaL_Stream *handle, lua_CFunction closer) {
  handle->closef = closer;
  lua_external_memory(L, -1, STREAM_BYTES);
}

/* Closes a handle. Marks it closed first: its closing function may raise an error. */
static int close_handle(lua_State *L) {
  luaL_Stream *handle = check_handle(L, 1);
  lua_CFunction closer = handle->closef;
  handle->closef = NULL;
  lua_external_memory(L, 1, 0);
  return closer(L);
}

static int close_plain_file(lua_State *L) {
  luaL_Stream *handle = check_handle(L, 1);
  errno = 0;
  return luaL_fileresult(L, io_recorded_close(L->domain, handle->f, fclose) == 0, NULL);
}

static int close_pipe(lua_State *L) {
  luaL_Stream *handle = check_handle(L, 1);
  errno = 0;
  return luaL_execresult(L, io_recorded_close(L->domain, handle->f, pclose));
}

static int refuse_to_close(lua_State *L) {
  check_handle(L, 1)->closef = refuse_to_close; /* stays open */
  luaL_pushfail(L);
  lua_pushliteral(L, "cannot close standard file");
  return 2;
}

/* A function that opens a file or starts a process, in a span. */
typedef FILE *Opener(Domain *d, const char *name, const char *mode);

/* Opens a stream. If the system has run out of a resource that garbage may hold, collects
 * and tries again. */
static FILE *open_or_collect(lua_State *L, Opener *opener, const char *name, const char *mode) {
  errno = 0;
  FILE *f = opener(L->domain, name, mode);
  return f == NULL && collect_for_retry(L, errno) ? opener(L->domain, name, mode) : f;
}

static FILE *open_file(Domain *d, const char *name, const char *mode) {
  PROBE_BEGIN_TEXT(d, OPEN, name, strlen(name));
  FILE *f = fopen(name, mode);
  PROBE_END(d, OPEN);
  return f;
}

static FILE *open_temporary(Domain *d, const char *name, const char *mode) {
  (void)mode;
  PROBE_BEGIN_TEXT(d, OPEN, name, strlen(name));
  FILE *f = tmpfile();
  PROBE_END(d, OPEN);
  return f;
}

/* Starts a process with a pipe. Flushes all streams first, so that earlier output comes
   before the output of the process. */
static FILE *open_pipe(Domain *d, const char *command, const char *mode) {
  PROBE_BEGIN_TEXT(d, POPEN, command, strlen(command));
  fflush(NULL);
  errno = 0;
  FILE *f = popen(command, mode);
  PROBE_END(d, POPEN);
  return f;
}

/* Opens the file `filename`, a name that is an argument, and pushes it; raises an error
   if that fails. */
static void push_open_file(lua_State *L, const char *filename,
                           const char *mode) {
  luaL_Stream *handle = push_closed_handle(L);
  handle->f = open_or_collect(L, open_file, filename, mode);
  if (l_unlikely(handle->f == NULL))
    luaL_error(L, "cannot open file '%s' (%s)", filename, strerror(errno));
  note_open(L, handle, close_plain_file);
}

/* --------------------------------------------------- opening and closing -- */

/* Tells whether a mode is a mode of standard C: [rwa], then optionally "+", then
   optionally "b". */
static int is_file_mode(const char *mode) {
  if (*mode == '\0' || strchr("rwa", *mode) == NULL)
    return 0;
  mode++;
  if (*mode == '+')
    mode++;
  return strspn(mode, "b") == strlen(mode);
}

static int is_pipe_mode(const char *mode) {
  return (mode[0] == 'r' || mode[0] == 'w') && mode[1] == '\0';
}

static int io_open(lua_State *L) {
  const char *filename = luaL_checkstring(L, 1);
  const char *mode = luaL_optstring(L, 2, "r");
  luaL_argcheck(L, is_file_mode(mode), 2, "invalid mode");
  luaL_Stream *handle = push_closed_handle(L);
  handle->f = open_or_collect(L, open_file, filename, mode);
  if (handle->f == NULL)
    return luaL_fileresult(L, 0, filename);
  note_open(L, handle, close_plain_file);
  return 1;
}

static int io_popen(lua_State *L) {
  const char *command = luaL_checkstring(L, 1);
  const char *mode = luaL_optstring(L, 2, "r");
  luaL_argcheck(L, is_pipe_mode(mode), 2, "invalid mode");
  luaL_Stream *handle = push_closed_handle(L);
  handle->f = open_or_collect(L, open_pipe, command, mode);
  if (handle->f == NULL)
    return luaL_fileresult(L, 0, command);
  note_open(L, handle, close_pipe);
  return 1;
}

static int io_tmpfile(lua_State *L) {
  luaL_Stream *handle = push_closed_handle(L);
  handle->f = open_or_collect(L, open_temporary, "(temporary file)", NULL);
  if (handle->f == NULL)
    return luaL_fileresult(L, 0, NULL);
  note_open(L, handle, close_plain_file);
  return 1;
}

static int io_type(lua_State *L) {
  argument_any(L, 1);
  luaL_Stream *handle = handle_of(L, argument(L, 1));
  if (handle == NULL)
    return result_nil(L);
  return result_name(L, is_closed(handle) ? NAME_CLOSED_FILE : NAME_OPEN_FILE);
}

static int file_close(lua_State *L) {
  check_file(L);
  return close_handle(L);
}

static int io_close(lua_State *L) {
  if (lua_isnone(L, 1))
    api_push_value(L, registered_value(L, DEFAULT_OUTPUT));
  return file_close(L);
}

/* Implements __gc and __close. A handle whose opening failed has no stream. */
static int file_release(lua_State *L) {
  luaL_Stream *handle = check_handle(L, 1);
  if (!is_closed(handle) && handle->f != NULL)
    close_handle(L);
  return 0;
}

static int file_tostring(lua_State *L) {
  luaL_Stream *handle = check_handle(L, 1);
  if (is_closed(handle))
    lua_pushliteral(L, "file (closed)");
  else
    lua_pushfstring(L, "file (%p)", (void *)handle->f);
  return 1;
}

/* -------------------------------------------------------- default files -- */

/* Pushes a default file. Raises if it is closed. */
static luaL_Stream *default_file(lua_State *L, Name key, const char *role) {
  api_push_value(L, registered_value(L, key));
  luaL_Stream *handle = lua_touserdata(L, -1);
  if (l_unlikely(is_closed(handle)))
    luaL_error(L, "default %s file is closed", role);
  return handle;
}

/* Makes argument 1, a file or a file name, the default file, if the argument is given.
 * Returns the default file. */
static int exchange_default(lua_State *L, Name key, const char *mode) {
  if (!lua_isnoneornil(L, 1)) {
    const char *filename = lua_tostring(L, 1);
    if (filename != NULL) {
      push_open_file(L, filename, mode);
    } else {
      check_file(L);
      lua_pushvalue(L, 1);
    }
    set_registered(L, key);
  }
  api_push_value(L, registered_value(L, key));
  return 1;
}

static int io_input(lua_State *L) {
  return exchange_default(L, DEFAULT_INPUT, "r");
}

static int io_output(lua_State *L) {
  return exchange_default(L, DEFAULT_OUTPUT, "w");
}

static int io_read(lua_State *L) {
  int last = lua_gettop(L);
  return io_read_items(L, default_file(L, DEFAULT_INPUT, "input"), 1, last);
}

static int file_read(lua_State *L) {
  return io_read_items(L, check_handle(L, 1), 2, lua_gettop(L));
}

/* ---------------------------------------------------------------- lines -- */

/* The first upvalues of the iterator; the formats follow them. */
enum {
  LINES_FILE = 1,
  LINES_FORMAT_COUNT,
  LINES_CLOSE_AT_END,
  LINES_OWN_UPVALUES = LINES_CLOSE_AT_END,
  LINES_MAX_FORMATS = 250 /* leaves room below the limit of 255 upvalues */
};

/* Ends an iteration that read nothing: raises an error if the results report a failure,
 * otherwise returns none. */
static int end_iteration(lua_State *L, int result_count) {
  if (result_count > 1)
    return luaL_error(L, "%s", lua_tostring(L, 1 - result_count));
  if (lua_toboolean(L, lua_upvalueindex(LINES_CLOSE_AT_END))) {
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(LINES_FILE));
    close_handle(L);
  }
  return 0;
}

static int lines_step(lua_State *L) {
  const TValue *upvalues = as_c_closure(L->ci->func)->upvalues;
  luaL_Stream *handle = userdata_payload(as_userdata(&upvalues[LINES_FILE - 1]));
  int count = (int)upvalues[LINES_FORMAT_COUNT - 1].v.i;
  if (l_unlikely(is_closed(handle)))
    return luaL_error(L, "file is already closed");
  lua_settop(L, 1);
  if (count > LUA_MINSTACK / 2)
    luaL_checkstack(L, count, "too many arguments");
  for (int i = 1; i <= count; i++)
    lua_pushvalue(L, lua_upvalueindex(LINES_OWN_UPVALUES + i));
  int n = io_read_items(L, handle, 2, count + 1);
  if (lua_toboolean(L, -n))
    return n;
  return end_iteration(L, n);
}

/* Replaces the formats above the file at index 1 with an iterator on top. */
static void push_lines_iterator(lua_State *L, int close_at_end) {
  int count = lua_gettop(L) - 1;
  luaL_argcheck(L, count <= LINES_MAX_FORMATS, LINES_MAX_FORMATS + 2,
                "too many arguments");
  lua_pushvalue(L, 1);
  lua_pushinteger(L, count);
  lua_pushboolean(L, close_at_end);
  lua_rotate(L, 2, LINES_OWN_UPVALUES);
  lua_pushcclosure(L, lines_step, LINES_OWN_UPVALUES + count);
}

static int file_lines(lua_State *L) {
  check_file(L);
  push_lines_iterator(L, 0);
  return 1;
}

/* Implements io.lines. Without a name it reads the lines of the default input, which
 * stays open. With a name it reads a file of its own, which is the fourth result, so that
 * the loop closes the file however the loop ends. */
static int io_lines(lua_State *L) {
  if (lua_isnone(L, 1))
    lua_pushnil(L);
  if (lua_isnil(L, 1)) {
    api_push_value(L, registered_value(L, DEFAULT_INPUT));
    lua_replace(L, 1);
    return file_lines(L);
  }
  push_open_file(L, luaL_checkstring(L, 1), "r");
  lua_replace(L, 1);
  push_lines_iterator(L, 1);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, 1);
  return 4;
}

/* -------------------------------------------------------------- writing -- */

/* Arguments to be written to the file. Short ones are gathered and written together. */
typedef struct Output {
  Domain *domain;
  FILE *file;
  int ok;
  size_t used;
  char text[512];
} Output;

ALWAYS_INLINE void write_bytes(Output *out, const char *s, size_t n) {
  out->ok &= n == 0 || io_write_bytes(out->domain, s, n, out->file) == n;
}

ALWAYS_INLINE void write_gathered(Output *out) {
  write_bytes(out, out->text, out->used);
  out->used = 0;
}

static void gather_output(Output *out, const char *s, size_t n) {
  if (n > sizeof out->text - out->used)
    write_gathered(out);
  if (n > sizeof out->text) {
    write_bytes(out, s, n);
  } else {
    memcpy(out->text + out->used, s, n);
    out->used += n;
  }
}

static void write_item(lua_State *L, Output *out, int arg) {
  const TValue *o = argument(L, arg);
  if (is_string(o)) {
    gather_output(out, as_string(o)->data, string_len(as_string(o)));
  } else if (is_number(o)) {
    char text[NUMBER_TEXT_MAX];
    size_t n = number_to_text(o, text);
    if (is_float(o) && n > 2 && text[n - 1] == '0' && text[n - 2] == lua_getlocaledecpoint())
      n -= 2; /* an integer, which tostring marks as a float */
    gather_output(out, text, n);
  } else {
    write_gathered(out); /* what precedes this argument must be written first */
    luaL_checkstring(L, arg);
  }
}

/* Writes all arguments from `first` up to `last`, even after a failure. Returns the file,
 * which is the value on top. */
static int write_items(lua_State *L, FILE *f, int first, int last) {
  Output out;
  out.domain = L->domain;
  out.file = f;
  out.ok = 1;
  out.used = 0;
  errno = 0;
  for (int arg = first; arg <= last; arg++)
    write_item(L, &out, arg);
  write_gathered(&out);
  return l_likely(out.ok) ? 1 : luaL_fileresult(L, 0, NULL);
}

static int io_write(lua_State *L) {
  int last = lua_gettop(L);
  FILE *f = default_file(L, DEFAULT_OUTPUT, "output")->f;
  return write_items(L, f, 1, last);
}

static int file_write(lua_State *L) {
  int last = lua_gettop(L);
  FILE *f = check_file(L);
  lua_pushvalue(L, 1);
  return write_items(L, f, 2, last);
}

static int flush_file(lua_State *L, FILE *f) {
  errno = 0;
  return luaL_fileresult(L, io_recorded_flush(L->domain, f) == 0, NULL);
}

static int io_flush(lua_State *L) {
  return flush_file(L, default_file(L, DEFAULT_OUTPUT, "output")->f);
}

static int file_flush(lua_State *L) {
  return flush_file(L, check_file(L));
}

/* ---------------------------------------------------- position, buffering -- */

static int file_seek(lua_State *L) {
  static const int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END};
  static const char *const names[] = {"set", "cur", "end", NULL};
  FILE *f = check_file(L);
  int origin = origins[luaL_checkoption(L, 2, "cur", names)];
  lua_Integer wanted = luaL_optinteger(L, 3, 0);
  off_t offset = (off_t)wanted;
  luaL_argcheck(L, (lua_Integer)offset == wanted, 3,
                "not an integer in proper range");
  errno = 0;
  if (l_unlikely(fseeko(f, offset, origin) != 0))
    return luaL_fileresult(L, 0, NULL);
  lua_pushinteger(L, (lua_Integer)ftello(f));
  return 1;
}

static int file_setvbuf(lua_State *L) {
  static const int modes[] = {_IONBF, _IOFBF, _IOLBF};
  static const char *const names[] = {"no", "full", "line", NULL};
  FILE *f = check_file(L);
  int mode = modes[luaL_checkoption(L, 2, NULL, names)];
  lua_Integer size = luaL_optinteger(L, 3, LUAL_BUFFERSIZE);
  errno = 0;
  int result = setvbuf(f, NULL, mode, (size_t)size);
  return luaL_fileresult(L, result == 0, NULL);
}

/* -------------------------------------------------------------- opening -- */

static void make_metatable(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"close", file_close},   {"flush", file_flush},
    {"lines", file_lines},   {"read", file_read},
    {"seek", file_seek},     {"setvbuf", file_setvbuf},
    {"write", file_write},   {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
    {"__gc", file_release},
    {"__close", file_release},
    {"__tostring", file_tostring},
    {NULL, NULL}};
  luaL_newmetatable(L, LUA_FILEHANDLE);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

#define NO_DEFAULT NAME_COUNT

/* Adds a standard file to the library on top, and makes it the default file that `key`
 * names, if any. */
static void add_standard_file(lua_State *L, FILE *f, Name key,
                              const char *name) {
  luaL_Stream *handle = push_closed_handle(L);
  handle->f = f;
  handle->closef = refuse_to_close;
  if (key != NO_DEFAULT) {
    lua_pushvalue(L, -1);
    set_registered(L, key);
  }
  lua_setfield(L, -2, name);
}

int luaopen_io(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"close", io_close},     {"flush", io_flush},   {"input", io_input},
    {"lines", io_lines},     {"open", io_open},     {"output", io_output},
    {"popen", io_popen},     {"read", io_read},     {"tmpfile", io_tmpfile},
    {"type", io_type},       {"write", io_write},   {NULL, NULL}};
  luaL_newlib(L, functions);
  make_metatable(L);
  add_standard_file(L, stdin, DEFAULT_INPUT, "stdin");
  add_standard_file(L, stdout, DEFAULT_OUTPUT, "stdout");
  add_standard_file(L, stderr, NO_DEFAULT, "stderr");
  return 1;
}
