/* state.c: the life of the recorder and of its domains (see producer.h). */
#include "producer/producer.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct evr_recorder evr_recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const uint64_t closed_gate = 0;

/* What a host gets when there is no memory for a domain: probes only ever read
   its gates. */
static struct evr_domain inert_domain = {
    .hot.lane = {{.gate = &closed_gate}, {.gate = &closed_gate}}};

static __thread struct evr_domain *self; /* last domain started by this thread */

__thread bool evr_locking;

void evr_lock(void) {
  evr_locking = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pthread_mutex_lock(&evr_recorder.mutex);
}

void evr_unlock(void) {
  pthread_mutex_unlock(&evr_recorder.mutex);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  evr_locking = false;
}

/* ---- Gates and attention ---------------------------------------------------------- */

static void set_gate(struct evr_domain *d, const uint64_t *gate) {
  for (int r = 0; r < EVENTRING_RINGS; r++)
    __atomic_store_n(&d->hot.lane[r].gate, gate, __ATOMIC_RELAXED);
}

void evr_recording_check_gate(struct evr_recording *r) {
  uint64_t gate = __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED);
  uint64_t good = __atomic_load_n(&r->gate, __ATOMIC_RELAXED);
  if (gate == good) return;
  if (evr_gate_valid(gate, evr_named_classes(r->header.classes)))
    __atomic_store_n(&r->gate, gate, __ATOMIC_RELAXED);
  else if (evr_control_repair(evr_control(r), r->clock, gate, good))
    __atomic_fetch_add(&evr_status(r)->rejected, 1, __ATOMIC_RELAXED);
}

static void change_gate_locked(struct evr_recording *r, enum evr_gate_change change,
                               uint32_t classes, uint64_t *before) {
  uint32_t named = evr_named_classes(r->header.classes);
  *before = evr_control_change(evr_control(r), r->clock, named, change, classes);
  evr_recording_check_gate(r);
}

/* Sends the next probes of other threads' domains of this recording into the
   slow path. The barrier on all threads pairs with publish_limit; without it (an
   old kernel) a domain that is changing blocks right now might notice only at its
   next change. */
static void request_attention_locked(const struct evr_recording *r) {
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next)
    if (d->recording == r) __atomic_store_n(&d->attention, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next)
    for (int i = 0; d->recording == r && i < EVENTRING_RINGS; i++)
      __atomic_store_n(&d->hot.lane[i].limit, NULL, __ATOMIC_RELAXED);
}

/* ---- Attaching a domain to the recording -------------------------------------------- */

static int free_slot_locked(const struct evr_recording *r) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    if (!r->slot[i].owner) return i;
  return -1;
}

