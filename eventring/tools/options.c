/* SPDX-License-Identifier: MIT */
/* options.c: parses the words of a subcommand. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/nearest.h"
#include "eventring.h"
#include "formats.h"
#include "view.h"

int usage_error(const struct command *self, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  complain("%s: %s (see `eventring %s --help')", self->name, text,
           self->name);
  return STATUS_USAGE;
}

int require_targets(const struct command *self, const struct operands *operands) {
  if (operands->command && operands->count > 0)
    return usage_error(self, "either `%s' or a command to launch, not both", operands->words[0]);
  if (operands->command && !operands->command[0])
    return usage_error(self, "no command after `--'");
  if (!operands->command && operands->count == 0)
    return usage_error(self, "no PID or FILE given");
  return STATUS_GO_ON;
}

int require_target(const struct command *self, const struct operands *operands,
                   bool with_command) {
  if (operands->command && !with_command)
    return usage_error(self, "cannot launch a command");
  int status = require_targets(self, operands);
  if (!goes_on(status)) return status;
  if (operands->count > 1)
    return usage_error(self, "more than one PID or FILE: `%s'",
                       operands->words[1]);
  return STATUS_GO_ON;
}

bool read_process_number(const char *text, pid_t *pid) {
  char *end;
  long number = strtol(text, &end, 10);
  if (!isdigit((unsigned char)text[0]) || *end != '\0' || number <= 0 || number > INT32_MAX)
    return false;
  *pid = (pid_t)number;
  return true;
}

int require_process(const struct command *self, const struct operands *operands, pid_t *pid) {
  int status = require_target(self, operands, false);
  if (!goes_on(status) || read_process_number(operands->words[0], pid)) return status;
  return usage_error(self, "%s is not the number of a process", operands->words[0]);
}

/* Prints words up to the page's width; further lines begin at `indent`. */
static void print_wrapped(const char *text, int indent) {
  enum { PAGE = 80 };
  int used = indent;
  for (const char *at = text + strspn(text, " \n"); *at;) {
    int size = (int)strcspn(at, " \n");
    if (used > indent && used + 1 + size > PAGE) {
      printf("\n%*s", indent, "");
      used = indent;
    }
    used += printf("%s%.*s", used > indent ? " " : "", size, at);
    at += size;
    at += strspn(at, " \n");
  }
  putchar('\n');
}

static const struct example { const char *command, *text; } examples[] = {
#define EXAMPLE(command, text) {#command, text},
#include "examples.def"
#undef EXAMPLE
};

static void print_examples(const struct command *self) {
  bool any = false;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    if (strcmp(examples[i].command, self->name) != 0) continue;
    if (!any) puts("\nExamples:");
    any = true;
    printf("  %s\n", examples[i].text);
  }
}

static void print_help(const struct command *self,
                       const struct option_spec *specs, size_t count) {
  char left[64];
  printf("Usage: eventring %s [OPTIONS] %s\n%c%s.\n\nOptions:\n", self->name,
         self->synopsis, self->summary[0] & ~0x20, self->summary + 1);
  for (size_t i = 0; i <= count; i++) {
    static const struct option_spec help = {
        "help", 'h', OPTION_FLAG, NULL, NULL, "this text"};
    const struct option_spec *spec = i < count ? &specs[i] : &help;
    char letter[8] = "    ";
    if (spec->letter) snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, spec->name,
             spec->argument && spec->kind != OPTION_LEVEL ? " " : "",
             spec->argument ? spec->argument : "");
    printf("  %-26s ", left);
    if (strlen(left) > 26) printf("\n%29s", "");
    print_wrapped(spec->help, 29);
  }
  print_examples(self);
}

/* Returns the unit behind a number of seconds, in nanoseconds, or 0 if there is no such
   unit. */
static double unit_of(const char *suffix) {
  static const struct { const char *name; double ns; } units[] = {
      {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}, {"h", 3600e9}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(units[i].name, suffix) == 0) return units[i].ns;
  return 0;
}

static bool read_seconds(const char *text, uint64_t *ns) {
  char *end;
  if (strspn(text, "0123456789.") == 0) return false; /* no "nan", no sign */
  double number = strtod(text, &end);
  double value = number * unit_of(end);
  if (end == text || unit_of(end) == 0 || !(value <= 1e18)) return false;
  *ns = (uint64_t)(value + 0.5); /* a fraction is often a little less than written */
  return true;
}

/* Reads a fraction of a second: ".5" is 500,000,000 ns. Returns false if it is no
   fraction. */
static bool read_fraction(const char *text, size_t size, uint64_t *ns) {
  uint64_t unit = 100000000;
  *ns = 0;
  if (size < 2 || strspn(text + 1, "0123456789") < size - 1) return size == 0;
  for (size_t i = 1; i < size; i++, unit /= 10) *ns += (uint64_t)(text[i] - '0') * unit;
  return text[0] == '.';
}

