/* SPDX-License-Identifier: MIT */
/* vm/question.c: answers the questions of tools about a domain.
 *
 * The question is who holds the objects. A walk (retain.c) may take seconds, so a forked
 * child does it, on its copy of the memory. The program waits for the fork only, which
 * copies the tables of pages: 40 to 120 us for each MiB that is resident, on a busy
 * machine.
 *
 * The child has one thread, and may have been forked while another one held any lock. So
 * it calls nothing of the C library that allocates or locks; nor does retain.c. The child
 * sends no signal when it ends, and the program's own wait does not see it. It is cloned
 * without fork handlers, which libeventring detects (evr_domain_is_raw_child), and
 * records nothing. It keeps no descriptor open except ANSWER_FD, which has its answer. It
 * is the first process to be killed when memory is short, and it yields the processor to
 * the program.
 *
 * A domain that is asleep in a C function does not reach a safepoint. In this case a
 * thread of libeventring forks the child (answer_aside). The copy is valid if the domain
 * has not run during the fork, which the thread of libeventring checks
 * (eventring/producer/question.c). Nothing changes in the copy any more, so the child
 * itself checks that the objects of the domain can be walked: the domain must be in a C
 * function that it has called, and not in the collector. A thread that has not run for
 * half a second in a C function usually waits for something outside. If it waited for
 * memory or a processor, the child may end without an answer.
 *
 * The answer is lines, their fields separated by tabs (their texts contain none):
 *
 *  retain  2
 *  total   objects  bytes  end (enum RetainEnd)  ns of the walk  ns of the fork
 *  kind    objects  bytes  more holders  name
 *  held    objects  bytes  steps  path  shape         (of the kind or site before it)
 *  site    blocks  bytes  more holders  frames        (after all kinds, if any)
 *  way     number  objects  bytes  steps  path  shape (after all kinds and sites: of the
 *                                                      one with this number, counted from
 *                                                      1; ways beyond those in "held")
 *  shape   number  steps  path  shape                 (asked for coroutines: a way in
 *                                                      which some are held, and a path to
 *                                                      one of them)
 *  thread  address  number                            (a coroutine, and the number of its
 *                                                      way)
 *  cut     kinds and sites  ways  objects             (not in the answer: no room for the
 *                                                      first two in MOST_ANSWER bytes;
 *                                                      objects whose way the walk does
 *                                                      not know)
 *  end
 *
 * The tool reads the answer in /proc/PID/fd/ANSWER_FD, which only the same user may do,
 * and then kills the child. A child that is not killed ends after ANSWER_SECONDS.
 */
#include "question.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call_profile.h"
#include "clock.h"
#include "coroutine_groups.h"
#include "eventring/question.h"
#include "footprint.h"
#include "gc.h"
#include "introspection.h"
#include "probes.h"
#include "retain.h"
#include "thread.h"

enum { ASKED_OF_CHILD = EVENTRING_ASKS_RETAIN | EVENTRING_ASKS_COROUTINES };
enum { ANSWER_FD = 3, ANSWER_SECONDS = 10, WALK_SECONDS = 60, MOST_ANSWER = 15 << 20 };

/* ---- lines ----------------------------------------------------------------- */

typedef struct Lines {
  uint64_t written; /* number of bytes written, with those that are still in `bytes` */
  size_t used;
  char bytes[4096];
} Lines;

static void flush_lines(Lines *l) {
  for (size_t at = 0; at < l->used;) {
    ssize_t n = write(ANSWER_FD, l->bytes + at, l->used - at);
    if (n <= 0) break; /* without "end" the answer is not complete */
    at += (size_t)n;
  }
  l->used = 0;
}

static void put_text(Lines *l, const char *text) {
  size_t n = strlen(text);
  if (n > sizeof l->bytes - l->used) flush_lines(l);
  memcpy(l->bytes + l->used, text, n);
  l->used += n;
  l->written += n;
}

/* Tells whether there is room for one more kind or way. */
static bool has_room(const Lines *l) {
  return l->written + sizeof(RetainKind) + 1024 < MOST_ANSWER;
}

static void put_number(Lines *l, uint64_t n) {
  char digits[24], *p = digits + sizeof digits - 1;
  *p = '\0';
  do *--p = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  put_text(l, "\t");
  put_text(l, p);
}

static void put_amount(Lines *l, const char *word, RetainAmount amount) {
  put_text(l, word);
  put_number(l, amount.objects);
  put_number(l, amount.bytes);
}

static void put_path(Lines *l, const RetainHolder *h) {
  put_number(l, h->steps);
  put_text(l, "\t");
  put_text(l, h->path);
  put_text(l, "\t");
  put_text(l, h->shape);
  put_text(l, "\n");
}

static void put_holder(Lines *l, const RetainHolder *h) {
  put_number(l, h->amount.objects);
  put_number(l, h->amount.bytes);
  put_path(l, h);
}

