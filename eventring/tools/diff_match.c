/* SPDX-License-Identifier: MIT */
/* diff_match.c: finds which functions, or lines, of different runs are the same.
 *
 * A program may be edited between two runs: one more line at the top moves all functions.
 * It may also lie in another directory. So each run is paired with the runs before it by
 * name within a file. Only functions that share a name within a file are paired by site.
 *
 * Files with equal paths are the same; then files whose paths have an equal end, at least
 * the last name. The paths with the longest common end come first.
 *
 * Names: a name may contain its site, such as "function <a.lua:3>" at line 3. Only the
 * name without the site (the stem) counts.
 *
 * Sites: functions whose name occurs once on each side are a pair, which shows by how
 * many lines the text around it has moved. If a name occurs several times (all functions
 * without a name have the same name), functions are paired that lie where this move puts
 * them. If no move is known, the move that pairs the most functions is used. Remaining
 * functions are paired in the order of their lines, so that the lines differ least.
 * Remaining lines, and all else without a partner, are on one side only.
 */
#include "diff_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { MOST_CELLS = 1 << 22 /* most cells of a table of pairs; with more, functions are
                               paired in order */ };

struct file {
  const char *path;       /* path in the first run that had the file */
  const char *path_on[2]; /* path on each side; NULL if not known */
};

struct function {
  struct diff_site *site; /* site in the present run; NULL once the function is paired */
  size_t stem;              /* bytes of the name */
  uint32_t file;
  bool on[2];               /* for a known function, whether each side has it, and on
                               which line */
  uint32_t line[2];
};

struct matching {
  struct diff_site *sites;
  size_t count;
  bool lines;
  struct file *files;
  size_t file_count;
  struct function *known; /* functions of the runs so far, by file, stem and line */
  size_t known_count;
  size_t side; /* side of the present run */
};

/* ---- Names -------------------------------------------------------------------- */

/* Returns the bytes of a name without the site behind it, "<a.lua:3>". */
static size_t stem_of(const struct diff_site *site) {
  const size_t size = strlen(site->name);
  char end[32];
  const size_t end_size = (size_t)snprintf(end, sizeof end, ":%u>", site->line);
  const char *open = strchr(site->name, '<');
  bool has_site = site->line && open && size >= end_size &&
                   strcmp(site->name + size - end_size, end) == 0;
  return has_site ? (size_t)(open - site->name) : size;
}

static int compare_stems(const struct function *a, const struct function *b) {
  const size_t size = a->stem < b->stem ? a->stem : b->stem;
  if (a->file != b->file) return a->file < b->file ? -1 : 1;
  int order = memcmp(a->site->name, b->site->name, size);
  return order ? order : (a->stem > b->stem) - (a->stem < b->stem);
}

static int by_site(const void *left, const void *right) {
  const struct function *a = left, *b = right;
  int order = compare_stems(a, b);
  if (order) return order;
  if (a->site->line != b->site->line) return a->site->line < b->site->line ? -1 : 1;
  return strcmp(a->site->name, b->site->name);
}

/* ---- Files -------------------------------------------------------------------- */

/* Returns how many bytes two paths have in common at their ends; 0 if even the last names
   differ. */
static size_t common_end(const char *a, const char *b) {
  const size_t a_size = strlen(a), b_size = strlen(b);
  size_t n = 0;
  while (n < a_size && n < b_size && a[a_size - 1 - n] == b[b_size - 1 - n]) n++;
  const char *end = a + a_size - n;
  bool a_begins = n == a_size || end[-1] == '/', b_begins = n == b_size || b[b_size - n - 1] == '/';
  return n > 0 && ((a_begins && b_begins) || strchr(end, '/')) ? n : 0;
}

/* Returns how well a path suits a file of this run; 0 if not at all. (A function without
   a source has an empty path, which suits only an empty one.) */
static size_t suits(const struct matching *m, const struct file *file, const char *path) {
  const char *here = file->path_on[m->side] ? file->path_on[m->side] : file->path;
  if (strcmp(here, path) == 0) return SIZE_MAX;
  return file->path_on[m->side] ? 0 : common_end(here, path);
}

