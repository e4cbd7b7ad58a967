/* SPDX-License-Identifier: MIT */
/* eventring_fuzzer.c: the entry of libFuzzer to everything that opens a recording. `make
 * fuzz-recordings FUZZ_SECONDS=n`; the input is a packed file (recording_input.h). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "eventring/read.h"
#include "recording_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[64], copy[64];
  const char *directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, sizeof path, "%s/fuzz-%d.eventring", directory, (int)getpid());
  snprintf(copy, sizeof copy, "%s/fuzz-%d.copy", directory, (int)getpid());
  if (!input_unpack(path, data, size)) abort();
  unsigned flags = (size % 2 ? EVENTRING_OPEN_MERGED : 0) |
                   (size % 5 ? 0 : EVENTRING_OPEN_UNMAPPED);
  input_read_everything(path, flags, size % 3 ? NULL : copy);
  unlink(path);
  return 0;
}
