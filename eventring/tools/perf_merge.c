/* SPDX-License-Identifier: MIT */
/* perf_merge.c: puts each sample of perf below the spans that its thread had open at that
 * time.
 *
 * The recording is read in the order of time. Each domain has a list of its open spans,
 * outermost first, of all rings and of all running contexts. Before an event is taken,
 * the samples up to its time are counted, each in the tree of its domain: the spans, and
 * below them the native frames. With the host's class of calls on, spans are the
 * functions of the guest; without it, they are what the program and the runtime record
 * about themselves.
 *
 * The order: a span lies within all spans, of any ring, that were open when it began.
 * When a context is resumed, its spans lie within all spans that are open then, so they
 * move to the end of the list.
 *
 * A sample belongs to the domain that existed at the time of the sample and whose thread
 * has the number in the sample. Samples of other threads of the process are counted in a
 * tree of their own. Both clocks must be CLOCK_MONOTONIC, which perf uses if its options
 * say so. Samples from before a domain's oldest event have a node of their own instead of
 * spans, because the open spans are not known. */
#include "perf_merge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lives.h"
#include "analysis/nearest.h"
#include "sample_tree.h"

static const char too_early[] = "(before the oldest event)";
static const char no_frames[] = "(no native frames)";

enum { MOST_SHOWN = 4 }; /* most names of events in a message */

struct open_span {
  const struct remote_function *name;
  uint64_t context;
  uint8_t ring;
  bool left; /* the span's context does not run */
};

/* A domain. The last life is for threads that are no domains. */
struct life {
  struct eventring_domain_info info;
  struct sample_tree tree;
  struct open_span *spans;
  size_t count;
  size_t left; /* number of spans whose context does not run */
  /* if `settled`, no span of this context in this ring is `left`. So most events need not
     search all spans, which are many in recursive functions */
  uint64_t settled_context;
  uint8_t settled_ring;
  bool settled;
  bool seen; /* an event of the domain was delivered */
};

struct perf_merge {
  const struct perf_merge_options *options;
  struct sample_names names;
  struct perf_text text;
  struct life *lives;
  size_t life_count, next; /* number of lives, and index of the next sample */
  size_t latest[EVENTRING_MAX_DOMAINS]; /* by slot: life of the slot's last event */
  int64_t pid;
  /* number of samples counted in trees, of samples of other processes, and of samples of
     other times */
  uint64_t counted, foreign, outside;
  uint64_t start_ns, end_ns;
  uint64_t lost; /* number of losses */
  char how[1024];
};

/* ---- Domains ------------------------------------------------------------------ */

static void add_life(void *context, const struct eventring_domain_info *info) {
  struct perf_merge *m = context;
  struct life *life = NEED_NEXT(m->lives, m->life_count);
  *life = (struct life){.info = *info};
  sample_tree_open(&life->tree);
}

static void find_lives(struct perf_merge *m, eventring_cursor *cursor) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    eva_each_life(cursor, slot, add_life, m);
  const struct eventring_domain_info others = {.slot = EVENTRING_MAX_DOMAINS,
                                               .name = "other threads"};
  add_life(m, &others);
}

/* Returns the life of a domain, or NULL if its record is gone. */
static struct life *life_of(struct perf_merge *m, uint32_t slot, uint32_t incarnation) {
  struct life *life = &m->lives[m->latest[slot]];
  if (life->info.slot == slot && life->info.incarnation == incarnation) return life;
  for (size_t i = 0; i < m->life_count; i++) {
    life = &m->lives[i];
    if (life->info.slot != slot || life->info.incarnation != incarnation) continue;
    m->latest[slot] = i;
    return life;
  }
  return NULL;
}

static struct life *life_of_sample(struct perf_merge *m, const struct perf_sample *s) {
  for (size_t i = 0; i + 1 < m->life_count; i++) {
    const struct eventring_domain_info *info = &m->lives[i].info;
    if (info->tid == s->tid && info->start_ns <= s->ns &&
        (info->stop_ns == 0 || s->ns <= info->stop_ns))
      return &m->lives[i];
  }
  return &m->lives[m->life_count - 1];
}

