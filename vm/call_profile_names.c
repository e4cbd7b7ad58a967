/* SPDX-License-Identifier: MIT */
/* vm/call_profile_names.c: the functions that a domain has called, and their names.
 *
 * A function of Lua is its prototype, whichever closure runs. Its number is kept there
 * (Prototype.call_number), so a prototype that dies leaves a row that has its name, and a
 * new one in its place has no number yet. A function of C is its address; a function of
 * coroutine.wrap is the prototype that its coroutine runs, with "wrap of" before its name;
 * a C function called through module ffi is its own address there.
 *
 * The name is that by which it is defined, if the function around it is called while there
 * is a profile; else that under which the loaded modules have it ("string.format"); else
 * that of the variable or field through which it was called the first time; else its place.
 * This happens once for each function, between two steps of the interpreter: nothing here
 * allocates in the heap.
 */
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_profile.h"
#include "debuginfo.h"
#include "func.h"
#include "native_names.h"
#include "opinfo.h"
#include "primitives.h"
#include "str.h"
#include "table.h"

#define NAME_ROOM 256

typedef struct CalledKey {
  uintptr_t key; /* 0: none */
  uint32_t number;
} CalledKey;

/* ---- the table ----------------------------------------------------------- */

static char *copy(const char *text) {
  char *made = strdup(text);
  return made != NULL ? made : NULL;
}

/* CALLED_OTHER: no memory. */
static uint32_t add(CalledFunctions *f, const char *name, const char *source, uint32_t line,
                    uint8_t kind) {
  if (f->count == f->room) {
    const uint32_t room = f->room == 0 ? 256 : f->room * 2;
    CalledFunction *list = realloc(f->list, room * sizeof *list);
    if (list == NULL) return CALLED_OTHER;
    f->list = list;
    f->room = room;
  }
  char *own_name = copy(name), *own_source = copy(source);
  if (own_name == NULL || own_source == NULL) {
    free(own_name);
    free(own_source);
    return CALLED_OTHER;
  }
  f->list[f->count] = (CalledFunction){.name = own_name, .source = own_source, .line = line,
                                       .kind = kind};
  return f->count++;
}

bool called_functions_begin(CalledFunctions *f) {
  static const char *const names[CALLED_FIRST] = {"(collector)", "(finalizers)", "(waiting)",
                                                  "(other)"};
  while (f->count < CALLED_FIRST)
    if (add(f, names[f->count], "", 0, EVENTRING_CALLS_HOST) != f->count - 1) return false;
  return true;
}

void called_functions_free(CalledFunctions *f) {
  for (uint32_t i = 0; i < f->count; i++) {
    free(f->list[i].name);
    free(f->list[i].source);
  }
  free(f->list);
  free(f->keys);
  *f = (CalledFunctions){0};
}

static CalledKey *place_of(const CalledFunctions *f, uintptr_t key) {
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
    if (f->keys[i].key != 0) *place_of(&grown, f->keys[i].key) = f->keys[i];
  free(f->keys);
  *f = grown;
  return true;
}

/* The key's place; NULL: no memory. There are at most as many keys as functions. */
static CalledKey *key_of(CalledFunctions *f, uintptr_t key) {
  if (f->count * 2 >= f->key_room && !grow_keys(f)) return NULL;
  return place_of(f, key);
}

/* ---- names --------------------------------------------------------------- */

static bool same_function(const TValue *a, const TValue *b) {
  return a->tag == b->tag && a->v.p == b->v.p;
}

static bool find_in_module(lua_State *L, Table *module, const char *prefix, const TValue *func,
                           char *name) {
  TValue key, value;
  uint32_t position = 0;
  while ((position = table_iterate(L->domain, module, position, &key, &value)) != 0) {
    if (!is_string(&key) || !same_function(&value, func)) continue;
    snprintf(name, NAME_ROOM, "%s%s%s", prefix, prefix[0] ? "." : "", as_string(&key)->data);
    return true;
  }
  return false;
}

static const char *shown_module(const char *name) {
  if (strcmp(name, "_G") == 0) return "";
  return strncmp(name, "saros.", 6) == 0 ? name + 6 : name;
}

static bool find_in_modules(lua_State *L, const TValue *func, char *name) {
  const TValue *loaded =
      table_get_str(as_table(&L->domain->registry), L->domain->names[NAME_LOADED]);
  TValue key, value;
  uint32_t position = 0;
  if (!is_table(loaded)) return false;
  while ((position = table_iterate(L->domain, as_table(loaded), position, &key, &value)) != 0)
    if (is_string(&key) && is_table(&value) &&
        find_in_module(L, as_table(&value), shown_module(as_string(&key)->data), func, name))
      return true;
  return false;
}

