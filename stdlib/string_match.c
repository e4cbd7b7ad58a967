/* SPDX-License-Identifier: MIT */
/* stdlib/string_match.c: string.find, match, gmatch and gsub.
 *
 * Patterns are compiled (pattern.h). find and match run no guest code while they match,
 * so they share a cache of compiled patterns. gsub compiles into a buffer on the C stack,
 * gmatch into a userdata, which iterators share. A long pattern goes into a userdata.
 * Subject and pattern do not move while the Lua stack, or the iterator, refers to them.
 */
#include "arguments.h"
#include "lauxlib.h"
#include "pattern.h"
#include "pattern_cache.h"
#include "safe_point.h"
#include "string_match.h"
#include "string_position.h"
#include "thread.h"

#include <string.h>

static const CharClasses *require_classes(lua_State *L) {
  const CharClasses *classes = char_classes();
  if (classes == NULL) luaL_error(L, "not enough memory");
  return classes;
}

/* Compiles a pattern for a function that may run guest code while it uses the pattern.
 * Pushes a userdata if the pattern is long; a short one goes into `storage`. */
static void prepare_match(lua_State *L, AnchoredPattern *p, void *storage, const char *text,
                    size_t length) {
  if (length > PATTERN_SMALL_LENGTH)
    storage = lua_newuserdatauv(L, pattern_storage_size(length), 0);
  pattern_compile_anchored(p, storage, text, length, require_classes(L));
}

/* Compiles a pattern for a function that runs no guest code while it uses the pattern; a
   long pattern goes into `local`. */
static const AnchoredPattern *prepare_cached(lua_State *L, AnchoredPattern *local,
                                             const char *text, size_t length) {
  if (length <= PATTERN_SMALL_LENGTH)
    return pattern_cache_get(L, lua_upvalueindex(1),
                             userdata_payload(as_userdata(&as_c_closure(L->ci->func)->upvalues[0])),
                             text, length, require_classes(L));
  prepare_match(L, local, NULL, text, length);
  return local;
}

/* Returns the first match from `from` on, as pattern_search does; if the pattern is
   anchored, tries only at `from`. */
static const char *first_match(Match *m, const AnchoredPattern *p, const char *from,
                               const char **found) {
  if (!p->anchored) return pattern_search(m, from, NULL, found);
  *found = from;
  return pattern_match_at(m, from);
}

/* ---- captures ------------------------------------------------------------ */

static void push_capture(const Match *m, int index) {
  ptrdiff_t length = m->captures[index].length;
  const char *start = m->captures[index].start;
  if (length >= 0)
    result_string(m->L, start, (size_t)length);
  else if (length == CAPTURE_POSITION)
    result_integer(m->L, start - m->start + 1);
  else
    luaL_error(m->L, "unfinished capture");
}

static int push_captures(const Match *m) {
  int count = m->pattern->captures;
  if (count > LUA_MINSTACK / 4) luaL_checkstack(m->L, count, "too many captures");
  for (int i = 0; i < count; i++) push_capture(m, i);
  return count;
}

/* Pushes the captures or, if there are none, the match itself. */
static int push_captures_or_match(const Match *m, const char *start, const char *end) {
  if (m->pattern->captures > 0) return push_captures(m);
  return result_string(m->L, start, (size_t)(end - start));
}

/* ---- find and match ------------------------------------------------------ */

static int push_failure(lua_State *L) { return result_nil(L); }

static int push_range(lua_State *L, size_t before, size_t length) {
  return result_integer(L, (lua_Integer)before + 1) +
         result_integer(L, (lua_Integer)(before + length));
}

/* Tells whether a pattern has special characters. A closing bracket or parenthesis alone
 * is not special: find with ")" searches for the byte ')'. */
static bool has_specials(const char *p, size_t length) {
  static const bool is_special[256] = {
      ['^'] = true, ['$'] = true, ['*'] = true, ['+'] = true, ['?'] = true,
      ['.'] = true, ['('] = true, ['['] = true, ['%'] = true, ['-'] = true,
  };
  for (size_t i = 0; i < length; i++)
    if (is_special[(unsigned char)p[i]]) return true;
  return false;
}

/* Returns the first occurrence of needle[0, m) in s[0, n), or NULL. The C library finds
 * one byte faster than a sequence. So this function searches for the first byte of the
 * needle, until it has found that byte at too many wrong positions. */
static const char *find_bytes(const char *s, size_t n, const char *needle, size_t m) {
  if (m == 0) return s;
  if (m > n) return NULL;
  const char *last = s + (n - m), *from = s;
  for (size_t misses = 0; misses * 16 < (size_t)(from - s) + 256; misses++) {
    const char *found = memchr(from, *needle, (size_t)(last - from) + 1);
    if (found == NULL || memcmp(found, needle, m) == 0) return found;
    if (found == last) return NULL;
    from = found + 1;
  }
  return memmem(from, (size_t)(last - from) + m, needle, m);
}

