/* SPDX-License-Identifier: MIT */
/* autopsy_last.c: the last seconds of a process in a few lines: the longest spans that
 * ended then, and the last events that are neither spans nor counters, by time. These
 * events get at most a third of the lines. Spans within the steps of the collector are
 * left out: `pauses` has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autopsy.h"

static struct note note_of(const struct eventring_event *event) {
  struct note note = {.ns = event->ns, .context = event->context, .domain = event->domain,
                      .depth = event->depth, .id = event->id, .kind = event->kind,
                      .event_class = event->event_class, .payload = event->payload,
                      .name = event->name};
  if (event->kind == EVENTRING_END) {
    note.ns = event->begin_ns;
    note.duration = event->ns - event->begin_ns;
  }
  /* only the first of several values */
  struct eventring_value value = {.payload = EVENTRING_NONE};
  eventring_event_values(event, &value, 1);
  note.payload = value.payload;
  note.value.u = value.value.u;
  if (value.payload == EVENTRING_STRING)
    snprintf(note.text, sizeof note.text, "%.*s",
             (int)eventring_text_fit(value.bytes, value.size, sizeof note.text - 1),
             (const char *)value.bytes);
  return note;
}

/* Keeps the longest spans: a longer one replaces the shortest. */
static void keep_longest(struct notes *notes, const struct note *note) {
  size_t i = 0;
  if (notes->count < notes->most) {
    notes->note[notes->count++] = *note;
    return;
  }
  for (size_t k = 1; k < notes->count; k++)
    if (notes->note[k].duration < notes->note[i].duration) i = k;
  if (notes->count && notes->note[i].duration < note->duration) notes->note[i] = *note;
}

static uint64_t shortest(const struct notes *notes) {
  uint64_t least = UINT64_MAX;
  if (notes->count < notes->most) return 0;
  for (size_t i = 0; i < notes->count; i++)
    if (notes->note[i].duration < least) least = notes->note[i].duration;
  return least;
}

static void keep_newest(struct notes *notes, const struct note *note) {
  if (!notes->most) return;
  notes->note[notes->next++ % notes->most] = *note;
  if (notes->count < notes->most) notes->count++;
}

static bool is_within_step(const struct eventring_event *event) {
  return event->event_class == EVENTRING_CLASS_GC && event->depth > 0;
}

void autopsy_note(struct autopsy *a, const struct eventring_event *event) {
  if (event->flags & EVENTRING_SYNTHETIC) return;
  a->longest_spans.most = (size_t)a->q.top;
  a->newest_points.most = (size_t)a->q.top;
  a->noted++;
  const int64_t took = eventring_event_took(event);
  if (took >= 0 && !is_within_step(event)) {
    if (!a->longest_spans.next || (uint64_t)took > a->longest_spans.next) {
      const struct note note = note_of(event);
      keep_longest(&a->longest_spans, &note);
      a->longest_spans.next = shortest(&a->longest_spans);
    }
  } else if (event->kind >= EVENTRING_INSTANT && event->event_class != EVENTRING_CLASS_GC) {
    const struct note note = note_of(event);
    keep_newest(&a->newest_points, &note);
  }
}

static int longer_first(const void *x, const void *y) {
  const struct note *a = x, *b = y;
  return (a->duration < b->duration) - (a->duration > b->duration);
}

static int newer_first(const void *x, const void *y) {
  const struct note *a = x, *b = y;
  return (a->ns < b->ns) - (a->ns > b->ns);
}

static int older_first(const void *x, const void *y) { return newer_first(y, x); }

void autopsy_sort(struct autopsy *a) {
  struct notes *spans = &a->longest_spans, *points = &a->newest_points;
  size_t most = (size_t)a->q.top, third = most / 3;
  size_t from_points = points->count < third ? points->count : third;
  if (spans->count + from_points < most) from_points = most - spans->count;
  if (from_points > points->count) from_points = points->count;
  qsort(spans->note, spans->count, sizeof *spans->note, longer_first);
  qsort(points->note, points->count, sizeof *points->note, newer_first);
  for (size_t i = 0; i < from_points; i++) a->last[a->lasts++] = points->note[i];
  for (size_t i = 0; i < spans->count && a->lasts < most; i++)
    a->last[a->lasts++] = spans->note[i];
  qsort(a->last, a->lasts, sizeof *a->last, older_first);
}
