/* SPDX-License-Identifier: MIT */
/* follow.c: the child of a fork is recorded as its parent was.
 *
 * A child that execs or exits soon must leave no file behind. A handler of fork may
 * neither allocate nor make a file: other threads of the parent may have held locks, and
 * nobody releases these in the child. So the handler only notes, in existing memory, what
 * the parent records at this moment. The recording starts later, when the child enters
 * the library and it is clear that the child goes on:
 *
 *   - at its first event in the user ring, or when it asks for anything of its recording
 *     (its state, its path, a cursor), or starts a domain: at once;
 *   - at any other event, and when its host calls eventring_domain_check: FOLLOW_AFTER_MS
 *     after the fork or later.
 *
 * A child that does none of this is not recorded: nothing runs there by itself. Until
 * then the gates of its domains are a word of this process with the classes of its parent
 * (domains.c), so that each event that is wanted takes the slow path. The time is wall
 * time and not processor time, because a server that mostly waits must be recorded, too.
 * The price: a child that runs longer than FOLLOW_AFTER_MS before it execs leaves a dead
 * recording, like any recorded program that execs.
 *
 * The settings are those of the parent's start, except for the classes and the state,
 * which are those wanted at the fork. If the parent's recording is paused, the child's
 * stands by. The name of the file has the child's pid, by its template or appended to it.
 */
#include "producer/follow.h"

#include <stdio.h>
#include <string.h>

#include "format/clock.h"
#include "producer/classes.h"
#include "producer/file_name.h"
#include "producer/outside.h"
#include "producer/redact.h"

enum {
  FOLLOW_AFTER_MS = 50,
  MOST_TEMPLATE = EVR_MOST_TEMPLATE /* the expanded name has at most 210 bytes */
};

static struct { /* guarded by the mutex */
  struct eventring_config config; /* its texts are the members below */
  char directory[PATH_MAX];
  char program[EVENTRING_MAX_PROGRAM + 1];
  char name[MOST_TEMPLATE + sizeof "-%p"]; /* empty: the default */
  char stream[PATH_MAX + MOST_TEMPLATE + sizeof "/-%p"]; /* empty: none */
  bool any_directory; /* the host has named no directory */
  bool elsewhere;     /* `directory` is a substitute */
  uint64_t forked_at; /* ns */
  bool wanted;        /* the parent records or stands by, and children are to follow */
} kept;

static bool names_pid(const char *template) {
  for (const char *at = template; *at; at++)
    if (*at == '%' && *++at == 'p') return true;
  return false;
}

static size_t without_suffix(const char *template) {
  size_t size = strlen(template), suffix = sizeof EVENTRING_SUFFIX - 1;
  bool ends = size >= suffix && strcmp(template + size - suffix, EVENTRING_SUFFIX) == 0;
  return ends ? size - suffix : size;
}

/* Keeps the template of the name, and makes sure that it has a %p, because two processes
   cannot have the same file. Returns false when it is too long. */
static bool keep_name(const char *template) {
  kept.name[0] = 0;
  if (!template || !template[0]) return true;
  if (strlen(template) > MOST_TEMPLATE) return false;
  if (names_pid(template)) strcpy(kept.name, template);
  else snprintf(kept.name, sizeof kept.name, "%.*s-%%p", (int)without_suffix(template), template);
  return true;
}

static bool keep_name_of(const struct eventring_config *config) {
  char directory[PATH_MAX], name[MOST_TEMPLATE + 1];
  if (!config->stream || !config->stream[0]) return keep_name(config->name);
  return evr_split_stream(config->stream, directory, name) && keep_name(name);
}

static void keep_directory(const struct evr_recording *r) {
  size_t length = strlen(r->path) - strlen(r->name);
  memcpy(kept.directory, r->path, length);
  if (length > 1) length--; /* the slash */
  kept.directory[length] = 0;
}

/* Keeps the directory and name of a stream, or "" if the recording is none. */
static void keep_stream(const struct evr_recording *r) {
  kept.stream[0] = 0;
  if (r->streams.rings)
    snprintf(kept.stream, sizeof kept.stream, "%s/%s", kept.directory, kept.name);
  kept.config.stream = kept.stream;
}

