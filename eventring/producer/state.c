/* SPDX-License-Identifier: MIT */
/* state.c: the states of the producer: started, standing by, paused, stopped, forked. */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/control.h"
#include "format/error.h"
#include "format/guard.h"
#include "producer/last_stack.h"
#include "producer/catalogue.h"
#include "producer/classes.h"
#include "producer/config.h"
#include "producer/domains.h"
#include "producer/follow.h"
#include "producer/allocations.h"
#include "producer/off_cpu.h"
#include "producer/outside.h"
#include "producer/redact.h"
#include "producer/producer.h"
#include "producer/triggers.h"
#include "producer/watch.h"

/* The process that made the present recording, 0 if there is none. Code that does not
   hold the mutex reads this instead of the recording, which a stop by another thread may
   free. */
static pid_t recorded_process;

static void set_recording_locked(struct evr_recording *r) {
  __atomic_store_n(&recorded_process, r ? (pid_t)r->header.pid : 0, __ATOMIC_RELAXED);
  /* release: pairs with the acquire load in eventring_domain_check (domains.c). Signal
     handlers, which do not take the mutex, load it relaxed, and read only through the
     pointer */
  __atomic_store_n(&evr_producer.recording, r, __ATOMIC_RELEASE);
}

/* Tells whether this is a child of a recorded process that was made without the handlers
   of fork. Such a child may neither wait for the mutex nor write. */
static bool is_raw_child(void) {
  pid_t process = __atomic_load_n(&recorded_process, __ATOMIC_RELAXED);
  return process && process != getpid();
}

/* ---- Fork -------------------------------------------------------------------------- */

static void follow_parent(bool now);

/* How often this thread is in on_deleted: the host, which is told there, may fork. */
static __thread unsigned telling;

/* Renews the state in the child, which has only the forking thread, holding the mutex. */
static void after_fork_in_child(void) {
  struct evr_recording *r = evr_producer.recording;
  bool follow = evr_follow_after_fork(r);
  evr_watch_after_fork();
  evr_helper_do(after_fork);
  evr_domains_after_fork(evr_follow_gate());
  evr_off_cpu_after_fork();
  if (r) {
    evr_recording_disown(r); /* now only the parent has the lock */
    set_recording_locked(NULL);
    evr_recording_release_locked(r);
  }
  for (unsigned i = 0; i < evr_producer.ended_count; i++)
    evr_recording_disown(evr_producer.ended[i]);
  evr_producer.telling = telling; /* the parent's other threads are not here */
  evr_domains_drop_ended_locked();
  /* release: pairs with the acquire loads of `follow` in producer.c, domains.c and below:
     a thread that sees it sees the renewed state */
  __atomic_store_n(&evr_producer.follow, follow ? follow_parent : NULL, __ATOMIC_RELEASE);
  evr_lock_renew();
}

static void before_fork(void) {
  evr_lock();
  evr_watch_lock();
}

static void after_fork_in_parent(void) {
  evr_watch_unlock();
  evr_unlock();
}

static void forget_parent_locked(void) {
  __atomic_store_n(&evr_producer.follow, NULL, __ATOMIC_RELAXED);
  evr_domains_close_fork_gate();
  evr_follow_forget_locked();
}

static void on_deleted(enum evr_look look);

/* ---- Exit -------------------------------------------------------------------------- */

static int stop(struct evr_end end);

/* Registers a handler of exit; atexit itself calls this. glibc passes the exit status as
   a second argument, which handlers of atexit do not declare, and 0 when a library is
   unloaded. on_exit passes it, too, but its handlers outlive the library that they are
   in. */
