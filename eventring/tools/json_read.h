/* SPDX-License-Identifier: MIT */
/* json_read.h: a pull reader of JSON (RFC 8259) in memory: what commands printed with --json.
 *
 * The text is foreign: each step checks it, and the first fault ends reading (`bad`). The
 * caller asks for what it expects:
 *
 *   for (json_open(in, '{'); json_key(in, key, sizeof key);)
 *     if (strcmp(key, "count") == 0) count = json_number(in);
 *     else json_skip(in);
 *
 * Threads: one at a time for a reader.
 */
#ifndef EVENTRING_TOOL_JSON_READ_H
#define EVENTRING_TOOL_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

struct json_in {
  const char *start, *at, *end;
  bool bad;   /* at `at` is not what was expected; all that follows does nothing */
  bool first; /* of the innermost container nothing was read yet */
};

void json_begin(struct json_in *in, const char *text, size_t size);

/* Into a container, '{' or '['. */
void json_open(struct json_in *in, char bracket);
/* The next key of the innermost object, of which the value comes next; keys that are longer are
   cut. False: it has ended, or `bad`. */
bool json_key(struct json_in *in, char *key, size_t room);
/* Is there another item in the innermost array, which comes next? */
bool json_item(struct json_in *in);

/* The next value. Of another kind: `bad`, and 0 or "". A string is UTF-8 and is cut between
   characters; a NUL in it ends it. */
double json_number(struct json_in *in);
void json_string(struct json_in *in, char *text, size_t room);
/* Whatever it is, 64 containers deep at most. */
void json_skip(struct json_in *in);

/* Nothing but white space follows, and nothing was bad. */
bool json_end(struct json_in *in);

#endif
