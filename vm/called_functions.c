/* SPDX-License-Identifier: MIT */
/* vm/called_functions.c: the functions that a domain has called, and their names.
 *
 * A Lua function is identified by its prototype, whichever closure runs. The number of
 * the function is in the prototype (Prototype.call_number). When the prototype dies, a
 * row with its name remains, and a new prototype at its address has no number yet. A C
 * function is identified by its address, also if it is called through module ffi.
 *
 * At most MOST_FUNCTIONS have a number. Functions that are first called after that are
 * CALLED_OTHER for good, so that a program that keeps loading code does not make the
 * table grow without end.
 *
 * Names come from function_names.c. They are looked up once for each function, between
 * two steps of the interpreter: nothing here allocates in the heap.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_profile.h"
#include "func.h"
#include "function_names.h"

#define NAME_ROOM 256
#define MOST_FUNCTIONS (1u << 17)

typedef struct CalledKey {
  uintptr_t key; /* 0 for a free slot */
  uint32_t number;
} CalledKey;

/* ---- the table ----------------------------------------------------------- */

static char *copy(const char *text) { return strdup(text); }

static bool is_full(const CalledFunctions *f) { return f->count >= MOST_FUNCTIONS; }

static bool has_room(CalledFunctions *f) {
  if (f->count < f->room) return true;
  const uint32_t room = f->room == 0 ? 256 : f->room * 2;
  CalledFunction *list = is_full(f) ? NULL : realloc(f->list, room * sizeof *list);
  if (list == NULL) return false;
  f->list = list;
  f->room = room;
  return true;
}

static void free_function(CalledFunction *f) {
  free(f->name);
  free(f->source);
  free(f->path);
}

/* Adds a function and returns its number, or CALLED_OTHER if there is no memory, or if
   there are too many functions. `path` is the path of its file if `source` is shortened,
   otherwise NULL. */
static uint32_t add(CalledFunctions *f, const char *name, const char *source, const char *path,
                    uint32_t line, uint8_t kind) {
  if (!has_room(f)) return CALLED_OTHER;
  CalledFunction made = {.name = copy(name), .source = copy(source),
                         .path = path != NULL ? copy(path) : NULL, .line = line, .kind = kind};
  if (made.name == NULL || made.source == NULL || (path != NULL && made.path == NULL)) {
    free_function(&made);
    return CALLED_OTHER;
  }
  if (made.path != NULL) clean_name(made.path);
  f->list[f->count] = made;
  return f->count++;
}

bool called_functions_begin(CalledFunctions *f) {
  static const char *const names[CALLED_FIRST] = {"(collector)", "(finalizers)", "(waiting)",
                                                  "(other)"};
  while (f->count < CALLED_FIRST)
    if (add(f, names[f->count], "", NULL, 0, EVENTRING_CALLS_HOST) != f->count - 1) return false;
  return true;
}

void called_functions_free(CalledFunctions *f) {
  for (uint32_t i = 0; i < f->count; i++) free_function(&f->list[i]);
  free(f->list);
  free(f->keys);
  *f = (CalledFunctions){0};
}

static CalledKey *slot_of(const CalledFunctions *f, uintptr_t key) {
  size_t at = (key >> 4) * 0x9e3779b97f4a7c15u >> 32;
  while (f->keys[at & (f->key_room - 1)].key != 0 && f->keys[at & (f->key_room - 1)].key != key)
    at++;
  return &f->keys[at & (f->key_room - 1)];
}

static bool grow_keys(CalledFunctions *f) {
  CalledFunctions grown = *f;
  grown.key_room = f->key_room == 0 ? 1024 : f->key_room * 2;
  grown.keys = calloc(grown.key_room, sizeof *grown.keys);
  if (grown.keys == NULL) return false;
  for (uint32_t i = 0; i < f->key_room; i++)
    if (f->keys[i].key != 0) *slot_of(&grown, f->keys[i].key) = f->keys[i];
  free(f->keys);
  *f = grown;
  return true;
}

/* Returns the key's slot, or NULL if there is no memory. There are at most as many keys
   as functions. */
static CalledKey *key_of(CalledFunctions *f, uintptr_t key) {
  if (f->count * 2 >= f->key_room && !grow_keys(f)) return NULL;
  return slot_of(f, key);
}

/* ---- names --------------------------------------------------------------- */

/* Returns the path of a prototype's file if CalledFunction.source is too short for it, or
   NULL. */
static const char *long_path(const Prototype *p) {
  if (p->source == NULL || string_len(p->source) <= LUA_IDSIZE) return NULL;
  return p->source->data[0] == '@' ? p->source->data + 1 : NULL;
}

static uint32_t number_of_prototype(CalledFunctions *f, Prototype *p) {
  char name[FUNCTION_NAME_SIZE], source[LUA_IDSIZE];
  if (p->call_number != 0) return p->call_number;
  if (is_full(f)) return p->call_number = CALLED_OTHER;
  prototype_name(p, name);
  prototype_source(p, source);
  const uint32_t number =
      add(f, name, source, long_path(p), p->line_defined, EVENTRING_CALLS_CODE);
  if (number != CALLED_OTHER) p->call_number = number;
  return number;
}

static uint32_t number_of_c(CalledFunctions *f, const lua_State *L, const TValue *func) {
  char name[FUNCTION_NAME_SIZE];
  c_function_name(L->domain, func, name);
  return add(f, name, "[C]", NULL, 0, EVENTRING_CALLS_NATIVE);
}

