/* SPDX-License-Identifier: MIT */
/* watch.c: the triggers of this process (watch.h). */
#include "producer/watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "eventring/probe.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/error.h"
#include "producer/classes.h"
#include "producer/lock.h"

/* ---- The table --------------------------------------------------------------------- */

enum work { NONE, FIRED, DUE, BUSY }; /* state of an entry; the thread that fired it posts
                                         it */

struct entry {
  /* What events are compared with: atomic, relaxed. */
  uint32_t subject;    /* enum eventring_subject; NONE: the entry is free */
  uint32_t comparison;
  bool cpu;            /* comparison, `cpu` and number are those of the condition */
  double number;       /* its bits */
  uint64_t key;        /* hash of the name */
  bool held;           /* a heap or counter: the last value fulfilled the condition */
  /* Used under the lock only. */
  struct evr_trigger_text text;
  enum eventring_trigger_owner owner;
  int id;              /* the number of the trigger */
  unsigned event;      /* id of its event, or 0 */
  int64_t value;       /* the value with which it last fired */
  uint64_t last_ns;    /* when a copy was last due; 0: never */
  uint64_t fired, saved, bytes, skipped, failed;
  int error;           /* the error with which the last copy failed */
  bool reported;       /* it was reported that copies fail */
  uint32_t work;       /* enum work; atomic */
};

static struct entry entries[EVENTRING_MAX_TRIGGERS];
static unsigned used;  /* number of entries that were ever set; atomic */
static int last_id;
static struct format_trigger *shown; /* states in the present recording, or NULL; under
                                        the lock */
static int64_t heap;   /* bytes of all domains; atomic */
uint32_t evr_watch_work;

/* For each definition: what it is watched as, and the key of its name. Atomic, relaxed;
   changed under the mutex. Unused pages are not touched. */
enum { AS_PAUSE = 1, AS_SPAN = 2, AS_COUNTER = 4, AS_HEAP = 8, AS_WORDS = 16, AS_DOUBLE = 32,
       AS_MEASURED = 64 /* its ends say for how long the thread was off the processor */ };
static uint8_t flags_of[EVENTRING_MAX_EVENTS];
static uint64_t key_of[EVENTRING_MAX_EVENTS];

/* ---- The lock ---------------------------------------------------------------------- */

/* Takes, or releases, the lock. A signal handler that interrupts the owner of the lock
   writes no event (evr_locking). */
void evr_watch_lock(void) { evr_mutex_lock(&evr_watch_mutex); }
void evr_watch_unlock(void) { evr_mutex_unlock(&evr_watch_mutex); }

/* ---- What others see --------------------------------------------------------------- */

_Static_assert((int)FORMAT_TRIGGER_STATES == (int)EVENTRING_MAX_TRIGGERS, "triggers");

