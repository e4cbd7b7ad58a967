/* SPDX-License-Identifier: MIT */
/* cmd_strip.c: `eventring strip`: makes a copy without the texts of the program, for
   sharing. */
#include "copy.h"
#include "options.h"

int command_strip(const struct command *self, int count, char **words) {
  struct copy_options options = {.saver_options.stripped = true};
  struct operands operands;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.path, "FILE", "the copy, which must not exist yet"},
      {"keep-names", 'k', OPTION_FLAG, &options.saver_options.keeps_names, NULL,
       "names of events, domains, classes and rings stay"},
      {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "no summary"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  return goes_on(status) ? copy_target(self, &operands, &options) : status;
}
