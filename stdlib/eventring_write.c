/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_write.c: spans, counters and events of the guest.
 *
 * A call with a wrong name or a wrong value raises, whether it is recorded or not; a
 * correct call never raises. Names are checked once: Domain.event_names has a table for
 * each kind of definition, name -> entry. They are registered with the library when they
 * are first recorded. A program may use any number of names: a full table is dropped, and
 * the names are looked up again.
 *
 * begin_span, end_span, counter and event have direct functions (vm/primitives.h), which
 * do the frequent cases. Rare cases (a value, a name that is long or not yet known, a
 * full block) are left to the C functions. The strings of the first 255 names have an
 * index into Domain.event_ids, which has their ids, so these strings need no lookup. The
 * string of another name, or a string that has been collected and made again, is looked
 * up in the table.
 *
 * Spans, events and async spans are defined with payload VALUES: each event states the
 * kind of its value, so the kind may differ from event to event. A counter has the kind
 * of its first value, integer or double; later values are converted.
 */
#include "eventring_write.h"

#include <math.h>
#include <string.h>

#include "arguments.h"
#include "contexts.h"
#include "domain.h"
#include "field_names.h"
#include "heap.h"
#include "lauxlib.h"
#include "probes.h"
#include "table.h"
#include "thread.h"
#include "traces.h"

/* ---- names --------------------------------------------------------------- */

#define NAMES_MAX EVENTRING_MAX_EVENTS /* the most names in one table */

/* A table's entry for a name: 0 if the name was only checked; otherwise the definition's
 * id and, in the bits above the id, the payload of its events. The payload of spans,
 * events and async spans is VALUES, or NONE if another definition has the name, with
 * another payload. */
typedef int64_t Entry;
#define ENTRY_UNKNOWN (-1)
#define ENTRY_PAYLOAD_SHIFT 16
#define entry_of(id, payload) ((Entry)(id) | (Entry)(payload) << ENTRY_PAYLOAD_SHIFT)
#define entry_id(entry) ((unsigned)((entry) & 0xffff))
#define entry_payload(entry) ((enum eventring_payload)((entry) >> ENTRY_PAYLOAD_SHIFT))

/* Tells whether the events of an entry are written as (other), without their name. */
#define is_other(entry) (entry_id(entry) == EVENTRING_ID_OTHER)

static const uint8_t kind_of_names[EVENT_NAME_KINDS] = {
  [EVENT_NAMES_SPAN] = EVENTRING_DEF_SPAN,
  [EVENT_NAMES_COUNTER] = EVENTRING_DEF_COUNTER,
  [EVENT_NAMES_INSTANT] = EVENTRING_DEF_INSTANT,
  [EVENT_NAMES_ASYNC] = EVENTRING_DEF_ASYNC,
};

/* Returns the entry of a name in the table of names, or ENTRY_UNKNOWN if it has none. */
ALWAYS_INLINE Entry entry_of_name(const lua_State *L, int names, const TValue *name) {
  Table *t = L->domain->event_names[names].table;
  if (unlikely(!is_short_string(name) || t == NULL)) return ENTRY_UNKNOWN;
  /* the usual node of the name */
  const Node *node = &t->node[as_string(name)->hash & t->node_mask];
  if (likely(node_holds(node, as_string(name)))) return node_value(node)->v.i;
  const TValue *value = table_get_str(t, as_string(name));
  return is_nil(value) ? ENTRY_UNKNOWN : value->v.i;
}

/* Returns the entry of the first argument, or ENTRY_UNKNOWN. */
ALWAYS_INLINE Entry known_entry(const lua_State *L, int names) {
  const TValue *name = L->ci->func + 1;
  return likely(name < L->top) ? entry_of_name(L, names, name) : ENTRY_UNKNOWN;
}

static void make_names(lua_State *L, int names) {
  EventNames *n = &L->domain->event_names[names];
  lua_createtable(L, 0, 0);
  Table *t = as_table(L->top - 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, n);
  n->table = t;
  n->count = 0;
}

/* Returns the id of an entry in the form that EventIds keeps. Returns 0 for a counter
   that is (other), which has no value and is left to the C function. */
ALWAYS_INLINE unsigned id_of_entry(int names, Entry entry) {
  if (names == EVENT_NAMES_COUNTER && is_other(entry)) return 0;
  const bool is_double = names == EVENT_NAMES_COUNTER && entry_payload(entry) == EVENTRING_DOUBLE;
  return entry_id(entry) | (is_double ? EVENT_ID_IS_DOUBLE : 0);
}

