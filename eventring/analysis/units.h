/* units.h: figures and foreign text as people read them. */
#ifndef EVENTRING_TOOL_UNITS_H
#define EVENTRING_TOOL_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Room for any figure below. */
enum { FIGURE = 48 };

/* Each writes into `figure` (FIGURE bytes) and returns it. */
char *duration_text(char *figure, uint64_t ns);   /* "1.234 ms", 4 digits */
char *count_text(char *figure, uint64_t count);   /* "1,234,567" */
char *signed_text(char *figure, int64_t value);   /* "-1,234,567" */
char *double_text(char *figure, double value);    /* "1234.5", 6 digits */
char *bytes_text(char *figure, uint64_t bytes);   /* "1.25 MiB" */
char *percent_text(char *figure, uint64_t part, uint64_t whole); /* "12.34 %" */
char *seconds_text(char *figure, int64_t ns);     /* "12.345678901" */
char *wall_text(char *figure, int64_t ns);        /* "2024-05-01 12:00:00.123" */

/* Copies text with control characters, backslashes and invalid UTF-8 shown as
   \xNN, so that no file can play tricks on a terminal. Returns `safe`; what
   does not fit is cut. 4 * size + 1 bytes are always enough. */
char *printable(char *safe, size_t room, const void *text, size_t size);

/* Length in bytes of the valid UTF-8 sequence at `text`, 0 when invalid.
   size > 0. */
size_t utf8_length(const unsigned char *text, size_t size);

#endif
