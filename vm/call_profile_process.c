/* SPDX-License-Identifier: MIT */
/* vm/call_profile_process.c: when a process keeps a profile of calls.
 *
 * SAROS_PROFILE, or the word `requests` of the recording's control page, asks for it.
 * Domains that begin while it runs take part from their start. Those that run already
 * follow at a safepoint (probes_safe_point). While there is nothing to do, the word that
 * safepoints test anyway is the word of the control page, so waiting for requests costs
 * nothing. While the process keeps a profile, a thread of its own raises another word for
 * a moment in each period (the pulse). Domains that run without calling anything then
 * write what they have, and obey. The thread also raises the word if the control page
 * asks for something (the end of the profile, stacks, a question): it sleeps until the
 * end of the period or until there is a request (eventring_calls_wait). A request that no
 * domain obeys, because all are in C functions, is raised again after a pause, which
 * doubles each time, up to about a second.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_profile.h"
#include "clock.h"
#include "eventring/stack.h"
#include "os_thread.h"
#include "probes.h"

#define PULSE_NS 5000000 /* the time for which the word is raised */
/* between two checks whether a request is still open */
#define OFTEN_NS ((uint64_t)500000)
#define LEAST_PERIOD ((uint64_t)10000000)
#define MOST_PERIOD ((uint64_t)3600 * 1000000000)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CallProfileOptions options; /* written before `wanted` (release) */
static bool wanted;               /* atomic */
static bool ticks;                 /* whether the thread runs; guarded by the mutex */
static uint32_t pulse;             /* atomic */

static bool is_wanted(void) {
  /* acquire: pairs with the release stores of `wanted`, so that `options` is seen */
  return __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
}

/* ---- the variable -------------------------------------------------------- */

static bool read_size(const char *text, size_t *size) {
  char *end;
  const unsigned long long number = strtoull(text, &end, 10);
  unsigned shift = 0;
  if (end == text || *text == '-') return false;
  if (*end == 'K' || *end == 'k') shift = 10;
  else if (*end == 'M' || *end == 'm') shift = 20;
  else if (*end == 'G' || *end == 'g') shift = 30;
  end += shift != 0;
  if (*end != '\0' || number > (SIZE_MAX >> 8) >> shift) return false;
  *size = (size_t)number << shift;
  return *size >= CALL_PROFILE_LEAST;
}

static bool read_period(const char *text, uint64_t *ns) {
  char *end;
  const double number = strtod(text, &end);
  const double unit = strcmp(end, "ms") == 0 ? 1e6 : strcmp(end, "s") == 0 || !*end ? 1e9 : 0;
  if (end == text || unit == 0 || !(number * unit >= (double)LEAST_PERIOD) ||
      number * unit > (double)MOST_PERIOD)
    return false;
  *ns = (uint64_t)(number * unit);
  return true;
}

/* Reads a word of the variable. Returns what is wrong with it, or NULL. */
static const char *read_word(const char *word, CallProfileOptions *o, bool *calls) {
  if (strcmp(word, "calls") == 0) *calls = true;
  else if (strcmp(word, "cpu") == 0) o->cpu = true;
  else if (strncmp(word, "budget=", 7) == 0)
    return read_size(word + 7, &o->budget) ? NULL : "budget is not a size of 64K or more";
  else if (strncmp(word, "period=", 7) == 0)
    return read_period(word + 7, &o->period_ns) ? NULL : "period is not a time from 10ms to 3600s";
  else return "its words are calls, cpu, budget=SIZE, period=TIME";
  return NULL;
}

static const char *read_options(char *text, CallProfileOptions *o, bool *calls) {
  char *rest = NULL;
  const char *wrong = NULL;
  for (char *word = strtok_r(text, ",", &rest); word != NULL && wrong == NULL;
       word = strtok_r(NULL, ",", &rest))
    wrong = read_word(word, o, calls);
  return wrong == NULL && !*calls ? "it does not say `calls'" : wrong;
}

void call_profile_begin_process(const char *warner) {
  const char *variable = secure_getenv("SAROS_PROFILE");
  CallProfileOptions read = {0};
  bool calls = false;
  if (variable == NULL || *variable == '\0') return;
  char *text = strdup(variable);
  const char *wrong = text != NULL ? read_options(text, &read, &calls) : "no memory";
  free(text);
  if (wrong != NULL) {
    fprintf(stderr, "%s: warning: no profile: SAROS_PROFILE: %s\n", warner, wrong);
    return;
  }
  options = read;
  /* release: pairs with is_wanted, after which `options` is read */
  __atomic_store_n(&wanted, true, __ATOMIC_RELEASE);
  probes_start_asked = true;
}

/* ---- the pulse ----------------------------------------------------------- */

/* Ends a pulse. The word has been raised by the thread that began the profile, or by the
 * pulse's own thread. It is lowered after a short time or, if it was raised because of a
 * request, as soon as the request is obeyed. Returns false if the profile has ended; then
 * the pulse's thread ends. */
static bool end_pulse(bool for_asked) {
  uint64_t raised = 0;
  do {
    os_thread_rest(for_asked ? OFTEN_NS : PULSE_NS);
    raised += OFTEN_NS;
  } while (for_asked && raised < PULSE_NS && eventring_calls_wait(0));
  pthread_mutex_lock(&mutex);
  const bool goes_on = ticks = is_wanted();
  __atomic_store_n(&pulse, 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&mutex);
  return goes_on;
}

/* Waits until there is a request, for at most `ns`. Returns whether there is one.
 * *unobeyed is the time to rest before a request that nobody has obeyed is raised again,
 * or 0 if nothing has been raised. */
