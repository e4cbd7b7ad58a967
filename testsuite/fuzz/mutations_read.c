/* SPDX-License-Identifier: MIT */
/* mutations_read.c: reads each file of mutations_test with everything that the library
   has. */
#include "eventring/read.h"
#include "recording_input.h"

extern const unsigned mutations_by_default;
const unsigned mutations_by_default = 1500;

int read_mutation(const char *path, unsigned number) {
  return input_read_everything(path, number % 4 ? EVENTRING_OPEN_MERGED : 0,
                               number % 8 ? NULL : "copy.eventring");
}
