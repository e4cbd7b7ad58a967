/* SPDX-License-Identifier: MIT */
/* stdlib/lib_eventring.c: the guest module `saros.eventring`.
 *
 * eventring_write.c writes events; this file has the rest: starting and stopping the
 * recording, and cursors.
 *
 * A poll first copies everything that the library delivers into a queue of the cursor,
 * because an error must not unwind the library's callbacks. Then it calls the guest's
 * callbacks for the entries of the queue. What is left in the queue when a callback
 * raises is delivered by the next poll. So callbacks may do anything. A poll delivers
 * only what was there when it was called, so it ends even if callbacks cause events.
 */
#include "api.h"
#include "call.h"
#include "clock.h"
#include "domain.h"
#include "eventring/read.h"
#include "eventring_measure.h"
#include "eventring_trigger.h"
#include "eventring_write.h"
#include "field_names.h"
#include "peer.h"
#include "safe_point.h"
#include "lauxlib.h"
#include "lib_domain.h"
#include "lua.h"
#include "lualib.h"
#include "set_field.h"
#include "thread.h"
#include "probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_TYPE "eventring.cursor"

/* ---- the recording ------------------------------------------------------- */

static struct eventring_domain *domain_of(lua_State *L) { return L->domain->rings; }

static int push_error(lua_State *L, const struct eventring_error *error) {
  lua_pushnil(L);
  lua_pushstring(L, error->text);
  return 2;
}

static int fail_code(lua_State *L, int code) {
  lua_pushnil(L);
  lua_pushstring(L, code == EVENTRING_E_STATE ? "this process does not record"
                                              : eventring_strerror(code));
  return 2;
}

/* Returns the option `stream` of start, which stays on the stack, or NULL. */
static const char *check_start_options(lua_State *L) {
  static const char *const options[] = {"stream", NULL};
  if (lua_isnoneornil(L, 1)) return NULL;
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", options);
  if (lua_getfield(L, 1, "stream") == LUA_TNIL) return NULL;
  if (lua_type(L, -1) != LUA_TSTRING) luaL_argerror(L, 1, "field 'stream' is not a string");
  return lua_tostring(L, -1);
}

/* Implements eventring.start([options]) -> true, or nil and a message. Starts the
 * recording (also one on standby). Returns true if it runs already. options.stream is
 * PATH[,max=SIZE][,rings=NAME+NAME...], as in SAROS_EVENTRING_STREAM. With a stream,
 * returns nil and a message if something is recorded already, because that recording
 * cannot become a stream. */
