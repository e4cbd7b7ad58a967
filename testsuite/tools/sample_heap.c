/* SPDX-License-Identifier: MIT */
/* sample_heap.c: a host without an interpreter that samples its allocations, for the
 * tests of heap profiles:
 *
 *   sample_heap [--rate R] [--seed N] [--collections N | --forever] [--die] [--depth N]
 *             [--source PREFIX] [--again N]
 *
 * Ten sites allocate blocks of 1 to 16 words (and site 9 some of 5000), through `--depth`
 * functions. Some die before their first collection, some after several, some never. Each
 * word is sampled with probability R (HEAP_MEMPROF, or 0.01). It prints the exact figures
 * as one JSON object: words allocated and alive by site. With --die it then kills itself.
 * With --forever it prints the line `ready` and goes on until it is killed. With --again
 * N another profile of N collections follows, without the blocks of the first profile;
 * the figures that are printed are still those of the first profile.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventring/memory.h"

enum { SITES = 10, KINDS = 3, MOST_DEPTH = 64, EACH = 2000 /* allocations between two
                                                              collections */ };

struct block {
  struct eventring_tracked tracked; /* its `samples` is 0 if none of the block's words was
                                       sampled */
  uint64_t dies; /* number of the collection at which the block is found dead */
  uint32_t words;
  uint8_t site;
  bool old;
  struct block *next;
};

static struct host {
  eventring_domain *domain;
  double rate;
  uint64_t seed, until; /* state of the random numbers; words to the next sample */
  uint64_t collections, words, live_words;
  uint64_t allocated[SITES], live[SITES];
  uint32_t function[SITES], caller[MOST_DEPTH];
  unsigned depth;
  int span;
  struct block *blocks;
} host;

static void fail(const char *what) {
  fprintf(stderr, "sample_heap: %s\n", what);
  exit(3);
}

static uint64_t draw(void) {
  uint64_t x = host.seed += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static uint64_t skip(void) {
  double u = ((double)(draw() >> 11) + 1) * 0x1p-53;
  return host.rate >= 1 ? 0 : (uint64_t)(log(u) / log1p(-host.rate));
}

static uint64_t samples_in(uint64_t words) {
  uint64_t samples = 0, left = words;
  while (host.until < left) {
    left -= host.until + 1;
    host.until = skip();
    samples++;
  }
  host.until -= left;
  return samples;
}

static struct eventring_place place_of(void *context, size_t index) {
  (void)context;
  return (struct eventring_place){10 + (uint32_t)index, 3};
}

static uint32_t stack_of(unsigned site) {
  struct eventring_frame frames[1 + MOST_DEPTH] = {{host.function[site], 0}};
  for (unsigned i = 0; i < host.depth; i++)
    frames[1 + i] = (struct eventring_frame){host.caller[i], site % 2};
  return eventring_stack(host.domain, frames, 1 + host.depth, place_of, NULL);
}

static void allocate(unsigned site) {
  struct block *b = calloc(1, sizeof *b);
  if (!b) fail("no memory");
  uint64_t words = 1 + draw() % 16;
  if (site == 9 && draw() % 20 == 0) words = 5000;
  uint64_t age = site % 3 == 0 ? 1 : site % 3 == 1 ? 2 + draw() % 8 : draw() % 4 ? 1 : UINT64_MAX;
  b->words = (uint32_t)words;
  b->site = (uint8_t)site;
  b->dies = age == UINT64_MAX ? age : host.collections + age;
  b->next = host.blocks;
  host.blocks = b;
  host.words += words;
  host.live_words += words;
  host.allocated[site] += words;
  host.live[site] += words;
  struct eventring_sample sample = {.samples = samples_in(words), .words = words,
                                    .kind = (uint8_t)(site % KINDS), .origin = 0,
                                    .span = site == 4 ? (uint16_t)(host.span + 1) : 0};
  if (!sample.samples) return;
  sample.stack = stack_of(site);
  eventring_memory_sampled(host.domain, &sample, &b->tracked);
}

static void end_block(struct block *b) {
  host.live_words -= b->words;
  host.live[b->site] -= b->words;
  if (b->tracked.samples) eventring_memory_freed(host.domain, &b->tracked, b->old);
  free(b);
}

static void collect(void) {
  struct block **at = &host.blocks, *b;
  while ((b = *at)) {
    if (b->dies <= host.collections + 1) {
      *at = b->next;
      end_block(b);
      continue;
    }
    if (!b->old && b->tracked.samples) eventring_memory_promoted(host.domain, &b->tracked);
    b->old = true;
    at = &b->next;
  }
  host.collections++;
  eventring_memory_collected(host.domain,
                             &(struct eventring_collection){host.words, host.live_words});
}

static void run(void) {
  for (int i = 0; i < EACH; i++) allocate((unsigned)(draw() % SITES));
  collect();
}

static uint32_t function(const char *name, const char *source, uint32_t line) {
  struct eventring_function f = {name, strlen(name), source, strlen(source), line, line + 20};
  uint32_t id = eventring_function(&f);
  if (!id) fail("no function");
  return id;
}

static void make_functions(const char *prefix) {
  char name[64], source[1024];
  snprintf(source, sizeof source, "%ssites.lua", prefix);
  for (unsigned i = 0; i < SITES; i++) {
    snprintf(name, sizeof name, i == 3 ? "site\xc3\xa9%u" : "site%u", i);
    host.function[i] = function(name, source, 100 * i + 1);
  }
  for (unsigned i = 0; i < host.depth; i++) {
    snprintf(name, sizeof name, i + 1 < host.depth ? "caller%u" : "main", i);
    host.caller[i] = function(name, source, 1000 + i);
  }
}

static void name_all(void) {
  static const char *const kinds[KINDS] = {"table", "string", "closure"};
  for (unsigned i = 0; i < KINDS; i++) eventring_memory_name(EVENTRING_MEMORY_KIND, i, kinds[i]);
  eventring_memory_name(EVENTRING_MEMORY_ORIGIN, 0, "program");
}

static void print_truth(void) {
  printf("{\"words\":%llu,\"live\":%llu,\"sites\":{", (unsigned long long)host.words,
         (unsigned long long)host.live_words);
  for (unsigned i = 0; i < SITES; i++)
    printf("%s\"%s%u\":{\"allocated\":%llu,\"live\":%llu}", i ? "," : "",
           i == 3 ? "site\xc3\xa9" : "site", i, (unsigned long long)host.allocated[i],
           (unsigned long long)host.live[i]);
  puts("}}");
  fflush(stdout);
}

static void start(void) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  if (eventring_config_from_env(&config, "HEAP_EVENTRING", &error) < 0) fail(error.text);
  config.has_samples = true;
  config.sample_rate = host.rate;
  name_all();
  if (eventring_start(&config, &error) < 0) fail(error.text);
  host.domain = eventring_domain_start("main", &error);
  if (error.code) fail(error.text);
  host.span = eventring_register_user(EVENTRING_DEF_SPAN, "request", 7, EVENTRING_NONE, &error);
  if (eventring_memory_rate(host.domain) != host.rate) fail("the recording wants no samples");
  if (eventring_memory_start(host.domain, host.rate) < 0) fail("no profile");
}

