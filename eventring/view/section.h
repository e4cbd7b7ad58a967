/* SPDX-License-Identifier: MIT */
/* section.h: a section of the page: JSON that is compressed while it is written, in
 * memory.
 *
 * So its size is known before it is decided whether it stands in the page (page.h), and
 * its JSON, which is some times as large, is never held. DATA.md has the sections and
 * their names.
 *
 *   struct page_section section;
 *   page_section_begin(&section, "head");
 *   eva_json_open_object(&section.json); ...
 *   if (!page_section_end(&section)) ...
 *   page_section_put(&section, out);
 *   page_section_free(&section);
 *
 * Errors: no memory is kept until page_section_end, which says so. Threads: one at a time
 * for a section and its stream.
 */
#ifndef EVENTRING_VIEW_SECTION_H
#define EVENTRING_VIEW_SECTION_H

#include "analysis/json.h"

enum { PAGE_NAME = 48 };

struct page_section {
  char name[PAGE_NAME];
  struct eva_json json;  /* to write into, from begin to end; json.out is its stream */
  unsigned char *bytes;  /* of the gzip stream, once it has ended */
  size_t size, room;
  struct page_deflate *deflate; /* while it is written */
};

/* Can sections be made (zlib)? Else page_section_begin fails. */
bool page_can_compress(void);
/* Begins a section: letters, digits, `:' and `-', fewer than PAGE_NAME. False: no memory;
   there is nothing to end or to free then. */
bool page_section_begin(struct page_section *section, const char *name);
/* Ends what is written into it. A thread may still compress it, for which it stays where
   it is. */
void page_section_close(struct page_section *section);
/* Waits until a section that was closed is all there. False: there was no memory, and it
   is empty. */
bool page_section_wait(struct page_section *section);
/* Both. */
bool page_section_end(struct page_section *section);
/* Drops what was written since the begin, or what it holds. */
void page_section_free(struct page_section *section);

/* The bytes that it takes in the page. */
size_t page_section_size(const struct page_section *section);
/* Writes its element. Errors are those of the stream. */
void page_section_put(const struct page_section *section, FILE *out);

#endif
