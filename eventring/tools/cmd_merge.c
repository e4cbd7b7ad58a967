/* SPDX-License-Identifier: MIT */
/* cmd_merge.c: `eventring merge`: makes one recording of several. */
#include <stdio.h>
#include <string.h>

#include "analysis/figures.h"
#include "merge.h"
#include "new_file.h"
#include "options.h"
#include "reader.h"
#include "text_table.h"

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

static void print_result(const char *output, const struct merge_result *r) {
  FILE *out = is_standard_output(output) ? stderr : stdout;
  table_say(out, 0, 0,
            "%s: %zu recording%s, %zu process%s, %zu domain%s, %s events; %s missed, %s lost",
            shown_path(output), r->recordings, plural(r->recordings), r->processes,
            r->processes == 1 ? "" : "es", r->domains, plural(r->domains), eva_count(r->events),
            eva_count(r->missed), eva_count(r->lost));
  if (r->recordings == 1) return;
  table_say(out, 0, 0,
            "ordered by the %s clock; its offset to the %s clock differs by %s between the starts",
            r->by_wall_clock ? "wall" : "monotonic", r->by_wall_clock ? "monotonic" : "wall",
            eva_duration(r->apart_ns));
}

int command_merge(const struct command *self, int count, char **words) {
  static const char *const clocks[] = {[MERGE_AUTO] = "auto", [MERGE_WALL] = "wall",
                                       [MERGE_MONOTONIC] = "monotonic", NULL};
  const char *output = NULL;
  struct merge_options options = {0};
  struct operands operands;
  struct merge_result result;
  bool quiet = false;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &output, "FILE",
       "the merged recording, which must not exist yet"},
      {"clock", 0, OPTION_CHOICE, CHOICE(&options.clock, clocks), "CLOCK",
       "wall or monotonic: what orders the events; auto: monotonic, if the recordings\n"
       "are of one machine that was not restarted between them"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "no summary"},
      {"shared-links", 0, OPTION_FLAG, &options.shared_links, NULL,
       "an async span or a flow goes through several processes with one link"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (operands.command) return usage_error(self, "it does not start a PROGRAM");
  if (!operands.count) return usage_error(self, "no PID or FILE given");
  if (!output) return usage_error(self, "no -o FILE given");
  reader_catch_signals(true);
  status = merge_recordings(output, operands.words, operands.count, &options, &result);
  reader_catch_signals(false);
  if (status != STATUS_OK) return status;
  if (!quiet) print_result(output, &result);
  return result.damaged ? STATUS_WRONG : STATUS_OK;
}
