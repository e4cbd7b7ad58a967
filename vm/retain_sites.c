/* SPDX-License-Identifier: MIT */
/* vm/retain_sites.c: who holds the objects that a site allocated (retain.c).
 *
 * While allocations are sampled, the stack that allocated each tracked block is known.
 * Tracked blocks that the walk visited are grouped by this stack and by the shape of the
 * path that holds them; for a part of an object, the path to its owner counts. Bytes are
 * estimated: each sample stands for 1 / rate words.
 *
 * The queue of the walk has no index by object. So an index of the tracked blocks, which
 * are few, is made, and the queue is read once. All memory is one mapping, as in the
 * walk. */
#include <string.h>
#include <sys/mman.h>

#include "memprof_sites.h"
#include "retain_walk.h"

enum { MOST_SITES = 1 << 14, MOST_SITE_GROUPS = 1 << 16, SHOWN_FRAMES = 3 };

typedef struct SiteAmount {
  uint32_t stack;
  uint64_t blocks, samples;
  /* the groups of the site, each a way in which its blocks are held, as a range of
     group_order */
  uint32_t first_way, nways;
} SiteAmount;

typedef struct SiteGroup {
  uint32_t stack, shape;
  uint32_t first; /* position in the queue of the first object */
  uint64_t blocks, samples;
} SiteGroup;

struct RetainSites {
  const Domain *d;
  RetainWalk *w;
  double rate;
  uint32_t *buckets, mask; /* by hash of the object, the number of a block, or 0 */
  uint32_t *next;          /* by number of a block, the next block in its bucket */
  SiteAmount *sites;
  uint32_t nsites;
  /* hash table of 2 * MOST_SITES entries: an index into `sites` plus 1, or 0 */
  uint32_t *site_index;
  SiteGroup *groups;
  uint32_t ngroups;
  /* hash table of 2 * MOST_SITE_GROUPS entries: an index into `groups` plus 1, or 0 */
  uint32_t *group_index;
  uint32_t *order;         /* indices into `sites`, the largest first */
  uint32_t *group_order;   /* indices into `groups`, by site, the largest first */
  size_t memory_bytes;
};

static uint32_t hash_of(uint64_t a, uint64_t b) {
  return (uint32_t)((a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0xff51afd7ed558ccd) >> 36);
}

