/* SPDX-License-Identifier: MIT */
/* auxlib_buffer.c - luaL_Buffer: strings under construction.
 *
 * A buffer starts in the array inside luaL_Buffer.  When that is full, the bytes move to
 * a block of the state's allocator, which a "box" owns: a userdata {block, size}.  The
 * buffer has one stack slot from the start, which holds first a placeholder (a light
 * userdata), then the box.
 *
 * luaL_pushresult frees the block: it closes the box's slot, which is a to-be-closed
 * variable. If an error unwinds the function first, the error closes the slot. If a
 * coroutine is abandoned, the box's finalizer frees the block. Growth past SIZE_MAX is an
 * error ("buffer too large"), and so is running out of memory.
 */
#define LUA_LIB

#include <stdint.h>
#include <string.h>

#include "api.h"
#include "gc.h"
#include "gc_inline.h"
#include "lauxlib.h"
#include "lua.h"
#include "thread.h"

#define BOX_TYPE "_UBOX*"

typedef struct Box {
  void *block;
  size_t size;
} Box;

/* Resizes the box's block. Returns NULL if there is no memory, or the state would exceed
   its limit. */
static void *reallocate_box(lua_State *L, const Box *box, size_t size) {
  void *ud;
  lua_Alloc allocate = lua_getallocf(L, &ud);
  if (!gc_note_buffer(L->domain, box->size, size))
    return NULL;
  void *block = allocate(ud, box->block, box->size, size);
  if (l_unlikely(block == NULL && size > 0))
    gc_note_buffer(L->domain, size, box->size);
  return block;
}

/* Resizes the box's block to `size` bytes; 0 frees it. After a failure the box still owns
 * the old block; the error closes its slot. */
static void *resize_box(lua_State *L, int idx, size_t size) {
  Box *box = lua_touserdata(L, idx);
  void *block = reallocate_box(L, box, size);
  /* garbage may occupy the memory; what finalizers used is garbage only after they ran */
  for (int i = 0; i < 2 && l_unlikely(block == NULL && size > 0); i++) {
    lua_gc(L, LUA_GCCOLLECT);
    block = reallocate_box(L, box, size);
  }
  for (size_t given = 0; l_unlikely(block == NULL && size > 0) &&
                         heap_is_hosted(&L->domain->heap) &&
                         heap_hosted_give_back(L->domain, size, &given);)
    block = reallocate_box(L, box, size);
  if (l_unlikely(block == NULL && size > 0)) {
    lua_pushliteral(L, "not enough memory");
    lua_error(L);
  }
  size_t before = box->size;
  box->block = block;
  box->size = size;
  gc_sample_buffer(L, as_userdata(api_slot(L, idx)), before, size);
  return block;
}

static int release_box(lua_State *L) {
  resize_box(L, 1, 0);
  return 0;
}

/* Pushes the metatable of boxes. It enters the registry only when it is complete: if
 * memory runs out halfway, the next box makes a new one. */
static void push_box_metatable(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"__gc", release_box}, {"__close", release_box}, {NULL, NULL}};
  if (luaL_getmetatable(L, BOX_TYPE) != LUA_TNIL)
    return;
  lua_pop(L, 1);
  luaL_newlib(L, methods);
  lua_pushliteral(L, BOX_TYPE);
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, BOX_TYPE);
}

static void push_new_box(lua_State *L) {
  Box *box = lua_newuserdatauv(L, sizeof(Box), 0);
  box->block = NULL;
  box->size = 0;
  push_box_metatable(L);
  lua_setmetatable(L, -2);
}

static int is_boxed(const luaL_Buffer *B) {
  return B->b != B->init.b;
}

/* Returns a capacity that has room for `extra` more bytes: half as much again as now, or
 * what is needed, whichever is more. */
static size_t grown_size(luaL_Buffer *B, size_t extra) {
  if (l_unlikely(SIZE_MAX - extra < B->n))
    return (size_t)luaL_error(B->L, "buffer too large");
  size_t needed = B->n + extra;
  size_t generous = B->size / 2 * 3;
  return generous < needed ? needed : generous;
}

