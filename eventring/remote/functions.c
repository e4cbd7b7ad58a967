/* SPDX-License-Identifier: MIT */
/* functions.c: reads the functions of another process.
 *
 * A function of the language is identified by its prototype's identity, a word that no
 * other prototype has while this one exists. `seen` keeps the prototype as it was read.
 * Code that reads a stack reads the prototypes of its functions again and compares the
 * fields that never change (remote_function_holds).
 */
#include "remote/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/module_names.h"
#include "remote/mappings.h"

enum {
  MOST_CODE = 1 << 22,      /* most instructions of a function whose lines are read */
  MOST_LINE_BYTES = 1 << 28, /* most bytes of all functions' lines; further lines are
                                unknown */
  SHORT_TEXT = 32,          /* bytes of a short string that are read with its length */
  SOURCE_READ = 512,        /* bytes of a source's name that are read */
  NAMES_AGAIN_MS = 1000     /* least time between two readings of the names */
};

void remote_functions_open(struct remote_functions *functions, struct remote_host *host) {
  memset(functions, 0, sizeof *functions);
  functions->host = host;
}

static void free_function(struct remote_function *function) {
  free(function->lines);
  free(function->seen);
  free(function);
}

void remote_functions_close(struct remote_functions *functions) {
  for (size_t i = 0; i < sizeof functions->buckets / sizeof *functions->buckets; i++)
    for (struct remote_function *next, *f = functions->buckets[i]; f != NULL; f = next) {
      next = f->next;
      free_function(f);
    }
  remote_names_free(functions->names);
  remote_mappings_free(functions->mappings);
  memset(functions, 0, sizeof *functions);
}

static struct remote_function **bucket_of(struct remote_functions *functions, uint64_t identity) {
  uint64_t hash = identity * UINT64_C(0x9e3779b97f4a7c15) >> 52;
  return &functions->buckets[hash & (sizeof functions->buckets / sizeof *functions->buckets - 1)];
}

struct remote_function *remote_function_known(struct remote_functions *functions,
                                              uint64_t identity, bool is_c) {
  for (struct remote_function *f = *bucket_of(functions, identity); f != NULL; f = f->next)
    if (f->identity == identity && f->is_c == is_c && !f->stale) return f;
  return NULL;
}

static struct remote_function *add(struct remote_functions *functions, uint64_t identity,
                                   bool is_c) {
  struct remote_function *f = functions->count < REMOTE_FUNCTIONS ? calloc(1, sizeof *f) : NULL;
  if (f == NULL) {
    functions->no_memory = true;
    return NULL;
  }
  struct remote_function **bucket = bucket_of(functions, identity);
  *f = (struct remote_function){
      .identity = identity, .is_c = is_c, .number = functions->count++, .next = *bucket};
  return *bucket = f;
}

/* ---- strings ------------------------------------------------------------- */

static size_t greatest(size_t a, size_t b) { return a > b ? a : b; }

/* Reads a short string, its length and its first bytes, with one read. Returns false if
   it has another layout, or readable memory ends right behind it. */
static bool read_short(struct remote_host *host, uint64_t address, char *to, size_t room,
                       size_t *length) {
  const struct eventring_introspection *at = &host->at;
  unsigned char bytes[256];
  const size_t text = room < SHORT_TEXT ? room : SHORT_TEXT;
  const size_t all = greatest(greatest(at->string.type, at->string.short_length) + (size_t)1,
                              at->string.bytes + text);
  if (all > sizeof bytes || !remote_read(&host->memory, address, bytes, all) ||
      bytes[at->string.type] != at->string.is_short)
    return false;
  *length = bytes[at->string.short_length];
  if (*length > text) return false;
  memcpy(to, bytes + at->string.bytes, *length);
  return true;
}

size_t remote_string(struct remote_host *host, uint64_t address, char *to, size_t room) {
  const struct eventring_introspection *at = &host->at;
  uint8_t type, short_length;
  uint64_t length;
  size_t all;
  if (address == 0) return SIZE_MAX;
  if (read_short(host, address, to, room, &all)) return all;
  if (!remote_read_u8(&host->memory, address + at->string.type, &type)) return SIZE_MAX;
  if (type == at->string.is_short) {
    if (!remote_read_u8(&host->memory, address + at->string.short_length, &short_length))
      return SIZE_MAX;
    length = short_length;
  } else if (!remote_read_pointer(&host->memory, address + at->string.long_length, &length)) {
    return SIZE_MAX;
  }
  size_t part = length < room ? (size_t)length : room;
  if (part > 0 && !remote_read(&host->memory, address + at->string.bytes, to, part))
    return SIZE_MAX;
  return length > SIZE_MAX - 1 ? SIZE_MAX : (size_t)length;
}

