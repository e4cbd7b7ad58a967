/* SPDX-License-Identifier: MIT */
/* config.c: settings, from defaults and from the environment. */
#include "producer/config.h"
#include "eventring/conditions.h"
#include "producer/classes.h"
#include "producer/file_name.h"
#include "producer/redact.h"
#include "format/control.h"
#include "format/error.h"
#include "format/state_directory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t MOST_HOLD_NS = 86400ull * 1000000000, MOST_BYTES = (uint64_t)1 << 40;

/* ---- The environment ----------------------------------------------------- */

/* The members that every version has. */
enum { LEAST_SIZE = offsetof(struct eventring_config, directory) };

int evr_config_take(struct eventring_config *full, const struct eventring_config *config,
                    struct eventring_error *error) {
  if (!config) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no configuration");
  if (config->size < LEAST_SIZE || config->size > sizeof *config)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "configuration not made by eventring_config_init");
  eventring_config_init(full);
  memcpy(full, config, config->size);
  return EVENTRING_OK;
}

struct variable {
  char name[128];
  const char *value; /* NULL if the variable is not set, or the process runs set-user-id
                        (secure_getenv) */
};

static struct variable look_up(const char *prefix, const char *suffix) {
  struct variable v;
  snprintf(v.name, sizeof v.name, "%s_%s", prefix, suffix);
  v.value = secure_getenv(v.name);
  return v;
}

static int bad(const struct variable *v, struct eventring_error *error,
               const char *allowed) {
  return evr_fail(error, EVENTRING_E_CONFIG, 0, "%s=%.100s: must be %s", v->name,
                  v->value, allowed);
}

static int parse_start(struct eventring_config *config, const struct variable *v,
                       struct eventring_error *error) {
  if (!v->value[0] || strcmp(v->value, "0") == 0)
    config->start = EVENTRING_START_OFF;
  else if (strcmp(v->value, "1") == 0)
    config->start = EVENTRING_START_ON;
  else if (strcmp(v->value, "standby") == 0)
    config->start = EVENTRING_START_STANDBY;
  else
    return bad(v, error, "0, 1 or standby");
  return EVENTRING_OK;
}

static int parse_preserve(struct eventring_config *config,
                          const struct variable *v,
                          struct eventring_error *error) {
  if (!v->value[0] || strcmp(v->value, "onerror") == 0)
    config->preserve = EVENTRING_PRESERVE_ON_ERROR;
  else if (strcmp(v->value, "0") == 0)
    config->preserve = EVENTRING_PRESERVE_NEVER;
  else if (strcmp(v->value, "1") == 0)
    config->preserve = EVENTRING_PRESERVE_ALWAYS;
  else
    return bad(v, error, "0, 1 or onerror");
  return EVENTRING_OK;
}

/* Parses 0 or 1. An empty value changes nothing. */
static int parse_switch(bool *on, const struct variable *v, struct eventring_error *error) {
  if (!v->value[0]) return EVENTRING_OK;
  bool yes = strcmp(v->value, "1") == 0;
  if (!yes && strcmp(v->value, "0") != 0) return bad(v, error, "0 or 1");
  *on = yes;
  return EVENTRING_OK;
}

static int parse_cpu_time(struct eventring_config *config, const struct variable *v,
                          struct eventring_error *error) {
  bool measure = !config->no_cpu_time;
  int status = parse_switch(&measure, v, error);
  config->no_cpu_time = !measure;
  return status;
}

static int parse_remote(struct eventring_config *config, const struct variable *v,
                        struct eventring_error *error) {
  if (!v->value[0]) return EVENTRING_OK;
  bool allows = strcmp(v->value, "allow") == 0, forbids = strcmp(v->value, "0") == 0;
  if (!allows && !forbids && strcmp(v->value, "1") != 0) return bad(v, error, "0, 1 or allow");
  config->closed = forbids;
  config->lets_read = allows;
  return EVENTRING_OK;
}

static int parse_fork(struct eventring_config *config, const struct variable *v,
                      struct eventring_error *error) {
  return parse_switch(&config->follow_forks, v, error);
}

