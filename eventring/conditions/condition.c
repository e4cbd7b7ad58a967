/* SPDX-License-Identifier: MIT */
/* condition.c: parses conditions. doc/CONDITIONS.md has the grammar:
 *
 *   condition  = ("error" | "signal") [compared]
 *              | value compared ["within" "span" quoted]
 *   value      = subject | figure "(" subject ")" | word "(" figure ")"
 *   subject    = timed | "cpu" "(" timed ")" | "heap" | "lost"
 *              | "counter" "(" quoted ")" | word | quoted          (the last two: a name)
 *   timed      = "pause" | "span" "(" quoted ")"
 *   figure     = "count" | "sum" | "min" | "max" | "mean" | "last"
 *              | "p" digits ["." digits]
 *   compared   = ("<" | "<=" | ">" | ">=" | "==" | "!=") number [unit]
 *
 * A bare name without a figure is an error, because a misspelt `mimor > 1ms` would never
 * be noticed. A condition that makes no sense in any recording (a time compared with a
 * heap) is an error here. What depends on the recording (is `minor` a span?) is checked
 * where the condition is used.
 */
#include "eventring/conditions.h"

#include <stdio.h>
#include <string.h>

#include "conditions/scan.h"
#include "format/error.h"

static const char *const subjects[] = {
    [EVENTRING_SUBJECT_NONE] = "",
#define NAME(name, text) [EVENTRING_SUBJECT_##name] = text,
    EVENTRING_SUBJECTS(NAME)
#undef NAME
};
static const char *const figures[] = {
    [EVENTRING_EACH] = "",
#define NAME(name, text) [EVENTRING_FIGURE_##name] = text,
    EVENTRING_FIGURES(NAME)
#undef NAME
};
static const char *const comparisons[] = {
#define NAME(name, text, op) [EVENTRING_##name] = text,
    EVENTRING_COMPARISONS(NAME)
#undef NAME
};
enum { PER_UNIT = 100000, PER_PERCENT = 1000 };

static const struct {
  const char *text;
  enum eventring_number_unit unit;
  double factor;
} units[] = {{"ns", EVENTRING_TIME, 1},
             {"us", EVENTRING_TIME, 1e3},
             {"ms", EVENTRING_TIME, 1e6},
             {"s", EVENTRING_TIME, 1e9},
             {"K", EVENTRING_PLAIN, 0x1p10},
             {"M", EVENTRING_PLAIN, 0x1p20},
             {"G", EVENTRING_PLAIN, 0x1p30}};

/* ---- Values ------------------------------------------------------------------------ */

/* Reads p50, p99.9 and the like: 1 to 99.999. */
static bool read_quantile(struct evr_word word, uint32_t *quantile) {
  double percent = 0, unit = 1;
  size_t at = 1, digits = 0;
  if (word.size < 2 || word.size > 7 || word.text[0] != 'p') return false;
  for (; at < word.size && word.text[at] >= '0' && word.text[at] <= '9'; at++, digits++)
    percent = percent * 10 + (word.text[at] - '0');
  if (at < word.size && word.text[at] == '.')
    for (at++; at < word.size && word.text[at] >= '0' && word.text[at] <= '9'; at++)
      percent += (word.text[at] - '0') * (unit /= 10);
  if (at < word.size || !digits || percent <= 0 || percent >= 100) return false;
  *quantile = (uint32_t)(percent * PER_PERCENT + 0.5);
  return *quantile > 0 && *quantile < PER_UNIT;
}

/* Returns the figure of this name, or EVENTRING_EACH if the word is no figure. */
static uint8_t figure_of(struct evr_word word, uint32_t *quantile) {
  for (unsigned i = EVENTRING_EACH + 1; i < EVENTRING_QUANTILE; i++)
    if (evr_word_is(word, figures[i])) return (uint8_t)i;
  return read_quantile(word, quantile) ? EVENTRING_QUANTILE : EVENTRING_EACH;
}

static void keep_name(struct evr_scan *s, struct eventring_condition *c, struct evr_word word) {
  if (word.size > EVENTRING_MAX_NAME) {
    evr_scan_fail_at(s, (size_t)(word.text - s->text), "a name of more than 95 bytes");
    return;
  }
  c->subject = EVENTRING_SUBJECT_NAME;
  memcpy(c->name, word.text, word.size);
  c->name[word.size] = 0;
}

static void close_bracket(struct evr_scan *s) {
  if (!evr_scan_accept(s, ')')) evr_scan_fail(s, "`)'");
}

