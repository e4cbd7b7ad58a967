/* SPDX-License-Identifier: MIT */
/* values.c: values of spans and instants, and section `texts`. */
#include "view/values.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/table.h"
#include "view/events.h"

enum {
  MOST_TEXTS = 16 << 20, /* bytes of all texts */
  LEVELS = 3
};

/* ---- Values ----------------------------------------------------------------------- */

/* An item has room for the bytes of short texts; longer ones have memory of their own. */
enum { ITEM = PAGE_VALUE_ITEM, SHORT = ITEM - sizeof(struct page_value), ITEMS = 255 };

struct page_value_slab {
  struct page_value_slab *next;
  _Alignas(struct page_value) char item[ITEMS][ITEM];
};

static bool add_slab(struct page_values *values) {
  struct page_value_slab *slab = malloc(sizeof *slab);
  if (!slab) return false;
  slab->next = values->slabs;
  values->slabs = slab;
  for (size_t i = ITEMS; i-- > 0;) {
    struct page_value *value = (struct page_value *)slab->item[i];
    value->next = values->unused;
    values->unused = value;
  }
  return true;
}

/* Takes an unused item. Returns NULL when out of memory. */
static struct page_value *take_item(struct page_values *values) {
  if (__builtin_expect(!values->unused, 0) && !add_slab(values)) return NULL;
  struct page_value *value = values->unused;
  values->unused = value->next;
  return value;
}

void page_values_free(struct page_values *values) {
  for (struct page_value_slab *slab = values->slabs, *next; slab; slab = next) {
    next = slab->next;
    free(slab);
  }
  *values = (struct page_values){0};
}

static struct page_value *keep_alone(const struct page_said *from, const void *bytes) {
  if (from->size > PAGE_MOST_VALUE) return NULL;
  struct page_value *value = malloc(sizeof *value + from->size);
  if (!value) return NULL;
  *value = (struct page_value){.users = 1, .text = -1, .said = *from};
  if (from->size) memcpy(value + 1, bytes, from->size);
  return value;
}

struct page_value *page_value_keep(const struct eventring_event *event) {
  if (event->payload == EVENTRING_NONE) return NULL;
  const struct page_said said = page_said_of(event);
  return keep_alone(&said, event->bytes);
}

struct page_value *page_value_copy(struct page_values *values, const struct page_said *from) {
  if (__builtin_expect(from->size > SHORT, 0)) return keep_alone(from, from + 1);
  struct page_value *value = take_item(values);
  if (!value) return NULL;
  value->values = values;
  value->users = 1;
  value->text = -1;
  memcpy(&value->said, from, ITEM - offsetof(struct page_value, said));
  return value;
}

void page_value_let_go(struct page_value *value) {
  struct page_values *values = value->values;
  if (!values) {
    free(value);
    return;
  }
  value->next = values->unused;
  values->unused = value;
}

void page_value_print(const struct page_run *run, const struct page_value *value, FILE *out) {
  if (!value) return;
  const struct page_said *said = &value->said;
  const struct eventring_event event = {.def = said->def, .value.u = said->value,
                                        .payload = said->payload, .size = said->size,
                                        .bytes = value + 1};
  run->print_value(out, run->cursor, &event);
}

/* ---- Texts ------------------------------------------------------------------------ */

struct text {
  char *text;
  uint8_t users;
};

struct page_texts {
  struct page_run *run;
  struct text *text;
  size_t count, room, bytes;
  struct evr_table table; /* maps a text to its index plus 1 */
};

struct page_texts *page_texts_new(struct page_run *run) {
  struct page_texts *texts = calloc(1, sizeof *texts);
  if (texts) texts->run = run;
  return texts;
}

void page_texts_free(struct page_texts *texts) {
  if (!texts) return;
  for (size_t i = 0; i < texts->count; i++) free(texts->text[i].text);
  free(texts->text);
  evr_table_free(&texts->table);
  free(texts);
}

void page_texts_forget(struct page_texts *texts, enum page_text_user user) {
  for (size_t i = 0; i < texts->count; i++) texts->text[i].users &= (uint8_t)~user;
}

static bool is_text(const void *context, uintptr_t value, const void *key) {
  const struct page_texts *texts = context;
  return strcmp(texts->text[value - 1].text, key) == 0;
}

/* Returns the index of a text, and takes ownership of it. */
static int intern(struct page_texts *texts, char *text) {
  const uint64_t hash = evr_hash_text(evr_hash_seed(), text);
  const size_t size = strlen(text);
  uintptr_t *value = evr_table_take(&texts->table, hash, is_text, texts, text);
  if (value && *value) {
    free(text);
    return (int)(*value - 1);
  }
  if (!value || (texts->run->limit && texts->bytes + size > MOST_TEXTS) ||
      !EVR_MAKE_ROOM(texts->text, texts->room, texts->count, 64)) {
    if (value) *value = 0;
    free(text);
    return -1;
  }
  texts->bytes += size;
  texts->text[texts->count++] = (struct text){.text = text};
  *value = texts->count;
  return (int)texts->count - 1;
}

/* Returns the text of a value as the command prints it, without " = ", or NULL if
   it has none. */
static char *print(const struct page_texts *texts, const struct page_value *value) {
  static const char sign[] = " = ";
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  page_value_print(texts->run, value, out);
  if (fclose(out) != 0 || strncmp(text, sign, sizeof sign - 1) != 0) {
    free(text);
    return NULL;
  }
  memmove(text, text + sizeof sign - 1, size - (sizeof sign - 1) + 1);
  return text;
}

int page_text_of(struct page_texts *texts, struct page_value *value, enum page_text_user user) {
  if (!value) return -1;
  if (value->text < 0) {
    char *text = print(texts, value);
    value->text = text ? intern(texts, text) : -1;
  }
  if (value->text >= 0) texts->text[value->text].users |= (uint8_t)user;
  return value->text;
}

/* ---- The section ------------------------------------------------------------------ */

static void *begin(struct page_run *run) { return run->events->texts; }

/* Returns how many bytes of a text are shown at a level of reduction. */
static size_t shown(const char *text, unsigned level) {
  size_t most = level ? (size_t)128 >> (2 * (level - 1)) : SIZE_MAX, size = strlen(text);
  if (size <= most) return size;
  /* show only whole characters */
  while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
  return most;
}

static bool write(void *state, struct eva_json *json, unsigned level, struct page_left *left) {
  const struct page_texts *texts = state;
  uint64_t bytes = 0, all = 0, used = 0;
  for (size_t i = 0; i < texts->count; i++) used += texts->text[i].users != 0;
  if (!used) return false;
  eva_json_open_object(json);
  eva_json_key(json, "texts");
  eva_json_open_array(json);
  for (size_t i = 0; i < texts->count; i++) {
    const struct text *text = &texts->text[i];
    const size_t size = text->users ? shown(text->text, level) : 0;
    eva_json_text(json, text->text, size);
    bytes += size;
    all += text->users ? strlen(text->text) : 0;
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
  if (bytes < all) *left = (struct page_left){"bytes of values", bytes, all, NULL};
  return true;
}

const struct page_part page_part_texts = {
    .name = "texts", .levels = LEVELS, .begin = begin, .write = write};