/* Text of a name that a program chose, without what would spoil a line. */
static void clean(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < 32 || *text == 127) *text = '?';
}

/* Of the variable through which it is called. */
static bool find_at_call(lua_State *L, const CallInfo *frame, char *name) {
  const char *text = NULL;
  if (frame->prev == NULL || frame->status & CALL_TAIL) return false;
  if (debug_name_of_call(L, frame->prev, &text) == NULL || text == NULL) return false;
  snprintf(name, NAME_ROOM, "%s", text);
  return true;
}

/* A local function that refers to itself. */
static bool find_in_upvalues(const TValue *func, char *name) {
  const LuaClosure *closure = as_lua_closure(func);
  const Prototype *p = closure->p;
  for (int i = 0; p->has_names && i < p->nupvalues; i++) {
    const UpValue *up = closure->upvalues[i];
    if (up == NULL || !same_function(up->v, func) || p->upvalues[i].name == NULL) continue;
    snprintf(name, NAME_ROOM, "%s", p->upvalues[i].name->data);
    return true;
  }
  return false;
}

/* What a closure's coroutine runs; NULL: not known. */
static const TValue *wrapped(const TValue *func) {
  const CClosure *cc = as_c_closure(func);
  if (cc->nupvalues == 0 || !is_thread(&cc->upvalues[0])) return NULL;
  const lua_State *co = (const lua_State *)cc->upvalues[0].v.gc;
  const CallInfo *first = co->base_ci.next;
  if (co->ci != &co->base_ci && first != NULL && first->func != NULL) return first->func;
  return co->top > co->stack + 1 ? co->stack + 1 : NULL;
}

/* The name of the variable or field that the CLOSURE at pc is stored in, or NULL. */
static const char *definition_name(const Prototype *p, uint32_t pc) {
  const int reg = (int)INS_A(p->code[pc]);
  const uint32_t next = pc + 1;
  if (next + 1 < p->ncode) {
    const OpCode op = op_base(p->code[next]);
    if ((op == OP_SETFIELD || op == OP_SETTABUP) && (int)INS_C(p->code[next]) == reg) {
      const TValue *key = &p->k[AUX_KEY(p->code[next + 1])];
      return is_string(key) ? as_string(key)->data : NULL;
    }
  }
  return local_name(p, reg + 1, next);
}

static uint32_t add_prototype(CalledFunctions *f, Prototype *p, const char *own_name) {
  char name[NAME_ROOM], source[LUA_IDSIZE];
  const char *text = p->source != NULL ? p->source->data : "=?";
  chunk_id(source, text, p->source != NULL ? string_len(p->source) : 2);
  if (own_name != NULL) snprintf(name, sizeof name, "%s", own_name);
  else if (p->line_defined == 0) snprintf(name, sizeof name, "main chunk");
  else snprintf(name, sizeof name, "function <%s:%u>", source, p->line_defined);
  clean(name);
  clean(source);
  const uint32_t number = add(f, name, source, p->line_defined, EVENTRING_CALLS_CODE);
  if (number != CALLED_OTHER) p->call_number = number;
  return number;
}

/* Functions that are defined in p by a name of their own get it here: calls from C and tail
 * calls would not show it. */
static void name_inner(CalledFunctions *f, const Prototype *p) {
  for (uint32_t pc = 0; p->npositions != 0 && pc < p->ncode;
       pc += (uint32_t)op_length(INS_OP(p->code[pc]))) {
    if (op_base(p->code[pc]) != OP_CLOSURE) continue;
    Prototype *inner = p->p[INS_Bx(p->code[pc])];
    const char *name = inner->call_number == 0 ? definition_name(p, pc) : NULL;
    if (name != NULL && add_prototype(f, inner, name) != CALLED_OTHER) name_inner(f, inner);
  }
}

static uint32_t number_of_prototype(CalledFunctions *f, lua_State *L, const CallInfo *frame,
                                    const TValue *func, Prototype *p) {
  char name[NAME_ROOM];
  if (p->call_number == 0) {
    const bool is_named =
        p->line_defined != 0 &&
        (find_in_modules(L, func, name) || (frame != NULL && find_at_call(L, frame, name)) ||
         find_in_upvalues(func, name));
    if (add_prototype(f, p, is_named ? name : NULL) == CALLED_OTHER) return CALLED_OTHER;
    name_inner(f, p);
  }
  return p->call_number;
}

