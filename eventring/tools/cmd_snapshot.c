/* SPDX-License-Identifier: MIT */
/* cmd_snapshot.c: `eventring snapshot`: makes a consistent copy of a recording. */
#include "copy.h"
#include "eventring/tools.h"
#include "follow.h"
#include "options.h"

int command_snapshot(const struct command *self, int count, char **words) {
  struct copy_options options = {.quiet = true};
  struct operands operands;
  struct reader reader;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.path, "FILE",
       "the copy, which must not exist yet"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0 && !options.path) return usage_error(self, "no -o FILE given");
  if (status < 0) status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  return status >= 0 ? status : reader_close(&reader, copy_recording(reader.cursor, &options));
}