/* Gives the string of a name an index, if there is one left, and sets the id at that
   index to the id of the entry. */
static void index_name(lua_State *L, int names, const TValue *name, Entry entry) {
  Domain *d = L->domain;
  if (!is_short_string(name)) return;
  String *s = as_string(name);
  if (s->extra == 0 && d->event_ids_count < EVENT_IDS - 1) {
    if (d->event_ids == domain_no_event_ids) {
      EventIds *ids = heap_memory_zeroed(d, EVENT_IDS * sizeof *ids);
      if (ids == NULL) return;
      d->event_ids = ids;
    }
    s->extra = (uint8_t)++d->event_ids_count;
  }
  if (s->extra != 0) d->event_ids[s->extra].id[names] = (uint16_t)id_of_entry(names, entry);
}

/* Returns the index of a name, which was checked then, or 0. */
ALWAYS_INLINE size_t index_of_name(const TValue *name) {
  return likely(is_short_string(name)) ? as_string(name)->extra : 0;
}

/* Keeps the entry of the first argument, a string. */
static void keep_entry(lua_State *L, int names, Entry entry, bool is_new) {
  EventNames *n = &L->domain->event_names[names];
  TValue value;
  if (is_new && n->count == NAMES_MAX) make_names(L, names);
  set_int(&value, entry);
  table_set(L, n->table, L->ci->func + 1, &value);
  n->count += is_new;
  index_name(L, names, L->ci->func + 1, entry);
}

/* Returns the entry of the first argument. Raises if that is not a valid name. */
static COLD Entry check_name(lua_State *L, int names) {
  struct eventring_error error;
  size_t size;
  const char *name = luaL_checklstring(L, 1, &size);
  if (L->domain->event_names[names].table == NULL) make_names(L, names);
  const TValue *value = table_get(L->domain->event_names[names].table, L->ci->func + 1);
  if (!is_nil(value)) return value->v.i;
  if (eventring_check_name(name, size, &error) != EVENTRING_OK) luaL_argerror(L, 1, error.text);
  keep_entry(L, names, 0, true);
  return 0;
}

/* Returns the entry of a definition of this name that exists already with another
 * payload. Tries all payloads, even those that are not valid for events of this kind. */
static Entry find_definition(int names, const char *name, size_t size,
                             struct eventring_error *error) {
  const enum eventring_def_kind kind = kind_of_names[names];
  for (int payload = EVENTRING_NONE; payload <= EVENTRING_STACK_ID; payload++) {
    int id = eventring_register_user(kind, name, size, payload, error);
    if (id >= 0)
      return entry_of(id, names == EVENT_NAMES_COUNTER ? payload : EVENTRING_NONE);
    if (id != EVENTRING_E_CONFLICT && id != EVENTRING_E_ARGUMENT) break;
  }
  return entry_of(EVENTRING_ID_OTHER, EVENTRING_NONE);
}

/* Registers the first argument, a name that was checked. If that fails, the events of
 * this name are (other). */
static COLD Entry define_name(lua_State *L, int names, enum eventring_payload payload) {
  struct eventring_error error;
  size_t size;
  const char *name = lua_tolstring(L, 1, &size);
  int id = eventring_register_user(kind_of_names[names], name, size, payload, &error);
  Entry entry = entry_of(EVENTRING_ID_OTHER, EVENTRING_NONE);
  if (id >= 0) entry = entry_of(id, id == EVENTRING_ID_OTHER ? EVENTRING_NONE : payload);
  else if (id == EVENTRING_E_CONFLICT) entry = find_definition(names, name, size, &error);
  keep_entry(L, names, entry, false);
  return entry;
}

/* ---- writing ------------------------------------------------------------- */

ALWAYS_INLINE bool is_recorded(const Domain *d) {
  return eventring_enabled(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER);
}

/* Returns the set of recorded classes, for code that tests more than one. */
ALWAYS_INLINE uint64_t classes_of(const Domain *d) {
  const uint64_t *gate = __atomic_load_n(&d->rings->lane[EVENTRING_USER].gate, __ATOMIC_RELAXED);
  return __atomic_load_n(gate, __ATOMIC_RELAXED);
}
#define HAS_SPANS(classes) ((classes) >> EVENTRING_CLASS_USER & 1)
/* Whether spans are recorded, and class gc_detail is off, for which each span would write
   more events. */
