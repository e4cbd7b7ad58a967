/* SPDX-License-Identifier: MIT */
/* builtins.c: the definitions that every catalogue has. */
#include "format/builtins.h"

const struct eventring_def evr_builtins[EVR_BUILTINS] = {
#define BUILTIN(n, u, d) \
  {.name = n, .unit = u, .doc = d, .kind = EVENTRING_DEF_LIFECYCLE, \
   .event_class = EVENTRING_CLASS_LIFECYCLE, .ring = EVENTRING_RUNTIME, \
   .payload = EVENTRING_INT}
    [EVENTRING_ID_RECORDER_START] =
        BUILTIN("recorder_start", "pid", "the recording begins"),
    [EVENTRING_ID_RECORDER_STOP] =
        BUILTIN("recorder_stop", "pid", "the recording comes to its orderly end"),
    [EVENTRING_ID_PAUSE] =
        BUILTIN("pause", "classes", "the host pauses the recording"),
    [EVENTRING_ID_RESUME] =
        BUILTIN("resume", "classes", "the host lets the recording go on"),
    [EVENTRING_ID_DOMAIN_START] =
        BUILTIN("domain_start", "incarnation", "a domain is recorded from here on"),
    [EVENTRING_ID_DOMAIN_STOP] =
        BUILTIN("domain_stop", "incarnation", "a domain ends"),
    [EVENTRING_ID_OTHER] =
        {.name = "(other)", .doc = "an event whose name found no room or was not registered",
         .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_USER,
         .ring = EVENTRING_USER},
#undef BUILTIN
};
