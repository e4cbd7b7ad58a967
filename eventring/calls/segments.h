/* SPDX-License-Identifier: MIT */
/* segments.h: an array in segments that never moves its elements.
 *
 * The segments are blocks of an allocator (lines.h), which several arrays may share. The
 * array grows and shrinks only at its end; segments that become empty are kept for the
 * next elements.
 */
#ifndef EVENTRING_SEGMENTS_H
#define EVENTRING_SEGMENTS_H

#include "calls/lines.h"

#pragma GCC visibility push(hidden)

struct evc_segment {
  struct evc_segment *before, *after;
};

struct evc_array {
  struct evc_lines *lines;
  size_t element_bytes, per_segment; /* per_segment: elements of a segment, at least 1 */
  size_t size;
  struct evc_segment *first, *last; /* `last` is the last segment with elements; NULL if
                                       there is none */
};

/* A position: between two elements, or at an end. */
struct evc_position {
  struct evc_array *array;
  struct evc_segment *segment;
  size_t number;
};

/* Begins an array. The blocks of `lines` have room for an element and two pointers at
   least. */
void evc_array_init(struct evc_array *array, struct evc_lines *lines, size_t element_bytes);
/* Returns room for one more element, not initialised. Returns NULL when out of memory,
   with nothing changed. */
void *evc_array_append(struct evc_array *array);
/* Removes the last `count` elements, or all. */
void evc_array_trim(struct evc_array *array, size_t count);
/* Returns an element, or the last one, or NULL if there is none. */
void *evc_array_at(const struct evc_array *array, size_t number);
void *evc_array_last(const struct evc_array *array);
/* Gives all memory back to the allocator. */
void evc_array_end(struct evc_array *array);

/* Returns the position before the first element, or behind the last one. */
struct evc_position evc_array_begin(struct evc_array *array);
struct evc_position evc_array_finish(struct evc_array *array);
/* Moves a position by one, not beyond the ends, and returns the former position. */
struct evc_position evc_position_advance(struct evc_position *position);
struct evc_position evc_position_go_back(struct evc_position *position);
bool evc_position_equal(struct evc_position a, struct evc_position b);
/* Returns the element behind the position, or NULL if the position is at the end. */
void *evc_position_element(struct evc_position position);

#pragma GCC visibility pop

#endif /* EVENTRING_SEGMENTS_H */
