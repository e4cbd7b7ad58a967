/* SPDX-License-Identifier: MIT */
/* module_names.c: finds the names that the modules of a process give its C functions.
 *
 * The table of modules is a field of the domain's roots. Each of its fields that is a
 * table gives names to the C functions among its own fields: "string.find". Tables of the
 * running program may change while they are read; then the result is a name that some
 * table had, or nothing.
 */
#include "remote/module_names.h"
#include "format/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_NODES = 1 << 16, /* most nodes of one table */
  MOST_MODULES = 1024,
  MOST_NAMES = 1 << 15
};

struct name {
  uint64_t identity; /* identity of the C function */
  char text[REMOTE_NAME];
};

struct remote_names {
  struct name *items; /* sorted by identity when complete */
  size_t count, room;
};

/* ---- tables -------------------------------------------------------------- */

struct nodes {
  unsigned char *bytes;
  size_t count;
};

/* Returns copies of the entries with keys of a table. Their count is 0 if there are none,
   or the table is unreadable. */
static struct nodes read_nodes(struct remote_host *host, uint64_t table) {
  const struct eventring_introspection *at = &host->at;
  struct nodes nodes = {0};
  uint64_t address;
  uint32_t mask;
  uint8_t state;
  if (!remote_read_pointer(&host->memory, table + at->table.nodes, &address) ||
      !remote_read_u32(&host->memory, table + at->table.node_mask, &mask) ||
      !remote_read_u8(&host->memory, table + at->table.state, &state) || mask >= MOST_NODES)
    return nodes;
  size_t count = (size_t)mask + 1;
  if (state & at->table.half_more) count += count / 2;
  nodes.bytes = malloc(count * at->table.node_size);
  if (nodes.bytes == NULL) return nodes;
  if (remote_read(&host->memory, address, nodes.bytes, count * at->table.node_size)) {
    nodes.count = count;
  } else {
    free(nodes.bytes);
    nodes.bytes = NULL;
  }
  return nodes;
}

struct node {
  uint8_t kind, key_kind;
  uint64_t value, key;
};

static struct node node_at(const struct remote_host *host, const struct nodes *nodes, size_t i) {
  const struct eventring_introspection *at = &host->at;
  const unsigned char *bytes = nodes->bytes + i * at->table.node_size;
  return (struct node){.kind = host->kinds[bytes[at->table.node_value_tag]],
                       .key_kind = host->kinds[bytes[at->table.node_key_tag]],
                       .value = remote_word(bytes + at->table.node_value, 8),
                       .key = remote_word(bytes + at->table.node_key, 8)};
}

/* ---- collecting ---------------------------------------------------------- */

static bool identity_of(struct remote_host *host, const struct node *node, struct name *name) {
  const uint32_t c_function = host->at.closure.c_function;
  name->identity = node->value;
  return node->kind == EVENTRING_VALUE_CFUNCTION ||
         (node->kind == EVENTRING_VALUE_CCLOSURE &&
          remote_read_pointer(&host->memory, node->value + c_function, &name->identity));
}

static bool add_name(struct remote_names *names, const struct name *name) {
  if (names->count == MOST_NAMES ||
      !EVR_MAKE_ROOM(names->items, names->room, names->count, 256))
    return false;
  names->items[names->count++] = *name;
  return true;
}

static void add_module(struct remote_host *host, struct remote_names *names, uint64_t table,
                       const char *module) {
  struct nodes nodes = read_nodes(host, table);
  bool is_global = strcmp(module, "_G") == 0;
  for (size_t i = 0; i < nodes.count; i++) {
    struct node node = node_at(host, &nodes, i);
    struct name name;
    char key[64];
    if (node.key_kind != EVENTRING_VALUE_STRING || !identity_of(host, &node, &name)) continue;
    size_t size = remote_string(host, node.key, key, sizeof key);
    if (size >= sizeof key) continue;
    snprintf(name.text, sizeof name.text, "%s%s%.*s", is_global ? "" : module,
             is_global ? "" : ".", (int)size, key);
    if (!add_name(names, &name)) break;
  }
  free(nodes.bytes);
}

/* Returns the table in the field of the roots that the host specifies, or 0. */
static uint64_t modules_of(struct remote_host *host, uint64_t domain) {
  const struct eventring_introspection *at = &host->at;
  uint64_t table, found = 0;
  uint8_t tag;
  char wanted[sizeof at->domain.modules + 1] = "", key[64];
  memcpy(wanted, at->domain.modules, sizeof at->domain.modules);
  if (!remote_read_pointer(&host->memory, domain + at->domain.roots + at->value.payload, &table) ||
      !remote_read_u8(&host->memory, domain + at->domain.roots + at->value.tag, &tag) ||
      host->kinds[tag] != EVENTRING_VALUE_TABLE)
    return 0;
  struct nodes nodes = read_nodes(host, table);
  for (size_t i = 0; i < nodes.count && found == 0; i++) {
    struct node node = node_at(host, &nodes, i);
    if (node.key_kind != EVENTRING_VALUE_STRING || node.kind != EVENTRING_VALUE_TABLE) continue;
    size_t size = remote_string(host, node.key, key, sizeof key);
    if (size == strlen(wanted) && memcmp(key, wanted, size) == 0) found = node.value;
  }
  free(nodes.bytes);
  return found;
}

/* Compares by identity; among the names of one function, the one to show comes first. */
static int by_identity(const void *a, const void *b) {
  const struct name *x = a, *y = b;
  if (x->identity != y->identity) return x->identity < y->identity ? -1 : 1;
  return eventring_compare_names(x->text, y->text);
}

struct remote_names *remote_names_read(struct remote_host *host, uint64_t domain) {
  struct remote_names *names = calloc(1, sizeof *names);
  uint64_t modules = names != NULL ? modules_of(host, domain) : 0;
  if (modules == 0) return names;
  struct nodes nodes = read_nodes(host, modules);
  for (size_t i = 0, done = 0; i < nodes.count && done < MOST_MODULES; i++) {
    struct node node = node_at(host, &nodes, i);
    char module[REMOTE_NAME - 65];
    if (node.key_kind != EVENTRING_VALUE_STRING || node.kind != EVENTRING_VALUE_TABLE) continue;
    size_t size = remote_string(host, node.key, module, sizeof module - 1);
    if (size >= sizeof module) continue;
    module[size] = '\0';
    add_module(host, names, node.value, module);
    done++;
  }
  free(nodes.bytes);
  if (names->count > 0) qsort(names->items, names->count, sizeof *names->items, by_identity);
  return names;
}

void remote_names_free(struct remote_names *names) {
  if (names == NULL) return;
  free(names->items);
  free(names);
}

void remote_name_function(struct remote_functions *functions, struct remote_function *function) {
  const struct remote_names *names = functions->names;
  if (names == NULL || !function->is_c || function->name[0] != '\0') return;
  size_t low = 0, high = names->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (names->items[middle].identity < function->identity) low = middle + 1;
    else high = middle;
  }
  if (low < names->count && names->items[low].identity == function->identity)
    memcpy(function->name, names->items[low].text, sizeof function->name);
}
