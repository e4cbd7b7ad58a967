/* SPDX-License-Identifier: MIT */
/* vm/api_chunk.c: C API: loading and dumping chunks.
 *
 * lua_load works in two protected steps: first it drains the reader, which may run guest
 * code, into a buffer of C memory; then it compiles or undumps the buffer, which runs
 * none. The buffer is freed even if a step fails. A chunk that is one block of memory
 * already (vm_load_block, vm_load_string) is not copied.
 */
#include "api_chunk.h"

#include <string.h>

#include "api.h"
#include "call.h"
#include "compiler.h"
#include "debuginfo.h"
#include "gc_inline.h"
#include "memprof.h"
#include "probes.h"
#include "stress.h"
#include "thread.h"
#include "throw.h"

typedef struct Load {
  lua_Reader reader;
  void *reader_data;
  const char *name;
  const char *mode; /* NULL for any mode */
  const char *text;
  String *string;   /* the string that has the text, or NULL */
  char *buffer;     /* owned; NULL if the text is the caller's */
  size_t size, capacity;
} Load;

/* Enlarges the buffer. May collect: the reader's piece is not freed until the reader is
   called again. */
static char *enlarge_buffer(lua_State *L, Load *load, size_t capacity) {
  char *buffer = heap_memory_resize(L->domain, load->buffer, load->capacity, capacity);
  if (buffer != NULL || !L->domain->gc.emergency) return buffer;
  gc_check_emergency(L);
  return heap_memory_resize(L->domain, load->buffer, load->capacity, capacity);
}

static void append_piece(lua_State *L, Load *load, const char *piece, size_t size) {
  if (load->capacity - load->size < size) {
    size_t capacity = load->capacity > 0 ? load->capacity : 1024;
    if (size > (size_t)PTRDIFF_MAX / 2) error_memory(L);
    while (capacity - load->size < size) capacity *= 2;
    char *buffer = stress_allocation_fails() ? NULL : enlarge_buffer(L, load, capacity);
    if (buffer == NULL) error_memory(L);
    load->text = load->buffer = buffer;
    load->capacity = capacity;
  }
  memcpy(load->buffer + load->size, piece, size);
  load->size += size;
}

static void drain_reader(lua_State *L, void *ud) {
  Load *load = ud;
  for (;;) {
    size_t size;
    const char *piece = load->reader(L, load->reader_data, &size);
    if (piece == NULL || size == 0) return;
    append_piece(L, load, piece, size);
  }
}

static bool is_binary(const Load *load) {
  return load->size > 0 && load->text[0] == LUA_SIGNATURE[0];
}

static void check_mode(lua_State *L, const char *mode, const char *kind) {
  if (mode == NULL || strchr(mode, kind[0]) != NULL) return;
  string_format(L, "attempt to load a %s chunk (mode is '%s')", kind, mode);
  error_throw(L, LUA_ERRSYNTAX);
}

/* Sets the first upvalue of a chunk, _ENV. */
static void set_environment(lua_State *L, LuaClosure *f) {
  if (f->nupvalues == 0) return;
  UpValue *environment = f->upvalues[0];
  value_copy(environment->v, table_get_int(as_table(&L->domain->registry), LUA_RIDX_GLOBALS));
  gc_barrier(L, environment, environment->v);
}

static void compile_load(lua_State *L, void *ud) {
  Load *load = ud;
  LuaClosure *f;
  if (is_binary(load)) {
    check_mode(L, load->mode, "binary");
    f = chunk_undump(L, load->text, load->size, load->name,
                     load->string && chunk_is_sound(load->string));
    if (load->string) chunk_note_sound(load->string);
  } else {
    check_mode(L, load->mode, "text");
    f = compile_source(L, load->size > 0 ? load->text : "", load->size, load->name);
  }
  set_environment(L, f);
}

static int protect_load(lua_State *L, ProtectedFunction f, Load *load) {
  L->ncalls_nonyieldable++;
  int status = vm_protect(L, f, load, stack_save(L, L->top), L->errfunc);
  L->ncalls_nonyieldable--;
  return status;
}

static void begin_parse_span(lua_State *L, const Load *load) {
  char id[LUA_IDSIZE];
  if (!PROBE_ENABLED(L->domain, PARSE)) return;
  const char *name = chunk_id(id, load->name, strlen(load->name));
  PROBE_BEGIN_TEXT(L->domain, PARSE, name, strlen(name));
}

static int run_load(lua_State *L, Load *load) {
  begin_parse_span(L, load);
  int status = load->reader != NULL ? protect_load(L, drain_reader, load) : LUA_OK;
  if (status == LUA_OK) {
    MemprofOrigin origin = memprof_set_origin(L->domain, MEMPROF_FROM_CHUNK);
    PROBE_BEGIN(L->domain, COMPILE);
    status = protect_load(L, compile_load, load);
    if (unlikely(status == LUA_ERRMEM) && heap_is_hosted(&L->domain->heap)) {
      /* the message of the first error: everything was collected when that was caught */
      L->top--;
      status = protect_load(L, compile_load, load);
    }
    memprof_set_origin(L->domain, origin);
    PROBE_END(L->domain, COMPILE);
  }
  PROBE_END(L->domain, PARSE);
  heap_memory_free(L->domain, load->buffer, load->capacity);
  api_note_write(L);
  gc_check(L);
  return status;
}

int lua_load(lua_State *L, lua_Reader reader, void *data, const char *chunkname, const char *mode) {
  Load load = {.reader = reader, .reader_data = data, .mode = mode};
  load.name = chunkname != NULL ? chunkname : "?";
  return run_load(L, &load);
}

int vm_load_block(lua_State *L, const char *block, size_t size, const char *chunkname,
                  const char *mode) {
  Load load = {.text = block, .size = size, .mode = mode};
  load.name = chunkname != NULL ? chunkname : "?";
  return run_load(L, &load);
}

int vm_load_string(lua_State *L, String *s, const char *chunkname, const char *mode) {
  Load load = {
      .text = s->data, .string = s, .size = string_len(s), .name = chunkname, .mode = mode};
  return run_load(L, &load);
}

int lua_dump(lua_State *L, lua_Writer writer, void *data, int strip) {
  api_check_values(L, 1);
  const TValue *o = L->top - 1;
  return is_lua_closure(o) ? chunk_dump(L, as_lua_closure(o)->p, writer, data, strip) : 1;
}
