/* SPDX-License-Identifier: MIT */
/* stdlib/pattern_compile.c: from the text of a pattern to nodes.
 *
 * Purpose. The text is read once per call (once per loop for gmatch). So matching itself
 * handles no escapes, sets or suffixes, can skip to the first byte that a match may begin
 * with, and does not backtrack where that is useless.
 *
 * Form. A pattern is one sequence: it has no alternatives and no repeated groups. It
 * becomes an array of nodes. A node is a single byte to match, a repetition of a single
 * byte, or one of the special items. Sets, written out in brackets, become bitmaps behind
 * the nodes in the same storage; classes point into the tables of char_class.c.
 *
 * Because the items always follow each other in the same order, the subject has no
 * influence on which captures are open or closed at a node. So back references and
 * closing parentheses are checked here, once.
 *
 * Errors. A malformed pattern is an error only when matching arrives at the fault; "x%"
 * finds nothing in "a". The fault becomes a node that raises the error, and the rest of
 * the pattern is not read.
 *
 * Possessive repetitions. If the maximal run of a repetition does not let the rest match,
 * and the rest could not begin with a byte of that run either, then no shorter run can
 * help. mark_possessive finds these repetitions, and most repetitions in practice are of
 * this kind: %d+ before ".", %s* at the end, ...
 */
#include <string.h>

#include "pattern.h"

#define ESCAPE '%'

typedef struct Compiler {
  const char *p; /* next byte to read */
  const char *end;
  PatternNode *next; /* next node to write */
  ByteSet *next_set; /* next bitmap to write */
  const CharClasses *classes;
  int captures;
  int open[PATTERN_CAPTURE_MAX]; /* stack of captures not yet closed */
  int open_count;
  uint32_t closed; /* bit i is set if capture i is closed */
  bool failed;
} Compiler;

/* Returns the most nodes and the most sets that a pattern of this length may have: an
   item takes at least one byte of text and a set at least three, and one more node ends
   the pattern. */
static size_t node_room(size_t length) { return length + 1; }
static size_t set_room(size_t length) { return length / 3; }

size_t pattern_storage_size(size_t length) {
  return node_room(length) * sizeof(PatternNode) + set_room(length) * sizeof(ByteSet);
}

_Static_assert((PATTERN_SMALL_LENGTH + 1) * sizeof(PatternNode) +
                       PATTERN_SMALL_LENGTH / 3 * sizeof(ByteSet) <=
                   PATTERN_SMALL_STORAGE,
               "small patterns fit");

static PatternNode *emit_node(Compiler *c, PatternOp op) {
  PatternNode *node = c->next++;
  *node = (PatternNode){.op = (uint8_t)op};
  return node;
}

static void pattern_error(Compiler *c, PatternError error, unsigned char culprit) {
  PatternNode *node = emit_node(c, PATTERN_ERROR);
  node->index = (uint8_t)error;
  node->culprit = culprit;
  c->failed = true;
}

static unsigned char peek_byte(const Compiler *c, ptrdiff_t ahead) {
  return c->end - c->p > ahead ? (unsigned char)c->p[ahead] : '\0';
}

/* ---- single bytes -------------------------------------------------------- */

/* Returns the ']' that closes the set whose elements begin at `p`, or NULL. A first ']'
 * is an element, and so is one behind an escape. */
static const char *set_end(const char *p, const char *end) {
  for (const char *first = p; p < end; p++) {
    if (*p == ']' && p != first) return p;
    if (*p == ESCAPE) p++;
  }
  return NULL;
}

static void add_class_or_byte(ByteSet *set, const CharClasses *classes, unsigned char letter) {
  const ByteSet *class = char_class_set(classes, letter);
  if (class == NULL) {
    byte_set_add(set, letter);
    return;
  }
  for (int i = 0; i < 4; i++) set->words[i] |= class->words[i];
}

/* Adds a range to a set, a word at a time: ranges like [\x80-\xBF] are long. */
static void add_range(ByteSet *set, unsigned low, unsigned high) {
  if (low > high) return;
  for (unsigned word = low / 64; word <= high / 64; word++) {
    uint64_t bits = UINT64_MAX;
    if (word == low / 64) bits &= UINT64_MAX << low % 64;
    if (word == high / 64) bits &= UINT64_MAX >> (63 - high % 64);
    set->words[word] |= bits;
  }
}

/* Reads the elements [p, end) of a set. */
static void read_elements(ByteSet *set, const CharClasses *classes, const char *p,
                          const char *end) {
  while (p < end) {
    if (*p == ESCAPE && end - p > 1) {
      add_class_or_byte(set, classes, (unsigned char)p[1]);
      p += 2;
    } else if (end - p > 2 && p[1] == '-') {
      add_range(set, (unsigned char)p[0], (unsigned char)p[2]);
      p += 3;
    } else {
      byte_set_add(set, (unsigned char)*p++);
    }
  }
}

