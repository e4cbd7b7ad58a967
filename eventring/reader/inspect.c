/* SPDX-License-Identifier: MIT */
/* inspect.c: information about the file of a cursor, and about what the cursor has
   read. */
#include "reader/cursor.h"
#include "eventring/tools.h"
#include "conditions/trigger_text.h"
#include "eventring/conditions.h"
#include "format/atomics.h"
#include "format/control.h"
#include "format/process.h"
#include "format/sized.h"
#include "format/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The file ---------------------------------------------------------------------- */

static enum eventring_state state_of(const struct evr_metadata *meta) {
  if (meta->status.state == FORMAT_ENDED) return EVENTRING_STOPPED;
  if (meta->control.gate) return EVENTRING_RUNNING;
  return meta->status.slots == 0 ? EVENTRING_STANDBY : EVENTRING_PAUSED;
}

static void fill_sizes(const struct evr_metadata *meta, struct eventring_info *info) {
  struct stat st;
  int fd = evr_source_descriptor(&meta->source);
  if (fd < 0 || fstat(fd, &st) != 0) return;
  info->file_size = (uint64_t)st.st_size;
  info->disk_size = (uint64_t)st.st_blocks * 512;
  if (meta->source.packed) evr_source_bytes(&meta->source, &info->plain_size, NULL);
}

static void fill_clock(const struct evr_metadata *meta, struct eventring_info *info) {
  static const char *const names[] = {[FORMAT_CLOCK_MONOTONIC] = "monotonic",
                                      [FORMAT_CLOCK_TSC] = "tsc",
                                      [FORMAT_CLOCK_CNTVCT] = "cntvct"};
  const struct evr_conversion *c = &meta->conversion;
  uint64_t multiplier = c->segment[c->segments - 1].multiplier;
  info->clock = names[meta->header.clock];
  info->clock_hz = 1e9 * (double)((uint64_t)1 << FORMAT_CLOCK_SHIFT) / (double)multiplier;
}

/* Fills in how the recording ended. A process that gets a fatal signal notes the signal,
   but has ended only when it is dead. */
static void fill_end(const struct evr_metadata *meta, const struct evr_ending *ending,
                     struct eventring_info *info) {
  const struct format_status *s = &meta->status;
  bool ended = s->state == FORMAT_ENDED;
  if (ended) info->end_ns = evr_metadata_ns(meta, s->end_ticks);
  if (s->end_reason <= FORMAT_END_DELETED &&
      (ended || (s->end_reason == FORMAT_END_SIGNAL && info->liveness != EVENTRING_LIVE))) {
    info->end_reason = (enum eventring_end_reason)s->end_reason;
    info->end_detail = s->end_detail;
  }
  info->preserved = format_is_preserved(s) || meta->header.flags & FORMAT_COPY;
  if (!ending->ticks) return;
  info->error_ns = evr_metadata_ns(meta, ending->ticks);
  info->error_bytes = ending->whole;
  memcpy(info->error_text, ending->text, ending->bytes + 1);
}

/* Returns the sample rate that was asked for. Returns 0 for a rate that the producer
   would refuse: it must be above 0 and at most 1. */
static double asked_rate(const struct format_control *control) {
  double rate;
  memcpy(&rate, &control->sample_rate, sizeof rate);
  return rate > 0 && rate <= 1 ? rate : 0;
}

static uint32_t stream_rings(const struct evr_metadata *meta) {
  uint32_t rings = 0;
  for (unsigned n = 0; n < meta->made_count; n++) {
    unsigned slot = meta->made[n] / EVENTRING_RINGS, ring = meta->made[n] % EVENTRING_RINGS;
    if (evr_metadata_is_stream(meta, slot, ring)) rings |= 1u << ring;
  }
  return rings;
}

/* Reads a list of the control page, when a caller asks for it. Returns its size, or 0
   with an empty text if the list is being changed, or its writer died while changing
   it. */
