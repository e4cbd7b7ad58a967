/* SPDX-License-Identifier: MIT */
/* otlp_resource.c: describes who has recorded, as a Resource of OTLP. */
#include "export/otlp_resource.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/array.h"

/* ---- Lists ------------------------------------------------------------------------ */

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns a part of a list, without the blanks around it and with each %NN decoded; the
   caller frees it. Returns NULL when out of memory, or with *wrong set if a % is not
   followed by two hexadecimal digits or begins %00. */
static char *decode(const char *text, size_t size, bool *wrong) {
  while (size && (*text == ' ' || *text == '\t')) text++, size--;
  while (size && (text[size - 1] == ' ' || text[size - 1] == '\t')) size--;
  char *decoded = malloc(size + 1), *to = decoded;
  for (size_t i = 0; decoded && i < size; i++) {
    const int high = text[i] == '%' && i + 2 < size ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    if (text[i] == '%' && (low < 0 || !(high | low))) {
      *wrong = true;
      free(decoded);
      return NULL;
    }
    *to++ = text[i] == '%' ? (char)(high << 4 | low) : text[i];
    if (text[i] == '%') i += 2;
  }
  if (decoded) *to = '\0';
  return decoded;
}

/* Returns the index of a key, or `count` if the list lacks it. */
static size_t find(const struct otlp_said *said, const char *key) {
  size_t i = 0;
  while (i < said->count && strcmp(said->pair[i].key, key) != 0) i++;
  return i;
}

static bool has(const struct otlp_said *said, const char *key) {
  return find(said, key) < said->count;
}

/* Adds a pair and takes ownership of both texts. Returns false when out of memory. The
   pairs from index `list` on belong to the same list, in which the last pair with a key
   counts. An empty service.name is not added. */
static bool add(struct otlp_said *said, size_t list, char *key, char *value) {
  const bool has_memory = key && value;
  const size_t at = has_memory ? find(said, key) : 0;
  const bool is_none = has_memory && !*value && strcmp(key, "service.name") == 0;
  const bool is_new = has_memory && !is_none && at == said->count;
  if (is_new && EVR_MAKE_ROOM(said->pair, said->room, said->count, 8)) {
    said->pair[said->count++] = (struct otlp_pair){key, value};
    return true;
  }
  if (has_memory && !is_none && at >= list && at < said->count) {
    char *before = said->pair[at].value;
    said->pair[at].value = value;
    value = before;
  }
  free(key);
  free(value);
  return has_memory && !is_new;
}

static void forget_from(struct otlp_said *said, size_t count) {
  while (said->count > count) {
    said->count--;
    free(said->pair[said->count].key);
    free(said->pair[said->count].value);
  }
}

/* Reads one key and value. Returns false when out of memory, or with *wrong set if the
   pair is wrong. */
static bool read_pair(struct otlp_said *said, size_t list, const char *text, size_t size,
                      bool *wrong) {
  const char *is = memchr(text, '=', size);
  if (!is || is == text) {
    *wrong = true;
    return false;
  }
  char *key = decode(text, (size_t)(is - text), wrong);
  char *value = *wrong ? NULL : decode(is + 1, size - (size_t)(is + 1 - text), wrong);
  if (key && !*key) *wrong = true;
  if (!*wrong) return add(said, list, key, value);
  free(key);
  free(value);
  return false;
}

/* Reads a list. Returns 0, or -1 when out of memory, or 1 if the list is wrong and was
   ignored. */
static int read_list(struct otlp_said *said, const char *list) {
  const size_t before = said->count;
  bool wrong = false;
  while (*list) {
    const size_t size = strcspn(list, ",");
    if (size && !read_pair(said, before, list, size, &wrong)) {
      forget_from(said, before);
      return wrong ? 1 : -1;
    }
    list += size + (list[size] == ',');
  }
  return 0;
}

bool otlp_resource_is_valid(const char *given) {
  struct otlp_said said = {0};
  const int status = read_list(&said, given);
  otlp_said_free(&said);
  return status <= 0;
}

int otlp_said_read(struct otlp_said *said, const char *given, char *error, size_t size) {
  const char *service = getenv("OTEL_SERVICE_NAME"), *list = getenv("OTEL_RESOURCE_ATTRIBUTES");
  int status = given ? read_list(said, given) : 0;
  if (status > 0) snprintf(error, size, "--resource: must be %s", OTLP_RESOURCE_FORM);
  if (status != 0) return -1;
  if (service && !add(said, said->count, strdup("service.name"), strdup(service))) return -1;
  status = list ? read_list(said, list) : 0;
  if (status > 0)
    snprintf(error, size, "OTEL_RESOURCE_ATTRIBUTES is not used: must be %s", OTLP_RESOURCE_FORM);
  return status;
}

void otlp_said_free(struct otlp_said *said) {
  forget_from(said, 0);
  free(said->pair);
  *said = (struct otlp_said){0};
}

/* ---- Attributes ------------------------------------------------------------------- */

static void put(struct otlp_text *t, const struct otlp_said *said, const char *key,
                const char *value) {
  if (!has(said, key)) otlp_attribute_string(t, OTLP_RESOURCE_ATTRIBUTES, key, value);
}

static const char *version(void) {
  static char text[32];
  const unsigned v = eventring_library_version();
  snprintf(text, sizeof text, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
  return text;
}

void otlp_put_resource(struct otlp_text *t, const struct otlp_said *said, const char *program,
                       int64_t pid) {
  char service[EVENTRING_MAX_PROGRAM + 32];
  const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
  snprintf(service, sizeof service, "unknown_service%s%s", *name ? ":" : "", name);
  otlp_open_list(t, OTLP_RESOURCE_ATTRIBUTES);
  put(t, said, "service.name", service);
  for (size_t i = 0; i < said->count; i++)
    otlp_attribute_string(t, OTLP_RESOURCE_ATTRIBUTES, said->pair[i].key, said->pair[i].value);
  if (pid && !has(said, "process.pid"))
    otlp_attribute_int(t, OTLP_RESOURCE_ATTRIBUTES, "process.pid", pid);
  put(t, said, "process.executable.name", name);
  put(t, said, "telemetry.sdk.name", "eventring");
  put(t, said, "telemetry.sdk.language", "c");
  put(t, said, "telemetry.sdk.version", version());
  otlp_close_list(t);
}

void otlp_put_scope(struct otlp_text *t) {
  otlp_string(t, OTLP_SCOPE_NAME, "eventring", strlen("eventring"));
  otlp_string(t, OTLP_SCOPE_VERSION, version(), strlen(version()));
}
