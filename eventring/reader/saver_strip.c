/* SPDX-License-Identifier: MIT */
/* saver_strip.c: replaces the texts of a program in what is saved.
 *
 * A text is replaced by letters of the same length, which are computed from a keyed hash
 * of the text. So equal texts have equal replacements everywhere in the file. Nobody can
 * find a text by trials without the key, which is drawn at random for each saver and
 * stored nowhere. Names of definitions stay unique: if another name already has the same
 * replacement, the next replacement is used.
 *
 * What stays: times, numbers, links, contexts, ids; conditions of triggers, except for
 * the names in them; and names that are known without the program: definitions of the
 * library (ids below 16), definitions in its classes other than `user`, with their units,
 * and names of the library's classes and rings.
 *
 * Data of unknown form is not copied: payloads that do not match their definition are
 * replaced word by word, records and remarks of unknown types are emptied, blocks of
 * unknown kinds and damaged blocks are left out, and all reserved or unused bits become
 * 0. */
#include "eventring/calls.h"
#include "format/array.h"
#include "reader/saver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/checksum.h"
#include "format/records.h"

enum { LIBRARY_IDS = 16, LIBRARY_RINGS = 4 };

struct strip_name { /* the replaced name of a definition */
  uint64_t hash;    /* hash of the name alone, without its kind and class */
  uint32_t bytes;
  char text[EVENTRING_MAX_NAME + 1];
};

struct saver_strip {
  uint64_t key[2];
  struct strip_name *names;
  uint32_t count, room;
};

int saver_strip_begin(eventring_saver *saver, struct eventring_error *error) {
  struct saver_strip *strip = calloc(1, sizeof *strip);
  if (!strip) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a saver");
  saver->strip = strip;
  saver->options.checked = true;
  if (getrandom(strip->key, sizeof strip->key, 0) == sizeof strip->key) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_SYSTEM, 0, "no random numbers");
}

void saver_strip_end(eventring_saver *saver) {
  if (saver->strip) free(saver->strip->names);
  free(saver->strip);
  saver->strip = NULL;
}

/* ---- Texts ------------------------------------------------------------------------- */

/* SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, 2012). */
struct sip { uint64_t v[4]; };