static int read_list(const struct evr_metadata *meta, size_t offset,
                     char text[FORMAT_LIST_BYTES + 1]) {
  enum { ATTEMPTS = 8 };
  const size_t at = FORMAT_CONTROL_OFFSET + offset;
  int size = -1;
  for (int i = 0; i < ATTEMPTS && size < 0; i++) {
    struct format_list list;
    struct { uint32_t version, bytes; } first, then;
    uint32_t version;
    if (evr_source_read(&meta->source, at, &first, sizeof first, NULL) != EVENTRING_OK) break;
    /* acquire fence: pairs with the release of the version at the end of
       evr_control_write_list: the words read next belong to this version or a newer
       one */
    evr_fence_acquire();
    if (evr_source_read(&meta->source, at, &list, sizeof list, NULL) != EVENTRING_OK) break;
    /* acquire fence: pairs with the release fence in evr_control_write_list
       (format/control.c): if a word of a newer text was read, the version has changed */
    evr_fence_acquire();
    if (evr_source_read(&meta->source, at, &then, sizeof then, NULL) != EVENTRING_OK) break;
    if (then.version == first.version && list.version == first.version)
      size = evr_control_read_list(&list, text, &version);
  }
  text[size > 0 ? size : 0] = '\0';
  return size > 0 ? size : 0;
}

static void fill_call_names(const struct evr_metadata *meta, struct eventring_info *info) {
  _Static_assert(sizeof info->call_names == FORMAT_LIST_BYTES + 1, "a list");
  read_list(meta, offsetof(struct format_control, spans), info->call_names);
  evr_text_clean(info->call_names, sizeof info->call_names);
}

static int fill_info(eventring_cursor *c, struct eventring_info *info) {
  struct evr_metadata *meta = &c->meta;
  const struct format_header *h = &meta->header;
  int status = evr_definitions_catch_up(&c->definitions, meta, &c->error);
  if (status != EVENTRING_OK) return status;
  uint64_t named = evr_named_classes(h->classes), wanted = meta->control.wanted;
  *info = (struct eventring_info){
      .version = h->version, .pid = h->pid, .process = c->process,
      .liveness = evr_metadata_liveness(meta), .state = state_of(meta),
      .classes = wanted | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE),
      .classes_known = named, .control_word = wanted,
      .control_malformed = !evr_wanted_valid(wanted, named) ||
                           meta->control.gate != format_gate(wanted),
      .control_rejected = meta->status.rejected, .start_ns = h->start_ns,
      .start_wall_ns = h->start_wall_ns, .wsize = h->wsize,
      .blocks = format_ring_blocks(h->wsize), .block_words = FORMAT_BLOCK_WORDS,
      .events = c->definitions.count, .max_domains = EVENTRING_MAX_DOMAINS,
      .domains_laid_out = meta->status.slots, .blocks_claimed = meta->status.claimed,
      .unknown_blocks = c->definitions.scan.unknown, .unknown_records = c->definitions.unknown,
      .names_dropped = meta->status.kind[FORMAT_DEFINITIONS].dropped,
      .events_dropped = meta->status.kind[FORMAT_EVENTS].dropped,
      .lives_dropped = meta->status.kind[FORMAT_LIVES].dropped,
      .hold_ns = meta->control.hold_ns,
      .grow_bytes = h->grow_blocks * (uint64_t)FORMAT_BLOCK_BYTES,
      .has_streams = evr_metadata_has_streams(meta),
      .incomplete = h->flags & FORMAT_INCOMPLETE, .stream_rings = stream_rings(meta)};
  fill_end(meta, &c->definitions.ending, info);
  memcpy(info->path, meta->path, sizeof info->path);
  memcpy(info->program, h->program, sizeof info->program);
  info->process_start = h->process_start;
  if (!info->process_start && info->liveness == EVENTRING_LIVE)
    info->process_start = evr_process_start(h->pid);
  fill_clock(meta, info);
  fill_sizes(meta, info);
  info->function_end = c->definitions.stacks.function_end;
  info->stack_end = c->definitions.stacks.node_end;
  info->heaps_dropped = meta->status.kind[FORMAT_HEAPS].dropped;
  info->unrecorded = meta->status.unrecorded;
  info->no_room = meta->status.no_room;
  if (info->no_room) info->no_room_ns = evr_metadata_ns(meta, meta->status.no_room_ticks);
  info->asked_rate = asked_rate(&meta->control);
  info->sample_rate = wanted >> EVENTRING_CLASS_ALLOC & 1 ? info->asked_rate : 0;
  info->profile_asked = meta->control.requests & FORMAT_REQUEST_CALLS;
  info->profile_kept = meta->control.requests & FORMAT_REQUEST_OBEYED;
  fill_call_names(meta, info);
  return EVENTRING_OK;
}