static uint32_t at_most(uint64_t number) {
  return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Shows the state of an entry. Under the lock. */
static void show(const struct entry *e) {
  if (!shown) return;
  struct format_trigger *t = &shown[e - entries];
  __atomic_store_n(&t->event, (uint16_t)e->event, __ATOMIC_RELAXED);
  __atomic_store_n(&t->owner, (uint8_t)e->owner, __ATOMIC_RELAXED);
  __atomic_store_n(&t->fired, at_most(e->fired), __ATOMIC_RELAXED);
  __atomic_store_n(&t->saved, at_most(e->saved), __ATOMIC_RELAXED);
  __atomic_store_n(&t->skipped, at_most(e->skipped), __ATOMIC_RELAXED);
  __atomic_store_n(&t->failed, at_most(e->failed), __ATOMIC_RELAXED);
  __atomic_store_n(&t->error, e->error, __ATOMIC_RELAXED);
  __atomic_store_n(&t->bytes, e->bytes, __ATOMIC_RELAXED);
  /* release: without a partner: readers copy entries that may be changing
     (format_trigger) */
  __atomic_store_n(&t->number, e->subject ? (uint32_t)e->id : 0, __ATOMIC_RELEASE);
}

void evr_watch_show(struct format_trigger *table) {
  evr_watch_lock();
  shown = table;
  for (unsigned i = 0; i < used; i++) show(&entries[i]);
  evr_watch_unlock();
}

/* ---- Firing ------------------------------------------------------------------------ */

static uint32_t load_subject(const struct entry *e) {
  return __atomic_load_n(&e->subject, __ATOMIC_RELAXED);
}

static bool holds(const struct eventring_condition *c, const struct eventring_measured *measured) {
  double value;
  return eventring_condition_value(c, measured, &value) && eventring_condition_holds(c, value);
}

/* Tells whether the condition of the entry seems to hold. Its members are read without
   the lock: if the entry is being changed, some of them may be of the former trigger, and
   some of the new one. */
static bool seems_to_hold(const struct entry *e, const struct eventring_measured *measured) {
  struct eventring_condition c = {
      .comparison = (uint8_t)__atomic_load_n(&e->comparison, __ATOMIC_RELAXED),
      .cpu = __atomic_load_n(&e->cpu, __ATOMIC_RELAXED)};
  __atomic_load(&e->number, &c.number, __ATOMIC_RELAXED);
  return holds(&c, measured);
}

/* Tells whether a copy is to be made. In any case counts that the trigger fired. */
static bool is_allowed(struct entry *e) {
  uint64_t now = evr_monotonic_ns();
  bool cool = !e->last_ns || now - e->last_ns >= e->text.cooldown_ns;
  e->fired++;
  /* acquire: pairs with the release in evr_watch_done */
  if (cool && e->saved < e->text.most && e->bytes < e->text.most_bytes &&
      __atomic_load_n(&e->work, __ATOMIC_ACQUIRE) == NONE) {
    e->last_ns = now;
    __atomic_store_n(&e->work, FIRED, __ATOMIC_RELAXED);
    return true;
  }
  e->skipped++;
  return false;
}

/* Fires the entry if the condition holds. Under the lock. */
static bool fire_held(struct entry *e, enum eventring_subject subject, uint64_t key,
                      const struct eventring_measured *measured) {
  double value;
  if (e->subject != subject || e->key != key || !holds(&e->text.condition, measured)) return false;
  const bool is_due = is_allowed(e);
  show(e);
  if (!is_due) return false;
  eventring_condition_value(&e->text.condition, measured, &value);
  e->value = value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
  return true;
}

static bool fire(struct entry *e, enum eventring_subject subject, uint64_t key,
                 const struct eventring_measured *measured) {
  evr_watch_lock();
  bool fired = fire_held(e, subject, key, measured);
  evr_watch_unlock();
  return fired;
}

/* Compares a value. For a span, each value that fulfils the condition fires; for a level,
   only the first such value. Returns the entries that fired. */
static uint64_t compare(enum eventring_subject subject, uint64_t key,
                        const struct eventring_measured *measured) {
  uint64_t fired = 0;
  bool level = subject == EVENTRING_SUBJECT_HEAP || subject == EVENTRING_SUBJECT_COUNTER;
  /* acquire: pairs with the release in evr_watch_add_locked, after the entry was
     filled */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; i++) {
    struct entry *e = &entries[i];
    if (load_subject(e) != subject || __atomic_load_n(&e->key, __ATOMIC_RELAXED) != key) continue;
    bool fulfils = seems_to_hold(e, measured);
    bool held = level && __atomic_exchange_n(&e->held, fulfils, __ATOMIC_RELAXED);
    if (fulfils && !held && fire(e, subject, key, measured)) fired |= (uint64_t)1 << i;
  }
  return fired;
}

unsigned evr_watch_fired(unsigned entry, int64_t *value) {
  evr_watch_lock();
  unsigned event = entries[entry].event;
  *value = entries[entry].value;
  evr_watch_unlock();
  return event;
}

