/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_measure.c: `measure` and `expect`.
 *
 * `measure` and `expect` call a function, and then read, through a cursor of their own,
 * the events that the domain has recorded during the call. A to-be-closed userdata holds
 * the cursor, so that the cursor is closed also if the function raises or its coroutine
 * is closed; the function may yield. If nothing is recorded, they start a recording and
 * stop it afterwards; in that recording `expect` switches on the classes that its rules
 * need. The bytes allocated are recorded where the call begins and where it ends
 * (gc_record_asked), so that the sum of `allocated_words` is exact.
 */
#include "eventring_measure.h"
#include "eventring/tools.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/read_all.h"
#include "analysis/rules.h"
#include "clock.h"
#include "domain.h"
#include "eventring/memory.h"
#include "gc.h"
#include "heap.h"
#include "lauxlib.h"
#include "memprof.h"
#include "probes.h"
#include "set_field.h"
#include "thread.h"

enum { MOST_PHASES = 64, MEMORY_KINDS = 64 };

typedef struct Phase { /* the spans of class gc of one name */
  const struct eventring_def *def;
  uint64_t count, ns, most;
} Phase;

typedef struct Measure {
  eventring_cursor *cursor; /* NULL when closed */
  bool started;             /* whether this measurement started the recording */
  bool is_expect;
  int slot;                 /* slot of the domain in the recording */
  struct eva_rules rules;
  Phase phase[MOST_PHASES];
  unsigned phases;
  double rate;              /* sampling rate of allocations; 0 if they are not sampled */
  double words[MEMORY_KINDS]; /* estimated words allocated, by kind */
  uint64_t lost;
  uint64_t begun_ns, begun_cpu_ns, begun_bytes;
} Measure;

/* Rules whose values `measure` returns. */
enum { LONGEST, ALL_PAUSES, PAUSES, MINORS, MAJORS, OWN_RULES };
static const char *const own_rules[OWN_RULES] = {
  [LONGEST] = "max(pause) >= 0ns", [ALL_PAUSES] = "sum(pause) >= 0ns",
  [PAUSES] = "count(pause) >= 0", [MINORS] = "count(minor) >= 0",
  [MAJORS] = "count(major) >= 0"};

#define MEASURE_TYPE "eventring.measure"

/* ---- Rules ---------------------------------------------------------------- */

static void add_rule(lua_State *L, Measure *m, const char *text, size_t size) {
  struct eventring_condition condition;
  struct eventring_error error;
  if (eventring_condition_parse(&condition, text, size, NULL, &error) != EVENTRING_OK)
    luaL_argerror(L, 1, lua_pushfstring(L, "'%s': %s", text, error.text));
  if (eva_rules_add(&m->rules, &condition, text, size, 0) != EVENTRING_OK)
    luaL_argerror(L, 1, "too many rules");
}