/* Writes the name of a source as messages of Lua show it. */
static void show_source(char shown[REMOTE_SOURCE], const char *text, size_t size, size_t whole) {
  if (size > 0 && (text[0] == '@' || text[0] == '=')) {
    size_t part = size - 1 < REMOTE_SOURCE - 1 ? size - 1 : REMOTE_SOURCE - 1;
    memcpy(shown, text + 1, part);
    shown[part] = '\0';
    return;
  }
  const char *end = memchr(text, '\n', size);
  size_t part = end != NULL ? (size_t)(end - text) : size;
  if (part > 60) part = 60;
  snprintf(shown, REMOTE_SOURCE, "[string \"%.*s%s\"]", (int)part, text, part < whole ? "..." : "");
}

static void read_source(struct remote_host *host, uint64_t address, char shown[REMOTE_SOURCE]) {
  char text[SOURCE_READ];
  size_t whole = remote_string(host, address, text, sizeof text);
  if (whole == SIZE_MAX) strcpy(shown, "?");
  else show_source(shown, text, whole < sizeof text ? whole : sizeof text, whole);
}

static void read_name(struct remote_host *host, struct remote_function *f, uint64_t address) {
  size_t size = remote_string(host, address, f->name, sizeof f->name - 1);
  if (f->first_line == 0) strcpy(f->name, "main chunk");
  else if (size == SIZE_MAX || size == 0) strcpy(f->name, "anonymous");
  else f->name[size < sizeof f->name ? size : sizeof f->name - 1] = '\0';
}

/* ---- functions of the language ------------------------------------------- */

#define FIELD(bytes, field, size) remote_word((bytes) + at->prototype.field, size)

static void read_lines(struct remote_functions *functions, struct remote_function *f,
                       const unsigned char *bytes) {
  const struct eventring_introspection *at = &functions->host->at;
  uint64_t address = FIELD(bytes, lines, 8), count = FIELD(bytes, line_count, 4);
  if (count == 0 || count > MOST_CODE || count != f->code_count ||
      functions->line_bytes + count * sizeof *f->lines > MOST_LINE_BYTES)
    return;
  functions->line_bytes += count * sizeof *f->lines;
  f->lines = malloc(count * sizeof *f->lines);
  if (f->lines != NULL &&
      !remote_read(&functions->host->memory, address, f->lines, count * sizeof *f->lines)) {
    free(f->lines);
    f->lines = NULL;
  }
}

/* Compares the fields that never change while a prototype exists. */
static bool same_prototype(const struct eventring_introspection *at, const unsigned char *a,
                           const unsigned char *b) {
#define SAME(field, size) (FIELD(a, field, size) == FIELD(b, field, size))
  return SAME(type, 1) && SAME(identity, 8) && SAME(source, 8) && SAME(name, 8) && SAME(code, 8) &&
         SAME(code_count, 4) && SAME(lines, 8) && SAME(line_count, 4) && SAME(first_line, 4) &&
         SAME(last_line, 4);
#undef SAME
}

/* Reads a prototype. `identity` is 0 for any prototype. Returns NULL if there is none, or
   when out of memory. */