static bool await_asked(uint64_t ns, uint64_t *unobeyed) {
  if (*unobeyed != 0 && eventring_calls_wait(0)) {
    const uint64_t rest = *unobeyed < ns ? *unobeyed : ns;
    os_thread_rest(rest);
    if (*unobeyed < CALL_PROFILE_PERIOD) *unobeyed *= 2;
    return rest < ns;
  }
  const bool asked = eventring_calls_wait(ns);
  *unobeyed = asked ? PULSE_NS : 0;
  return asked;
}

static void *beat(void *argument) {
  const uint64_t period = options.period_ns != 0 ? options.period_ns : CALL_PROFILE_PERIOD;
  uint64_t begin = monotonic_ns(), unobeyed = 0;
  bool asked = false;
  (void)argument;
  while (end_pulse(asked)) {
    const uint64_t passed = monotonic_ns() - begin;
    asked = passed < period && await_asked(period - passed, &unobeyed);
    if (!asked) begin = monotonic_ns();
    __atomic_store_n(&pulse, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void begin_beat_locked(void) {
  /* without the thread, a domain writes when it calls something */
  if (!ticks) ticks = os_thread_start(beat, NULL, OS_THREAD_SMALL, 0) == 0;
}

static void forget_after_fork(void) {
  pthread_mutex_init(&mutex, NULL);
  ticks = false;
  pulse = 0;
}

static void note_forks(void) { pthread_atfork(NULL, NULL, forget_after_fork); }

/* ---- obeying ------------------------------------------------------------- */

/* Chooses the word that safepoints test while there is nothing to do. */
static void choose_word(Domain *d) {
  const uint32_t *word = NULL;
  if (is_wanted()) word = &pulse;
  else if (d->rings != NULL) word = eventring_calls_word(d->rings);
  probes_set_idle_word(word);
}

static void begin_profiling(Domain *d) {
  static pthread_once_t noted = PTHREAD_ONCE_INIT;
  pthread_once(&noted, note_forks);
  pthread_mutex_lock(&mutex);
  /* release: pairs with is_wanted */
  __atomic_store_n(&wanted, true, __ATOMIC_RELEASE);
  __atomic_store_n(&pulse, 1, __ATOMIC_RELAXED); /* for the other domains */
  begin_beat_locked();
  pthread_mutex_unlock(&mutex);
  choose_word(d);
}

static void follow(lua_State *L) {
  Domain *d = L->domain;
  bool no_memory;
  if (is_wanted()) {
    if (d->own_profile == NULL) d->own_profile = call_profile_start(L, &options, &no_memory);
  } else if (d->own_profile != NULL) {
    CallProfile *p = d->own_profile;
    d->own_profile = NULL;
    call_profile_stop(L, p);
    call_profile_free(p);
  }
}

/* Tells readers that a profile continues in a new recording, for instance after a fork.
 * The word of a new recording is 0, but this 0 is no request to end the profile. */
static void say_that_it_runs(uint32_t *word) {
  __atomic_fetch_or(word, CONTROL_REQUEST_CALLS | CONTROL_REQUEST_OBEYED, __ATOMIC_RELAXED);
}

/* Obeys the requests of the control page. */
static void obey_control(Domain *d) {
  uint32_t *word = d->rings != NULL ? (uint32_t *)eventring_calls_word(d->rings) : NULL;
  if (word == NULL) return;
  const uint32_t asked = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (asked & CONTROL_REQUEST_SPANS)
    __atomic_fetch_and(word, ~(uint32_t)CONTROL_REQUEST_SPANS, __ATOMIC_RELAXED);
  const bool on = asked & CONTROL_REQUEST_CALLS;
  if (on && !is_wanted()) begin_profiling(d);
  if (!is_wanted()) return;
  if (!(asked & CONTROL_REQUEST_OBEYED)) {
    say_that_it_runs(word);
    begin_profiling(d); /* in the child of a fork, the thread that beats is gone */
  } else if (!on) {
    /* release: pairs with is_wanted */
    __atomic_store_n(&wanted, false, __ATOMIC_RELEASE);
    __atomic_fetch_and(word, ~(uint32_t)CONTROL_REQUEST_OBEYED, __ATOMIC_RELAXED);
  }
}

void call_profile_obey(Domain *d) {
  lua_State *L = d->current;
  if (L == NULL || d->gc.running) {
    choose_word(d); /* at a collection, which may be the first safepoint of a recording */
    return;
  }
  obey_control(d);
  follow(L);
  call_profile_check_spans(L);
  CallProfile *p = call_profile_of(d);
  if (p != NULL) call_profile_write_if_due(p);
  if (!is_wanted()) choose_word(d);
}

/* ---- domains ------------------------------------------------------------- */

void call_profile_attach(lua_State *L) {
  Domain *d = L->domain;
  d->hooks.profile_obey = call_profile_obey;
  d->hooks.profile_end = call_profile_detach;
  /* there may be a request to end the profile that no other domain has seen yet */
  obey_control(d);
  if (is_wanted()) begin_profiling(d); /* which starts a thread that reads `options` */
  else choose_word(d);
  follow(L);
  call_profile_check_spans(L);
}

void call_profile_detach(Domain *d) {
  CallProfile *p = call_profile_of(d);
  d->watcher = NULL;
  d->hooks.interlude = NULL;
  d->own_profile = NULL;
  if (p != NULL) call_profile_end(p);
  if (d->called != NULL) called_functions_free(d->called);
  free(d->called);
  d->called = NULL;
}
