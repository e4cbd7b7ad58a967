/* SPDX-License-Identifier: MIT */
/* text.h: texts of a recording, such as names, and foreign text in messages. */
#ifndef EVENTRING_TEXT_H
#define EVENTRING_TEXT_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum evr_text { EVR_TEXT_OK, EVR_TEXT_NOT_UTF8, EVR_TEXT_CONTROL };

/* Checks that a text is UTF-8 without control characters (code points 0 to 31 and 127 to
   159). */
enum evr_text evr_text_check(const char *text, size_t size);
/* Returns the length of the valid UTF-8 sequence at the start of `text`, which has `size`
   bytes; 0 if there is none. */
size_t evr_text_sequence(const char *text, size_t size);
/* Copies at most `room` - 1 bytes of a terminated text, not cutting a UTF-8 sequence;
   returns how many. NULL is an empty text. */
size_t evr_text_copy(char *to, size_t room, const char *from);
/* Makes a copy of foreign text harmless: terminates it, and replaces control characters
   and bytes that are not UTF-8 by '?'. */
void evr_text_clean(char *text, size_t room);
/* Cleans, as evr_text_clean does, a text whose length is known: a 0 byte in it counts as
   a control character. */
void evr_text_clean_bytes(char *text, size_t size);
/* Cleans a text for messages as evr_text_clean does, and also replaces by '?' everything
   that must not reach a terminal (eventring_character_at). */
void evr_text_clean_message(char *text, size_t room);
/* Cleans, as evr_text_clean_bytes does, a text of several lines: newlines and tabs
   stay. */
void evr_text_clean_lines(char *text, size_t size);

#pragma GCC visibility pop

#endif /* EVENTRING_TEXT_H */
