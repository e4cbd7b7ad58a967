/* SPDX-License-Identifier: MIT */
/* saver_merge.c: the merged file: its domains, processes and front (saver_merge.h has the
 * design). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/control.h"
#include "format/header.h"
#include "format/text.h"
#include "reader/saver_merge.h"

/* least number of bytes of the program's name in the name of a domain */
enum { LEAST_PROGRAM = 8 };

void merge_fail(eventring_saver *saver, int code, const char *text) {
  if (!saver->part->failure.code) evr_fail(&saver->part->failure, code, 0, "%s", text);
}

int saver_merge_status(const eventring_saver *saver, struct eventring_error *error) {
  if (!saver->part || !saver->part->failure.code) return EVENTRING_OK;
  *error = saver->part->failure;
  return error->code;
}

/* ---- Times and numbers ------------------------------------------------------------- */

uint64_t merge_ns(const eventring_saver *saver, uint64_t ns) {
  const struct eventring_saver_part *p = saver->options.part;
  __int128 time = (__int128)ns + p->shift_ns;
  if (time < (__int128)p->start_ns) return p->start_ns;
  return time > INT64_MAX ? INT64_MAX : (uint64_t)time;
}

uint64_t merge_ticks(eventring_saver *saver, uint64_t ticks) {
  return merge_ns(saver, evr_metadata_next_ns(saver->meta, ticks)) >> saver->options.part->coarse;
}

bool merge_domain(const eventring_saver *saver, uint32_t *slot, uint32_t *incarnation) {
  if (*slot >= EVENTRING_MAX_DOMAINS || !saver->part->slot[*slot].used) return false;
  uint32_t before = saver->part->slot[*slot].before;
  if (!*incarnation || *incarnation > UINT32_MAX - before) return false;
  *incarnation += before;
  *slot = saver->part->slot[*slot].to;
  return true;
}

/* Returns the number of a process in the merged file. A recording without records of
   processes has one process, which gets the first number of its part. */
uint32_t merge_process(const eventring_saver *saver, uint32_t process) {
  const struct saver_part *part = saver->part;
  if (!saver->cursor->definitions.processes_count) return part->first_process + 1;
  return process ? part->first_process + process : 0;
}

/* ---- The header -------------------------------------------------------------------- */

static void begin_header(const struct eventring_saver_part *p, struct format_header *h) {
  const uint64_t start = p->start_ns >> p->coarse;
  *h = (struct format_header){
      .layout = FORMAT_STREAM, .pid = p->pid,
      .clock = p->coarse ? FORMAT_CLOCK_CNTVCT : FORMAT_CLOCK_MONOTONIC, .start_ticks = start,
      .start_ns = start << p->coarse, .start_wall_ns = p->start_wall_ns,
      .wsize = EVENTRING_DEFAULT_WSIZE, .flags = FORMAT_INCOMPLETE,
      .rings = {[EVENTRING_RUNTIME] = "runtime", [EVENTRING_USER] = "user",
                [EVENTRING_ALLOC] = "alloc", [EVENTRING_CALLS] = "calls"},
      .classes = {[EVENTRING_CLASS_LIFECYCLE] = "lifecycle", [EVENTRING_CLASS_USER] = "user"}};
  evr_header_set_constants(h);
  evr_text_copy(h->program, sizeof h->program, p->program);
}

static void write_clock(eventring_saver *saver) {
  const struct format_header *h = &saver->merge->header;
  struct format_segment segment = {
      .first = format_record(sizeof segment / 8, 1, 0), .from_ticks = h->start_ticks,
      .from_ns = h->start_ns,
      .multiplier = (uint64_t)1 << (FORMAT_CLOCK_SHIFT + saver->options.part->coarse)};
  uint64_t *record = merge_record(saver, FORMAT_CLOCK, sizeof segment / 8);
  if (record) memcpy(record, &segment, sizeof segment);
}

/* Gives a class a name. Returns false if the class has another name, or another class has
   this name. */
static bool take_class(struct format_header *h, unsigned index, const char *name) {
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    bool is_same = strcmp(h->classes[i], name) == 0;
    if ((i == index && h->classes[i][0] && !is_same) || (i != index && is_same)) return false;
  }
  evr_text_copy(h->classes[index], sizeof h->classes[index], name);
  return true;
}

/* Returns the class of the merged file for a class of the recording. The library's
   classes keep their numbers; those of hosts are found by their names. */
