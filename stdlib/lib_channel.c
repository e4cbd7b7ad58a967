/* SPDX-License-Identifier: MIT */
/* stdlib/lib_channel.c: channels of the module `saros.domain` (doc/DOMAINS.md).
 *
 * A handle is a userdata with a pointer to the channel (runtime/channel.h). A domain has
 * at most one handle for each channel, found through a weak table, so that a channel that
 * was sent back is the same value. The finalizer of the handle releases the channel.
 *
 * A function first tries without waiting. Only a call that waits has a span in the
 * recording.
 *
 * Large messages that were sent through a handle and not received yet count for the
 * handle. Whenever their bytes have increased, they are reported as memory outside the
 * heap (runtime/gc_external.c). The collector sees a decrease when it marks the handle.
 */
#include "channel.h"
#include "domain.h"
#include "gc.h"
#include "lib_domain.h"
#include "peer.h"
#include "message.h"
#include "thread.h"
#include "probes.h"
#include "transfer.h"

#include <stdlib.h>

#define CHANNEL_TYPE "domain.channel"
/* registry: weak table, channel (light userdata) -> handle */
#define HANDLES_KEY "domain.channels"
#define DEFAULT_CAPACITY 128
#define MOST_CAPACITY (1 << 30)
#define GIVEN_UP "channel was given up" /* the handle's finalizer has run */

typedef struct Handle {
  Channel *channel;  /* NULL when released */
  /* counts large messages that were sent through the handle; NULL if there were none */
  MessageLoad *load;
} Handle;

/* The spans of waiting, one for each function. */
typedef enum Waiting { WAITING_SEND, WAITING_RECEIVE, WAITING_SELECT } Waiting;

static void begin_waiting(lua_State *L, Waiting what) {
  switch (what) {
    case WAITING_SEND: PROBE_BEGIN(L->domain, CHANNEL_SEND); break;
    case WAITING_RECEIVE: PROBE_BEGIN(L->domain, CHANNEL_RECEIVE); break;
    case WAITING_SELECT: PROBE_BEGIN(L->domain, CHANNEL_SELECT); break;
  }
}

static void end_waiting(lua_State *L, Waiting what) {
  switch (what) {
    case WAITING_SEND: PROBE_END(L->domain, CHANNEL_SEND); break;
    case WAITING_RECEIVE: PROBE_END(L->domain, CHANNEL_RECEIVE); break;
    case WAITING_SELECT: PROBE_END(L->domain, CHANNEL_SELECT); break;
  }
}

/* ---- handles ------------------------------------------------------------- */

static Channel *check_channel(lua_State *L, int index) {
  Handle *h = luaL_checkudata(L, index, CHANNEL_TYPE);
  if (h->channel == NULL) luaL_argerror(L, index, GIVEN_UP);
  return h->channel;
}

/* Pushes a handle that has no channel yet. */
static Handle *new_handle(lua_State *L) {
  Handle *h = lua_newuserdatauv(L, sizeof *h, 0);
  h->channel = NULL;
  h->load = NULL;
  luaL_setmetatable(L, CHANNEL_TYPE);
  return h;
}

/* Enters the handle on top of the stack as this domain's handle for the channel. */
static void enter_handle(lua_State *L, Channel *c) {
  lua_getfield(L, LUA_REGISTRYINDEX, HANDLES_KEY);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, c);
  lua_pop(L, 1);
}

static void push_channel(lua_State *L, Channel *c) {
  luaL_checkstack(L, 4, "channel");
  lua_getfield(L, LUA_REGISTRYINDEX, HANDLES_KEY);
  if (lua_rawgetp(L, -1, c) == LUA_TNIL) {
    lua_pop(L, 1);
    Handle *h = new_handle(L);
    if (!channel_hold(c, domain_lib_self(L))) luaL_error(L, "not enough memory");
    h->channel = c;
    enter_handle(L, c);
  }
  lua_remove(L, -2);
}

/* Implements __gc of a handle. */
static int channel_collect(lua_State *L) {
  Handle *h = luaL_checkudata(L, 1, CHANNEL_TYPE);
  Channel *c = h->channel;
  h->channel = NULL;
  if (c != NULL) channel_let_go(c, domain_lib_self(L));
  lua_external_memory(L, 1, 0);
  message_load_release(h->load);
  h->load = NULL;
  return 0;
}

/* Implements domain.channel([capacity]) -> a channel. `capacity` is the number of
 * messages that fit before send waits (default 128). With 0, a message is passed only to
 * a domain that waits for it. */
static int channel_create(lua_State *L) {
  lua_Integer capacity = luaL_optinteger(L, 1, DEFAULT_CAPACITY);
  luaL_argcheck(L, capacity >= 0 && capacity <= MOST_CAPACITY, 1, "capacity out of range");
  Handle *h = new_handle(L);
  h->channel = channel_new(domain_lib_self(L), (uint32_t)capacity);
  if (h->channel == NULL) return luaL_error(L, "not enough memory");
  enter_handle(L, h->channel);
  return 1;
}