int eventring_cursor_info(eventring_cursor *c, struct eventring_info *info) {
  struct eventring_info full;
  int status = fill_info(c, &full);
  return status == EVENTRING_OK ? evr_give(info, &full, sizeof full) : status;
}

/* Takes an entry of the table of triggers. Returns false if the entry is empty. If the
   entry changes during the copy, some figures may be newer than others. */
static bool take_trigger(const struct format_trigger *from, struct eventring_trigger_state *to) {
  if (!from->number) return false;
  *to = (struct eventring_trigger_state){
      .number = from->number, .event = from->event < EVENTRING_MAX_EVENTS ? from->event : 0,
      .owner = from->owner <= EVENTRING_BY_CONTROL ? from->owner : 0, .fired = from->fired,
      .saved = from->saved, .skipped = from->skipped, .failed = from->failed,
      .bytes = from->bytes, .error = from->error};
  return true;
}

int eventring_cursor_trigger(eventring_cursor *c, unsigned index,
                             struct eventring_trigger_state *trigger) {
  struct format_trigger states[FORMAT_TRIGGER_STATES];
  if (!c || !trigger) return EVENTRING_E_ARGUMENT;
  int status = evr_source_read(&c->meta.source, FORMAT_TRIGGER_STATES_OFFSET, states,
                               sizeof states, &c->error);
  if (status != EVENTRING_OK) return status;
  for (unsigned i = 0; i < FORMAT_TRIGGER_STATES; i++)
    if (take_trigger(&states[i], trigger) && index-- == 0) return EVENTRING_OK;
  return EVENTRING_E_NOT_FOUND;
}

/* Returns the index of a trigger in the list that other processes have set, or -1 if the
   process has not taken that list yet. */
static int index_in_list(const struct format_trigger *states, uint32_t number, int listed) {
  int index = 0, count = 0;
  for (unsigned i = 0; i < FORMAT_TRIGGER_STATES; i++) {
    if (!states[i].number || states[i].owner != EVENTRING_BY_CONTROL) continue;
    count++;
    index += states[i].number < number;
  }
  return count == listed ? index : -1;
}

/* Copies the condition of the trigger at `index` of a list. Returns its length, or 0 if
   there is none. */
static size_t listed_condition(const char *list, int size, int index,
                               char text[EVENTRING_MAX_NAME + 1]) {
  struct evr_trigger_text trigger;
  char condition[EVENTRING_MAX_TRIGGER_TEXT + 1];
  size_t at = 0;
  while (evr_trigger_text_next(&trigger, list, (size_t)size, &at, NULL) > 0)
    if (index-- == 0) {
      eventring_condition_text(&trigger.condition, condition, sizeof condition);
      evr_text_copy(text, EVENTRING_MAX_NAME + 1, condition);
      return strlen(text);
    }
  return 0;
}

static size_t condition_of_list(eventring_cursor *c, uint32_t number,
                                char text[EVENTRING_MAX_NAME + 1]) {
  struct format_trigger states[FORMAT_TRIGGER_STATES];
  char list[FORMAT_LIST_BYTES + 1];
  const int size = read_list(&c->meta, offsetof(struct format_control, triggers), list);
  if (size <= 0 ||
      evr_source_read(&c->meta.source, FORMAT_TRIGGER_STATES_OFFSET, states, sizeof states,
                      &c->error) != EVENTRING_OK)
    return 0;
  const int index = index_in_list(states, number,
                                  eventring_triggers_check(list, (size_t)size, NULL));
  return index >= 0 ? listed_condition(list, size, index, text) : 0;
}

