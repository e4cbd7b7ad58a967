/* SPDX-License-Identifier: MIT */
/* config.h: the settings of a recording, inside the library. */
#ifndef EVENTRING_CONFIG_H
#define EVENTRING_CONFIG_H

#include "eventring.h"

#pragma GCC visibility push(hidden)

/* Copies the settings of a program, which may be older than the library: members beyond
   the end of its structure get the default. Returns E_ARGUMENT when *config was not made
   by eventring_config_init. */
int evr_config_take(struct eventring_config *full, const struct eventring_config *config,
                    struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_CONFIG_H */