static inline uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static void sip_round(struct sip *s) {
  uint64_t *v = s->v;
  v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
  v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static void sip_take(struct sip *s, uint64_t word) {
  s->v[3] ^= word;
  sip_round(s), sip_round(s);
  s->v[0] ^= word;
}

static uint64_t hash_text(const struct saver_strip *strip, const void *text, size_t bytes) {
  const uint64_t *key = strip->key;
  struct sip s = {{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                   key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u}};
  size_t at = 0;
  uint64_t word;
  for (; at + 8 <= bytes; at += 8) {
    memcpy(&word, (const char *)text + at, 8);
    sip_take(&s, word);
  }
  word = 0;
  memcpy(&word, (const char *)text + at, bytes - at);
  sip_take(&s, word | (uint64_t)bytes << 56);
  s.v[2] ^= 0xff;
  for (int i = 0; i < 4; i++) sip_round(&s);
  return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

/* Writes the n-th replacement of a text. */
static void spell(const struct saver_strip *strip, uint64_t hash, uint64_t n, char *to,
                  size_t bytes) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  for (size_t at = 0; at < bytes; at++) {
    uint64_t input[3] = {hash, n, at / 8};
    uint64_t eight = hash_text(strip, input, sizeof input);
    for (; at < bytes; at++) {
      to[at] = letters[eight >> 8 * (at % 8) & 63];
      if (at % 8 == 7) break;
    }
  }
}

static void replace(const struct saver_strip *strip, void *text, size_t bytes) {
  if (bytes) spell(strip, hash_text(strip, text, bytes), 0, text, bytes);
}

/* Replaces a text in a field of fixed size (unless `keep`), and clears the rest of the
   field. */
static void replace_field(const struct saver_strip *strip, char *text, size_t room, bool keep) {
  size_t bytes = strnlen(text, room - 1);
  if (!keep) replace(strip, text, bytes);
  memset(text + bytes, 0, room - bytes);
}

/* ---- Events ------------------------------------------------------------------------ */

static void scramble(const struct saver_strip *strip, uint64_t *words, unsigned count) {
  for (unsigned i = 0; i < count; i++) words[i] = hash_text(strip, &words[i], sizeof *words);
}

/* Replaces a text or bytes, of at most `count` words. Returns how many words they take,
   or 0 if they are not valid. */
static unsigned replace_bytes(const struct saver_strip *strip, uint64_t *words, unsigned count) {
  uint64_t bytes = count ? words[0] & ~FORMAT_BYTES_TRUNCATED : 0;
  if (!count || bytes > EVENTRING_MAX_PAYLOAD || 1 + format_text_words(bytes) > count) return 0;
  unsigned used = 1 + format_text_words(bytes);
  replace(strip, words + 1, bytes);
  memset((char *)(words + 1) + bytes, 0, (used - 1) * sizeof *words - bytes);
  return used;
}

/* Replaces a payload of one value. Returns how many words the value has; 0 if it is not
   valid. */
static unsigned replace_value(const struct saver_strip *strip, unsigned payload, uint64_t *words,
                              unsigned count) {
  switch (payload) {
    case EVENTRING_STRING:
    case EVENTRING_BYTES:
      return replace_bytes(strip, words, count);
    case EVENTRING_INT:
    case EVENTRING_UINT:
    case EVENTRING_DOUBLE:
    case EVENTRING_STACK_ID:
      return count ? 1 : 0;
    case EVENTRING_SAMPLE:
      return count >= FORMAT_SAMPLE_WORDS ? FORMAT_SAMPLE_WORDS : 0;
    default:
      return 0;
  }
}

static unsigned replace_values(const struct saver_strip *strip, uint64_t *words,
                               unsigned count) {
  unsigned at = 1, values = count ? words[0] & 15 : 0;
  for (unsigned i = 0; i < values; i++) {
    unsigned payload = words[0] >> (4 + 4 * i) & 15;
    unsigned used = payload >= EVENTRING_INT && payload <= EVENTRING_BYTES
                        ? replace_value(strip, payload, words + at, count - at) : 0;
    if (!used) return 0;
    at += used;
  }
  return count ? at : 0;
}

/* Replaces a payload. If the words do not match the definition, restores all of them and
   replaces each by a scrambled word. */
static void strip_payload(const struct saver_strip *strip, unsigned payload, uint64_t *words,
                          unsigned count) {
  uint64_t copy[FORMAT_PAYLOAD_WORDS];
  memcpy(copy, words, count * sizeof *words);
  unsigned used = payload == EVENTRING_VALUES ? replace_values(strip, words, count)
                                              : replace_value(strip, payload, words, count);
  if (used == count) return;
  memcpy(words, copy, count * sizeof *words);
  scramble(strip, words, count);
}

static void strip_event(const eventring_saver *saver, uint64_t *words, uint64_t ticks) {
  const struct evr_definition *d = saver->cursor->definitions.definition[word_id(*words)];
  unsigned kind = word_kind(*words), count = word_length(*words);
  unsigned payload = d && d->since_ticks <= ticks ? d->def.payload : EVENTRING_NONE;
  uint64_t *from = words + 1;
  if (kind == EVENTRING_LINKED) {
    unsigned link = count < 2 ? count : 2;
    from += link, count -= link;
  }
  bool is_time = kind == EVENTRING_END && count == 1 && d && d->def.measure == EVENTRING_OFF_CPU;
  if (count && !is_time) strip_payload(saver->strip, payload, from, count);
}

/* Returns how many words of a remark's payload are used. */
static unsigned used_by_remark(uint64_t word) {
  switch (word_id(word)) {
    case FORMAT_REMARK_REBASE: case FORMAT_REMARK_CONTEXT: case FORMAT_REMARK_SUSPEND:
    case FORMAT_REMARK_RESUME: case FORMAT_REMARK_INCARNATION: return 1;
    default: return 0;
  }
}

void saver_strip_events(eventring_saver *saver, uint64_t *words, uint32_t have) {
  struct format_block *h = (struct format_block *)words;
  struct format_position position = {h->base_ticks, h->context, h->incarnation};
  if (!saver->strip) return;
  h->reserved2 = 0; /* `process` stays */
  memset(words + have, 0, (FORMAT_BLOCK_WORDS - have) * sizeof *words);
  for (uint32_t at = evr_first_event(words); at < have; at += 1 + word_length(words[at])) {
    if (word_is_event(words[at])) {
      strip_event(saver, words + at, word_ticks(words[at], position.base));
      continue;
    }
    format_apply_remark(words + at, words + have, &position);
    unsigned used = used_by_remark(words[at]), count = word_length(words[at]);
    if (used < count) memset(words + at + 1 + used, 0, (count - used) * sizeof *words);
  }
  words[FORMAT_SEAL_WORD] = evr_seal(have, evr_checksum(words, have));
}

/* ---- Records ----------------------------------------------------------------------- */

static bool is_name_taken(const struct saver_strip *strip, const char *text, size_t bytes) {
  for (uint32_t i = 0; i < strip->count; i++)
    if (strip->names[i].bytes == bytes && !memcmp(strip->names[i].text, text, bytes)) return true;
  return false;
}

static struct strip_name *known_name(const struct saver_strip *strip, uint64_t hash,
                                     size_t bytes) {
  for (uint32_t i = 0; i < strip->count; i++)
    if (strip->names[i].hash == hash && strip->names[i].bytes == bytes) return &strip->names[i];
  return NULL;
}

enum {
  MOST_TRIES = 4096, /* after this many tries, two short names may become the same */
  MOST_NAMES = 8192  /* a file has no more ids, unless it is damaged */
};

/* Replaces the name of a definition. When out of memory, and beyond MOST_NAMES, two names
   may become the same. */
static void replace_name(struct saver_strip *strip, char *text, size_t bytes) {
  uint64_t hash = hash_text(strip, text, bytes), n = 0;
  const struct strip_name *known = known_name(strip, hash, bytes);
  if (known) {
    memcpy(text, known->text, bytes);
    return;
  }
  spell(strip, hash, n, text, bytes);
  if (strip->count == MOST_NAMES) return;
  while (is_name_taken(strip, text, bytes) && ++n < MOST_TRIES) spell(strip, hash, n, text, bytes);
  if (!EVR_MAKE_ROOM(strip->names, strip->room, strip->count, 64)) return;
  struct strip_name *name = &strip->names[strip->count++];
  name->hash = hash;
  name->bytes = (uint32_t)bytes;
  memcpy(name->text, text, bytes);
}

static bool is_known_unit(const char *unit, size_t bytes) {
  static const char *const known[] = {"id", "ns", "us", "ms", "s", "bytes", "words", "count"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i]) == bytes && !memcmp(known[i], unit, bytes)) return true;
  return false;
}