size_t eventring_cursor_condition(eventring_cursor *c,
                                  const struct eventring_trigger_state *trigger,
                                  char text[EVENTRING_MAX_NAME + 1]) {
  static const char before[] = "trigger ";
  text[0] = '\0';
  if (!c || !trigger) return 0;
  const struct eventring_def *def =
      trigger->event ? eventring_cursor_def(c, trigger->event) : NULL;
  if (def && strncmp(def->name, before, sizeof before - 1) == 0) {
    evr_text_copy(text, EVENTRING_MAX_NAME + 1, def->name + sizeof before - 1);
    return strlen(text);
  }
  if (trigger->owner != EVENTRING_BY_CONTROL) return 0;
  return condition_of_list(c, trigger->number, text);
}

static const char *or_none(const char *name) { return name[0] ? name : NULL; }

const char *eventring_cursor_name(const eventring_cursor *c, enum eventring_name of,
                                  unsigned index) {
  const struct evr_stacks *stacks = &c->definitions.stacks;
  switch (of) {
    case EVENTRING_NAME_CLASS:
      return index < EVENTRING_MAX_CLASSES ? or_none(c->meta.header.classes[index]) : NULL;
    case EVENTRING_NAME_RING:
      return index < EVENTRING_RINGS ? or_none(c->meta.header.rings[index]) : NULL;
    case EVENTRING_NAME_MEMORY_KIND:
      return index < FORMAT_MEMORY_KINDS ? or_none(stacks->kind[index]) : NULL;
    case EVENTRING_NAME_MEMORY_ORIGIN:
      return index < FORMAT_MEMORY_ORIGINS ? or_none(stacks->origin[index]) : NULL;
  }
  return NULL;
}

const struct eventring_def *eventring_cursor_def(const eventring_cursor *c,
                                                 unsigned id) {
  return evr_definition_of(&c->definitions, id);
}

static int fill_latest(eventring_cursor *c, unsigned slot, struct eventring_domain_info *info) {
  struct format_domain d;
  int status = evr_metadata_domain(&c->meta, slot, &d, &c->error);
  if (status != EVENTRING_OK) return status;
  if (!d.incarnation) return EVENTRING_E_NOT_FOUND;
  *info = (struct eventring_domain_info){
      .slot = slot, .incarnation = d.incarnation, .tid = d.tid,
      .alive = d.state == FORMAT_SLOT_ALIVE,
      .start_ns = evr_metadata_ns(&c->meta, d.start_ticks),
      .stop_ns = d.stop_ticks ? evr_metadata_ns(&c->meta, d.stop_ticks) : 0,
      .process = d.process};
  memcpy(info->name, d.name, sizeof info->name);
  return EVENTRING_OK;
}

static int fill_life(eventring_cursor *c, unsigned slot, uint32_t incarnation,
                     struct eventring_domain_info *info) {
  int status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  if (status != EVENTRING_OK) return status;
  const struct evr_life *life = evr_definitions_life(&c->definitions, slot, incarnation);
  if (!life) return EVENTRING_E_NOT_FOUND;
  *info = (struct eventring_domain_info){
      .slot = slot, .incarnation = incarnation, .tid = life->tid, .alive = !life->stop_ticks,
      .start_ns = evr_metadata_ns(&c->meta, life->start_ticks),
      .stop_ns = life->stop_ticks ? evr_metadata_ns(&c->meta, life->stop_ticks) : 0,
      .process = life->process};
  memcpy(info->name, life->name, sizeof info->name);
  return EVENTRING_OK;
}

