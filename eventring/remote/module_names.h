/* SPDX-License-Identifier: MIT */
/* module_names.h: finds the names that the modules of a process give its C functions. */
#ifndef EVENTRING_REMOTE_MODULE_NAMES_H
#define EVENTRING_REMOTE_MODULE_NAMES_H

#include "remote/functions.h"

struct remote_names;

/* Reads the names, up to a limit. Returns NULL if there are none, or when out of
   memory. */
struct remote_names *remote_names_read(struct remote_host *host, uint64_t domain);
void remote_names_free(struct remote_names *names);

/* Gives a function its name, if it has none and the modules have one. */
void remote_name_function(struct remote_functions *functions, struct remote_function *function);

#endif