static unsigned class_for(struct format_header *h, unsigned index, const char *name) {
  if (!name[0]) return EVENTRING_CLASS_USER;
  if (take_class(h, index, name)) return index;
  for (unsigned i = EVENTRING_CLASS_HOST; i < EVENTRING_MAX_CLASSES; i++)
    if (take_class(h, i, name)) return i;
  return EVENTRING_CLASS_USER;
}

static void take_classes(eventring_saver *saver) {
  const struct format_header *from = &saver->meta->header;
  struct saver_merge *m = saver->merge;
  uint64_t wanted = saver->meta->control.wanted | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    unsigned to = class_for(&m->header, i, from->classes[i]);
    saver->part->class_to[i] = (uint8_t)to;
    if (!from->classes[i][0]) continue;
    saver->classes_lost += to == EVENTRING_CLASS_USER && i != EVENTRING_CLASS_USER;
    *(wanted >> i & 1 ? &m->classes : &m->classes_off) |= EVENTRING_CLASS_BIT(to);
  }
}

/* Takes the names of the rings. A ring with different names in different parts gets no
   name. */
static void take_rings(eventring_saver *saver) {
  const struct format_header *from = &saver->meta->header;
  struct saver_merge *m = saver->merge;
  for (unsigned i = 0; i < EVENTRING_RINGS; i++) {
    char *known = m->header.rings[i];
    if (!from->rings[i][0]) continue;
    if (!m->has_ring[i]) memcpy(known, from->rings[i], sizeof from->rings[i]);
    else if (strcmp(known, from->rings[i]) != 0) memset(known, 0, sizeof from->rings[i]);
    m->has_ring[i] = true;
  }
}

/* ---- Opening ----------------------------------------------------------------------- */

static bool is_part_valid(const struct eventring_saver_part *p) {
  return p->start_ns > 0 && p->start_ns <= INT64_MAX && p->source && p->program && p->coarse < 16;
}

static bool begin_file(eventring_saver *saver) {
  struct saver_merge *m = saver->merge = calloc(1, sizeof *saver->merge);
  if (!m) return false;
  begin_header(saver->options.part, &m->header);
  write_clock(saver);
  return merge_define_builtins(saver);
}

/* Continues the file of saver `behind`, which then has no file. */
static void go_on(eventring_saver *saver, eventring_saver *behind) {
  saver->merge = behind->merge;
  behind->merge = NULL;
  saver->claimed = behind->claimed;
  saver->record_unit = behind->record_unit;
  saver->record_used = behind->record_used;
}

int saver_merge_begin(eventring_saver *saver, struct eventring_error *error) {
  const struct eventring_saver_options *o = &saver->options;
  if (!is_part_valid(o->part) || o->stripped || (o->behind && !o->behind->merge))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a part of a merged file");
  saver->options.checked = true;
  saver->part = calloc(1, sizeof *saver->part);
  if (!saver->part) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a saver");
  if (o->behind) go_on(saver, o->behind);
  else if (!begin_file(saver))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a saver");
  struct saver_merge *m = saver->merge;
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++)
    if (m->records[kind]) m->records[kind]->base = m->records[kind]->most;
  m->heap_base = m->heaps;
  saver->part->first_process = m->processes;
  take_classes(saver);
  take_rings(saver);
  return EVENTRING_OK;
}

void saver_merge_close(eventring_saver *saver) {
  if (saver->part) {
    free(saver->part->function_to);
    free(saver->part->stack_to);
  }
  free(saver->part);
  merge_free(saver->merge);
}

/* ---- Slots ------------------------------------------------------------------------- */

/* Returns the time of the newest event in the rings of a slot, or 0 if there is none. */
static uint64_t newest_of(eventring_saver *saver, unsigned slot) {
  uint64_t newest = 0;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eventring_ring_info info = {.size = sizeof info};
    if (eventring_cursor_ring(saver->cursor, slot, (enum eventring_ring)ring, &info) == 0 &&
        info.newest_ns > newest)
      newest = info.newest_ns;
  }
  return newest;
}

static bool has_rings(const eventring_saver *saver, unsigned slot) {
  bool any = false;
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
    any |= saver->stream[slot * EVENTRING_RINGS + ring] != NULL;
  return any;
}

/* Returns a slot that was never used, else the slot that has been free since the earliest
   time before `ns`, or NULL if there is none. */
