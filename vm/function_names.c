/* SPDX-License-Identifier: MIT */
/* vm/function_names.c: the name of a function, by one rule for everything that shows it.
 *
 * A Lua function has the name by which it is defined (Prototype.name): "f", "M.a.b:c". A
 * function without a name is "anonymous", and code that shows this name shows the
 * function's position as well.
 *
 * A C function has its name in the loaded modules, such as "string.rep"; of several names
 * it has the best one (eventring_compare_names), so that each run shows the same. If no
 * module has it, its name is that of its symbol, or else its offset in its file,
 * "saros+0x46e20". Readers in other processes follow the same rule
 * (eventring/remote/module_names.c, mappings.c).
 *
 * Names are asked for in the middle of allocations and of instructions: nothing is
 * allocated in the heap, and nothing of the domain changes. Symbols are read from a file,
 * so the latest names are kept. */
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

/* the most nodes of a module; a larger table does not count as a module */
#define MOST_NODES 65536

/* ---- functions of Lua ---------------------------------------------------- */

/* Copies text like snprintf with "%s", which takes longer than the rest of a frame. */
static void copy_text(char *to, size_t size, const char *from) {
  const size_t length = strnlen(from, size - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

void clean_name(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < 32 || *text == 127) *text = '?';
}

const char *prototype_own_name(const Prototype *p) {
  if (p->line_defined == 0) return MAIN_CHUNK_NAME;
  return p->name != NULL ? p->name->data : ANONYMOUS_NAME;
}

void prototype_name(const Prototype *p, char *name) {
  copy_text(name, FUNCTION_NAME_SIZE, prototype_own_name(p));
  clean_name(name);
}

void prototype_source(const Prototype *p, char *source) {
  if (p->source != NULL) chunk_id(source, p->source->data, string_len(p->source));
  else copy_text(source, LUA_IDSIZE, "?");
  clean_name(source);
}

/* ---- C functions --------------------------------------------------------- */

/* Returns registry._LOADED, found without making a string. */
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

/* The name of a C function that was found in the modules, and where it was found. */
typedef struct FoundName {
  const void *f;
  const Table *loaded; /* the table of loaded modules; `modules` are its nodes */
  const Node *modules;
  uint32_t free;             /* Table.last_free of `loaded` */
  /* numbers of the nodes of the best name: in `loaded`, and in the module */
  uint32_t module, at;
  char name[FUNCTION_NAME_SIZE]; /* "" if no module has the function */
} FoundName;

static bool names_function(const Node *n, const void *f) {
  const TValue value = {.v = n->v, .tag = n->tag};
  return n->key_tag == TAG_SHORT_STRING && c_function_identity(&value) == f;
}

/* Replaces the name with a better one, if the module has one. */
static void find_in_module(const Table *module, const char *prefix, uint32_t number,
                           FoundName *found) {
  char text[FUNCTION_NAME_SIZE];
  const bool is_global = strcmp(prefix, "_G") == 0;
  for (uint32_t i = 0; i < table_node_count(module); i++) {
    const Node *n = &module->node[i];
    if (!names_function(n, found->f)) continue;
    snprintf(text, sizeof text, "%s%s%s", is_global ? "" : prefix, is_global ? "" : ".",
             ((const String *)n->key.gc)->data);
    if (!is_better(text, found->name)) continue;
    memcpy(found->name, text, sizeof text);
    found->module = number;
    found->at = i;
  }
}

static const Table *module_at(const Table *loaded, uint32_t i) {
  const Node *n = &loaded->node[i];
  return n->tag == TAG_TABLE && n->key_tag == TAG_SHORT_STRING ? (const Table *)n->v.gc : NULL;
}

static void find_in_modules(const Table *loaded, const void *f, FoundName *found) {
  *found = (FoundName){.f = f, .loaded = loaded};
  if (loaded == NULL) return;
  found->modules = loaded->node;
  found->free = loaded->last_free;
  for (uint32_t i = 0; i < table_node_count(loaded); i++) {
    const Table *module = module_at(loaded, i);
    if (module != NULL && table_node_count(module) <= MOST_NODES)
      find_in_module(module, ((const String *)loaded->node[i].key.gc)->data, i, found);
  }
}

/* Tells whether a kept name is still valid: no module was added, and the module that had
   the function still has the function. */
static bool is_found(const FoundName *found, const Table *loaded, const void *f) {
  if (found->f != f || found->loaded != loaded) return false;
  if (loaded == NULL) return true;
  if (found->modules != loaded->node || found->free != loaded->last_free) return false;
  if (found->name[0] == '\0') return true;
  const Table *module = module_at(loaded, found->module);
  return module != NULL && found->at < table_node_count(module) &&
         names_function(&module->node[found->at], f);
}

/* Finds the name of a function in the modules. The same few functions are on each stack
 * that is written, and a search of all modules takes 10 us, so the latest names are kept.
 * (If a module that was already loaded gets another name for the function, the kept name
 * stays.) */
static void name_in_modules(const Domain *d, const void *f, char *name) {
  static _Thread_local FoundName kept[8];
  const Table *loaded = loaded_modules(d);
  FoundName *found = &kept[((uintptr_t)f >> 4) % (sizeof kept / sizeof kept[0])];
  if (!is_found(found, loaded, f)) find_in_modules(loaded, f, found);
  memcpy(name, found->name, FUNCTION_NAME_SIZE);
}

/* Looks for a function among the symbols of its file on disk, which include static
   functions. */
static bool find_in_file(const void *address, const struct link_map *map, char *name) {
  const bool is_program = map->l_name == NULL || *map->l_name == '\0';
  const int fd = open(is_program ? "/proc/self/exe" : map->l_name,
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  const bool found = symbol_name(fd, (uintptr_t)address - map->l_addr, name, FUNCTION_NAME_SIZE);
  close(fd);
  return found;
}

/* Reads the name of a symbol. It is the same in each run, although the program's
   addresses differ. */
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

/* A name that was read, with the mapped file that has the symbol: another file may be
   mapped at the same addresses later. */
typedef struct KeptName {
  const void *address, *file, *section;
  char name[FUNCTION_NAME_SIZE];
} KeptName;

static bool is_kept(const KeptName *k, const void *address, const struct link_map *map) {
  return k->address == address && k->file == map && k->section == map->l_ld;
}

/* Returns the mapped file that has the address, or NULL if the caller must use dladdr1,
 * which examines each symbol of the file and takes 5 us. */
static const struct link_map *file_at(const void *address) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
  struct dl_find_object found;
  if (_dl_find_object((void *)(uintptr_t)address, &found) == 0) return found.dlfo_link_map;
#else
  (void)address;
#endif
  return NULL;
}

/* Writes the name of the symbol at an address. A function of the host is at the bottom of
 * each stack that is written, once a second or more often, and reading the symbols of its
 * file takes 25 us for saros, milliseconds for a large host. So the latest names are
 * kept. */
static void name_of_symbol(const void *address, char *name) {
  static _Thread_local KeptName kept[8];
  Dl_info info;
  struct link_map *map = NULL;
  KeptName *k = &kept[((uintptr_t)address >> 4) % (sizeof kept / sizeof kept[0])];
  const struct link_map *file = file_at(address);
  if (file != NULL && is_kept(k, address, file)) {
    memcpy(name, k->name, FUNCTION_NAME_SIZE);
    return;
  }
  if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
    snprintf(name, FUNCTION_NAME_SIZE, "(a C function)");
    return;
  }
  if (!is_kept(k, address, map)) {
    read_symbol(address, &info, map, k->name);
    k->address = address;
    k->file = map;
    k->section = map->l_ld;
  }
  memcpy(name, k->name, FUNCTION_NAME_SIZE);
}

void c_function_name(const Domain *d, const TValue *func, char *name) {
  const void *f = c_function_identity(func);
  if (f == NULL) {
    copy_text(name, FUNCTION_NAME_SIZE, "?");
    return;
  }
  name_in_modules(d, f, name);
  if (*name == '\0' && func->tag == TAG_PRIMITIVE)
    copy_text(name, FUNCTION_NAME_SIZE, func->v.prim->name);
  if (*name == '\0') name_of_symbol(f, name);
  clean_name(name);
}

/* ---- frames -------------------------------------------------------------- */

void frame_name(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                uint32_t *last_line) {
  if (!is_lua_frame(frame)) {
    c_function_name(L->domain, frame->func, name);
    copy_text(source, LUA_IDSIZE, "[C]");
    return;
  }
  const Prototype *p = frame_closure(frame)->p;
  prototype_name(p, name);
  prototype_source(p, source);
  *line = p->line_defined;
  *last_line = p->last_line_defined;
}

void frame_position(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column) {
  int at, in_line;
  if (!debuginfo_position(p, (int)pc, &at, &in_line)) at = in_line = 0;
  *line = at > 0 ? (uint32_t)at : 0;
  *column = (uint32_t)in_line;
}
