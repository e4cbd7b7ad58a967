/* SPDX-License-Identifier: MIT */
/* cmd_cut.c: `eventring cut`: copies a part of a recording, by time and domains, or all
   that is sound in it. */
#include "copy.h"
#include "options.h"
#include "reader.h"
#include "time_window.h"

struct cut_options {
  struct copy_options copy;
  struct time_window window;
  uint64_t domain;
};

static const uint64_t none = UINT64_MAX;

static int check_words(const struct command *self, const struct cut_options *options) {
  if (!options->copy.path) return usage_error(self, "no -o FILE given");
  return time_window_check(self, &options->window);
}

static int read_words(const struct command *self, int count, char **words,
                      struct cut_options *options, struct operands *operands) {
  *options = (struct cut_options){.window = TIME_WINDOW_ALL, .domain = none};
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options->copy.path, "FILE",
       "the part, which must not exist yet"},
      TIME_WINDOW_SPECS(&options->window),
      DOMAIN_SPEC(&options->domain),
      {"quiet", 'q', OPTION_FLAG, &options->copy.quiet, NULL, "no summary"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = require_target(self, operands, false);
  return goes_on(status) ? check_words(self, options) : status;
}

static int cut(struct reader *reader, struct cut_options *options) {
  struct eventring_saver_options *saver_options = &options->copy.saver_options;
  struct eventring_info recording = {.size = sizeof recording};
  if (eventring_cursor_info(reader->cursor, &recording) < 0)
    return wrong("%s", eventring_cursor_error(reader->cursor)->text);
  if (!time_window_apply(&options->window, reader->cursor)) return STATUS_WRONG;
  saver_options->since_ns = options->window.since;
  if (options->window.until != UINT64_MAX) saver_options->until_ns = options->window.until;
  if (options->domain != none)
    saver_options->domains[options->domain / 64] = (uint64_t)1 << options->domain % 64;
  return copy_recording(reader->cursor, &options->copy);
}

int command_cut(const struct command *self, int count, char **words) {
  struct cut_options options;
  struct operands operands;
  struct reader reader;
  int status = read_words(self, count, words, &options, &operands);
  if (goes_on(status))
    status = reader_open_target(&reader, operands.words[0], EVENTRING_OPEN_FOLLOW);
  return goes_on(status) ? reader_close(&reader, cut(&reader, &options)) : status;
}