/* The version is odd while the fields change: a seqlock (as in ring.c). */
static void write_entry(struct evr_domain *d, bool alive) {
  struct format_domain *e = evr_domain_entry(d->recording, (unsigned)d->slot);
  uint64_t now = evr_clock_ticks(d->recording->clock);
  uint32_t version = __atomic_load_n(&e->version, __ATOMIC_RELAXED) | 1;
  __atomic_store_n(&e->version, version, __ATOMIC_RELAXED);
  evr_fence_release();
  if (alive) {
    uint64_t name[sizeof e->name / 8];
    memcpy(name, d->name, sizeof name);
    for (size_t i = 0; i < sizeof name / 8; i++)
      __atomic_store_n((uint64_t *)e->name + i, name[i], __ATOMIC_RELAXED);
    __atomic_store_n(&e->start_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&e->tid, d->tid, __ATOMIC_RELAXED);
    __atomic_store_n(&e->incarnation, d->incarnation, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&e->stop_ticks, alive ? 0 : now, __ATOMIC_RELAXED);
  __atomic_store_n(&e->state, alive ? FORMAT_SLOT_ALIVE : FORMAT_SLOT_FREE,
                   __ATOMIC_RELAXED);
  __atomic_store_n(&e->version, version + 1, __ATOMIC_RELEASE);
}

static int take_slot_locked(struct evr_domain *d, struct evr_recording *r,
                            struct eventring_error *error) {
  int slot = free_slot_locked(r);
  if (slot < 0)
    return evr_fail(error, EVENTRING_E_FULL, 0,
                    "domain \"%s\" is not recorded: %d are already", d->name,
                    EVENTRING_MAX_DOMAINS);
  int status = evr_recording_lay_out_locked(r, (unsigned)slot, error);
  if (status != EVENTRING_OK) return status;
  r->slot[slot].owner = d;
  d->incarnation = ++r->slot[slot].incarnation;
  d->slot = slot;
  d->recording = r;
  evr_recording_hold_locked(r);
  return EVENTRING_OK;
}

/* Owner; also for the domains of other threads after they have stopped. */
static void detach_locked(struct evr_domain *d) {
  struct evr_recording *r = d->recording;
  set_gate(d, &closed_gate);
  evr_ring_close(d, EVENTRING_RUNTIME);
  evr_ring_close(d, EVENTRING_USER);
  write_entry(d, false);
  r->slot[d->slot].owner = NULL;
  d->recording = NULL;
  d->slot = -1;
  evr_recording_release_locked(r);
}

/* Not recorded any more, until the next start. */
static void give_up_locked(struct evr_domain *d) {
  d->failed = true;
  if (d->recording) detach_locked(d);
}

static int attach_locked(struct evr_domain *d, struct eventring_error *error) {
  struct evr_recording *r = evr_recorder.recording;
  int status = take_slot_locked(d, r, error);
  if (status != EVENTRING_OK) {
    d->failed = true;
    set_gate(d, &closed_gate);
    return status;
  }
  write_entry(d, true);
  for (int ring = 0; status == EVENTRING_OK && ring < EVENTRING_RINGS; ring++)
    status = evr_ring_open(d, (enum eventring_ring)ring, error);
  if (status != EVENTRING_OK) {
    give_up_locked(d);
    return status;
  }
  set_gate(d, &evr_control(r)->gate);
  return EVENTRING_OK;
}

void evr_emit_builtin(struct evr_domain *d, enum eventring_builtin_id id,
                      int64_t data) {
  uint64_t payload = (uint64_t)data;
  if (!d || !d->recording) return;
  if (!eventring_enabled(&d->hot, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE))
    return;
  evr_ring_write(d, EVENTRING_RUNTIME, EVENTRING_TAIL(EVENTRING_LIFECYCLE, id, 1),
                 evr_clock_ticks(d->recording->clock), &payload, 1);
}

static void announce(struct evr_domain *d, bool first) {
  if (first) evr_emit_builtin(d, EVENTRING_ID_RECORDER_START, getpid());
  evr_emit_builtin(d, EVENTRING_ID_DOMAIN_START, d->incarnation);
}

/* Attaches, and says so in the ring. */
static int attach_and_announce(struct evr_domain *d, struct eventring_error *error) {
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  int status = EVENTRING_E_STATE;
  bool first = false;
  if (r && !d->failed) {
    status = attach_locked(d, error);
    if (status == EVENTRING_OK) {
      first = !r->announced;
      r->announced = true;
    }
  } else {
    evr_fail(error, status, 0, "nothing is being recorded");
  }
  evr_unlock();
  if (status == EVENTRING_OK) announce(d, first);
  return status;
}

static void let_go(struct evr_domain *d) {
  evr_lock();
  __atomic_store_n(&d->attention, 0, __ATOMIC_RELAXED);
  if (d->recording && d->recording->ended) detach_locked(d);
  if (evr_recorder.recording && !d->failed && !d->recording)
    set_gate(d, &evr_control(evr_recorder.recording)->gate);
  evr_unlock();
}

static struct evr_listener listener(void) {
  evr_lock();
  struct evr_listener listener = evr_recorder.listener;
  evr_unlock();
  return listener;
}

/* Without the mutex. */
static void tell(struct evr_listener listener, const struct eventring_error *error) {
  if (listener.warn) listener.warn(listener.context, error);
}

void evr_domain_give_up(struct evr_domain *d, const struct eventring_error *error) {
  evr_lock();
  give_up_locked(d);
  evr_unlock();
  tell(listener(), error);
}

bool evr_domain_settle(struct evr_domain *d) {
  struct eventring_error error = {0};
  if (__atomic_load_n(&d->attention, __ATOMIC_ACQUIRE)) let_go(d);
  if (d->recording) return true;
  int status = attach_and_announce(d, &error);
  if (status == EVENTRING_OK) return true;
  if (status != EVENTRING_E_STATE) tell(listener(), &error);
  return false;
}

/* ---- Domains: public ------------------------------------------------------------------- */

static struct evr_domain *new_domain(const char *name) {
  struct evr_domain *d = NULL;
  if (posix_memalign((void **)&d, 64, sizeof *d) != 0) return NULL;
  memset(d, 0, sizeof *d);
  set_gate(d, &closed_gate);
  d->slot = -1;
  d->owner = pthread_self();
  d->tid = (int32_t)syscall(SYS_gettid);
  if (name) memcpy(d->name, name, strnlen(name, sizeof d->name - 1));
  return d;
}

eventring_domain *eventring_domain_start(const char *name,
                                         struct eventring_error *error) {
  struct evr_domain *d = new_domain(name);
  if (!d) {
    evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a domain");
    return &inert_domain.hot;
  }
  if (error) *error = (struct eventring_error){0};
  evr_lock();
  d->next = evr_recorder.domains;
  evr_recorder.domains = d;
  struct evr_recording *r = evr_recorder.recording;
  if (r) set_gate(d, &evr_control(r)->gate);
  bool running = r && (uint32_t)__atomic_load_n(&evr_control(r)->gate,
                                                __ATOMIC_RELAXED) != 0;
  evr_unlock();
  self = d;
  if (running) attach_and_announce(d, error);
  return &d->hot;
}

/* A child made by clone(2), past the handlers of fork, shares its parent's rings. It may
   end in any way: what belongs to its parent it leaves as it is. (Without the mutex,
   which a thread that is not in the child may have held.) */
static bool is_raw_child(const struct evr_recording *r) {
  return r && r->header.pid != getpid();
}

static void unlink_domain_locked(struct evr_domain *d) {
  struct evr_domain **link = &evr_recorder.domains;
  while (*link && *link != d) link = &(*link)->next;
  if (*link) *link = d->next;
}

/* No thread but the caller has a domain: nobody can hold a pointer to the gate
   of an ended recording any more. */
static void drop_ended_locked(void) {
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next)
    if (!pthread_equal(d->owner, pthread_self())) return;
  while (evr_recorder.ended_count)
    evr_recording_release_locked(evr_recorder.ended[--evr_recorder.ended_count]);
}