static int start_recording(lua_State *L) {
  struct eventring_error error;
  const char *stream = check_start_options(L);
  enum eventring_state state = eventring_state();
  if (stream != NULL && state != EVENTRING_STOPPED) {
    luaL_pushfail(L);
    lua_pushliteral(L, "this process records already, and not into that stream");
    return 2;
  }
  if (state == EVENTRING_STOPPED || state == EVENTRING_STANDBY) {
    if (probes_start(stream, &error) != 0) return push_error(L, &error);
    eventring_domain_check(domain_of(L));
    probes_take_up(L->domain); /* safepoints test no word of the recording yet */
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int push_result(lua_State *L, int code) {
  if (code < 0) return fail_code(L, code);
  lua_pushboolean(L, 1);
  return 1;
}

/* Implements eventring.stop() -> true, or nil and a message if the file could not be
 * removed. Ends the recording in an orderly way. */
static int stop_recording(lua_State *L) {
  int status = probes_stop();
  eventring_domain_check(domain_of(L));
  return push_result(L, status);
}

/* Implements eventring.pause(), eventring.resume() -> true, or nil and a message. */
static int pause_recording(lua_State *L) { return push_result(L, eventring_pause()); }
static int resume_recording(lua_State *L) {
  const int status = eventring_resume();
  probes_safe_point(L->domain);
  return push_result(L, status);
}

/* Implements eventring.classes() -> table: class name -> whether it is recorded (also
 * while paused); or nil and a message if nothing is recorded. */
static int list_classes(lua_State *L) {
  uint64_t wanted;
  int status = eventring_get_classes(&wanted);
  if (status < 0) return fail_code(L, status);
  lua_createtable(L, 0, 16);
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *name = eventring_class_name(i);
    if (name == NULL) continue;
    lua_pushboolean(L, (int)(wanted >> i & 1));
    lua_setfield(L, -2, name);
  }
  return 1;
}

static int switch_class(lua_State *L, bool on) {
  const char *name = luaL_checkstring(L, 1);
  int class = eventring_class_by_name(name);
  bool unused = class == EVENTRING_E_STATE; /* the class is off already */
  if (class < 0 && (on || !unused))
    return luaL_argerror(L, 1, lua_pushfstring(L, unused ? "class '%s' has no events"
                                                       : "no class '%s'", name));
  uint64_t bit = unused ? 0 : EVENTRING_CLASS_BIT(class);
  const int status = eventring_switch_classes(bit, on);
  probes_safe_point(L->domain); /* so that the next call is recorded, if its class is */
  return push_result(L, status);
}

/* Implements eventring.enable(name), eventring.disable(name) -> true, or nil and a
 * message if nothing is recorded. Class "lifecycle" stays on. */
static int enable_class(lua_State *L) { return switch_class(L, true); }
static int disable_class(lua_State *L) { return switch_class(L, false); }

/* Implements eventring.path() -> absolute path of the recording, or nil. */
static int recording_path(lua_State *L) {
  char buffer[4096];
  if (eventring_path(buffer, sizeof buffer) == 0) lua_pushnil(L);
  else lua_pushstring(L, buffer);
  return 1;
}

/* ---- cursors ------------------------------------------------------------- */

/* The callbacks that the guest may give: CALLBACK(id, name) */
#define CALLBACKS(CALLBACK) \
  CALLBACK(RUNTIME_BEGIN, "runtime_begin") CALLBACK(RUNTIME_END, "runtime_end") \
  CALLBACK(RUNTIME_COUNTER, "runtime_counter") CALLBACK(LIFECYCLE, "lifecycle") \
  CALLBACK(LOST, "lost_events") \
  CALLBACK(USER_BEGIN, "user_begin") CALLBACK(USER_END, "user_end") \
  CALLBACK(USER_COUNTER, "user_counter") CALLBACK(USER_EVENT, "user_event") \
  CALLBACK(ASYNC_BEGIN, "async_begin") CALLBACK(ASYNC_END, "async_end")

typedef enum Callback {
#define CALLBACK(id, name) CB_##id,
  CALLBACKS(CALLBACK)
#undef CALLBACK
  CB_COUNT
} Callback;

static const char *const callback_names[CB_COUNT + 1] = { /* ends with NULL */
#define CALLBACK(id, name) name,
  CALLBACKS(CALLBACK)
#undef CALLBACK
};

/* One delivered event, waiting for its callback. */
typedef struct Pending {
  uint8_t callback; /* Callback */
  uint8_t payload;  /* enum eventring_payload */
  uint8_t counted;  /* whether the event counts in poll's result */
  uint8_t domain;   /* its slot */
  uint16_t id;
  uint64_t ns;      /* time; for lost events, their number */
  uint64_t context;
  /* suspended_ns for the end of a span; link for an async span; flags for lost events */
  uint64_t extra;
  union {
    int64_t i;
    double d;
    struct { uint32_t offset, size; } text; /* a part of Cursor.text */
  } value;
} Pending;
_Static_assert(EVENTRING_MAX_DOMAINS <= UINT8_MAX + 1, "a slot");
_Static_assert(sizeof(Pending) == 40, "a long queue is a lot of memory to write and read");

typedef struct Cursor {
  eventring_cursor *handle; /* NULL when closed */
  Pending *queue;
  size_t head, tail, capacity;
  char *text;               /* payload bytes of the queued events */
  size_t text_size, text_capacity;
  uint32_t wanted;          /* bit set of the callbacks given to this poll */
  bool polling;
  bool memory_short;        /* the queue could not grow */
} Cursor;

/* Returns the cursor of the library, or raises if it is closed. Any allocation may run a
 * finalizer that closes the cursor, so it must be fetched again after an allocation. */
static eventring_cursor *open_handle_of(lua_State *L, const Cursor *c) {
  if (c->handle == NULL) luaL_error(L, "attempt to use a closed cursor");
  return c->handle;
}

static Cursor *check_cursor(lua_State *L) {
  Cursor *c = luaL_checkudata(L, 1, CURSOR_TYPE);
  open_handle_of(L, c);
  return c;
}

static bool grow_array(void **array, size_t *capacity, size_t needed, size_t unit) {
  size_t size = *capacity == 0 ? 256 : *capacity;
  while (size < needed) size *= 2;
  void *grown = realloc(*array, size * unit);
  if (grown == NULL) return false;
  *array = grown;
  *capacity = size;
  return true;
}

ALWAYS_INLINE bool reserve_array(void **array, size_t *capacity, size_t needed, size_t unit) {
  return likely(needed <= *capacity) || grow_array(array, capacity, needed, unit);
}

static int callback_of_link(const struct eventring_event *e) {
  if (e->def != NULL && e->def->kind == EVENTRING_DEF_FLOW) return CB_COUNT;
  if (e->role == EVENTRING_ROLE_BEGIN) return CB_ASYNC_BEGIN;
  return e->role == EVENTRING_ROLE_END ? CB_ASYNC_END : CB_COUNT;
}

ALWAYS_INLINE int callback_of(const struct eventring_event *e) {
  enum { KINDS = 8 };
  static const uint8_t usual[2][KINDS] = { /* of the runtime, of the user */
    {CB_USER_EVENT, CB_RUNTIME_BEGIN, CB_RUNTIME_END, CB_RUNTIME_COUNTER, CB_USER_EVENT,
     CB_LIFECYCLE, CB_USER_EVENT, CB_USER_EVENT},
    {CB_USER_EVENT, CB_USER_BEGIN, CB_USER_END, CB_USER_COUNTER, CB_USER_EVENT, CB_LIFECYCLE,
     CB_USER_EVENT, CB_USER_EVENT}};
  _Static_assert(EVENTRING_BEGIN == 1 && EVENTRING_END == 2 && EVENTRING_COUNTER == 3 &&
                   EVENTRING_LIFECYCLE == 5 && EVENTRING_LINKED < (int)KINDS, "the table");
  if (unlikely(e->kind == EVENTRING_LINKED)) return callback_of_link(e);
  return usual[e->ring == EVENTRING_USER][e->kind % KINDS];
}

/* Queues the value of an event. Returns false when out of memory. */
static NOINLINE bool queue_value(Cursor *c, Pending *p, const struct eventring_event *e) {
  /* 0 is a value, too: the thread was not interrupted */
  if (eventring_event_off_cpu(e) >= 0) {
    p->payload = EVENTRING_UINT;
    p->value.i = eventring_event_off_cpu(e);
    return true;
  }
  p->payload = e->payload;
  switch (e->payload) {
    case EVENTRING_INT: case EVENTRING_UINT: p->value.i = e->value.i; break;
    case EVENTRING_STACK_ID: p->value.i = e->value.i; break;
    case EVENTRING_DOUBLE: p->value.d = e->value.d; break;
    case EVENTRING_STRING: case EVENTRING_BYTES: case EVENTRING_VALUES:
      /* aligned as the words of VALUES are */
      c->text_size = (c->text_size + 7) & ~(size_t)7;
      if (!reserve_array((void **)&c->text, &c->text_capacity, c->text_size + e->size, 1))
        return false;
      memcpy(c->text + c->text_size, e->bytes, e->size);
      p->value.text.offset = (uint32_t)c->text_size;
      p->value.text.size = (uint32_t)e->size;
      c->text_size += e->size;
      break;
    default: p->payload = EVENTRING_NONE; /* no value, or one that has lost its meaning */
  }
  return true;
}

/* Queues an event. The library calls this function for each event. Never raises. */
static int take_event(void *context, const struct eventring_event *e) {
  Cursor *c = context;
  int callback = callback_of(e);
  bool synthetic = (e->flags & EVENTRING_SYNTHETIC) != 0;
  if (unlikely(e->flags & (EVENTRING_SYNTHETIC | EVENTRING_TORN))) {
    /* an end without a begin is counted, but not delivered */
    if (!synthetic) callback = CB_COUNT;
    else if (!(c->wanted & (1u << callback))) return 0;
  }
  if (!reserve_array((void **)&c->queue, &c->capacity, c->tail + 1, sizeof(Pending))) {
    c->memory_short = true;
    return 1;
  }
  Pending *p = &c->queue[c->tail];
  p->callback = (uint8_t)callback;
  p->counted = !synthetic;
  p->domain = (uint8_t)e->domain;
  p->id = e->id;
  p->ns = e->ns;
  p->context = e->context;
  p->extra = e->kind == EVENTRING_LINKED ? e->link : e->suspended_ns;
  p->payload = EVENTRING_NONE;
  if ((e->payload != EVENTRING_NONE || eventring_event_off_cpu(e) >= 0) && !queue_value(c, p, e)) {
    c->memory_short = true;
    return 1;
  }
  c->tail++;
  return 0;
}

static int take_loss(void *context, const struct eventring_loss *loss) {
  Cursor *c = context;
  if (!reserve_array((void **)&c->queue, &c->capacity, c->tail + 1, sizeof(Pending))) {
    c->memory_short = true;
    return 1;
  }
  Pending *p = &c->queue[c->tail++];
  p->callback = CB_LOST;
  p->payload = EVENTRING_NONE;
  p->counted = 0;
  p->domain = (uint8_t)loss->domain;
  p->ns = loss->count;
  p->extra = loss->flags;
  return 0;
}

static const struct eventring_callbacks take = {sizeof take, take_event, take_loss};

/* How many names have a slot in the array of the names' table from the start: those of
 * the runtime and some of the guest. */
#define USUAL_NAMES 256

/* Pushes the name of a definition. The cursor's user value keeps names as Lua strings, by
 * id. Making such a string may run a finalizer that closes the cursor. */
static void make_name(lua_State *L, const Cursor *c, int names, uint32_t id) COLD;
ALWAYS_INLINE void push_name(lua_State *L, const Cursor *c, int names, uint32_t id) {
  const TValue *known = table_get_int(as_table(api_stack_slot(L, names)), (lua_Integer)id + 1);
  if (likely(is_string(known))) api_push_value(L, known);
  else make_name(L, c, names, id);
}

static void make_name(lua_State *L, const Cursor *c, int names, uint32_t id) {
  const struct eventring_def *def = eventring_cursor_def(open_handle_of(L, c), id);
  lua_pushstring(L, def != NULL ? def->name : "?");
  lua_pushvalue(L, -1);
  lua_rawseti(L, names, (lua_Integer)id + 1);
}

/* The stack during a poll has the cursor at 1, the callbacks' table at 2, then the
   functions by Callback, then names. */
#define FIRST_FUNCTION 4
#define NAMES_INDEX (FIRST_FUNCTION + CB_COUNT)
/* Room on the stack for a poll: for the functions, the value that marks the end, a
 * callback with up to 6 arguments, and what making an argument needs. */
#define POLL_SLOTS (CB_COUNT + 16)

/* Tells whether the value is the id of a definition, so that the guest gets its name. */
static bool is_name(lua_State *L, const Cursor *c, const Pending *p) {
  const struct eventring_def *def =
    p->payload == EVENTRING_INT ? eventring_cursor_def(open_handle_of(L, c), p->id) : NULL;
  return def != NULL && def->unit != NULL && strcmp(def->unit, EVENTRING_UNIT_ID) == 0;
}

static void push_one_value(lua_State *L, const struct eventring_value *v) {
  switch (v->payload) {
    case EVENTRING_INT: case EVENTRING_UINT: lua_pushinteger(L, v->value.i); break;
    case EVENTRING_DOUBLE: lua_pushnumber(L, v->value.d); break;
    default: lua_pushlstring(L, v->bytes, v->size);
  }
}

/* Pushes the values of an event: one value as itself, several as a table. Making the
 * table may collect, and run a finalizer that closes the cursor. So before each string is
 * made, the cursor is checked to be open. */
static void push_values(lua_State *L, const Cursor *c, const Pending *p) {
  struct eventring_value values[EVENTRING_MAX_VALUES];
  struct eventring_event e = {.payload = EVENTRING_VALUES, .size = p->value.text.size};
  for (size_t i = 0, n = 1; i < n; i++) {
    open_handle_of(L, c);
    e.bytes = c->text + p->value.text.offset;
    n = eventring_event_values(&e, values, EVENTRING_MAX_VALUES);
    if (n == 0) lua_pushnil(L);
    else push_one_value(L, &values[i]);
    if (n < 2) return;
    if (i == 0) {
      lua_createtable(L, (int)n, 0);
      lua_insert(L, -2);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_value(lua_State *L, Cursor *c, const Pending *p) {
  if (likely(p->payload == EVENTRING_NONE)) {
    set_nil(L->top);
    api_push(L);
    return;
  }
  if (is_name(L, c, p)) {
    push_name(L, c, NAMES_INDEX, (uint32_t)p->value.i);
    return;
  }
  switch (p->payload) {
    case EVENTRING_DOUBLE: lua_pushnumber(L, p->value.d); break;
    case EVENTRING_VALUES: push_values(L, c, p); break;
    case EVENTRING_STRING: case EVENTRING_BYTES:
      open_handle_of(L, c);
      lua_pushlstring(L, c->text + p->value.text.offset, p->value.text.size);
      break;
    default: lua_pushinteger(L, p->value.i);
  }
}

/* Pushes an integer where there is room for it: a poll has made sure of POLL_SLOTS. */
static inline void push_integer(lua_State *L, uint64_t value) {
  set_int(L->top, (lua_Integer)value);
  api_push(L);
}

/* Pushes the arguments of a callback after domain, time and name. */
static inline void push_rest(lua_State *L, Cursor *c, const Pending *p) {
  switch ((Callback)p->callback) {
    case CB_LOST: case CB_COUNT: break;
    case CB_RUNTIME_BEGIN: case CB_RUNTIME_END: case CB_RUNTIME_COUNTER: case CB_LIFECYCLE:
      push_value(L, c, p);
      break;
    case CB_USER_BEGIN:
      push_integer(L, p->context);
      push_value(L, c, p);
      break;
    case CB_USER_END:
      push_integer(L, p->context);
      push_integer(L, p->extra);
      break;
    case CB_USER_COUNTER: case CB_USER_EVENT:
      push_value(L, c, p);
      push_integer(L, p->context);
      break;
    case CB_ASYNC_BEGIN: case CB_ASYNC_END:
      push_integer(L, p->extra);
      push_integer(L, p->context);
      if (p->callback == CB_ASYNC_BEGIN) push_value(L, c, p);
      break;
  }
}

/* Pushes a callback with its arguments; returns where it is. */
static TValue *push_callback(lua_State *L, Cursor *c, const Pending *p) {
  const ptrdiff_t func = stack_save(L, L->top);
  api_push_value(L, api_stack_slot(L, FIRST_FUNCTION + p->callback));
  push_integer(L, p->domain);
  push_integer(L, p->ns);
  if (p->callback == CB_LOST) {
    lua_pushboolean(L, (p->extra & EVENTRING_LOST_BEFORE) != 0);
  } else {
    push_name(L, c, NAMES_INDEX, p->id);
    push_rest(L, c, p);
  }
  return stack_restore(L, func);
}

typedef struct Delivery {
  Cursor *c;
  lua_Integer max; /* 0: no bound */
  lua_Integer delivered;
} Delivery;

/* Takes entries of the queue until one has a callback, and pushes that. A callback may
 * have closed the cursor. */
static TValue *next_callback(lua_State *L, void *ud) {
  Delivery *delivery = ud;
  Cursor *c = delivery->c;
  while (c->head < c->tail && (delivery->max == 0 || delivery->delivered < delivery->max)) {
    if (c->handle == NULL) return NULL;
    const Pending p = c->queue[c->head++];
    delivery->delivered += p.counted;
    if (p.callback < CB_COUNT && (c->wanted & (1u << p.callback))) return push_callback(L, c, &p);
  }
  return NULL;
}

static lua_Integer deliver_queue(lua_State *L, Cursor *c, lua_Integer max) {
  Delivery delivery = {.c = c, .max = max};
  vm_call_each(L, next_callback, &delivery);
  return delivery.delivered;
}

static bool is_callable(lua_State *L, int type) {
  if (type == LUA_TFUNCTION) return true;
  if (luaL_getmetafield(L, -1, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

/* Pushes the functions of the callbacks, and returns the set of the callbacks that are
   given. Reading a field may run the guest's code. */
static uint32_t push_callbacks(lua_State *L) {
  uint32_t wanted = 0;
  for (int i = 0; i < CB_COUNT; i++) {
    int type = lua_getfield(L, 2, callback_names[i]);
    if (type == LUA_TNIL) continue;
    if (!is_callable(L, type))
      luaL_argerror(L, 2,
                    lua_pushfstring(L, "field '%s' is a %s, not a function", callback_names[i],
                                    lua_typename(L, type)));
    wanted |= 1u << i;
  }
  return wanted;
}

/* Marks the end of a poll, also after an error. */
static int end_poll(lua_State *L) {
  Cursor *c = *(Cursor **)lua_touserdata(L, 1);
  c->polling = false;
  return 0;
}

static void guard_poll(lua_State *L, Cursor *c) {
  Cursor **guard = lua_newuserdatauv(L, sizeof *guard, 0);
  *guard = c;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  c->polling = true;
}

/* Tells whether everything has been delivered that was there at the last poll of the
   library. */
static bool is_all(const Cursor *c) {
  return c->handle != NULL && c->head == c->tail &&
         eventring_poll_end(c->handle) == EVENTRING_POLL_ALL;
}

/* Implements cursor:poll(callbacks [, max]) -> number of events delivered (events without
 * a callback included), and whether these were all events that were there. Raises if the
 * file is damaged. */
static int cursor_poll(lua_State *L) {
  Cursor *c = check_cursor(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer max = luaL_optinteger(L, 3, 0);
  luaL_argcheck(L, max >= 0, 3, "must not be negative");
  lua_settop(L, 3);
  luaL_checkstack(L, POLL_SLOTS, NULL);
  check_field_names(L, 2, "callback", callback_names);
  uint32_t wanted = push_callbacks(L);
  check_cursor(L); /* again, because push_callbacks may have run the guest's code */
  if (c->polling) return luaL_error(L, "cursor is already being polled");
  c->wanted = wanted;
  lua_getiuservalue(L, 1, 1);
  guard_poll(L, c);
  int status = 0;
  if (c->head == c->tail) {
    c->head = c->tail = 0;
    c->text_size = 0;
    status = eventring_poll(open_handle_of(L, c), &take, c, (uint64_t)max);
  }
  lua_Integer delivered = deliver_queue(L, c, max);
  if (c->memory_short) {
    c->memory_short = false;
    return luaL_error(L, "not enough memory");
  }
  if (status < 0 && c->handle != NULL)
    return luaL_error(L, "%s", eventring_cursor_error(c->handle)->text);
  lua_pushinteger(L, delivered);
  lua_pushboolean(L, is_all(c));
  return 2;
}

/* The longest wait in one call of the library. A cancelled domain ends within that
   time. */
#define LONGEST_WAIT 50000000 /* ns */

/* Implements cursor:wait(seconds) -> boolean. Blocks until a poll has something to do
 * (true), or until the time is up (false). Returns true at once if the recording has
 * ended. A cancel of the domain or a SIGINT ends the wait with its error. */
static int cursor_wait(lua_State *L) {
  Cursor *c = check_cursor(L);
  luaL_checknumber(L, 2);
  uint64_t deadline = domain_lib_deadline(L, 2);
  int status = c->head != c->tail; /* events that were left when a callback raised */
  while (status == 0 || status == EVENTRING_E_INTERRUPTED) {
    uint64_t now = monotonic_ns(), left = deadline > now ? deadline - now : 0;
    status = eventring_wait(open_handle_of(L, c), left < LONGEST_WAIT ? left : LONGEST_WAIT);
    if (status == 0 && left <= LONGEST_WAIT) break;
    vm_safe_point(L);
  }
  if (status < 0) return luaL_error(L, "%s", eventring_strerror(status));
  lua_pushboolean(L, status);
  return 1;
}

static void release_cursor(Cursor *c) {
  if (c->handle != NULL) eventring_close(c->handle);
  c->handle = NULL;
  free(c->queue);
  free(c->text);
  c->queue = NULL;
  c->text = NULL;
  c->head = c->tail = c->capacity = c->text_size = c->text_capacity = 0;
}

/* Implements cursor:close(), and also __gc and __close. A second call does nothing. */
static int cursor_close(lua_State *L) {
  release_cursor(luaL_checkudata(L, 1, CURSOR_TYPE));
  return 0;
}

/* Implements cursor:finished() -> true if the recording has ended and all of it was
   delivered. */
static int cursor_finished(lua_State *L) {
  Cursor *c = check_cursor(L);
  lua_pushboolean(L, c->head == c->tail && eventring_finished(c->handle));
  return 1;
}

/* Sets the fields end_reason, end_detail and error_text, if the recording has them. */
static void push_end(lua_State *L, const struct eventring_info *info) {
  static const char *const reasons[] = {[EVENTRING_END_STOPPED] = "stopped",
                                        [EVENTRING_END_EXIT] = "exit",
                                        [EVENTRING_END_SIGNAL] = "signal",
                                        [EVENTRING_END_DELETED] = "deleted"};
  const char *reason = info->liveness == EVENTRING_DEAD ? "killed" : NULL;
  if (info->end_reason != EVENTRING_END_UNKNOWN) reason = reasons[info->end_reason];
  set_text(L, "end_reason", reason);
  if (info->end_reason == EVENTRING_END_EXIT || info->end_reason == EVENTRING_END_SIGNAL)
    set_integer(L, "end_detail", info->end_detail);
  if (info->error_ns != 0) set_text(L, "error_text", info->error_text);
}

/* Returns the time from which on nothing was overwritten. */
static uint64_t complete_since(eventring_cursor *cursor, const struct eventring_info *info) {
  uint64_t since = info->start_ns;
  for (unsigned slot = 0; slot < info->domains_laid_out; slot++)
    for (int i = 0; i < EVENTRING_RINGS; i++) {
      struct eventring_ring_info ring = {.size = sizeof ring};
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)i, &ring) == 0 &&
          ring.available < ring.emitted && ring.oldest_ns > since)
        since = ring.oldest_ns;
    }
  return since;
}

/* Implements cursor:info() -> properties of the recording: path, program, pid, start_ns,
 * end_ns (0 while it lasts), live (boolean), delivered, lost, missed, torn; complete_ns
 * (the time from which on every ring still has all of its events); how it ended:
 * end_reason ("stopped", "exit", "signal", "deleted", "killed"; nil while it lasts),
 * end_detail (exit status or number of the signal), error_text (nil if the process noted
 * no error). */
static int cursor_info(lua_State *L) {
  Cursor *c = check_cursor(L);
  struct eventring_info info = {.size = sizeof info};
  struct eventring_totals totals = {.size = sizeof totals};
  int status = eventring_cursor_info(c->handle, &info);
  if (status < 0) return fail_code(L, status);
  eventring_cursor_totals(c->handle, &totals);
  lua_createtable(L, 0, 14);
  set_integer(L, "complete_ns", (lua_Integer)complete_since(c->handle, &info));
  push_end(L, &info);
  set_text(L, "path", info.path);
  set_text(L, "program", info.program);
  set_boolean(L, "live", info.liveness == EVENTRING_LIVE);
  set_integer(L, "pid", info.pid);
  set_integer(L, "start_ns", (lua_Integer)info.start_ns);
  set_integer(L, "end_ns", (lua_Integer)info.end_ns);
  set_integer(L, "delivered", (lua_Integer)totals.delivered);
  set_integer(L, "lost", (lua_Integer)totals.lost);
  set_integer(L, "missed", (lua_Integer)totals.missed);
  set_integer(L, "torn", (lua_Integer)totals.torn);
  return 1;
}

static int cursor_tostring(lua_State *L) {
  Cursor *c = luaL_checkudata(L, 1, CURSOR_TYPE);
  if (c->handle == NULL) lua_pushliteral(L, CURSOR_TYPE " (closed)");
  else lua_pushfstring(L, CURSOR_TYPE " (%p)", (void *)c);
  return 1;
}

static int open_handle(lua_State *L, Cursor *c, struct eventring_error *error) {
  static const char *const options[] = {"pid", "path", NULL};
  if (lua_isnoneornil(L, 1)) return eventring_open_self(&c->handle, EVENTRING_OPEN_MERGED, error);
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", options);
  if (lua_getfield(L, 1, "pid") != LUA_TNIL && lua_getfield(L, 1, "path") != LUA_TNIL)
    return luaL_argerror(L, 1, "fields 'pid' and 'path' exclude each other");
  if (lua_getfield(L, 1, "path") != LUA_TNIL) {
    const char *path = lua_tostring(L, -1);
    if (path == NULL) return luaL_argerror(L, 1, "field 'path' is not a string");
    return eventring_open_path(&c->handle, path, EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW,
                               error);
  }
  if (lua_getfield(L, 1, "pid") == LUA_TNIL)
    return eventring_open_self(&c->handle, EVENTRING_OPEN_MERGED, error);
  int ok;
  lua_Integer pid = lua_tointegerx(L, -1, &ok);
  if (!ok || pid <= 0 || pid > INT32_MAX)
    return luaL_argerror(L, 1, "field 'pid' is not a process id");
  return eventring_open_pid(&c->handle, (pid_t)pid, EVENTRING_OPEN_MERGED, error);
}

/* Implements eventring.cursor([{pid = integer} or {path = string}]) -> cursor, or nil and
 * a message. Without an argument, the cursor reads the recording of this process. */
static int open_cursor(lua_State *L) {
  struct eventring_error error;
  lua_settop(L, 1);
  Cursor *c = lua_newuserdatauv(L, sizeof *c, 1);
  memset(c, 0, sizeof *c);
  luaL_setmetatable(L, CURSOR_TYPE);
  lua_createtable(L, USUAL_NAMES, 0);
  lua_setiuservalue(L, 2, 1);
  if (open_handle(L, c, &error) < 0) return push_error(L, &error);
  lua_settop(L, 2);
  return 1;
}

/* ---- opening ------------------------------------------------------------- */

static const luaL_Reg cursor_methods[] = {
  {"close", cursor_close}, {"finished", cursor_finished}, {"info", cursor_info},
  {"wait", cursor_wait}, {NULL, NULL}};

static const luaL_Reg cursor_meta[] = {
  {"__gc", cursor_close}, {"__close", cursor_close}, {"__tostring", cursor_tostring}, {NULL, NULL}};

static void make_cursor_type(lua_State *L) {
  luaL_newmetatable(L, CURSOR_TYPE);
  luaL_setfuncs(L, cursor_meta, 0);
  luaL_newlib(L, cursor_methods);
  lua_createtable(L, 0, 1); /* metatable of poll's guard */
  lua_pushcfunction(L, end_poll);
  lua_setfield(L, -2, "__close");
  lua_pushcclosure(L, cursor_poll, 1);
  lua_setfield(L, -2, "poll");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

static const luaL_Reg functions[] = {
  {"start", start_recording}, {"stop", stop_recording},
  {"pause", pause_recording}, {"resume", resume_recording},
  {"classes", list_classes}, {"enable", enable_class}, {"disable", disable_class},
  {"path", recording_path}, {"cursor", open_cursor}, {NULL, NULL}};

int luaopen_eventring(lua_State *L) {
  make_cursor_type(L);
  luaL_newlib(L, functions);
  eventring_add_writers(L);
  eventring_add_triggers(L);
  eventring_add_measure(L);
  return 1;
}
