/* SPDX-License-Identifier: MIT */
/* variables.c: reads the local variables of a frame of another process.
 *
 * On the stack of the process, a function's variables come after the function itself, in
 * the order in which their scopes begin. No metamethod is called: a table is shown by its
 * address.
 */
#include "remote/variables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOCALS = 4096, STRING_SHOWN = 40 };

/* Writes a string in quotes; all but printable ASCII as \xNN. */
static void show_string(char to[REMOTE_VALUE], const char *bytes, size_t size, size_t whole) {
  size_t at = 0;
  to[at++] = '"';
  for (size_t i = 0; i < size && at < REMOTE_VALUE - 16; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c == '"' || c == '\\') at += (size_t)snprintf(to + at, 5, "\\%c", c);
    else if (c >= ' ' && c < 127) to[at++] = (char)c;
    else at += (size_t)snprintf(to + at, 5, "\\x%02x", c);
  }
  snprintf(to + at, REMOTE_VALUE - at, size < whole ? "\"..." : "\"");
}

static const struct eventring_tag *tag_of(const struct remote_host *host, uint8_t tag) {
  for (int i = 0; i < EVENTRING_MAX_TAGS; i++) {
    const struct eventring_tag *found = &host->at.value.tags[i];
    if (found->kind == EVENTRING_VALUE_UNKNOWN) break;
    if (found->tag == tag) return found;
  }
  return NULL;
}

static void show_value(struct remote_host *host, const unsigned char *bytes,
                       struct remote_variable *variable) {
  const struct eventring_tag *tag = tag_of(host, bytes[host->at.value.tag]);
  uint64_t payload = remote_word(bytes + host->at.value.payload, 8);
  char string[STRING_SHOWN];
  double number;
  const char *type = variable->type = tag != NULL ? tag->text : "?";
  switch (tag != NULL ? tag->kind : EVENTRING_VALUE_UNKNOWN) {
    case EVENTRING_VALUE_NIL: strcpy(variable->text, "nil"); break;
    case EVENTRING_VALUE_FALSE: strcpy(variable->text, "false"); break;
    case EVENTRING_VALUE_TRUE: strcpy(variable->text, "true"); break;
    case EVENTRING_VALUE_INT:
      snprintf(variable->text, sizeof variable->text, "%" PRId64, (int64_t)payload);
      break;
    case EVENTRING_VALUE_FLOAT:
      memcpy(&number, &payload, sizeof number);
      snprintf(variable->text, sizeof variable->text, "%.17g", number);
      break;
    case EVENTRING_VALUE_STRING: {
      size_t whole = remote_string(host, payload, string, sizeof string);
      if (whole == SIZE_MAX) strcpy(variable->text, "(cannot be read)");
      else
        show_string(variable->text, string, whole < sizeof string ? whole : sizeof string, whole);
      break;
    }
    default:
      snprintf(variable->text, sizeof variable->text, "%s: 0x%" PRIx64, type, payload);
  }
}

#define LOCAL(field, size) remote_word(local + at->prototype.field, size)

size_t remote_variables(struct remote_functions *functions, const struct remote_frame *frame,
                        void (*each)(void *closure, const struct remote_variable *variable),
                        void *closure) {
  struct remote_host *host = functions->host;
  const struct eventring_introspection *at = &host->at;
  const struct remote_function *f = frame->function;
  if (f == NULL || f->is_c || frame->pc <= f->code) return 0;
  uint64_t count = remote_word(f->seen + at->prototype.local_count, 4);
  uint64_t address = remote_word(f->seen + at->prototype.locals, 8);
  uint64_t instruction = (frame->pc - f->code) / at->prototype.instruction;
  if (count > MOST_LOCALS) count = MOST_LOCALS;
  if (count == 0 || instruction == 0 || instruction > f->code_count) return 0;
  instruction--;
  unsigned char *locals = malloc(count * at->prototype.local_size), value[64];
  size_t shown = 0;
  if (locals != NULL &&
      remote_read(&host->memory, address, locals, count * at->prototype.local_size))
    for (uint64_t i = 0; i < count; i++) {
      const unsigned char *local = locals + i * at->prototype.local_size;
      struct remote_variable variable;
      if (LOCAL(local_from, 4) > instruction || LOCAL(local_to, 4) <= instruction) continue;
      size_t size = remote_string(host, LOCAL(local_name, 8), variable.name,
                                  sizeof variable.name - 1);
      if (size == SIZE_MAX) size = 0;
      variable.name[size < sizeof variable.name ? size : sizeof variable.name - 1] = '\0';
      if (!remote_read(&host->memory, frame->variables + shown * at->value.size, value,
                       at->value.size))
        break;
      shown++;
      show_value(host, value, &variable);
      each(closure, &variable);
    }
  free(locals);
  return shown;
}