static bool was_domain(const struct perf_merge *m, int64_t tid) {
  for (size_t i = 0; i + 1 < m->life_count; i++)
    if (m->lives[i].info.tid == tid) return true;
  return false;
}

/* ---- Samples ------------------------------------------------------------------ */

static uint32_t count_frames(struct perf_merge *m, struct sample_tree *tree, uint32_t node,
                             const struct perf_sample *s) {
  uint32_t depth = s->count;
  for (uint32_t i = 0; m->options->below && i < s->count; i++)
    if (strcmp(m->text.frames[s->first + i]->name, m->options->below) == 0) {
      depth = i;
      break;
    }
  while (depth-- > 0)
    node = sample_tree_child(tree, node,
                             (struct sample_key){.function = m->text.frames[s->first + depth]});
  return node;
}

static void count_sample(struct perf_merge *m, const struct perf_sample *s) {
  struct life *life = life_of_sample(m, s);
  bool is_domain = life->info.slot < EVENTRING_MAX_DOMAINS;
  if (s->pid >= 0 ? s->pid != m->pid : !is_domain && !was_domain(m, s->tid)) {
    m->foreign++;
    return;
  }
  if (s->ns < m->start_ns || s->ns > m->end_ns || (!is_domain && was_domain(m, s->tid))) {
    m->outside++;
    return;
  }
  uint32_t node = 0;
  if (is_domain && !life->seen)
    node = sample_tree_child(&life->tree, node, (struct sample_key){.text = too_early});
  for (size_t i = 0; i < life->count; i++)
    if (!life->spans[i].left)
      node = sample_tree_child(&life->tree, node,
                               (struct sample_key){.function = life->spans[i].name});
  node = count_frames(m, &life->tree, node, s);
  if (node == 0) node = sample_tree_child(&life->tree, 0, (struct sample_key){.text = no_frames});
  life->tree.nodes[node].here++;
  m->counted++;
}

static void count_until(struct perf_merge *m, uint64_t ns) {
  for (; m->next < m->text.count && m->text.samples[m->next].ns < ns; m->next++)
    count_sample(m, &m->text.samples[m->next]);
}

/* ---- Spans -------------------------------------------------------------------- */

static void begin_span(struct perf_merge *m, struct life *life,
                       const struct eventring_event *event) {
  *NEED_NEXT(life->spans, life->count) =
      (struct open_span){.name = sample_name(&m->names, event->name, "", true),
                         .context = event->context, .ring = event->ring};
}

/* Ends the innermost span of the event's context in its ring. */
static void end_span(struct life *life, const struct eventring_event *event) {
  for (size_t i = life->count; i-- > 0;) {
    if (life->spans[i].ring != event->ring || life->spans[i].context != event->context) continue;
    life->count--;
    life->left -= life->spans[i].left;
    memmove(&life->spans[i], &life->spans[i + 1], (life->count - i) * sizeof *life->spans);
    return;
  }
}

static bool is_of(const struct open_span *span, uint8_t ring, uint64_t context) {
  return span->ring == ring && span->context == context;
}

static void leave(struct life *life, uint8_t ring, uint64_t context) {
  life->settled = false;
  for (size_t i = 0; i < life->count; i++)
    if (is_of(&life->spans[i], ring, context) && !life->spans[i].left) {
      life->spans[i].left = true;
      life->left++;
    }
}

/* Moves the spans of a resumed context to the end, in their order. */
static void go_on(struct life *life, uint8_t ring, uint64_t context) {
  size_t moved = 0, kept = 0;
  if (life->left == 0 ||
      (life->settled && life->settled_ring == ring && life->settled_context == context))
    return;
  life->settled = true;
  life->settled_ring = ring;
  life->settled_context = context;
  for (size_t i = 0; i < life->count; i++)
    moved += is_of(&life->spans[i], ring, context) && life->spans[i].left;
  if (moved == 0) return;
  struct open_span *all = need_zeroed(moved, sizeof *all);
  moved = 0;
  for (size_t i = 0; i < life->count; i++) {
    struct open_span *span = &life->spans[i];
    if (is_of(span, ring, context) && span->left) all[moved++] = *span, all[moved - 1].left = false;
    else life->spans[kept++] = *span;
  }
  memcpy(&life->spans[kept], all, moved * sizeof *all);
  life->left -= moved;
  free(all);
}

