/* SPDX-License-Identifier: MIT */
/* self.c: a cursor on the recording of this process. The one place that knows the
 * producer and the reader. */
#include "producer/producer.h"
#include "reader/cursor.h"

int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error) {
  char path[PATH_MAX];
  struct evr_source source = {.fd = -1};
  if (!cursor) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor");
  if (!evr_producer_lend(&source.memory, path))
    return evr_fail(error, EVENTRING_E_STATE, 0, "this process does not record");
  return evr_cursor_open(cursor, source, path, flags, error);
}