/* Reads the rest of a subject, after its word. */
static void read_quoted_subject(struct evr_scan *s, struct eventring_condition *c,
                                enum eventring_subject subject) {
  c->subject = (uint8_t)subject;
  if (!evr_scan_accept(s, '(')) {
    evr_scan_fail(s, "`(\"NAME\")'");
    return;
  }
  evr_scan_quoted(s, c->name);
  close_bracket(s);
}

/* Returns the subject of this name, or EVENTRING_SUBJECT_NONE if the word is the name of
   an event. */
static enum eventring_subject subject_of(struct evr_word word) {
  for (unsigned i = EVENTRING_SUBJECT_PAUSE; i < EVENTRING_SUBJECT_NAME; i++)
    if (evr_word_is(word, subjects[i])) return (enum eventring_subject)i;
  return EVENTRING_SUBJECT_NONE;
}

/* Reads the rest of `cpu(', after the bracket. */
static void read_cpu(struct evr_scan *s, struct eventring_condition *c) {
  const size_t at = s->at;
  const enum eventring_subject subject = subject_of(evr_scan_word(s));
  c->cpu = true;
  if (subject == EVENTRING_SUBJECT_SPAN) {
    read_quoted_subject(s, c, subject);
  } else {
    c->subject = (uint8_t)subject;
    if (subject != EVENTRING_SUBJECT_PAUSE)
      evr_scan_fail_at(s, at, "expected pause or span(\"NAME\")");
  }
  close_bracket(s);
}

static void read_subject_word(struct evr_scan *s, struct eventring_condition *c,
                              struct evr_word word) {
  enum eventring_subject subject = subject_of(word);
  if (evr_word_is(word, "cpu") && evr_scan_accept(s, '('))
    read_cpu(s, c);
  else if (subject == EVENTRING_SUBJECT_SPAN || subject == EVENTRING_SUBJECT_COUNTER)
    read_quoted_subject(s, c, subject);
  else if (subject != EVENTRING_SUBJECT_NONE)
    c->subject = (uint8_t)subject;
  else
    keep_name(s, c, word);
}

/* Reads the subject of a figure, and the closing bracket. */
static void read_figured_subject(struct evr_scan *s, struct eventring_condition *c) {
  size_t at = s->at;
  if (s->at < s->size && s->text[s->at] == '"') {
    c->subject = EVENTRING_SUBJECT_NAME;
    evr_scan_quoted(s, c->name);
  } else {
    struct evr_word word = evr_scan_word(s);
    if (word.size) read_subject_word(s, c, word);
    else evr_scan_fail(s, "pause, heap, span(\"NAME\"), counter(\"NAME\") or a name");
  }
  if (c->subject == EVENTRING_SUBJECT_LOST || c->subject == EVENTRING_SUBJECT_ERROR ||
      c->subject == EVENTRING_SUBJECT_SIGNAL)
    evr_scan_fail_at(s, at, "this is one value, of which no figure is taken");
  close_bracket(s);
}

/* Reads the figure of `heap(max)`, `live_bytes(last)`, where the subject comes first. */
static void read_figure(struct evr_scan *s, struct eventring_condition *c) {
  struct evr_word word = evr_scan_word(s);
  c->figure = figure_of(word, &c->quantile);
  if (c->figure == EVENTRING_EACH) {
    s->at = (size_t)(word.text - s->text);
    evr_scan_fail(s, "count, sum, min, max, mean, last or p50, p99, ...");
  }
  close_bracket(s);
}

static void read_value(struct evr_scan *s, struct eventring_condition *c) {
  size_t at = s->at;
  struct evr_word word = evr_scan_word(s);
  if (!word.size) {
    evr_scan_fail(s, "a condition, as `pause > 5ms'");
    return;
  }
  enum eventring_subject subject = subject_of(word);
  bool plain = (subject >= EVENTRING_SUBJECT_LOST && subject < EVENTRING_SUBJECT_NAME) ||
               evr_word_is(word, "cpu");
  uint8_t figure = figure_of(word, &c->quantile);
  bool opened = !plain && evr_scan_accept(s, '(');
  if (opened && figure != EVENTRING_EACH) {
    c->figure = figure;
    read_figured_subject(s, c);
  } else {
    read_subject_word(s, c, word);
    if (opened) read_figure(s, c);
    else if (c->subject == EVENTRING_SUBJECT_NAME)
      evr_scan_fail_at(s, at, "expected pause, heap, lost, error, signal, span(\"NAME\"), "
                              "counter(\"NAME\") or a figure, as p99(NAME) or count(NAME)");
  }
}

