/* SPDX-License-Identifier: MIT */
/* svg.c: a flame graph as a picture, for an issue or a wiki: no script, no fonts, nothing
 * from elsewhere.
 *
 * The outermost functions are at the top. Below a function are those that it called, the
 * largest first. The width of a box is its share of the whole; its tooltip has its
 * figures. The part of a box with no other box below it is the function's own. Stacks
 * with the same path are one box, whatever their domain.
 *
 * The picture is bounded. Callees that would be narrower than half a pixel, that are not
 * among the MOST_BOXES largest, or that lie deeper than MOST_LEVELS become one box
 * "(other)" of their caller. No box is larger than its caller, so the callers of each box
 * that is shown are shown, too. */
#include "export/export.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/figures.h"
#include "eventring/tools.h"
#include "export/text_write.h"
#include "format/array.h"
#include "format/table.h"

enum {
  WIDTH = 1200, MARGIN = 10, TOP = 46, LEVEL = 18, BOX = 17, LETTER = 7, /* pixels */
  MOST_LEVELS = 100, MOST_BOXES = 2000, COLOURS = 6, MOST_NAME = 400
};
static const double least_width = 0.5;

struct node {
  uint32_t parent, function, line; /* as in export_stack */
  uint32_t depth, first, count;    /* its callees: indices in `order` */
  double own, all;
};

struct graph {
  const struct export_profile *profile;
  struct node *nodes; /* [0]: the whole. Callers come before their callees */
  uint32_t node_count, node_room;
  uint32_t *order;     /* all nodes but the whole, sorted by caller, the largest first */
  uint32_t *same;      /* for each function, the first function that is shown the same
                          way */
  struct evr_table table;
  double least;  /* the smallest value that has a box */
  double scale;  /* pixels for a value of 1 */
  uint32_t levels;
  FILE *out;
};

/* ---- Nodes ------------------------------------------------------------------------ */

static const char *name_of(const struct export_function *f) { return f->name[0] ? f->name : "?"; }

static bool looks_same(const void *context, uintptr_t value, const void *key) {
  const struct graph *g = context;
  const struct export_function *a = &g->profile->functions[value - 1], *b = key;
  return strcmp(name_of(a), name_of(b)) == 0 && strcmp(a->source, b->source) == 0;
}

/* Finds for each function the first one that looks the same: each domain may have its own
   number for a function. */
static bool find_same(struct graph *g) {
  struct evr_table table = {0};
  bool done = true;
  for (uint32_t i = 0; done && i < g->profile->function_count; i++) {
    const struct export_function *f = &g->profile->functions[i];
    uint64_t hash = evr_hash_text(evr_hash_text(evr_hash_seed(), name_of(f)), f->source);
    uintptr_t *first = evr_table_take(&table, hash, looks_same, g, f);
    if ((done = first != NULL)) {
      if (!*first) *first = i + 1;
      g->same[i] = (uint32_t)*first - 1;
    }
  }
  evr_table_free(&table);
  return done;
}

static bool is_node(const void *context, uintptr_t value, const void *key) {
  const struct node *a = &((const struct graph *)context)->nodes[value], *b = key;
  return a->parent == b->parent && a->function == b->function && a->line == b->line;
}

/* Returns the node of a function that `parent` called, or 0 when out of memory. */
static uint32_t take_node(struct graph *g, uint32_t parent, uint32_t function, uint32_t line) {
  struct node node = {.parent = parent, .function = g->same[function], .line = line,
                      .depth = g->nodes[parent].depth + 1};
  uint64_t hash = evr_hash_word(evr_hash_word(evr_hash_seed(), parent), node.function);
  if (!EVR_MAKE_ROOM(g->nodes, g->node_room, g->node_count, 64)) return 0;
  uintptr_t *at = evr_table_take(&g->table, evr_hash_word(hash, line), is_node, g, &node);
  if (!at) return 0;
  if (!*at) {
    g->nodes[g->node_count] = node;
    *at = g->node_count++;
  }
  return (uint32_t)*at;
}