#define HAS_SPANS_ALONE(classes) \
  (HAS_SPANS(classes) && !((classes) >> EVENTRING_CLASS_GC_DETAIL & 1))

/* Records the bytes allocated so far. Called inside a span, at its begin and at its end:
   the difference was allocated in the span. */
static void record_allocated(const Domain *d) {
  PROBE_COUNTER(d, ALLOCATED_TOTAL, heap_asked(&d->heap) / 8);
}

#define MAX_WORDS 127 /* the most words of a payload */
/* The most bytes of a string value: more would not fit into an async span. A longer text
 * is cut between characters. */
#define MAX_STRING 984
#define TRUNCATED ((uint64_t)1 << 63)

static enum eventring_payload kind_of_value(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNONE: case LUA_TNIL: return EVENTRING_NONE;
    case LUA_TNUMBER: return lua_isinteger(L, index) ? EVENTRING_INT : EVENTRING_DOUBLE;
    case LUA_TSTRING: return EVENTRING_STRING;
    default: luaL_typeerror(L, index, "number or string"); return EVENTRING_NONE;
  }
}

static size_t encode_string(lua_State *L, int index, uint64_t *words) {
  size_t size;
  const char *bytes = lua_tolstring(L, index, &size);
  size_t kept = size <= MAX_STRING ? size : eventring_text_fit(bytes, size, MAX_STRING);
  size_t n = 1 + (kept + 7) / 8;
  words[n - 1] = 0; /* clears the bytes behind the string */
  words[0] = kept | (kept < size ? TRUNCATED : 0);
  memcpy(words + 1, bytes, kept);
  return n;
}

/* Writes the payload VALUES of one value (doc/FORMAT.md, section 7); returns the number
   of its words. */
static size_t encode_value(lua_State *L, int index, uint64_t *words) {
  enum eventring_payload kind = kind_of_value(L, index);
  if (kind == EVENTRING_NONE) return 0;
  words[0] = 1 | (uint64_t)kind << 4;
  if (kind == EVENTRING_STRING) return 1 + encode_string(L, index, words + 1);
  if (kind == EVENTRING_INT) words[1] = (uint64_t)lua_tointeger(L, index);
  else words[1] = eventring_double_bits(lua_tonumber(L, index));
  return 2;
}

/* Writes an event with the value at `index` (0 for none), if the definition has room for
 * a value. `head` is the words that come before the value. */
static void write_event(lua_State *L, enum eventring_kind kind, Entry entry, int index,
                        const uint64_t *head, size_t nhead) {
  struct eventring_domain *rings = L->domain->rings;
  uint64_t words[MAX_WORDS], tail = EVENTRING_TAIL(kind, entry_id(entry), 0);
  for (size_t i = 0; i < nhead; i++) words[i] = head[i];
  size_t n = nhead;
  if (index != 0 && entry_payload(entry) == EVENTRING_VALUES)
    n += encode_value(L, index, words + n);
  if (n == 0) eventring_emit0(rings, EVENTRING_USER, tail);
  else eventring_emit_words(rings, EVENTRING_USER, tail, words, n);
}

/* ---- spans --------------------------------------------------------------- */

static void begin_valued_span(lua_State *L, Entry entry, int value) {
  context_begin_span(L, entry_id(entry));
  write_event(L, EVENTRING_BEGIN, entry, value, NULL, 0);
  record_allocated(L->domain);
}

/* Makes the ids of a span that begins with the value `traceparent`, which is true or a
 * header. A header that is not valid begins a new trace, as the standard demands. */
static void make_ids(lua_State *L, int traceparent, struct eventring_trace *ids) {
  struct eventring_domain *rings = L->domain->rings;
  struct eventring_trace caller;
  size_t size;
  const char *header = lua_tolstring(L, traceparent, &size); /* NULL if it is true */
  if (header != NULL && eventring_traceparent_parse(header, size, &caller) == EVENTRING_OK)
    eventring_trace_child(rings, &caller, ids);
  else
    eventring_trace_begin(rings, ids);
}

/* Begins a span that gets ids, from the `traceparent` at the index behind the value. */
static COLD void begin_traced_span(lua_State *L, Entry entry, int value) {
  struct eventring_trace ids;
  traces_prepare(L);
  make_ids(L, value + 1, &ids);
  context_begin_span(L, entry_id(entry));
  write_event(L, EVENTRING_BEGIN, entry, value, NULL, 0);
  traces_begun(L, &ids);
  record_allocated(L->domain);
}

