/* SPDX-License-Identifier: MIT */
/* page.h: makes the page from its text, which the build has put together (page.awk), and
 * the sections.
 *
 * At first the sections have all that the parts have. While the page is larger than its
 * limit, steps are taken in a given order; each writes one part with less content.
 *
 * Errors: those of the stream, and those that page_make returns. Threads: that of the
 * parts.
 */
#ifndef EVENTRING_VIEW_PAGE_H
#define EVENTRING_VIEW_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "view/part.h"
#include "view/section.h"

/* Returns the size of the text around the sections. page_put_begin and page_put_end write
   the text before and behind the sections. */
size_t page_text_size(void);
void page_put_begin(FILE *out);
void page_put_end(FILE *out);

/* What a page is made of. */
struct page_made {
  const struct page_part *part; /* parts, in the order of the page */
  void *state;
  unsigned level;               /* level of reduction; above part->levels if the part is
                                   left out */
  bool is_there;                /* the part has content for a section */
  struct page_section section;
  struct page_left left;
};

struct page_chunk { /* with --full: spans that section `spans` lacks */
  int64_t begin, end; /* times as in the page: from the first begin to the last end */
  size_t count;
  struct page_section section;
};

struct page {
  struct page_run *run;
  struct page_made *made;
  size_t count;
  const size_t *order; /* the steps in their order: indices of `made` */
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
/* Returns a new chunk whose section has its name and can be written into, or NULL when
   out of memory. */
struct page_chunk *page_new_chunk(struct page *page);
/* Returns the size in bytes that the page has with the present sections. */
size_t page_size(const struct page *page);
/* Frees the sections (the parts stay). */
void page_free(struct page *page);

#endif