/* Adds the figures of the rows to the nodes and their callers. A row without a stack
   belongs to an unknown function. Returns false when out of memory. */
static bool add_rows(struct graph *g, const uint32_t *node_of) {
  const struct export_profile *p = g->profile;
  for (size_t i = 0; i < p->row_count; i++) {
    double value = p->rows[i].value[p->main_value];
    if (!(value >= 0.5)) continue; /* the value rounds to 0 */
    uint32_t node = node_of[p->rows[i].stack];
    if (!node && !(node = take_node(g, 0, 0, 0))) return false;
    g->nodes[node].own += value;
  }
  for (uint32_t i = g->node_count; i-- > 0;) {
    g->nodes[i].all += g->nodes[i].own;
    if (i) g->nodes[g->nodes[i].parent].all += g->nodes[i].all;
  }
  return true;
}

static bool make_nodes(struct graph *g) {
  const struct export_profile *p = g->profile;
  uint32_t *node_of = calloc(p->stack_count + 1, sizeof *node_of);
  bool done = node_of && find_same(g) && EVR_MAKE_ROOM(g->nodes, g->node_room, 0, 64);
  if (done) g->nodes[g->node_count++] = (struct node){0};
  for (uint32_t i = 1; done && i < p->stack_count; i++) {
    const struct export_stack *s = &p->stacks[i];
    node_of[i] = take_node(g, node_of[s->parent], s->function, s->line);
    done = node_of[i] != 0;
  }
  done = done && add_rows(g, node_of);
  free(node_of);
  return done;
}

/* ---- What is shown ---------------------------------------------------------------- */

struct ranked { uint32_t parent, node; double all; };

static int compare_siblings(const void *left, const void *right) {
  const struct ranked *a = left, *b = right;
  if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
  if (a->all != b->all) return a->all > b->all ? -1 : 1;
  return a->node < b->node ? -1 : 1;
}

static int compare_figures(const void *left, const void *right) {
  const struct ranked *a = left, *b = right;
  return (a->all < b->all) - (a->all > b->all);
}

