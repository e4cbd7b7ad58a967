/* SPDX-License-Identifier: MIT */
/* runtime/memprof_random.c: distances between samples.
 *
 * No random number is needed for each word: the number of words before the next sample
 * has a geometric distribution, floor(E / -ln(1 - rate)), where E is exponential with
 * mean 1. E is drawn by the ziggurat method (G. Marsaglia, W. W. Tsang, 2000): 256 layers
 * of equal area, 255 boxes and a box with the tail, cover the area below exp(-x). A layer
 * and a point in it are drawn. In 99 % of cases a comparison shows that the point is
 * below the curve; only in the other cases is the exponential computed. Up to the
 * rounding of doubles the distribution is exact. Distances are drawn 64 at a time, so
 * that the processor works on several at once.
 *
 * A block of very many samples (an array of megabytes at a high rate) gets their number
 * from the normal distribution instead; its mean and variance are those of the binomial
 * distribution.
 *
 * The generator is xoshiro256++ (D. Blackman, S. Vigna, public domain).
 */
#include "memprof_internal.h"

#include <math.h>
#include <pthread.h>

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

/* Seeds the stream with splitmix64, which turns any seed into a good state. */
void stream_seed(MemprofStream *s, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    s->random[i] = z ^ z >> 31;
  }
  stream_stop(s);
}

static double uniform(MemprofStream *s) {
  return ((double)(next_random(s->random) >> 11) + 0.5) * 0x1p-53;
}

#define LAYERS 256
#define TAIL 7.69711747013104972          /* where the tail of the lowest layer begins */
/* area of each layer; in the lowest layer it includes the tail */
#define LAYER_AREA 0.0039496598225815571993

/* Layer i reaches from 0 to right[i], and is below the curve up to right[i + 1].
 * height[i] is exp(-right[i]), the lower edge of the layer. The lowest layer is as wide
 * as its area requires. */
static double right[LAYERS + 1], height[LAYERS + 1];

static void make_layers(void) {
  right[0] = LAYER_AREA * exp(TAIL);
  right[1] = TAIL;
  for (int i = 1; i < LAYERS; i++) {
    height[i] = exp(-right[i]);
    right[i + 1] = -log(height[i] + LAYER_AREA / right[i]);
  }
  right[LAYERS] = 0;
  height[LAYERS] = 1;
}

static double exponential(MemprofStream *s);

/* Decides about an x that is in the layer but may be above the curve. The tail has the
 * same distribution as the whole, from TAIL on. */
static NOINLINE double beyond_certainty(MemprofStream *s, unsigned layer, double x) {
  if (layer == 0) return TAIL + exponential(s);
  double y = height[layer] + uniform(s) * (height[layer + 1] - height[layer]);
  return y < exp(-x) ? x : exponential(s);
}

ALWAYS_INLINE double exponential_of(MemprofStream *s, uint64_t random) {
  unsigned layer = random % LAYERS;
  double x = (double)(int64_t)(random >> 11) * 0x1p-53 * right[layer];
  return likely(x < right[layer + 1]) ? x : beyond_certainty(s, layer, x);
}

static double exponential(MemprofStream *s) { return exponential_of(s, next_random(s->random)); }

SAMPLE_PATH static NOINLINE void draw_skips(MemprofStream *s) {
  for (int i = 0; i < SKIPS_AT_ONCE; i++)
    s->skips[i] = (uint64_t)(int64_t)(exponential(s) * s->scale);
  s->left = SKIPS_AT_ONCE;
}

ALWAYS_INLINE uint64_t next_skip(MemprofStream *s) {
  if (s->rate >= 1) return 0;
  if (s->left == 0) draw_skips(s);
  return s->skips[--s->left];
}

/* Returns the number of samples among `words` words. */
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
  static pthread_once_t made = PTHREAD_ONCE_INIT;
  pthread_once(&made, make_layers);
  s->scale = -1 / log1p(-s->rate);
  s->many_words = (uint64_t)(MANY_SAMPLES / s->rate);
  s->at[METER_CURSOR] = heap_asked_at_cursor(h) + 8 * next_skip(s);
  s->at[METER_ELSEWHERE] = heap_asked_elsewhere(h) + 8 * next_skip(s);
}

SAMPLE_PATH uint64_t stream_take(MemprofStream *s, Meter meter, uint64_t end) {
  uint64_t at = s->at[meter], words = (end - at + 7) / 8, n = 1;
  if (s->rate >= 1) {
    s->at[meter] = at + 8 * words;
    return words;
  }
  at += 8;
  if (words > s->many_words) { /* the first word is a sample already */
    n += draw_many(s, words - 1);
    at += 8 * (words - 1);
  }
  for (at += 8 * next_skip(s); at < end; at += 8 + 8 * next_skip(s)) n++;
  s->at[meter] = at;
  return n;
}