struct path { /* a path of a run */
  const char *text;
  uint32_t file; /* UINT32_MAX: not known yet */
  size_t best;   /* how well the best file suits the path */
};

static int by_text(const void *left, const void *right) {
  return strcmp(((const struct path *)left)->text, ((const struct path *)right)->text);
}

static int best_first(const void *left, const void *right) {
  const struct path *a = left, *b = right;
  if (a->best != b->best) return a->best < b->best ? 1 : -1;
  return strcmp(a->text, b->text);
}

/* Returns the distinct paths of a run, in order. */
static struct path *paths_of(const struct matching *m, size_t run, size_t *count) {
  struct path *paths = need_zeroed(m->count + 1, sizeof *paths);
  size_t all = 0;
  for (size_t i = 0; i < m->count; i++)
    if (m->sites[i].run == run) paths[all++] = (struct path){m->sites[i].source, UINT32_MAX, 0};
  if (all) qsort(paths, all, sizeof *paths, by_text);
  for (size_t i = *count = 0; i < all; i++)
    if (!*count || by_text(&paths[*count - 1], &paths[i]) != 0) paths[(*count)++] = paths[i];
  return paths;
}

/* Returns the file that suits a path best, and sets *best to how well. */
static size_t best_file(const struct matching *m, const struct path *path, const bool *taken,
                        size_t *best) {
  size_t found = 0;
  for (size_t f = *best = 0; f < m->file_count && *best != SIZE_MAX; f++) {
    size_t n = taken[f] ? 0 : suits(m, &m->files[f], path->text);
    if (n > *best) *best = n, found = f;
  }
  return found;
}

static void add_file(struct matching *m, struct path *path) {
  path->file = (uint32_t)m->file_count;
  *NEED_NEXT(m->files, m->file_count) = (struct file){.path = path->text};
}

static void find_files(struct matching *m, struct path *paths, size_t count) {
  bool *taken = need_zeroed(m->file_count + 1, sizeof *taken);
  for (size_t i = 0; i < count; i++) best_file(m, &paths[i], taken, &paths[i].best);
  if (count) qsort(paths, count, sizeof *paths, best_first);
  for (size_t i = 0; i < count; i++) {
    size_t best, file = best_file(m, &paths[i], taken, &best);
    if (best) taken[paths[i].file = (uint32_t)file] = true;
  }
  free(taken);
  for (size_t i = 0; i < count; i++) {
    if (paths[i].file == UINT32_MAX) add_file(m, &paths[i]);
    m->files[paths[i].file].path_on[m->side] = paths[i].text;
  }
  if (count) qsort(paths, count, sizeof *paths, by_text);
}

/* ---- Pairs -------------------------------------------------------------------- */

static void put_on(struct function *known, size_t side, uint32_t line) {
  if (!known->on[side]) known->line[side] = line;
  known->on[side] = true;
}

static void pair(const struct matching *m, struct function *known, struct function *of_run) {
  of_run->site->same = (size_t)(known->site - m->sites);
  put_on(known, m->side, of_run->site->line);
  of_run->site = NULL;
}

static bool is_anchor(const struct function *f) { return f->on[0] && f->on[1]; }

/* Finds by how many lines the text at a line of the other side has moved: by as many
   lines as the nearest earlier function of the file that is known on both sides, or else
   as the nearest later one. Returns false if there is none. */
static bool find_move(const struct matching *m, const struct function *known, int64_t *move) {
  const struct function *first = known, *end = known, *near = NULL;
  const int64_t line = known->line[1 - m->side];
  while (first > m->known && first[-1].file == known->file) first--;
  while (end < m->known + m->known_count && end->file == known->file) end++;
  for (const struct function *f = first; f < end; f++) {
    if (!is_anchor(f)) continue;
    const int64_t at = f->line[1 - m->side], best = near ? near->line[1 - m->side] : 0;
    if (!near || (at <= line ? best > line || at > best : best > line && at < best)) near = f;
  }
  *move = near ? (int64_t)near->line[m->side] - near->line[1 - m->side] : 0;
  return near != NULL;
}