static struct merge_slot *find_slot(struct saver_merge *m, uint64_t ns) {
  struct merge_slot *found = NULL;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    struct merge_slot *s = &m->slot[i];
    if (!s->incarnations) return s;
    if (s->busy_until < ns && (!found || s->busy_until < found->busy_until)) found = s;
  }
  return found;
}

/* Gives a slot of the recording a slot of the merged file, if it is used. `live` says
   that the slot is still in use. Returns false if there is none. */
static bool give_slot(eventring_saver *saver, unsigned slot, bool live) {
  struct saver_part *part = saver->part;
  struct eventring_domain_info newest = {.size = sizeof newest, .incarnation = 1};
  struct eventring_domain_info first = {.size = sizeof first};
  bool is_known = eventring_cursor_domain(saver->cursor, slot, &newest) == 0;
  if (!is_known && !has_rings(saver, slot)) return true;
  uint64_t last = newest_of(saver, slot);
  if (is_known && !newest.alive && newest.stop_ns > last) last = newest.stop_ns;
  if (!is_known || eventring_cursor_life(saver->cursor, slot, 1, &first) != 0)
    first.start_ns = saver->meta->header.start_ns;
  struct merge_slot *to = find_slot(saver->merge, merge_ns(saver, first.start_ns));
  if (!to || newest.incarnation > UINT32_MAX - to->incarnations) return false;
  part->slot[slot].used = true;
  part->slot[slot].to = (uint8_t)(to - saver->merge->slot);
  part->slot[slot].before = to->incarnations;
  part->slot[slot].last_ns = last;
  to->incarnations += newest.incarnation;
  to->busy_until = live ? UINT64_MAX : merge_ns(saver, last);
  if (part->slot[slot].to >= saver->merge->slots) saver->merge->slots = part->slot[slot].to + 1u;
  if (!live && last > part->end_ns) part->end_ns = last;
  return true;
}

int saver_merge_slots(eventring_saver *saver, struct eventring_error *error) {
  bool live = !saver->over;
  if (saver->meta->status.state == FORMAT_ENDED)
    saver->part->end_ns = evr_metadata_ns(saver->meta, saver->meta->status.end_ticks);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (!give_slot(saver, slot, live))
      return evr_fail(error, EVENTRING_E_FULL, 0,
                      "more than %d domains at once; a recording has no place for more",
                      EVENTRING_MAX_DOMAINS);
  merge_memory_names(saver);
  return saver_merge_status(saver, error);
}

/* ---- Domains ----------------------------------------------------------------------- */

/* Calls a domain `PROGRAM[PID] NAME`. In a file of one recording, or from a recording of
   several processes, the domain keeps its name. */
static void name_domain(const eventring_saver *saver, const struct eventring_domain_info *life,
                        char out[EVENTRING_MAX_DOMAIN_NAME + 1]) {
  const struct eventring_saver_part *p = saver->options.part;
  const struct format_header *h = &saver->meta->header;
  struct eventring_process process = {.pid = h->pid};
  char middle[40];
  evr_text_copy(process.program, sizeof process.program, h->program);
  if (p->alone || saver->cursor->definitions.processes_count > 1) {
    snprintf(out, EVENTRING_MAX_DOMAIN_NAME + 1, "%s", life->name);
    return;
  }
  if (life->process) eventring_cursor_process(saver->cursor, life->process, &process);
  if (p->twin) snprintf(middle, sizeof middle, "[%ld.%u]", (long)process.pid, p->twin);
  else snprintf(middle, sizeof middle, "[%ld]", (long)process.pid);
  size_t room = EVENTRING_MAX_DOMAIN_NAME - strlen(middle) - (life->name[0] != 0);
  size_t program = strlen(process.program), name = strlen(life->name);
  size_t program_room = name < room ? room - name : 0;
  if (program_room < LEAST_PROGRAM) program_room = LEAST_PROGRAM;
  if (program > program_room) program = eventring_text_fit(process.program, program, program_room);
  if (name > room - program) name = eventring_text_fit(life->name, name, room - program);
  snprintf(out, EVENTRING_MAX_DOMAIN_NAME + 1, "%.*s%s%s%.*s", (int)program, process.program,
           middle, name ? " " : "", (int)name, life->name);
}

