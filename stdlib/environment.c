/* SPDX-License-Identifier: MIT */
/* environment.c - the variables of the environment that `saros` reads.
 *
 * A misspelt variable has no effect: the program runs unrecorded, and nobody learns why.
 * So the name of each variable SAROS_... is compared with the names that exist. Programs
 * may have variables SAROS_... of their own, so a name that is close to none is ignored.
 * Without a variable SAROS_... the cost is a comparison of the first letters of each
 * variable. */
#include "environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "analysis/nearest.h"

static const char PREFIX[] = "SAROS_";
#define PREFIX_SIZE (sizeof PREFIX - 1)

static const char *const known[] = {
#define VARIABLE(name) #name,
#include "environment.def"
#undef VARIABLE
};
#define KNOWN (sizeof known / sizeof known[0])

static bool is_known(const char *name, size_t size) {
  for (size_t i = 0; i < KNOWN; i++)
    if (strlen(known[i]) == size && memcmp(known[i], name, size) == 0) return true;
  return false;
}

static void warn_of(const char *program, const char *name, size_t size) {
  struct eva_nearest nearest;
  eva_nearest_begin(&nearest, name, size);
  for (size_t i = 0; i < KNOWN; i++) eva_nearest_try(&nearest, known[i]);
  if (nearest.word == NULL) return;
  fprintf(stderr, "%s: warning: no variable %s%.*s; did you mean %s%s?\n", program, PREFIX,
          (int)size, name, PREFIX, nearest.word);
}

void warn_of_variables(const char *program) {
  if (getauxval(AT_SECURE)) return; /* no variable is read in this case */
  for (char **entry = environ; *entry != NULL; entry++) {
    if (strncmp(*entry, PREFIX, PREFIX_SIZE) != 0) continue;
    const char *name = *entry + PREFIX_SIZE;
    const size_t size = strcspn(name, "=");
    if (!is_known(name, size)) warn_of(program, name, size);
  }
}
