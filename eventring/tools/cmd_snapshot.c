/* SPDX-License-Identifier: MIT */
/* cmd_snapshot.c: `eventring snapshot`: makes a consistent copy of a recording. */
#include "copy.h"
#include "eventring/tools.h"
#include "options.h"

int command_snapshot(const struct command *self, int count, char **words) {
  struct copy_options options = {.quiet = true};
  struct operands operands;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.path, "FILE",
       "the copy, which must not exist yet"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  return goes_on(status) ? copy_target(self, &operands, &options) : status;
}