void eventring_domain_stop(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || d == &inert_domain || is_raw_child(d->recording)) return;
  if (!__atomic_load_n(&d->attention, __ATOMIC_ACQUIRE))
    evr_emit_builtin(d, EVENTRING_ID_DOMAIN_STOP, d->incarnation);
  evr_lock();
  if (d->recording) detach_locked(d);
  unlink_domain_locked(d);
  drop_ended_locked();
  evr_unlock();
  if (self == d) self = NULL;
  free(d);
}

int eventring_domain_slot(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  return d && d->recording ? d->slot : -1;
}

void eventring_domain_check(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || d == &inert_domain) return;
  const uint64_t *gate = __atomic_load_n(&d->hot.lane[0].gate, __ATOMIC_RELAXED);
  bool attention = __atomic_load_n(&d->attention, __ATOMIC_ACQUIRE);
  bool may_attach = !d->recording && (uint32_t)__atomic_load_n(gate, __ATOMIC_RELAXED);
  if (attention) let_go(d);
  else if (may_attach) evr_domain_settle(d);
  if (d->recording) evr_recording_check_gate(d->recording);
}

uint64_t eventring_domain_bytes(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  return d && d->recording ? d->recording->header.domain_stride : 0;
}

uint64_t eventring_domain_emitted(const eventring_domain *domain,
                                  enum eventring_ring ring) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  if (!d || !d->recording || ring >= EVENTRING_RINGS) return 0;
  return evr_ring_emitted(d, ring);
}

/* ---- Fork ---------------------------------------------------------------------------------- */

/* The child: only the forking thread is left, holding the mutex. Gates are
   closed before anything else may run, so that no probe of the child reaches
   its parent's rings; the mappings stay while cursors read them. */
static void after_fork_in_child(void) {
  struct evr_recording *r = evr_recorder.recording;
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next) {
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      d->hot.lane[ring] = (struct eventring_lane){.gate = &closed_gate};
    if (d->recording) evr_recording_release_locked(d->recording);
    d->recording = NULL;
    d->slot = -1;
    d->attention = 0;
    d->failed = d->writing = false;
    d->owner = pthread_self();
  }
  if (r) {
    evr_recording_disown(r); /* the lock is the parent's alone again */
    evr_recorder.recording = NULL;
    evr_recorder.forked = true;
    evr_recording_release_locked(r);
  }
  pthread_mutex_init(&evr_recorder.mutex, NULL);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  evr_locking = false;
}

static void at_exit(void) { eventring_stop(); }

static void install_handlers(void) {
  pthread_atfork(evr_lock, evr_unlock, after_fork_in_child);
  atexit(at_exit);
}