/* Two lists of functions with one name, and the lines where the known ones are
   expected. */
struct group {
  struct function *known, *run;
  size_t n, k;
  int64_t *expected; /* expected lines on the side of the run */
};

/* Returns the move that makes most lines equal; the least of several such moves. */
static int64_t commonest_move(const struct matching *m, const struct group *g) {
  int64_t best = 0;
  size_t most = 0;
  for (size_t i = 0; i < g->n * g->k; i++) {
    const int64_t move = (int64_t)g->run[i % g->k].site->line -
                         g->known[i / g->k].line[1 - m->side];
    size_t meet = 0;
    for (size_t a = 0, b = 0; a < g->n && b < g->k;) {
      const int64_t apart = (int64_t)g->run[b].site->line - move - g->known[a].line[1 - m->side];
      meet += apart == 0;
      if (apart >= 0) a++;
      if (apart <= 0) b++;
    }
    if (meet > most || (meet == most && llabs(move) < llabs(best))) most = meet, best = move;
  }
  return best;
}

static void expect_lines(const struct matching *m, struct group *g) {
  int64_t move = 0, common = 0;
  bool has_common = false;
  for (size_t i = 0; i < g->n; i++) {
    const struct function *f = &g->known[i];
    if (f->on[m->side]) {
      g->expected[i] = f->line[m->side];
      continue;
    }
    if (!find_move(m, f, &move)) {
      bool is_small = g->n * g->k * (g->n + g->k) <= MOST_CELLS;
      if (!has_common && is_small) common = commonest_move(m, g);
      has_common = true;
      move = common;
    }
    g->expected[i] = f->line[1 - m->side] + move;
  }
}

/* Pairs the functions that lie where they are expected; the others stay in the lists. */
static void pair_where_expected(const struct matching *m, struct group *g,
                                struct function **known, struct function **run) {
  size_t n = 0, k = 0;
  for (size_t i = 0; i < g->n; i++) {
    struct function *here = NULL;
    for (size_t j = 0; j < g->k && !here; j++)
      if (g->run[j].site && g->run[j].site->line == g->expected[i]) here = &g->run[j];
    if (here) pair(m, &g->known[i], here);
    else g->expected[n] = g->expected[i], known[n++] = &g->known[i];
  }
  for (size_t j = 0; j < g->k; j++)
    if (g->run[j].site) run[k++] = &g->run[j];
  g->n = n;
  g->k = k;
}

/* Pairs as many functions as the shorter list has, in order, so that the lines differ
   least. A cell has the least cost of pairing the first j of the shorter list with j of
   the first i of the longer one. */
static void pair_in_order(const struct matching *m, const struct group *g,
                          struct function **known, struct function **run) {
  const bool more_known = g->n >= g->k;
  const size_t length = more_known ? g->n : g->k, width = (more_known ? g->k : g->n) + 1;
  int64_t *cost = need_zeroed((length + 1) * width, sizeof *cost);
  for (size_t i = 1; i <= length; i++)
    for (size_t j = 1; j < width && j <= i; j++) {
      const size_t a = (more_known ? i : j) - 1, b = (more_known ? j : i) - 1;
      const int64_t paired = cost[(i - 1) * width + j - 1] +
                             llabs(g->expected[a] - (int64_t)run[b]->site->line);
      const int64_t left = i > j ? cost[(i - 1) * width + j] : INT64_MAX;
      cost[i * width + j] = paired < left ? paired : left;
    }
  for (size_t i = length, j = width - 1; j > 0; i--) {
    if (i > j && cost[i * width + j] == cost[(i - 1) * width + j]) continue;
    pair(m, known[(more_known ? i : j) - 1], run[(more_known ? j : i) - 1]);
    j--;
  }
  free(cost);
}

