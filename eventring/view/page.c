/* SPDX-License-Identifier: MIT */
/* page.c: puts the page together from its fixed text and its sections, and reduces the
   sections until the page is within its limit (page.h). */
#include "view/page.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "view/events.h"

/* ---- The text --------------------------------------------------------------------- */

/* page.made is in the build directory; the sections replace its line @SECTIONS@. */
__asm__(".pushsection .rodata\n"
        ".globl page_text_begin, page_text_end\n"
        "page_text_begin:\n"
        ".incbin \"eventring/view/page.made\"\n"
        "page_text_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char page_text_begin[], page_text_end[];

#define MARK "\n@SECTIONS@\n"

static const char *mark(void) {
  const char *at = strstr(page_text_begin, MARK);
  return at ? at + 1 : page_text_end;
}

static const char *behind(void) {
  const char *at = mark();
  return at == page_text_end ? at : at + sizeof MARK - 2;
}

size_t page_text_size(void) {
  return (size_t)(mark() - page_text_begin) + (size_t)(page_text_end - behind());
}

void page_put_begin(FILE *out) {
  fwrite(page_text_begin, 1, (size_t)(mark() - page_text_begin), out);
}

void page_put_end(FILE *out) { fwrite(behind(), 1, (size_t)(page_text_end - behind()), out); }

/* ---- The sections ----------------------------------------------------------------- */

static int make_section(const struct page *page, struct page_made *made) {
  page_section_free(&made->section);
  made->is_there = false;
  made->left = (struct page_left){0};
  if (made->level > made->part->levels) {
    made->left.what = made->part->name;
    made->left.of = 1;
    return EVENTRING_OK;
  }
  if (!page_section_begin(&made->section, made->part->name)) return EVENTRING_E_MEMORY;
  made->is_there = made->part->write(made->state, &made->section.json, made->level, &made->left);
  if (page->run->events->status != EVENTRING_OK) return page->run->events->status;
  if (!made->is_there) page_section_free(&made->section);
  else page_section_close(&made->section);
  return EVENTRING_OK;
}

/* Waits for the sections, which are compressed while the next ones are written. */
static int wait_for_sections(struct page *page, int status) {
  for (size_t i = 0; i < page->count; i++)
    if (page->made[i].is_there && !page_section_wait(&page->made[i].section) &&
        status == EVENTRING_OK)
      status = EVENTRING_E_MEMORY;
  return status;
}

static int make_head(struct page *page) {
  page_section_free(&page->head_section);
  if (!page_section_begin(&page->head_section, "head")) return EVENTRING_E_MEMORY;
  page->head(page, &page->head_section.json);
  return page_section_end(&page->head_section) ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

size_t page_size(const struct page *page) {
  size_t size = page_text_size() + page_section_size(&page->head_section);
  for (size_t i = 0; i < page->count; i++)
    if (page->made[i].is_there) size += page_section_size(&page->made[i].section);
  return size;
}

/* Writes a part at its next level of reduction, and the parts that share its level
   (page_part.with). */
static int lessen(struct page *page, struct page_made *made) {
  const unsigned level = made->level + 1;
  int status = EVENTRING_OK;
  for (size_t i = 0; i < page->count && status == EVENTRING_OK; i++) {
    struct page_made *other = &page->made[i];
    const char *with = other->part->with;
    if (other != made && (!with || strcmp(with, made->part->name) != 0)) continue;
    other->level = level;
    status = make_section(page, other);
  }
  return status;
}

static int make_also(struct page *page, const struct page_part *part) {
  for (size_t i = 0; part && i < page->count; i++)
    if (page->made[i].part == part) return make_section(page, &page->made[i]);
  return EVENTRING_OK;
}

/* Takes the next step of page->order whose part still has a section to reduce. Returns
   false if there is none. */
static bool make_less(struct page *page, size_t *step, int *status) {
  while (*step < page->steps) {
    struct page_made *made = &page->made[page->order[(*step)++]];
    if (!made->is_there) continue;
    *status = lessen(page, made);
    if (*status == EVENTRING_OK) *status = make_also(page, made->part->also);
    *status = wait_for_sections(page, *status);
    return true;
  }
  return false;
}

int page_make(struct page *page) {
  const struct page_run *run = page->run;
  size_t step = 0;
  int status = EVENTRING_OK;
  for (size_t i = 0; i < page->count && status == EVENTRING_OK; i++)
    status = make_section(page, &page->made[i]);
  status = wait_for_sections(page, status);
  if (status == EVENTRING_OK) status = make_head(page);
  while (status == EVENTRING_OK && run->limit && page_size(page) > run->limit) {
    while (status == EVENTRING_OK && page_size(page) > run->limit)
      if (!make_less(page, &step, &status)) return EVENTRING_E_LIMIT;
    /* head has to be written again, since it lists what was left out */
    if (status == EVENTRING_OK) status = make_head(page);
  }
  return status;
}

struct page_chunk *page_new_chunk(struct page *page) {
  char name[PAGE_NAME];
  if (!EVR_MAKE_ROOM(page->chunk, page->chunk_room, page->chunks, 16)) return NULL;
  struct page_chunk *chunk = &page->chunk[page->chunks];
  snprintf(name, sizeof name, "spans:%zu", page->chunks);
  *chunk = (struct page_chunk){0};
  if (!page_section_begin(&chunk->section, name)) return NULL;
  page->chunks++;
  return chunk;
}

void page_put_sections(const struct page *page, FILE *out) {
  page_section_put(&page->head_section, out);
  for (size_t i = 0; i < page->chunks; i++) page_section_put(&page->chunk[i].section, out);
  for (size_t i = 0; i < page->count; i++)
    if (page->made[i].is_there) page_section_put(&page->made[i].section, out);
}

void page_free(struct page *page) {
  for (size_t i = 0; i < page->chunks; i++) page_section_free(&page->chunk[i].section);
  free(page->chunk);
  for (size_t i = 0; i < page->count; i++) page_section_free(&page->made[i].section);
  page_section_free(&page->head_section);
}