static void write_life(eventring_saver *saver, enum format_life type,
                       const struct format_domain *d, uint32_t slot) {
  bool starts = type == FORMAT_LIFE_START;
  size_t bytes = starts ? strlen(d->name) : 0;
  unsigned words = starts ? 5 + format_text_words(bytes) : 3;
  uint64_t *record = merge_record(saver, FORMAT_LIVES, words);
  if (!record) return;
  record[0] = format_record(words, type, slot);
  record[1] = d->incarnation | (starts ? (uint64_t)(uint32_t)d->tid << 32 : 0);
  record[2] = starts ? d->start_ticks : d->stop_ticks;
  if (!starts) return;
  record[3] = bytes;
  memcpy(record + 4, d->name, bytes);
  record[words - 1] = d->process;
}

/* Ends a life that went on when its process ended, because other processes in the merged
   file may live longer. */
static void end_with_process(const eventring_saver *saver, struct eventring_domain_info *life) {
  if (saver->options.part->alone || !life->alive || !saver->part->end_ns) return;
  life->alive = false;
  life->stop_ns = saver->part->end_ns;
}

static void write_domain(eventring_saver *saver, struct eventring_domain_info *life) {
  const unsigned coarse = saver->options.part->coarse;
  struct format_domain d = {.tid = life->tid, .process = merge_process(saver, life->process)};
  uint32_t slot = life->slot;
  d.incarnation = life->incarnation;
  if (!merge_domain(saver, &slot, &d.incarnation)) return;
  end_with_process(saver, life);
  d.state = life->alive ? FORMAT_SLOT_ALIVE : FORMAT_SLOT_FREE;
  d.start_ticks = merge_ns(saver, life->start_ns) >> coarse;
  if (!life->alive) d.stop_ticks = merge_ns(saver, life->stop_ns) >> coarse;
  if (!life->alive && d.stop_ticks < d.start_ticks) d.stop_ticks = d.start_ticks;
  name_domain(saver, life, d.name);
  write_life(saver, FORMAT_LIFE_START, &d, slot);
  if (!life->alive) write_life(saver, FORMAT_LIFE_STOP, &d, slot);
  saver->merge->domain[slot] = d;
  saver->domains++;
}

/* Returns the oldest incarnation that has a record. Records are dropped in the order of
   the starts, so the first missing record ends the search, whatever number a damaged file
   claims. */
static uint32_t oldest_life(const eventring_saver *saver, unsigned slot, uint32_t newest) {
  while (newest > 1 && evr_definitions_life(&saver->cursor->definitions, slot, newest - 1))
    newest--;
  return newest;
}

/* Writes the domains of a slot. A slot with events and no domain gets a domain without a
   name. */
static void write_slot(eventring_saver *saver, unsigned slot) {
  struct eventring_domain_info newest = {.size = sizeof newest}, life = {.size = sizeof life};
  if (!saver->part->slot[slot].used) return;
  if (eventring_cursor_domain(saver->cursor, slot, &newest) != 0)
    newest = (struct eventring_domain_info){.slot = slot, .incarnation = 1, .alive = true,
                                            .start_ns = saver->meta->header.start_ns};
  for (uint32_t n = oldest_life(saver, slot, newest.incarnation); n < newest.incarnation; n++)
    if (eventring_cursor_life(saver->cursor, slot, n, &life) == 0) write_domain(saver, &life);
  write_domain(saver, &newest);
}

/* ---- Processes --------------------------------------------------------------------- */

/* Appends a text, or the end of a long one. Returns its bytes. */
static uint16_t put_text(char **to, const char *text, size_t most) {
  size_t size = strlen(text), from = size > most ? size - most : 0;
  memcpy(*to, text + from, size - from);
  *to += size - from;
  return (uint16_t)(size - from);
}

static void write_process(eventring_saver *saver, const struct eventring_process *p) {
  const unsigned coarse = saver->options.part->coarse;
  struct format_process record = {
      .pid = p->pid, .liveness = (uint32_t)p->liveness, .end_reason = (uint32_t)p->end_reason,
      .end_detail = p->end_detail, .start_ticks = merge_ns(saver, p->start_ns) >> coarse,
      .end_ticks = p->end_ns ? merge_ns(saver, p->end_ns) >> coarse : 0,
      .start_wall_ns = p->start_wall_ns, .shift_ns = p->shift_ns + saver->options.part->shift_ns,
      .events = p->events, .missed = p->missed, .lost = p->lost,
      .error_ticks = p->error_ns ? merge_ns(saver, p->error_ns) >> coarse : 0};
  char texts[EVENTRING_MAX_PROGRAM + EVENTRING_MAX_SOURCE + EVENTRING_MAX_END_TEXT], *to = texts;
  record.program_bytes = put_text(&to, p->program, EVENTRING_MAX_PROGRAM);
  record.source_bytes = put_text(&to, p->source, EVENTRING_MAX_SOURCE);
  record.error_bytes = put_text(&to, p->error_text, EVENTRING_MAX_END_TEXT);
  size_t size = (size_t)(to - texts);
  unsigned words = sizeof record / 8 + format_text_words(size);
  uint64_t *words_to = merge_record(saver, FORMAT_PROCESSES, words);
  record.first = format_record(words, 1, ++saver->merge->processes);
  if (!words_to) return;
  memcpy(words_to, &record, sizeof record);
  memcpy(words_to + sizeof record / 8, texts, size);
}

