/* SPDX-License-Identifier: MIT */
/* functions.h: reads the functions of another process: names, sources, lines.
 *
 * What was read of a function is kept, by its identity. Whenever a stack is read, the
 * kept function is compared with the memory of the process, so that a freed function is
 * not confused with the one that has replaced it.
 */
#ifndef EVENTRING_REMOTE_FUNCTIONS_H
#define EVENTRING_REMOTE_FUNCTIONS_H

#include "remote/host.h"

enum {
  REMOTE_NAME = 128,       /* bytes of a name with its NUL, longer ones are cut */
  REMOTE_SOURCE = 256,     /* bytes of the name of a source */
  REMOTE_FUNCTIONS = 65536 /* functions kept at once */
};

struct remote_function {
  uint64_t identity;  /* identity of the prototype, or address of the C function */
  bool is_c;
  uint32_t number;    /* 0, 1 ... in the order of discovery; never reused */
  char name[REMOTE_NAME];     /* "M.a.b:c", "anonymous", "string.find"; "" if not known */
  char site[REMOTE_NAME];     /* where a C function is (mappings.h) */
  char source[REMOTE_SOURCE]; /* as Lua shows it: "file.lua", "[string \"...\"]", "?" */
  uint32_t first_line, last_line; /* 0 for a main chunk, or a C function */
  /* Addresses of the prototype and its code, from which the lines are read. */
  uint64_t prototype, code;
  uint32_t code_count;
  uint32_t *lines;    /* the line of each instruction, or NULL */
  unsigned char *seen; /* the prototype as it was read */
  struct remote_function *next; /* the next one in its bucket */
  bool stale;         /* its memory now holds another function */
};

struct remote_functions {
  struct remote_host *host;
  struct remote_function *buckets[4096];
  uint32_t count;
  struct remote_names *names; /* names in the process's modules; NULL if not read yet */
  uint64_t names_read_ns;     /* when `names` were read */
  struct remote_mappings *mappings; /* files that the process has mapped */
  uint64_t line_bytes;        /* bytes that the lines of all functions take */
  bool no_memory;
};

void remote_functions_open(struct remote_functions *functions, struct remote_host *host);
void remote_functions_close(struct remote_functions *functions);

/* Returns the function that is kept under this identity, or NULL. */
struct remote_function *remote_function_known(struct remote_functions *functions,
                                              uint64_t identity, bool is_c);
/* Reads the function of the language with this identity, to which the closure at this
   address belongs. Returns NULL if the closure no longer belongs to it. */
struct remote_function *remote_function_read(struct remote_functions *functions, uint64_t identity,
                                             uint64_t closure);
/* Returns the function of the prototype at this address, or NULL if there is none. */
struct remote_function *remote_function_at(struct remote_functions *functions,
                                           uint64_t prototype);
/* Returns the C function at this address. */
struct remote_function *remote_function_c(struct remote_functions *functions, uint64_t address);
/* Returns the name to show. `function` is NULL for an unknown C function. */
const char *remote_function_name(const struct remote_function *function);
/* Tells whether the process's memory still holds what was read; if not, forgets the
   function. `seen`: prototype.size bytes of it, just read. */
bool remote_function_holds(struct remote_functions *functions, struct remote_function *function,
                           const unsigned char *seen);

/* Reads the names of functions in the modules of the domain, unless it has done so
   recently (`now`: ns of any clock). Gives them to functions without a name, including
   those already known. */
void remote_functions_name(struct remote_functions *functions, uint64_t domain, uint64_t now);

/* Tells whether a pc lies in the code of a function of the language. */
bool remote_function_has(const struct remote_functions *functions,
                         const struct remote_function *function, uint64_t pc);
/* Returns the line of the instruction before `pc`, or 0 if it is not known, or `pc` is
   not in the function. */
uint32_t remote_function_line(const struct remote_functions *functions,
                              const struct remote_function *function, uint64_t pc);

/* Reads the bytes of a string at `address`, at most `room`, without NUL. Returns its full
   length, or SIZE_MAX if it is unreadable. */
size_t remote_string(struct remote_host *host, uint64_t address, char *to, size_t room);

#endif