/* ---- Comparisons ------------------------------------------------------------------- */

/* Longer operators come first. */
static const uint8_t tried[] = {EVENTRING_NOT_MORE, EVENTRING_NOT_LESS, EVENTRING_EQUAL,
                                EVENTRING_DIFFERENT, EVENTRING_LESS, EVENTRING_MORE};

static bool read_comparison(struct evr_scan *s, struct eventring_condition *c) {
  for (size_t i = 0; !s->failed && i < sizeof tried; i++) {
    const char *text = comparisons[tried[i]];
    size_t size = strlen(text);
    if (s->size - s->at < size || memcmp(s->text + s->at, text, size)) continue;
    s->at += size;
    c->comparison = tried[i];
    evr_scan_spaces(s);
    return true;
  }
  return false;
}

/* Tells whether the compared value is a duration. */
static bool is_time(const struct eventring_condition *c) {
  return (c->subject == EVENTRING_SUBJECT_PAUSE || c->subject == EVENTRING_SUBJECT_SPAN) &&
         c->figure != EVENTRING_FIGURE_COUNT;
}

/* Tells whether the compared value may be a duration. For a name, this is known only
   where the condition is used. */
static bool may_be_time(const struct eventring_condition *c) {
  return is_time(c) ||
         (c->subject == EVENTRING_SUBJECT_NAME && c->figure != EVENTRING_FIGURE_COUNT);
}

static void read_unit(struct evr_scan *s, struct eventring_condition *c) {
  size_t at = s->at;
  struct evr_word word = evr_scan_word(s);
  size_t found = 0, count = sizeof units / sizeof units[0];
  while (found < count && !evr_word_is(word, units[found].text)) found++;
  if (word.size && found == count) {
    s->at = at;
    evr_scan_fail(s, "a unit: ns, us, ms, s, or K, M, G for powers of 1024");
    return;
  }
  if (word.size) {
    c->unit = units[found].unit;
    c->number *= units[found].factor;
  }
  if (c->unit == EVENTRING_TIME && !may_be_time(c))
    evr_scan_fail_at(s, at, "this is not compared with a time");
  else if (c->unit != EVENTRING_TIME && is_time(c))
    evr_scan_fail_at(s, at, "a time needs its unit: ns, us, ms or s");
  else if (c->number > 0x1p63 || c->number < -0x1p63)
    evr_scan_fail_at(s, at, "a number beyond 2^63");
}

/* Tells whether the next word is `within`, which must not be read as a unit. */
static bool is_within(const struct evr_scan *s) {
  static const char word[] = "within";
  return !s->failed && s->size - s->at >= sizeof word - 1 &&
         memcmp(s->text + s->at, word, sizeof word - 1) == 0;
}

static void read_compared(struct evr_scan *s, struct eventring_condition *c) {
  c->number = evr_scan_number(s, true);
  evr_scan_spaces(s);
  if (is_within(s)) {
    if (is_time(c)) evr_scan_fail_at(s, s->at, "a time needs its unit: ns, us, ms or s");
    return;
  }
  read_unit(s, c);
}

static void read_within(struct evr_scan *s, struct eventring_condition *c) {
  size_t at = s->at;
  if (!is_within(s)) return;
  evr_scan_word(s);
  if (!evr_word_is(evr_scan_word(s), "span")) {
    evr_scan_fail_at(s, at, "expected `within span \"NAME\"'");
    return;
  }
  evr_scan_quoted(s, c->within);
  if (c->subject == EVENTRING_SUBJECT_LOST || c->subject == EVENTRING_SUBJECT_ERROR ||
      c->subject == EVENTRING_SUBJECT_SIGNAL)
    evr_scan_fail_at(s, at, "this is a value of the whole recording, and within no span");
}

static bool is_event(const struct eventring_condition *c) {
  return c->subject == EVENTRING_SUBJECT_ERROR || c->subject == EVENTRING_SUBJECT_SIGNAL;
}

static void read_condition(struct evr_scan *s, struct eventring_condition *c) {
  evr_scan_spaces(s);
  read_value(s, c);
  if (read_comparison(s, c)) {
    read_compared(s, c);
  } else if (is_event(c)) { /* no comparison: true if the error or signal happened */
    c->comparison = EVENTRING_DIFFERENT;
  } else {
    evr_scan_fail(s, "a comparison: <, <=, >, >=, ==, !=");
  }
  read_within(s, c);
}

