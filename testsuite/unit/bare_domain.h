/* SPDX-License-Identifier: MIT */
/* testsuite/unit/bare_domain.h: a domain without libraries, for tests of the runtime
 * alone. The domain's collector is stopped; its heap is verified at the end. Include
 * after cmocka.h. */
#ifndef SAROS_TESTSUITE_BARE_DOMAIN_H
#define SAROS_TESTSUITE_BARE_DOMAIN_H
#include "func.h"
#include "domain.h"
#include "gc_inline.h"
#include "gc_internal.h"
#include "table.h"

/* Makes a domain and stores its lua_State in *state. Returns 0, or -1 when out of
   memory. */
static inline int bare_domain_set_up(void **state) {
  lua_State *L = domain_new(NULL, NULL);
  if (L == NULL) return -1;
  set_table(&L->domain->registry, table_new(L, 0, 0));
  gc_stop(L->domain);
  *state = L;
  return 0;
}

static inline int bare_domain_tear_down(void **state) {
  lua_State *L = *state;
  gc_verify(L->domain, "test");
  domain_close(L);
  return 0;
}
#endif
