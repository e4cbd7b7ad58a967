/* SPDX-License-Identifier: MIT */
/* cmd_stats.c: `eventring stats`: figures over a recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "follow.h"
#include "tally_print.h"

struct stats_options {
  bool json, from_now;
  uint64_t limit_ns;
  const char *output; /* NULL: standard output */
  const char *prefix;
};

static int read_words(const struct command *self, int count, char **words,
                      struct stats_options *options,
                      struct operands *operands) {
  *options = (struct stats_options){.prefix = "SAROS_EVENTRING"};
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &options->json, NULL, "one JSON object"},
      {"seconds", 's', OPTION_SECONDS, &options->limit_ns, "N",
       "watch a live process for N seconds, not until it ends"},
      {"from-now", 'n', OPTION_FLAG, &options->from_now, NULL,
       "leave out what is in the rings already"},
      {"output", 'o', OPTION_TEXT, &options->output, "FILE",
       "write to FILE, not to standard output"},
      {"env-prefix", 0, OPTION_TEXT, &options->prefix, "NAME",
       "of the variables that make COMMAND record (SAROS_EVENTRING)"}};
  int status =
      options_parse(self, OPTION_SPECS(specs), count, words, operands);
  return status >= 0 ? status : require_target(self, operands, true);
}

/* The file is made before reading begins: an hour of watching is not to end in
   "permission denied". */
static FILE *open_output(const char *path) {
  FILE *out = path ? fopen(path, "we") : stdout;
  if (!out) complain("cannot write %s: %s", path, strerror(errno));
  return out;
}

static int close_output(FILE *out, const char *path) {
  if (out == stdout) return STATUS_OK;
  bool failed = ferror(out) != 0;
  if (fclose(out) != 0) failed = true;
  if (failed) complain("cannot write %s: %s", path, strerror(errno));
  return failed ? STATUS_WRONG : STATUS_OK;
}

/* Out of memory: the figures would be wrong. */
static void check_tally(void *context) {
  const struct eva_tally *tally = context;
  if (tally->status != EVENTRING_OK) no_memory();
}

static void watch(struct reader *reader, const struct stats_options *options,
                  FILE *out) {
  struct eva_tally *tally = eva_tally_new();
  struct eventring_info info;
  if (!tally) no_memory();
  const struct reading reading = {.callbacks = &eva_tally_callbacks,
                                  .context = tally,
                                  .follow = true,
                                  .limit_ns = options->limit_ns,
                                  .after_poll = check_tally};
  reader_run(reader, &reading);
  eva_tally_finish(tally, reader->cursor);
  check_tally(tally);
  if (options->json)
    tally_print_json(tally, out);
  else
    tally_print_text(tally, out);
  eva_tally_free(tally);
  if (eventring_cursor_info(reader->cursor, &info) == 0) complain_of_control(&info);
}

int command_stats(const struct command *self, int count, char **words) {
  struct stats_options options;
  struct operands operands;
  struct reader reader;
  int status = read_words(self, count, words, &options, &operands);
  if (status >= 0) return status;
  FILE *out = open_output(options.output);
  if (!out) return STATUS_WRONG;
  status = reader_open(&reader, &operands, options.prefix,
                       EVENTRING_OPEN_MERGED | (options.from_now ? EVENTRING_OPEN_NOW : 0));
  if (status >= 0) {
    close_output(out, options.output);
    return status;
  }
  watch(&reader, &options, out);
  status = close_output(out, options.output);
  return reader_close(&reader, status);
}