int __cxa_atexit(void (*handler)(void *argument, int status), void *argument, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Tells whether this code is a part of the program itself. Then its handler is called
   when the process exits; that of a library, also when it is unloaded. */
static bool is_in_program(void) {
  extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
  return getauxval(AT_PHDR) == (uintptr_t)&__ehdr_start + __ehdr_start.e_phoff;
}

static void at_exit(void *unused, int status) {
  (void)unused;
#ifndef __GLIBC__
  status = 0; /* not known */
#endif
  stop((struct evr_end){FORMAT_END_EXIT, (uint32_t)status & 0xff});
}

static void install_handlers(void) {
  evr_on_deleted = on_deleted;
  evr_guard_prepare_forks();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  __cxa_atexit(at_exit, NULL, &__dso_handle);
}

bool eventring_fork_pending(void) {
  /* acquire: pairs with the release in after_fork_in_child */
  return __atomic_load_n(&evr_producer.follow, __ATOMIC_ACQUIRE) != NULL;
}

/* ---- Start and stop ---------------------------------------------------------------- */

static int check_config(const struct eventring_config *config,
                        struct eventring_error *error) {
  if (config->wsize < EVENTRING_MIN_WSIZE || config->wsize > EVENTRING_MAX_WSIZE)
    return evr_fail(error, EVENTRING_E_CONFIG, 0,
                    "ring size %u is out of range: must be %d to %d",
                    config->wsize, EVENTRING_MIN_WSIZE, EVENTRING_MAX_WSIZE);
  if (config->start != EVENTRING_START_ON && config->start != EVENTRING_START_STANDBY)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "start mode %d is none of off, on, standby",
                    (int)config->start);
  if (config->preserve > EVENTRING_PRESERVE_ON_ERROR)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "%d is no way to preserve a recording",
                    (int)config->preserve);
  if (config->keep > EVENTRING_MAX_KEEP)
    return evr_fail(error, EVENTRING_E_CONFIG, 0,
                    "cannot keep %u recordings: must be 0 to %d", config->keep,
                    EVENTRING_MAX_KEEP);
  if (config->stream_max && config->stream_max < EVENTRING_LEAST_STREAM)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "a stream of at most %llu bytes is too small: "
                    "must be 1 MiB or more", (unsigned long long)config->stream_max);
  if (!(config->sample_rate >= 0 && config->sample_rate <= 1))
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "a rate of samples of %g is out of range: must "
                    "be 0 to 1", config->sample_rate);
  uint64_t classes;
  if (evr_redact_parse(config->redact, &classes, error) != EVENTRING_OK) return EVENTRING_E_CONFIG;
  if (config->stream_rings >> EVENTRING_RINGS)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "there are only %d rings", EVENTRING_RINGS);
  if (config->triggers) {
    int count = eventring_triggers_check(config->triggers, strlen(config->triggers), error);
    return count < 0 ? count : EVENTRING_OK;
  }
  return EVENTRING_OK;
}

/* Ends the recording; `next`, which may be NULL, then is the present one. E_LEFT: the
   file could not be removed. */
static int retire_locked(struct evr_recording *r, struct evr_end end, struct evr_recording *next,
                         struct eventring_error *error) {
  evr_domains_dismiss_locked(r, next);
  evr_catalogue_finish_locked(r);
  int failure = evr_recording_end_locked(r, end, false), status = EVENTRING_OK;
  if (failure)
    status = evr_fail(error, EVENTRING_E_LEFT, failure, "cannot remove %.300s", r->path);
  set_recording_locked(next);
  evr_producer.ended[evr_producer.ended_count++] = r;
  evr_domains_drop_ended_locked();
  return status;
}

static int end_locked(struct evr_recording *r, struct evr_end end,
                      struct eventring_error *error) {
  evr_triggers_end_locked();
  evr_outside_end(r);
  return retire_locked(r, end, NULL, error);
}

static bool is_standing_by_locked(const struct evr_recording *r) {
  return r->slots == 0 && __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED) == 0;
}

/* Makes a recording. Readers can find it only when it has all definitions. */
static int make_recording_locked(struct evr_recording **r,
                                 const struct eventring_config *config, bool elsewhere,
                                 struct eventring_error *error) {
  int status = evr_recording_create(r, config, elsewhere, error);
  if (status != EVENTRING_OK) return status;
  status = evr_catalogue_publish_locked(*r, error);
  if (status == EVENTRING_OK) evr_memory_publish_locked(*r);
  if (status == EVENTRING_OK) evr_recording_show(*r, config);
  else evr_recording_discard(*r);
  return status;
}

/* Makes the recording in the first substitute directory that can be used: the host has
   named none, and the current one cannot be used. */
static int make_elsewhere_locked(struct evr_recording **r,
                                 const struct eventring_config *config,
                                 struct eventring_error *error) {
  const char *directories[EVR_SUBSTITUTES];
  unsigned count = evr_recording_substitutes(directories);
  const struct eventring_error cause = *error;
  struct eventring_config there = *config;
  int status = cause.code;
  for (unsigned i = 0; i < count && status < EVENTRING_OK; i++) {
    there.directory = directories[i];
    status = make_recording_locked(r, &there, true, error);
  }
  if (status >= EVENTRING_OK)
    return evr_fail(error, EVENTRING_ELSEWHERE, 0, "the recording is %.180s: %.180s", (*r)->path,
                    cause.text);
  const struct eventring_error last = *error;
  return evr_fail(error, status, 0, "%.190s; %.190s", cause.text, last.text);
}

