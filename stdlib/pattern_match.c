/* SPDX-License-Identifier: MIT */
/* stdlib/pattern_match.c: matching compiled patterns.
 *
 * match_from walks the nodes. It recurs only where a repetition may have to try several
 * lengths: once for each length, with the rest of the pattern. Match.depth bounds the
 * number of such open repetitions, and so the C stack, for all patterns and subjects.
 *
 * Captures need no undoing when an attempt fails. The nodes follow each other in one
 * fixed order, so a node that reads a capture comes after the nodes that have set it in
 * the present attempt.
 *
 * Before a length is tried, the byte that comes next is compared with the byte with which
 * the rest must begin, if this byte is known. This avoids most of the recursion.
 */
#include <string.h>

#include "lauxlib.h"
#include "pattern.h"
#include "safe_point.h"

static const char *match_from(Match *m, const char *s, const PatternNode *node);

/* Notes work done, for safepoints. A unit of work is a byte of the subject or a node of
 * the pattern that is examined. Code that scans bytes notes them afterwards. Each attempt
 * to match (a part of) the pattern notes all its nodes in advance. */
static inline void note_work(Match *m, size_t units) { vm_work_alone(m->L, &m->work_left, units); }

static inline const char *attempt_match(Match *m, const char *s, const PatternNode *node) {
  note_work(m, m->pattern->size);
  return match_from(m, s, node);
}

/* ---- errors -------------------------------------------------------------- */

static void raise_malformed(lua_State *L, const PatternNode *node) {
  switch ((PatternError)node->index) {
    case PATTERN_ENDS_WITH_ESCAPE: luaL_error(L, "malformed pattern (ends with '%%')"); break;
    case PATTERN_UNCLOSED_SET: luaL_error(L, "malformed pattern (missing ']')"); break;
    case PATTERN_BALANCE_WITHOUT_ARGUMENTS:
      luaL_error(L, "malformed pattern (missing arguments to '%%b')");
      break;
    case PATTERN_FRONTIER_WITHOUT_SET:
      luaL_error(L, "missing '[' after '%%f' in pattern");
      break;
    case PATTERN_UNOPENED_CAPTURE: luaL_error(L, "invalid pattern capture"); break;
    case PATTERN_TOO_MANY_CAPTURES: luaL_error(L, "too many captures"); break;
    case PATTERN_BAD_BACKREF:
      luaL_error(L, "invalid capture index %%%d", (int)node->culprit);
      break;
  }
}

/* ---- single bytes -------------------------------------------------------- */

static inline bool byte_matches(PatternOp kind, const PatternNode *node, char c) {
  switch (kind) {
    case PATTERN_CHAR: return (uint8_t)c == node->byte;
    case PATTERN_SET: return byte_set_has(node->set, (unsigned char)c);
    default: return true;
  }
}

static inline bool single_matches(const PatternNode *repetition, const char *s, const char *end) {
  return s < end && byte_matches((PatternOp)repetition->single, repetition, *s);
}

/* Returns the end of the longest run of the repetition's single that begins at `s`. */
static const char *run_end(const PatternNode *node, const char *s, const char *end) {
  switch (node->single) {
    case PATTERN_CHAR:
      while (s < end && (uint8_t)*s == node->byte) s++;
      return s;
    case PATTERN_SET: {
      const ByteSet *set = node->set;
      while (s < end && byte_set_has(set, (unsigned char)*s)) s++;
      return s;
    }
    default: return end;
  }
}

/* Returns the node that certainly takes the next byte if the rest of the pattern, from
 * `node` on, matches; or NULL if there is none. */
static const PatternNode *next_byte_node(const PatternNode *node) {
  while (node->op >= PATTERN_OPEN && node->op <= PATTERN_POSITION) node++;
  return node->op <= PATTERN_SET || node->minimum > 0 ? node : NULL;
}

static inline PatternOp kind_of(const PatternNode *node) {
  return node->op <= PATTERN_SET ? (PatternOp)node->op : (PatternOp)node->single;
}

static inline bool may_begin(const PatternNode *next, const char *s, const char *end) {
  return next == NULL || (s < end && byte_matches(kind_of(next), next, *s));
}

/* Returns the first position in [s, end) where `next` may begin, or NULL. */
static const char *find_begin(const PatternNode *next, const char *s, const char *end) {
  PatternOp kind = kind_of(next);
  if (kind == PATTERN_CHAR) return memchr(s, next->byte, (size_t)(end - s));
  while (s < end && !byte_matches(kind, next, *s)) s++;
  return s < end ? s : NULL;
}

/* ---- repetitions --------------------------------------------------------- */

static void enter_choice(Match *m) {
  if (m->depth-- == 0) luaL_error(m->L, "pattern too complex");
}

static const char *leave_choice(Match *m, const char *result) {
  m->depth++;
  return result;
}

/* Tries the rest at each position from `most` down to, but not including, `least`. */
static const char *give_back(Match *m, const char *least, const char *most,
                             const PatternNode *rest) {
  const PatternNode *next = next_byte_node(rest);
  enter_choice(m);
  note_work(m, (size_t)(most - least));
  for (const char *s = most; s > least; s--) {
    if (!may_begin(next, s, m->end)) continue;
    const char *result = attempt_match(m, s, rest);
    if (result != NULL) return leave_choice(m, result);
  }
  return leave_choice(m, NULL);
}