/* Adds the rules of argument 1: one rule, or a sequence of them. */
static void add_rules(lua_State *L, Measure *m) {
  size_t size;
  if (lua_type(L, 1) == LUA_TSTRING) {
    const char *text = lua_tolstring(L, 1, &size);
    add_rule(L, m, text, size);
    return;
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
    if (lua_type(L, -1) != LUA_TSTRING) luaL_argerror(L, 1, "a rule is not a string");
    const char *text = lua_tolstring(L, -1, &size);
    add_rule(L, m, text, size);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* ---- Beginning and end ------------------------------------------------------ */

static int close_measure(lua_State *L) {
  Measure *m = luaL_checkudata(L, 1, MEASURE_TYPE);
  if (m->cursor != NULL) eventring_close(m->cursor);
  m->cursor = NULL;
  eva_rules_free(&m->rules);
  if (m->started) {
    m->started = false;
    probes_stop();
    eventring_domain_check(L->domain->rings);
  }
  return 0;
}

/* Pushes a new Measure, a userdata that the caller makes to-be-closed. */
static Measure *new_measure(lua_State *L, bool is_expect) {
  Measure *m = lua_newuserdatauv(L, sizeof *m, 0);
  memset(m, 0, sizeof *m);
  m->is_expect = is_expect;
  luaL_setmetatable(L, MEASURE_TYPE);
  return m;
}

static int pass_event(void *context, const struct eventring_event *event) {
  (void)context;
  (void)event;
  return 0;
}

/* Events from before the call do not count, but spans that are open do. */
static const struct eventring_callbacks passing = {sizeof passing, pass_event, NULL};

/* Returns the CPU time of the calling thread in nanoseconds. */
static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void open_measure(lua_State *L, Measure *m) {
  struct eventring_error error;
  Domain *d = L->domain;
  if (eventring_state() == EVENTRING_STOPPED) {
    if (probes_start(NULL, &error) != 0) luaL_error(L, "cannot measure: %s", error.text);
    m->started = true;
  }
  eventring_domain_check(d->rings);
  gc_record_asked(d);
  if (eventring_open_self(&m->cursor, EVENTRING_OPEN_MERGED | EVENTRING_OPEN_NOW, &error) < 0)
    luaL_error(L, "cannot measure: %s", error.text);
  eventring_poll(m->cursor, &passing, NULL, 0);
  if (m->started) eventring_switch_classes(eva_rules_classes(&m->rules, m->cursor), true);
  m->slot = eventring_domain_slot(d->rings);
  m->rate = memprof_recording_rate(d);
  m->begun_bytes = heap_asked(&d->heap);
  m->begun_cpu_ns = cpu_ns();
  m->begun_ns = m->rules.since = m->rules.open_since = monotonic_ns();
  m->rules.one_domain = true;
  m->rules.domain = (uint32_t)m->slot;
}

/* ---- Events ------------------------------------------------------------------ */

static void add_to_phase(Measure *m, const struct eventring_event *e) {
  unsigned i = 0;
  while (i < m->phases && m->phase[i].def != e->def) i++;
  if (i == MOST_PHASES) return;
  if (i == m->phases) m->phase[m->phases++] = (Phase){.def = e->def};
  uint64_t ns = e->ns - e->begin_ns;
  m->phase[i].count++;
  m->phase[i].ns += ns;
  if (ns > m->phase[i].most) m->phase[i].most = ns;
}

static void take_memory(Measure *m, const struct eventring_event *e) {
  struct eventring_memory memory;
  enum eventring_memory_event what = eventring_event_memory(e, &memory);
  if (what == EVENTRING_MEMORY_RATE) m->rate = memory.rate;
  if (what == EVENTRING_MEMORY_ALLOC && m->rate > 0)
    m->words[memory.sample.kind % MEMORY_KINDS] += (double)memory.sample.samples / m->rate;
}

static int take_event(void *context, const struct eventring_event *e) {
  Measure *m = context;
  if (m->slot < 0 || e->domain != (uint32_t)m->slot) return 0;
  const bool is_phase = e->event_class == EVENTRING_CLASS_GC && e->def != NULL;
  if (is_phase && eventring_event_took(e) >= 0) add_to_phase(m, e);
  if (!m->is_expect) take_memory(m, e);
  return eva_rules_event(&m->rules, e) != EVENTRING_OK;
}

static int take_loss(void *context, const struct eventring_loss *loss) {
  Measure *m = context;
  if (m->slot >= 0 && loss->domain == (uint32_t)m->slot) m->lost += loss->count;
  return 0;
}

static const struct eventring_callbacks taking = {sizeof taking, take_event, take_loss};

static void read_events(lua_State *L, Measure *m) {
  gc_record_asked(L->domain);
  int status = eva_read_all(m->cursor, &taking, m);
  if (m->rules.status != EVENTRING_OK) luaL_error(L, "not enough memory");
  if (status < 0) luaL_error(L, "cannot measure: %s", eventring_cursor_error(m->cursor)->text);
  eva_rules_finish(&m->rules, m->cursor, m->lost, UINT64_MAX);
}

/* ---- Results ------------------------------------------------------------------ */

static void push_phases(lua_State *L, const Measure *m) {
  lua_createtable(L, 0, (int)m->phases);
  for (unsigned i = 0; i < m->phases; i++) {
    const Phase *p = &m->phase[i];
    lua_createtable(L, 0, 3);
    set_integer(L, "count", (lua_Integer)p->count);
    set_integer(L, "ns", (lua_Integer)p->ns);
    set_integer(L, "longest_ns", (lua_Integer)p->most);
    lua_setfield(L, -2, p->def->name);
  }
}

static void push_kinds(lua_State *L, const Measure *m) {
  lua_newtable(L);
  for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
    const char *name = eventring_cursor_name(m->cursor, EVENTRING_NAME_MEMORY_KIND, kind);
    if (m->words[kind] > 0 && name != NULL) set_integer(L, name, (lua_Integer)m->words[kind]);
  }
}

/* Returns the table of what the call cost. Stack: the Measure at 1, then the function's
   results. */
static int return_table(lua_State *L, Measure *m) {
  Domain *d = L->domain;
  int count = lua_gettop(L) - 1;
  uint64_t ns = monotonic_ns() - m->begun_ns, cpu = cpu_ns() - m->begun_cpu_ns;
  uint64_t bytes = heap_asked(&d->heap) - m->begun_bytes;
  read_events(L, m);
  const struct eva_rule *rule = m->rules.rule;
  lua_createtable(L, count, 1);
  lua_insert(L, 2);
  for (int i = count; i >= 1; i--) lua_rawseti(L, 2, i);
  set_integer(L, "n", count);
  lua_createtable(L, 0, 13);
  lua_insert(L, 2);
  lua_setfield(L, 2, "results");
  set_integer(L, "time_ns", (lua_Integer)ns);
  set_integer(L, "cpu_ns", (lua_Integer)cpu);
  set_integer(L, "words", (lua_Integer)(bytes / 8));
  set_integer(L, "longest_pause_ns", (lua_Integer)rule[LONGEST].value);
  set_integer(L, "gc_ns", (lua_Integer)rule[ALL_PAUSES].value);
  set_integer(L, "pauses", (lua_Integer)rule[PAUSES].value);
  set_integer(L, "minor", (lua_Integer)rule[MINORS].value);
  set_integer(L, "major", (lua_Integer)rule[MAJORS].value);
  set_integer(L, "lost", (lua_Integer)m->lost);
  push_phases(L, m);
  lua_setfield(L, -2, "phases");
  if (m->rate > 0) {
    push_kinds(L, m);
    lua_setfield(L, -2, "kinds");
    lua_pushnumber(L, m->rate);
    lua_setfield(L, -2, "kinds_rate");
  }
  return 1;
}

static void add_failure(luaL_Buffer *text, const struct eva_rule *r) {
  char value[EVA_RULE_VALUE];
  luaL_addstring(text, "\n\texpected ");
  luaL_addstring(text, r->text);
  luaL_addstring(text, r->reason[0] != '\0' ? ": " : ": it was ");
  luaL_addstring(text, r->reason[0] != '\0' ? r->reason : eva_rule_value_text(value, r, r->value));
}

/* Returns the function's results, or raises an error with one line for each rule that
   does not hold. */
static int check_rules(lua_State *L, Measure *m) {
  size_t failed = 0;
  read_events(L, m);
  for (size_t i = 0; i < m->rules.count; i++) failed += !m->rules.rule[i].holds;
  if (failed == 0) return lua_gettop(L) - 1;
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (size_t i = 0; i < m->rules.count; i++)
    if (!m->rules.rule[i].holds) add_failure(&text, &m->rules.rule[i]);
  luaL_pushresult(&text);
  luaL_where(L, 1);
  lua_pushfstring(L, "%s%s", lua_tostring(L, -1), lua_tostring(L, -2) + 2);
  return lua_error(L);
}

static int finish(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  Measure *m = luaL_checkudata(L, 1, MEASURE_TYPE);
  if (m->cursor == NULL) return luaL_error(L, "the measurement was closed meanwhile");
  return m->is_expect ? check_rules(L, m) : return_table(L, m);
}

/* ---- Functions ------------------------------------------------------------------ */

static int run(lua_State *L, Measure *m) {
  open_measure(L, m);
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, finish);
  return finish(L, LUA_OK, 0);
}

