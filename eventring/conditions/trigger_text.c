/* SPDX-License-Identifier: MIT */
/* trigger_text.c: parses triggers:
 *
 *   triggers = trigger { ";" [trigger] }
 *   trigger  = condition { "," option }
 *   option   = "dir" "=" path | "cooldown" "=" number unit | "max" "=" digits
 *            | "size" "=" number ["K" | "M" | "G"]
 *   path     = quoted | what is up to the next "," or ";"
 */
#include "conditions/trigger_text.h"

#include <string.h>

#include "conditions/scan.h"
#include "format/error.h"
#include "format/text.h"

/* ---- Numbers ----------------------------------------------------------------------- */

/* A unit, with its factor to the smallest unit. */
struct unit {
  const char *text;
  double factor;
};
static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const struct unit sizes[] = {{"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}};

static double read_measure(struct evr_scan *s, const struct unit *units, size_t count,
                           const char *expected, bool must) {
  double number = evr_scan_number(s, false);
  evr_scan_spaces(s);
  size_t at = s->at, i = 0;
  struct evr_word word = evr_scan_word(s);
  if (!word.size && !must) return number;
  while (i < count && !evr_word_is(word, units[i].text)) i++;
  if (i < count) return number * units[i].factor;
  s->at = s->failed ? s->at : at;
  evr_scan_fail(s, expected);
  return 0;
}

static const double MOST_TIME = 1e18, MOST_SIZE = 0x1p60;

static void read_cooldown(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t at = s->at;
  double ns = read_measure(s, times, 4, "a unit of time: ns, us, ms, s", true);
  if (ns > MOST_TIME) evr_scan_fail_at(s, at, "too long a time");
  else t->cooldown_ns = (uint64_t)ns;
}

static void read_size(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t at = s->at;
  double bytes = read_measure(s, sizes, 3, "K, M or G", false);
  if (bytes > MOST_SIZE || bytes < 1) evr_scan_fail_at(s, at, "a size from 1 to 2^60 bytes");
  else t->most_bytes = (uint64_t)bytes;
}

static void read_most(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t at = s->at;
  double most = evr_scan_number(s, false);
  evr_scan_spaces(s);
  if (most < 1 || most > 1e6 || most != (double)(uint64_t)most)
    evr_scan_fail_at(s, at, "a whole number from 1 to 1000000");
  else t->most = (uint64_t)most;
}

/* ---- Paths ------------------------------------------------------------------------- */

/* Reads a path in quotes, which may contain `,` and `;`. */
static void read_quoted_path(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t size = 0, begin = s->at++;
  while (s->at < s->size && s->text[s->at] != '"') {
    s->at += s->text[s->at] == '\\' && s->at + 1 < s->size;
    if (size < sizeof t->directory - 1) t->directory[size++] = s->text[s->at];
    s->at++;
  }
  t->directory[size] = 0;
  if (s->at == s->size) evr_scan_fail_at(s, begin, "this quote is not closed");
  else s->at++;
}

static void read_plain_path(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t size = 0, begin = s->at;
  while (begin + size < s->size && !strchr(",;", s->text[begin + size])) size++;
  s->at = begin + size;
  while (size && strchr(" \t", s->text[begin + size - 1])) size--;
  if (size > sizeof t->directory - 1) size = sizeof t->directory - 1;
  memcpy(t->directory, s->text + begin, size);
  t->directory[size] = 0;
}

static void read_directory(struct evr_scan *s, struct evr_trigger_text *t) {
  size_t at = s->at;
  if (s->at < s->size && s->text[s->at] == '"') read_quoted_path(s, t);
  else read_plain_path(s, t);
  evr_scan_spaces(s);
  if (!t->directory[0]) evr_scan_fail_at(s, at, "expected a directory");
  else if (evr_text_check(t->directory, strlen(t->directory)) != EVR_TEXT_OK)
    evr_scan_fail_at(s, at, "a path that is not UTF-8 or has control characters");
}

/* ---- Triggers ---------------------------------------------------------------------- */

static void read_option(struct evr_scan *s, struct evr_trigger_text *t) {
  static const struct {
    const char *name;
    void (*read)(struct evr_scan *, struct evr_trigger_text *);
  } options[] = {{"dir", read_directory}, {"cooldown", read_cooldown}, {"max", read_most},
                 {"size", read_size}};
  size_t at = s->at, i = 0;
  struct evr_word word = evr_scan_word(s);
  while (i < 4 && !evr_word_is(word, options[i].name)) i++;
  if (i == 4) {
    s->at = s->failed ? s->at : at;
    evr_scan_fail(s, "an option: dir=PATH, cooldown=TIME, max=N or size=SIZE");
  } else if (!evr_scan_accept(s, '=')) {
    evr_scan_fail(s, "`='");
  } else {
    options[i].read(s, t);
  }
}

static bool can_fire(const struct eventring_condition *c) {
  bool known = c->subject != EVENTRING_SUBJECT_LOST && c->subject != EVENTRING_SUBJECT_NAME;
  return known && c->figure == EVENTRING_EACH && !c->within[0];
}

static void read_condition(struct evr_scan *s, struct eventring_condition *c) {
  struct eventring_error error;
  size_t begin = s->at, end, column = 0;
  int status = eventring_condition_parse(c, s->text + begin, s->size - begin, &end, &error);
  if (status == EVENTRING_OK) {
    s->at = begin + end;
    if (!can_fire(c))
      evr_scan_fail_at(s, begin, "a trigger is about pause, span, heap, counter, error or "
                                 "signal, without a figure (count, p99 ...) and `within'");
    return;
  }
  /* skips the column in the text of the condition's error */
  const char *text = strchr(error.text, ':');
  for (const char *at = error.text + 7; *at >= '0' && *at <= '9'; at++)
    column = column * 10 + (size_t)(*at - '0');
  evr_scan_fail_at(s, begin + column - 1, text ? text + 2 : error.text);
}

int evr_trigger_text_next(struct evr_trigger_text *trigger, const char *text, size_t size,
                          size_t *at, struct eventring_error *error) {
  struct evr_scan s = {.text = text, .size = size, .at = *at, .error = error};
  *trigger = (struct evr_trigger_text){
      .cooldown_ns = EVR_TRIGGER_COOLDOWN_S * (uint64_t)1000000000, .most = EVR_TRIGGER_MOST,
      .most_bytes = EVR_TRIGGER_BYTES};
  evr_scan_spaces(&s);
  while (evr_scan_accept(&s, ';')) {}
  if (s.at == size) return 0;
  read_condition(&s, &trigger->condition);
  while (!s.failed && evr_scan_accept(&s, ',')) read_option(&s, trigger);
  if (!s.failed && s.at < size && !evr_scan_accept(&s, ';')) evr_scan_fail(&s, "`,' or `;'");
  *at = s.at;
  return s.failed ? EVENTRING_E_CONFIG : 1;
}

int eventring_triggers_check(const char *text, size_t size, struct eventring_error *error) {
  struct evr_trigger_text trigger;
  size_t at = 0;
  int status, count = 0;
  if (!text && size) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no text");
  if (size > EVENTRING_MAX_TRIGGER_TEXT)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "triggers of more than %d bytes",
                    EVENTRING_MAX_TRIGGER_TEXT);
  while ((status = evr_trigger_text_next(&trigger, text, size, &at, error)) > 0) count++;
  if (status == EVENTRING_OK && count > EVENTRING_MAX_TRIGGERS)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "more than %d triggers",
                    EVENTRING_MAX_TRIGGERS);
  return status < 0 ? status : count;
}
