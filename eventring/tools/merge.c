/* SPDX-License-Identifier: MIT */
/* merge.c: the order of things, times, the output (merge.h has the design). */
#include "merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge_inside.h"

static const int64_t same_boot_ns = 50 * 1000 * 1000;
#define LAST_TIME ((uint64_t)1 << 62) /* 146 years */

/* ---- Times -------------------------------------------------------------------------- */

uint64_t merge_time(const struct merge *merge, const struct merge_source *source, uint64_t ns) {
  __int128 time = (__int128)ns + source->shift_ns;
  if (time < (__int128)merge->start_ns) return merge->start_ns;
  return time > INT64_MAX ? INT64_MAX : (uint64_t)time;
}

/* What the wall clock showed when the monotonic clock was 0. */
static int64_t boot_of(const struct merge_source *source) {
  return source->info.start_wall_ns - (int64_t)source->info.start_ns;
}

static bool times_are_possible(const struct merge_source *source) {
  int64_t wall = source->info.start_wall_ns;
  if (source->info.start_ns > 0 && source->info.start_ns < LAST_TIME &&
      wall > -(int64_t)LAST_TIME && wall < (int64_t)LAST_TIME)
    return true;
  complain("%s: it says that it began at a time that is not possible", source->name);
  return false;
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

/* By the wall clock the merged recording has the monotonic clock of the one that began
   first. */
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
  merge->start_ns = (uint64_t)((int64_t)s->info.start_ns + s->shift_ns);
  merge->start_wall_ns = s->info.start_wall_ns;
  return true;
}

/* ---- Output ------------------------------------------------------------------------- */

static int write_bytes(void *context, uint64_t offset, const void *bytes, size_t size,
                       struct eventring_error *error) {
  const struct merge *merge = context;
  const char *from = bytes;
  while (size > 0) {
    if (merge->options->interrupted && merge->options->interrupted()) {
      snprintf(error->text, sizeof error->text, "interrupted; %.200s is removed", merge->output);
      return EVENTRING_E_INTERRUPTED;
    }
    ssize_t written = pwrite(merge->fd, from, size, (off_t)offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error->sys_errno = written < 0 ? errno : EIO;
      snprintf(error->text, sizeof error->text, "cannot write %.200s: %s", merge->output,
               strerror(error->sys_errno));
      return EVENTRING_E_SYSTEM;
    }
    from += written, size -= (size_t)written, offset += (uint64_t)written;
  }
  return EVENTRING_OK;
}

static int create_output(struct merge *merge) {
  merge->fd = new_file_create(&merge->file, merge->output);
  return merge->fd >= 0 ? -1 : STATUS_WRONG;
}

/* What is not a recording does not stay. */
static int close_output(struct merge *merge, int status) {
  if (merge->fd < 0) return status;
  if (close(merge->fd) != 0 && status == STATUS_OK) {
    complain("cannot write %s: %s", merge->output, strerror(errno));
    status = STATUS_WRONG;
  }
  if (status == STATUS_OK) return new_file_keep(&merge->file) ? STATUS_OK : STATUS_WRONG;
  new_file_drop(&merge->file);
  return status;
}

/* ---- All of it ---------------------------------------------------------------------- */

static int survey_all(struct merge *merge, char *const *inputs) {
  int status = -1;
  for (size_t i = 0; status < 0 && i < merge->count; i++) {
    merge->sources[i]->name = inputs[i];
    status = merge_survey(merge, merge->sources[i]);
    for (size_t other = 0; status < 0 && other < i; other++)
      if (merge->sources[other]->inode == merge->sources[i]->inode &&
          merge->sources[other]->device == merge->sources[i]->device) {
        complain("%s and %s are the same recording", inputs[other], inputs[i]);
        status = STATUS_USAGE;
      }
  }
  return status;
}

static void number_processes(struct merge *merge) {
  unsigned count = 0;
  for (size_t i = 0; i < merge->count; i++) {
    struct merge_source *s = merge->sources[i];
    s->first_process = count;
    count += s->processes ? s->processes : 1;
  }
  merge->result->processes = count;
  merge->keeps_names = count == 1;
}

/* What the header says: of one recording what that says, else the program that all have. */
static void describe(const struct merge *merge, struct eventring_info *info) {
  const struct eventring_info *first = &merge->sources[0]->info;
  *info = (struct eventring_info){.start_ns = merge->start_ns,
                                  .start_wall_ns = merge->start_wall_ns,
                                  .pid = merge->count == 1 ? first->pid : 0};
  memcpy(info->program, first->program, sizeof info->program);
  for (size_t i = 1; i < merge->count; i++)
    if (strcmp(merge->sources[i]->info.program, first->program) != 0)
      snprintf(info->program, sizeof info->program, "%zu processes", merge->result->processes);
}

static int open_encoder(struct merge *merge) {
  struct eventring_info info;
  struct eventring_error error;
  describe(merge, &info);
  if (eventring_encoder_open(&merge->encoder, &info, write_bytes, merge, &error) == EVENTRING_OK)
    return -1;
  complain("%s", error.text);
  return STATUS_WRONG;
}

/* Of one recording, it has ended as that did. */
static int finish(struct merge *merge) {
  struct eventring_error error;
  const struct eventring_info *only = &merge->sources[0]->info;
  if (merge->count == 1) {
    const struct merge_source *s = merge->sources[0];
    merge->end.end_reason = only->end_reason;
    merge->end.end_detail = only->end_detail;
    merge->end.error_ns = only->error_ns ? merge_time(merge, s, only->error_ns) : 0;
    merge->end.error_bytes = only->error_bytes;
    memcpy(merge->end.error_text, only->error_text, sizeof merge->end.error_text);
  }
  merge->end.classes = merge->classes & ~merge->classes_off; /* nobody may take it for whole */
  if (eventring_encoder_finish(merge->encoder, &merge->end, &error) == EVENTRING_OK) return -1;
  complain("%s", error.text);
  return STATUS_WRONG;
}

static int merge_all(struct merge *merge, char *const *inputs) {
  int status = survey_all(merge, inputs);
  if (status < 0 && !set_times(merge, merge->options->clock)) status = STATUS_WRONG;
  if (status >= 0) return status;
  number_processes(merge);
  merge_find_twins(merge);
  status = create_output(merge);
  if (status < 0) status = open_encoder(merge);
  for (size_t i = 0; status < 0 && i < merge->count; i++)
    status = merge_encode(merge, merge->sources[i]);
  if (status < 0) status = finish(merge);
  return status < 0 ? STATUS_OK : status;
}

int merge_recordings(const char *output, char *const *inputs, size_t count,
                     const struct merge_options *options, struct merge_result *result) {
  struct merge *merge = need_zeroed(1, sizeof *merge);
  *result = (struct merge_result){.recordings = count};
  merge->output = output;
  merge->fd = -1;
  merge->result = result;
  merge->options = options;
  merge->count = count;
  merge->sources = need_zeroed(count, sizeof(struct merge_source *));
  for (size_t i = 0; i < count; i++)
    merge->sources[i] = need_zeroed(1, sizeof *merge->sources[i]);
  int status = close_output(merge, merge_all(merge, inputs));
  eventring_encoder_close(merge->encoder);
  for (size_t i = 0; i < count; i++) free(merge->sources[i]);
  free(merge->sources);
  free(merge);
  return status;
}