static int find_plain(lua_State *L, const char *s, size_t ls, const char *p, size_t lp,
                      size_t from) {
  const char *found = find_bytes(s + from, ls - from, p, lp);
  return found == NULL ? push_failure(L) : push_range(L, (size_t)(found - s), lp);
}

/* Searches for a pattern. `from` is an offset within s[0, ls]. */
static int find_pattern(lua_State *L, const char *s, size_t ls, const char *p, size_t lp,
                        size_t from) {
  AnchoredPattern local;
  Match m;
  const char *start, *end;
  const AnchoredPattern *pattern = prepare_cached(L, &local, p, lp);
  pattern_begin(&m, L, &pattern->pattern, s, ls);
  end = first_match(&m, pattern, s + from, &start);
  if (end == NULL) return push_failure(L);
  return push_range(L, (size_t)(start - s), (size_t)(end - start)) + push_captures(&m);
}

static int strlib_find(lua_State *L) {
  size_t ls, lp;
  const char *s = argument_string(L, 1, &ls);
  const char *p = argument_string(L, 2, &lp);
  size_t from = position_start(argument_integer_or(L, 3, 1), ls) - 1;
  if (from > ls) return push_failure(L);
  if (!is_falsy(argument(L, 4)) || !has_specials(p, lp)) return find_plain(L, s, ls, p, lp, from);
  return find_pattern(L, s, ls, p, lp, from);
}

static int strlib_match(lua_State *L) {
  size_t ls, lp;
  const char *s = argument_string(L, 1, &ls);
  const char *p = argument_string(L, 2, &lp);
  size_t from = position_start(argument_integer_or(L, 3, 1), ls) - 1;
  if (from > ls) return push_failure(L);
  AnchoredPattern local;
  Match m;
  const char *start, *end;
  const AnchoredPattern *pattern = prepare_cached(L, &local, p, lp);
  pattern_begin(&m, L, &pattern->pattern, s, ls);
  end = first_match(&m, pattern, s + from, &start);
  return end == NULL ? push_failure(L) : push_captures_or_match(&m, start, end);
}

/* ---- gmatch -------------------------------------------------------------- */

/* Upvalues of the iterator, which reads them without the C API: the subject; the compiled
 * pattern, which iterators share (pattern_cache.h); and the offset where the search
 * begins. Before the first match the third upvalue is the complement of the offset,
 * because only the first match may be empty there. At the end it is nil. */
enum { ITERATION_SUBJECT, ITERATION_PATTERN, ITERATION_POSITION };

static int next_match(lua_State *L) {
  CClosure *iterator = as_c_closure(L->ci->func);
  TValue *position = &iterator->upvalues[ITERATION_POSITION];
  if (!is_int(position)) return 0;
  const String *subject = as_string(&iterator->upvalues[ITERATION_SUBJECT]);
  const Userdata *pattern = as_userdata(&iterator->upvalues[ITERATION_PATTERN]);
  const char *s = subject->data, *last = position->v.i < 0 ? NULL : s + position->v.i;
  const char *from = last != NULL ? last : s + ~position->v.i;
  Match m;
  pattern_begin(&m, L, pattern_shared(pattern), s, string_len(subject));
  const char *start, *end = pattern_search(&m, from, last, &start);
  if (end == NULL) {
    set_nil(position);
    return 0;
  }
  set_int(position, end - s);
  return push_captures_or_match(&m, start, end);
}

static int strlib_gmatch(lua_State *L) {
  size_t ls, lp;
  argument_string(L, 1, &ls);
  argument_string(L, 2, &lp);
  size_t from = position_start(argument_integer_or(L, 3, 1), ls) - 1;
  lua_settop(L, 2);
  pattern_share(L, lua_upvalueindex(1), 2, require_classes(L));
  lua_replace(L, 2);
  if (from > ls)
    lua_pushnil(L);
  else
    lua_pushinteger(L, ~(lua_Integer)from);
  lua_pushcclosure(L, next_match, 3);
  return 1;
}

/* ---- gsub ---------------------------------------------------------------- */

/* The replacement of a match: argument 3. */
typedef struct Replacement {
  int type;         /* LUA_TSTRING (numbers too), LUA_TTABLE or LUA_TFUNCTION */
  const char *text; /* text of a string */
  size_t length;
  bool verbatim; /* a string without '%' */
} Replacement;

#define REPLACEMENT_ARG 3

static void read_replacement(lua_State *L, Replacement *r) {
  r->type = lua_type(L, REPLACEMENT_ARG);
  if (r->type == LUA_TNUMBER) r->type = LUA_TSTRING;
  luaL_argexpected(L, r->type == LUA_TSTRING || r->type == LUA_TTABLE || r->type == LUA_TFUNCTION,
                   REPLACEMENT_ARG, "string/function/table");
  if (r->type != LUA_TSTRING) return;
  r->text = lua_tolstring(L, REPLACEMENT_ARG, &r->length);
  r->verbatim = memchr(r->text, '%', r->length) == NULL;
}