static int make_somewhere_locked(struct evr_recording **r,
                                 const struct eventring_config *config,
                                 struct eventring_error *error) {
  struct eventring_error own;
  if (!error) error = &own;
  int status = make_recording_locked(r, config, evr_follow_is_elsewhere(config), error);
  bool unusable = status == EVENTRING_E_PERMISSION || status == EVENTRING_E_DIRECTORY;
  return unusable && evr_follow_any_directory(config) ? make_elsewhere_locked(r, config, error)
                                                      : status;
}

/* Makes the present recording, for one host and `joined` more. */
static int begin_recording_locked(const struct eventring_config *config, unsigned joined,
                                  struct eventring_error *error) {
  struct evr_recording *r;
  evr_redact_set_locked(config->redact);
  int status = make_somewhere_locked(&r, config, error);
  if (status < EVENTRING_OK) return status;
  evr_streams_start(r);
  set_recording_locked(r);
  evr_producer.joined = joined;
  evr_off_cpu_measure(!config->no_cpu_time);
  evr_producer.listener = (struct evr_listener){config->warn, config->warn_context};
  evr_follow_keep_locked(r, config);
  evr_domains_admit_locked(r);
  /* this recording counts, because the process may be killed; but it does not displace
     the last kept one */
  evr_recording_limit_kept(r, r->keep > 1 ? r->keep - 1 : 1);
  evr_triggers_begin_locked(config->triggers);
  return status;
}

/* Tells whether `count` more recordings can end before the other domains have run. */
static bool may_end_locked(unsigned count) {
  enum { MOST = sizeof evr_producer.ended / sizeof evr_producer.ended[0] };
  return evr_producer.ended_count + count <= MOST;
}

static int begin_locked(const struct eventring_config *config,
                        struct eventring_error *error) {
  struct evr_recording *r = evr_producer.recording;
  if (r && config->start == EVENTRING_START_ON && is_standing_by_locked(r)) {
    evr_recording_change_gate_locked(r, EVR_RESUME, 0);
    return EVENTRING_OK;
  }
  if (r) {
    evr_producer.joined++;
    return EVENTRING_JOINED;
  }
  if (!may_end_locked(1))
    return evr_fail(error, EVENTRING_E_STATE, 0,
                    "started and stopped too often while other domains run");
  return begin_recording_locked(config, 0, error);
}

/* Begins a recording like the parent's in the child of a fork. Domains attach to it as to
   any other. */
static void follow_parent(bool now) {
  struct eventring_error cause, error;
  evr_lock();
  int status = EVENTRING_OK;
  struct evr_listener listener = evr_producer.listener;
  if (evr_producer.follow && (now || evr_follow_is_due())) {
    forget_parent_locked();
    status = begin_recording_locked(evr_follow_config(), evr_producer.joined, &cause);
  }
  evr_unlock();
  evr_helper_do(begin);
  if (status == EVENTRING_OK) return;
  evr_fail(&error, cause.code, 0, "process %d, the child of a recorded one: %s", (int)getpid(),
           cause.text);
  evr_producer_warn(listener, &error);
}

/* ---- A file that was deleted ------------------------------------------------------- */

static void carry_names_locked(struct format_control *to, const struct format_control *from) {
  char names[FORMAT_LIST_BYTES + 1];
  uint32_t version;
  int size = evr_control_read_list(&from->spans, names, &version);
  if (size <= 0) return; /* no list, or its writer is changing it */
  names[size] = '\0';
  evr_control_write_list(&to->spans, names);
}

/* Copies to the next recording what other processes have asked of this one; but not a
   question, which belongs to one file. */
static void carry_over_locked(struct evr_recording *next, struct evr_recording *r) {
  uint32_t profile = __atomic_load_n(&evr_control(r)->requests, __ATOMIC_RELAXED);
  next->failed = r->failed;
  if (evr_outside_obeys(r, FORMAT_WORD_CALL_PROFILE))
    __atomic_fetch_or(&evr_control(next)->requests, profile & FORMAT_REQUEST_CALLS,
                      __ATOMIC_RELAXED);
  carry_names_locked(evr_control(next), evr_control(r));
  evr_triggers_carry_locked(next, r);
}

