/* SPDX-License-Identifier: MIT */
/* tally_lives.c: assigns the figures of a slot to the domains that ran in it. */
#include "analysis/tally_lives.h"

#include <stdlib.h>

#include "analysis/saturating.h"
#include "format/array.h"

void eva_add_words(int64_t *words, int64_t more) {
  *words = eva_add_signed(*words < 0 ? 0 : *words, more);
}

static void add_life(struct eva_life *into, const struct eva_life *from) {
  into->watched = eva_add(into->watched, from->watched);
  eva_gc_times_add(&into->times, &from->times);
  if (from->allocated >= 0) eva_add_words(&into->allocated, from->allocated);
  if (from->promoted >= 0) eva_add_words(&into->promoted, from->promoted);
  if (!into->info)
    into->info = from->info;
  else
    free(from->info);
}

static int by_incarnation(const void *a, const void *b) {
  const struct eva_life *x = a, *y = b;
  return x->incarnation < y->incarnation ? -1 : x->incarnation > y->incarnation;
}

void eva_lives_join(struct eva_lives *lives) {
  size_t kept = 0;
  if (lives->count == 0) return;
  qsort(lives->life, lives->count, sizeof *lives->life, by_incarnation);
  for (size_t i = 1; i < lives->count; i++)
    if (lives->life[i].incarnation == lives->life[kept].incarnation)
      add_life(&lives->life[kept], &lives->life[i]);
    else
      lives->life[++kept] = lives->life[i];
  lives->count = kept + 1;
}

/* Makes room for one more entry; entries of one incarnation are joined first. */
static int make_room(struct eva_lives *lives) {
  if (lives->count < lives->room) return EVENTRING_OK;
  eva_lives_join(lives);
  if (lives->count < lives->room / 2) return EVENTRING_OK;
  return evr_grow(&lives->life, sizeof *lives->life, &lives->room, sizeof lives->room, 4)
             ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

struct eva_life *eva_lives_at(struct eva_lives *lives, uint32_t incarnation) {
  if (lives->count > 0 && lives->life[lives->count - 1].incarnation == incarnation)
    return &lives->life[lives->count - 1];
  if (make_room(lives) < 0) return NULL;
  struct eva_life *life = &lives->life[lives->count++];
  *life = (struct eva_life){.incarnation = incarnation, .allocated = -1, .promoted = -1};
  return life;
}

int eva_lives_describe(struct eva_lives *lives, const struct eventring_domain_info *info) {
  struct eva_life *life = eva_lives_at(lives, info->incarnation);
  if (!life) return EVENTRING_E_MEMORY;
  if (!life->info) life->info = malloc(sizeof *life->info);
  if (!life->info) return EVENTRING_E_MEMORY;
  *life->info = *info;
  return EVENTRING_OK;
}

void eva_lives_free(struct eva_lives *lives) {
  for (size_t i = 0; i < lives->count; i++) free(lives->life[i].info);
  free(lives->life);
  *lives = (struct eva_lives){0};
}

const char *eva_life_name(const struct eva_life *life) {
  return life->info ? life->info->name : "";
}
