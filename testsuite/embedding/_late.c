/* SPDX-License-Identifier: MIT */
/* _late.c: loads libraries with dlopen after static TLS was used up, and runs Lua in one
 * of them.
 *
 *   late LIBRARY FILLER...
 *
 * A filler needs static TLS. All fillers are loaded, one after the other, until the last
 * one is refused. Then it must still be possible to load LIBRARY, which must run a
 * program twice, and survive dlclose. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lua_State lua_State;

static void *must(void *found, const char *what) {
  if (found == NULL) {
    fprintf(stderr, "%s: %s\n", what, dlerror());
    exit(1);
  }
  return found;
}

static int run(const char *path) {
  void *library = must(dlopen(path, RTLD_NOW | RTLD_LOCAL), path);
  lua_State *(*new_state)(void), *L;
  void (*open_libs)(lua_State *), (*close_state)(lua_State *);
  int (*load)(lua_State *, const char *), (*call)(lua_State *, int, int, int, long, void *);
  *(void **)&new_state = must(dlsym(library, "luaL_newstate"), "luaL_newstate");
  *(void **)&open_libs = must(dlsym(library, "luaL_openlibs"), "luaL_openlibs");
  *(void **)&load = must(dlsym(library, "luaL_loadstring"), "luaL_loadstring");
  *(void **)&call = must(dlsym(library, "lua_pcallk"), "lua_pcallk");
  *(void **)&close_state = must(dlsym(library, "lua_close"), "lua_close");
  L = new_state();
  open_libs(L);
  int status = load(L, "collectgarbage() print(require('saros.eventring').path() ~= nil)");
  if (status == 0) status = call(L, 0, 0, 0, 0, NULL);
  close_state(L);
  dlclose(library);
  return status;
}

int main(int argc, char **argv) {
  int refused = 0;
  for (int i = 2; i < argc; i++)
    if (dlopen(argv[i], RTLD_NOW) == NULL) {
      const char *why = dlerror();
      refused = strstr(why, "static TLS") != NULL;
      if (!refused) fprintf(stderr, "%s\n", why);
    }
  /* the libc has more static TLS than the fillers take */
  if (argc > 2 && !refused) return 77;
  return run(argv[1]) != 0 || run(argv[1]) != 0;
}
