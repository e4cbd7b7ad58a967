/* SPDX-License-Identifier: MIT */
/* merge_events.c: what one recording has, with other numbers (merge.h has the design). */
#include <stdlib.h>
#include <string.h>

#include "analysis/lives.h"
#include "merge_inside.h"

enum { NO_ID = UINT16_MAX, MOST_NAMESAKES = 99, LINK_SHIFT = 48 };

/* ---- Classes and rings -------------------------------------------------------------- */

/* The library's classes keep their numbers, those of hosts go by their names. */
static unsigned class_for(struct translation *t, unsigned index, const char *name) {
  eventring_encoder *encoder = t->merge->encoder;
  if (eventring_encoder_class(encoder, index, name, NULL) == EVENTRING_OK) return index;
  for (unsigned i = EVENTRING_CLASS_HOST; i < EVENTRING_MAX_CLASSES; i++)
    if (eventring_encoder_class(encoder, i, name, NULL) == EVENTRING_OK) return i;
  complain("%s: there is no number left for class %s; its events are in class user",
           t->source->name, name);
  return EVENTRING_CLASS_USER;
}

static void translate_classes(struct translation *t) {
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_cursor_class(t->cursor, i);
    t->class_to[i] = (uint8_t)(name ? class_for(t, i, name) : EVENTRING_CLASS_USER);
    if (!name) continue;
    bool on = t->source->info.classes >> i & 1;
    *(on ? &t->merge->classes : &t->merge->classes_off) |= EVENTRING_CLASS_BIT(t->class_to[i]);
  }
}

static void translate_rings(struct translation *t) {
  struct merge *merge = t->merge;
  for (unsigned i = 0; i < EVENTRING_RINGS; i++) {
    const char *name = eventring_cursor_ring_name(t->cursor, i);
    if (!name) continue;
    if (!merge->has_ring[i]) {
      merge->has_ring[i] = true;
      snprintf(merge->ring[i], sizeof merge->ring[i], "%s", name);
    } else if (strcmp(merge->ring[i], name) != 0) {
      merge->ring[i][0] = 0;
    }
    eventring_encoder_ring(merge->encoder, i, merge->ring[i][0] ? merge->ring[i] : NULL, NULL);
  }
}

/* ---- Definitions -------------------------------------------------------------------- */

/* A name that another definition has gets a number behind it. */
static int define(struct translation *t, const struct eventring_def *from) {
  struct eventring_def def = *from;
  char name[EVENTRING_MAX_NAME + 1];
  def.event_class = t->class_to[from->event_class];
  int id = eventring_encoder_define(t->merge->encoder, &def, &t->error);
  for (unsigned n = 2; n <= MOST_NAMESAKES; n++) {
    bool is_taken = id >= 0 && id != EVENTRING_ID_OTHER && t->taken[id];
    if (id != EVENTRING_E_CONFLICT && !is_taken) break;
    size_t kept = eventring_text_fit(from->name, strlen(from->name), EVENTRING_MAX_NAME - 5);
    snprintf(name, sizeof name, "%.*s (%u)", (int)kept, from->name, n);
    def.name = name;
    id = eventring_encoder_define(t->merge->encoder, &def, &t->error);
  }
  if (id >= 0) t->error.code = 0;
  return id;
}

int merge_id(struct translation *t, const struct eventring_def *def) {
  uint16_t *to = &t->known[def->id];
  if (__builtin_expect(*to != NO_ID, 1)) return *to;
  int id = define(t, def);
  if (id < 0) return id;
  t->taken[id] = true;
  return *to = (uint16_t)id;
}

static int translate_unknown(struct translation *t, unsigned id) {
  uint16_t *to = &t->unknown[id];
  if (*to != NO_ID) return *to;
  int made = eventring_encoder_reserve(t->merge->encoder, &t->error);
  return made < 0 ? made : (*to = (uint16_t)made);
}

/* ---- Domains ------------------------------------------------------------------------ */

bool merge_slot_is_placed(struct translation *t, unsigned number) {
  struct merge_slot *slot = &t->source->slot[number];
  if (slot->placed) return true;
  if (!slot->used) { /* it was made after the survey, or is not in the table of domains */
    *slot = (struct merge_slot){.used = true, .newest = 1, .last_ns = UINT64_MAX,
                                .first_ns = t->source->info.start_ns};
  }
  if (merge_place(t->merge, t->source, number)) return true;
  t->stopped = true;
  return false;
}

/* Of one process: what its recording says. */
static unsigned process_of(const struct translation *t, unsigned process) {
  if (!t->source->processes) return t->source->first_process + 1;
  return process ? t->source->first_process + process : 0;
}

