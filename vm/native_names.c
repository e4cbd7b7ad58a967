/* SPDX-License-Identifier: MIT */
/* vm/native_names.c: a table that only grows, so that readers need no lock. */
#include "native_names.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_NAMES = 64 };

static struct {
  lua_CFunction f;
  const char *name;
} names[MOST_NAMES];
static atomic_int count; /* (release) after the entry was written */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

const char *native_name_of(lua_CFunction f) {
  const int n = atomic_load_explicit(&count, memory_order_acquire); /* pairs with the release */
  for (int i = 0; i < n; i++)
    if (names[i].f == f) return names[i].name;
  return NULL;
}

void native_name_set(lua_CFunction f, const char *name) {
  if (native_name_of(f) != NULL) return;
  pthread_mutex_lock(&mutex);
  const int n = atomic_load_explicit(&count, memory_order_relaxed);
  if (n < MOST_NAMES && native_name_of(f) == NULL) {
    names[n].f = f;
    names[n].name = name;
    atomic_store_explicit(&count, n + 1, memory_order_release);
  }
  pthread_mutex_unlock(&mutex);
}