bool eventring_forked(void) { return evr_recorder.forked; }

/* ---- Start and stop ---------------------------------------------------------------------------- */

static int check_config(const struct eventring_config *config,
                        struct eventring_error *error) {
  if (!config) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no configuration");
  int status = eventring_check_version(config->version, error);
  if (status != EVENTRING_OK) return status;
  if (config->struct_size != sizeof *config)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "configuration not made by eventring_config_init");
  if (config->wsize < EVENTRING_MIN_WSIZE || config->wsize > EVENTRING_MAX_WSIZE)
    return evr_fail(error, EVENTRING_E_CONFIG, 0,
                    "ring size %u is out of range: must be %d to %d",
                    config->wsize, EVENTRING_MIN_WSIZE, EVENTRING_MAX_WSIZE);
  return EVENTRING_OK;
}

/* Domains of the calling thread are detached here and now, so that all they
   wrote is complete before the file is marked ended; others do it themselves. */
static void end_locked(struct evr_recording *r) {
  bool others = false;
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next) {
    set_gate(d, &closed_gate);
    if (d->recording != r) continue;
    if (pthread_equal(d->owner, pthread_self()))
      detach_locked(d);
    else
      others = true;
  }
  if (others) request_attention_locked(r);
  evr_recording_end_locked(r);
  evr_recorder.recording = NULL;
  evr_recorder.ended[evr_recorder.ended_count++] = r;
  drop_ended_locked();
}

static bool is_standing_by_locked(const struct evr_recording *r) {
  return r->laid_out == 0 &&
         (uint32_t)__atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED) == 0;
}

static int begin_locked(const struct eventring_config *config,
                        struct eventring_error *error) {
  struct evr_recording *r = evr_recorder.recording;
  if (r && config->start == EVENTRING_START_ON && is_standing_by_locked(r)) {
    uint64_t before;
    change_gate_locked(r, EVR_RESUME, 0, &before);
    return EVENTRING_OK;
  }
  if (r)
    return evr_fail(error, EVENTRING_E_STATE, 0, "already recording to %.300s",
                    r->path);
  if (evr_recorder.ended_count ==
      sizeof evr_recorder.ended / sizeof evr_recorder.ended[0])
    return evr_fail(error, EVENTRING_E_STATE, 0,
                    "started and stopped too often while other domains run");
  int status = evr_recording_create(&r, config, error);
  if (status != EVENTRING_OK) return status;
  evr_recorder.recording = r;
  evr_recorder.forked = false;
  evr_recorder.listener = (struct evr_listener){config->warn, config->warn_context};
  for (struct evr_domain *d = evr_recorder.domains; d; d = d->next) {
    d->failed = false;
    set_gate(d, &evr_control(r)->gate);
  }
  return EVENTRING_OK;
}

/* A domain that a start finds in the calling thread is recorded at once. */
static void take_up_own(void) {
  if (self && !self->recording) eventring_domain_check(&self->hot);
}

/* Ends a recording whose file was taken from it; true if there was one. */
static bool end_lost_locked(void) {
  struct evr_recording *r = evr_recorder.recording;
  if (!r || !evr_recording_is_lost(r)) return false;
  end_locked(r);
  return true;
}

static void tell_of_loss(struct evr_listener listener) {
  struct eventring_error error;
  evr_fail(&error, EVENTRING_E_TRUNCATED, 0,
           "another process cut the file of the recording short: recording "
           "ended there");
  tell(listener, &error);
}

int eventring_start(const struct eventring_config *config,
                    struct eventring_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (config && config->start == EVENTRING_START_OFF) return EVENTRING_OK;
  int status = check_config(config, error);
  if (status != EVENTRING_OK) return status;
  pthread_once(&once, install_handlers);
  /* for good: probes may store into a recording that has ended */
  evr_guard_start(config->leave_sigbus);
  evr_lock();
  struct evr_listener former = evr_recorder.listener;
  bool lost = end_lost_locked();
  status = begin_locked(config, error);
  evr_unlock();
  if (lost) tell_of_loss(former);
  if (status == EVENTRING_OK) take_up_own();
  return status;
}

static int stop(const bool *preserve) {
  if (is_raw_child(__atomic_load_n(&evr_recorder.recording, __ATOMIC_RELAXED)))
    return EVENTRING_E_STATE;
  if (self && self->recording && !__atomic_load_n(&self->attention, __ATOMIC_ACQUIRE))
    evr_emit_builtin(self, EVENTRING_ID_RECORDER_STOP, getpid());
  bool lost = false;
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r) {
    lost = evr_recording_is_lost(r);
    if (preserve) r->preserve = *preserve;
    end_locked(r);
  }
  evr_unlock();
  if (lost) tell_of_loss(listener());
  return EVENTRING_OK;
}