void evr_watch_post(uint64_t which) {
  int saved = errno;
  for (unsigned i = 0; i < EVENTRING_MAX_TRIGGERS; i++)
    /* release: pairs with the acquire load in evr_watch_take */
    if (which >> i & 1) __atomic_store_n(&entries[i].work, DUE, __ATOMIC_RELEASE);
  /* release: pairs with the acquire load in work_seen (trigger/helper.c); the helper then
     finds the entries that are due */
  __atomic_fetch_add(&evr_watch_work, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &evr_watch_work, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  errno = saved;
}

uint64_t evr_watch_happened(enum eventring_subject subject, double value, bool in_handler) {
  uint64_t fired = 0;
  /* acquire: as in compare */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  bool any = false;
  for (unsigned i = 0; i < count; i++) any |= load_subject(&entries[i]) == subject;
  if (!any) return 0;
  if (!in_handler) evr_watch_lock();
  else if (!evr_mutex_lock_soon(&evr_watch_mutex)) return 0;
  for (unsigned i = 0; i < count; i++)
    if (fire_held(&entries[i], subject, 0, &(struct eventring_measured){.value = value}))
      fired |= (uint64_t)1 << i;
  evr_watch_unlock();
  return fired;
}

/* ---- Events ------------------------------------------------------------------------ */

/* Returns what an end measures of the span that began at `since`. */
static struct eventring_measured measure(const struct evr_watched *event, uint8_t flags,
                                         uint64_t since) {
  const uint64_t ticks = event->ticks > since ? event->ticks - since : 0;
  const double ns = (double)(uint64_t)((unsigned __int128)ticks * event->rate >>
                                       FORMAT_CLOCK_SHIFT);
  const unsigned words = (unsigned)(event->tail >> EVENTRING_WORD_LENGTH_SHIFT & 127);
  struct eventring_measured measured = {ns, -1};
  if (flags & AS_MEASURED && words <= 1 && !event->no_cpu_time)
    measured.off_cpu = words ? (double)event->payload[0] : 0;
  if (measured.off_cpu > ns) measured.off_cpu = ns;
  return measured;
}

static void begin_pause(struct evr_watching *w, uint16_t id, uint64_t ticks) {
  /* correct the depth when an end is missing */
  if (w->pause.open && w->pause.id == id) w->depth = w->pause.depth;
  eventring_pause_begin(&w->pause, w->depth++, id, ticks);
}

static uint64_t end_pause(struct evr_watching *w, uint8_t flags, const struct evr_watched *event) {
  if (w->depth > 0) w->depth--;
  if (!eventring_pause_end(&w->pause, w->depth)) return 0;
  const struct eventring_measured measured = measure(event, flags, w->pause.since);
  return compare(EVENTRING_SUBJECT_PAUSE, 0, &measured);
}

static void remove_open(struct evr_watching *w, unsigned at) {
  memmove(&w->open[at], &w->open[at + 1], (w->open_count - at - 1) * sizeof w->open[0]);
  w->open_count--;
}

static void begin_span(struct evr_watching *w, uint64_t context, uint16_t id, uint64_t ticks) {
  if (w->open_count == EVR_WATCHED_OPEN) remove_open(w, 0);
  unsigned at = w->open_count++;
  w->open[at].context = context;
  w->open[at].id = id;
  w->open[at].since = ticks;
}

static uint64_t end_span(struct evr_watching *w, uint16_t id, uint8_t flags, uint64_t key,
                         const struct evr_watched *event) {
  for (unsigned i = w->open_count; i-- > 0;) {
    if (w->open[i].id != id || w->open[i].context != event->context) continue;
    const struct eventring_measured measured = measure(event, flags, w->open[i].since);
    remove_open(w, i);
    return compare(EVENTRING_SUBJECT_SPAN, key, &measured);
  }
  return 0;
}

static double number_of(uint8_t flags, uint64_t word) {
  double number;
  if (!(flags & AS_DOUBLE)) return (double)(int64_t)word;
  memcpy(&number, &word, sizeof number);
  return number;
}

static uint64_t take_counter(struct evr_watching *w, uint8_t flags, uint64_t key, uint64_t word) {
  uint64_t fired = 0;
  double value = number_of(flags, word);
  struct eventring_measured measured = {.value = value};
  if (flags & AS_COUNTER) fired |= compare(EVENTRING_SUBJECT_COUNTER, key, &measured);
  if (flags & AS_HEAP) {
    if (flags & AS_WORDS) value *= 8;
    int64_t bytes = value < 0 || value > 0x1p62 ? 0 : (int64_t)value;
    int64_t all = __atomic_add_fetch(&heap, bytes - w->heap, __ATOMIC_RELAXED);
    w->heap = bytes;
    measured.value = (double)all;
    fired |= compare(EVENTRING_SUBJECT_HEAP, 0, &measured);
  }
  return fired;
}

uint64_t evr_watch_event(struct evr_watching *w, const struct evr_watched *event) {
  const uint64_t tail = event->tail;
  uint16_t id = (uint16_t)(tail >> EVENTRING_WORD_ID_SHIFT & (EVENTRING_MAX_EVENTS - 1));
  uint8_t flags = __atomic_load_n(&flags_of[id], __ATOMIC_RELAXED);
  unsigned words = (unsigned)(tail >> EVENTRING_WORD_LENGTH_SHIFT & 127);
  if (!flags) return 0;
  uint64_t key = __atomic_load_n(&key_of[id], __ATOMIC_RELAXED), fired = 0;
  switch (tail & 7) {
    case EVENTRING_BEGIN:
      if (flags & AS_PAUSE) begin_pause(w, id, event->ticks);
      if (flags & AS_SPAN) begin_span(w, event->context, id, event->ticks);
      return 0;
    case EVENTRING_END:
      if (flags & AS_PAUSE) fired |= end_pause(w, flags, event);
      if (flags & AS_SPAN) fired |= end_span(w, id, flags, key, event);
      return fired;
    case EVENTRING_COUNTER:
      return words ? take_counter(w, flags, key, event->payload[0]) : 0;
    default:
      return 0;
  }
}

/* Drops the spans of these classes that began before `until`. */
static void drop_spans(struct evr_watching *w, uint64_t classes, uint64_t until) {
  for (unsigned i = w->open_count; i-- > 0;)
    if (classes >> evr_class_of[w->open[i].id] & 1 && w->open[i].since < until) remove_open(w, i);
  if (classes >> EVENTRING_CLASS_GC & 1 && w->pause.open && w->pause.since < until) {
    w->pause.open = false;
    w->depth = 0;
  }
}

__attribute__((cold, noinline)) void evr_watch_switched(struct evr_watching *w,
                                                        const struct format_control *control,
                                                        uint32_t now, uint64_t ticks) {
  struct evr_switches switches;
  const uint32_t from = w->switches_seen;
  uint32_t seen = evr_control_switches(control, from, now, &switches);
  for (unsigned i = 0; i < switches.count; i++) {
    const struct format_switch *entry = &switches.entry[i];
    const uint32_t number = (uint32_t)entry->number - 1;
    if (entry->ticks <= ticks) drop_spans(w, entry->classes, entry->until);
    /* an entry that applies to later events, too, is read again */
    if (entry->number && (entry->ticks > ticks || entry->until > ticks) &&
        number - from < seen - from)
      seen = number;
  }
  w->switches_seen = seen;
}

void evr_watch_forget(struct evr_watching *w) {
  if (w->heap) __atomic_fetch_sub(&heap, w->heap, __ATOMIC_RELAXED);
  *w = (struct evr_watching){0};
}

/* ---- Changing the table ------------------------------------------------------------ */

static uint64_t key_of_name(const char *name) { /* FNV-1a */
  uint64_t hash = 0xcbf29ce484222325;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001b3;
  return hash;
}

static bool is_named(enum eventring_subject subject) {
  return subject == EVENTRING_SUBJECT_SPAN || subject == EVENTRING_SUBJECT_COUNTER;
}

/* Fills an entry. Under the lock. */
static void fill(struct entry *e, const struct evr_trigger_text *text) {
  const struct eventring_condition *c = &text->condition;
  uint64_t key = is_named(c->subject) ? key_of_name(c->name) : 0;
  double number = c->number; /* clang wants no pointer to const in __atomic_store */
  e->text = *text;
  e->last_ns = e->fired = e->saved = e->bytes = e->skipped = e->failed = 0;
  e->error = EVENTRING_OK;
  e->reported = false;
  __atomic_store_n(&e->held, false, __ATOMIC_RELAXED);
  __atomic_store_n(&e->comparison, c->comparison, __ATOMIC_RELAXED);
  __atomic_store_n(&e->cpu, c->cpu, __ATOMIC_RELAXED);
  __atomic_store(&e->number, &number, __ATOMIC_RELAXED);
  __atomic_store_n(&e->key, key, __ATOMIC_RELAXED);
  /* release: without a partner: load_subject is relaxed, and what passes is compared
     again under the lock */
  __atomic_store_n(&e->subject, c->subject, __ATOMIC_RELEASE);
}

/* Returns a free entry for which no copy is being made. */
static struct entry *free_entry(void) {
  for (unsigned i = 0; i < EVENTRING_MAX_TRIGGERS; i++)
    /* acquire: pairs with the release in evr_watch_done */
    if (!entries[i].subject && __atomic_load_n(&entries[i].work, __ATOMIC_ACQUIRE) == NONE)
      return &entries[i];
  return NULL;
}

int evr_watch_add_locked(const struct evr_trigger_text *text, enum eventring_trigger_owner owner,
                         unsigned event_id, struct eventring_error *error) {
  evr_watch_lock();
  struct entry *e = free_entry();
  int id = 0;
  if (e) {
    id = e->id = ++last_id;
    e->owner = owner;
    e->event = event_id;
    fill(e, text);
    show(e);
    unsigned count = (unsigned)(e - entries) + 1;
    /* release: pairs with the acquire loads of `used` outside the lock, as in compare */
    if (count > used) __atomic_store_n(&used, count, __ATOMIC_RELEASE);
  }
  evr_watch_unlock();
  if (e) return id;
  return evr_fail(error, EVENTRING_E_FULL, 0, "there are %d triggers already",
                  EVENTRING_MAX_TRIGGERS);
}

unsigned evr_watch_remove_locked(int number, enum eventring_trigger_owner owner) {
  unsigned removed = 0;
  evr_watch_lock();
  for (unsigned i = 0; i < used; i++) {
    struct entry *e = &entries[i];
    if (!e->subject || (number && e->id != number) || (owner && e->owner != owner)) continue;
    __atomic_store_n(&e->subject, EVENTRING_SUBJECT_NONE, __ATOMIC_RELAXED);
    show(e);
    removed++;
  }
  evr_watch_unlock();
  return removed;
}

bool evr_watch_any(void) {
  /* acquire: as in compare */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; i++)
    if (load_subject(&entries[i])) return true;
  return false;
}