static bool read_time_of_day(const char *text, uint64_t *ns) {
  struct tm parts = {.tm_isdst = -1};
  const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (!end) end = strptime(text, "%Y-%m-%d %H:%M:%S", &parts);
  if (!end) return false;
  size_t size = strlen(end);
  bool is_utc = size > 0 && end[size - 1] == 'Z';
  time_t seconds = is_utc ? timegm(&parts) : mktime(&parts);
  if (!read_fraction(end, size - is_utc, ns) || seconds < 0 || seconds > 9000000000) return false;
  *ns += (uint64_t)seconds * 1000000000;
  return true;
}

static bool read_time(const char *text, struct time_point *point) {
  point->base = text[0] == '-' ? TIME_BEFORE_END : TIME_AFTER_START;
  if (read_seconds(text + (text[0] == '-'), &point->ns)) return true;
  point->base = TIME_OF_DAY;
  return read_time_of_day(text, &point->ns);
}

static bool read_count(const char *text, uint64_t *value) {
  char *end;
  if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text)) return false;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return errno == 0;
}

static bool read_size(const char *text, uint64_t *value) {
  static const char units[] = "KMGT";
  size_t digits = strspn(text, "0123456789");
  const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
  unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  if (digits == 0 || (text[digits] && (!unit || text[digits + 1]))) return false;
  errno = 0;
  uint64_t number = strtoull(text, NULL, 10);
  if (errno != 0 || number > UINT64_MAX >> shift) return false;
  *value = number << shift;
  return true;
}

static void append(char **list, const char *argument) {
  size_t used = *list ? strlen(*list) : 0, size = used + strlen(argument) + 2;
  *list = need_resized(*list, size, 1);
  snprintf(*list + used, size - used, "%s%s", used ? "," : "", argument);
}

/* Stores a number within bounds. Returns NULL, or what would be right. */
static const char *store_between(const struct option_between *to, const char *argument) {
  static char text[48];
  if (!read_count(argument, to->number)) return "a whole number";
  if (*to->number >= to->least && *to->number <= to->most) return NULL;
  snprintf(text, sizeof text, "%" PRIu64 " to %" PRIu64, to->least, to->most);
  return text;
}

/* Stores the index of a name. Returns NULL, or the names that would be right: "a, b or
   c". */
static const char *store_choice(const struct option_choice *to, const char *argument) {
  static char text[128];
  size_t used = 0;
  for (unsigned i = 0; to->names[i]; i++) {
    const char *before = i == 0 ? "" : to->names[i + 1] ? ", " : " or ";
    if (strcmp(to->names[i], argument) == 0) return *to->index = i, NULL;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", before, to->names[i]);
  }
  return text;
}

/* Stores an option. Returns NULL, or what would be right. */
static const char *store(const struct option_spec *spec, const char *argument) {
  switch (spec->kind) {
    case OPTION_CHOICE: return store_choice(spec->target, argument);
    case OPTION_BETWEEN: return store_between(spec->target, argument);
    case OPTION_SCHEMA: return NULL;
    case OPTION_FLAG: *(bool *)spec->target = true; return NULL;
    case OPTION_TEXT: *(const char **)spec->target = argument; return NULL;
    case OPTION_LIST:
      if (!*argument) return "a list of names with commas between them";
      append(spec->target, argument);
      return NULL;
    case OPTION_COUNT:
      return read_count(argument, spec->target) ? NULL : "a whole number";
    case OPTION_LEVEL:
      if (argument) return store_between(spec->target, argument);
      *((const struct option_between *)spec->target)->number = 0;
      return NULL;
    case OPTION_SIZE:
      return read_size(argument, spec->target)
                 ? NULL
                 : "a number of bytes (or with K, M, G, T behind it)";
    case OPTION_SECONDS:
      return read_seconds(argument, spec->target)
                 ? NULL
                 : "a number of seconds (or with ms, us, m, h behind it)";
    case OPTION_TIME:
      return read_time(argument, spec->target)
                 ? NULL
                 : "12.5 (seconds after the start), -2 (before the end) or 2026-11-22T10:00:00";
  }
  return NULL;
}

static const struct option_spec *spec_for(const struct option_spec *specs,
                                          size_t count, const char *name,
                                          size_t size, char letter) {
  for (size_t i = 0; i < count; i++)
    if (letter ? specs[i].letter == letter
               : strlen(specs[i].name) == size &&
                     memcmp(specs[i].name, name, size) == 0)
      return &specs[i];
  return NULL;
}

/* Reports that there is no such option. `size` is the bytes of the long name in `word`,
   or 0 for a letter. */