/* Copies the name of the source as given, or its end if it is too long. Bytes that are
   not text become '?'. */
static void take_source(const char *name, char to[EVENTRING_MAX_SOURCE + 1]) {
  size_t size = strlen(name), at = size > EVENTRING_MAX_SOURCE ? size - EVENTRING_MAX_SOURCE : 0;
  memcpy(to, name + at, size - at + 1);
  evr_text_clean_message(to, EVENTRING_MAX_SOURCE + 1);
}

static void write_processes(eventring_saver *saver, const struct eventring_info *info) {
  struct eventring_saver_info sums;
  struct eventring_process p;
  eventring_saver_info(saver, &sums);
  for (unsigned n = 1; eventring_cursor_process(saver->cursor, n, &p) == 0; n++)
    write_process(saver, &p);
  if (saver->cursor->definitions.processes_count) return;
  p = (struct eventring_process){
      .pid = info->pid, .liveness = info->liveness, .end_reason = info->end_reason,
      .end_detail = info->end_detail, .start_ns = info->start_ns, .end_ns = info->end_ns,
      .start_wall_ns = info->start_wall_ns, .error_ns = info->error_ns, .events = sums.saved,
      .missed = sums.missed, .lost = sums.lost};
  memcpy(p.program, info->program, sizeof p.program);
  memcpy(p.error_text, info->error_text, sizeof p.error_text);
  take_source(saver->options.part->source, p.source);
  write_process(saver, &p);
}

static uint64_t moved_classes(const eventring_saver *saver, uint64_t classes) {
  uint64_t moved = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (classes >> i & 1) moved |= EVENTRING_CLASS_BIT(saver->part->class_to[i]);
  return moved;
}

static void write_entry(eventring_saver *saver, const struct format_switch *entry,
                        uint32_t process) {
  uint64_t *record = merge_record(saver, FORMAT_SWITCHES, 4);
  if (!record) return;
  record[0] = format_record(4, FORMAT_LOGGED, process);
  record[1] = merge_ticks(saver, entry->ticks);
  record[2] = moved_classes(saver, entry->classes);
  record[3] = entry->until == UINT64_MAX ? UINT64_MAX : merge_ticks(saver, entry->until);
}

/* Writes the log of a process. If entries of the log are gone, writes the oldest entry
   twice, so that readers of the merged file see that entries are gone. */
static void write_log(eventring_saver *saver, const struct evr_log *log, uint32_t process) {
  uint32_t first = log->told > FORMAT_LOG_ENTRIES ? log->told - FORMAT_LOG_ENTRIES : 0;
  for (uint32_t n = first; log->written - n - 1 < FORMAT_LOG_ENTRIES; n++) {
    const struct format_switch *entry = &log->entry[n % FORMAT_LOG_ENTRIES];
    if (entry->number != (uint64_t)n + 1) continue;
    if (n == first && n > 0) write_entry(saver, entry, process);
    write_entry(saver, entry, process);
  }
}

static void write_logs(eventring_saver *saver) {
  const struct evr_definitions *definitions = &saver->cursor->definitions;
  if (!definitions->processes_count)
    write_log(saver, &saver->meta->log, saver->part->first_process + 1);
  for (uint32_t i = 0; i < definitions->logs_count; i++)
    if (definitions->logs[i])
      write_log(saver, &definitions->logs[i]->log, merge_process(saver, i + 1));
}

/* ---- The end ----------------------------------------------------------------------- */

/* Takes over how the recording ended. If it is the only one, the merged recording has
   ended in the same way. */
