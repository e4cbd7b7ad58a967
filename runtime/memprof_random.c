/* SPDX-License-Identifier: MIT */
/* runtime/memprof_random.c: distances between samples.
 *
 * Whether each of many words is a sample need not be drawn: the number of words before the
 * next one is distributed geometrically, floor(ln U / ln(1 - rate)) with U uniform in
 * (0, 1). The logarithm is that of the series of artanh, exact to 1e-9: a distance is off
 * by one in one of some 1e5 draws at the rate 1e-4. Distances are drawn 64 at a time, so
 * that the processor works on several at once.
 *
 * A block of very many samples (an array of megabytes at a high rate) gets their number
 * from the normal distribution instead; its mean and variance are those of the binomial
 * one.
 *
 * The generator is xoshiro256++ (D. Blackman, S. Vigna, public domain).
 */
#include "memprof_internal.h"

#include <math.h>
#include <string.h>

#define MANY_SAMPLES 65536.0

static uint64_t rotated(uint64_t x, int k) { return x << k | x >> (64 - k); }

ALWAYS_INLINE uint64_t next_random(uint64_t *s) {
  uint64_t result = rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotated(s[3], 45);
  return result;
}

/* splitmix64, which turns any seed into a good state. */
void stream_seed(MemprofStream *s, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    s->random[i] = z ^ z >> 31;
  }
  stream_stop(s);
}

/* ln of (r + 1/2) / 2^53, r below 2^53. */
ALWAYS_INLINE double log_uniform(uint64_t r) {
  double x = (double)r + 0.5, f;
  uint64_t bits, exponent;
  memcpy(&bits, &x, sizeof bits);
  /* x = f * 2^e with f in [sqrt(1/2), sqrt(2)) */
  exponent = (bits + UINT64_C(0x00095F619980C433)) >> 52;
  bits -= (exponent - 1023) << 52;
  memcpy(&f, &bits, sizeof f);
  double s = (f - 1) / (f + 1), q = s * s;
  double series = s * (2 + q * (2.0 / 3 + q * (2.0 / 5 + q * (2.0 / 7 + q * (2.0 / 9)))));
  return series + ((double)(int64_t)exponent - (1023 + 53)) * 0.69314718055994530942;
}

static NOINLINE void draw_skips(MemprofStream *s) {
  for (int i = 0; i < SKIPS_AT_ONCE; i++) s->skips[i] = next_random(s->random) >> 11;
  for (int i = 0; i < SKIPS_AT_ONCE; i++)
    s->skips[i] = (uint64_t)(log_uniform(s->skips[i]) * s->scale);
  s->left = SKIPS_AT_ONCE;
}

ALWAYS_INLINE uint64_t next_skip(MemprofStream *s) {
  if (s->rate >= 1) return 0;
  if (s->left == 0) draw_skips(s);
  return s->skips[--s->left];
}

static double uniform(MemprofStream *s) {
  return ((double)(next_random(s->random) >> 11) + 0.5) * 0x1p-53;
}

/* Of `words` words, the number that are samples. */
static uint64_t draw_many(MemprofStream *s, uint64_t words) {
  double mean = (double)words * s->rate, deviation = sqrt(mean * (1 - s->rate));
  double normal = sqrt(-2 * log(uniform(s))) * cos(2 * 3.14159265358979323846 * uniform(s));
  double n = floor(mean + deviation * normal + 0.5);
  return n < 0 ? 0 : n > (double)words ? words : (uint64_t)n;
}

void stream_start(MemprofStream *s, double rate, const Heap *h) {
  stream_stop(s);
  s->rate = rate > 1 ? 1 : rate;
  s->left = 0;
  if (rate < MEMPROF_LEAST_RATE) return;
  s->scale = 1 / log1p(-s->rate);
  s->many_words = (uint64_t)(MANY_SAMPLES / s->rate);
  s->at[METER_CURSOR] = heap_asked_at_cursor(h) + 8 * next_skip(s);
  s->at[METER_ELSEWHERE] = heap_asked_elsewhere(h) + 8 * next_skip(s);
}

uint64_t stream_take(MemprofStream *s, Meter meter, uint64_t end) {
  uint64_t at = s->at[meter], words = (end - at + 7) / 8, n = 1;
  if (s->rate >= 1) {
    s->at[meter] = at + 8 * words;
    return words;
  }
  at += 8;
  if (words > s->many_words) { /* the first of them was one already */
    n += draw_many(s, words - 1);
    at += 8 * (words - 1);
  }
  for (at += 8 * next_skip(s); at < end; at += 8 + 8 * next_skip(s)) n++;
  s->at[meter] = at;
  return n;
}