void evr_follow_keep_locked(const struct evr_recording *r, const struct eventring_config *config) {
  if (config == &kept.config) return; /* the settings are kept already: a child has
                                         followed its parent */
  kept.wanted = false;
  kept.any_directory = evr_follow_any_directory(config);
  kept.elsewhere = r->elsewhere;
  kept.config = *config;
  kept.config.follow_forks = config->follow_forks && keep_name_of(config);
  keep_directory(r);
  keep_stream(r);
  memcpy(kept.program, r->header.program, sizeof kept.program);
  kept.config.directory = kept.directory;
  kept.config.program = kept.program;
  kept.config.name = kept.name;
  kept.config.triggers = NULL; /* the triggers stay set */
  kept.config.redact = evr_redact_list_locked();
}

static uint64_t wanted_by(const struct evr_recording *r) {
  uint64_t wanted = __atomic_load_n(&evr_control(r)->wanted, __ATOMIC_RELAXED);
  bool obeyed = !r->closed && evr_wanted_valid(wanted, evr_recording_classes(r));
  return obeyed ? wanted : r->wanted;
}

static void want_as_now(struct eventring_config *config, const struct evr_recording *r) {
  uint64_t wanted = wanted_by(r);
  config->start = wanted & 1 ? EVENTRING_START_ON : EVENTRING_START_STANDBY;
  config->classes = wanted | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
}

bool evr_follow_after_fork(const struct evr_recording *r) {
  kept.forked_at = evr_monotonic_ns();
  if (!r) return kept.wanted;
  kept.wanted = kept.config.follow_forks && !r->ended && !evr_recording_is_lost(r);
  want_as_now(&kept.config, r);
  return kept.wanted;
}

uint64_t evr_follow_gate(void) {
  bool on = kept.wanted && kept.config.start == EVENTRING_START_ON;
  return on ? kept.config.classes : 0;
}

bool evr_follow_is_due(void) {
  return evr_monotonic_ns() - kept.forked_at >= FOLLOW_AFTER_MS * (uint64_t)1000000;
}

bool evr_follow_any_directory(const struct eventring_config *config) {
  if (config == &kept.config) return kept.any_directory;
  bool is_stream = config->stream && config->stream[0];
  return !is_stream && (!config->directory || !config->directory[0]);
}

bool evr_follow_is_elsewhere(const struct eventring_config *config) {
  return config == &kept.config && kept.elsewhere;
}

void evr_follow_forget_locked(void) { kept.wanted = false; }

/* Makes a template that expands to `name`. */
static void put_literally(char *to, const char *name) {
  for (; *name; name++) {
    if (*name == '%') *to++ = '%';
    *to++ = *name;
  }
  *to = 0;
}

/* Returns a word of the control page, or its value at the start if others may not write
   it (outside.h). */
static uint64_t word_of(struct evr_recording *r, enum format_control_word which,
                        const uint64_t *word, uint64_t at_start) {
  return evr_outside_obeys(r, which) ? __atomic_load_n(word, __ATOMIC_RELAXED) : at_start;
}

static void keep_words_of(struct eventring_config *config, struct evr_recording *r) {
  const struct format_control *control = evr_control(r);
  uint64_t bits = word_of(r, FORMAT_WORD_SAMPLE_RATE, &control->sample_rate, r->sample_rate);
  double rate;
  memcpy(&rate, &bits, sizeof rate);
  if (rate >= 0 && rate <= 1) config->sample_rate = rate;
  config->hold_ns = word_of(r, FORMAT_WORD_HOLD, &control->hold_ns, r->hold_ns);
}

const struct eventring_config *evr_follow_own_locked(struct evr_recording *r) {
  static struct eventring_config own;
  static char name[2 * NAME_MAX + 1], stream[sizeof kept.directory + 1 + sizeof name];
  _Static_assert(sizeof name <= MOST_TEMPLATE + 1, "a name is no longer than a template");
  own = kept.config;
  want_as_now(&own, r);
  keep_words_of(&own, r);
  put_literally(name, r->name);
  own.name = name;
  if (!r->streams.rings) return &own;
  snprintf(stream, sizeof stream, "%s/%s", kept.directory, name);
  own.stream = stream;
  return &own;
}

const struct eventring_config *evr_follow_config(void) { return &kept.config; }