/* Goes on in a new file of the same name. Readers that have the former file open find
   everything in it, and why it ended. */
static int replace_locked(struct evr_recording *r, struct eventring_error *error) {
  struct evr_recording *next;
  if (!may_end_locked(2)) /* the next one must be able to end, too */
    return evr_fail(error, EVENTRING_E_STATE, 0, "there were too many before");
  evr_recording_drop_rescued(r);
  int status = make_recording_locked(&next, evr_follow_own_locked(r), r->elsewhere, error);
  if (status != EVENTRING_OK) return status;
  carry_over_locked(next, r);
  evr_streams_start(next);
  retire_locked(r, (struct evr_end){FORMAT_END_DELETED, 0}, next, error);
  evr_domains_admit_locked(next);
  evr_triggers_go_on_locked();
  return EVENTRING_OK;
}

/* Replaces the recording. Returns true if the host must be warned, with *news. */
static bool replace_deleted_locked(struct evr_recording *r, struct eventring_error *news) {
  struct eventring_error cause;
  evr_fail(news, EVENTRING_DELETED, 0, "%.300s was deleted: recording goes on in a new file",
           r->path);
  if (replace_locked(r, &cause) == EVENTRING_OK) return true; /* `r` may be gone by now */
  evr_fail(news, EVENTRING_DELETED, 0,
           "%.200s was deleted, and recording goes on in it, for there can be no new one: %.200s",
           r->path, cause.text);
  bool is_news = !r->deletion_said;
  r->deletion_said = true;
  return is_news;
}

/* Tells whether the file is to be replaced now. If there are domains, the first of them
   that runs does so. If none has done so since the helper's last check, all are asleep,
   and the file is copied. */
static bool is_to_be_replaced_locked(struct evr_recording *r, enum evr_look look) {
  if (look == EVR_LOOK_ASIDE && r->slots > 0) {
    if (__atomic_load_n(&r->deleted, __ATOMIC_RELAXED)) evr_recording_copy_aside_locked(r);
    else evr_recording_see_link(r, true);
    return false;
  }
  if (look != EVR_KNOWN) evr_recording_see_link(r, look == EVR_LOOK_ASIDE);
  return __atomic_exchange_n(&r->deleted, false, __ATOMIC_RELAXED);
}

/* Goes on in another file if the file was deleted. Called on the thread of a domain, or
   the helper's. */
static void on_deleted(enum evr_look look) {
  struct eventring_error news;
  bool is_news = false;
  telling++;
  evr_lock();
  evr_producer.telling++;
  struct evr_listener listener = evr_producer.listener;
  struct evr_recording *r = evr_producer.recording;
  if (r && !r->ended && is_to_be_replaced_locked(r, look))
    is_news = replace_deleted_locked(r, &news);
  evr_unlock();
  if (is_news) evr_helper_do(begin);
  if (is_news) evr_producer_warn(listener, &news);
  evr_lock();
  evr_producer.telling--;
  evr_unlock();
  telling--;
}

/* ---- Start and stop, again --------------------------------------------------------- */

/* Ends a recording whose file was taken from it; returns true if there was one. */
static bool end_lost_locked(void) {
  struct evr_recording *r = evr_producer.recording;
  if (!r || !evr_recording_is_lost(r)) return false;
  /* the host is warned of the loss only */
  end_locked(r, (struct evr_end){FORMAT_END_NOT_SAID, 0}, NULL);
  return true;
}

static void warn_of_loss(struct evr_listener listener) {
  struct eventring_error error;
  evr_fail(&error, EVENTRING_E_TRUNCATED, 0,
           "another process cut the file of the recording short: recording "
           "ended there");
  evr_producer_warn(listener, &error);
}