/* Adds the capture that %`digit` refers to; %1 is the match if there are no captures. */
static void add_reference(const Match *m, luaL_Buffer *b, int digit, const char *start,
                          const char *end) {
  int index = digit - '1';
  if (digit == '0' || (index == 0 && m->pattern->captures == 0)) {
    luaL_addlstring(b, start, (size_t)(end - start));
  } else if (index >= m->pattern->captures) {
    luaL_error(m->L, "invalid capture index %%%d", index + 1);
  } else if (m->captures[index].length >= 0) {
    luaL_addlstring(b, m->captures[index].start, (size_t)m->captures[index].length);
  } else {
    push_capture(m, index); /* a position capture */
    luaL_addvalue(b);
  }
}

/* Adds the replacement text with its references. */
static void add_text(const Match *m, luaL_Buffer *b, const Replacement *r, const char *start,
                     const char *end) {
  const char *p = r->text, *text_end = r->text + r->length, *escape;
  while ((escape = memchr(p, '%', (size_t)(text_end - p))) != NULL) {
    luaL_addlstring(b, p, (size_t)(escape - p));
    char c = escape + 1 < text_end ? escape[1] : '\0';
    if (c == '%')
      luaL_addchar(b, '%');
    else if (c >= '0' && c <= '9')
      add_reference(m, b, c, start, end);
    else
      luaL_error(m->L, "invalid use of '%%' in replacement string");
    p = escape + 2;
  }
  luaL_addlstring(b, p, (size_t)(text_end - p));
}

static void push_lookup(const Match *m, const Replacement *r, const char *start, const char *end) {
  lua_State *L = m->L;
  if (r->type == LUA_TFUNCTION) {
    lua_pushvalue(L, REPLACEMENT_ARG);
    lua_call(L, push_captures_or_match(m, start, end), 1);
    return;
  }
  if (m->pattern->captures > 0)
    push_capture(m, 0);
  else
    lua_pushlstring(L, start, (size_t)(end - start));
  lua_gettable(L, REPLACEMENT_ARG);
}

/* Adds the value that the table or the function has for the match; returns false if it
   leaves the match unchanged. */
static bool add_lookup(const Match *m, luaL_Buffer *b, const Replacement *r, const char *start,
                       const char *end) {
  lua_State *L = m->L;
  push_lookup(m, r, start, end);
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(b, start, (size_t)(end - start));
    return false;
  }
  if (!lua_isstring(L, -1))
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  luaL_addvalue(b);
  return true;
}

/* Adds the replacement of the match [start, end); returns false if nothing changes. */
static bool add_replacement(const Match *m, luaL_Buffer *b, const Replacement *r,
                            const char *start, const char *end) {
  if (r->type != LUA_TSTRING) return add_lookup(m, b, r, start, end);
  if (r->verbatim)
    luaL_addlstring(b, r->text, r->length);
  else
    add_text(m, b, r, start, end);
  return true;
}

static int strlib_gsub(lua_State *L) {
  size_t ls, lp;
  const char *s = argument_string(L, 1, &ls);
  const char *p = argument_string(L, 2, &lp);
  /* reads argument 4 before argument 3, as the reference does */
  lua_Integer limit = argument_integer_or(L, 4, (lua_Integer)ls + 1), count = 0;
  Replacement replacement;
  read_replacement(L, &replacement);
  AnchoredPattern pattern;
  _Alignas(PatternNode) char storage[PATTERN_SMALL_STORAGE];
  Match m;
  luaL_Buffer b;
  prepare_match(L, &pattern, storage, p, lp);
  pattern_begin(&m, L, &pattern.pattern, s, ls);
  luaL_buffinit(L, &b);
  /* rest: where the part that is not copied yet begins; last: the end of the last
     match */
  const char *rest = s, *last = NULL;
  bool changed = false;
  while (count < limit) {
    const char *start, *end;
    end = pattern.anchored ? first_match(&m, &pattern, s, &start)
                           : pattern_search(&m, rest, last, &start);
    if (end == NULL) break;
    count++;
    luaL_addlstring(&b, rest, (size_t)(start - rest));
    if (replacement.type == LUA_TSTRING) vm_work(L, &m.work_left, replacement.length);
    changed |= add_replacement(&m, &b, &replacement, start, end);
    rest = last = end;
    if (pattern.anchored) break;
  }
  if (changed) {
    luaL_addlstring(&b, rest, (size_t)(m.end - rest));
    luaL_pushresult(&b);
  } else {
    lua_pushvalue(L, 1);
  }
  lua_pushinteger(L, count);
  return 2;
}

void string_match_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"gsub", strlib_gsub}, {NULL, NULL}};
  static const luaL_Reg sharing[] = {{"gmatch", strlib_gmatch}, {NULL, NULL}};
  static const luaL_Reg caching[] = {
      {"find", strlib_find}, {"match", strlib_match}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  pattern_cache_push(L);
  luaL_setfuncs(L, caching, 1);
  pattern_shares_push(L);
  luaL_setfuncs(L, sharing, 1);
}
