/* SPDX-License-Identifier: MIT */
/* testsuite/bench/hashes.c: how well functions spread families of integer keys over
 * tables of 2^2 to 2^16 nodes (make bench-hashes [LOAD=0.7]; doc/TABLES.md has the
 * results). For each family and function:
 *
 *   collisions  keys whose place was taken, in percent: mean and worst of all tables
 *   probes      nodes visited to find a key, with the best possible chains: the same two
 *   longest     keys in one place
 *
 * `prime` is what runtime/table.c does. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define SECRET UINT64_C(0x243F6A8885A308D3)
#define MOST (1u << 16)

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

static int bits;      /* the present table has 2^bits nodes */
static uint64_t mask; /* number of nodes - 1 */

/* ---- functions -------------------------------------------------------------------- */

static uint64_t high_product(uint64_t x, int64_t y) {
  return (uint64_t)((Wide)(int64_t)x * y >> 64);
}

static uint64_t low_bits(uint64_t x) { return x; }
/* Takes the remainder by nodes - 1, as lua5.4 does. */
static uint64_t modulo_odd(uint64_t x) { return x % (mask | 1); }
static uint64_t middle_of_product(uint64_t x) { return x * GOLDEN >> 32; }
static uint64_t fibonacci(uint64_t x) { return x * GOLDEN >> (64 - bits); }
static uint64_t secret_product(uint64_t x) { return x * (SECRET | 1) >> (64 - bits); }
static uint64_t folded(uint64_t x) { return x + (x >> bits); }
static uint64_t folded_product(uint64_t x) { return x ^ ((x >> bits) * GOLDEN >> 32); }
/* Returns x * (1 + 1 / 22.618), so that a step is never the number of nodes. */
static uint64_t stretched(uint64_t x) { return x + high_product(x, INT64_C(0x0B5182CA4994A9A9)); }
/* Returns x * (1 + 2.618 / nodes). */
static uint64_t stretched_by_size(uint64_t x) {
  return x + (uint64_t)((int64_t)high_product(x, INT64_C(0x53C6EF372FE94F82)) >>
                        (bits > 3 ? bits - 3 : 0));
}
static uint64_t scattered(uint64_t x) {
  UnsignedWide product = (UnsignedWide)(x ^ SECRET) * (SECRET * GOLDEN | 1);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t prime_distance(int k) {
  static const uint8_t distances[] = {0, 0, 1, 1, 3, 3, 3, 15, 5, 3, 3, 9, 3, 13, 3, 19, 15};
  return distances[k];
}
static uint64_t prime(uint64_t x) {
  uint64_t d = prime_distance(bits);
  return x + d * high_product(x, (int64_t)(UINT64_MAX / (mask + 1 - d) + 1));
}

static const struct Function {
  const char *name;
  uint64_t (*f)(uint64_t x);
} functions[] = {
    {"low bits", low_bits},
    {"modulo odd", modulo_odd},
    {"x*phi mid", middle_of_product},
    {"x*phi top", fibonacci},
    {"x*secret top", secret_product},
    {"x+(x>>k)", folded},
    {"x^(x>>k)*phi", folded_product},
    {"x*(1+1/23)", stretched},
    {"x*(1+2.6/n)", stretched_by_size},
    {"prime", prime},
    {"scattered", scattered},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* ---- families: make n keys of member j; return false if there is none -------------- */

static uint64_t random_state;
static uint64_t draw(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

static bool progression(uint64_t *keys, uint32_t n, uint64_t step) {
  for (uint32_t i = 0; i < n; i++) keys[i] = (i + 1) * step;
  return true;
}
static bool strides(uint64_t *keys, uint32_t n, int j) {
  return j < 1024 && progression(keys, n, (uint64_t)j + 1);
}
static bool negative(uint64_t *keys, uint32_t n, int j) {
  return j < 64 && progression(keys, n, 0 - (uint64_t)j - 1);
}
static bool powers(uint64_t *keys, uint32_t n, int j) {
  return j < 48 && progression(keys, n, UINT64_C(1) << j);
}
static bool below(uint64_t *keys, uint32_t n, int j) {
  return j < 47 && progression(keys, n, (UINT64_C(2) << j) - 1);
}
static bool above(uint64_t *keys, uint32_t n, int j) {
  return j < 48 && progression(keys, n, (UINT64_C(1) << j) + 1);
}
static bool decimal(uint64_t *keys, uint32_t n, int j) {
  uint64_t step = 10;
  for (int i = 0; i < j; i++) step *= 10;
  return j < 12 && progression(keys, n, step);
}
static bool windows(uint64_t *keys, uint32_t n, int j) {
  uint64_t start = j < 20 ? 0 - (uint64_t)n * (uint64_t)j / 20 : draw() >> (2 + j % 40);
  for (uint32_t i = 0; i < n; i++) keys[i] = start + i;
  return j < 200;
}
static bool addresses(uint64_t *keys, uint32_t n, int j) {
  uint64_t at = UINT64_C(0x7f0000000000) + (draw() & 0xffffff) * 4096;
  for (uint32_t i = 0; i < n; i++) keys[i] = at += 16 * (1 + draw() % (uint64_t)(1 + j));
  return j < 40;
}
static bool grids(uint64_t *keys, uint32_t n, int j) {
  static const uint64_t widths[] = {100,   1000,  1024,    4096,
                                    10000, 65536, 1 << 20, UINT64_C(1) << 32};
  uint32_t rows = 1u << (1 + j % 6);
  if (j >= 48 || rows > n) return false;
  uint32_t columns = (n + rows - 1) / rows;
  if (columns > widths[j / 6]) columns = (uint32_t)widths[j / 6];
  for (uint32_t i = 0; i < n; i++) keys[i] = i / columns * widths[j / 6] + i % columns;
  return true;
}
static bool products(uint64_t *keys, uint32_t n, int j) {
  for (uint32_t i = 0; i < n; i++) keys[i] = (uint64_t)(i + 1) * (i + 1 + (uint64_t)j);
  return j < 20;
}
static bool single_bits(uint64_t *keys, uint32_t n, int j) {
  for (uint32_t i = 0; i < n && i < 64; i++) keys[i] = UINT64_C(1) << i;
  return j == 0 && n <= 64;
}
static bool times(uint64_t *keys, uint32_t n, int j) {
  static const uint64_t steps[] = {60, 3600, 86400, 1000, 1000000, 15, 900, 500};
  if (j >= 8) return false;
  for (uint32_t i = 0; i < n; i++)
    keys[i] = UINT64_C(1700000000) * (j < 3 ? 1 : 1000) + i * steps[j];
  return true;
}
static bool random_numbers(uint64_t *keys, uint32_t n, int j) {
  for (uint32_t i = 0; i < n; i++) keys[i] = draw() >> j % 32;
  return j < 40;
}
static bool random_gaps(uint64_t *keys, uint32_t n, int j) {
  uint64_t at = draw() >> j % 32;
  for (uint32_t i = 0; i < n; i++) keys[i] = at += 1 + draw() % (uint64_t)(j + 2);
  return j < 40;
}
static bool floats(uint64_t *keys, uint32_t n, int j) {
  static const double steps[] = {0.5, 0.1, 0.25, 0.001, 1e-6, 3.3, 1e10, 1e5};
  if (j >= 16) return false;
  for (uint32_t i = 0; i < n; i++) {
    double x = j < 8 ? (i + 1) * steps[j] : i + steps[j - 8];
    memcpy(&keys[i], &x, sizeof x);
  }
  return true;
}

/* Makes addresses as table.c uses them. */
static bool addresses_shifted(uint64_t *keys, uint32_t n, int j) {
  bool more = addresses(keys, n, j);
  for (uint32_t i = 0; i < n; i++) keys[i] >>= 4;
  return more;
}
static bool floats_swapped(uint64_t *keys, uint32_t n, int j) {
  bool more = floats(keys, n, j);
  for (uint32_t i = 0; more && i < n; i++) keys[i] = keys[i] >> 32 | keys[i] << 32;
  return more;
}

static const struct Family {
  const char *name;
  bool (*fill)(uint64_t *keys, uint32_t n, int j);
} families[] = {
    {"steps 1..1024", strides},
    {"-1..-64", negative},
    {"2^j", powers},
    {"2^j - 1", below},
    {"2^j + 1", above},
    {"10^j", decimal},
    {"windows", windows},
    {"times", times},
    {"grids", grids},
    {"i * (i + j)", products},
    {"single bits", single_bits},
    {"addresses", addresses},
    {"random gaps", random_gaps},
    {"random", random_numbers},
    {"floats", floats},
    {"addresses / 16", addresses_shifted},
    {"floats swapped", floats_swapped},
};
#define FAMILIES (sizeof families / sizeof *families)

/* ---- measuring -------------------------------------------------------------------- */

typedef struct Figures {
  double collisions, worst_collisions, probes, worst_probes;
  uint32_t longest, tables;
} Figures;

static void measure(Figures *figures, uint64_t (*f)(uint64_t), const uint64_t *keys, uint32_t n) {
  static uint32_t keys_at[MOST];
  memset(keys_at, 0, (mask + 1) * sizeof *keys_at);
  double probes = 0, collisions = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t *at = &keys_at[f(keys[i]) & mask];
    collisions += *at > 0;
    probes += ++*at;
    if (*at > figures->longest) figures->longest = *at;
  }
  collisions /= n, probes /= n;
  figures->collisions += collisions, figures->probes += probes, figures->tables++;
  if (collisions > figures->worst_collisions) figures->worst_collisions = collisions;
  if (probes > figures->worst_probes) figures->worst_probes = probes;
}

static void measure_family(const struct Family *family, double load) {
  static uint64_t keys[MOST];
  Figures figures[FUNCTIONS] = {0};
  random_state = 88172645463325252;
  for (bits = 2; bits <= 16; bits++) {
    mask = (UINT64_C(1) << bits) - 1;
    uint32_t n = (uint32_t)((double)(mask + 1) * load);
    for (int j = 0; family->fill(keys, n, j); j++)
      for (size_t f = 0; f < FUNCTIONS; f++) measure(&figures[f], functions[f].f, keys, n);
  }
  for (size_t f = 0; f < FUNCTIONS; f++) {
    const Figures *r = &figures[f];
    printf("%-14s %-14s %5.0f %5.0f %8.2f %9.1f %8u\n", family->name, functions[f].name,
           100 * r->collisions / r->tables, 100 * r->worst_collisions, r->probes / r->tables,
           r->worst_probes, r->longest);
  }
}

int main(int argc, char **argv) {
  double load = argc > 1 ? atof(argv[1]) : 1;
  if (!(load > 0.5 && load <= 1)) {
    fprintf(stderr, "%s [LOAD]: keys for each node, above 0.5, at most 1\n", argv[0]);
    return 2;
  }
  printf("%-14s %-14s %11s %18s %8s\n", "", "", "collisions", "probes", "longest");
  for (size_t i = 0; i < FAMILIES; i++) measure_family(&families[i], load);
  return 0;
}
