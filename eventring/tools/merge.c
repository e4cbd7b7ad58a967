/* SPDX-License-Identifier: MIT */
/* merge.c: orders recordings and adjusts their times (merge.h has the design). */
#include "merge.h"
#include "eventring/tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy.h"
#include "reader.h"

static const int64_t same_boot_ns = 50 * 1000 * 1000;
#define LAST_TIME ((uint64_t)1 << 62) /* 146 years */

struct merge_source { /* one of the recordings */
  const char *name; /* as given */
  struct eventring_info info;
  dev_t device;
  ino_t inode;
  unsigned processes; /* number of processes of which it has records; 0 if there is one,
                         which `info` describes */
  unsigned twin;      /* 1, 2, ... among equal programs and pids; 0 if there is only
                         one */
  int64_t shift_ns;   /* ns added to the times of the recording */
};

struct merge {
  struct merge_source **sources; /* in the order of their starts, once times are set */
  size_t count;
  char program[EVENTRING_MAX_PROGRAM + 1];
  struct eventring_saver_part part; /* settings that all parts share */
  struct reader reader;             /* reader of the part that is being written */
  eventring_saver *saver;           /* saver of the part before; NULL if none was written
                                       yet */
  const struct merge_options *options;
  struct merge_result *result;
};

/* ---- What the recordings are -------------------------------------------------- */

static unsigned count_processes(eventring_cursor *cursor) {
  struct eventring_process process;
  unsigned count = 0;
  while (eventring_cursor_process(cursor, count + 1, &process) == 0) count++;
  return count;
}

