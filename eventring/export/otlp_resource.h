/* SPDX-License-Identifier: MIT */
/* otlp_resource.h: describes who has recorded, as a Resource of OTLP by the semantic
 * conventions of OpenTelemetry, and which library wrote this (InstrumentationScope).
 *
 * Attributes come from these sources; for each key, the first source that has it counts:
 *
 *   1. the list that the user gives (`--resource`)
 *   2. OTEL_SERVICE_NAME, as service.name
 *   3. OTEL_RESOURCE_ATTRIBUTES, a list, too
 *   4. the recording: process.pid, process.executable.name, service.name,
 *      telemetry.sdk.*
 *
 * A list is `key=value,key=value`, where a value may contain %NN. Of two values of a key
 * in one list the last one counts. An empty service.name counts as none. A list with an
 * error is not used at all; this is an error in the first source, a note in the third.
 */
#ifndef EVENTRING_EXPORT_OTLP_RESOURCE_H
#define EVENTRING_EXPORT_OTLP_RESOURCE_H

#include "export/otlp_write.h"

/* The form of a list, for messages. */
#define OTLP_RESOURCE_FORM "KEY=VALUE,..., with %NN in a VALUE for `,' and `%', and not %00"

/* Tells whether a text is a list. (Returns true, too, when out of memory.) */
bool otlp_resource_is_valid(const char *given);

/* The attributes of the user's and the environment's lists. A zeroed struct is empty. */
struct otlp_said {
  struct otlp_pair { char *key, *value; } *pair; /* no key occurs twice */
  size_t count, room;
};

/* Reads the lists. `given` is the user's list, or NULL. Returns 0, or -1 when out of
   memory or with a text in `error`, or 1 if the list of the environment was ignored, as
   `error` says. */
int otlp_said_read(struct otlp_said *said, const char *given, char *error, size_t size);
void otlp_said_free(struct otlp_said *said);

/* Puts the attributes of a process. `program` is its name; `pid` is 0 if not known. */
void otlp_put_resource(struct otlp_text *t, const struct otlp_said *said, const char *program,
                       int64_t pid);
/* Puts the name and version of this library. */
void otlp_put_scope(struct otlp_text *t);

#endif