/* ---- results that are errors --------------------------------------------- */

/* Raises an error for each result except CHANNEL_OK and CHANNEL_TIMEOUT. A request to the
 * domain always raises. */
static void check_result(lua_State *L, ChannelResult result) {
  switch (result) {
    case CHANNEL_CLOSED: luaL_error(L, "channel is closed"); break;
    case CHANNEL_ORPHANED: luaL_error(L, "channel is orphaned: no other domain holds it"); break;
    case CHANNEL_ATTENTION: peer_take_up(L); break;
    case CHANNEL_OK: case CHANNEL_TIMEOUT: break;
  }
}

/* ---- sending ------------------------------------------------------------- */

static ChannelResult wait_to_send(lua_State *L, Channel *c, Message *m, uint64_t deadline) {
  begin_waiting(L, WAITING_SEND);
  ChannelResult result = channel_send(c, domain_lib_self(L), m, deadline);
  end_waiting(L, WAITING_SEND);
  return result;
}

#define HEAVY ((size_t)4 << 10)

/* Counts a message that is about to be sent through the handle at index 1. If there is no
 * memory for a count, the message is not counted; this is not an error. */
static void weigh_message(lua_State *L, Message *m) {
  Handle *h = lua_touserdata(L, 1);
  if (message_weight(m) < HEAVY) return;
  if (h->load == NULL) h->load = message_load_new();
  if (h->load == NULL) return;
  message_weigh(m, h->load);
  gc_follow_external(L, as_userdata(L->ci->func + 1), &h->load->bytes);
}

/* Sends the value at index 2. */
static ChannelResult send_value(lua_State *L, Channel *c, uint64_t deadline) {
  peer_begin_message(L);
  lua_pushvalue(L, 2);
  Message *m = transfer_encode(L, 1, "arg", false);
  lua_pop(L, 1);
  weigh_message(L, m);
  ChannelResult result = channel_send(c, domain_lib_self(L), m, 0);
  if (result == CHANNEL_TIMEOUT && deadline != 0) result = wait_to_send(L, c, m, deadline);
  if (result == CHANNEL_OK) peer_hand_over(domain_lib_self(L));
  else message_free(m);
  check_result(L, result);
  return result;
}

static int report_sent(lua_State *L, ChannelResult result, const char *reason) {
  lua_pushboolean(L, result == CHANNEL_OK);
  if (result == CHANNEL_OK) return 1;
  lua_pushstring(L, reason);
  return 2;
}

/* Implements channel:send(value [, seconds]) -> true; or false and "timeout". Waits while
 * the channel is full. Raises if the channel is closed, or full and orphaned. */
static int channel_send_value(lua_State *L) {
  Channel *c = check_channel(L, 1);
  luaL_checkany(L, 2);
  return report_sent(L, send_value(L, c, domain_lib_deadline(L, 3)), "timeout");
}

/* Implements channel:try_send(value) -> true; or false and "full". Never waits. */
static int channel_try_send(lua_State *L) {
  Channel *c = check_channel(L, 1);
  luaL_checkany(L, 2);
  return report_sent(L, send_value(L, c, 0), "full");
}

/* ---- receiving ----------------------------------------------------------- */

static ChannelResult receive_message(lua_State *L, Channel *c, Message **m, uint64_t deadline) {
  Peer *self = domain_lib_self(L);
  peer_begin_message(L);
  ChannelResult result = channel_receive(c, self, m, 0);
  if (result != CHANNEL_TIMEOUT || deadline == 0) return result;
  begin_waiting(L, WAITING_RECEIVE);
  result = channel_receive(c, self, m, deadline);
  end_waiting(L, WAITING_RECEIVE);
  return result;
}

static int receive_until(lua_State *L, uint64_t deadline, const char *reason) {
  Channel *c = check_channel(L, 1);
  Message *m;
  ChannelResult result = receive_message(L, c, &m, deadline);
  check_result(L, result);
  if (result == CHANNEL_OK) return transfer_decode(L, m);
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* Implements channel:receive([seconds]) -> value; or nil and "timeout". Raises if the
 * channel is empty and closed or orphaned. */
static int channel_receive_value(lua_State *L) {
  return receive_until(L, domain_lib_deadline(L, 2), "timeout");
}

/* Implements channel:try_receive() -> value; or nil and "empty". Never waits. */
static int channel_try_receive(lua_State *L) { return receive_until(L, 0, "empty"); }

/* Runs a step of the iterator; the channel is upvalue 1. */
static int next_value(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  Message *m;
  ChannelResult result = receive_message(L, check_channel(L, 1), &m, NO_DEADLINE);
  if (result == CHANNEL_OK) return transfer_decode(L, m);
  if (result == CHANNEL_ATTENTION) check_result(L, result);
  lua_pushnil(L);
  return 1;
}

/* Implements channel:values() -> iterator over what arrives, until the channel is closed
 * or orphaned (or a nil arrives). */
static int channel_values(lua_State *L) {
  check_channel(L, 1);
  lua_settop(L, 1);
  lua_pushcclosure(L, next_value, 1);
  return 1;
}

/* ---- select -------------------------------------------------------------- */

typedef struct Choice {
  uint32_t n, index;
  Message *message;
  Channel **channels;
  Waiter *waiters;
} Choice;

/* Reads the channels of the list at index 1 into memory that is on the stack. */
static void read_choice(lua_State *L, Choice *choice) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Unsigned n = lua_rawlen(L, 1);
  luaL_argcheck(L, n > 0 && n <= 10000, 1, "list of channels expected");
  choice->n = (uint32_t)n;
  choice->channels = lua_newuserdatauv(L, n * (sizeof(Channel *) + sizeof(Waiter)), 0);
  choice->waiters = (Waiter *)(choice->channels + n);
  for (uint32_t i = 0; i < choice->n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    Handle *h = luaL_testudata(L, -1, CHANNEL_TYPE);
    if (h == NULL) luaL_argerror(L, 1, "list of channels expected");
    if (h->channel == NULL) luaL_argerror(L, 1, GIVEN_UP);
    choice->channels[i] = h->channel;
    lua_pop(L, 1);
  }
}

