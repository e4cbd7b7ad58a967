/* SPDX-License-Identifier: MIT */
/* merge_plan.c: what the recordings are; slots, names of domains (merge.h has the design). */
#include <errno.h>
#include <string.h>

#include "merge_inside.h"

enum { LEAST_PROGRAM = 8 /* bytes of its name that are kept */ };

/* ---- What a recording is ------------------------------------------------------------ */

/* Of rings: the time of the newest event; 0: none. */
static uint64_t newest_of(eventring_cursor *cursor, unsigned slot, bool *has_rings) {
  uint64_t newest = 0;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eventring_ring_info info;
    if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &info) < 0) continue;
    *has_rings = true;
    if (info.newest_ns > newest) newest = info.newest_ns;
  }
  return newest;
}

static void survey_slot(eventring_cursor *cursor, const struct eventring_info *info,
                        unsigned number, struct merge_slot *slot) {
  struct eventring_domain_info newest, first;
  bool has_rings = false, is_known = eventring_cursor_domain(cursor, number, &newest) == 0;
  uint64_t last = newest_of(cursor, number, &has_rings);
  slot->used = is_known || has_rings;
  slot->newest = is_known ? newest.incarnation : 1;
  slot->first_ns = info->start_ns;
  slot->last_ns = last;
  if (is_known && eventring_cursor_life(cursor, number, 1, &first) == 0)
    slot->first_ns = first.start_ns;
  if (is_known && !newest.alive && newest.stop_ns > last) slot->last_ns = newest.stop_ns;
  if (info->liveness == EVENTRING_LIVE) slot->last_ns = UINT64_MAX;
}

/* Of a process that was killed: its last event. */
static uint64_t end_of(const struct merge_source *source) {
  uint64_t end = source->info.end_ns;
  if (source->info.liveness == EVENTRING_LIVE) return 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (source->slot[slot].used && source->slot[slot].last_ns > end)
      end = source->slot[slot].last_ns;
  return end;
}

static unsigned count_processes(eventring_cursor *cursor) {
  struct eventring_process process;
  unsigned count = 0;
  while (eventring_cursor_process(cursor, count + 1, &process) == 0) count++;
  return count;
}

int merge_survey(struct merge *merge, struct merge_source *source) {
  struct reader reader;
  struct stat st;
  int status = reader_open_target(&reader, source->name, EVENTRING_OPEN_FOLLOW);
  (void)merge;
  if (status >= 0) return status;
  struct eventring_info *info = &source->info;
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
  for (unsigned slot = 0; slot < info->domains_laid_out; slot++)
    survey_slot(reader.cursor, info, slot, &source->slot[slot]);
  source->end_ns = end_of(source);
  return reader_close(&reader, -1);
}

/* ---- Slots -------------------------------------------------------------------------- */

/* A slot that was never used, else the one that has been free for the longest time before
   `ns`; NULL: none. */
static struct merge_target *find_target(struct merge *merge, uint64_t ns) {
  struct merge_target *found = NULL;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    struct merge_target *t = &merge->target[i];
    if (!t->incarnations) return t;
    if (t->busy_until < ns && (!found || t->busy_until < found->busy_until)) found = t;
  }
  return found;
}

bool merge_place(struct merge *merge, struct merge_source *source, unsigned number) {
  struct merge_slot *slot = &source->slot[number];
  struct merge_target *t = find_target(merge, merge_time(merge, source, slot->first_ns));
  if (!t || slot->newest > UINT32_MAX - t->incarnations) {
    complain("%s: more than %d domains at once; a recording has no place for more",
             source->name, EVENTRING_MAX_DOMAINS);
    return false;
  }
  slot->placed = true;
  slot->to = (uint8_t)(t - merge->target);
  slot->before = t->incarnations;
  t->incarnations += slot->newest ? slot->newest : 1;
  t->busy_until = slot->last_ns == UINT64_MAX ? UINT64_MAX
                                              : merge_time(merge, source, slot->last_ns);
  return true;
}

/* ---- Names -------------------------------------------------------------------------- */

static bool are_twins(const struct merge_source *a, const struct merge_source *b) {
  return a->processes <= 1 && b->processes <= 1 && a->info.pid == b->info.pid &&
         strcmp(a->info.program, b->info.program) == 0;
}

void merge_find_twins(struct merge *merge) {
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

void merge_domain_name(const struct merge *merge, const struct merge_source *source,
                       const char *program, pid_t pid, const char *name,
                       char out[EVENTRING_MAX_DOMAIN_NAME + 1]) {
  char middle[40];
  if (merge->keeps_names || source->processes > 1) {
    snprintf(out, EVENTRING_MAX_DOMAIN_NAME + 1, "%s", name);
    return;
  }
  if (source->twin) snprintf(middle, sizeof middle, "[%ld.%u]", (long)pid, source->twin);
  else snprintf(middle, sizeof middle, "[%ld]", (long)pid);
  size_t room = EVENTRING_MAX_DOMAIN_NAME - strlen(middle) - (name[0] != 0);
  size_t program_size = strlen(program), name_size = strlen(name);
  size_t program_room = name_size < room ? room - name_size : 0;
  if (program_room < LEAST_PROGRAM) program_room = LEAST_PROGRAM;
  if (program_size > program_room)
    program_size = eventring_text_fit(program, program_size, program_room);
  if (name_size > room - program_size)
    name_size = eventring_text_fit(name, name_size, room - program_size);
  snprintf(out, EVENTRING_MAX_DOMAIN_NAME + 1, "%.*s%s%s%.*s", (int)program_size, program,
           middle, name[0] ? " " : "", (int)name_size, name);
}