int eventring_condition_parse(struct eventring_condition *condition, const char *text, size_t size,
                              size_t *end, struct eventring_error *error) {
  if (!condition || (!text && size))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no condition or no text");
  struct evr_scan s = {.text = text, .size = size, .error = error};
  struct eventring_condition c = {0};
  read_condition(&s, &c);
  if (!end && !s.failed && s.at < s.size) evr_scan_fail(&s, "the end");
  if (end) *end = s.at;
  if (s.failed) return EVENTRING_E_CONFIG;
  *condition = c;
  return EVENTRING_OK;
}

/* ---- As a text --------------------------------------------------------------------- */

struct text {
  char *at;
  size_t room, size;
};

static void put(struct text *t, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++, t->size++)
    if (t->size + 1 < t->room) t->at[t->size] = bytes[i];
}

static void put_text(struct text *t, const char *text) { put(t, text, strlen(text)); }

static void put_quoted(struct text *t, const char *name) {
  put_text(t, "\"");
  for (; *name; name++) {
    if (*name == '"' || *name == '\\') put_text(t, "\\");
    put(t, name, 1);
  }
  put_text(t, "\"");
}

static void put_subject(struct text *t, const struct eventring_condition *c) {
  bool named = c->subject == EVENTRING_SUBJECT_NAME;
  if (named) {
    put_quoted(t, c->name);
    return;
  }
  if (c->cpu) put_text(t, "cpu(");
  put_text(t, subjects[c->subject < EVENTRING_SUBJECT_NAME ? c->subject : 0]);
  if (c->subject == EVENTRING_SUBJECT_SPAN || c->subject == EVENTRING_SUBJECT_COUNTER) {
    put_text(t, "(");
    put_quoted(t, c->name);
    put_text(t, ")");
  }
  if (c->cpu) put_text(t, ")");
}

static void put_figure(struct text *t, const struct eventring_condition *c) {
  char digits[32];
  if (c->figure != EVENTRING_QUANTILE) {
    put_text(t, figures[c->figure < EVENTRING_QUANTILE ? c->figure : 0]);
    return;
  }
  snprintf(digits, sizeof digits, "p%u.%03u", c->quantile / PER_PERCENT,
           c->quantile % PER_PERCENT);
  for (size_t size = strlen(digits); digits[size - 1] == '0' || digits[size - 1] == '.'; size--) {
    bool dot = digits[size - 1] == '.';
    digits[size - 1] = 0;
    if (dot) break;
  }
  put_text(t, digits);
}

static bool is_whole(double number) {
  return number < 0x1p53 && number > -0x1p53 && (double)(int64_t)number == number;
}

/* Writes the number in the largest unit that makes it a whole number. */
static void put_number(struct text *t, const struct eventring_condition *c) {
  char digits[64];
  const char *suffix = c->unit == EVENTRING_TIME ? "ns" : "";
  double number = c->number;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    double scaled = c->number / units[i].factor;
    bool fits = units[i].unit == c->unit && scaled != 0 && is_whole(scaled);
    if (!fits || scaled * units[i].factor != c->number) continue;
    number = scaled;
    suffix = units[i].text;
  }
  snprintf(digits, sizeof digits, is_whole(number) ? "%.0f" : "%.9f", number);
  for (char *at = digits; *at; at++)
    if (*at == ',') *at = '.'; /* the comma of the locale */
  put_text(t, digits);
  put_text(t, suffix);
}

size_t eventring_condition_text(const struct eventring_condition *c, char *text, size_t room) {
  struct text t = {text, room, 0};
  put_figure(&t, c);
  if (c->figure != EVENTRING_EACH) put_text(&t, "(");
  put_subject(&t, c);
  if (c->figure != EVENTRING_EACH) put_text(&t, ")");
  if (!is_event(c) || c->comparison != EVENTRING_DIFFERENT || c->number != 0) {
    put_text(&t, " ");
    put_text(&t, comparisons[c->comparison <= EVENTRING_DIFFERENT ? c->comparison : 0]);
    put_text(&t, " ");
    put_number(&t, c);
  }
  if (c->within[0]) {
    put_text(&t, " within span ");
    put_quoted(&t, c->within);
  }
  if (room) text[t.size < room ? t.size : room - 1] = 0;
  return t.size;
}