static ChannelResult select_once(lua_State *L, Choice *s, uint64_t deadline) {
  Peer *self = domain_lib_self(L);
  peer_begin_message(L);
  ChannelResult result =
      channel_select(s->channels, s->waiters, s->n, self, &s->message, &s->index, 0);
  if (result != CHANNEL_TIMEOUT || deadline == 0) return result;
  begin_waiting(L, WAITING_SELECT);
  result = channel_select(s->channels, s->waiters, s->n, self, &s->message, &s->index, deadline);
  end_waiting(L, WAITING_SELECT);
  return result;
}

/* Implements domain.select(channels [, seconds]) -> channel, value: the first channel of
 * the list that has a message. Waits until one has. Returns channel, nil, "closed" if a
 * channel is closed and empty; nil, "timeout" after the time. Raises if all are
 * orphaned. */
static int select_channel(lua_State *L) {
  Choice choice;
  uint64_t deadline = domain_lib_deadline(L, 2);
  read_choice(L, &choice);
  ChannelResult result = select_once(L, &choice, deadline);
  if (result == CHANNEL_TIMEOUT) {
    lua_pushnil(L);
    lua_pushliteral(L, "timeout");
    return 2;
  }
  if (result != CHANNEL_OK && result != CHANNEL_CLOSED) check_result(L, result);
  lua_rawgeti(L, 1, (lua_Integer)choice.index + 1);
  if (result == CHANNEL_OK) return 1 + transfer_decode(L, choice.message);
  lua_pushnil(L);
  lua_pushliteral(L, "closed");
  return 3;
}

/* ---- the rest ------------------------------------------------------------ */

/* Implements channel:close(): nothing can be sent any more; what is in the channel can
   still be received. */
static int channel_close_it(lua_State *L) {
  channel_close(check_channel(L, 1));
  return 0;
}

/* Implements channel:is_closed() -> boolean. */
static int channel_closed(lua_State *L) {
  lua_pushboolean(L, channel_is_closed(check_channel(L, 1)));
  return 1;
}

/* Implements channel:capacity() -> integer. */
static int channel_get_capacity(lua_State *L) {
  lua_pushinteger(L, channel_capacity(check_channel(L, 1)));
  return 1;
}

/* Implements channel:id() -> integer, as messages about deadlocks show it. */
static int channel_get_id(lua_State *L) {
  lua_pushinteger(L, channel_id(check_channel(L, 1)));
  return 1;
}

/* Implements #channel: the number of messages in it at this moment. */
static int channel_length(lua_State *L) {
  lua_pushinteger(L, channel_waiting(check_channel(L, 1)));
  return 1;
}

static int channel_tostring(lua_State *L) {
  lua_pushfstring(L, "channel %d", (int)channel_id(check_channel(L, 1)));
  return 1;
}

static const luaL_Reg methods[] = {
  {"send", channel_send_value}, {"try_send", channel_try_send},
  {"receive", channel_receive_value}, {"try_receive", channel_try_receive},
  {"values", channel_values}, {"close", channel_close_it}, {"is_closed", channel_closed},
  {"capacity", channel_get_capacity}, {"id", channel_get_id}, {NULL, NULL}};

static const luaL_Reg metamethods[] = {{"__gc", channel_collect},
                                       {"__len", channel_length},
                                       {"__tostring", channel_tostring},
                                       {NULL, NULL}};

static void make_handles_table(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, HANDLES_KEY);
}

void channel_lib_prepare(lua_State *L) {
  luaL_newmetatable(L, CHANNEL_TYPE);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "channel");
  lua_setfield(L, -2, "__metatable");
  Sharing *sharing = &L->domain->sharing;
  sharing->channel_metatable = (Table *)lua_topointer(L, -1);
  sharing->push_channel = push_channel;
  lua_pop(L, 1);
  make_handles_table(L);
}

void channel_lib_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"channel", channel_create}, {"select", select_channel}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
