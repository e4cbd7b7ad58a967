/* SPDX-License-Identifier: MIT */
/* _one_recording.c: a program that records with libeventring and embeds Lua: frames in
 * the domain of the state, a span in a domain of the program's own, and a note of the
 * error with which the program ends. With the argument "first" it starts the recording
 * itself, before Lua does. */
#include <eventring.h>
#include <eventring/probe.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <saros.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES = 3 };

static int start_itself(void) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  if (eventring_config_from_env(&config, "SAROS_EVENTRING", &error) != EVENTRING_OK) return 1;
  config.start = EVENTRING_START_ON;
  return eventring_start(&config, &error) != EVENTRING_OK;
}

static void run_frame(lua_State *L, unsigned frame) {
  eventring_domain *domain = saros_domain(L);
  eventring_user_begin(domain, frame);
  if (luaL_dostring(L, "local t = {} for i = 1, 1000 do t[i] = {} end collectgarbage()") != LUA_OK)
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  eventring_user_end(domain, frame);
}

int main(int argc, char **argv) {
  static const struct eventring_def defs[] = {
      {.name = "frame", .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER},
      {.name = "setup", .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER}};
  struct eventring_error error;
  unsigned first;
  if (eventring_register_table(defs, 2, &first, &error) != EVENTRING_OK) return 2;
  if (argc > 1 && strcmp(argv[1], "first") == 0 && start_itself() != 0) return 3;
  eventring_domain *own = eventring_domain_start("host", &error);
  lua_State *L = luaL_newstate();
  if (L == NULL) return 4;
  eventring_user_begin(own, first + 1);
  luaL_openlibs(L);
  eventring_user_end(own, first + 1);
  lua_State *coroutine = lua_newthread(L);
  if (saros_domain(coroutine) != saros_domain(L) || saros_domain(L) == own) return 5;
  for (int i = 0; i < FRAMES; i++) run_frame(L, first);
  lua_close(L);
  eventring_domain_stop(own);
  eventring_note_error("the host is done", strlen("the host is done"));
  return 0;
}
