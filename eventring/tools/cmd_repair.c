/* SPDX-License-Identifier: MIT */
/* cmd_repair.c: `eventring repair`: what is sound of a damaged file, in a sound one. */
#include <inttypes.h>

#include "analysis/units.h"
#include "copy.h"
#include "options.h"

struct repair_options {
  struct copy_options copy;
  bool quiet;
};

/* Is something of the recording not in the result, or doubtful? */
static bool is_lost(const struct eventring_repair *r) {
  return r->damaged_events || r->missing_blocks || r->damaged_records || r->short_rings ||
         r->missing_bytes || r->header_doubtful || r->front_doubtful || r->clock_made ||
         r->packed_damaged;
}

static void print_count(const char *path, uint64_t count, const char *what) {
  char figure[EVA_FIGURE];
  if (count) complain("%s: %s %s", path, eva_count_text(figure, count), what);
}

static void print_report(const char *path, const struct eventring_repair *r) {
  if (r->header_doubtful)
    complain("%s: the header is damaged: names and times in it may be wrong", path);
  else if (r->header_mended)
    complain("%s: the header was put right", path);
  if (r->front_doubtful)
    complain("%s: the front is damaged: how the recording ended, and names of domains, may be "
             "wrong", path);
  else if (r->status_mended)
    complain("%s: the status page was put right", path);
  if (r->control_mended) complain("%s: the control page was put right", path);
  if (r->clock_made)
    complain("%s: the clock is lost: times are ticks since the start", path);
  if (r->packed_damaged)
    complain("%s: parts of the compressed file are damaged: what they had is not there", path);
  print_count(path, r->missing_bytes, "bytes are missing at the end");
  print_count(path, r->damaged_events, "damaged blocks of events were left out");
  print_count(path, r->missing_blocks, "blocks of events are not there");
  print_count(path, r->damaged_records, "damaged blocks of records were left out, or parts of "
                                        "them");
  print_count(path, r->mended_records, "blocks of records were put right");
  print_count(path, r->short_rings, "rings lack their newest blocks");
  print_count(path, r->stale_rings, "rings go further than the file says");
  print_count(path, r->domains, "entries of domains were put right");
}

static int repair(const char *path, const struct repair_options *options) {
  struct eventring_repair report;
  struct eventring_saver_info info;
  struct eventring_error error;
  eventring_cursor *cursor;
  uint64_t bytes;
  if (eventring_open_damaged(&cursor, path, &report, &error) < 0) {
    complain("%s", error.text);
    return STATUS_WRONG;
  }
  enum copy_status status = copy_recording(cursor, &options->copy, &info, &bytes);
  eventring_close(cursor);
  if (status == COPY_FAILED) return STATUS_WRONG;
  if (!options->quiet) {
    print_report(path, &report);
    print_copy(options->copy.path, &info, bytes);
  }
  return is_lost(&report) || status == COPY_DAMAGED ? STATUS_WRONG : STATUS_OK;
}

int command_repair(const struct command *self, int count, char **words) {
  struct repair_options options = {.copy.saver.checked = true};
  struct operands operands;
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &options.copy.path, "FILE",
       "the repaired file, which must not exist yet"},
      {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "no summary"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status < 0) status = require_target(self, &operands, false);
  if (status >= 0) return status;
  if (!options.copy.path) return usage_error(self, "no -o FILE given");
  return repair(operands.words[0], &options);
}