static void pair_several(const struct matching *m, struct group *g) {
  struct function **known = need_zeroed(g->n, sizeof *known);
  struct function **run = need_zeroed(g->k, sizeof *run);
  g->expected = need_zeroed(g->n, sizeof *g->expected);
  expect_lines(m, g);
  pair_where_expected(m, g, known, run);
  if (!m->lines && g->n * g->k <= MOST_CELLS) pair_in_order(m, g, known, run);
  else for (size_t i = 0; !m->lines && i < g->n && i < g->k; i++) pair(m, known[i], run[i]);
  free(g->expected);
  free(known);
  free(run);
}

/* Pairs the groups that both sides have: if `single`, the groups with one function on
   each side, else the other groups. */
static void pair_groups(struct matching *m, struct function *run, size_t count, bool single) {
  struct group g;
  for (size_t i = 0, j = 0; i < m->known_count && j < count; i += g.n, j += g.k) {
    g = (struct group){.known = &m->known[i], .run = &run[j]};
    if (!run[j].site) { /* paired before */
      g.k = 1;
      continue;
    }
    int order = compare_stems(g.known, g.run);
    while (order <= 0 && i + g.n < m->known_count && compare_stems(g.known, g.known + g.n) == 0)
      g.n++;
    while (order >= 0 && j + g.k < count && g.run[g.k].site &&
           compare_stems(g.run, g.run + g.k) == 0)
      g.k++;
    if (order != 0 || (g.n == 1 && g.k == 1) != single) continue;
    struct group pairs = g;
    if (single) pair(m, g.known, g.run);
    else pair_several(m, &pairs);
  }
}

/* ---- Runs --------------------------------------------------------------------- */

/* Finds the functions of a run, in order. (If a function occurs twice, the second one is
   the same as the first.) Returns how many there are. */
static size_t functions_of(struct matching *m, size_t run, struct function *to) {
  size_t path_count, count = 0, kept = 0;
  struct path *paths = paths_of(m, run, &path_count);
  find_files(m, paths, path_count);
  for (size_t i = 0; i < m->count; i++) {
    struct diff_site *site = &m->sites[i];
    if (site->run != run) continue;
    const struct path *path = bsearch(&(struct path){.text = site->source}, paths, path_count,
                                      sizeof *paths, by_text);
    site->same = i;
    to[count++] = (struct function){.site = site, .stem = stem_of(site), .file = path->file};
  }
  free(paths);
  if (count) qsort(to, count, sizeof *to, by_site);
  for (size_t i = 0; i < count; i++) {
    if (kept && by_site(&to[kept - 1], &to[i]) == 0)
      to[i].site->same = (size_t)(to[kept - 1].site - m->sites);
    else to[kept++] = to[i];
  }
  return kept;
}

static void match_run(struct matching *m, size_t run) {
  struct function *functions = need_zeroed(m->count + 1, sizeof *functions);
  m->side = run % 2;
  size_t count = functions_of(m, run, functions);
  pair_groups(m, functions, count, true);
  pair_groups(m, functions, count, false);
  for (size_t i = 0; i < count; i++) {
    if (!functions[i].site) continue;
    put_on(&functions[i], m->side, functions[i].site->line);
    m->known[m->known_count++] = functions[i];
  }
  if (m->known_count) qsort(m->known, m->known_count, sizeof *m->known, by_site);
  free(functions);
}

/* Pairs the runs, one after the other. If a site was the same as a later site that was
   then paired, it becomes the same as the partner. */
void diff_match(struct diff_site *sites, size_t count, size_t runs, bool lines) {
  struct matching m = {.sites = sites, .count = count, .lines = lines,
                       .known = need_zeroed(count + 1, sizeof *m.known)};
  for (size_t run = 0; run < runs; run++) match_run(&m, run);
  for (size_t i = 0; i < count; i++)
    while (sites[i].same != sites[sites[i].same].same)
      sites[i].same = sites[sites[i].same].same;
  free(m.known);
  free(m.files);
}