static int on_event(void *context, const struct eventring_event *event) {
  struct perf_merge *m = context;
  struct life *life = life_of(m, event->domain, event->incarnation);
  count_until(m, event->ns);
  if (!life) return 0;
  life->seen |= !(event->flags & EVENTRING_SYNTHETIC);
  if (event->kind != EVENTRING_BEGIN && event->kind != EVENTRING_END) return 0;
  go_on(life, event->ring, event->context);
  if (event->kind == EVENTRING_BEGIN) begin_span(m, life, event);
  else end_span(life, event);
  return 0;
}

static int on_switch(void *context, const struct eventring_switch *change) {
  struct perf_merge *m = context;
  struct life *life = life_of(m, change->domain, change->incarnation);
  count_until(m, change->ns);
  if (life && change->resumed) go_on(life, change->ring, change->context);
  else if (life) leave(life, change->ring, change->context);
  return 0;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct perf_merge *m = context;
  m->lost += !(loss->flags & EVENTRING_LOST_BEFORE);
  return 0;
}

/* ---- The result --------------------------------------------------------------- */

/* Returns the time that a sample stands for, or 1 if its event does not count time. */
static uint64_t period_of(const struct perf_text *text) {
  if (text->timed == 0 || text->timed < text->count) return 1;
  double mean = text->timed_ns / (double)text->timed;
  return mean >= 1 ? (uint64_t)(mean + 0.5) : 1;
}

/* Appends to a text of `room` bytes; cuts what does not fit. */
static __attribute__((format(printf, 3, 4))) void add(char *text, size_t room,
                                                      const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, room - used, format, arguments);
  va_end(arguments);
}

/* Appends the names of all events, or of the events that are counted. */
static void add_events(char *text, size_t room, const struct perf_text *from, bool all) {
  const bool further = from->further > 0 && (all || !from->wanted);
  size_t shown = 0, more = 0;
  for (size_t i = 0; i < from->event_count; i++) {
    if (!all && !from->events[i].wanted) continue;
    if (shown == MOST_SHOWN) more++;
    else add(text, room, "%s%s", shown++ > 0 ? ", " : "", from->events[i].name);
  }
  if (more > 0 || further) add(text, room, " and %zu%s", more, further ? " or more" : " more");
}

static size_t count_events(const struct perf_text *text) {
  size_t count = text->further > 0 && !text->wanted;
  for (size_t i = 0; i < text->event_count; i++) count += text->events[i].wanted;
  return count;
}

static void describe(struct perf_merge *m, uint64_t period) {
  const size_t room = sizeof m->how, events = count_events(&m->text);
  add(m->how, room, "Samples of perf");
  if (events == 1) {
    add(m->how, room, ", event ");
    add_events(m->how, room, &m->text, false);
    add(m->how, room, ",");
  }
  add(m->how, room, "%s below the spans of the recording", events == 1 ? "" : ",");
  if (m->foreign + m->outside + m->text.passed_over > 0)
    add(m->how, room, " (not counted: %" PRIu64 " of other processes, %" PRIu64
                      " of other times, %" PRIu64 " lines of another form)",
        m->foreign, m->outside, m->text.passed_over);
  if (m->text.unwanted > 0)
    add(m->how, room, "; left out: %" PRIu64 " of other events", m->text.unwanted);
  if (m->lost > 0) add(m->how, room, "; events are missing in %" PRIu64 " places", m->lost);
  if (events > 1) {
    add(m->how, room, "; of several events, counted alike (--perf-event): ");
    add_events(m->how, room, &m->text, false);
  }
  add(m->how, room, "%s",
      period == 1 ? "; their period is no time, so each counts as 1 ns." : ".");
}

