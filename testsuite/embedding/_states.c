/* SPDX-License-Identifier: MIT */
/* _states.c: many idle states at once: prints how many kilobytes of memory, and of
 * addresses, each takes; then uses and closes them. With an argument the states have no
 * libraries. */
#include <stdio.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

enum { STATES = 1000 };

static void measure(long *addresses, long *resident) {
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", addresses, resident) != 2) exit(1);
  fclose(f);
}

int main(int argc, char **argv) {
  static lua_State *states[STATES];
  (void)argv;
  long addresses, resident, addresses_before, resident_before;
  measure(&addresses_before, &resident_before);
  for (int i = 0; i < STATES; i++) {
    if ((states[i] = luaL_newstate()) == NULL) return 1;
    if (argc < 2) luaL_openlibs(states[i]);
  }
  measure(&addresses, &resident);
  for (int i = 0; i < STATES; i++) {
    if (argc < 2 && (luaL_dostring(states[i], "return ('x1'):match '(%a)(%d)'") ||
                     lua_gettop(states[i]) != 2))
      return 1;
    lua_close(states[i]);
  }
  printf("%ld %ld\n", (resident - resident_before) * 4 / STATES,
         (addresses - addresses_before) * 4 / STATES);
  return 0;
}