/* Parses a whole number. An empty value changes nothing. */
static int parse_number(unsigned *number, unsigned least, unsigned most,
                        const struct variable *v, struct eventring_error *error) {
  char *end, allowed[64];
  if (!v->value[0]) return EVENTRING_OK;
  unsigned long value = strtoul(v->value, &end, 10);
  bool digits = v->value[0] >= '0' && v->value[0] <= '9' && !*end;
  if (digits && value >= least && value <= most) {
    *number = (unsigned)value;
    return EVENTRING_OK;
  }
  snprintf(allowed, sizeof allowed, "a whole number from %u to %u", least, most);
  return bad(v, error, allowed);
}

static int parse_wsize(struct eventring_config *config, const struct variable *v,
                       struct eventring_error *error) {
  int status =
      parse_number(&config->wsize, EVENTRING_MIN_WSIZE, EVENTRING_MAX_WSIZE, v, error);
  /* a given size means that rings keep this size */
  if (status == EVENTRING_OK && v->value[0]) config->hold_ns = 0;
  return status;
}

static int parse_keep(struct eventring_config *config, const struct variable *v,
                      struct eventring_error *error) {
  int status = parse_number(&config->keep, 0, EVENTRING_MAX_KEEP, v, error);
  if (status == EVENTRING_OK && v->value[0]) config->keep_preserved = true;
  return status;
}

static int parse_seconds(struct eventring_config *config, const struct variable *v,
                         struct eventring_error *error) {
  static const char allowed[] = "a number of seconds from 0 to 86400";
  const char *at = v->value;
  uint64_t ns = 0, unit = 1000000000;
  if (!*at) return EVENTRING_OK;
  if (*at < '0' || *at > '9') return bad(v, error, allowed);
  for (; *at >= '0' && *at <= '9' && ns <= MOST_HOLD_NS; at++)
    ns = ns * 10 + (uint64_t)(*at - '0') * 1000000000;
  if (*at == '.')
    for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
      ns += (uint64_t)(*at - '0') * (unit /= 10);
  if (*at || ns > MOST_HOLD_NS) return bad(v, error, allowed);
  config->hold_ns = ns;
  return EVENTRING_OK;
}

/* Reads a size of `size` characters: digits, and K, M or G for powers of 1024. Returns
   false if it is not a size. */
static bool read_size(const char *text, size_t size, uint64_t *bytes) {
  static const char units[] = "KMG";
  const char *end = text + size, *unit;
  uint64_t number = 0;
  if (text == end || *text < '0' || *text > '9') return false;
  for (; text < end && *text >= '0' && *text <= '9' && number <= MOST_BYTES; text++)
    number = number * 10 + (uint64_t)(*text - '0');
  unsigned shift = 0;
  if (text < end && (unit = strchr(units, *text)) != NULL && *unit) {
    shift = 10 * (unsigned)(unit - units + 1);
    text++;
  }
  *bytes = number << shift;
  return text == end && number <= MOST_BYTES >> shift;
}

static int parse_grow(struct eventring_config *config, const struct variable *v,
                      struct eventring_error *error) {
  if (!v->value[0]) return EVENTRING_OK;
  if (!read_size(v->value, strlen(v->value), &config->grow_bytes))
    return bad(v, error, "a number of bytes up to 1024G, with K, M or G behind it for "
                         "powers of 1024");
  if (!config->grow_bytes) config->hold_ns = 0;
  return EVENTRING_OK;
}

/* Reads names of rings with a + between them. Returns false when a name is not known. */
static bool read_rings(const char *text, const char *end, uint32_t *rings) {
  while (text < end) {
    size_t size = 0;
    while (text + size < end && text[size] != '+') size++;
    int index = evr_ring_by_bytes(text, size);
    if (index < 0) return false;
    *rings |= 1u << index;
    text += size + (text + size < end);
  }
  return *rings != 0;
}

static int parse_stream_option(struct eventring_config *config, const char *text, size_t size) {
  bool good = false;
  if (size > 4 && memcmp(text, "max=", 4) == 0)
    good = read_size(text + 4, size - 4, &config->stream_max) &&
           config->stream_max >= EVENTRING_LEAST_STREAM;
  else if (size > 6 && memcmp(text, "rings=", 6) == 0)
    good = read_rings(text + 6, text + size, &config->stream_rings);
  return good ? EVENTRING_OK : EVENTRING_E_CONFIG;
}