static void put_kind(Lines *l, const char *word, const RetainKind *k) {
  put_amount(l, word, k->amount);
  put_number(l, k->more_holders);
  put_text(l, "\t");
  put_text(l, k->name);
  put_text(l, "\n");
  for (uint32_t i = 0; i < k->nholders; i++) {
    put_text(l, "held");
    put_holder(l, &k->holders[i]);
  }
}

/* ---- the child ------------------------------------------------------------- */

/* The answer about a walk, and how much of it has been written. */
typedef struct Answer {
  Lines lines;
  RetainWalk *w;
  RetainSites *sites;
  uint32_t kinds, sites_written;
  uint64_t cut_kinds, cut_ways;
  uint32_t asked; /* what is asked for: bits of enum eventring_question_kind */
  uint8_t shapes[RETAIN_SHAPES / 8]; /* a bit for each shape that was written */
  RetainKind room;
} Answer;

static uint32_t count_sites(const Answer *a) {
  return a->sites != NULL ? retain_site_count(a->sites) : 0;
}

/* Writes all kinds and sites with their largest ways, so that each name is written before
   any further ways. */
static void put_kinds(Answer *a) {
  const uint32_t kinds = retain_kinds(a->w), sites = count_sites(a);
  for (; a->kinds < kinds && has_room(&a->lines); a->kinds++) {
    retain_describe(a->w, a->kinds, RETAIN_HOLDERS, &a->room);
    put_kind(&a->lines, "kind", &a->room);
  }
  for (; a->sites_written < sites && has_room(&a->lines); a->sites_written++) {
    retain_describe_site(a->sites, a->sites_written, RETAIN_HOLDERS, &a->room);
    put_kind(&a->lines, "site", &a->room);
  }
  a->cut_kinds = kinds - a->kinds + (sites - a->sites_written);
}

static void put_way(Answer *a, uint32_t number, uint32_t i, uint32_t way) {
  RetainHolder *h = &a->room.holders[0];
  if (!has_room(&a->lines)) {
    a->cut_ways++;
    return;
  }
  if (number <= a->kinds) retain_describe_way(a->w, i, way, h);
  else retain_describe_site_way(a->sites, i, way, h);
  put_text(&a->lines, "way");
  put_number(&a->lines, number);
  put_holder(&a->lines, h);
}

static void put_more_ways(Answer *a) {
  for (uint32_t i = 0; i < a->kinds; i++)
    for (uint32_t way = RETAIN_HOLDERS; way < retain_ways(a->w, i); way++)
      put_way(a, i + 1, i, way);
  for (uint32_t i = 0; i < a->sites_written; i++)
    for (uint32_t way = RETAIN_HOLDERS; way < retain_site_ways(a->sites, i); way++)
      put_way(a, a->kinds + i + 1, i, way);
}

/* Writes a shape once, before the first thread of it. */
static void put_shape(Answer *a, uint32_t visited, uint32_t shape) {
  RetainHolder *h = &a->room.holders[0];
  const uint8_t bit = (uint8_t)(1u << (shape & 7));
  if (a->shapes[shape >> 3] & bit) return;
  a->shapes[shape >> 3] |= bit;
  retain_describe_visited(a->w, visited, h);
  put_text(&a->lines, "shape");
  put_number(&a->lines, shape);
  put_path(&a->lines, h);
}

static void put_thread(void *answer, lua_State *co, uint32_t visited, uint32_t shape) {
  Answer *a = answer;
  if (!coroutine_waits(co)) return;
  if (!has_room(&a->lines)) {
    a->cut_ways++;
    return;
  }
  put_shape(a, visited, shape);
  put_text(&a->lines, "thread");
  put_number(&a->lines, (uintptr_t)co);
  put_number(&a->lines, shape);
  put_text(&a->lines, "\n");
}

static void put_walk(Answer *a) {
  if (a->asked & EVENTRING_ASKS_RETAIN) {
    put_kinds(a);
    put_more_ways(a);
  }
  if (a->asked & EVENTRING_ASKS_COROUTINES) retain_threads(a->w, put_thread, a);
  put_text(&a->lines, "cut");
  put_number(&a->lines, a->cut_kinds);
  put_number(&a->lines, a->cut_ways);
  put_number(&a->lines, retain_in_no_way(a->w));
  put_number(&a->lines, retain_in_no_kind(a->w));
  put_text(&a->lines, "\nend\n");
}

static void write_answer(Domain *d, uint32_t asked, uint64_t fork_ns) {
  static Answer a; /* the child's own copy */
  uint64_t begun = monotonic_ns();
  RetainLimits limits = {.ns = WALK_SECONDS * (uint64_t)1000000000};
  memset(&a, 0, sizeof a);
  a.asked = asked;
  a.w = retain_walk(d, &limits);
  put_text(&a.lines, "retain\t2\n");
  if (a.w != NULL) {
    if (asked & EVENTRING_ASKS_RETAIN) a.sites = retain_sites(a.w);
    put_amount(&a.lines, "total", retain_total(a.w));
    put_number(&a.lines, retain_how_it_ended(a.w));
    put_number(&a.lines, monotonic_ns() - begun);
    put_number(&a.lines, fork_ns);
    put_text(&a.lines, "\n");
    put_walk(&a);
  }
  flush_lines(&a.lines);
}

