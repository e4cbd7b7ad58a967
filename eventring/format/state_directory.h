/* SPDX-License-Identifier: MIT */
/* state_directory.h: where recordings of services are, for producers and for tools that
   search them. */
#ifndef EVENTRING_STATE_DIRECTORY_H
#define EVENTRING_STATE_DIRECTORY_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* directory for the whole machine; its folders belong to services (systemd:
   StateDirectory=saros/NAME) */
#define EVR_SYSTEM_DIRECTORY "/var/lib/saros"

/* Returns the directory for this user, $XDG_STATE_HOME/saros, or else
   ~/.local/state/saros; NULL if there is none. */
static inline const char *evr_state_directory(char path[PATH_MAX]) {
  const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
  int size = -1;
  if (state && state[0] == '/') size = snprintf(path, PATH_MAX, "%s/saros", state);
  else if (home && home[0] == '/') size = snprintf(path, PATH_MAX, "%s/.local/state/saros", home);
  return size > 0 && size < PATH_MAX ? path : NULL;
}

/* Returns the first directory of $STATE_DIRECTORY, which systemd sets for a service; NULL
   if there is none. */
static inline const char *evr_service_directory(char path[PATH_MAX]) {
  const char *list = secure_getenv("STATE_DIRECTORY");
  if (!list || list[0] != '/') return NULL;
  const char *end = list;
  while (*end && *end != ':') end++;
  int size = snprintf(path, PATH_MAX, "%.*s", (int)(end - list), list);
  return size > 0 && size < PATH_MAX ? path : NULL;
}

#endif /* EVENTRING_STATE_DIRECTORY_H */
