/* SPDX-License-Identifier: MIT */
/* section.h: a section of the page: JSON that is compressed while it is written, in
 * memory.
 *
 * So the size of a section is known before page.h decides whether the page has it, and
 * its JSON, which is several times as large, is never stored. DATA.md lists the sections
 * and their names.
 *
 *   struct page_section section;
 *   page_section_begin(&section, "head");
 *   eva_json_open_object(&section.json); ...
 *   if (!page_section_end(&section)) ...
 *   page_section_put(&section, out);
 *   page_section_free(&section);
 *
 * Errors: page_section_end reports if memory has run out at any time. Threads: one at a
 * time for a section and its stream.
 */
#ifndef EVENTRING_VIEW_SECTION_H
#define EVENTRING_VIEW_SECTION_H

#include "analysis/json.h"

enum { PAGE_NAME = 48 };

struct page_section {
  char name[PAGE_NAME];
  struct eva_json json;  /* to write into until close or end; json.out is its stream */
  unsigned char *bytes;  /* the gzip stream, once complete */
  size_t size, room;
  struct page_deflate *deflate; /* NULL unless the section is being written */
};

/* Tells whether sections can be made (needs zlib). If not, page_section_begin fails. */
bool page_can_compress(void);
/* Begins a section. `name`: letters, digits, `:' and `-', fewer than PAGE_NAME. Returns
   false when out of memory; then there is nothing to end or to free. */
bool page_section_begin(struct page_section *section, const char *name);
/* Ends writing into a section. A thread may still compress it, so the struct must not be
   moved. */
void page_section_close(struct page_section *section);
/* Waits until a closed section is complete. Returns false if memory ran out; then the
   section is empty. */
bool page_section_wait(struct page_section *section);
/* Closes a section and waits for it. */
bool page_section_end(struct page_section *section);
/* Discards a section that is being written, or frees a finished one. */
void page_section_free(struct page_section *section);

/* Returns the bytes that a section takes in the page. */
size_t page_section_size(const struct page_section *section);
/* Writes the element of a section. Errors are those of the stream. */
void page_section_put(const struct page_section *section, FILE *out);

#endif