/* Closes all descriptors except the one of the answer: copies in the child would keep
   pipes and sockets open that the program closes. */
static bool keep_answer_only(int fd) {
  if (fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0) return false;
  for (int i = 0; i < ANSWER_FD; i++) close(i);
  return syscall(SYS_close_range, ANSWER_FD + 1, ~0u, 0) == 0;
}

static void yield_to_program(void) {
  struct rlimit most = {WALK_SECONDS + ANSWER_SECONDS, WALK_SECONDS + ANSWER_SECONDS};
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (write(fd, "1000", 4) != 4) { /* a favour, not needed */ }
    close(fd);
  }
  setrlimit(RLIMIT_CPU, &most);
  setpriority(PRIO_PROCESS, 0, 5);
}

_Noreturn static void be_child(Domain *d, uint32_t asked, int fd, uint64_t begun) {
  uint64_t fork_ns = monotonic_ns() - begun;
  struct timespec rest = {.tv_sec = ANSWER_SECONDS};
  yield_to_program();
  if (keep_answer_only(fd)) write_answer(d, asked, fork_ns);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, NULL);
  for (;;) syscall(SYS_exit_group, 0);
}

/* ---- the child of a domain that is asleep ------------------------------------ */

/* Returns the domain of the rings in the copy, or NULL if there is none. */
static Domain *domain_of_rings(const struct eventring_domain *rings) {
  Domain *d;
  for (unsigned n = 0; introspection_domain(n, &d); n++)
    if (d != NULL && d->rings == rings) return d;
  return NULL;
}

static bool can_be_walked(const Domain *d) {
  return !d->gc.running && !d->gc.in_finalizers && d->current != NULL &&
         !is_lua_frame(d->current->ci);
}

_Noreturn static void be_child_aside(const struct eventring_domain *rings, uint32_t asked,
                                     uint64_t begun) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  Domain *d = domain_of_rings(rings);
  /* made in the child: in the program it might have taken a descriptor's number */
  int fd = d != NULL && can_be_walked(d) ? memfd_create("saros-retain", MFD_CLOEXEC) : -1;
  if (fd >= 0) be_child(d, asked, fd, begun);
  for (;;) syscall(SYS_exit_group, 0);
}

static uint32_t answer_aside(struct eventring_domain *rings, uint32_t kinds) {
  const uint32_t asked = kinds & ASKED_OF_CHILD;
  const uint64_t begun = monotonic_ns();
  if (asked == 0) return 0;
  long pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
  if (pid == 0) be_child_aside(rings, asked, begun);
  return pid > 0 ? (uint32_t)pid : 0;
}

void vm_answer_questions_aside(void) {
  __atomic_store_n(&probes_answer_aside, answer_aside, __ATOMIC_RELAXED);
}

/* ---- the program ----------------------------------------------------------- */

/* Reaps the child of the previous question, if it has ended. */
static void reap(Domain *d) {
  if (d->answerer > 0 && waitpid(d->answerer, NULL, WNOHANG | __WCLONE) != 0) d->answerer = 0;
}

/* Forks the child and returns its pid, or 0 if that fails. All signals are blocked in the
 * child, because their handlers belong to the program. */
static pid_t fork_child(Domain *d, uint32_t asked, int fd) {
  sigset_t all, before;
  uint64_t begun = monotonic_ns();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
  if (pid == 0) be_child(d, asked, fd, begun);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pid > 0 ? (pid_t)pid : 0;
}

static pid_t begin_walk(Domain *d, uint32_t asked) {
  int fd = memfd_create("saros-retain", MFD_CLOEXEC);
  if (fd < 0) return 0;
  d->answerer = fork_child(d, asked, fd);
  close(fd);
  return d->answerer;
}

void vm_answer_question(lua_State *L) {
  Domain *d = L->domain;
  struct eventring_question question;
  uint32_t answer = 0;
  reap(d);
  if (!eventring_question_open(d->rings, &question)) return;
  const uint32_t asked = question.kinds & ASKED_OF_CHILD;
  if (asked != 0) {
    /* the question is tried again after the next collection, when the last child has
       ended */
    if (d->answerer > 0) return;
    answer = (uint32_t)begin_walk(d, asked);
  }
  if (question.kinds & EVENTRING_ASKS_MEMORY) {
    gc_record_memory(d);
    footprint_measure(d);
  }
  if (question.kinds & EVENTRING_ASKS_PROFILE && call_profile_of(d) != NULL)
    call_profile_write(call_profile_of(d), false);
  eventring_question_answer(d->rings, &question, answer != 0 ? answer : 1);
}