static int parse_stream(struct eventring_config *config, const struct variable *v,
                        struct eventring_error *error) {
  size_t length = strcspn(v->value, ",");
  int status = EVENTRING_OK;
  if (!v->value[0]) return EVENTRING_OK;
  for (const char *at = v->value + length; status == EVENTRING_OK && *at;) {
    size_t size = strcspn(++at, ",");
    status = parse_stream_option(config, at, size);
    at += size;
  }
  if (status != EVENTRING_OK || !length)
    return bad(v, error, "PATH[,max=SIZE][,rings=NAME+NAME...]: a path without comma, a number "
                         "of bytes from 1M on with K, M or G behind it for powers of 1024, "
                         "names of rings");
  config->stream = v->value; /* the path, up to the comma */
  return EVENTRING_OK;
}

static int parse_triggers(struct eventring_config *config, const struct variable *v,
                          struct eventring_error *error) {
  struct eventring_error cause = {0};
  if (!v->value[0]) return EVENTRING_OK;
  int count = eventring_triggers_check(v->value, strlen(v->value), &cause);
  if (count < 0)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "%s=%.100s: %s", v->name, v->value, cause.text);
  config->triggers = count ? v->value : NULL;
  return EVENTRING_OK;
}

static int parse_redact(struct eventring_config *config, const struct variable *v,
                        struct eventring_error *error) {
  struct eventring_error cause = {0};
  uint64_t classes;
  if (evr_redact_parse(v->value, &classes, &cause) != EVENTRING_OK)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "%s=%.100s: %s", v->name, v->value, cause.text);
  config->redact = v->value[0] ? v->value : NULL;
  return EVENTRING_OK;
}

static int parse_directory(struct eventring_config *config,
                           const struct variable *v,
                           struct eventring_error *error) {
  (void)error;
  if (v->value[0]) config->directory = v->value;
  return EVENTRING_OK;
}

static int parse_name(struct eventring_config *config, const struct variable *v,
                      struct eventring_error *error) {
  char name[EVR_MOST_NAME];
  const struct evr_naming naming = {v->value, "program", 1, 1};
  if (evr_file_name(name, &naming, NULL) != EVENTRING_OK)
    return bad(v, error, "a file name of at most 210 bytes without slash, in which %p stands "
                         "for the pid, %n for the program, %t for the time, %h for the host, "
                         "%% for a %");
  config->name = v->value;
  return EVENTRING_OK;
}

/* Appends ", NAME" for each class of this process. */
static void list_classes(char *text, size_t size) {
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_class_name(i);
    size_t used = strlen(text);
    if (name) snprintf(text + used, size - used, ", %.*s", EVENTRING_MAX_CLASS_NAME, name);
  }
}

static int bad_class(const struct variable *v, const char *name, size_t size,
                     struct eventring_error *error) {
  char text[1200] = "a comma-separated list, each with + or - before it to change the "
                    "defaults, of all, none";
  char unused[64] = "";
  if (evr_class_is_standard(name, size))
    snprintf(unused, sizeof unused, "class `%.*s' has no events in this program; ", (int)size,
             name);
  list_classes(text, sizeof text);
  return evr_fail(error, EVENTRING_E_CONFIG, 0, "%s=%.100s: %smust be %s", v->name, v->value,
                  unused, text);
}

/* Reads a name in quotes, with a backslash before each `"` and `\\` in it. Sets *classes
   to the class of this name and the classes of events with this name, except calls; the
   set may be empty. `CLASS:NAME`, the name of an event that is defined when it first
   occurs, stands for CLASS. Moves *at behind the name; returns false if the closing quote
   is missing. */
static bool parse_quoted(const char **at, uint64_t *classes) {
  char name[EVENTRING_MAX_NAME + 2];
  size_t size;
  if (!evr_take_quoted(at, name, sizeof name, &size)) return false;
  if (size > sizeof name) size = sizeof name; /* no event has such a long name */
  const char *colon = memchr(name, ':', size);
  int index = evr_class_by_bytes(name, size);
  if (index < 0 && colon) index = evr_class_by_bytes(name, (size_t)(colon - name));
  *classes = evr_classes_of_events ? evr_classes_of_events(name, size) : 0;
  if (index >= 0) *classes |= EVENTRING_CLASS_BIT(index);
  *classes &= ~EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS);
  return true;
}

/* Parses a list such as "gc,user" (these only), "all,-io" or "+calls"; `+"read"` adds the
   class of this event. */