static int survey(struct merge_source *source) {
  struct reader reader;
  struct stat st;
  int status = reader_open_target(&reader, source->name, EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  struct eventring_info *info = &source->info;
  info->size = sizeof *info;
  if (eventring_cursor_info(reader.cursor, info) < 0) {
    complain("%s: %s", source->name, eventring_cursor_error(reader.cursor)->text);
    return reader_close(&reader, STATUS_WRONG);
  }
  if (stat(info->path, &st) != 0) {
    complain("%s: %s", info->path, strerror(errno));
    return reader_close(&reader, STATUS_WRONG);
  }
  source->device = st.st_dev;
  source->inode = st.st_ino;
  source->processes = count_processes(reader.cursor);
  return reader_close(&reader, STATUS_GO_ON);
}

static int survey_all(struct merge *merge, char *const *inputs) {
  int status = STATUS_GO_ON;
  for (size_t i = 0; goes_on(status) && i < merge->count; i++) {
    merge->sources[i]->name = inputs[i];
    status = survey(merge->sources[i]);
    for (size_t other = 0; goes_on(status) && other < i; other++)
      if (merge->sources[other]->inode == merge->sources[i]->inode &&
          merge->sources[other]->device == merge->sources[i]->device) {
        complain("%s and %s are the same recording", inputs[other], inputs[i]);
        status = STATUS_USAGE;
      }
  }
  return status;
}

static bool are_twins(const struct merge_source *a, const struct merge_source *b) {
  return a->processes <= 1 && b->processes <= 1 && a->info.pid == b->info.pid &&
         strcmp(a->info.program, b->info.program) == 0;
}

/* Finds the processes that have the same program and pid as others. */
static void find_twins(struct merge *merge) {
  for (size_t i = 0; i < merge->count; i++) {
    struct merge_source *s = merge->sources[i];
    unsigned before = 0, others = 0;
    for (size_t other = 0; other < merge->count; other++) {
      bool is_twin = other != i && are_twins(s, merge->sources[other]);
      others += is_twin;
      before += is_twin && other < i;
    }
    s->twin = others ? before + 1 : 0;
  }
}

/* ---- Times -------------------------------------------------------------------- */

/* Returns what the wall clock showed when the monotonic clock was 0. */
static int64_t boot_of(const struct merge_source *source) {
  return source->info.start_wall_ns - (int64_t)source->info.start_ns;
}

static bool times_are_possible(const struct merge_source *source) {
  int64_t wall = source->info.start_wall_ns;
  if (source->info.start_ns > 0 && source->info.start_ns < LAST_TIME &&
      wall > -(int64_t)LAST_TIME && wall < (int64_t)LAST_TIME)
    return true;
  return complain("%s: it says that it began at a time that is not possible", source->name);
}

static uint64_t boots_apart(const struct merge *merge) {
  int64_t least = boot_of(merge->sources[0]), most = least;
  for (size_t i = 1; i < merge->count; i++) {
    int64_t boot = boot_of(merge->sources[i]);
    if (boot < least) least = boot;
    if (boot > most) most = boot;
  }
  return (uint64_t)most - (uint64_t)least;
}

static int by_start(const void *left, const void *right) {
  const struct merge_source *a = *(struct merge_source *const *)left;
  const struct merge_source *b = *(struct merge_source *const *)right;
  int64_t x = (int64_t)a->info.start_ns + a->shift_ns, y = (int64_t)b->info.start_ns + b->shift_ns;
  if (x != y) return x < y ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Sets the times of the recordings. If the wall clock orders them, the merged recording
   has the monotonic clock of the recording that began first. Returns false if some times
   are impossible. */
static bool set_times(struct merge *merge, enum merge_clock clock) {
  const struct merge_source *first = merge->sources[0];
  for (size_t i = 0; i < merge->count; i++) {
    const struct merge_source *s = merge->sources[i];
    if (!times_are_possible(s)) return false;
    if (s->info.start_wall_ns < first->info.start_wall_ns) first = s;
  }
  merge->result->apart_ns = boots_apart(merge);
  bool by_wall = clock == MERGE_WALL ||
                 (clock == MERGE_AUTO && merge->result->apart_ns > (uint64_t)same_boot_ns);
  merge->result->by_wall_clock = by_wall;
  for (size_t i = 0; i < merge->count; i++) {
    struct merge_source *s = merge->sources[i];
    s->shift_ns = by_wall ? boot_of(s) - boot_of(first) : 0;
  }
  qsort(merge->sources, merge->count, sizeof *merge->sources, by_start);
  const struct merge_source *s = merge->sources[0];
  merge->part.start_ns = (uint64_t)((int64_t)s->info.start_ns + s->shift_ns);
  merge->part.start_wall_ns = s->info.start_wall_ns;
  return true;
}

/* Returns how coarse times must be for the ticks of the slowest clock to be at most one
   unit apart. */
static unsigned coarseness(const struct merge *merge) {
  unsigned coarse = 0;
  for (size_t i = 0; i < merge->count; i++)
    while (coarse < 15 && merge->sources[i]->info.clock_hz * (double)(1u << coarse) < 1e9) coarse++;
  return coarse;
}

/* ---- Parts -------------------------------------------------------------------- */

/* Sets the contents of the header: for a single recording the contents of its own header,
   else the program that all recordings share. */
static void describe(struct merge *merge) {
  const struct eventring_info *first = &merge->sources[0]->info;
  unsigned processes = 0;
  for (size_t i = 0; i < merge->count; i++)
    processes += merge->sources[i]->processes ? merge->sources[i]->processes : 1;
  merge->result->processes = processes;
  snprintf(merge->program, sizeof merge->program, "%s", first->program);
  for (size_t i = 1; i < merge->count; i++)
    if (strcmp(merge->sources[i]->info.program, first->program) != 0)
      snprintf(merge->program, sizeof merge->program, "%u processes", processes);
  merge->part.program = merge->program;
  merge->part.alone = merge->count == 1;
  merge->part.pid = merge->part.alone ? first->pid : 0;
  merge->part.shared_links = merge->options->shared_links;
  merge->part.coarse = coarseness(merge);
}

static void close_part(struct merge *merge) {
  if (!merge->saver) return;
  eventring_saver_close(merge->saver);
  reader_close(&merge->reader, -1);
  merge->saver = NULL;
}

/* Opens the part of a recording, and then closes the part before it, all of which is in
   the file. Returns STATUS_GO_ON, or the exit status after a message. */
static int open_part(struct merge *merge, const struct merge_source *source) {
  struct reader reader;
  struct eventring_error error;
  eventring_saver *saver;
  merge->part.source = source->name;
  merge->part.shift_ns = source->shift_ns;
  merge->part.twin = source->twin;
  const struct eventring_saver_options options = {.part = &merge->part, .behind = merge->saver};
  int status = reader_open_target(&reader, source->name, EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  if (eventring_saver_open(&saver, reader.cursor, &options, &error) < 0) {
    complain("%s: %s", source->name, error.text);
    return reader_close(&reader, STATUS_WRONG);
  }
  close_part(merge);
  merge->reader = reader;
  merge->saver = saver;
  return STATUS_GO_ON;
}

static void add_up(struct merge *merge) {
  struct merge_result *result = merge->result;
  struct eventring_saver_info info;
  eventring_saver_info(merge->saver, &info);
  result->events += info.saved;
  result->missed += info.missed;
  result->lost += info.lost;
  result->domains += info.domains;
  result->damaged |= report_damage(merge->reader.cursor);
  if (info.classes_lost)
    complain("%s: there is no number left for %" PRIu32 " classes; their events are in class user",
             merge->part.source, info.classes_lost);
  if (!info.damaged) return;
  result->damaged = true;
  complain("%s: %" PRIu64 " damaged blocks of events were left out", merge->part.source,
           info.damaged);
}

static int write_part(struct merge *merge, struct copy *copy, size_t n) {
  int status = open_part(merge, merge->sources[n]);
  if (!goes_on(status)) return status;
  if (!copy_write(copy, merge->saver, n + 1 == merge->count)) return STATUS_WRONG;
  add_up(merge);
  return STATUS_GO_ON;
}

/* ---- All of it ---------------------------------------------------------------- */

static int write_parts(struct merge *merge, const char *output) {
  struct copy *copy = copy_begin(output);
  int status = copy ? STATUS_GO_ON : STATUS_WRONG;
  for (size_t i = 0; goes_on(status) && i < merge->count; i++)
    status = write_part(merge, copy, i);
  if (copy && !copy_end(copy, goes_on(status)) && goes_on(status)) status = STATUS_WRONG;
  return goes_on(status) ? STATUS_OK : status;
}

static int merge_all(struct merge *merge, const char *output, char *const *inputs) {
  int status = survey_all(merge, inputs);
  if (goes_on(status) && !set_times(merge, merge->options->clock)) status = STATUS_WRONG;
  if (!goes_on(status)) return status;
  find_twins(merge);
  describe(merge);
  return write_parts(merge, output);
}

int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result) {
  struct merge merge = {.count = count, .options = options, .result = result};
  *result = (struct merge_result){.recordings = count};
  merge.sources = need_zeroed(count, sizeof(struct merge_source *));
  for (size_t i = 0; i < count; i++)
    merge.sources[i] = need_zeroed(1, sizeof *merge.sources[i]);
  int status = merge_all(&merge, output, inputs);
  close_part(&merge);
  for (size_t i = 0; i < count; i++) free(merge.sources[i]);
  free(merge.sources);
  return status;
}
