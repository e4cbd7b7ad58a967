/* SPDX-License-Identifier: MIT */
/* _states.c: makes many idle states at once, prints how many kilobytes of memory and of
   addresses each takes, then uses and closes them. */
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

int main(void) {
  static lua_State *states[STATES];
  long addresses, resident, addresses_before, resident_before;
  measure(&addresses_before, &resident_before);
  for (int i = 0; i < STATES; i++) {
    if ((states[i] = luaL_newstate()) == NULL) return 1;
    luaL_openlibs(states[i]);
  }
  measure(&addresses, &resident);
  for (int i = 0; i < STATES; i++) {
    if (luaL_dostring(states[i], "return ('x1'):match '(%a)(%d)'") || lua_gettop(states[i]) != 2)
      return 1;
    lua_close(states[i]);
  }
  printf("%ld %ld\n", (resident - resident_before) * 4 / STATES,
         (addresses - addresses_before) * 4 / STATES);
  return 0;
}