int evr_start(const struct eventring_config *config, const struct evr_helper *helper,
              struct eventring_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct eventring_config full;
  if (config && config->start == EVENTRING_START_OFF) return EVENTRING_OK;
  int status = config ? eventring_check_version(config->version, error) : EVENTRING_OK;
  if (status == EVENTRING_OK) status = evr_config_take(&full, config, error);
  if (status == EVENTRING_OK) status = check_config(&full, error);
  if (status != EVENTRING_OK) return status;
  /* release: pairs with the acquire load in evr_helper_do (producer.h) */
  __atomic_store_n(&evr_producer.helper, helper, __ATOMIC_RELEASE);
  pthread_once(&once, install_handlers);
  /* never released: probes may store into a recording that has ended */
  evr_guard_start(full.leave_sigbus);
  evr_producer_follow_now();
  evr_lock();
  struct evr_listener former = evr_producer.listener;
  bool lost = end_lost_locked();
  status = begin_locked(&full, error);
  evr_unlock();
  if (lost) warn_of_loss(former);
  if (status >= EVENTRING_OK) evr_helper_do(begin);
  /* a domain that a start finds in the calling thread is recorded at once */
  if (status >= EVENTRING_OK) evr_domain_attach_own();
  return status;
}

/* Takes back one of several starts; returns false if there is only one. */
static bool leave_recording(void) {
  evr_lock();
  bool others = (evr_producer.recording || evr_producer.follow) && evr_producer.joined;
  if (others) evr_producer.joined--;
  evr_unlock();
  return others;
}

static int stop(struct evr_end end) {
  if (is_raw_child()) return EVENTRING_E_STATE;
  if (end.reason != FORMAT_END_EXIT && leave_recording()) return EVENTRING_JOINED;
  const bool exits = end.reason == FORMAT_END_EXIT && is_in_program();
  evr_helper_do(finish, exits);
  evr_domain_emit_own(EVENTRING_ID_RECORDER_STOP, getpid());
  struct eventring_error error;
  int status = EVENTRING_OK;
  bool lost = false;
  evr_lock();
  struct evr_listener listener = evr_producer.listener;
  struct evr_recording *r = evr_producer.recording;
  if (r) {
    lost = evr_recording_is_lost(r);
    status = end_locked(r, end, &error);
  }
  forget_parent_locked();
  evr_unlock();
  if (lost) warn_of_loss(listener);
  if (status != EVENTRING_OK) evr_producer_warn(listener, &error);
  return status;
}

static const struct evr_end stopped = {FORMAT_END_STOPPED, 0};
int eventring_stop(void) { return stop(stopped); }

int eventring_note_error(const char *text, size_t size) {
  int status = EVENTRING_E_STATE;
  if (!text && size) return EVENTRING_E_ARGUMENT;
  if (is_raw_child()) return EVENTRING_E_STATE;
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  if (r && !r->ended)
    status = evr_recording_note_error_locked(r, text, size) ? EVENTRING_OK : EVENTRING_E_SPACE;
  evr_unlock();
  if (r) evr_stack_wanted(NULL, EVENTRING_STACK_ERROR, 0, false);
  uint64_t fired = r ? evr_watch_happened(EVENTRING_SUBJECT_ERROR, 1, false) : 0;
  if (fired) evr_domain_report_fired(evr_domain_own(), fired);
  return status;
}

enum { SIGNAL_WAIT_MS = 1000 };

/* Takes the mutex in a signal handler; the helper may hold it while it copies a deleted
   file. Returns false when this thread holds the mutex, or it does not become free in
   time. */
static bool lock_in_handler(void) {
  enum { TRIES = 50 }; /* each takes 20 ms */
  bool locked = false;
  for (int i = 0; i < TRIES && !evr_locking() && !locked; i++) locked = evr_lock_soon();
  return locked;
}

/* Notes the signal that is about to end the process, and waits for due copies. */
static void note_signal(struct evr_recording *r, int number) {
  evr_recording_note_signal(r, (uint32_t)number);
  evr_stack_wanted(NULL, EVENTRING_STACK_SIGNAL, number, true);
  evr_watch_post(evr_watch_happened(EVENTRING_SUBJECT_SIGNAL, number, true));
  if (evr_watch_is_busy()) evr_helper_do(wait, SIGNAL_WAIT_MS * (uint64_t)1000000);
  bool locked = lock_in_handler();
  evr_recording_rescue(r);
  if (locked) evr_unlock();
}

/* Notes a signal. The present recording is not freed meanwhile, as in
   eventring_end_in_handler. */
void eventring_note_signal(int number) {
  int saved = errno;
  struct evr_recording *r = __atomic_load_n(&evr_producer.recording, __ATOMIC_RELAXED);
  if (r && !r->ended && !evr_domain_is_raw_child(r))
    note_signal(r, number);
  errno = saved;
}