static void fill(struct perf_merge *m, enum sample_detail detail, struct time_profile *profile) {
  const uint64_t period = period_of(&m->text);
  describe(m, period);
  *profile = (struct time_profile){.sampled = true, .pid = m->pid, .period_ns = period,
                                   .samples = m->counted, .how = m->how};
  for (size_t i = 0; i < m->life_count; i++) {
    if (m->lives[i].tree.count == 1) continue; /* no samples */
    struct eventring_profile *p = sample_tree_add(&m->lives[i].tree, detail, profile);
    p->slot = m->lives[i].info.slot;
    p->start_ns = m->start_ns;
    p->written_ns = m->end_ns;
    snprintf(p->domain, sizeof p->domain, "%s", m->lives[i].info.name);
  }
}

/* Reports that there is no sample of the given event. */
static void complain_of_event(const struct perf_merge *m) {
  const struct perf_text *text = &m->text;
  struct eva_nearest nearest;
  char names[512] = "";
  if (text->event_count == 0) {
    complain("%s: its samples have no events (perf script -F +event), so none is `%s'",
             m->options->path, m->options->event);
    return;
  }
  eva_nearest_begin(&nearest, m->options->event, strlen(m->options->event));
  for (size_t i = 0; i < text->event_count; i++) eva_nearest_try(&nearest, text->events[i].name);
  add_events(names, sizeof names, text, true);
  if (nearest.word)
    complain("%s: no event `%s'; did you mean `%s'? (there are: %s)", m->options->path,
             m->options->event, nearest.word, names);
  else complain("%s: no event `%s' (there are: %s)", m->options->path, m->options->event, names);
}

static int check(const struct perf_merge *m) {
  const char *path = m->options->path;
  if (m->text.count == 0 && m->text.unwanted > 0) complain_of_event(m);
  else if (m->text.count == 0) complain("%s: no samples as perf script prints them", path);
  else if (m->counted > 0) return STATUS_GO_ON;
  else if (m->foreign == m->text.count)
    complain("%s: none of its samples is of process %" PRId64, path, m->pid);
  else
    complain("%s: none of its samples lies within the recording (perf record -k CLOCK_MONOTONIC)",
             path);
  return STATUS_WRONG;
}

static void read_recording(struct perf_merge *m, struct reader *reader) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  const struct reading reading = {.callbacks = &callbacks, .context = m, .until = UINT64_MAX,
                                  .follow = reader->launched};
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(reader->cursor, &info);
  m->pid = info.pid;
  m->start_ns = info.start_ns;
  m->end_ns = UINT64_MAX;
  find_lives(m, reader->cursor);
  eventring_cursor_switches(reader->cursor, on_switch, m);
  reader_run(reader, &reading);
  count_until(m, UINT64_MAX);
}

int perf_merge(struct perf_merge **merge, struct reader *reader,
               const struct perf_merge_options *options, enum sample_detail detail,
               struct time_profile *profile) {
  struct perf_merge *m = *merge = need_zeroed(1, sizeof *m);
  m->options = options;
  m->text.wanted = options->event;
  if (!perf_text_read(&m->text, &m->names, options->path)) return STATUS_WRONG;
  read_recording(m, reader);
  if (m->text.count > 0) {
    m->start_ns = m->text.samples[0].ns;
    m->end_ns = m->text.samples[m->text.count - 1].ns;
  }
  int status = check(m);
  if (!goes_on(status)) return status;
  fill(m, detail, profile);
  return STATUS_GO_ON;
}

void perf_merge_free(struct perf_merge *m) {
  if (!m) return;
  for (size_t i = 0; i < m->life_count; i++) {
    sample_tree_close(&m->lives[i].tree);
    free(m->lives[i].spans);
  }
  free(m->lives);
  perf_text_free(&m->text);
  sample_names_free(&m->names);
  free(m);
}