static size_t round_up(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static size_t lay_out(RetainSites *s, char *memory, uint32_t blocks) {
  size_t used = round_up(sizeof *s);
#define ARRAY(field, count) \
  do { \
    s->field = (void *)(memory + used); \
    used += round_up((size_t)(count) * sizeof *s->field); \
  } while (0)
  ARRAY(buckets, s->mask + 1);
  ARRAY(next, blocks);
  ARRAY(sites, MOST_SITES);
  ARRAY(site_index, 2 * MOST_SITES);
  ARRAY(groups, MOST_SITE_GROUPS);
  ARRAY(group_index, 2 * MOST_SITE_GROUPS);
  ARRAY(order, MOST_SITES);
  ARRAY(group_order, MOST_SITE_GROUPS);
#undef ARRAY
  return used;
}

/* Makes the sites. Returns NULL if there is no memory. */
static RetainSites *new_sites(uint32_t blocks) {
  static char none[1];
  RetainSites sizes = {.mask = 1023};
  while (sizes.mask < 2 * blocks && sizes.mask < UINT32_MAX / 4) sizes.mask = 2 * sizes.mask + 1;
  size_t bytes = lay_out(&sizes, none, blocks);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  RetainSites *s = memory;
  s->mask = sizes.mask;
  lay_out(s, memory, blocks);
  s->memory_bytes = bytes;
  return s;
}

/* ---- groups ---------------------------------------------------------------- */

/* Returns the amount of a site, or NULL if there are too many sites. */
static SiteAmount *find_site(RetainSites *s, uint32_t stack) {
  uint32_t i = hash_of(stack, 0) & (2 * MOST_SITES - 1);
  for (; s->site_index[i] != 0; i = (i + 1) & (2 * MOST_SITES - 1))
    if (s->sites[s->site_index[i] - 1].stack == stack) return &s->sites[s->site_index[i] - 1];
  if (s->nsites == MOST_SITES) return NULL;
  s->sites[s->nsites] = (SiteAmount){.stack = stack};
  s->site_index[i] = ++s->nsites;
  return &s->sites[s->nsites - 1];
}

static SiteGroup *find_site_group(RetainSites *s, uint32_t stack, uint32_t shape,
                                  uint32_t first) {
  uint32_t i = hash_of(stack, shape) & (2 * MOST_SITE_GROUPS - 1);
  for (; s->group_index[i] != 0; i = (i + 1) & (2 * MOST_SITE_GROUPS - 1)) {
    SiteGroup *g = &s->groups[s->group_index[i] - 1];
    if (g->stack == stack && g->shape == shape) return g;
  }
  if (s->ngroups == MOST_SITE_GROUPS) return NULL;
  s->groups[s->ngroups] = (SiteGroup){.stack = stack, .shape = shape, .first = first};
  s->group_index[i] = ++s->ngroups;
  return &s->groups[s->ngroups - 1];
}

static void count_block(RetainSites *s, const MemprofSited *block, uint32_t i) {
  SiteAmount *site = find_site(s, block->stack);
  SiteGroup *group = find_site_group(s, block->stack, visited_shape(&s->w->queue[i]), i);
  if (site != NULL) site->blocks++, site->samples += block->samples;
  if (group != NULL) group->blocks++, group->samples += block->samples;
}

static void count_object(RetainSites *s, uint32_t i) {
  const GCObject *o = visited_object(&s->w->queue[i]);
  MemprofSited block;
  for (uint32_t at = s->buckets[hash_of((uintptr_t)o, 0) & s->mask]; at != 0; at = s->next[at])
    if (memprof_sited_at(s->d, at, &block) && block.object == o) count_block(s, &block, i);
}

static void index_blocks(RetainSites *s, uint32_t blocks) {
  MemprofSited block;
  for (uint32_t i = 1; i < blocks; i++) {
    if (!memprof_sited_at(s->d, i, &block)) continue;
    uint32_t *bucket = &s->buckets[hash_of((uintptr_t)block.object, 0) & s->mask];
    s->next[i] = *bucket;
    *bucket = i;
  }
}

static bool site_comes_first(const void *all, uint32_t a, uint32_t b) {
  const SiteAmount *sites = ((const RetainSites *)all)->sites;
  return sites[a].samples != sites[b].samples ? sites[a].samples > sites[b].samples : a < b;
}

static bool group_comes_first(const void *all, uint32_t a, uint32_t b) {
  const SiteGroup *groups = ((const RetainSites *)all)->groups;
  if (groups[a].stack != groups[b].stack) return groups[a].stack < groups[b].stack;
  if (groups[a].samples != groups[b].samples) return groups[a].samples > groups[b].samples;
  return a < b;
}

static void order_all(RetainSites *s) {
  retain_order(s->order, s->nsites, site_comes_first, s);
  retain_order(s->group_order, s->ngroups, group_comes_first, s);
  for (uint32_t i = 0; i < s->ngroups; i++) {
    SiteAmount *site = find_site(s, s->groups[s->group_order[i]].stack);
    if (site != NULL && site->nways++ == 0) site->first_way = i;
  }
}

/* ---- interface ------------------------------------------------------------- */

RetainSites *retain_sites(RetainWalk *w) {
  double rate = 0;
  const uint32_t blocks = memprof_sited(w->d, &rate);
  RetainSites *s = blocks > 0 && rate > 0 ? new_sites(blocks) : NULL;
  if (s == NULL) return NULL;
  s->d = w->d;
  s->w = w;
  s->rate = rate;
  index_blocks(s, blocks);
  for (uint32_t i = 0; i < w->n; i++) count_object(s, i);
  order_all(s);
  return s;
}

void retain_sites_end(RetainSites *s) {
  if (s != NULL) munmap(s, s->memory_bytes);
}

uint32_t retain_site_count(const RetainSites *s) { return s->nsites; }

static RetainAmount amount_of(const RetainSites *s, uint64_t blocks, uint64_t samples) {
  return (RetainAmount){blocks, (uint64_t)((double)samples / s->rate * 8 + 0.5)};
}

/* Writes a stack: "name source:line < its caller < ...". */
static void write_stack(const RetainSites *s, uint32_t stack, Text *t) {
  MemprofSiteFrame frames[SHOWN_FRAMES];
  const uint32_t n = memprof_site_frames(s->d, stack, SHOWN_FRAMES, frames);
  for (uint32_t i = 0; i < n; i++) {
    if (i > 0) text_add(t, " < ");
    text_add_bytes(t, frames[i].name, strlen(frames[i].name), 40);
    text_add(t, " ");
    text_add_bytes(t, frames[i].source, strlen(frames[i].source), 60);
    if (frames[i].line == 0) continue;
    text_add(t, ":");
    text_add_int(t, frames[i].line);
  }
  if (n == 0) text_add(t, "?");
}

uint32_t retain_site_ways(const RetainSites *s, uint32_t i) {
  return s->sites[s->order[i]].nways;
}

void retain_describe_site_way(const RetainSites *s, uint32_t i, uint32_t way, RetainHolder *h) {
  const SiteGroup *g = &s->groups[s->group_order[s->sites[s->order[i]].first_way + way]];
  Text path = {h->path, 0, sizeof h->path}, shape = {h->shape, 0, sizeof h->shape};
  h->amount = amount_of(s, g->blocks, g->samples);
  h->steps = retain_steps(s->w, g->first);
  retain_write_path(s->w, g->first, &path);
  retain_write_shape(s->w, g->shape, &shape);
}

void retain_describe_site(const RetainSites *s, uint32_t i, uint32_t most, RetainKind *site) {
  const SiteAmount *of = &s->sites[s->order[i]];
  Text name = {site->name, 0, sizeof site->name};
  if (most > RETAIN_HOLDERS) most = RETAIN_HOLDERS;
  site->amount = amount_of(s, of->blocks, of->samples);
  write_stack(s, of->stack, &name);
  site->nholders = of->nways < most ? of->nways : most;
  site->more_holders = of->nways - site->nholders;
  for (uint32_t h = 0; h < site->nholders; h++)
    retain_describe_site_way(s, i, h, &site->holders[h]);
}