/* Begins a span with a traceparent while nothing is recorded. If the span hides a trace,
   notes that. */
static COLD void begin_unrecorded_span(lua_State *L, Entry entry) {
  if (!traces_would_hide(L)) return;
  if (entry == 0) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  traces_begun_unrecorded(L, entry_id(entry));
}

/* Fields of a span. The first one is for eventring.span only. */
static const char *const span_fields[] = {"name", "value", "traceparent", NULL};
#define TRACEPARENT 4 /* bit of check_field_names */

/* Pushes the field `value` of argument `arg`, a table, and the field `traceparent` unless
 * that is nil; returns whether it pushed `traceparent`. Raises if a field is wrong, or
 * not among span_fields from `first` on. */
static bool push_details(lua_State *L, int arg, int first) {
  const uint64_t seen = check_field_names(L, arg, "field", span_fields + first) << first;
  const int value = lua_getfield(L, arg, "value");
  if (value != LUA_TNIL && value != LUA_TNUMBER && value != LUA_TSTRING)
    luaL_argerror(L, arg, "field 'value' is not a number or string");
  if (!(seen & TRACEPARENT)) { /* the usual case; a metatable may still have the field */
    if (!lua_getmetatable(L, arg)) return false;
    lua_pop(L, 1);
  }
  switch (lua_getfield(L, arg, "traceparent")) {
    case LUA_TSTRING: return true;
    case LUA_TNIL: lua_pop(L, 1); return false;
    default:
      if (!lua_isboolean(L, -1) || !lua_toboolean(L, -1))
        luaL_argerror(L, arg, "field 'traceparent' is not a string or true");
      return true;
  }
}

/* Implements eventring.begin_span(name, {value =, traceparent =}). */
static COLD int begin_span_with_fields(lua_State *L) {
  Entry entry = check_name(L, EVENT_NAMES_SPAN);
  lua_settop(L, 2);
  const bool is_traced = push_details(L, 2, 1);
  if (!is_recorded(L->domain)) {
    if (is_traced) begin_unrecorded_span(L, entry);
    return 0;
  }
  if (entry == 0) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  (is_traced ? begin_traced_span : begin_valued_span)(L, entry, 3);
  return 0;
}

static COLD int begin_span_slow(lua_State *L, Entry entry) {
  const int type = lua_type(L, 2);
  if (type == LUA_TTABLE) return begin_span_with_fields(L);
  if (entry < 0) entry = check_name(L, EVENT_NAMES_SPAN);
  if (type > LUA_TNIL && type != LUA_TNUMBER && type != LUA_TSTRING)
    luaL_typeerror(L, 2, "number, string or table");
  if (!is_recorded(L->domain)) return 0;
  if (entry == 0) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  begin_valued_span(L, entry, 2);
  return 0;
}

/* Ends a span. `recorded` is the result of one call of is_recorded, which another thread
   may change at any time. */
static void end_span_of(lua_State *L, unsigned id, bool recorded) {
  Domain *d = L->domain;
  if (!recorded) {
    context_forget_span(L, id);
    return;
  }
  record_allocated(d);
  context_end_span(L, id);
  eventring_user_end(d->rings, id);
}

/* Ends the innermost open span, for a call without a name. It is not an error if none is
 * known to be open: the begin of the span may not have been recorded. */
static COLD void end_innermost_span(lua_State *L) {
  const Context *c = context_find(L);
  if (c != NULL && c->count > 0) end_span_of(L, c->open[c->count - 1], is_recorded(L->domain));
}

static COLD int end_span_slow(lua_State *L, Entry entry) {
  if (lua_gettop(L) == 0) {
    end_innermost_span(L);
    return 0;
  }
  if (entry < 0) entry = check_name(L, EVENT_NAMES_SPAN);
  const bool recorded = is_recorded(L->domain);
  if (entry == 0 && recorded) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  end_span_of(L, entry_id(entry), recorded);
  return 0;
}

/* Implements eventring.begin_span(name [, value or fields]). The functions below
 * implement eventring.end_span([name]): an end closes the innermost open span of that
 * name in the same coroutine or, without a name, the innermost open span. */
