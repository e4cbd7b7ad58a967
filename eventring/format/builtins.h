/* SPDX-License-Identifier: MIT */
/* builtins.h: the definitions that every catalogue has (enum eventring_builtin_id). */
#ifndef EVENTRING_BUILTINS_H
#define EVENTRING_BUILTINS_H

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

enum { EVR_BUILTINS = EVENTRING_ID_OTHER + 1 };
extern const struct eventring_def evr_builtins[EVR_BUILTINS]; /* by id */

#pragma GCC visibility pop

#endif /* EVENTRING_BUILTINS_H */
