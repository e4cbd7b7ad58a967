/* SPDX-License-Identifier: MIT */
/* redact.c: see redact.h. */
#include "producer/redact.h"

#include <stdlib.h>
#include <string.h>

#include "format/error.h"
#include "producer/classes.h"
#include "producer/traces.h"

enum { MOST_LIST = 4095 };

static char list[MOST_LIST + 1]; /* guarded by the mutex; "" if none */

bool evr_take_quoted(const char **at, char *name, size_t room, size_t *size) {
  const char *from = *at + 1;
  *size = 0;
  for (; *from && *from != '"'; from++) {
    if (*from == '\\' && from[1]) from++;
    if (*size < room) name[*size] = *from;
    ++*size;
  }
  if (*from != '"' || (from[1] && from[1] != ',')) return false;
  *at = from + 1;
  return true;
}

/* Reads one item of the list, if it is a name, and stores its size in *size. Returns
   false if the item is a class, or not valid. */
static bool take_name(const char **at, char *name, size_t *size) {
  return **at == '"' && evr_take_quoted(at, name, EVENTRING_MAX_NAME + 1, size) && *size > 0 &&
         *size <= EVENTRING_MAX_NAME + 1;
}

/* Checks that an event can have this name, where a * at its end stands for any ending. */
static int check_item(const char *name, size_t size, struct eventring_error *error) {
  const char *star = memchr(name, '*', size);
  if (star && star != name + size - 1)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "a * must be at the end of a name");
  if (star && size == 1) return EVENTRING_OK;
  struct eventring_error cause;
  if (eventring_check_name(name, star ? size - 1 : size, &cause) == EVENTRING_OK)
    return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_CONFIG, 0, "%.200s", cause.text);
}

static int take_class(const char **at, uint64_t *classes, struct eventring_error *error) {
  const size_t size = strcspn(*at, ",");
  const int index = evr_class_by_bytes(*at, size);
  if (index == EVENTRING_CLASS_LIFECYCLE)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "class `lifecycle' is always recorded");
  if (index < 0 && (**at == '"' || !evr_class_is_standard(*at, size)))
    return evr_fail(error, EVENTRING_E_CONFIG, 0,
                    "`%.*s' is no class of this program (a name has quotes around it)",
                    (int)(size < 100 ? size : 100), *at);
  if (index >= 0) *classes |= EVENTRING_CLASS_BIT(index); /* else this process has no such
                                                             class */
  *at += size;
  return EVENTRING_OK;
}

int evr_redact_parse(const char *text, uint64_t *classes, struct eventring_error *error) {
  char name[EVENTRING_MAX_NAME + 1];
  size_t size;
  *classes = 0;
  if (text && strlen(text) > MOST_LIST)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "the list has more than %d bytes", MOST_LIST);
  int status = EVENTRING_OK;
  for (const char *at = text ? text : ""; status == EVENTRING_OK && *at; at += *at == ',')
    status = take_name(&at, name, &size) ? check_item(name, size, error)
                                         : take_class(&at, classes, error);
  return status;
}

void evr_redact_set_locked(const char *text) {
  if (text != list) strcpy(list, text ? text : "");
}

const char *evr_redact_list_locked(void) { return list[0] ? list : NULL; }

static bool is_meant(const char *item, size_t size, const char *name, size_t name_size) {
  if (item[size - 1] != '*') return size == name_size && memcmp(item, name, size) == 0;
  return name_size >= size - 1 && memcmp(item, name, size - 1) == 0;
}

bool evr_redact_has_locked(unsigned kind, unsigned event_class, unsigned payload,
                           const char *name) {
  if (!evr_redact_concerns(event_class) || evr_traces_is_event(kind, event_class, payload, name))
    return false;
  const size_t size = strlen(name);
  char item[EVENTRING_MAX_NAME + 1];
  size_t item_size;
  for (const char *at = list; *at; at += *at == ',') {
    if (!take_name(&at, item, &item_size)) at += strcspn(at, ",");
    else if (is_meant(item, item_size, name, size)) return true;
  }
  return false;
}
