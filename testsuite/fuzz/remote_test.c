/* SPDX-License-Identifier: MIT */
/* remote_test.c: reads the stacks of processes whose memory is hostile.
 *
 *   remote_test [PROCESSES [SEED]]
 *
 * Each process has an introspection that is valid except for its numbers, which are
 * random, or is damaged in places. It points to an arena of random words, which change
 * all the time. Many of them are small or point into the arena. The reader must end, each
 * time within bounds of time and memory, and (in a build with sanitizers) make no wrong
 * read. Whether it finds stacks does not matter; what it found is printed.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/slowness.h"
#include "eventring/introspection.h"
#include "remote/coroutines.h"
#include "remote/search.h"
#include "remote/stack_read.h"
#include "remote/variables.h"

enum { ARENA = 1 << 16, WORDS = ARENA / 8, DOMAINS = 4, READS = 30, MOST_MB = 512 };

/* This has the same address in the test and in its children. */
struct eventring_introspection hostile_introspection;
EVENTRING_INTROSPECTION_NOTE(hostile_introspection);

static uint64_t *arena;
static uint64_t seed;

static uint64_t draw(uint64_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (seed >> 33) % below;
}

/* ---- The process ------------------------------------------------------------------ */

static uint64_t draw_word(void) {
  switch (draw(8)) {
    case 0: return draw(4);
    case 1: return draw(1 << 16);
    case 2: return (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
    case 3: return (uint64_t)(uintptr_t)arena + draw(ARENA);
    default: return (uint64_t)(uintptr_t)&arena[draw(WORDS)];
  }
}

/* Deals offsets of fields in turn, from a random one on, so that fields mostly lie
   apart. */
static uint32_t dealt;
static uint32_t deal_offset(uint32_t size) {
  return draw(16) ? 8 * (dealt++ % (size / 8)) : (uint32_t)draw(size - 8);
}

static uint32_t draw_offset(uint32_t size) { return (uint32_t)(8 * draw(size / 8)); }

static struct eventring_location draw_place(void) {
  return (struct eventring_location){draw(2) ? EVENTRING_HERE : draw_offset(256),
                                     draw_offset(256)};
}

static void draw_numbers(struct eventring_introspection *at) {
  at->domain.id = draw_place();
  at->domain.thread = draw_place();
  at->domain.name = draw_place();
  at->domain.name_size = (uint32_t)draw(100);
  at->domain.current = draw_offset(256);
  at->domain.main = draw_offset(256);
  at->domain.roots = draw_offset(256);
  strcpy(at->domain.modules, "m");
  at->thread.head = 128;
  at->thread.frame = deal_offset(120);
  at->thread.resumer = deal_offset(120);
  at->thread.status = deal_offset(120);
  at->thread.suspended = (uint32_t)draw(4);
  at->thread.domain = deal_offset(120);
  at->thread.stack = deal_offset(120);
  at->thread.stack_end = deal_offset(120);
  at->thread.type = deal_offset(120);
  at->thread.is_type = (uint32_t)draw(4);
  at->thread.first_frame = 128 + draw_offset(256);
  dealt = 0;
  at->frame.size = 80;
  at->frame.function = deal_offset(80);
  at->frame.previous = deal_offset(80);
  at->frame.next = deal_offset(80);
  at->frame.status = deal_offset(80);
  at->frame.c_mask = (uint32_t)draw(4);
  at->frame.identity = deal_offset(80);
  at->frame.c_function = deal_offset(80);
  at->frame.pc = deal_offset(80);
  at->frame.depth = deal_offset(80);
  at->frame.entries = deal_offset(80);
}

static void draw_types(struct eventring_introspection *at) {
  at->value.size = 16;
  at->value.tag = 8;
  for (unsigned i = 0; i < EVENTRING_MAX_TAGS; i++)
    at->value.tags[i] = (struct eventring_tag){
        (uint8_t)draw(32), (uint8_t)(1 + draw(EVENTRING_VALUE_KINDS - 1)), "type"};
  at->closure.prototype = draw_offset(64);
  at->closure.c_function = draw_offset(64);
  dealt = 1;
  at->prototype.size = 96;
  at->prototype.is_type = (uint32_t)draw(4);
  at->prototype.identity = deal_offset(88);
  at->prototype.source = deal_offset(88);
  at->prototype.code = deal_offset(88);
  at->prototype.code_count = deal_offset(88);
  at->prototype.lines = deal_offset(88);
  at->prototype.line_count = draw(2) ? at->prototype.code_count : deal_offset(88);
  at->prototype.instruction = 1 + (uint32_t)draw(8);
  at->prototype.forms[0] = (struct eventring_line_form){0, 0, 0, UINT32_MAX};
  at->prototype.locals = draw_offset(88);
  at->prototype.local_count = draw_offset(88);
  at->prototype.local_size = 24;
  at->prototype.local_from = 8;
  at->prototype.local_to = 16;
  at->string.bytes = draw_offset(64);
  at->string.long_length = draw_offset(64);
  at->string.is_short = (uint32_t)draw(2);
  at->table.nodes = draw_offset(64);
  at->table.node_mask = draw_offset(64);
  at->table.node_size = 32;
  at->table.node_value_tag = 8;
  at->table.node_key = 16;
  at->table.node_key_tag = 24;
  at->heap.first = draw_place();
  at->heap.next = draw_offset(64);
  at->heap.size = 1u << (12 + draw(19));
  at->heap.used_from = (uint32_t)draw(4096);
  at->heap.step = 8;
  at->heap.scattered = draw_place();
  at->heap.pieces = (uint32_t)draw(40);
  at->heap.piece = draw_offset(64);
  at->heap.piece_step = 8 * (uint32_t)(draw(8) + 1);
  at->heap.piece_size = 128u << draw(12);
  at->coroutine.size = 256;
  at->coroutine.top = draw_offset(256);
  at->coroutine.frames = draw_offset(256);
  at->coroutine.created_in = draw_offset(256);
  at->coroutine.resumed_in = draw_offset(256);
  at->coroutine.state = draw_offset(256);
  at->coroutine.looked = draw_place();
  at->coroutine.young_mask = (uint32_t)draw(4);
  at->coroutine.lives = draw_place();
  at->coroutine.lines = draw_offset(256);
  at->coroutine.line_size = draw(4) ? 128 : 0;
  at->coroutine.ticks = 100;
  at->coroutine.bytes = draw_offset(1024);
  at->spans.tag = (uint32_t)draw(4);
  at->spans.count = draw_offset(256);
  at->spans.open = draw_offset(256);
  for (unsigned i = 0; i < draw(EVENTRING_MAX_RULES + 1); i++)
    at->rules[i] = (struct eventring_rule){
        .where = draw_place(), .size = 1u << draw(4), .mask = 3, .value = (uint32_t)draw(4),
        .activity = (uint32_t)draw(4), .subject = draw_place(), .has_subject = 1, .text = "does"};
}

/* Fills the introspection; half of the time it is damaged in places. */
static void fill_introspection(void) {
  struct eventring_introspection *at = &hostile_introspection;
  memset(at, 0, sizeof *at);
  memcpy(at->magic, EVENTRING_INTROSPECTION_MAGIC, sizeof at->magic);
  at->version = EVENTRING_INTROSPECTION_VERSION;
  at->size = sizeof *at;
  at->address = (uint64_t)(uintptr_t)at;
  at->domains = (uint64_t)(uintptr_t)arena;
  at->domain_places = draw(8) ? DOMAINS : (uint32_t)draw(UINT32_MAX);
  draw_numbers(at);
  draw_types(at);
  for (uint64_t n = draw(2) * draw(4); n > 0; n--) {
    uint64_t word = draw_word();
    memcpy((char *)at + draw(sizeof *at - 8), &word, draw(8) + 1);
  }
}

static void put(uint64_t address, uint32_t offset, uint64_t word) {
  uint64_t at = address - (uint64_t)(uintptr_t)arena + offset;
  if (at + 8 <= ARENA) memcpy((char *)arena + at, &word, 8);
}

/* Makes a function's frame. Random words seldom form stacks, so some frames are made,
   with random words around them. */
static void make_function(uint64_t at, uint64_t frame, uint64_t value) {
  const struct eventring_introspection *in = &hostile_introspection;
  uint64_t closure = at, prototype = at + 128;
  put(frame, in->frame.status, 0);
  put(frame, in->frame.function, value);
  put(frame, in->frame.identity, prototype);
  put(frame, in->frame.pc, prototype + 4 * draw(20));
  put(value, 0, closure);
  put(value, 8, in->value.tags[0].tag);
  put(closure, in->closure.prototype, prototype);
  put(prototype, in->prototype.identity, prototype);
  put(prototype, in->prototype.code, prototype);
  put(prototype, in->prototype.type, in->prototype.is_type);
  if (draw(2)) put(prototype, in->prototype.line_count, draw(100));
  if (draw(2)) put(prototype, in->prototype.local_count, draw(1000));
}

static void make_stacks(void) {
  const struct eventring_introspection *in = &hostile_introspection;
  uint64_t base = (uint64_t)(uintptr_t)arena;
  hostile_introspection.value.tags[0].kind = EVENTRING_VALUE_FUNCTION;
  for (uint32_t n = 0; n < DOMAINS; n++) {
    uint64_t domain = base + 1024 + n * 12288, thread = domain + 512;
    uint64_t frames = thread + in->thread.first_frame;
    uint32_t count = 1 + (uint32_t)draw(20);
    arena[n] = domain;
    put(domain, in->domain.current, thread);
    put(domain, in->domain.main, draw(4) ? thread : thread + 64);
    put(thread, in->thread.type, in->thread.is_type);
    put(thread, in->thread.status, in->thread.suspended + (n % 2)); /* some wait */
    put(thread, in->thread.domain, domain);
    put(thread, in->thread.resumer, 0);
    put(thread, in->thread.frame, frames + count * in->frame.size);
    for (uint32_t d = 0; d <= count; d++) {
      uint64_t frame = frames + d * in->frame.size;
      put(frame, in->frame.previous, d ? frame - in->frame.size : 0);
      put(frame, in->frame.next, frame + in->frame.size);
      put(frame, in->frame.depth, d);
      make_function(thread + 4096 + d * 256, frame, thread + 3072 + d * 16);
    }
  }
}

_Noreturn static void be_hostile(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  for (int i = 0; i < WORDS; i++) arena[i] = draw_word();
  fill_introspection();
  if (draw(4)) make_stacks();
  if (write(ready, "r", 1) != 1) _exit(1);
  for (;;) {
    __atomic_store_n(&arena[DOMAINS + draw(WORDS - DOMAINS)], draw_word(), __ATOMIC_RELAXED);
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  }
}

/* ---- Reading it ------------------------------------------------------------------- */

static uint64_t opened, domains_read, stacks, variables, coroutines;

static void count_variable(void *closure, const struct remote_variable *variable) {
  (void)closure;
  variables += strlen(variable->name) < sizeof variable->name;
}

/* Reads the threads that the search found, and a place that is probably not a thread. */
static void read_together(struct remote_host *host, uint64_t domain, const uint64_t *threads,
                          size_t count) {
  enum { MOST = 2000 };
  static uint64_t all[MOST + 1];
  static struct remote_coroutine out[MOST + 1];
  uint64_t torn;
  if (count > MOST) count = MOST;
  for (size_t i = 0; i < count; i++) all[i] = threads[i];
  all[count++] = domain + 512;
  const size_t n = remote_coroutines_read(host, domain, all, count, out, &torn);
  coroutines += n;
  if (n + torn != count) abort();
}

static void read_domain(struct remote_host *host, struct remote_functions *functions,
                        uint64_t domain) {
  static struct remote_stack stack;
  struct remote_domain about;
  struct remote_search search;
  if (!remote_domain_read(host, domain, &about)) return;
  domains_read++;
  struct remote_reader *reader = remote_reader_open(functions, domain);
  for (uint64_t i = 0; reader != NULL && i < READS; i++) {
    if (remote_stack_read(reader, &stack, &about, i * 500000000) != REMOTE_READ) continue;
    stacks++;
    for (size_t f = 0; f < stack.count; f++)
      remote_variables(functions, &stack.frames[f], count_variable, NULL);
  }
  remote_search(host, domain, 20000000, &search);
  for (size_t i = 0; reader != NULL && i < search.count && i < READS; i++)
    stacks += remote_stack_suspended(reader, search.threads[i], &stack, 0) == REMOTE_READ;
  read_together(host, domain, search.threads, search.count);
  free(search.threads);
  remote_reader_close(reader);
}

static void read_process(pid_t pid) {
  static struct remote_host host;
  static struct remote_functions functions;
  uint64_t domains[64];
  if (!remote_host_open(&host, pid)) return;
  opened++;
  remote_functions_open(&functions, &host);
  size_t count = remote_domains(&host, domains, sizeof domains / sizeof domains[0]);
  for (size_t i = 0; i < count && i < DOMAINS; i++) read_domain(&host, &functions, domains[i]);
  remote_functions_close(&functions);
}

static bool try_one(uint64_t number) {
  int ready[2];
  char byte;
  if (pipe(ready) != 0) return false;
  seed = number;
  pid_t pid = fork();
  if (pid == 0) be_hostile(ready[1]);
  close(ready[1]);
  bool is_there = pid > 0 && read(ready[0], &byte, 1) == 1;
  if (is_there) read_process(pid);
  close(ready[0]);
  if (pid > 0) kill(pid, SIGKILL);
  if (pid > 0) waitpid(pid, NULL, 0);
  return is_there;
}

int main(int argc, char **argv) {
  uint64_t processes = argc > 1 ? strtoull(argv[1], NULL, 10) : 60;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000;
  struct rusage used;
  /* SIGALRM means that the reader hangs */
  alarm(250 * slowness());
  arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) return 1;
  printf("seed %" PRIu64 "\n", first);
  for (uint64_t i = 0; i < processes; i++)
    if (!try_one(first + i)) return 1;
  getrusage(RUSAGE_SELF, &used);
  printf("%" PRIu64 " processes: %" PRIu64 " opened, %" PRIu64 " domains, %" PRIu64
         " stacks, %" PRIu64 " variables, %" PRIu64 " coroutines; %ld MiB\n", processes, opened,
         domains_read, stacks, variables, coroutines, used.ru_maxrss / 1024);
  if (processes >= 60 && (opened == 0 || domains_read == 0)) return 1;
  return used.ru_maxrss / 1024 > MOST_MB * (slowness() > 1 ? 4 : 1);
}