uint64_t evr_watch_classes(void) {
  uint64_t classes = 0;
  /* acquire: as in compare */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; i++) {
    uint32_t subject = load_subject(&entries[i]);
    if (subject == EVENTRING_SUBJECT_PAUSE || subject == EVENTRING_SUBJECT_HEAP)
      classes |= EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC);
    else if (is_named(subject))
      classes |= EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  }
  return classes;
}

/* ---- Definitions ------------------------------------------------------------------- */

static uint8_t heap_flags(const struct eventring_def *def) {
  if (def->quantity != EVENTRING_QUANTITY_HEAP) return 0;
  return eventring_is_in_words(def) ? AS_HEAP | AS_WORDS : AS_HEAP;
}

static uint8_t flags_for(const struct entry *e, const struct eventring_def *def) {
  const struct eventring_condition *c = &e->text.condition;
  bool span = def->kind == EVENTRING_DEF_SPAN, counter = def->kind == EVENTRING_DEF_COUNTER;
  switch (e->subject) {
    case EVENTRING_SUBJECT_PAUSE:
      return span && def->event_class == EVENTRING_CLASS_GC ? AS_PAUSE : 0;
    case EVENTRING_SUBJECT_SPAN:
      return span && strcmp(def->name, c->name) == 0 ? AS_SPAN : 0;
    case EVENTRING_SUBJECT_COUNTER:
      return counter && strcmp(def->name, c->name) == 0 ? AS_COUNTER : 0;
    case EVENTRING_SUBJECT_HEAP:
      return heap_flags(def);
    default:
      return 0;
  }
}