static void complement_set(ByteSet *set) {
  for (int i = 0; i < 4; i++) set->words[i] = ~set->words[i];
}

/* Reads a set, c->p at its '['. Returns NULL if it does not end. */
static const ByteSet *read_set(Compiler *c) {
  const char *elements = c->p + 1;
  bool negated = elements < c->end && *elements == '^';
  elements += negated;
  const char *end = set_end(elements, c->end);
  if (end == NULL) {
    pattern_error(c, PATTERN_UNCLOSED_SET, 0);
    return NULL;
  }
  ByteSet *set = c->next_set++;
  memset(set, 0, sizeof *set);
  read_elements(set, c->classes, elements, end);
  if (negated) complement_set(set);
  c->p = end + 1;
  return set;
}

static void read_escaped(Compiler *c, PatternNode *single) {
  if (c->end - c->p < 2) {
    pattern_error(c, PATTERN_ENDS_WITH_ESCAPE, 0);
    return;
  }
  single->byte = (uint8_t)c->p[1];
  single->set = char_class_set(c->classes, single->byte);
  single->op = single->set == NULL ? PATTERN_CHAR : PATTERN_SET;
  c->p += 2;
}

/* Reads an item that matches one byte into `single`. Advances c->p, or notes an error. */
static void read_single(Compiler *c, PatternNode *single) {
  switch (*c->p) {
    case ESCAPE: read_escaped(c, single); break;
    case '[':
      single->op = PATTERN_SET;
      single->set = read_set(c);
      break;
    case '.':
      single->op = PATTERN_ANY;
      c->p++;
      break;
    default:
      single->op = PATTERN_CHAR;
      single->byte = (uint8_t)*c->p++;
  }
}

/* Compiles a single byte with the suffix that may follow it. */
static void compile_single(Compiler *c) {
  PatternNode single = {0};
  read_single(c, &single);
  if (c->failed) return;
  PatternOp repetition;
  switch (peek_byte(c, 0)) {
    case '*':
    case '+': repetition = PATTERN_GREEDY; break;
    case '-': repetition = PATTERN_LAZY; break;
    case '?': repetition = PATTERN_OPTIONAL; break;
    default: *c->next++ = single; return;
  }
  single.single = single.op;
  single.op = (uint8_t)repetition;
  single.minimum = *c->p == '+';
  c->p++;
  *c->next++ = single;
}

/* ---- special items ------------------------------------------------------- */

static void compile_open(Compiler *c) {
  if (c->captures == PATTERN_CAPTURE_MAX) {
    pattern_error(c, PATTERN_TOO_MANY_CAPTURES, 0);
    return;
  }
  bool is_position = peek_byte(c, 1) == ')';
  PatternNode *node = emit_node(c, is_position ? PATTERN_POSITION : PATTERN_OPEN);
  node->index = (uint8_t)c->captures;
  if (is_position)
    c->closed |= UINT32_C(1) << c->captures;
  else
    c->open[c->open_count++] = c->captures;
  c->captures++;
  c->p += 1 + is_position;
}

static void compile_close(Compiler *c) {
  if (c->open_count == 0) {
    pattern_error(c, PATTERN_UNOPENED_CAPTURE, 0);
    return;
  }
  int capture = c->open[--c->open_count];
  emit_node(c, PATTERN_CLOSE)->index = (uint8_t)capture;
  c->closed |= UINT32_C(1) << capture;
  c->p++;
}

static void compile_backref(Compiler *c) {
  int number = c->p[1] - '0';
  if (number == 0 || !((c->closed >> (number - 1)) & 1)) {
    pattern_error(c, PATTERN_BAD_BACKREF, (unsigned char)number);
    return;
  }
  emit_node(c, PATTERN_BACKREF)->index = (uint8_t)(number - 1);
  c->p += 2;
}

static void compile_balance(Compiler *c) {
  if (c->end - c->p < 4) {
    pattern_error(c, PATTERN_BALANCE_WITHOUT_ARGUMENTS, 0);
    return;
  }
  PatternNode *node = emit_node(c, PATTERN_BALANCE);
  node->byte = (uint8_t)c->p[2];
  node->closing = (uint8_t)c->p[3];
  c->p += 4;
}

static void compile_frontier(Compiler *c) {
  if (peek_byte(c, 2) != '[') {
    pattern_error(c, PATTERN_FRONTIER_WITHOUT_SET, 0);
    return;
  }
  c->p += 2;
  const ByteSet *set = read_set(c);
  if (set != NULL) emit_node(c, PATTERN_FRONTIER)->set = set;
}

