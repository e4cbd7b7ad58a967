/* SPDX-License-Identifier: MIT */
/* records.c: the table of records.def. */
#include "format/records.h"

#include <string.h>

#include "eventring/footprint.h"
#include "eventring/memory.h"

#define REST(...) __VA_ARGS__
#define TEXT(at, size, most, what) {at, size, FORMAT_TEXT_##what, most}
#define RECORD(kind, type, words, rest, ...) \
  {FORMAT_##kind, type, words, REST rest, .texts = {__VA_ARGS__}},
static const struct format_form forms[] = {
#include "format/records.def"
};
#undef RECORD
#undef TEXT
#undef REST

const struct format_form *evr_record_form(unsigned kind, unsigned type) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (forms[i].kind == kind && forms[i].type == type) return &forms[i];
  return NULL;
}

uint64_t evr_text_bytes(const uint64_t *record, const struct format_text *text) {
  uint64_t bytes = 0;
  memcpy(&bytes, (const char *)record + text->at, text->size);
  return bytes;
}

bool evr_record_fits(const struct format_form *form, const uint64_t *record, unsigned words) {
  uint64_t sum = 0;
  if (words < form->words) return false;
  for (unsigned i = 0; i < 4 && form->texts[i].size; i++) {
    uint64_t bytes = evr_text_bytes(record, &form->texts[i]);
    if (bytes > form->texts[i].most) return false;
    sum += bytes;
  }
  return sum <= (words - form->words) * sizeof *record;
}