/* Where others went on, a domain has stopped with its process. */
static void end_with_process(const struct translation *t, struct eventring_domain_info *life) {
  if (t->merge->keeps_names || !life->alive || !t->source->end_ns) return;
  life->alive = false;
  life->stop_ns = t->source->end_ns;
}

static void encode_life(void *context, const struct eventring_domain_info *life) {
  struct translation *t = context;
  const struct merge_source *source = t->source;
  const struct merge_slot *slot = &source->slot[life->slot];
  struct eventring_domain_info to = *life;
  struct eventring_process process;
  const char *program = source->info.program;
  pid_t pid = source->info.pid;
  if (t->error.code || life->incarnation > UINT32_MAX - slot->before) return;
  if (life->process && eventring_cursor_process(t->cursor, life->process, &process) == 0)
    program = process.program, pid = process.pid;
  to.slot = slot->to;
  to.incarnation += slot->before;
  to.process = process_of(t, life->process);
  end_with_process(t, &to);
  to.start_ns = merge_time(t->merge, source, life->start_ns);
  to.stop_ns = to.alive ? 0 : merge_time(t->merge, source, to.stop_ns);
  if (!to.alive && to.stop_ns < to.start_ns) to.stop_ns = to.start_ns;
  merge_domain_name(t->merge, source, program, pid, life->name, to.name);
  t->merge->result->domains++;
  if (eventring_encoder_domain(t->merge->encoder, &to, &t->error) == EVENTRING_OK)
    t->error.code = 0;
}

static void encode_domains(struct translation *t) {
  t->error.code = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS && !t->stopped; slot++)
    if (t->source->slot[slot].used && merge_slot_is_placed(t, slot))
      eva_each_life(t->cursor, slot, encode_life, t);
}

/* ---- Events ------------------------------------------------------------------------- */

/* Payloads that are numbers of the recording. */
static void translate_value(struct translation *t, const struct eventring_event *from,
                            struct eventring_event *to) {
  const struct eventring_def *def = from->def;
  bool is_number = from->payload == EVENTRING_INT || from->payload == EVENTRING_UINT;
  if (!is_number || !def || !def->unit || !def->unit[0]) return;
  if (strcmp(def->unit, EVENTRING_UNIT_ID) == 0 && from->value.u < EVENTRING_MAX_EVENTS) {
    const struct eventring_def *named = eventring_cursor_def(t->cursor, (unsigned)from->value.u);
    int id = named ? merge_id(t, named) : translate_unknown(t, (unsigned)from->value.u);
    if (id >= 0) to->value.i = id;
  } else if (def->kind == EVENTRING_DEF_LIFECYCLE && strcmp(def->unit, "incarnation") == 0) {
    to->value.u += t->source->slot[from->domain].before;
  }
}

static int encode_event(void *context, const struct eventring_event *event) {
  struct translation *t = context;
  struct eventring_event to = *event;
  uint64_t sample[EVENTRING_SAMPLE_WORDS];
  const struct merge_slot *slot = &t->source->slot[event->domain];
  if (__builtin_expect(!slot->placed, 0) && !merge_slot_is_placed(t, event->domain)) return 1;
  int id = event->flags & EVENTRING_UNKNOWN ? translate_unknown(t, event->id)
                                            : merge_id(t, event->def);
  if (id < 0) return 1;
  to.id = (uint16_t)id;
  to.domain = slot->to;
  to.incarnation += slot->before;
  to.ns = merge_time(t->merge, t->source, event->ns);
  if (event->flags & EVENTRING_SYNTHETIC)
    to.begin_ns = merge_time(t->merge, t->source, event->begin_ns);
  if (event->kind == EVENTRING_LINKED && !t->merge->options->shared_links)
    to.link += (uint64_t)t->source->first_process << LINK_SHIFT;
  if (to.context == UINT64_MAX) to.context--; /* of no program that uses the library */
  if (event->payload == EVENTRING_INT || event->payload == EVENTRING_UINT)
    translate_value(t, event, &to);
  else if (event->payload == EVENTRING_SAMPLE) merge_sample(t, event, &to, sample);
  else if (event->payload == EVENTRING_STACK_ID) to.value.u = merge_stack(t, event->value.u);
  if (t->error.code) return 1;
  return eventring_encoder_event(t->merge->encoder, &to, &t->error) == EVENTRING_OK ? 0 : 1;
}