static int begin_span(lua_State *L) {
  Entry entry = known_entry(L, EVENT_NAMES_SPAN);
  if (unlikely(entry < 0 || argument_count(L) != 1) || is_recorded(L->domain))
    return begin_span_slow(L, entry);
  return 0;
}

static int end_span(lua_State *L) {
  Entry entry = known_entry(L, EVENT_NAMES_SPAN);
  if (unlikely(entry < 0) || is_recorded(L->domain)) return end_span_slow(L, entry);
  if (unlikely(L->instrumented != 0)) context_forget_span(L, entry_id(entry));
  return 0;
}

/* A direct function (vm/primitives.h) of `count` arguments. The first argument is a name;
 * rule(L, func, id) does the work with its id, from EventIds. A name without an index is
 * looked up in a separate function, so that the usual case need not save registers. */
#define DIRECT_WRITER(function, names, count, rule)                                         \
  static NOINLINE int function##_further(lua_State *L, TValue *func) {                      \
    const Entry entry = entry_of_name(L, names, func + 1);                                  \
    return entry < 0 ? NOT_DIRECT : rule(L, func, id_of_entry(names, entry));               \
  }                                                                                         \
  static int function(lua_State *L, TValue *func, int nargs) {                              \
    if (unlikely(nargs != (count))) return NOT_DIRECT;                                      \
    const size_t index = index_of_name(func + 1);                                         \
    const uint64_t id = L->domain->event_ids[index].id[names]; /* 0: not recorded yet */    \
    if (likely(id != 0)) return rule(L, func, id);                                          \
    return index != 0 ? rule(L, func, 0) : function##_further(L, func);                     \
  }

/* Returns the tail of an event's word. `id` comes from EventIds without a mark, so it has
 * no bits beyond those of an id. */
ALWAYS_INLINE uint64_t tail_of(enum eventring_kind kind, uint64_t id, unsigned words) {
  if (id >= EVENTRING_MAX_EVENTS) __builtin_unreachable();
  return EVENTRING_TAIL(kind, id, words);
}

/* Returns the lane of the user's events if it is being written for this context now,
 * otherwise NULL. */
ALWAYS_INLINE struct eventring_lane *lane_in_context(const Domain *d, uint64_t context) {
  struct eventring_lane *lane = &d->rings->lane[EVENTRING_USER];
  return likely(lane->context == context) ? lane : NULL;
}
ALWAYS_INLINE bool try_write0(const Domain *d, uint64_t context, uint64_t tail) {
  struct eventring_lane *lane = lane_in_context(d, context);
  return lane != NULL && eventring_put0(lane, eventring_ticks(), tail);
}
ALWAYS_INLINE bool try_write1(const Domain *d, uint64_t context, uint64_t tail, uint64_t value) {
  struct eventring_lane *lane = lane_in_context(d, context);
  return lane != NULL && eventring_put1(lane, eventring_ticks(), tail, value);
}

ALWAYS_INLINE int begin_span_of(lua_State *L, TValue *func, uint64_t id) {
  (void)func;
  Domain *d = L->domain;
  const uint64_t classes = classes_of(d);
  if (unlikely(id == 0 || !HAS_SPANS_ALONE(classes)))
    return HAS_SPANS(classes_of(d)) ? NOT_DIRECT : 0;
  Context *c = context_to_begin(L);
  if (unlikely(c == NULL)) return NOT_DIRECT;
  context_note_span(c, id);
  if (!try_write0(d, c->id, tail_of(EVENTRING_BEGIN, id, 0))) return NOT_DIRECT;
  context_add_span(c);
  return 0;
}

ALWAYS_INLINE int end_span_of_name(lua_State *L, TValue *func, uint64_t id) {
  (void)func;
  Domain *d = L->domain;
  const uint64_t classes = classes_of(d);
  if (unlikely(id == 0 || !HAS_SPANS_ALONE(classes)))
    return HAS_SPANS(classes_of(d)) || L->instrumented != 0 ? NOT_DIRECT : 0;
  Context *c = context_to_end(L, id);
  if (unlikely(c == NULL) ||
      !try_write0(d, c->id, tail_of(EVENTRING_END, id, 0)))
    return NOT_DIRECT;
  c->count--;
  return 0;
}

DIRECT_WRITER(begin_span_direct, EVENT_NAMES_SPAN, 1, begin_span_of)
DIRECT_WRITER(end_span_direct, EVENT_NAMES_SPAN, 1, end_span_of_name)