static struct remote_function *read_prototype(struct remote_functions *functions,
                                              uint64_t identity, uint64_t prototype) {
  struct remote_host *host = functions->host;
  const struct eventring_introspection *at = &host->at;
  unsigned char *bytes = malloc(at->prototype.size), *again = malloc(at->prototype.size);
  struct remote_function *f = NULL;
  if (bytes != NULL && again != NULL &&
      remote_read(&host->memory, prototype, bytes, at->prototype.size) &&
      FIELD(bytes, type, 1) == at->prototype.is_type &&
      (identity == 0 || FIELD(bytes, identity, 8) == identity))
    f = add(functions, FIELD(bytes, identity, 8), false);
  if (f != NULL) {
    f->prototype = prototype;
    f->code = FIELD(bytes, code, 8);
    f->code_count = (uint32_t)FIELD(bytes, code_count, 4);
    f->first_line = (uint32_t)FIELD(bytes, first_line, 4);
    f->last_line = (uint32_t)FIELD(bytes, last_line, 4);
    read_source(host, FIELD(bytes, source, 8), f->source);
    read_name(host, f, FIELD(bytes, name, 8));
    read_lines(functions, f, bytes);
    f->seen = bytes;
    bytes = NULL;
    /* then all that was read, in several steps, belongs to one function */
    if (!remote_read(&host->memory, prototype, again, at->prototype.size) ||
        !remote_function_holds(functions, f, again))
      f = NULL;
  }
  free(bytes);
  free(again);
  return f;
}

struct remote_function *remote_function_read(struct remote_functions *functions, uint64_t identity,
                                             uint64_t closure) {
  uint64_t prototype;
  const uint32_t offset = functions->host->at.closure.prototype;
  if (!remote_read_pointer(&functions->host->memory, closure + offset, &prototype)) return NULL;
  return read_prototype(functions, identity, prototype);
}

struct remote_function *remote_function_at(struct remote_functions *functions,
                                           uint64_t prototype) {
  const struct eventring_introspection *at = &functions->host->at;
  uint64_t identity;
  if (!remote_read_pointer(&functions->host->memory, prototype + at->prototype.identity, &identity))
    return NULL;
  struct remote_function *f = remote_function_known(functions, identity, false);
  if (f != NULL && f->prototype == prototype) return f;
  return read_prototype(functions, identity, prototype);
}

bool remote_function_holds(struct remote_functions *functions, struct remote_function *f,
                           const unsigned char *seen) {
  if (f->is_c || same_prototype(&functions->host->at, f->seen, seen)) return true;
  f->stale = true; /* its number and name stay valid, for samples that refer to it */
  return false;
}

bool remote_function_has(const struct remote_functions *functions, const struct remote_function *f,
                         uint64_t pc) {
  const uint64_t size = functions->host->at.prototype.instruction;
  return pc > f->code && (pc - f->code) / size <= f->code_count;
}

uint32_t remote_function_line(const struct remote_functions *functions,
                              const struct remote_function *f, uint64_t pc) {
  const struct eventring_introspection *at = &functions->host->at;
  if (f->is_c || f->lines == NULL || pc <= f->code) return 0;
  uint64_t index = (pc - f->code) / at->prototype.instruction;
  if (index == 0 || !remote_function_has(functions, f, pc)) return 0;
  uint32_t word = f->lines[index - 1];
  for (int i = 0; i < EVENTRING_MAX_LINE_FORMS; i++) {
    const struct eventring_line_form *form = &at->prototype.forms[i];
    if (form->lines == 0) break;
    if ((word & form->mask) == form->value) return word >> form->shift & form->lines;
  }
  return 0;
}

/* ---- C functions --------------------------------------------------------- */

struct remote_function *remote_function_c(struct remote_functions *functions, uint64_t address) {
  struct remote_function *f = remote_function_known(functions, address, true);
  if (f == NULL && (f = add(functions, address, true)) != NULL) {
    strcpy(f->source, "[C]");
    remote_name_function(functions, f);
    remote_mapped_name(&functions->mappings, &functions->host->memory, address, f->site,
                       sizeof f->site);
  }
  return f;
}

const char *remote_function_name(const struct remote_function *f) {
  if (f == NULL) return "(a C function)";
  return f->name[0] != '\0' ? f->name : f->site[0] != '\0' ? f->site : "(a C function)";
}

/* ---- names --------------------------------------------------------------- */

void remote_functions_name(struct remote_functions *functions, uint64_t domain, uint64_t now) {
  if (functions->names != NULL &&
      now - functions->names_read_ns < (uint64_t)NAMES_AGAIN_MS * 1000000)
    return;
  remote_names_free(functions->names);
  functions->names = remote_names_read(functions->host, domain);
  functions->names_read_ns = now;
  for (size_t i = 0; i < sizeof functions->buckets / sizeof *functions->buckets; i++)
    for (struct remote_function *f = functions->buckets[i]; f != NULL; f = f->next)
      if (f->name[0] == '\0' && !f->stale) remote_name_function(functions, f);
}
