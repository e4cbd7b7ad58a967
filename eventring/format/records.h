/* SPDX-License-Identifier: MIT */
/* records.h: what a record consists of, by its kind and type (records.def). */
#ifndef EVENTRING_RECORDS_H
#define EVENTRING_RECORDS_H

#include "format/format.h"

#pragma GCC visibility push(hidden)

enum format_text_what { FORMAT_TEXT_HOST, FORMAT_TEXT_NAME, FORMAT_TEXT_FUNCTION,
                        FORMAT_TEXT_OTHER };

struct format_text { /* a text of a record; size 0 if there is none */
  uint8_t at, size, what;
  uint16_t most;
};

struct format_form {
  uint16_t kind, type, words, behind;
  uint8_t domain, reserved, times[3];
  struct format_text texts[4];
};

/* Returns the form of records of this kind and type, or NULL if they are not known. */
const struct format_form *evr_record_form(unsigned kind, unsigned type);
/* Returns the size in bytes of a text of a record, which must have at least the words of
   its form. */
uint64_t evr_text_bytes(const uint64_t *record, const struct format_text *text);
/* Tells whether a record of `words` words is long enough for the words of its form and
   for its texts. */
bool evr_record_fits(const struct format_form *form, const uint64_t *record, unsigned words);

#pragma GCC visibility pop

#endif /* EVENTRING_RECORDS_H */