static int span_returned(lua_State *L, int status, lua_KContext context) {
  (void)status;
  return lua_gettop(L) - (int)context;
}

/* A userdata whose __close ends a span. `mark` distinguishes it from other userdata:
 * programs get guards from `span {...}`, and can call their __close with any value. */
typedef struct Guard {
  /* close_guard, or close_unrecorded for a span that began unrecorded */
  lua_CFunction mark;
  uint32_t id;        /* id of the span, or the number of its end (traces.h) */
} Guard;

ALWAYS_INLINE const Guard *guard_of(lua_State *L, lua_CFunction mark) {
  const Guard *guard = lua_touserdata(L, 1);
  if (lua_type(L, 1) != LUA_TUSERDATA || lua_rawlen(L, 1) != sizeof *guard || guard->mark != mark)
    return NULL;
  return guard;
}

static COLD int close_unrecorded(lua_State *L) {
  const Guard *guard = guard_of(L, close_unrecorded);
  if (guard == NULL) return luaL_typeerror(L, 1, "span");
  traces_ended_unrecorded(L, guard->id);
  return 0;
}

/* Implements __close of a guard. (It could compare metatables as a closure, but that
   would cost more to call.) */
static int close_guard(lua_State *L) {
  const Guard *guard = guard_of(L, close_guard);
  if (unlikely(guard == NULL)) return close_unrecorded(L);
  end_span_of(L, guard->id, is_recorded(L->domain));
  return 0;
}

#define GUARD_METATABLE lua_upvalueindex(1)

static Guard *push_guard(lua_State *L, unsigned id) {
  Guard *guard = lua_newuserdatauv(L, sizeof *guard, 0);
  *guard = (Guard){close_guard, id};
  lua_pushvalue(L, GUARD_METATABLE);
  lua_setmetatable(L, -2);
  return guard;
}

/* Replaces the first argument, a table, with its name, and inserts its value and, if it
 * has one, its traceparent behind the name. Returns the number of values inserted. */
static int take_fields(lua_State *L) {
  const int details = push_details(L, 1, 0) ? 2 : 1;
  if (lua_getfield(L, 1, "name") != LUA_TSTRING)
    luaL_argerror(L, 1, "field 'name' is not a string");
  lua_replace(L, 1);
  lua_rotate(L, 2, details);
  return 1 + details;
}

/* Runs record_span_of_fields while nothing is recorded: only notes that a trace is
   hidden. */
static COLD int span_unrecorded(lua_State *L, int fields, int nargs) {
  int kept = fields;
  if (fields == 3 && traces_would_hide(L)) {
    Guard *guard = push_guard(L, EVENTRING_ID_OTHER);
    guard->mark = close_unrecorded;
    lua_insert(L, ++kept);
    if (nargs >= 0) lua_toclose(L, kept);
    guard->id = traces_begun_unrecorded(L, EVENTRING_ID_OTHER);
  }
  if (nargs < 0) return kept - fields;
  lua_callk(L, nargs, LUA_MULTRET, kept, span_returned);
  return span_returned(L, LUA_OK, kept);
}

/* Implements eventring.span({name =, value =, traceparent =}, f, ...); without f the span
 * ends when the result, a value for a variable <close>, is closed. */
static COLD int record_span_of_fields(lua_State *L) {
  const int fields = take_fields(L);
  Entry entry = check_name(L, EVENT_NAMES_SPAN);
  const int nargs = lua_gettop(L) - fields - 1; /* number of the arguments behind f */
  if (!is_recorded(L->domain)) return span_unrecorded(L, fields, nargs);
  if (entry == 0) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  push_guard(L, entry_id(entry));
  const int guard = fields + 1;
  lua_insert(L, guard);
  if (nargs >= 0) lua_toclose(L, guard);
  (fields == 3 ? begin_traced_span : begin_valued_span)(L, entry, 2);
  if (nargs < 0) return 1;
  lua_callk(L, nargs, LUA_MULTRET, guard, span_returned);
  return span_returned(L, LUA_OK, guard);
}

/* Implements eventring.span(name, f, ...) -> results of f(...). The span ends whether f
 * returns or raises. */
