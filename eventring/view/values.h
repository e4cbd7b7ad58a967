/* SPDX-License-Identifier: MIT */
/* values.h: keeps the values of instants and of begins of spans as they were recorded,
 * until the page is written; and section `texts`, which has them as commands print them.
 *
 * All who keep a value share it. Errors: NULL or -1 when out of memory. A value that was
 * not kept counts as not known. Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_VALUES_H
#define EVENTRING_VIEW_VALUES_H

#include "view/part.h"

/* The memory of one thread for values that live briefly. A zeroed struct is empty. */
struct page_values {
  struct page_value *unused; /* a list of free items */
  struct page_value_slab *slabs;
};

struct page_said { /* a value as in an event */
  const struct eventring_def *def;
  uint64_t value;
  uint32_t size; /* size of the bytes, which follow this struct */
  uint8_t payload;
};

struct page_value {
  union {
    struct page_values *values; /* NULL if the value has memory of its own */
    struct page_value *next;    /* the next unused item */
  };
  uint32_t users;
  int32_t text; /* index in `texts`; -1 if not made yet, or none */
  struct page_said said;
};

enum {
  PAGE_MOST_VALUE = 4096, /* most bytes of a value that is kept */
  PAGE_VALUE_ITEM = 64   /* bytes of a value that is short, with its bytes */
};
/* Returns the value of an event that has one; the caller puts its bytes behind it. */
static inline struct page_said page_said_of(const struct eventring_event *event) {
  return (struct page_said){.def = event->def, .value = event->value.u,
                            .size = (uint32_t)(event->bytes ? event->size : 0),
                            .payload = event->payload};
}
/* Copies a value into `values`; reads up to PAGE_VALUE_ITEM bytes from `from`. Returns
   NULL if it is too long, or there is no memory. The caller is its user. */
struct page_value *page_value_copy(struct page_values *values, const struct page_said *from);
/* Keeps the value of an event in memory of its own. Returns NULL if it has none, it is
   too long, or there is no memory. The caller is its user. */
struct page_value *page_value_keep(const struct eventring_event *event);
/* Frees all values in it, even if they have users. */
void page_values_free(struct page_values *values);
static inline struct page_value *page_value_use(struct page_value *value) {
  if (value) value->users++;
  return value;
}
/* Frees a value that has no more users. */
void page_value_let_go(struct page_value *value);
static inline void page_value_drop(struct page_value *value) {
  if (value && --value->users == 0) page_value_let_go(value);
}

/* Prints a value as commands print the value of an event. Prints nothing for NULL. */
void page_value_print(const struct page_run *run, const struct page_value *value, FILE *out);

/* The users of texts. A text that no user shows any more is left out of the section. */
enum page_text_user { PAGE_TEXTS_OF_SPANS = 1, PAGE_TEXTS_OF_INSTANTS = 2 };
struct page_texts;
extern const struct page_part page_part_texts;
struct page_texts *page_texts_new(struct page_run *run);
void page_texts_free(struct page_texts *texts);
/* Forgets the texts of a user, which begins anew. */
void page_texts_forget(struct page_texts *texts, enum page_text_user user);
/* Returns the index of the text of a value, or -1 if there is none, or no room. NULL is
   allowed. */
int page_text_of(struct page_texts *texts, struct page_value *value, enum page_text_user user);

#endif