/* Begins to determine which rings are watched. Names that are not defined yet will most
   likely belong to the program, so its ring is watched from the beginning: starting to
   watch it later takes long (evr_domains_watch_locked). */
void evr_watch_begin_locked(void) {
  uint32_t rings = 0;
  for (unsigned i = 0; i < used; i++)
    if (is_named(load_subject(&entries[i]))) rings |= 1u << EVENTRING_USER;
  __atomic_store_n(&evr_watched_rings, rings, __ATOMIC_RELAXED);
}

void evr_watch_define_locked(unsigned id, const struct eventring_def *def) {
  uint8_t flags = 0;
  for (unsigned i = 0; i < used; i++)
    if (entries[i].subject) flags |= flags_for(&entries[i], def);
  if (flags && def->payload == EVENTRING_DOUBLE) flags |= AS_DOUBLE;
  if (flags && def->measure == EVENTRING_OFF_CPU) flags |= AS_MEASURED;
  if (flags) {
    __atomic_store_n(&key_of[id], key_of_name(def->name), __ATOMIC_RELAXED);
    __atomic_fetch_or(&evr_watched_rings, 1u << def->ring, __ATOMIC_RELAXED);
  }
  if (flags != flags_of[id]) __atomic_store_n(&flags_of[id], flags, __ATOMIC_RELAXED);
}

