/* SPDX-License-Identifier: MIT */
/* vm/function_names.c: the name of a function, by one rule for all that shows it.
 *
 * A function of Lua has the name by which it is defined (Prototype.name): "f", "M.a.b:c".
 * One without is "anonymous", and whoever shows it shows its place as well.
 *
 * A C function has the name under which the loaded modules have it, "string.rep": the
 * best one (eventring_compare_names), so that each run has the same.
 * Else it has that of its symbol, else of its place in its file, "saros+0x46e20".
 * Readers in other processes follow the same rule (eventring/remote/names.c, places.c).
 *
 * Asked for in the middle of allocations and of instructions: nothing is allocated in the heap, and
 * nothing of the domain changes. Symbols are read from a file, so the latest ones are kept. */
#include "function_names.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "debuginfo.h"
#include "domain.h"
#include "eventring/introspection.h"
#include "func.h"
#include "primitives.h"
#include "symbols/symbols.h"
#include "table.h"
#include "thread.h"

#define MOST_NODES 65536 /* of a module that is searched: a larger table is none */

/* ---- functions of Lua ---------------------------------------------------- */

void clean_name(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < 32 || *text == 127) *text = '?';
}

const char *prototype_own_name(const Prototype *p) {
  if (p->line_defined == 0) return MAIN_CHUNK_NAME;
  return p->name != NULL ? p->name->data : ANONYMOUS_NAME;
}

void prototype_name(const Prototype *p, char *name) {
  snprintf(name, FUNCTION_NAME_SIZE, "%s", prototype_own_name(p));
  clean_name(name);
}

void prototype_source(const Prototype *p, char *source) {
  if (p->source != NULL) chunk_id(source, p->source->data, string_len(p->source));
  else snprintf(source, LUA_IDSIZE, "?");
  clean_name(source);
}

/* ---- C functions --------------------------------------------------------- */

/* registry._LOADED, found without making a string. */
static const Table *loaded_modules(const Domain *d) {
  const Table *registry = as_table(&d->registry);
  for (uint32_t i = 0; i < table_node_count(registry); i++) {
    const Node *n = &registry->node[i];
    if (n->tag == TAG_TABLE && n->key_tag == TAG_SHORT_STRING &&
        strcmp(((const String *)n->key.gc)->data, "_LOADED") == 0)
      return (const Table *)n->v.gc;
  }
  return NULL;
}

static bool is_better(const char *a, const char *b) {
  return *b == '\0' || eventring_compare_names(a, b) < 0;
}

/* Puts a better name into `name`, if the module has one. */
static void find_in_module(const Table *module, const char *prefix, const void *f, char *name) {
  char text[FUNCTION_NAME_SIZE];
  const bool is_global = strcmp(prefix, "_G") == 0;
  for (uint32_t i = 0; i < table_node_count(module); i++) {
    const Node *n = &module->node[i];
    const TValue value = {.v = n->v, .tag = n->tag};
    if (n->key_tag != TAG_SHORT_STRING || c_function_identity(&value) != f) continue;
    snprintf(text, sizeof text, "%s%s%s", is_global ? "" : prefix, is_global ? "" : ".",
             ((const String *)n->key.gc)->data);
    if (is_better(text, name)) memcpy(name, text, sizeof text);
  }
}

static void find_in_modules(const Domain *d, const void *f, char *name) {
  const Table *loaded = loaded_modules(d);
  for (uint32_t i = 0; loaded != NULL && i < table_node_count(loaded); i++) {
    const Node *n = &loaded->node[i];
    if (n->tag != TAG_TABLE || n->key_tag != TAG_SHORT_STRING) continue;
    const Table *module = (const Table *)n->v.gc;
    if (table_node_count(module) <= MOST_NODES)
      find_in_module(module, ((const String *)n->key.gc)->data, f, name);
  }
}

/* Among the symbols of its file on disk, where static functions are as well. */
static bool find_in_file(const void *address, const struct link_map *map, char *name) {
  const bool is_program = map->l_name == NULL || *map->l_name == '\0';
  const int fd = open(is_program ? "/proc/self/exe" : map->l_name,
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  const bool found = symbol_name(fd, (uintptr_t)address - map->l_addr, name, FUNCTION_NAME_SIZE);
  close(fd);
  return found;
}

/* The same in each run: where the program lies differs. */
static void read_symbol(const void *address, const Dl_info *info, const struct link_map *map,
                        char *name) {
  if (find_in_file(address, map, name)) return;
  const char *slash = strrchr(info->dli_fname, '/');
  if (info->dli_sname != NULL && info->dli_saddr == address)
    snprintf(name, FUNCTION_NAME_SIZE, "%s", info->dli_sname);
  else
    snprintf(name, FUNCTION_NAME_SIZE, "%s+0x%lx", slash != NULL ? slash + 1 : info->dli_fname,
             (unsigned long)((const char *)address - (const char *)info->dli_fbase));
}

/* A name that was read, and the mapped file that it is of: another one may get its place. */
typedef struct KeptName {
  const void *address, *file, *section;
  char name[FUNCTION_NAME_SIZE];
} KeptName;

/* A function of the host is at the bottom of each stack that is written, once a second or more
 * often, and reading the symbols of its file takes 25 us for saros, milliseconds for a large
 * host. */
static void name_of_symbol(const void *address, char *name) {
  static _Thread_local KeptName kept[8];
  Dl_info info;
  struct link_map *map = NULL;
  if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
    snprintf(name, FUNCTION_NAME_SIZE, "(a C function)");
    return;
  }
  KeptName *k = &kept[((uintptr_t)address >> 4) % (sizeof kept / sizeof kept[0])];
  if (k->address != address || k->file != map || k->section != map->l_ld) {
    read_symbol(address, &info, map, k->name);
    k->address = address;
    k->file = map;
    k->section = map->l_ld;
  }
  memcpy(name, k->name, FUNCTION_NAME_SIZE);
}

void c_function_name(const Domain *d, const TValue *func, char *name) {
  const void *f = c_function_identity(func);
  snprintf(name, FUNCTION_NAME_SIZE, "%s", f == NULL ? "?" : "");
  if (f == NULL) return;
  find_in_modules(d, f, name);
  if (*name == '\0' && func->tag == TAG_PRIMITIVE)
    snprintf(name, FUNCTION_NAME_SIZE, "%s", func->v.prim->name);
  if (*name == '\0') name_of_symbol(f, name);
  clean_name(name);
}

/* ---- frames -------------------------------------------------------------- */

void frame_name(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                uint32_t *last_line) {
  if (!is_lua_frame(frame)) {
    c_function_name(L->domain, frame->func, name);
    snprintf(source, LUA_IDSIZE, "[C]");
    return;
  }
  const Prototype *p = frame_closure(frame)->p;
  prototype_name(p, name);
  prototype_source(p, source);
  *line = p->line_defined;
  *last_line = p->last_line_defined;
}

void frame_place(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column) {
  int at, in_line;
  if (!debuginfo_position(p, (int)pc, &at, &in_line)) at = in_line = 0;
  *line = at > 0 ? (uint32_t)at : 0;
  *column = (uint32_t)in_line;
}