int eventring_cursor_life(eventring_cursor *c, unsigned slot, uint32_t incarnation,
                          struct eventring_domain_info *info) {
  struct eventring_domain_info full;
  if (slot >= EVENTRING_MAX_DOMAINS) return EVENTRING_E_ARGUMENT;
  int status = incarnation ? fill_life(c, slot, incarnation, &full) : fill_latest(c, slot, &full);
  return status == EVENTRING_OK ? evr_give(info, &full, sizeof full) : status;
}

/* ---- Processes --------------------------------------------------------------------- */

static void fill_process(const struct evr_metadata *meta, const struct evr_process *from,
                         struct eventring_process *to) {
  const struct format_process *r = &from->record;
  *to = (struct eventring_process){
      .pid = r->pid, .liveness = (enum eventring_liveness)r->liveness,
      .end_detail = r->end_detail, .start_ns = evr_metadata_ns(meta, r->start_ticks),
      .end_ns = r->end_ticks ? evr_metadata_ns(meta, r->end_ticks) : 0,
      .start_wall_ns = r->start_wall_ns, .shift_ns = r->shift_ns, .events = r->events,
      .missed = r->missed, .lost = r->lost,
      .error_ns = r->error_ticks ? evr_metadata_ns(meta, r->error_ticks) : 0};
  if (r->liveness < EVENTRING_LIVE || r->liveness > EVENTRING_SAVED)
    to->liveness = EVENTRING_SAVED;
  if (r->end_reason <= FORMAT_END_DELETED)
    to->end_reason = (enum eventring_end_reason)r->end_reason;
  memcpy(to->program, from->program, sizeof to->program);
  memcpy(to->source, from->source, sizeof to->source);
  if (from->error) memcpy(to->error_text, from->error, r->error_bytes);
}

int eventring_cursor_process(eventring_cursor *c, unsigned number,
                             struct eventring_process *process) {
  if (!number) return EVENTRING_E_ARGUMENT;
  int status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  if (status != EVENTRING_OK) return status;
  if (number > c->definitions.processes_count) return EVENTRING_E_NOT_FOUND;
  fill_process(&c->meta, &c->definitions.processes[number - 1], process);
  return EVENTRING_OK;
}

/* ---- Rings ------------------------------------------------------------------------- */

/* Fills in the counts of what this cursor has read. */
static void fill_read(const struct evr_ring_reader *reader, struct eventring_ring_info *info) {
  info->missed = reader->missed;
  info->delivered = reader->delivered + reader->in_run;
  info->lost = reader->lost;
  info->torn = reader->torn;
  /* a ring may be overwritten faster than its newest block can be copied */
  uint64_t accounted = info->missed + info->delivered + info->lost;
  if (info->emitted < accounted) info->emitted = accounted;
  /* a stream is not overwritten: lost events are missing in its middle */
  if (info->is_stream && info->lost <= info->available) info->available -= info->lost;
}

int eventring_cursor_ring(eventring_cursor *c, unsigned slot, enum eventring_ring ring,
                          struct eventring_ring_info *info) {
  if (slot >= EVENTRING_MAX_DOMAINS || (unsigned)ring >= EVENTRING_RINGS)
    return EVENTRING_E_ARGUMENT;
  int status = evr_metadata_refresh(&c->meta, &c->error);
  if (status != EVENTRING_OK) return status;
  if (!evr_metadata_blocks(&c->meta, slot, ring)) return EVENTRING_E_NOT_FOUND;
  struct eventring_ring_info full = {.blocks = evr_metadata_blocks(&c->meta, slot, ring)};
  evr_block_cursor_extent(&c->meta, slot, ring, &full);
  full.is_stream = evr_metadata_is_stream(&c->meta, slot, ring);
  if (full.is_stream) full.blocks = (uint32_t)full.blocks_written;
  const struct evr_ring_reader *reader = c->reader[slot * EVENTRING_RINGS + ring];
  if (reader) fill_read(reader, &full);
  return evr_give(info, &full, sizeof full);
}