static void take_end(eventring_saver *saver, const struct eventring_info *info) {
  struct saver_merge *m = saver->merge;
  uint64_t end = info->end_ns ? merge_ns(saver, info->end_ns) : 0;
  if (end > m->end_ns) m->end_ns = end;
  m->dropped[FORMAT_EVENTS] += info->events_dropped;
  m->dropped[FORMAT_DEFINITIONS] += info->names_dropped;
  m->dropped[FORMAT_LIVES] += info->lives_dropped;
  m->unrecorded += info->unrecorded;
  if (!saver->options.part->alone) return;
  m->end_reason = (uint32_t)info->end_reason;
  m->end_detail = info->end_detail;
  if (!info->error_ns) return;
  size_t size = strnlen(info->error_text, EVENTRING_MAX_END_TEXT);
  unsigned words = 3 + format_text_words(size);
  uint64_t *record = merge_record(saver, FORMAT_ENDINGS, words);
  if (!record) return;
  record[0] = format_record(words, 1, info->error_bytes);
  record[1] = merge_ns(saver, info->error_ns) >> saver->options.part->coarse;
  record[2] = size;
  memcpy(record + 3, info->error_text, size);
}

static void note_rings(eventring_saver *saver) {
  struct saver_merge *m = saver->merge;
  for (unsigned n = 0; n < saver->made_count; n++) {
    const struct saver_stream *stream = saver->stream[saver->made[n]];
    struct merge_ring *ring = &m->ring[saver->part->slot[stream->slot].to][stream->ring];
    if (!stream->is_moved) continue;
    uint64_t last = merge_ns(saver, evr_metadata_ns(saver->meta, stream->known_ticks));
    ring->head = stream->announced + stream->sequence_base;
    ring->events = stream->account.known + stream->event_base;
    if (last > m->end_ns) m->end_ns = last;
  }
}

int saver_merge_end(eventring_saver *saver, struct eventring_error *error) {
  struct eventring_info info = {.size = sizeof info};
  if (saver->part->ended) return EVENTRING_OK;
  int status = eventring_cursor_info(saver->cursor, &info);
  if (status != EVENTRING_OK) return evr_fail(error, status, 0, "%s", saver->cursor->error.text);
  saver->part->ended = true;
  note_rings(saver);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) write_slot(saver, slot);
  write_logs(saver);
  write_processes(saver, &info);
  take_end(saver, &info);
  merge_put_unfinished(saver);
  return saver_merge_status(saver, error);
}

/* ---- The front --------------------------------------------------------------------- */

static unsigned put_rings(const struct saver_merge *m, struct format_domain *domains) {
  unsigned streams = 0;
  memcpy(domains, m->domain, sizeof m->domain);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
      if (!m->ring[slot][ring].head) continue;
      domains[slot].ring[ring] =
          (struct format_ring){m->ring[slot][ring].head, 0, FORMAT_STREAM_RING};
      streams++;
    }
  return streams;
}

static void put_status(const eventring_saver *saver, struct format_status *s) {
  const struct saver_merge *m = saver->merge;
  *s = (struct format_status){.state = FORMAT_ENDED, .slots = m->slots, .claimed = saver->claimed,
                              .end_ticks = m->end_ns >> saver->options.part->coarse,
                              .end_reason = m->end_reason, .end_detail = m->end_detail,
                              .preserve = FORMAT_PRESERVE_ALWAYS, .unrecorded = m->unrecorded};
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++) {
    const struct merge_records *r = m->records[kind];
    if (r) s->kind[kind] = (struct format_count){r->records, r->dropped};
    s->kind[kind].dropped += m->dropped[kind];
  }
}

void saver_merge_front(const eventring_saver *saver, uint8_t *front) {
  const struct saver_merge *m = saver->merge;
  struct format_header *h = (struct format_header *)front;
  struct format_status *s = (struct format_status *)(front + FORMAT_STATUS_OFFSET);
  struct format_control *c = (struct format_control *)(front + FORMAT_CONTROL_OFFSET);
  struct format_domain *domains = (struct format_domain *)(front + FORMAT_DOMAINS_OFFSET);
  *h = m->header;
  h->checksum = evr_header_checksum(h);
  put_status(saver, s);
  s->kind[FORMAT_EVENTS].records = put_rings(m, domains);
  c->wanted = (m->classes & ~m->classes_off & evr_named_classes(h->classes)) |
              EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  c->gate = format_gate(c->wanted);
  s->checksum = evr_front_checksum(s, (const uint64_t *)domains);
}