static int record_span(lua_State *L) {
  if (unlikely(lua_type(L, 1) == LUA_TTABLE)) return record_span_of_fields(L);
  Entry entry = known_entry(L, EVENT_NAMES_SPAN);
  if (entry < 0) entry = check_name(L, EVENT_NAMES_SPAN);
  luaL_checkany(L, 2);
  int nargs = lua_gettop(L) - 2;
  if (!is_recorded(L->domain)) {
    lua_callk(L, nargs, LUA_MULTRET, 1, span_returned);
    return span_returned(L, LUA_OK, 1);
  }
  if (entry == 0) entry = define_name(L, EVENT_NAMES_SPAN, EVENTRING_VALUES);
  unsigned id = entry_id(entry);
  push_guard(L, id);
  lua_insert(L, 2); /* name, guard, f, arguments */
  lua_toclose(L, 2);
  context_begin_span(L, id);
  eventring_user_begin(L->domain->rings, id);
  record_allocated(L->domain);
  lua_callk(L, nargs, LUA_MULTRET, 2, span_returned);
  return span_returned(L, LUA_OK, 2);
}

/* Implements eventring.traceparent() -> header. The header is nil if nothing is recorded,
 * if no open span belongs to a trace and none is inherited, or if the trace is hidden. */
static int traceparent(lua_State *L) {
  struct eventring_trace ids;
  char header[EVENTRING_TRACEPARENT + 1];
  if (!traces_outgoing(L, &ids)) {
    lua_pushnil(L);
    return 1;
  }
  eventring_traceparent_format(&ids, header);
  lua_pushlstring(L, header, EVENTRING_TRACEPARENT);
  return 1;
}

/* ---- async spans --------------------------------------------------------- */

/* Returns the FNV-1a hash in 64 bits, so that other producers get the same number for the
   same string. */
static uint64_t hash_id(const char *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001b3;
  return hash;
}

static uint64_t check_link(lua_State *L) {
  size_t size;
  if (lua_type(L, 2) == LUA_TNUMBER) return (uint64_t)luaL_checkinteger(L, 2);
  if (lua_type(L, 2) != LUA_TSTRING) luaL_typeerror(L, 2, "integer or string");
  const char *bytes = lua_tolstring(L, 2, &size);
  return hash_id(bytes, size);
}

static void write_linked(lua_State *L, enum eventring_role role, int index_of_value) {
  Entry entry = known_entry(L, EVENT_NAMES_ASYNC);
  if (entry < 0) entry = check_name(L, EVENT_NAMES_ASYNC);
  const uint64_t head[2] = {check_link(L), (uint64_t)role};
  if (index_of_value != 0) kind_of_value(L, index_of_value);
  if (!is_recorded(L->domain)) return;
  if (entry == 0) entry = define_name(L, EVENT_NAMES_ASYNC, EVENTRING_VALUES);
  context_enter(L);
  if (is_other(entry)) write_event(L, EVENTRING_INSTANT, entry, 0, NULL, 0);
  else write_event(L, EVENTRING_LINKED, entry, index_of_value, head, 2);
}

/* Implements eventring.async_begin(name, id [, value]); the function below implements
 * eventring.async_end(name, id). The begin and the end of an async span may lie in
 * different coroutines and domains. The id is an integer, or a string, which is
 * hashed. */
static int async_begin(lua_State *L) {
  write_linked(L, EVENTRING_ROLE_BEGIN, 3);
  return 0;
}

static int async_end(lua_State *L) {
  write_linked(L, EVENTRING_ROLE_END, 0);
  return 0;
}

/* ---- counters, events ---------------------------------------------------- */

/* Returns the number at index 2 as an integer. A program that works unrecorded must not
 * fail when it is recorded. So a fraction is rounded, and NaN becomes 0. */
static int64_t integer_value(lua_State *L) {
  int ok;
  lua_Integer i = lua_tointegerx(L, 2, &ok);
  if (ok) return i;
  double rounded = round(lua_tonumber(L, 2));
  if (rounded >= 0x1p63) return INT64_MAX;
  if (rounded < -0x1p63) return INT64_MIN;
  return isnan(rounded) ? 0 : (int64_t)rounded;
}

/* Checks that the argument is a number, and replaces a string that is a numeral with the
   number, as arithmetic does. */
static void check_number(lua_State *L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) return;
  luaL_checknumber(L, index);
  lua_stringtonumber(L, lua_tostring(L, index));
  lua_replace(L, index);
}

/* Implements eventring.counter(name, number). The first value fixes whether the counter
 * is an integer or a float; later values of an integer counter are rounded. */