/* Ends the recording in a signal handler. Does not free the recording, whether this
   thread gets the mutex or not. */
void eventring_end_in_handler(void) {
  int saved = errno;
  struct evr_recording *r = __atomic_load_n(&evr_producer.recording, __ATOMIC_RELAXED);
  if (evr_domain_is_raw_child(r)) return;
  bool locked = lock_in_handler();
  r = __atomic_load_n(&evr_producer.recording, __ATOMIC_RELAXED);
  if (r && !r->ended) {
    uint64_t wanted = __atomic_load_n(&r->wanted, __ATOMIC_RELAXED);
    __atomic_store_n(&evr_control(r)->wanted, wanted & ~(uint64_t)1, __ATOMIC_RELAXED);
    __atomic_store_n(&evr_control(r)->gate, 0, __ATOMIC_RELAXED);
    evr_recording_end_locked(r, (struct evr_end){FORMAT_END_SIGNAL, 0}, true);
  }
  if (locked) evr_unlock();
  errno = saved;
}

/* ---- Pause, classes, state --------------------------------------------------------- */

static int change_gate(enum evr_gate_change change, uint64_t classes,
                       uint64_t *before) {
  evr_producer_follow_now();
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  if (r && change == EVR_ADD && classes & r->redacted) r = NULL;
  if (r) *before = evr_recording_change_gate_locked(r, change, classes);
  evr_unlock();
  return r ? EVENTRING_OK : EVENTRING_E_STATE;
}

int eventring_pause(void) {
  uint64_t before = 0;
  if (eventring_state() == EVENTRING_RUNNING) {
    uint64_t classes = 0;
    eventring_get_classes(&classes);
    evr_domain_emit_own(EVENTRING_ID_PAUSE, (int64_t)classes);
  }
  return change_gate(EVR_PAUSE, 0, &before);
}

int eventring_resume(void) {
  uint64_t before = 0;
  int status = change_gate(EVR_RESUME, 0, &before);
  if (status != EVENTRING_OK || before & 1) return status;
  evr_domain_attach_own();
  evr_domain_emit_own(EVENTRING_ID_RESUME, (int64_t)(before | 1));
  return EVENTRING_OK;
}

int eventring_switch_classes(uint64_t classes, bool on) {
  uint64_t before;
  return change_gate(on ? EVR_ADD : EVR_REMOVE, classes, &before);
}

int eventring_get_classes(uint64_t *classes) {
  if (!classes) return EVENTRING_E_ARGUMENT;
  evr_producer_follow_now();
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  if (r) /* class lifecycle is always wanted */
    *classes = __atomic_load_n(&evr_control(r)->wanted, __ATOMIC_RELAXED) | 1;
  evr_unlock();
  return r ? EVENTRING_OK : EVENTRING_E_STATE;
}

static enum eventring_state state_locked(void) {
  const struct evr_recording *r = evr_producer.recording;
  if (!r || evr_recording_is_lost(r)) return EVENTRING_STOPPED;
  if (is_standing_by_locked(r)) return EVENTRING_STANDBY;
  uint64_t gate = __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED);
  return gate ? EVENTRING_RUNNING : EVENTRING_PAUSED;
}

enum eventring_state eventring_state(void) {
  evr_producer_follow_now();
  evr_lock();
  enum eventring_state state = state_locked();
  evr_unlock();
  return state;
}

int eventring_define_class(unsigned index, const char *name, bool on) {
  evr_lock();
  int status = evr_class_define(index, name, on, state_locked() == EVENTRING_STOPPED);
  evr_unlock();
  return status;
}

int eventring_define_ring(unsigned index, const char *name) {
  evr_lock();
  int status = evr_ring_define(index, name, state_locked() == EVENTRING_STOPPED);
  evr_unlock();
  return status;
}

size_t eventring_path(char *buffer, size_t size) {
  size_t length = 0;
  evr_producer_follow_now();
  evr_lock();
  if (size) buffer[0] = 0;
  if (evr_producer.recording) {
    length = strlen(evr_producer.recording->path);
    if (size) snprintf(buffer, size, "%s", evr_producer.recording->path);
  }
  evr_unlock();
  return length;
}

uint64_t eventring_now(void) {
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  uint64_t ns = r ? evr_recording_now_locked(r) : evr_monotonic_ns();
  evr_unlock();
  return ns;
}