static int parse_classes(struct eventring_config *config,
                         const struct variable *v,
                         struct eventring_error *error) {
  const char *at = v->value;
  if (!*at) return EVENTRING_OK;
  uint64_t all = evr_named_classes(evr_class_names);
  uint64_t classes = *at == '+' || *at == '-' ? evr_default_classes() : 0;
  while (*at) {
    bool remove = *at == '-';
    if (*at == '+' || *at == '-') at++;
    uint64_t quoted;
    if (*at == '"') {
      if (!parse_quoted(&at, &quoted)) return bad_class(v, at, strlen(at), error);
      classes = remove ? classes & ~quoted : classes | quoted;
      at += *at == ',';
      continue;
    }
    size_t size = strcspn(at, ",");
    int index = evr_class_by_bytes(at, size);
    uint64_t bits = index >= 0 ? EVENTRING_CLASS_BIT(index) : 0;
    if (size == 3 && memcmp(at, "all", 3) == 0)
      bits = all;
    else if (index < 0 && !(size == 4 && memcmp(at, "none", 4) == 0) &&
             !(remove && evr_class_is_standard(at, size))) /* the class is off anyway */
      return bad_class(v, at, size, error);
    classes = remove ? classes & ~bits : classes | bits;
    at += size + (at[size] == ',');
  }
  /* 0 would mean the defaults; lifecycle, which is always on, alone means none */
  config->classes = classes ? classes
                            : EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  return EVENTRING_OK;
}

int eventring_config_stream(struct eventring_config *config, const char *text,
                            struct eventring_error *error) {
  struct eventring_config full;
  const struct variable v = {"stream", text};
  int status = evr_config_take(&full, config, error);
  if (status == EVENTRING_OK && (!text || !text[0]))
    status = evr_fail(error, EVENTRING_E_CONFIG, 0, "a stream needs a path");
  if (status == EVENTRING_OK) status = parse_stream(&full, &v, error);
  if (status != EVENTRING_OK) return status;
  if (full.start == EVENTRING_START_OFF) full.start = EVENTRING_START_ON;
  memcpy(config, &full, config->size);
  return EVENTRING_OK;
}

static char service_directory[PATH_MAX]; /* "" if there is none */

/* Finds the state directory of a service. A directory that the process cannot use counts
   as none. */
static void find_service_directory(void) {
  if (!evr_service_directory(service_directory) || access(service_directory, W_OK | X_OK) != 0)
    service_directory[0] = 0;
}

static const char *usable_service_directory(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_service_directory);
  return service_directory[0] ? service_directory : NULL;
}

int eventring_config_from_env(struct eventring_config *config,
                              const char *prefix,
                              struct eventring_error *error) {
  static const struct {
    const char *suffix;
    int (*parse)(struct eventring_config *, const struct variable *,
                 struct eventring_error *);
  } settings[] = {
      {"START", parse_start},     {"PREFIX", parse_directory},
      {"PRESERVE", parse_preserve}, {"WSIZE", parse_wsize},
      {"SECONDS", parse_seconds},   {"GROW", parse_grow},
      {"CLASSES", parse_classes},   {"NAME", parse_name},
      {"KEEP", parse_keep},         {"CPU_TIME", parse_cpu_time},
      {"FORK", parse_fork},         {"STREAM", parse_stream},
      {"TRIGGER", parse_triggers},  {"REMOTE", parse_remote},
      {"REDACT", parse_redact},
  };
  struct eventring_config full;
  bool says_start = false;
  int status = evr_config_take(&full, config, error);
  if (status != EVENTRING_OK) return status;
  if (!prefix || strlen(prefix) > 100)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no prefix, or too long a one");
  for (size_t i = 0; status == EVENTRING_OK && i < sizeof settings / sizeof settings[0];
       i++) {
    struct variable v = look_up(prefix, settings[i].suffix);
    if (v.value) status = settings[i].parse(&full, &v, error);
    says_start |= i == 0 && v.value && v.value[0];
  }
  if (((full.stream && full.stream[0]) || full.triggers) && !says_start)
    full.start = EVENTRING_START_ON;
  if (status != EVENTRING_OK) full.start = EVENTRING_START_OFF;
  if (!full.directory) full.directory = usable_service_directory();
  memcpy(config, &full, config->size);
  return status;
}