static void forget_blocks(void) {
  while (host.blocks) {
    struct block *next = host.blocks->next;
    free(host.blocks);
    host.blocks = next;
  }
}

static void another_profile(uint64_t collections) {
  eventring_memory_stop(host.domain);
  forget_blocks();
  if (eventring_memory_start(host.domain, host.rate) < 0) fail("no second profile");
  for (uint64_t i = 0; i < collections; i++) run();
}

int main(int argc, char **argv) {
  const char *prefix = "", *rate = getenv("HEAP_MEMPROF");
  uint64_t collections = 50, again = 0;
  bool die = false, forever = false;
  struct eventring_error error;
  host = (struct host){.rate = 0.01, .seed = 1, .depth = 3};
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--rate") && more) rate = argv[++i];
    else if (!strcmp(argv[i], "--seed") && more) host.seed = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(argv[i], "--depth") && more) host.depth = (unsigned)atoi(argv[++i]);
    else if (!strcmp(argv[i], "--source") && more) prefix = argv[++i];
    else if (!strcmp(argv[i], "--collections") && more) collections = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(argv[i], "--again") && more) again = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(argv[i], "--die")) die = true;
    else if (!strcmp(argv[i], "--forever")) forever = true;
    else return 2;
  }
  if (rate && eventring_memory_parse_rate(rate, &host.rate, &error) < 0) fail(error.text);
  if (host.depth < 1 || host.depth > MOST_DEPTH) return 2;
  start();
  make_functions(prefix);
  host.until = skip();
  if (forever) {
    run();
    puts("ready");
    fflush(stdout);
    while (true) run();
  }
  for (uint64_t i = 0; i < collections; i++) run();
  print_truth();
  if (again) another_profile(again);
  if (die) kill(getpid(), SIGKILL);
  eventring_domain_stop(host.domain);
  eventring_stop();
  forget_blocks();
  return 0;
}
