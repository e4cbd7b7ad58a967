/* SPDX-License-Identifier: MIT */
/* cmd_strip.c: `eventring strip`: makes a copy without the texts of the program, for
   sharing. */
#include "copy.h"
#include "follow.h"
#include "options.h"

int command_strip(const struct command *self, int count, char **words) {
  struct copy_options options = {.saver.stripped = true};
  struct operands operands;
  struct reader reader;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.path, "FILE", "the copy, which must not exist yet"},
      {"keep-names", 'k', OPTION_FLAG, &options.saver.keeps_names, NULL,
       "names of events, domains, classes and rings stay"},
      {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "no summary"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0 && !options.path) return usage_error(self, "no -o FILE given");
  if (status < 0) status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  return status >= 0 ? status : reader_close(&reader, copy_recording(reader.cursor, &options));
}
