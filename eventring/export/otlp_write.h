/* SPDX-License-Identifier: MIT */
/* otlp_write.h: writes messages of OTLP, as protocol buffers or as JSON. The two
 * forms use one table of fields (otlp.def), so they have the same content.
 *
 * A text is a part of a message: a sequence of members. In JSON a comma precedes each
 * member but the first of a text. Texts may be joined to one message (otlp_join).
 *
 * Strings become valid UTF-8. Errors: no memory, which the text keeps (`failed`).
 * Threads: one at a time for a text.
 */
#ifndef EVENTRING_EXPORT_OTLP_WRITE_H
#define EVENTRING_EXPORT_OTLP_WRITE_H

#include "eventring/read.h"
#include "export/protobuf.h"

enum otlp_field {
#define OTLP(id, number, json, type) OTLP_##id,
#include "export/otlp.def"
  OTLP_FIELDS
};

/* Empty if all but `is_json` is zeroed. `b.data` is to be freed. */
struct otlp_text {
  struct protobuf b;
  bool is_json;
};

/* Begins a message within a message, and returns what otlp_close needs to end it. */
size_t otlp_open(struct otlp_text *t, enum otlp_field field);
void otlp_close(struct otlp_text *t, size_t begin);
/* Begins or ends a list of messages of one field; each message is written between
   otlp_item and otlp_close. A list must not be empty. */
void otlp_open_list(struct otlp_text *t, enum otlp_field field);
size_t otlp_item(struct otlp_text *t, enum otlp_field field);
void otlp_close_list(struct otlp_text *t);

void otlp_string(struct otlp_text *t, enum otlp_field field, const void *text, size_t size);
void otlp_bytes(struct otlp_text *t, enum otlp_field field, const void *bytes, size_t size);
/* Puts a number of any type but DOUBLE; signed numbers as two's complement. */
void otlp_number(struct otlp_text *t, enum otlp_field field, uint64_t value);
void otlp_double(struct otlp_text *t, enum otlp_field field, double value);

/* Puts an element of a list of strings (otlp_open_list). */
void otlp_string_item(struct otlp_text *t, enum otlp_field field, const char *text);
/* Begins, fills or ends a packed list of numbers of one field: otlp_pack adds a number
   while the list is open. */
size_t otlp_open_packed(struct otlp_text *t, enum otlp_field field);
void otlp_pack(struct otlp_text *t, enum otlp_field field, uint64_t value);
void otlp_pack_double(struct otlp_text *t, double value);
void otlp_close_packed(struct otlp_text *t, size_t begin);

/* Appends members of the same message. */
void otlp_join(struct otlp_text *t, const void *members, size_t size);

/* ---- Attributes: items of the list `field` ---------------------------------------- */

void otlp_attribute_text(struct otlp_text *t, enum otlp_field field, const char *key,
                         const void *text, size_t size);
static inline void otlp_attribute_string(struct otlp_text *t, enum otlp_field field,
                                         const char *key, const char *text) {
  otlp_attribute_text(t, field, key, text, strlen(text));
}
void otlp_attribute_int(struct otlp_text *t, enum otlp_field field, const char *key,
                        int64_t value);
void otlp_attribute_bool(struct otlp_text *t, enum otlp_field field, const char *key, bool value);
/* Puts the payload of an event, or nothing if it has none. A number that is the id of a
   definition (EVENTRING_UNIT_ID) becomes its name. */
void otlp_attribute_payload(struct otlp_text *t, enum otlp_field field, const char *key,
                            const eventring_cursor *cursor, const struct eventring_event *event);

#endif