/* Implements eventring.measure(f, ...) -> table of what f(...) cost: time_ns, cpu_ns (of
 * the thread), words (allocated), longest_pause_ns, gc_ns, pauses, minor and major
 * (collections that began), phases (name of a span of the collector -> {count, ns,
 * longest_ns}), lost (events), kinds (of memory -> words) and kinds_rate if allocations
 * are sampled, results (the results of f, with n). All figures are of the calling domain.
 * `words` is exact; `kinds` are exact at rate 1 if no event was lost, otherwise they are
 * estimates. (The collector never visits objects that die young, so only the allocation
 * itself could count them by kind, and that would slow it down.) */
static int measure(lua_State *L) {
  luaL_checkany(L, 1);
  Measure *m = new_measure(L, false);
  lua_insert(L, 1);
  lua_toclose(L, 1);
  for (int i = 0; i < OWN_RULES; i++) add_rule(L, m, own_rules[i], strlen(own_rules[i]));
  return run(L, m);
}

/* Implements eventring.expect(rules, f, ...) -> results of f(...). Raises if a rule does
 * not hold for what the calling domain recorded during the call. `rules` is a condition,
 * or a sequence of conditions. */
static int expect(lua_State *L) {
  luaL_checkany(L, 2);
  Measure *m = new_measure(L, true);
  lua_insert(L, 2); /* rules, the Measure, f, arguments */
  add_rules(L, m);
  lua_remove(L, 1);
  lua_toclose(L, 1);
  return run(L, m);
}

static const luaL_Reg functions[] = {{"measure", measure}, {"expect", expect}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", close_measure}, {"__close", close_measure}, {NULL, NULL}};

void eventring_add_measure(lua_State *L) {
  luaL_newmetatable(L, MEASURE_TYPE);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