int eventring_cursor_totals(const eventring_cursor *c, struct eventring_totals *totals) {
  struct eventring_totals full = {0};
  for (unsigned n = 0; n < c->made_count; n++) {
    const struct evr_ring_reader *reader = c->reader[c->made[n]];
    full.missed += reader->missed;
    full.delivered += reader->delivered + reader->in_run;
    full.lost += reader->lost;
    full.torn += reader->torn;
  }
  return evr_give(totals, &full, sizeof full);
}

/* Tells whether a span that seems open after the last event of its ring may have ended:
   its class is off, or was off after the span began. (While a recording is paused, all
   classes are off; the end of a recording is no pause.) */
static bool may_be_over(const struct evr_ring_reader *reader, const struct evr_span *span,
                        const struct eventring_event *event) {
  const struct evr_metadata *meta = reader->blocks.meta;
  const uint64_t its = event->def ? EVENTRING_CLASS_BIT(event->event_class) : UINT64_MAX;
  const uint64_t wanted = meta->control.wanted;
  const bool paused = !(wanted & 1) && meta->status.end_reason != FORMAT_END_SIGNAL;
  if (paused || (event->def && !((wanted | 1) & its))) return true;
  return evr_ring_reader_was_off(reader, its, span->ticks);
}

/* Returns the classes that, according to the log, were switched on after `since`, and so
   were off before that. If entries are missing, any class may be among them. */
static uint64_t switched_on_since(const struct evr_metadata *meta, uint64_t since) {
  const uint32_t end = meta->log.written;
  uint32_t first = end > FORMAT_LOG_ENTRIES ? end - FORMAT_LOG_ENTRIES : 0;
  uint64_t classes = 0;
  for (uint32_t n = first; n != end; n++) {
    const struct format_switch *entry = &meta->control.log[n % FORMAT_LOG_ENTRIES];
    if (entry->number != (uint64_t)n + 1) continue;
    bool is_after = entry->until == UINT64_MAX || evr_metadata_ns(meta, entry->until) > since;
    if (is_after) classes |= n == first && n > 0 ? UINT64_MAX : entry->classes;
  }
  return classes;
}

uint64_t eventring_cursor_classes_off(eventring_cursor *c, uint64_t since_ns) {
  struct evr_metadata *meta = &c->meta;
  uint64_t named = evr_named_classes(meta->header.classes);
  if (evr_metadata_refresh(meta, &c->error) != EVENTRING_OK) return 0;
  uint64_t wanted = meta->control.wanted;
  bool paused = !(wanted & 1) && meta->status.end_reason != FORMAT_END_SIGNAL;
  uint64_t off = paused ? named : ~(wanted | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE));
  return (off | switched_on_since(meta, since_ns)) & named;
}

/* Reports the open spans of one ring. Returns what the callback returned if it ended the
   list, else 0. */
static int report_open_spans(const struct evr_ring_reader *reader,
                           int (*callback)(void *context,
                                           const struct eventring_event *event),
                           void *context) {
  struct evr_span_stack *stack = NULL;
  while ((stack = evr_spans_next(&reader->spans, stack)) != NULL)
    for (uint32_t i = 0; i < stack->count; i++) {
      struct eventring_event event;
      evr_ring_reader_open_span(reader, stack, i, &event);
      if (may_be_over(reader, &stack->span[i], &event)) event.flags |= EVENTRING_MAY_BE_OVER;
      int stop = callback(context, &event);
      if (stop) return stop;
    }
  return 0;
}

int eventring_open_spans(eventring_cursor *c,
                         int (*callback)(void *context,
                                         const struct eventring_event *event),
                         void *context) {
  if (c->busy) return EVENTRING_E_BUSY;
  int status = evr_cursor_prepare_backwards(c);
  if (status != EVENTRING_OK) return status;
  for (unsigned n = 0; n < c->made_count; n++) {
    int stop = report_open_spans(c->reader[c->made[n]], callback, context);
    if (stop) return stop;
  }
  return EVENTRING_OK;
}
