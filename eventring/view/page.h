/* SPDX-License-Identifier: MIT */
/* page.h: the page: its text, which the build has put together (page.awk), and the
 * sections.
 *
 * The sections are first made with all that the parts have. While the page is larger than
 * its limit, the steps of an order are taken, one after the other: each writes one part
 * with less.
 *
 * Errors: those of the stream; page_make says what else. Threads: that of the parts.
 */
#ifndef EVENTRING_VIEW_PAGE_H
#define EVENTRING_VIEW_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "view/part.h"
#include "view/section.h"

/* Returns the size of the text around the sections, or writes the part before
   or behind them. */
size_t page_text_size(void);
void page_put_begin(FILE *out);
void page_put_end(FILE *out);

/* What a page is made of. */
struct page_made {
  const struct page_part *part; /* in the order of the page */
  void *state;
  unsigned level;               /* how much less it has; above part->levels: left out */
  bool is_there;                /* it has a section */
  struct page_section section;
  struct page_left left;
};

struct page_chunk { /* with --full: spans that are not in section `spans` */
  int64_t begin, end; /* times of the page, from the first begin to the last end */
  size_t count;
  struct page_section section;
};

struct page {
  struct page_run *run;
  struct page_made *made;
  size_t count;
  const size_t *order; /* the order of steps: indices of `made` */
  size_t steps;
  struct page_chunk *chunk;
  size_t chunks, chunk_room;
  /* Writes the value of section `head`. */
  void (*head)(const struct page *page, struct eva_json *json);
  struct page_section head_section;
};

/* Makes the sections, so that the page is at most run->limit bytes. Returns 0,
   EVENTRING_E_MEMORY, or EVENTRING_E_LIMIT: even an empty page is too large. */
int page_make(struct page *page);
/* Writes the sections. */
void page_put_sections(const struct page *page, FILE *out);
/* Returns one more chunk, with the name of its section, to be written into;
   NULL: no memory. */
struct page_chunk *page_new_chunk(struct page *page);
/* Returns the size of the page in bytes as it would be now. */
size_t page_size(const struct page *page);
/* Frees the sections (the parts stay). */
void page_free(struct page *page);

#endif