/* Tries the rest from `s` on, taking one more byte each time. */
static const char *take_more(Match *m, const char *s, const PatternNode *node) {
  const PatternNode *rest = node + 1, *next = next_byte_node(rest);
  bool can_jump = next != NULL && node->single == PATTERN_ANY;
  enter_choice(m);
  for (;; s++) {
    if (can_jump) {
      const char *from = s;
      s = find_begin(next, from, m->end);
      note_work(m, (size_t)((s != NULL ? s : m->end) - from));
      if (s == NULL) break;
    }
    note_work(m, 1);
    if (may_begin(next, s, m->end)) {
      const char *result = attempt_match(m, s, rest);
      if (result != NULL) return leave_choice(m, result);
    }
    if (!single_matches(node, s, m->end)) break;
  }
  return leave_choice(m, NULL);
}

/* ---- special items ------------------------------------------------------- */

static const char *match_backref(Match *m, const char *s, unsigned index) {
  ptrdiff_t length = m->captures[index].length;
  /* a position capture matches nothing */
  if (length < 0 || m->end - s < length) return NULL;
  note_work(m, (size_t)length);
  return memcmp(m->captures[index].start, s, (size_t)length) == 0 ? s + length : NULL;
}

static const char *match_balance(Match *m, const char *from, const PatternNode *node) {
  if (from >= m->end || (uint8_t)*from != node->byte) return NULL;
  size_t open = 1;
  const char *s = from + 1;
  for (; s < m->end && open > 0; s++) {
    if ((uint8_t)*s == node->closing) open--;
    else if ((uint8_t)*s == node->byte) open++;
  }
  note_work(m, (size_t)(s - from));
  return open == 0 ? s : NULL;
}

/* Tells whether `s` is at a frontier of the set. Both ends of the subject count as the
   byte 0. */
static bool at_frontier(const Match *m, const char *s, const ByteSet *set) {
  char before = s == m->start ? '\0' : s[-1];
  char here = s == m->end ? '\0' : *s;
  return !byte_set_has(set, (unsigned char)before) && byte_set_has(set, (unsigned char)here);
}

/* ---- the walk ------------------------------------------------------------ */

static const char *match_from(Match *m, const char *s, const PatternNode *node) {
  for (;; node++) {
    switch ((PatternOp)node->op) {
      case PATTERN_CHAR:
        if (s >= m->end || (uint8_t)*s != node->byte) return NULL;
        s++;
        break;
      case PATTERN_ANY:
        if (s >= m->end) return NULL;
        s++;
        break;
      case PATTERN_SET:
        if (s >= m->end || !byte_set_has(node->set, (unsigned char)*s)) return NULL;
        s++;
        break;
      case PATTERN_GREEDY: {
        const char *most = run_end(node, s, m->end);
        note_work(m, (size_t)(most - s));
        if (most - s < node->minimum) return NULL;
        s += node->minimum;
        if (!node->possessive && most > s) {
          const char *result = give_back(m, s, most, node + 1);
          if (result != NULL) return result;
        } else {
          s = most;
        }
        break;
      }
      case PATTERN_OPTIONAL:
        if (!single_matches(node, s, m->end)) break;
        if (node->possessive) {
          s++;
        } else {
          const char *result = give_back(m, s, s + 1, node + 1);
          if (result != NULL) return result;
        }
        break;
      case PATTERN_LAZY: return take_more(m, s, node);
      case PATTERN_OPEN:
        m->captures[node->index].start = s;
        m->captures[node->index].length = CAPTURE_UNFINISHED;
        break;
      case PATTERN_CLOSE:
        m->captures[node->index].length = s - m->captures[node->index].start;
        break;
      case PATTERN_POSITION:
        m->captures[node->index].start = s;
        m->captures[node->index].length = CAPTURE_POSITION;
        break;
      case PATTERN_BACKREF:
        s = match_backref(m, s, node->index);
        if (s == NULL) return NULL;
        break;
      case PATTERN_BALANCE:
        s = match_balance(m, s, node);
        if (s == NULL) return NULL;
        break;
      case PATTERN_FRONTIER:
        if (!at_frontier(m, s, node->set)) return NULL;
        break;
      case PATTERN_END:
        if (s != m->end) return NULL;
        break;
      case PATTERN_ACCEPT: return s;
      case PATTERN_ERROR: raise_malformed(m->L, node); return NULL;
    }
  }
}

void pattern_begin(Match *m, lua_State *L, const Pattern *pattern, const char *subject,
                   size_t length) {
  m->L = L;
  m->pattern = pattern;
  m->start = subject;
  m->end = subject + length;
  m->depth = PATTERN_DEPTH_MAX;
  m->work_left = SAFE_POINT_WORK;
}

const char *pattern_match_at(Match *m, const char *s) {
  return attempt_match(m, s, m->pattern->nodes);
}

const char *pattern_search(Match *m, const char *from, const char *refused, const char **found) {
  const PatternNode *first = m->pattern->first;
  for (const char *s = from; s <= m->end; s++) {
    const char *start = s;
    if (first != NULL && (s = find_begin(first, s, m->end)) == NULL) return NULL;
    note_work(m, (size_t)(s - start) + m->pattern->size);
    const char *end = match_from(m, s, m->pattern->nodes);
    if (end != NULL && end != refused) {
      *found = s;
      return end;
    }
    /* this work has been noted by the attempt */
    if (m->pattern->skip_run) s = run_end(first, s, m->end) - 1;
  }
  return NULL;
}