static int encode_loss(void *context, const struct eventring_loss *loss) {
  struct translation *t = context;
  struct eventring_loss to = *loss;
  if (!merge_slot_is_placed(t, loss->domain)) return 1;
  to.domain = t->source->slot[loss->domain].to;
  to.incarnation += t->source->slot[loss->domain].before;
  to.ns = merge_time(t->merge, t->source, loss->ns);
  return eventring_encoder_lost(t->merge->encoder, &to, &t->error) == EVENTRING_OK ? 0 : 1;
}

/* ---- Processes ---------------------------------------------------------------------- */

static void put_one_process(struct translation *t, struct eventring_process *p) {
  p->start_ns = merge_time(t->merge, t->source, p->start_ns);
  if (p->end_ns) p->end_ns = merge_time(t->merge, t->source, p->end_ns);
  if (p->error_ns) p->error_ns = merge_time(t->merge, t->source, p->error_ns);
  p->shift_ns += t->source->shift_ns;
  if (eventring_encoder_process(t->merge->encoder, p, &t->error) >= 0) t->error.code = 0;
}

/* The name as given, its end if it is too long; what is no text in it becomes '?'. */
static void put_source_name(const char *name, char *to) {
  size_t size = strlen(name), at = size > EVENTRING_MAX_SOURCE ? size - EVENTRING_MAX_SOURCE : 0;
  while (at < size) {
    struct eventring_character c = eventring_character_at(name + at, size - at);
    if (c.printable) memcpy(to, name + at, c.size);
    else memset(to, '?', c.size);
    at += c.size, to += c.size;
  }
  *to = 0;
}

static void encode_process(struct translation *t, const struct eventring_totals *totals) {
  const struct eventring_info *info = &t->source->info;
  struct eventring_process p = {
      .pid = info->pid, .liveness = info->liveness, .end_reason = info->end_reason,
      .end_detail = info->end_detail, .start_ns = info->start_ns, .end_ns = info->end_ns,
      .start_wall_ns = info->start_wall_ns, .error_ns = info->error_ns,
      .events = totals->delivered, .missed = totals->missed, .lost = totals->lost};
  memcpy(p.program, info->program, sizeof p.program);
  memcpy(p.error_text, info->error_text, sizeof p.error_text);
  put_source_name(t->source->name, p.source);
  put_one_process(t, &p);
}

static void encode_processes(struct translation *t, const struct eventring_totals *totals) {
  struct eventring_process p;
  if (!t->source->processes) encode_process(t, totals);
  for (unsigned n = 1; n <= t->source->processes && !t->error.code; n++)
    if (eventring_cursor_process(t->cursor, n, &p) == 0) put_one_process(t, &p);
}

/* ---- A recording -------------------------------------------------------------------- */

static void add_totals(struct translation *t, const struct eventring_totals *totals) {
  struct merge_result *result = t->merge->result;
  struct eventring_info *end = &t->merge->end;
  const struct eventring_info *info = &t->source->info;
  uint64_t end_ns = info->end_ns ? merge_time(t->merge, t->source, info->end_ns) : 0;
  result->events += totals->delivered;
  result->missed += totals->missed;
  result->lost += totals->lost;
  if (end_ns > end->end_ns) end->end_ns = end_ns;
  end->names_dropped += info->names_dropped;
  end->lives_dropped += info->lives_dropped;
  end->events_dropped += info->events_dropped;
}

static void encode_all(struct translation *t, struct reader *reader) {
  const struct eventring_callbacks callbacks = {encode_event, encode_loss};
  const struct reading reading = {.callbacks = &callbacks, .context = t, .until = UINT64_MAX};
  struct eventring_totals totals;
  translate_classes(t);
  translate_rings(t);
  encode_domains(t);
  if (t->error.code || t->stopped) return;
  reader_read(reader, &reading);
  eventring_cursor_totals(t->cursor, &totals);
  if (t->error.code || t->stopped) return;
  merge_profiles(t);
  if (t->error.code || t->stopped) return;
  encode_processes(t, &totals);
  add_totals(t, &totals);
}

int merge_encode(struct merge *merge, struct merge_source *source) {
  struct reader reader;
  int status = reader_open_target(&reader, source->name, EVENTRING_OPEN_FOLLOW);
  if (status >= 0) return status;
  struct translation *t = need_zeroed(1, sizeof *t);
  t->merge = merge;
  t->source = source;
  t->cursor = reader.cursor;
  memset(t->known, 0xff, sizeof t->known);
  memset(t->unknown, 0xff, sizeof t->unknown);
  encode_all(t, &reader);
  if (t->error.code) complain("%s: %s", source->name, t->error.text);
  if (t->error.code || t->stopped) status = STATUS_WRONG;
  merge->result->damaged |= reader.failed;
  reader.failed = false;
  merge_memory_free(t);
  free(t);
  return reader_close(&reader, status);
}
