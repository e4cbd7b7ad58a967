/* config.c: settings, from defaults and from the environment; classes. */
#include "internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Classes ------------------------------------------------------------ */

/* Defined before the recorder starts (eventring_define_class); indices 0..7 are
   the standard ones. */
char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1] = {
    "lifecycle", "gc", "domain", "user", "load", "calls", "alloc", "io"};

static uint32_t default_classes =
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_DOMAIN) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_LOAD) |
    EVENTRING_CLASS_BIT(EVENTRING_CLASS_IO);

uint32_t evr_default_classes(void) { return default_classes; }

uint32_t evr_named_classes(
    const char names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1]) {
  uint32_t classes = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (names[i][0]) classes |= EVENTRING_CLASS_BIT(i);
  return classes;
}

static int class_by_bytes(const char *name, size_t size) {
  for (int i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (size && strlen(evr_class_names[i]) == size &&
        memcmp(evr_class_names[i], name, size) == 0)
      return i;
  return EVENTRING_E_NOT_FOUND;
}

int eventring_class_by_name(const char *name) {
  return name ? class_by_bytes(name, strlen(name)) : EVENTRING_E_ARGUMENT;
}

const char *eventring_class_name(unsigned index) {
  return index < EVENTRING_MAX_CLASSES && evr_class_names[index][0]
             ? evr_class_names[index] : NULL;
}

int eventring_define_class(unsigned index, const char *name, bool on) {
  if (index < EVENTRING_CLASS_HOST || index >= EVENTRING_MAX_CLASSES)
    return EVENTRING_E_ARGUMENT;
  size_t size = name ? strlen(name) : 0;
  if (size < 1 || size > EVENTRING_MAX_CLASS_NAME) return EVENTRING_E_NAME;
  int existing = class_by_bytes(name, size);
  if (existing >= 0 && existing != (int)index) return EVENTRING_E_CONFLICT;
  if (eventring_state() != EVENTRING_STOPPED) return EVENTRING_E_STATE;
  memset(evr_class_names[index], 0, sizeof evr_class_names[index]);
  memcpy(evr_class_names[index], name, size);
  uint32_t bit = EVENTRING_CLASS_BIT(index);
  default_classes = on ? default_classes | bit : default_classes & ~bit;
  return EVENTRING_OK;
}

/* ---- The environment ----------------------------------------------------- */

void eventring_config_init_for(struct eventring_config *config, size_t struct_size,
                               unsigned compiled_for) {
  const struct eventring_config defaults = {
      .struct_size = struct_size,
      .version = compiled_for,
      .wsize = EVENTRING_DEFAULT_WSIZE,
      .classes = EVENTRING_CLASSES_DEFAULT,
  };
  memset(config, 0, struct_size);
  memcpy(config, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

struct variable {
  char name[128];
  const char *value; /* NULL when not set; a process that runs set-user-id sees
                        none (secure_getenv) */
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
  if (!v->value[0] || strcmp(v->value, "0") == 0)
    config->preserve = false;
  else if (strcmp(v->value, "1") == 0)
    config->preserve = true;
  else
    return bad(v, error, "0 or 1");
  return EVENTRING_OK;
}

static int parse_wsize(struct eventring_config *config, const struct variable *v,
                       struct eventring_error *error) {
  char *end, allowed[64];
  if (!v->value[0]) return EVENTRING_OK;
  unsigned long number = strtoul(v->value, &end, 10);
  bool digits = v->value[0] >= '0' && v->value[0] <= '9' && !*end;
  if (digits && number >= EVENTRING_MIN_WSIZE && number <= EVENTRING_MAX_WSIZE) {
    config->wsize = (unsigned)number;
    return EVENTRING_OK;
  }
  snprintf(allowed, sizeof allowed, "a whole number from %d to %d",
           EVENTRING_MIN_WSIZE, EVENTRING_MAX_WSIZE);
  return bad(v, error, allowed);
}

static int parse_directory(struct eventring_config *config,
                           const struct variable *v,
                           struct eventring_error *error) {
  (void)error;
  if (v->value[0]) config->directory = v->value;
  return EVENTRING_OK;
}

static int bad_class(const struct variable *v, struct eventring_error *error) {
  char text[320] = "a comma-separated list, each with + or - before it to change the "
                   "defaults, of all, none";
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_class_name(i);
    size_t used = strlen(text);
    if (name)
      snprintf(text + used, sizeof text - used, ", %.*s", EVENTRING_MAX_CLASS_NAME, name);
  }
  return bad(v, error, text);
}

/* A list such as "gc,user" (these only), "all,-io" or "+calls". */
static int parse_classes(struct eventring_config *config,
                         const struct variable *v,
                         struct eventring_error *error) {
  const char *at = v->value;
  if (!*at) return EVENTRING_OK;
  uint32_t all = evr_named_classes(evr_class_names);
  uint32_t classes = *at == '+' || *at == '-' ? default_classes : 0;
  while (*at) {
    bool remove = *at == '-';
    if (*at == '+' || *at == '-') at++;
    size_t size = strcspn(at, ",");
    int index = class_by_bytes(at, size);
    uint32_t bits = index >= 0 ? EVENTRING_CLASS_BIT(index) : 0;
    if (size == 3 && memcmp(at, "all", 3) == 0)
      bits = all;
    else if (!(size == 4 && memcmp(at, "none", 4) == 0) && index < 0)
      return bad_class(v, error);
    classes = remove ? classes & ~bits : classes | bits;
    at += size + (at[size] == ',');
  }
  /* 0 would mean the defaults; lifecycle alone is as quiet as it gets */
  config->classes = classes ? classes
                            : EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  return EVENTRING_OK;
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
      {"CLASSES", parse_classes},
  };
  if (!config || config->struct_size != sizeof *config)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "configuration not made by eventring_config_init");
  if (!prefix || strlen(prefix) > 100)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no prefix, or too long a one");
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    struct variable v = look_up(prefix, settings[i].suffix);
    int status = v.value ? settings[i].parse(config, &v, error) : EVENTRING_OK;
    if (status != EVENTRING_OK) {
      config->start = EVENTRING_START_OFF;
      return status;
    }
  }
  return EVENTRING_OK;
}