static void no_option(const struct command *self, const struct option_spec *specs,
                      size_t count, const char *word, size_t size) {
  struct eva_nearest nearest;
  eva_nearest_begin(&nearest, word + 2, size);
  for (size_t i = 0; size > 0 && i < count; i++) eva_nearest_try(&nearest, specs[i].name);
  if (size > 0) eva_nearest_try(&nearest, "help");
  if (nearest.word) usage_error(self, "no option `%s'; did you mean `--%s'?", word, nearest.word);
  else usage_error(self, "no option `%s'", word);
}

/* Takes one option at words[0]. Returns how many words it took, or 0 after an error
   message. */
static int take_option(const struct command *self,
                       const struct option_spec *specs, size_t spec_count,
                       char **words) {
  const char *word = words[0];
  bool is_long = word[1] == '-';
  const char *name = is_long ? word + 2 : word + 1;
  size_t size = is_long ? strcspn(name, "=") : 1;
  const char *inside = is_long ? (name[size] ? name + size + 1 : NULL)
                               : (name[1] ? name + 1 : NULL);
  const struct option_spec *spec =
      spec_for(specs, spec_count, name, size, is_long ? 0 : name[0]);
  if (!spec) {
    no_option(self, specs, spec_count, word, is_long ? size : 0);
    return 0;
  }
  if (spec->kind == OPTION_FLAG && inside) {
    usage_error(self, "`--%s' takes no argument", spec->name);
    return 0;
  }
  bool takes_word = spec->kind != OPTION_FLAG && spec->kind != OPTION_LEVEL && !inside;
  const char *argument = takes_word ? words[1] : inside;
  if (takes_word && !argument) {
    usage_error(self, "`--%s' needs an argument: %s", spec->name, spec->argument);
    return 0;
  }
  const char *expected = store(spec, argument);
  if (expected) {
    usage_error(self, "`--%s%c%s': not %s", spec->name, spec->kind == OPTION_LEVEL ? '=' : ' ',
                argument, expected);
    return 0;
  }
  return takes_word ? 2 : 1;
}

/* ---- Values of options, for completion ---------------------------------------- */

static void print_values(const struct command *self, const struct option_spec *spec) {
  const char *name = spec->name, *argument = spec->argument;
  if (spec->kind == OPTION_CHOICE) {
    const struct option_choice *choice = spec->target;
    for (unsigned i = 0; choice->names[i]; i++) puts(choice->names[i]);
  } else if (strcmp(name, "to") == 0) {
    puts(formats_of_profiles());
    if (strcmp(self->name, "export") == 0) puts(formats_of_events());
  } else if (!strcmp(name, "class") || !strcmp(name, "enable") || !strcmp(name, "disable")) {
    /* the library's classes: those of a host only its recordings have */
    for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
      if (eventring_class_name(i)) puts(eventring_class_name(i));
  } else if (argument && strchr(argument, '|')) {
    /* the lower-case words, as in "on|RATE|off" */
    for (size_t size; *argument; argument += size + (argument[size] == '|')) {
      size = strcspn(argument, "|");
      if (islower((unsigned char)*argument)) printf("%.*s\n", (int)size, argument);
    }
  }
}

/* Handles `--values-of OPTION` (with dashes): prints the values of the option that are
   names, or the word "FILE" if it takes a file. */
static int tell_values(const struct command *self, const struct option_spec *specs, size_t count,
                       const char *option) {
  bool is_long = option && option[0] == '-' && option[1] == '-';
  const char *name = option ? option + (is_long ? 2 : option[0] == '-') : "";
  const struct option_spec *spec =
      spec_for(specs, count, name, strlen(name), is_long ? 0 : name[0]);
  if (!spec || spec->kind == OPTION_FLAG) return STATUS_USAGE;
  if (spec->argument && (strcmp(spec->argument, "FILE") == 0 || strcmp(spec->argument, "DIR") == 0))
    puts("FILE");
  else
    print_values(self, spec);
  return STATUS_OK;
}

int options_parse(const struct command *self, const struct option_spec *specs,
                  size_t spec_count, int count, char **words,
                  struct operands *operands) {
  *operands = (struct operands){.words = words};
  for (int i = 0; i < count;) {
    if (strcmp(words[i], "--") == 0) {
      operands->command = words + i + 1;
      break;
    }
    if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) {
      print_help(self, specs, spec_count);
      return STATUS_OK;
    }
    if (strcmp(words[i], "--values-of") == 0)
      return tell_values(self, specs, spec_count, words[i + 1]);
    const struct option_spec *schema = spec_for(specs, spec_count, "json-schema", 11, 0);
    if (schema && strcmp(words[i], "--json-schema") == 0) {
      view_schema(schema->target, self->name, stdout);
      return STATUS_OK;
    }
    if (words[i][0] == '-' && words[i][1] != '\0') {
      int taken = take_option(self, specs, spec_count, words + i);
      if (taken == 0) return STATUS_USAGE;
      i += taken;
    } else {
      words[operands->count++] = words[i++];
    }
  }
  return STATUS_GO_ON;
}
