/* SPDX-License-Identifier: MIT */
/* cmd_strip.c: `eventring strip`: a copy without the texts of the program, for sharing. */
#include "copy.h"
#include "follow.h"
#include "options.h"

static int strip(struct reader *reader, const struct copy_options *options, bool quiet) {
  struct eventring_saver_info info;
  uint64_t bytes;
  enum copy_status status = copy_recording(reader->cursor, options, &info, &bytes);
  if (status != COPY_FAILED && !quiet) print_copy(options->path, &info, bytes);
  return status == COPY_DONE ? STATUS_OK : STATUS_WRONG;
}

int command_strip(const struct command *self, int count, char **words) {
  struct copy_options options = {.saver.stripped = true};
  bool quiet = false;
  struct operands operands;
  struct reader reader;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.path, "FILE", "the copy, which must not exist yet"},
      {"keep-names", 'k', OPTION_FLAG, &options.saver.keeps_names, NULL,
       "names of events, domains, classes and rings stay"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "no summary"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status < 0 && !options.path) return usage_error(self, "no -o FILE given");
  if (status < 0) status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  return status >= 0 ? status : reader_close(&reader, strip(&reader, &options, quiet));
}
