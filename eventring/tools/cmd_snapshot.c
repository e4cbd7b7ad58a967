/* SPDX-License-Identifier: MIT */
/* cmd_snapshot.c: `eventring snapshot`: a consistent copy of a recording. */
#include <stdio.h>

#include "copy.h"
#include "eventring/tools.h"
#include "follow.h"
#include "new_file.h"
#include "options.h"
#include "signals.h"

int command_snapshot(const struct command *self, int count, char **words) {
  const char *output = NULL;
  struct operands operands;
  struct reader reader;
  struct eventring_error error;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &output, "FILE",
       "the copy, which must not exist yet"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status >= 0) return status;
  if (!output) return usage_error(self, "no -o FILE given");
  status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  if (status >= 0) return status;
  struct new_file file;
  if (!new_file_begin(&file, output)) return reader_close(&reader, STATUS_WRONG);
  status = STATUS_OK;
  sigset_t before = signals_hold(); /* until the copy is complete */
  int result = eventring_snapshot(reader.cursor, file.partial, &error);
  bool kept = result < 0 ? (new_file_forget(&file), false) : new_file_keep(&file);
  signals_release(&before);
  if (result < 0) status = wrong("%s", error.text);
  else if (report_damage(reader.cursor) || !kept) {
    status = STATUS_WRONG;
  }
  return reader_close(&reader, status);
}