int eventring_stop(void) { return stop(NULL); }
int eventring_stop_preserve(bool preserve) { return stop(&preserve); }

/* Whoever holds the mutex is given time to finish; when it is the interrupted
   thread itself, that can't be waited for. Held or not, a recording that goes on
   is not freed. */
static bool lock_soon(void) {
  for (int i = 0; i < 20; i++) {
    if (pthread_mutex_trylock(&evr_recorder.mutex) == 0) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

void eventring_end_in_handler(void) {
  int saved = errno;
  struct evr_recording *r = __atomic_load_n(&evr_recorder.recording, __ATOMIC_RELAXED);
  if (is_raw_child(r)) return;
  bool locked = lock_soon();
  r = __atomic_load_n(&evr_recorder.recording, __ATOMIC_RELAXED);
  if (r && !r->ended) {
    uint64_t wanted = __atomic_load_n(&r->gate, __ATOMIC_RELAXED) >> 32;
    __atomic_store_n(&evr_control(r)->gate, wanted << 32, __ATOMIC_RELAXED);
    evr_recording_end_locked(r);
  }
  if (locked) evr_unlock();
  errno = saved;
}

/* ---- Pause, classes, state ------------------------------------------------------------------------ */

static int change_gate(enum evr_gate_change change, uint32_t classes,
                       uint64_t *before) {
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r) change_gate_locked(r, change, classes, before);
  evr_unlock();
  return r ? EVENTRING_OK : EVENTRING_E_STATE;
}

int eventring_pause(void) {
  uint64_t before = 0;
  if (eventring_state() == EVENTRING_RUNNING) {
    uint32_t classes = 0;
    eventring_get_classes(&classes);
    evr_emit_builtin(self, EVENTRING_ID_PAUSE, classes);
  }
  return change_gate(EVR_PAUSE, 0, &before);
}

int eventring_resume(void) {
  uint64_t before = 0;
  int status = change_gate(EVR_RESUME, 0, &before);
  if (status != EVENTRING_OK || (uint32_t)before == (uint32_t)(before >> 32))
    return status;
  take_up_own();
  evr_emit_builtin(self, EVENTRING_ID_RESUME, (int64_t)(before >> 32));
  return EVENTRING_OK;
}

int eventring_set_classes(uint32_t classes) {
  uint64_t before;
  return change_gate(EVR_SET, classes, &before);
}

int eventring_enable_classes(uint32_t classes) {
  uint64_t before;
  return change_gate(EVR_ADD, classes, &before);
}

int eventring_disable_classes(uint32_t classes) {
  uint64_t before;
  return change_gate(EVR_REMOVE, classes, &before);
}

int eventring_get_classes(uint32_t *classes) {
  if (!classes) return EVENTRING_E_ARGUMENT;
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r)
    *classes = (uint32_t)(__atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED) >> 32);
  evr_unlock();
  return r ? EVENTRING_OK : EVENTRING_E_STATE;
}

enum eventring_state eventring_state(void) {
  enum eventring_state state = EVENTRING_STOPPED;
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r && !evr_recording_is_lost(r)) {
    uint64_t gate = __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED);
    if (is_standing_by_locked(r))
      state = EVENTRING_STANDBY;
    else
      state = (uint32_t)gate ? EVENTRING_RUNNING : EVENTRING_PAUSED;
  }
  evr_unlock();
  return state;
}

size_t eventring_path(char *buffer, size_t size) {
  size_t length = 0;
  evr_lock();
  if (size) buffer[0] = 0;
  if (evr_recorder.recording) {
    length = strlen(evr_recorder.recording->path);
    if (size) snprintf(buffer, size, "%s", evr_recorder.recording->path);
  }
  evr_unlock();
  return length;
}

uint64_t eventring_now(void) {
  struct evr_conversion conversion = {0};
  uint64_t ticks = 0;
  evr_lock();
  struct evr_recording *r = evr_recorder.recording;
  if (r) {
    evr_recording_recalibrate_locked(r);
    conversion = r->conversion;
    ticks = evr_clock_ticks(r->clock);
  }
  evr_unlock();
  return conversion.segments ? evr_to_ns(&conversion, ticks) : evr_monotonic_ns();
}