static void compile_escape(Compiler *c) {
  switch (peek_byte(c, 1)) {
    case 'b': compile_balance(c); break;
    case 'f': compile_frontier(c); break;
    case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9': compile_backref(c); break;
    default: compile_single(c);
  }
}

static void compile_item(Compiler *c) {
  switch (*c->p) {
    case '(': compile_open(c); return;
    case ')': compile_close(c); return;
    case ESCAPE: compile_escape(c); return;
    case '$':
      if (c->end - c->p > 1) break; /* a '$' is an ordinary byte unless it is the last */
      emit_node(c, PATTERN_END);
      c->p++;
      return;
  }
  compile_single(c);
}

/* ---- relations between nodes --------------------------------------------- */

static PatternOp single_kind(const PatternNode *node) {
  return node->op <= PATTERN_SET ? node->op : node->single;
}

/* Tells whether some byte is matched by the singles of both nodes. */
static bool singles_overlap(const PatternNode *a, const PatternNode *b) {
  PatternOp kind_a = single_kind(a), kind_b = single_kind(b);
  if (kind_a == PATTERN_ANY || kind_b == PATTERN_ANY) return true;
  if (kind_a == PATTERN_CHAR)
    return kind_b == PATTERN_CHAR ? a->byte == b->byte : byte_set_has(b->set, a->byte);
  if (kind_b == PATTERN_CHAR) return byte_set_has(a->set, b->byte);
  for (int i = 0; i < 4; i++)
    if (a->set->words[i] & b->set->words[i]) return true;
  return false;
}

/* Tells whether it is useless to shorten a maximal run of `node`: the nodes from `rest`
 * on must take a byte that the run cannot have, or must be at the end of the subject, or
 * match in any case. */
static bool backtracking_is_pointless(const PatternNode *node, const PatternNode *rest) {
  for (;; rest++) {
    switch ((PatternOp)rest->op) {
      case PATTERN_OPEN:
      case PATTERN_CLOSE:
      case PATTERN_POSITION: break;
      case PATTERN_CHAR:
      case PATTERN_ANY:
      case PATTERN_SET: return !singles_overlap(node, rest);
      case PATTERN_GREEDY:
      case PATTERN_OPTIONAL:
      case PATTERN_LAZY:
        if (singles_overlap(node, rest)) return false;
        if (rest->minimum > 0) return true;
        break;
      case PATTERN_END:
      case PATTERN_ACCEPT: return true;
      case PATTERN_BACKREF:
      case PATTERN_BALANCE:
      case PATTERN_FRONTIER:
      case PATTERN_ERROR: return false;
    }
  }
}

static void mark_possessive(PatternNode *node) {
  for (; node->op != PATTERN_ACCEPT && node->op != PATTERN_ERROR; node++)
    if (node->op == PATTERN_GREEDY || node->op == PATTERN_OPTIONAL)
      node->possessive = backtracking_is_pointless(node, node + 1);
}

static const PatternNode *first_byte_node(const PatternNode *node) {
  while (node->op == PATTERN_OPEN || node->op == PATTERN_POSITION) node++;
  bool takes_a_byte = node->op == PATTERN_CHAR || node->op == PATTERN_SET || node->minimum > 0;
  return takes_a_byte && single_kind(node) != PATTERN_ANY ? node : NULL;
}

static bool has_backref(const PatternNode *node) {
  for (; node->op != PATTERN_ACCEPT && node->op != PATTERN_ERROR; node++)
    if (node->op == PATTERN_BACKREF) return true;
  return false;
}

/* Tells whether a failed run of the first node can be skipped. If the first node is
 * possessive, a match that begins later within its run has the same end of the run and
 * the same rest; only a back reference could differ. */
static bool can_skip_run(const Pattern *pattern) {
  return pattern->first != NULL && pattern->first->possessive && !has_backref(pattern->nodes);
}

void pattern_compile(Pattern *pattern, void *storage, const char *text, size_t length,
                     const CharClasses *classes) {
  Compiler c = {
      .p = text,
      .end = text + length,
      .next = storage,
      .next_set = (ByteSet *)((PatternNode *)storage + node_room(length)),
      .classes = classes,
  };
  pattern->nodes = storage;
  while (c.p < c.end && !c.failed) compile_item(&c);
  if (!c.failed) emit_node(&c, PATTERN_ACCEPT);
  mark_possessive(pattern->nodes);
  pattern->first = first_byte_node(pattern->nodes);
  pattern->skip_run = can_skip_run(pattern);
  pattern->captures = c.captures;
  pattern->size = (size_t)(c.next - pattern->nodes);
}