/* ---- Forks ------------------------------------------------------------------------- */

/* Renews the table in a forked child, whose thread holds the lock. The child has its
   parent's triggers, except those that a tool has set there, and no helper. */
void evr_watch_after_fork(void) {
  shown = NULL; /* it belongs to the parent */
  heap = 0;
  for (unsigned i = 0; i < used; i++) {
    struct entry *e = &entries[i];
    if (e->owner == EVENTRING_BY_CONTROL) e->subject = EVENTRING_SUBJECT_NONE;
    e->work = NONE;
    e->held = e->reported = false;
    e->last_ns = e->fired = e->saved = e->bytes = e->skipped = e->failed = 0;
    e->error = EVENTRING_OK;
  }
  evr_watch_unlock();
}

/* ---- The helper's ------------------------------------------------------------------ */

bool evr_watch_take(struct evr_watch_job *job) {
  bool found = false;
  evr_watch_lock();
  for (unsigned i = 0; i < used && !found; i++) {
    struct entry *e = &entries[i];
    /* acquire: pairs with the release in evr_watch_post */
    if (__atomic_load_n(&e->work, __ATOMIC_ACQUIRE) != DUE) continue;
    found = true;
    __atomic_store_n(&e->work, BUSY, __ATOMIC_RELAXED);
    *job = (struct evr_watch_job){.entry = i, .number = e->id,
                                  .subject = e->text.condition.subject,
                                  .room = e->text.most_bytes - e->bytes};
    memcpy(job->directory, e->text.directory, sizeof job->directory);
  }
  evr_watch_unlock();
  return found;
}

bool evr_watch_done(const struct evr_watch_job *job, uint64_t bytes, int status) {
  evr_watch_lock();
  struct entry *e = &entries[job->entry];
  const bool failed = status != EVENTRING_OK;
  bool news = false;
  if (e->id == job->number) {
    news = failed && !e->reported;
    e->reported |= failed;
    e->failed += failed;
    e->saved += !failed;
    e->bytes += bytes;
    if (failed) e->error = status;
    show(e);
  }
  /* release: pairs with the acquire loads in is_allowed, free_entry and
     evr_watch_is_busy: the copy is over */
  __atomic_store_n(&e->work, NONE, __ATOMIC_RELEASE);
  evr_watch_unlock();
  return news;
}

bool evr_watch_is_busy(void) {
  /* acquire: as in compare */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; i++)
    /* acquire: pairs with the release in evr_watch_done */
    if (__atomic_load_n(&entries[i].work, __ATOMIC_ACQUIRE) != NONE) return true;
  return false;
}

static void describe(const struct entry *e, struct eventring_trigger *t) {
  *t = (struct eventring_trigger){
      .number = e->id, .owner = e->owner, .condition = e->text.condition,
      .cooldown_ns = e->text.cooldown_ns, .most = e->text.most, .most_bytes = e->text.most_bytes,
      .fired = e->fired, .saved = e->saved, .bytes = e->bytes, .skipped = e->skipped,
      .failed = e->failed};
  memcpy(t->directory, e->text.directory, sizeof t->directory);
}

bool evr_watch_describe(unsigned index, struct eventring_trigger *trigger) {
  bool found = false;
  evr_watch_lock();
  for (unsigned i = 0; i < used && !found; i++) {
    if (!entries[i].subject || index-- > 0) continue;
    describe(&entries[i], trigger);
    found = true;
  }
  evr_watch_unlock();
  return found;
}
