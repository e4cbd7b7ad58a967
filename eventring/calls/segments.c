/* SPDX-License-Identifier: MIT */
/* segments.c: see segments.h. */
#include "calls/segments.h"

static void *element(const struct evc_array *array, struct evc_segment *segment, size_t index) {
  return (char *)(segment + 1) + index * array->element_bytes;
}

void evc_array_init(struct evc_array *array, struct evc_lines *lines, size_t element_bytes) {
  *array = (struct evc_array){
      .lines = lines, .element_bytes = element_bytes,
      .per_segment = (lines->block_bytes - sizeof(struct evc_segment)) / element_bytes};
}

/* Returns the segment after the last one that has elements, or NULL when out of
   memory. */
static struct evc_segment *next_segment(struct evc_array *array) {
  struct evc_segment *kept = array->last ? array->last->after : array->first;
  if (kept) return kept;
  struct evc_segment *made = evc_lines_take(array->lines);
  if (!made) return NULL;
  *made = (struct evc_segment){.before = array->last};
  if (array->last) array->last->after = made;
  else array->first = made;
  return made;
}

void *evc_array_append(struct evc_array *array) {
  size_t index = array->size % array->per_segment;
  if (index == 0) {
    struct evc_segment *segment = next_segment(array);
    if (!segment) return NULL;
    array->last = segment;
  }
  array->size++;
  return element(array, array->last, index);
}

void evc_array_trim(struct evc_array *array, size_t count) {
  while (count > 0 && array->size > 0) {
    size_t here = (array->size - 1) % array->per_segment + 1;
    size_t gone = count < here ? count : here;
    array->size -= gone;
    count -= gone;
    if (gone == here) array->last = array->last->before;
  }
}

void *evc_array_at(const struct evc_array *array, size_t number) {
  if (number >= array->size) return NULL;
  struct evc_segment *segment = array->first;
  for (; number >= array->per_segment; number -= array->per_segment) segment = segment->after;
  return element(array, segment, number);
}

void *evc_array_last(const struct evc_array *array) {
  if (array->size == 0) return NULL;
  return element(array, array->last, (array->size - 1) % array->per_segment);
}

void evc_array_end(struct evc_array *array) {
  while (array->first) {
    struct evc_segment *segment = array->first;
    array->first = segment->after;
    evc_lines_give_back(array->lines, segment);
  }
  array->last = NULL;
  array->size = 0;
}

/* ---- positions --------------------------------------------------------------------- */

/* The segment of a position is that of the element before it, or the first one: so the
   position behind the last element needs no further segment. */

struct evc_position evc_array_begin(struct evc_array *array) {
  return (struct evc_position){array, array->size ? array->first : NULL, 0};
}

struct evc_position evc_array_finish(struct evc_array *array) {
  return (struct evc_position){array, array->last, array->size};
}

struct evc_position evc_position_advance(struct evc_position *position) {
  struct evc_position was = *position;
  if (position->number >= position->array->size) return was;
  if (position->number > 0 && position->number % position->array->per_segment == 0)
    position->segment = position->segment->after;
  position->number++;
  return was;
}

struct evc_position evc_position_go_back(struct evc_position *position) {
  struct evc_position was = *position;
  if (position->number == 0) return was;
  position->number--;
  if (position->number > 0 && position->number % position->array->per_segment == 0)
    position->segment = position->segment->before;
  return was;
}

bool evc_position_equal(struct evc_position a, struct evc_position b) {
  return a.array == b.array && a.number == b.number;
}

void *evc_position_element(struct evc_position position) {
  const struct evc_array *array = position.array;
  if (position.number >= array->size) return NULL;
  size_t index = position.number % array->per_segment;
  struct evc_segment *segment = position.segment;
  if (position.number > 0 && index == 0) segment = segment->after;
  return element(array, segment, index);
}