/* The same in each run: where the program lies differs. */
static void name_of_symbol(const void *address, char *name) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
    snprintf(name, NAME_ROOM, "function of C");
    return;
  }
  const char *slash = strrchr(info.dli_fname, '/');
  if (info.dli_sname != NULL && info.dli_saddr == address)
    snprintf(name, NAME_ROOM, "%s", info.dli_sname);
  else
    snprintf(name, NAME_ROOM, "function %s+0x%lx", slash != NULL ? slash + 1 : info.dli_fname,
             (unsigned long)((const char *)address - (const char *)info.dli_fbase));
}

static uint32_t number_of_c(CalledFunctions *f, lua_State *L, const CallInfo *frame,
                            uintptr_t address) {
  char name[NAME_ROOM];
  const TValue *func = frame->func;
  const char *own_name = native_name_of((lua_CFunction)address);
  if (own_name != NULL) snprintf(name, sizeof name, "%s", own_name);
  else if (!find_in_modules(L, func, name) && !find_at_call(L, frame, name))
    name_of_symbol((const void *)address, name);
  clean(name);
  return add(f, name, "[C]", 0, EVENTRING_CALLS_NATIVE);
}

static uint32_t number_of_wrap(CalledFunctions *f, lua_State *L, const TValue *inner) {
  char name[NAME_ROOM];
  const uint32_t of = number_of_prototype(f, L, NULL, inner, as_lua_closure(inner)->p);
  snprintf(name, sizeof name, "wrap of %s", f->list[of].name);
  return add(f, name, "[C]", 0, EVENTRING_CALLS_NATIVE);
}

/* ---- finding ------------------------------------------------------------- */

/* A function of C that module ffi calls. */
static uint32_t find_foreign(CalledFunctions *f, lua_State *L, const TValue *function) {
  const void *symbol = NULL;
  const char *name = L->domain->hooks.ffi_name(as_userdata(function), &symbol);
  if (name == NULL) name = "(pointer)";
  CalledKey *own = key_of(f, symbol != NULL ? (uintptr_t)symbol : 1);
  if (own == NULL) return CALLED_OTHER;
  if (own->key == 0) {
    char text[NAME_ROOM];
    snprintf(text, sizeof text, "ffi:%s", name);
    clean(text);
    own->number = add(f, text, "[C]", 0, EVENTRING_CALLS_NATIVE);
    own->key = symbol != NULL ? (uintptr_t)symbol : 1;
  }
  return own->number;
}

static uint32_t find_native(CalledFunctions *f, lua_State *L, const CallInfo *frame) {
  const TValue *func = frame->func, *inner = NULL;
  uintptr_t key = (uintptr_t)func->v.p;
  if (func->tag == TAG_C_CLOSURE) {
    key = (uintptr_t)as_c_closure(func)->f;
    if (as_c_closure(func)->f == vm_wrap_call) inner = wrapped(func);
  } else if (func->v.f == L->domain->hooks.ffi_call && func->v.f != NULL &&
             is_userdata(func + 1)) {
    return find_foreign(f, L, func + 1);
  }
  /* a wrapper is known by its prototype, one byte on: no function of C lies there */
  if (inner != NULL && is_lua_closure(inner)) key = (uintptr_t)as_lua_closure(inner)->p + 1;
  else inner = NULL;
  CalledKey *place = key_of(f, key);
  if (place == NULL) return CALLED_OTHER;
  if (place->key == 0) {
    const uint32_t number =
        inner != NULL ? number_of_wrap(f, L, inner) : number_of_c(f, L, frame, key);
    place = place_of(f, key);
    place->key = key;
    place->number = number;
  }
  return place->number;
}

uint32_t called_function_find(CalledFunctions *f, lua_State *L, const CallInfo *frame) {
  if (frame->func->tag == TAG_LUA_CLOSURE)
    return number_of_prototype(f, L, frame, frame->func, frame_closure(frame)->p);
  return find_native(f, L, frame);
}

bool called_function_matches(const CalledFunction *function, const char *patterns) {
  char pattern[NAME_ROOM], place[NAME_ROOM * 2];
  snprintf(place, sizeof place, "%s:%u", function->source, function->line);
  while (patterns != NULL && *patterns != '\0') {
    const size_t size = strcspn(patterns, ",");
    snprintf(pattern, sizeof pattern, "%.*s", (int)size, patterns);
    if (fnmatch(pattern, function->name, 0) == 0 || fnmatch(pattern, function->source, 0) == 0 ||
        fnmatch(pattern, place, 0) == 0)
      return true;
    patterns += size + (patterns[size] == ',');
  }
  return false;
}
