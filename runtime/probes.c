/* SPDX-License-Identifier: MIT */
/* runtime/probes.c: the catalogue of the runtime, and when the process records. */
#include "probes.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/memory.h"
#include "eventring/question.h"
#include "introspection.h"
#include "memprof.h"
#include "peer.h"

#define ENVIRONMENT_PREFIX "SAROS_EVENTRING"

/* Rings grow until they hold this many seconds of the program's past. */
enum { DEFAULT_HOLD_S = 10 };
#define DEFAULT_HOLD_NS (DEFAULT_HOLD_S * (uint64_t)1000000000)

/* Words of events.def in the terms of the library. */
#define UNIT_NONE NULL
#define UNIT_COUNT "count"
#define UNIT_WORDS "words"
#define UNIT_BYTES "bytes"
#define UNIT_NS "ns"
#define UNIT_ID EVENTRING_UNIT_ID

/* The parts of a form, each a constant. */
#define EVENT_FORM(form, def, value, means, about, doc) \
  enum { \
    KIND_OF_##form = EVENTRING_DEF_##def, \
    PAYLOAD_OF_##form = EVENTRING_##value, \
    MEASURE_OF_##form = EVENTRING_##means, \
    QUANTITY_OF_##form = EVENTRING_QUANTITY_##about \
  };
#include "events.def"