/* ---- finding ------------------------------------------------------------- */

/* Returns the number of a C function that module ffi calls. */
static uint32_t find_foreign(CalledFunctions *f, lua_State *L, const TValue *function) {
  const void *symbol = NULL;
  const char *name = L->domain->hooks.ffi_name(as_userdata(function), &symbol);
  if (name == NULL) name = "(pointer)";
  CalledKey *own = key_of(f, symbol != NULL ? (uintptr_t)symbol : 1);
  if (own == NULL) return CALLED_OTHER;
  if (own->key == 0 && is_full(f)) return CALLED_OTHER;
  if (own->key == 0) {
    char text[NAME_ROOM];
    snprintf(text, sizeof text, "ffi:%s", name);
    clean_name(text);
    own->number = add(f, text, "[C]", NULL, 0, EVENTRING_CALLS_NATIVE);
    own->key = symbol != NULL ? (uintptr_t)symbol : 1;
  }
  return own->number;
}

static uint32_t find_native(CalledFunctions *f, lua_State *L, const CallInfo *frame) {
  const TValue *func = frame->func;
  const uintptr_t key = (uintptr_t)c_function_identity(func);
  if (func->tag != TAG_C_CLOSURE && func->v.f == L->domain->hooks.ffi_call &&
      func->v.f != NULL && is_userdata(func + 1))
    return find_foreign(f, L, func + 1);
  CalledKey *slot = key_of(f, key);
  if (slot == NULL) return CALLED_OTHER;
  if (slot->key == 0 && is_full(f)) return CALLED_OTHER;
  if (slot->key == 0) {
    const uint32_t number = number_of_c(f, L, func);
    slot = slot_of(f, key);
    slot->key = key;
    slot->number = number;
  }
  return slot->number;
}

uint32_t called_function_find(CalledFunctions *f, lua_State *L, const CallInfo *frame) {
  if (frame->func->tag == TAG_LUA_CLOSURE) return number_of_prototype(f, frame_closure(frame)->p);
  return find_native(f, L, frame);
}

bool called_function_matches(const CalledFunction *function, const char *patterns) {
  char pattern[NAME_ROOM], position[NAME_ROOM * 2];
  snprintf(position, sizeof position, "%s:%u", function->source, function->line);
  while (patterns != NULL && *patterns != '\0') {
    const size_t size = strcspn(patterns, ",");
    snprintf(pattern, sizeof pattern, "%.*s", (int)size, patterns);
    if (fnmatch(pattern, function->name, 0) == 0 || fnmatch(pattern, function->source, 0) == 0 ||
        fnmatch(pattern, position, 0) == 0)
      return true;
    patterns += size + (patterns[size] == ',');
  }
  return false;
}

/* ---- names that others give ------------------------------------------------ */

static bool is_text(const char *text, const char *word, size_t size) {
  return strlen(text) == size && memcmp(text, word, size) == 0;
}

static const char *last_part(const char *name, const char *separators) {
  const char *last = name;
  for (; *name != '\0'; name++)
    if (strchr(separators, *name) != NULL) last = name + 1;
  return last;
}

static const char *path_of(const CalledFunction *f) {
  return f->path != NULL ? f->path : f->source;
}

/* Tells whether a word is the end of the path, from a folder or file on. */
static bool ends_path(const char *path, size_t length, const char *word, size_t size) {
  return size <= length && memcmp(path + length - size, word, size) == 0 &&
         (size == length || path[length - size - 1] == '/');
}

/* Tells whether a word is the last part of the path, a folder or a file. */
static bool is_last_part(const char *path, size_t length, const char *word, size_t size) {
  return ends_path(path, length, word, size) && memchr(word, '/', size) == NULL;
}

static void drop_end(const char *path, size_t *length, const char *end) {
  const size_t size = strlen(end);
  if (*length > size && memcmp(path + *length - size, end, size) == 0) *length -= size;
}

/* Tells whether a word is "m.f": function f of .../m.lua, or of .../m/init.lua. */
static bool is_of_module(const CalledFunction *f, const char *word, size_t size) {
  const char *path = path_of(f), *function = last_part(f->name, ".:");
  const size_t name = strlen(function);
  size_t length = strlen(path);
  if (size < name + 2 || word[size - name - 1] != '.' ||
      memcmp(word + size - name, function, name) != 0)
    return false;
  drop_end(path, &length, ".lua");
  drop_end(path, &length, "/init");
  return is_last_part(path, length, word, size - name - 1);
}

/* Tells whether a word is "m.lua:12", perhaps with its folders, or shortened as in
   `source`. */
static bool is_at_line(const CalledFunction *f, const char *word, size_t size) {
  char line[16];
  const size_t digits = (size_t)snprintf(line, sizeof line, ":%u", f->line);
  if (f->line == 0 || size <= digits || memcmp(word + size - digits, line, digits) != 0)
    return false;
  size -= digits;
  return ends_path(path_of(f), strlen(path_of(f)), word, size) || is_text(f->source, word, size);
}

bool called_function_is_named(const CalledFunction *f, const char *names) {
  while (*names != '\0') {
    const size_t size = strcspn(names, ",");
    if (size > 0 && (is_text(f->name, names, size) ||
                     is_text(last_part(f->name, ".:"), names, size) ||
                     is_of_module(f, names, size) || is_at_line(f, names, size)))
      return true;
    names += size + (names[size] == ',');
  }
  return false;
}