/* Replaces names that are separated by commas. */
static void replace_fields(const struct saver_strip *strip, char *text, size_t bytes) {
  for (size_t at = 0, end; at < bytes; at = end + 1) {
    for (end = at; end < bytes && text[end] != ','; end++) {}
    replace(strip, text + at, end - at);
  }
}

/* Tells whether the name of a definition is a word of the library or of its host. Events
   of the program have names of the program, and spans of calls have the names of its
   functions. */
static bool is_vocabulary(const struct format_definition *d) {
  return record_number(d->first) < LIBRARY_IDS ||
         (d->event_class < EVENTRING_CLASS_HOST && d->event_class != EVENTRING_CLASS_USER &&
          d->event_class != EVENTRING_CLASS_CALLS);
}

/* Tells whether a definition is the event of a trigger. Such an event is named by its
   condition, in which names of the program are in quotes; if the name was too long, the
   closing quote is missing. */
static bool is_trigger(const struct format_definition *d) {
  return d->event_class == EVENTRING_CLASS_LIFECYCLE && record_number(d->first) >= LIBRARY_IDS;
}

static void hide_quoted(const struct saver_strip *strip, char *text, size_t bytes) {
  for (size_t at = 0, end; at < bytes; at = end + 1) {
    const char *open = memchr(text + at, '"', bytes - at);
    if (!open) return;
    at = end = (size_t)(open - text) + 1;
    while (end < bytes && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end > bytes) end = bytes;
    replace(strip, text + at, end - at);
  }
}

