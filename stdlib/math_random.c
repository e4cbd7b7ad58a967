/* SPDX-License-Identifier: MIT */
/* stdlib/math_random.c: math.random and math.randomseed.
 *
 * The generator is xoshiro256** by Blackman and Vigna (public domain; see
 * prng.di.unimi.it), seeded and reduced to ranges as Lua 5.4 does it, so that a seed
 * gives the numbers that it gives in Lua 5.4. Its state is a userdata, the upvalue of
 * both functions: each Lua state has its own.
 */
#include "arguments.h"
#include "math_random.h"
#include "thread.h"

#include <stdint.h>
#include <sys/random.h>
#include <time.h>

#define DISCARDED_AFTER_SEEDING 16

typedef struct Generator {
  uint64_t s[4];
} Generator;

static inline uint64_t rotate_left(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static uint64_t next_random(Generator *g) {
  uint64_t *s = g->s;
  uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate_left(s[3], 45);
  return result;
}

/* Returns a float in [0, 1), made of the 53 high bits. */
static lua_Number as_float(uint64_t bits) { return (lua_Number)(bits >> 11) * 0x1p-53; }

/* Returns a number uniform in [0, limit]. Takes as many random bits as the limit has, and
 * tries again while the number exceeds the limit. */
static uint64_t reduce_to_limit(Generator *g, uint64_t bits, uint64_t limit) {
  if ((limit & (limit + 1)) == 0) return bits & limit;
  uint64_t mask = UINT64_MAX >> __builtin_clzll(limit);
  while ((bits &= mask) > limit) bits = next_random(g);
  return bits;
}

static Generator *get_generator(lua_State *L) {
  return userdata_payload(as_userdata(&as_c_closure(L->ci->func)->upvalues[0]));
}

static int math_random(lua_State *L) {
  Generator *g = get_generator(L);
  uint64_t bits = next_random(g);
  lua_Integer low = 1, high;
  switch (argument_count(L)) {
    case 0: return result_float(L, as_float(bits));
    case 1:
      high = argument_integer(L, 1);
      if (high == 0) return result_integer(L, (lua_Integer)bits);
      break;
    case 2:
      low = argument_integer(L, 1);
      high = argument_integer(L, 2);
      break;
    default: return luaL_error(L, "wrong number of arguments");
  }
  luaL_argcheck(L, low <= high, 1, "interval is empty");
  uint64_t distance = reduce_to_limit(g, bits, (uint64_t)high - (uint64_t)low);
  return result_integer(L, (lua_Integer)(distance + (uint64_t)low));
}

/* ---- seeding ------------------------------------------------------------- */

/* Seeds the generator, and pushes the two parts of the seed. */
static void seed_generator(lua_State *L, Generator *g, uint64_t first, uint64_t second) {
  g->s[0] = first;
  g->s[1] = 0xff; /* the state must not be all zero */
  g->s[2] = second;
  g->s[3] = 0;
  for (int i = 0; i < DISCARDED_AFTER_SEEDING; i++) next_random(g);
  lua_pushinteger(L, (lua_Integer)first);
  lua_pushinteger(L, (lua_Integer)second);
}

/* Seeds the generator from the system's entropy or, if there is none, from time and
   addresses. */
static void seed_randomly(lua_State *L, Generator *g) {
  uint64_t entropy[2];
  if (getrandom(entropy, sizeof entropy, GRND_NONBLOCK) != (ssize_t)sizeof entropy) {
    entropy[0] = (uint64_t)time(NULL) ^ (uint64_t)clock() << 32;
    entropy[1] = (uint64_t)(uintptr_t)g ^ (uint64_t)(uintptr_t)&entropy << 16;
  }
  seed_generator(L, g, entropy[0], entropy[1]);
}

static int math_randomseed(lua_State *L) {
  if (lua_isnone(L, 1)) {
    seed_randomly(L, get_generator(L));
  } else {
    lua_Integer first = luaL_checkinteger(L, 1);
    lua_Integer second = luaL_optinteger(L, 2, 0);
    seed_generator(L, get_generator(L), (uint64_t)first, (uint64_t)second);
  }
  return 2;
}

void math_random_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"random", math_random}, {"randomseed", math_randomseed}, {NULL, NULL}};
  Generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  seed_randomly(L, g);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 1);
}