/* Moves the bytes from the array into a box at stack index `slot`. */
static void move_into_box(luaL_Buffer *B, int slot, size_t size) {
  lua_State *L = B->L;
  lua_remove(L, slot); /* the placeholder */
  push_new_box(L);
  lua_insert(L, slot);
  lua_toclose(L, slot);
  char *block = resize_box(L, slot, size);
  memcpy(block, B->b, B->n);
  B->b = block;
  B->size = size;
}

static NOINLINE char *buffer_grow(luaL_Buffer *B, size_t extra, int slot) {
  size_t size = grown_size(B, extra);
  if (is_boxed(B)) {
    B->b = resize_box(B->L, slot, size);
    B->size = size;
  } else {
    move_into_box(B, slot, size);
  }
  return B->b + B->n;
}

/* Returns the address for `extra` more bytes; the buffer's slot is at index `slot`. */
static inline char *buffer_reserve(luaL_Buffer *B, size_t extra, int slot) {
  return l_likely(B->size - B->n >= extra) ? B->b + B->n : buffer_grow(B, extra, slot);
}

static inline void buffer_append(luaL_Buffer *B, const char *s, size_t len, int slot) {
  if (len == 0)
    return; /* if there are no bytes, `s` may be NULL, which memcpy does not allow */
  memcpy(buffer_reserve(B, len, slot), s, len);
  B->n += len;
}

void luaL_buffinit(lua_State *L, luaL_Buffer *B) {
  B->L = L;
  B->b = B->init.b;
  B->n = 0;
  B->size = LUAL_BUFFERSIZE;
  lua_pushlightuserdata(L, B);
}

char *luaL_buffinitsize(lua_State *L, luaL_Buffer *B, size_t sz) {
  luaL_buffinit(L, B);
  return buffer_reserve(B, sz, -1);
}

char *luaL_prepbuffsize(luaL_Buffer *B, size_t sz) {
  return buffer_reserve(B, sz, -1);
}

void luaL_addlstring(luaL_Buffer *B, const char *s, size_t l) {
  buffer_append(B, s, l, -1);
}

void luaL_addstring(luaL_Buffer *B, const char *s) {
  buffer_append(B, s, strlen(s), -1);
}

/* Adds the value on top of the stack to the buffer, whose slot is below it. The value
   keeps `text` alive until it has been copied. */
void luaL_addvalue(luaL_Buffer *B) {
  lua_State *L = B->L;
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  buffer_append(B, text, len, -2);
  L->top--; /* pops a string, which need not be closed */
}

void luaL_pushresult(luaL_Buffer *B) {
  lua_State *L = B->L;
  if (!is_boxed(B)) { /* the string takes the place of the placeholder */
    String *s = string_new(L, B->b, B->n);
    set_string(L->top - 1, s);
    api_note_write(L);
    gc_check(L);
    return;
  }
  lua_pushlstring(L, B->b, B->n);
  lua_closeslot(L, -2);
  lua_remove(L, -2);
}

void luaL_pushresultsize(luaL_Buffer *B, size_t sz) {
  luaL_addsize(B, sz);
  luaL_pushresult(B);
}

void luaL_addgsub(luaL_Buffer *B, const char *s, const char *p,
                  const char *r) {
  size_t skip = strlen(p);
  for (const char *hit; (hit = strstr(s, p)) != NULL; s = hit + skip) {
    luaL_addlstring(B, s, (size_t)(hit - s));
    luaL_addstring(B, r);
  }
  luaL_addstring(B, s);
}

const char *luaL_gsub(lua_State *L, const char *s, const char *p,
                      const char *r) {
  luaL_Buffer B;
  luaL_buffinit(L, &B);
  luaL_addgsub(&B, s, p, r);
  luaL_pushresult(&B);
  return lua_tostring(L, -1);
}