/* Replaces the sources in names of functions, which may say where a function is: `NAME
   (SOURCE:LINE)`, as in spans of calls, or <SOURCE:LINE>. A name that was too long lacks
   its end. Equal sources stay equal, and so do equal names. */
static void hide_sources(const struct saver_strip *strip, char *name, size_t bytes) {
  size_t last = 0; /* where the last source ends */
  for (size_t end = 0; end < bytes; end++) {
    if (name[end] != ')' && name[end] != '>') continue;
    size_t colon = end, from;
    while (colon > 0 && name[colon - 1] >= '0' && name[colon - 1] <= '9') colon--;
    if (colon == end || colon == 0 || name[--colon] != ':') continue;
    for (from = colon; from > last && name[from - 1] != (name[end] == ')' ? '(' : '<');) from--;
    if (from > last) replace(strip, name + from, colon - from);
    last = end + 1;
  }
  for (size_t at = bytes; at > last + 1; at--)
    if (name[at - 1] == '(' && name[at - 2] == ' ') {
      if (!memchr(name + at, ')', bytes - at)) replace(strip, name + at, bytes - at);
      return;
    }
}

static void strip_definition(const eventring_saver *saver, uint64_t *record) {
  struct saver_strip *strip = saver->strip;
  struct format_definition d;
  memcpy(&d, record, sizeof d);
  char *name = (char *)record + sizeof d, *unit = name + d.name_bytes;
  char *doc = unit + d.unit_bytes, *fields = doc + d.doc_bytes;
  if (saver->options.keeps_names && d.event_class == EVENTRING_CLASS_CALLS)
    hide_sources(strip, name, d.name_bytes);
  if (!saver->options.keeps_names && is_trigger(&d)) hide_quoted(strip, name, d.name_bytes);
  if (saver->options.keeps_names || is_vocabulary(&d)) return;
  replace_name(strip, name, d.name_bytes);
  if (!is_known_unit(unit, d.unit_bytes)) replace(strip, unit, d.unit_bytes);
  replace(strip, doc, d.doc_bytes);
  replace_fields(strip, fields, d.fields_bytes);
}

static void strip_text(const struct saver_strip *strip, unsigned what, char *text, size_t bytes,
                       bool keep) {
  if (what == FORMAT_TEXT_HOST || (what == FORMAT_TEXT_NAME && keep)) return;
  if (what == FORMAT_TEXT_FUNCTION && keep) hide_sources(strip, text, bytes);
  else replace(strip, text, bytes);
}

/* Tells whether a function represents work of the host: its name is then a name of the
   host. */
static bool is_of_host(unsigned kind, const uint64_t *record) {
  return kind == FORMAT_PROFILES && record_type(*record) == FORMAT_PROFILE_FUNCTION &&
         record[1] >> 32 == EVENTRING_CALLS_HOST;
}

/* Replaces the texts of a record. Returns where they end. */
static char *strip_texts(const eventring_saver *saver, const struct format_form *form,
                         uint64_t *record) {
  bool keep = saver->options.keeps_names || is_of_host(form->kind, record);
  char *text = (char *)(record + form->words);
  for (unsigned i = 0; i < 4 && form->texts[i].size; i++) {
    size_t bytes = evr_text_bytes(record, &form->texts[i]);
    if (form->kind != FORMAT_DEFINITIONS)
      strip_text(saver->strip, form->texts[i].what, text, bytes, keep);
    text += bytes;
  }
  return text;
}