static bool order_nodes(struct graph *g) {
  uint32_t count = g->node_count - 1;
  struct ranked *ranked = malloc((count + 1) * sizeof *ranked);
  g->order = malloc((count + 1) * sizeof *g->order);
  if (!ranked || !g->order) {
    free(ranked);
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    ranked[i] = (struct ranked){g->nodes[i + 1].parent, i + 1, g->nodes[i + 1].all};
  qsort(ranked, count, sizeof *ranked, compare_figures);
  g->scale = g->nodes[0].all > 0 ? (WIDTH - 2 * MARGIN) / g->nodes[0].all : 0;
  g->least = g->scale > 0 ? least_width / g->scale : 0;
  if (count > MOST_BOXES && ranked[MOST_BOXES].all >= g->least)
    g->least = nextafter(ranked[MOST_BOXES].all, INFINITY);
  qsort(ranked, count, sizeof *ranked, compare_siblings);
  for (uint32_t i = count; i-- > 0;) {
    g->order[i] = ranked[i].node;
    g->nodes[ranked[i].parent].first = i;
    g->nodes[ranked[i].parent].count++;
  }
  free(ranked);
  return true;
}

static bool is_shown(const struct graph *g, const struct node *n) {
  return n->all >= g->least && n->depth < MOST_LEVELS;
}

/* Counts the levels of boxes. "(other)" is one level below its caller. */
static void count_levels(struct graph *g) {
  for (uint32_t i = 0; i < g->node_count; i++) {
    const struct node *n = &g->nodes[i];
    if (i && (!(n->all > 0) || !is_shown(g, &g->nodes[n->parent]))) continue;
    if (n->depth >= g->levels) g->levels = n->depth + 1;
  }
}

/* ---- Texts ------------------------------------------------------------------------ */

/* Writes a character, escaped if XML gives it a meaning, or if it is one of two code
   points that XML forbids. */
static void put_character(FILE *out, const char *text, size_t size) {
  if (*text == '&') fputs("&amp;", out);
  else if (*text == '<') fputs("&lt;", out);
  else if (*text == '>') fputs("&gt;", out);
  else if (memcmp(text, "\xEF\xBF\xBE", size) == 0) fputs("\\xEF\\xBF\\xBE", out);
  else if (memcmp(text, "\xEF\xBF\xBF", size) == 0) fputs("\\xEF\\xBF\\xBF", out);
  else fwrite(text, 1, size, out);
}

/* Writes at most `most` characters of a text of the recording. Returns how many
   remain. */
static size_t put_text(FILE *out, const char *text, size_t most) {
  char shown[5 * MOST_NAME];
  size_t length = eventring_text_fit(text, strlen(text), MOST_NAME);
  size_t size = (size_t)(export_text(shown, text, length, "", "") - shown), at = 0;
  for (; at < size && most; most--) {
    size_t one = eventring_character_at(shown + at, size - at).size;
    bool is_cut = at + one < size || text[length];
    if (is_cut && most == 1) fputs("\xE2\x80\xA6", out);
    else put_character(out, shown + at, one);
    at += one;
  }
  return most;
}

static const char *figure_text(const struct graph *g, double value) {
  const struct export_value *v = &g->profile->values[g->profile->main_value];
  uint64_t whole = (uint64_t)llround(value);
  if (strcmp(v->unit, "bytes") == 0) return eva_bytes(whole);
  return strcmp(v->unit, "nanoseconds") == 0 ? eva_duration(whole) : eva_count(whole);
}

static void put_figure(const struct graph *g, double value) {
  fprintf(g->out, "%s, %.2f %%", figure_text(g, value), 100 * value / g->nodes[0].all);
}

/* ---- Boxes ------------------------------------------------------------------------ */

static unsigned colour_of(const struct export_function *f) {
  /* the colour of a file is the same in every process */
  return (unsigned)(evr_hash_text(1, f->source) % COLOURS);
}

static bool has_file(const struct export_function *f) {
  return f->source[0] && strcmp(f->source, "[C]") != 0;
}

static double y_of(uint32_t depth) { return TOP + LEVEL * (double)depth; }

/* Writes the label of a function's box: the name, and the file without its folders. */
static void put_label(FILE *out, const struct export_function *f, uint32_t line, size_t most) {
  const char *slash = strrchr(f->source, '/');
  char site[MOST_NAME + 16];
  most = put_text(out, name_of(f), most);
  if (!has_file(f) || most < 4) return;
  snprintf(site, sizeof site, line ? " %.*s:%u" : " %.*s", MOST_NAME,
           slash ? slash + 1 : f->source, (unsigned)line);
  put_text(out, site, most);
}

/* Writes a box, behind its tooltip. Texts are clipped to the boxes; those that are much
   too long are shortened before. */
static void put_box(const struct graph *g, double x, uint32_t depth, double width,
                    const char *class, const struct export_function *f, uint32_t line) {
  FILE *out = g->out;
  fprintf(out, "</title><rect class=\"%s\" x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%d\"/>",
          class, x, y_of(depth), width, BOX);
  if (width > 3 * LETTER) {
    fprintf(out, "<svg x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%d\"><text x=\"3\" y=\"12\">",
            x, y_of(depth), width - 2, BOX);
    put_label(out, f, line, (size_t)(width - 4) / LETTER + 1);
    fputs("</text></svg>", out);
  }
  fputs("</g>\n", out);
}

static void put_function(const struct graph *g, const struct node *n, double x) {
  const struct export_function *f = &g->profile->functions[n->function];
  char class[] = {has_file(f) ? 'a' + (char)colour_of(f) : 'n', '\0'};
  fputs("<g><title>", g->out);
  put_text(g->out, name_of(f), MOST_NAME);
  if (f->source[0]) fputs(" ", g->out);
  put_text(g->out, f->source, MOST_NAME);
  if (f->source[0] && n->line) fprintf(g->out, ":%u", (unsigned)n->line);
  fputs("\n", g->out);
  put_figure(g, n->all);
  if (n->own > 0 && n->own < n->all) {
    fputs("\nown ", g->out);
    put_figure(g, n->own);
  }
  put_box(g, x, n->depth, n->all * g->scale, class, f, n->line);
}

static void put_other(const struct graph *g, const struct node *n, double x, double all,
                      uint32_t count) {
  fprintf(g->out, "<g><title>(other): %u functions\n", (unsigned)count);
  put_figure(g, all);
  put_box(g, x, n->depth + 1, all * g->scale, "n",
          &(struct export_function){"(other)", "", 0}, 0);
}

/* Writes the boxes of the callees of a node, from `x` on, at most MOST_LEVELS deep. */
static void put_callees(const struct graph *g, const struct node *n, double x) {
  double hidden = 0;
  uint32_t count = 0;
  for (uint32_t i = n->first; i < n->first + n->count; i++) {
    const struct node *callee = &g->nodes[g->order[i]];
    if (!is_shown(g, callee)) {
      hidden += callee->all;
      count += callee->all > 0;
      continue;
    }
    put_function(g, callee, x);
    put_callees(g, callee, x);
    x += callee->all * g->scale;
  }
  if (count) put_other(g, n, x, hidden, count);
}

/* ---- The picture ------------------------------------------------------------------ */

static const char style[] =
    "text{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#111}"
    ".t{font-weight:bold}.p{fill:#fff}rect{stroke:#fff;stroke-width:.5}"
    ".a{fill:#f7b27a}.b{fill:#f4cf6b}.c{fill:#b9d98a}.d{fill:#8fd3c1}.e{fill:#a9c4f2}"
    ".f{fill:#e3b3dd}.n{fill:#d5d5d5}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.p{fill:#1b1b1b}rect{stroke:#1b1b1b}"
    ".a{fill:#8f4a12}.b{fill:#75590d}.c{fill:#46651b}.d{fill:#1c6556}.e{fill:#2f508c}"
    ".f{fill:#733f6c}.n{fill:#4d4d4d}}";

static void put_title(const struct graph *g) {
  const struct export_profile *p = g->profile;
  const struct export_value *value = &p->values[p->main_value];
  put_text(g->out, p->program, 100);
  fprintf(g->out, ": %s", value->about ? value->about : value->name);
}

static void put_picture(const struct graph *g) {
  FILE *out = g->out;
  const struct node *whole = &g->nodes[0];
  const int height = TOP + LEVEL * (int)g->levels + MARGIN;
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", WIDTH, height, WIDTH, height);
  put_title(g);
  fprintf(out, "</title>\n<style>%s</style>\n<rect class=\"p\" width=\"100%%\" height=\"100%%\"/>\n"
          "<text class=\"t\" x=\"%d\" y=\"20\">", style, MARGIN);
  put_title(g);
  fprintf(out, "</text>\n<text x=\"%d\" y=\"37\">%s in all; over %s. A box is a function; below it "
          "is what it called.</text>\n", MARGIN, figure_text(g, whole->all),
          eva_duration(g->profile->duration_ns));
  if (whole->all > 0) {
    fputs("<g><title>all\n", out);
    put_figure(g, whole->all);
    put_box(g, MARGIN, 0, whole->all * g->scale, "n",
            &(struct export_function){"all", "", 0}, 0);
    put_callees(g, whole, MARGIN);
  }
  fputs("</svg>\n", out);
}

int export_svg(const struct export_profile *p, FILE *out) {
  struct graph g = {.profile = p, .out = out,
                    .same = calloc(p->function_count + 1, sizeof *g.same)};
  bool done = g.same && make_nodes(&g) && order_nodes(&g);
  if (done) {
    count_levels(&g);
    put_picture(&g);
  }
  free(g.nodes);
  free(g.order);
  free(g.same);
  evr_table_free(&g.table);
  return done ? 0 : -1;
}