static int record_counter(lua_State *L) {
  Domain *d = L->domain;
  Entry entry = known_entry(L, EVENT_NAMES_COUNTER);
  if (entry < 0) entry = check_name(L, EVENT_NAMES_COUNTER);
  check_number(L, 2);
  if (!is_recorded(d)) return 0;
  if (entry == 0)
    entry = define_name(L, EVENT_NAMES_COUNTER,
                        lua_isinteger(L, 2) ? EVENTRING_INT : EVENTRING_DOUBLE);
  context_enter(L);
  if (is_other(entry))
    write_event(L, EVENTRING_INSTANT, entry, 0, NULL, 0);
  else if (entry_payload(entry) == EVENTRING_DOUBLE)
    eventring_counter_double(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER, entry_id(entry),
                             lua_tonumber(L, 2));
  else
    eventring_user_counter(d->rings, entry_id(entry), integer_value(L));
  return 0;
}

/* Implements eventring.event(name [, number or string]). */
static int record_instant(lua_State *L) {
  Entry entry = known_entry(L, EVENT_NAMES_INSTANT);
  if (entry < 0) entry = check_name(L, EVENT_NAMES_INSTANT);
  kind_of_value(L, 2);
  if (!is_recorded(L->domain)) return 0;
  if (entry == 0) entry = define_name(L, EVENT_NAMES_INSTANT, EVENTRING_VALUES);
  context_enter(L);
  write_event(L, EVENTRING_INSTANT, entry, 2, NULL, 0);
  return 0;
}

/* ---- opening ------------------------------------------------------------- */

/* Writes a counter, for the direct function. The number must be of the definition's
   kind. */
ALWAYS_INLINE int counter_of(lua_State *L, TValue *func, uint64_t id) {
  const TValue *number = func + 2;
  Domain *d = L->domain;
  if (unlikely(!HAS_SPANS(classes_of(d)))) return is_number(number) ? 0 : NOT_DIRECT;
  if (unlikely(id == 0)) return NOT_DIRECT;
  if (unlikely(!is_int(number) || id & EVENT_ID_IS_DOUBLE)) {
    if (!is_float(number) || !(id & EVENT_ID_IS_DOUBLE)) return NOT_DIRECT;
    id ^= EVENT_ID_IS_DOUBLE;
  }
  uint64_t context;
  if (unlikely(!context_is_known(L, &context))) return NOT_DIRECT;
  const uint64_t bits = (uint64_t)number->v.i; /* the bits of a double, too */
  return try_write1(d, context, tail_of(EVENTRING_COUNTER, id, 1), bits) ? 0 : NOT_DIRECT;
}

/* Writes an event without a value, for the direct function. */
ALWAYS_INLINE int event_of(lua_State *L, TValue *func, uint64_t id) {
  (void)func;
  Domain *d = L->domain;
  if (!HAS_SPANS(classes_of(d))) return 0;
  uint64_t context;
  if (unlikely(id == 0 || !context_is_known(L, &context))) return NOT_DIRECT;
  return try_write0(d, context, tail_of(EVENTRING_INSTANT, id, 0)) ? 0 : NOT_DIRECT;
}

DIRECT_WRITER(counter_direct, EVENT_NAMES_COUNTER, 2, counter_of)
DIRECT_WRITER(event_direct, EVENT_NAMES_INSTANT, 1, event_of)

static const luaL_Reg writers[] = {
  {"async_begin", async_begin}, {"async_end", async_end}, {"traceparent", traceparent},
  {NULL, NULL}};

static const Primitive direct_writers[] = {
    DIRECT_FUNCTION("begin_span", begin_span, begin_span_direct),
    DIRECT_FUNCTION("counter", record_counter, counter_direct),
    DIRECT_FUNCTION("end_span", end_span, end_span_direct),
    DIRECT_FUNCTION("event", record_instant, event_direct),
    DIRECT_FUNCTION(NULL, NULL, NULL),
};

void eventring_add_writers(lua_State *L) {
  luaL_setfuncs(L, writers, 0);
  vm_set_direct_functions(L, direct_writers);
  lua_createtable(L, 0, 1); /* metatable of span's guards */
  lua_pushcfunction(L, close_guard);
  lua_setfield(L, -2, "__close");
  lua_pushcclosure(L, record_span, 1);
  lua_setfield(L, -2, "span");
}