/* Drops the text of a last stack, and keeps the number of its functions. */
static void drop_text(uint64_t *record) {
  struct format_last_stack s;
  memcpy(&s, record, sizeof s);
  s.bytes = 0;
  memcpy(record, &s, sizeof s);
}

/* Replaces the texts in a record. Unknown, reserved and unused parts become 0. */
static void strip_record(const eventring_saver *saver, unsigned kind, uint64_t *record,
                         unsigned words) {
  const struct format_form *form = evr_record_form(kind, record_type(*record));
  char *used = (char *)(record + 1), *end = (char *)(record + words);
  if (evr_record_is_valid(kind, record, words)) {
    if (form->reserved) record[form->reserved] &= UINT64_MAX >> 16;
    if (kind == FORMAT_DEFINITIONS) strip_definition(saver, record);
    if (kind == FORMAT_LAST_STACKS) drop_text(record);
    used = strip_texts(saver, form, record);
    size_t padding = (size_t)(end - used) % sizeof *record;
    memset(used, 0, padding);
    used += padding + form->behind * sizeof *record;
  }
  if (used < end) memset(used, 0, (size_t)(end - used));
}

bool saver_strip_records(eventring_saver *saver, uint64_t *words, uint32_t end, bool valid) {
  struct format_block *h = (struct format_block *)words;
  if (!saver->strip) return true;
  if (!valid || !evr_kind_is_known(h->kind)) return false;
  h->context = 0;
  h->open = 0;
  if (!format_is_in_place(h->kind)) {
    h->incarnation = h->open_hidden = 0;
    h->domain = 0;
  }
  h->ring = h->open_brief = 0;
  h->process = h->reserved2 = 0;
  memset(words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *words);
  for (uint32_t at = FORMAT_BLOCK_HEADER_WORDS, count; at < end; at += count) {
    count = record_words(words[at]);
    strip_record(saver, h->kind, words + at, count);
  }
  words[FORMAT_SO_FAR_WORD] = evr_seal(end, evr_checksum_so_far(words, end));
  if (h->committed) words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  return true;
}

/* ---- The front --------------------------------------------------------------------- */

static void strip_header(const eventring_saver *saver, struct format_header *h) {
  bool keep = saver->options.keeps_names;
  memset(h->reserved, 0, sizeof h->reserved);
  replace_field(saver->strip, h->program, sizeof h->program, false);
  for (unsigned i = 0; i < EVENTRING_RINGS; i++)
    replace_field(saver->strip, h->rings[i], sizeof h->rings[i], keep || i < LIBRARY_RINGS);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    replace_field(saver->strip, h->classes[i], sizeof h->classes[i],
                  keep || i < EVENTRING_CLASS_HOST);
}

void saver_strip_front(eventring_saver *saver, uint8_t *front) {
  struct format_header *h = (struct format_header *)front;
  struct format_status *s = (struct format_status *)(front + FORMAT_STATUS_OFFSET);
  struct format_control *control = (struct format_control *)(front + FORMAT_CONTROL_OFFSET);
  struct format_domain *d = (struct format_domain *)(front + FORMAT_DOMAINS_OFFSET);
  bool keep = saver->options.keeps_names;
  if (!saver->strip) return;
  strip_header(saver, h);
  h->checksum = evr_header_checksum(h);
  memset(s->reserved, 0, sizeof s->reserved);
  control->stacks = 0;
  memset(control->reserved2, 0, sizeof control->reserved2);
  /* triggers name spans and counters */
  memset(&control->triggers, 0, sizeof control->triggers);
  memset(&control->spans, 0, sizeof control->spans);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    d[slot].reserved = 0;
    memset(d[slot].reserved2, 0, sizeof d[slot].reserved2);
    replace_field(saver->strip, d[slot].name, sizeof d[slot].name, keep);
  }
}