static const struct eventring_def catalogue[] = {
#define EVENT(id, text, form, group, of, sentence) \
  {.name = text, .unit = UNIT_##of, .doc = sentence, .kind = KIND_OF_##form, \
   .payload = PAYLOAD_OF_##form, .measure = MEASURE_OF_##form, \
   .quantity = QUANTITY_OF_##form, .event_class = EVENTRING_CLASS_##group, \
   .ring = RING_OF_##group},
#include "events.def"
};

/* ---- safepoints ---------------------------------------------------------------
 *
 * probes_start_word, the word that safepoints test, changes only under the mutex. The
 * word may be in the recording's mapping. In this process the mapping outlasts the
 * recording: it stays until all domains have ended, except domains of the thread that
 * stops the recording. A forked child does not have the mapping.
 */
/* other processes may set this word (introspection.h) */
#define nothing_wanted introspection_request.word
const uint32_t *probes_start_word = &nothing_wanted;
/* The word that safepoints test while no domain waits. Atomic; changes under the
 * mutex. */
static const uint32_t *idle_word = &nothing_wanted;

/* Makes safepoints call probes_take_up when the recording changes: in a forked child,
 * until the child is recorded or known not to be, and when the process continues in a new
 * file. */
static const uint32_t changed = 1;

static pthread_mutex_t waiting_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned waiting; /* number of domains on standby */
static pthread_mutex_t begin_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards `begun` */

static void set_start_word(const uint32_t *word) {
  __atomic_store_n(&probes_start_word, word, __ATOMIC_RELAXED);
}

/* Notes that no domain waits any more, and makes safepoints test `word`. */
static void forget_waiting_for(const uint32_t *word) {
  pthread_mutex_lock(&waiting_mutex);
  waiting = 0;
  __atomic_store_n(&idle_word, &nothing_wanted, __ATOMIC_RELAXED);
  set_start_word(word);
  pthread_mutex_unlock(&waiting_mutex);
}

static void forget_waiting(void) { forget_waiting_for(&nothing_wanted); }

/* Forgets the recording of the parent in a forked child, which has no recording yet,
 * before the child's program continues. */
static void forget_after_fork(void) {
  pthread_mutex_init(&waiting_mutex, NULL);
  pthread_mutex_init(&begin_mutex, NULL);
  forget_waiting_for(&changed);
}

static void begin_to_wait(Domain *d) {
  pthread_mutex_lock(&waiting_mutex);
  if (!d->rings_wait) waiting++;
  d->rings_wait = true;
  /* the low half of the control word, which comes first in memory (little-endian) */
  set_start_word((const uint32_t *)d->rings->lane[EVENTRING_RUNTIME].gate);
  pthread_mutex_unlock(&waiting_mutex);
}

static void end_waiting(Domain *d) {
  pthread_mutex_lock(&waiting_mutex);
  if (d->rings_wait && waiting > 0 && --waiting == 0) set_start_word(idle_word);
  d->rings_wait = false;
  pthread_mutex_unlock(&waiting_mutex);
}

void probes_set_idle_word(const uint32_t *word) {
  if (word == NULL) word = &nothing_wanted;
  /* Most often the word is in use already, and the mutex is not taken. Otherwise a signal
   * that ends the program here would leave the mutex locked, and other domains would wait
   * for it at their end */
  if (__atomic_load_n(&idle_word, __ATOMIC_RELAXED) == word &&
      __atomic_load_n(&probes_start_word, __ATOMIC_RELAXED) == word)
    return;
  pthread_mutex_lock(&waiting_mutex);
  __atomic_store_n(&idle_word, word, __ATOMIC_RELAXED);
  if (waiting == 0 && __atomic_load_n(&probes_start_word, __ATOMIC_RELAXED) != &changed)
    set_start_word(idle_word);
  pthread_mutex_unlock(&waiting_mutex);
}

static bool is_changed(void) {
  return __atomic_load_n(&probes_start_word, __ATOMIC_RELAXED) == &changed;
}

/* Handles a change of the recording. In a forked child, each safepoint calls this until
 * the library has started the recording that the child is to have (eventring's
 * follow.c). */
static void take_up_changed(Domain *d) {
  d->rings_wait = false; /* the domain waited for the former recording */
  eventring_domain_check(d->rings);
  if (eventring_fork_pending()) return;
  forget_waiting();
  if (eventring_state() == EVENTRING_STANDBY) begin_to_wait(d);
}

/* Makes the domain answer a question of a tool before its next instruction, when
 * registers are in their slots. Does the same if a child answered the last question,
 * since the child may have ended. */
static void see_question(Domain *d) {
  struct eventring_question question;
  if (likely(!eventring_question_open(d->rings, &question)) && d->answerer == 0) return;
  __atomic_fetch_or(&d->peer->attention, ATTENTION_QUESTION, __ATOMIC_RELAXED);
  if (d->hooks.interrupt != NULL) d->hooks.interrupt(d->current);
}

/* Attaches the domain to the recording if it waits for one, and obeys what tools ask for.
 * Until the last waiting domain has attached, all other domains call this at each
 * safepoint. */
void probes_take_up(Domain *d) {
  if (is_changed()) take_up_changed(d);
  if (d->rings_wait) {
    eventring_domain_check(d->rings);
    end_waiting(d);
  }
  /* lines_obey lowers the word if nobody asks */
  if (d->hooks.lines_obey != NULL) d->hooks.lines_obey(d);
  if (d->hooks.profile_obey != NULL) d->hooks.profile_obey(d);
  if (d->hooks.stack_obey != NULL) d->hooks.stack_obey(d);
  see_question(d);
}

void probes_collection(Domain *d) {
  eventring_domain_check(d->rings);
  if (introspection_lines_until() != 0 && d->hooks.lines_obey != NULL) d->hooks.lines_obey(d);
  if (d->hooks.stack_obey != NULL) d->hooks.stack_obey(d);
  see_question(d);
}

static pthread_once_t registered = PTHREAD_ONCE_INIT;
static int registration_status;
static struct eventring_error registration_error;
static char program_name[EVENTRING_MAX_PROGRAM + 1];

/* Defines the classes and rings of the runtime. If another host has started a recording,
 * these classes are off in it. */
static void define_classes(void) {
  static const struct {
    enum eventring_class number;
    const char *name; /* NULL if libeventring names the class itself */
  } classes[] = {
#define EVENT_CLASS(class, ring, name) {EVENTRING_CLASS_##class, name},
#include "events.def"
  };
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    if (classes[i].name != NULL) eventring_define_class(classes[i].number, classes[i].name, false);
  eventring_define_ring(EVENTRING_RING_IO, "io");
}

static void name_samples(void) {
#define MEMPROF_KIND(id, name, doc) \
  eventring_memory_name(EVENTRING_MEMORY_KIND, MEMPROF_##id, name);
#define MEMPROF_ORIGIN(id, name, doc) \
  eventring_memory_name(EVENTRING_MEMORY_ORIGIN, MEMPROF_FROM_##id, name);
#include "memprof.def"
}

unsigned probes_first_id = EVENTRING_ID_HOST;

/* Takes the ids of another copy of this runtime in the process (libsaros and the stand-in
 * for liblua5.4), which has registered the same table. Returns false if no copy has
 * registered it. */
static bool share_catalogue(void) {
  struct eventring_error error;
  int first = eventring_register(&catalogue[0], &error);
  for (int i = 0; i < EVENT_COUNT; i++)
    if (first < 0 || eventring_register(&catalogue[i], &error) != first + i) return false;
  probes_first_id = (unsigned)first;
  return true;
}

static void register_catalogue(void) {
  pthread_atfork(NULL, NULL, forget_after_fork);
  /* libeventring ends the recording by itself, with the exit status */
  atexit(forget_waiting);
  define_classes();
  name_samples();
  registration_status =
      eventring_register_table(catalogue, EVENT_COUNT, &probes_first_id, &registration_error);
  if (registration_status == EVENTRING_E_CONFLICT && share_catalogue()) registration_status = 0;
}

static int ensure_catalogue(struct eventring_error *error) {
  pthread_once(&registered, register_catalogue);
  if (registration_status != 0 && error != NULL) *error = registration_error;
  return registration_status;
}

/* Bit n is set after a warning of error code -n. Relaxed, since no other data depends on
   a bit. */
static uint64_t causes_warned_of;

/* Warns that the recording is in a directory that nobody has named. */
static void warn_elsewhere(const char *warner, const struct eventring_error *error) {
  fprintf(stderr, "%s: warning: %s (SAROS_EVENTRING_PREFIX names another directory)\n", warner,
          error->text);
}

/* Warns that the file was deleted, and makes safepoints test no word in it. */
static void warn_of_deletion(const struct eventring_error *error) {
  forget_waiting_for(&changed);
  fprintf(stderr, "saros: warning: %s\n", error->text);
}

/* Handles the warnings of libeventring. Called for each domain that cannot be recorded
 * (129th, disk full), and if the file could not be removed at the end. Warns once for
 * each cause, since a program may start thousands of domains. */
static void warn(void *context, const struct eventring_error *error) {
  uint64_t cause = (uint64_t)1 << (-error->code & 63); /* each code has its own bit */
  (void)context;
  if (error->code == EVENTRING_ELSEWHERE) return warn_elsewhere("saros", error);
  if (error->code == EVENTRING_DELETED) return warn_of_deletion(error);
  if (error->code == EVENTRING_UNSAVED) { /* once for each trigger */
    fprintf(stderr, "saros: warning: %s\n", error->text);
    return;
  }
  if (__atomic_fetch_or(&causes_warned_of, cause, __ATOMIC_RELAXED) & cause) return;
  if (error->code == EVENTRING_LOSING)
    fprintf(stderr, "saros: warning: %s\n", error->text);
  else if (error->code == EVENTRING_E_LEFT)
    fprintf(stderr, "saros: warning: the recording has ended, but its file is left: %s\n",
            error->text);
  else
    fprintf(stderr, "saros: warning: a domain is not recorded: %s (reported once)\n", error->text);
}

uint32_t (*probes_answer_aside)(struct eventring_domain *rings, uint32_t kinds);

/* Calls probes_answer_aside, which may be set after the recording has begun. */
static uint32_t answer_aside(struct eventring_domain *rings, uint32_t kinds) {
  uint32_t (*answer)(struct eventring_domain *, uint32_t) =
      __atomic_load_n(&probes_answer_aside, __ATOMIC_RELAXED);
  return answer != NULL ? answer(rings, kinds) : 0;
}

/* Sets the rate of samples. SAROS_MEMPROF and SAROS_MEMPROF_DUMP start a recording by
 * themselves. */
static int configure_samples(struct eventring_config *config, struct eventring_error *error) {
  const char *rate = secure_getenv("SAROS_MEMPROF");
  config->has_samples = true;
  if (memprof_dump_configure() && (rate == NULL || *rate == '\0')) rate = "on";
  if (rate == NULL || *rate == '\0') return 0;
  int status = eventring_memory_parse_rate(rate, &config->sample_rate, error);
  if (status == 0 && config->sample_rate > 0 && config->start == EVENTRING_START_OFF)
    config->start = EVENTRING_START_ON;
  return status;
}

static int configure_recording(struct eventring_config *config, struct eventring_error *error) {
  const char *classes = getenv(ENVIRONMENT_PREFIX "_CLASSES");
  define_classes(); /* before the environment is read, since it may name them */
  /* the variable may also name events */
  if (classes != NULL && strchr(classes, '"') != NULL) ensure_catalogue(NULL);
  eventring_config_init(config);
  config->hold_ns = DEFAULT_HOLD_NS;
  config->follow_forks = true;
  config->profiles_calls = true;
  config->names_calls = true;
  config->answers = true; /* vm/question.c */
  config->answer_aside = answer_aside;
  config->writes_stacks = true;
  int status = eventring_config_from_env(config, ENVIRONMENT_PREFIX, error);
  if (status == 0) status = configure_samples(config, error);
  config->program = program_name[0] != '\0' ? program_name : NULL;
  config->warn = warn;
  __atomic_store_n(&causes_warned_of, 0, __ATOMIC_RELAXED);
  return status;
}

void (*probes_before_start)(void);
bool probes_start_asked;

static void prepare_start(void) {
  if (probes_before_start != NULL) probes_before_start();
}

/* Starts the recording. Delays signals that end the process until the recording exists:
 * otherwise the handler would find no recording to end, and would leave a file without a
 * header, which no command removes. */
static int start_undisturbed(const struct eventring_config *config,
                             struct eventring_error *error) {
  sigset_t ending, before;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGHUP);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  int status = eventring_start(config, error);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}

static int start_recording(const struct eventring_config *config,
                           struct eventring_error *error) {
  static pthread_once_t prepared = PTHREAD_ONCE_INIT;
  int status = ensure_catalogue(error);
  if (status != 0) return status;
  pthread_once(&prepared, prepare_start);
  return start_undisturbed(config, error);
}

static int start_from_env(struct eventring_error *error) {
  struct eventring_config config;
  int status = configure_recording(&config, error);
  const char *start = secure_getenv(ENVIRONMENT_PREFIX "_START");
  if (status == 0 && probes_start_asked && (start == NULL || strcmp(start, "0") != 0) &&
      config.start == EVENTRING_START_OFF)
    config.start = EVENTRING_START_ON;
  if (status != 0 || config.start == EVENTRING_START_OFF) return status;
  return start_recording(&config, error);
}

static bool begun;

/* Starts recording as the environment says. If that fails, only warns: a failure to
 * record never stops the program. */
void probes_begin(const char *program, const char *warner) {
  struct eventring_error error;
  pthread_mutex_lock(&begin_mutex);
  if (!begun) {
    begun = true;
    snprintf(program_name, sizeof program_name, "%s", program != NULL ? program : "");
    int status = start_from_env(&error);
    char name[1024];
    warner = eventring_printable(name, sizeof name, warner, strlen(warner));
    if (status < 0) fprintf(stderr, "%s: warning: not recording: %s\n", warner, error.text);
    else if (status == EVENTRING_ELSEWHERE) warn_elsewhere(warner, &error);
  }
  pthread_mutex_unlock(&begin_mutex);
}

int probes_start(const char *stream, struct eventring_error *error) {
  struct eventring_config config;
  int status = configure_recording(&config, error);
  if (status == 0 && stream != NULL) status = eventring_config_stream(&config, stream, error);
  if (status != 0) return status;
  config.start = EVENTRING_START_ON;
  status = start_recording(&config, error);
  if (status == EVENTRING_ELSEWHERE) warn_elsewhere("saros", error);
  return status < 0 ? status : 0;
}

int probes_stop(void) {
  forget_waiting();
  return eventring_stop();
}
void probes_stop_in_handler(int signal_number) {
  eventring_note_signal(signal_number);
  eventring_end_in_handler();
}
void probes_note_signal(int signal_number) { eventring_note_signal(signal_number); }
void probes_note_error(const char *text) { eventring_note_error(text, strlen(text)); }

/* Obeys the request of another process for a recording. The first domain that reaches a
 * safepoint does this. */
static void obey_request(void) {
  struct eventring_config config;
  struct eventring_error error;
  const char *directory;
  if (!introspection_take_request(&directory)) return;
  int status = configure_recording(&config, &error);
  if (status == 0) {
    config.start = EVENTRING_START_ON;
    if (*directory != '\0') config.directory = directory;
    status = start_recording(&config, &error);
  }
  if (status < 0) fprintf(stderr, "saros: warning: not recording: %s\n", error.text);
  introspection_reply(status < 0 ? EIO : 0);
}

void probes_attend(Domain *d) {
  if (__atomic_load_n(&introspection_request.word, __ATOMIC_RELAXED) != 0) {
    obey_request();
    eventring_domain_check(d->rings);
  }
  probes_take_up(d);
}

void probes_domain_start(Domain *d, const char *name) {
  struct eventring_error error;
  probes_begin(NULL, "saros");
  ensure_catalogue(NULL);
  error.code = EVENTRING_OK;
  d->rings = eventring_domain_start(name, &error);
  /* while something is recorded, the library has warned already */
  if (error.code != EVENTRING_OK && eventring_state() == EVENTRING_STOPPED)
    warn(NULL, &error);
  /* a state may continue in another thread; the domain ends in lua_close */
  eventring_domain_unbind(d->rings);
  if (eventring_state() == EVENTRING_STANDBY) begin_to_wait(d);
}

void probes_domain_stop(Domain *d) {
  end_waiting(d);
  if (d->rings != NULL) eventring_domain_stop(d->rings);
  d->rings = NULL;
}
