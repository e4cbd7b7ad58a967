/* SPDX-License-Identifier: MIT */
/* runtime/introspection.c: where readers in other processes find domains, threads, frames
 * and functions (<eventring/introspection.h>, doc/INTROSPECTION.md).
 *
 * This file holds only data that the compiler fills in, and the table of the domains.
 * Readers get consistent views because frames are filled in a certain order (frame.h),
 * and because the words named here are written by plain aligned stores.
 */
#include "introspection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "context.h"
#include "eventring/introspection.h"
#include "frame.h"
#include "peer.h"
#include "position.h"
#include "thread.h"

enum { SLOTS = 2 * PEER_MAX, NO_SLOT = -1 };

static Domain *domains[SLOTS]; /* atomic */
struct eventring_request introspection_request;

/* Readers find this through the note. Hidden, since nothing else refers to it by name. */
extern const struct eventring_introspection saros_introspection;

#define HERE(type, field) {EVENTRING_HERE, offsetof(type, field)}
#define OF_PEER(field) {offsetof(Domain, peer), offsetof(struct Peer, field)}
#define ADDRESS(x) ((uint64_t)(uintptr_t)&(x))

/* Rules for a domain that waits: Peer.wait_kind. */
#define WAITS(wait, what) \
  {.where = OF_PEER(wait_kind), .size = 4, .mask = UINT32_MAX, .value = (wait), \
   .activity = EVENTRING_ACTIVITY_WAITING, .text = what}
#define WAITS_FOR(wait, what) \
  {.where = OF_PEER(wait_kind), .size = 4, .mask = UINT32_MAX, .value = (wait), \
   .activity = EVENTRING_ACTIVITY_WAITING, .subject = OF_PEER(wait_id), .has_subject = 1, \
   .text = what}
#define FLAG(field, what, does) \
  {.where = HERE(Domain, gc.field), .size = 1, .mask = 0xff, .value = 0, .differs = 1, \
   .activity = (does), .text = what}

__attribute__((used, visibility("hidden")))
const struct eventring_introspection saros_introspection = {
  .magic = EVENTRING_INTROSPECTION_MAGIC,
  .version = EVENTRING_INTROSPECTION_VERSION,
  .size = sizeof saros_introspection,
  .address = ADDRESS(saros_introspection),
  .host = "saros",
  .request = ADDRESS(introspection_request),
  .domains = ADDRESS(domains),
  .domain_places = SLOTS,
  .domain = {
    .id = OF_PEER(id),
    .thread = OF_PEER(tid),
    .name = OF_PEER(name),
    .name_size = sizeof ((struct Peer *)0)->name,
    .current = offsetof(Domain, current),
    .main = offsetof(Domain, main_thread),
    .roots = offsetof(Domain, registry),
    .modules = "_LOADED",
  },
  .thread = {
    .head = offsetof(lua_State, errfunc),
    .frame = offsetof(lua_State, ci),
    .resumer = offsetof(lua_State, resumer),
    .status = offsetof(lua_State, status),
    .suspended = LUA_YIELD,
    .domain = offsetof(lua_State, domain),
    .stack = offsetof(lua_State, stack),
    .stack_end = offsetof(lua_State, stack_end),
    .type = offsetof(lua_State, type),
    .is_type = LUA_TTHREAD,
    .first_frame = offsetof(lua_State, base_ci),
  },
  .frame = {
    .size = sizeof(CallInfo),
    .function = offsetof(CallInfo, func),
    .previous = offsetof(CallInfo, prev),
    .next = offsetof(CallInfo, next),
    .status = offsetof(CallInfo, status),
    .c_mask = CALL_C,
    .finalizer_mask = CALL_FINALIZER,
    .tail_mask = CALL_TAIL,
    .identity = offsetof(CallInfo, u.lua.k),
    .c_function = offsetof(CallInfo, u.c.running),
    .pc = offsetof(CallInfo, u.lua.pc),
    .depth = offsetof(CallInfo, depth),
    .entries = offsetof(CallInfo, entries),
  },
  .value = {
    .size = sizeof(TValue),
    .payload = offsetof(TValue, v),
    .tag = offsetof(TValue, tag),
    .tags = {
      {TAG_NIL, EVENTRING_VALUE_NIL, "nil"},
      {TAG_FALSE, EVENTRING_VALUE_FALSE, "boolean"},
      {TAG_TRUE, EVENTRING_VALUE_TRUE, "boolean"},
      {TAG_INT, EVENTRING_VALUE_INT, "number"},
      {TAG_FLOAT, EVENTRING_VALUE_FLOAT, "number"},
      {TAG_SHORT_STRING, EVENTRING_VALUE_STRING, "string"},
      {TAG_LONG_STRING, EVENTRING_VALUE_STRING, "string"},
      {TAG_TABLE, EVENTRING_VALUE_TABLE, "table"},
      {TAG_LIGHTUSERDATA, EVENTRING_VALUE_OBJECT, "userdata"},
      {TAG_USERDATA, EVENTRING_VALUE_OBJECT, "userdata"},
      {TAG_THREAD, EVENTRING_VALUE_THREAD, "thread"},
      {TAG_LUA_CLOSURE, EVENTRING_VALUE_FUNCTION, "function"},
      {TAG_C_CLOSURE, EVENTRING_VALUE_CCLOSURE, "function"},
      {TAG_C_FUNCTION, EVENTRING_VALUE_CFUNCTION, "function"},
      {TAG_PRIMITIVE, EVENTRING_VALUE_CFUNCTION, "function"},
    },
  },
  .closure = {
    .prototype = offsetof(LuaClosure, p),
    .c_function = offsetof(CClosure, f),
  },
  .prototype = {
    .size = sizeof(Prototype),
    .type = offsetof(Prototype, type),
    .is_type = TYPE_PROTO,
    .identity = offsetof(Prototype, k),
    .source = offsetof(Prototype, source),
    .name = offsetof(Prototype, name),
    .code = offsetof(Prototype, code),
    .code_count = offsetof(Prototype, ncode),
    .instruction = sizeof(Instruction),
    .lines = offsetof(Prototype, positions),
    .line_count = offsetof(Prototype, npositions),
    .forms = { /* the forms of position.h */
      {.mask = 1u << 31, .value = 0, .lines = INT32_MAX},
      {.mask = 3u << 30, .value = 2u << 30, .shift = POSITION_COLUMNS,
       .lines = (1u << POSITION_LINES) - 1},
      {.mask = 3u << 30, .value = 3u << 30, .shift = POSITION_WIDE_COLUMNS,
       .lines = (1u << (30 - POSITION_WIDE_COLUMNS)) - 1},
    },
    .first_line = offsetof(Prototype, line_defined),
    .last_line = offsetof(Prototype, last_line_defined),
    .locals = offsetof(Prototype, locals),
    .local_count = offsetof(Prototype, nlocals),
    .local_size = sizeof(LocalVar),
    .local_name = offsetof(LocalVar, name),
    .local_from = offsetof(LocalVar, start_pc),
    .local_to = offsetof(LocalVar, end_pc),
  },
  .string = {
    .type = offsetof(String, type),
    .is_short = TYPE_SHORT_STRING,
    .short_length = offsetof(String, short_len),
    .long_length = offsetof(String, u.long_len),
    .bytes = offsetof(String, data),
  },
  .table = {
    .nodes = offsetof(Table, node),
    .node_mask = offsetof(Table, node_mask),
    .state = offsetof(Table, state),
    .half_more = TABLE_ANNEX,
    .node_size = sizeof(Node),
    .node_value = offsetof(Node, v),
    .node_value_tag = offsetof(Node, tag),
    .node_key = offsetof(Node, key),
    .node_key_tag = offsetof(Node, key_tag),
  },
  .heap = {
    .first = HERE(Domain, heap.mapped),
    .next = offsetof(Chunk, next),
    .size = HEAP_CHUNK_SIZE,
    .used_from = HEAP_BLOCK_SIZE,
    .step = HEAP_GRANULE,
    .scattered = HERE(Domain, heap.chunks),
    .pieces = HEAP_CHUNK_BLOCKS,
    .piece = offsetof(Chunk, blocks) + offsetof(Block, start),
    .piece_step = sizeof(Block),
    .piece_size = HEAP_BLOCK_SIZE,
  },
  .rules = {
    FLAG(in_finalizers, "in a finalizer", EVENTRING_ACTIVITY_FINALIZING),
    FLAG(running, "collecting garbage", EVENTRING_ACTIVITY_COLLECTING),
    WAITS_FOR(WAIT_SEND, "sending to channel"),
    WAITS_FOR(WAIT_RECEIVE, "receiving from channel"),
    WAITS(WAIT_SELECT, "receiving from several channels"),
    WAITS_FOR(WAIT_JOIN, "joining domain"),
    WAITS(WAIT_SLEEP, "sleeping"),
  },
  .coroutine = {
    .size = offsetof(lua_State, base_ci),
    .new_status = LUA_OK,
    .top = offsetof(lua_State, top),
    .frames = offsetof(lua_State, nci),
    .created_in = offsetof(lua_State, created_in),
    .created_at = offsetof(lua_State, created_at),
    .resumed_in = offsetof(lua_State, resumed_in),
    .resumed_at = offsetof(lua_State, resumed_at),
    .state = offsetof(lua_State, gc),
    .settled_mask = GC_CLEAN,
    .ran_after = offsetof(lua_State, ran_after),
    .ran_before = offsetof(lua_State, ran_before),
    .looked = HERE(Domain, gc.ticks.all_scanned),
    .young_mask = GC_YOUNG,
    .lives = HERE(Domain, gc.stats.minors),
    .lines = offsetof(Chunk, lines),
    .line_size = HEAP_LINE_SIZE,
    .ticks = CLOCK_TICKS,
    .bytes = LUA_EXTRASPACE + sizeof(lua_State),
    .spare_values = EXTRA_STACK,
  },
  .spans = {
    .tag = TAG_USERDATA,
    .id = sizeof(Userdata) + offsetof(Context, id),
    .count = sizeof(Userdata) + offsetof(Context, count),
    .hidden = sizeof(Userdata) + offsetof(Context, hidden),
    .open = sizeof(Userdata) + offsetof(Context, open),
  },
  .lines = {.noted = HERE(Domain, noting)},
};
EVENTRING_INTROSPECTION_NOTE(saros_introspection);

/* ---- requests ------------------------------------------------------------ */

static bool may_be_asked(void) {
  const char *text = secure_getenv("SAROS_EVENTRING_REMOTE");
  return text == NULL || strcmp(text, "0") != 0;
}

/* Checks the directory, which another process has named. Returns 0, or an errno. */
static int check_directory(const char *path) {
  if (memchr(path, '\0', EVENTRING_REQUEST_PATH) == NULL) return ENAMETOOLONG;
  if (path[0] == '\0') return 0;
  if (path[0] != '/') return EINVAL;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  int failure = faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
  close(fd);
  return failure;
}

bool introspection_take_request(const char **directory) {
  static char path[EVENTRING_REQUEST_PATH];
  struct eventring_request *asked = &introspection_request;
  /* acquire: the directory is copied after this load. The partner is in another process:
   * ask (eventring/tools/start.c) writes the directory and then the word, by two calls of
   * process_vm_writev */
  uint32_t what = __atomic_fetch_and(&asked->word, EVENTRING_REQUEST_LINES, __ATOMIC_ACQUIRE) &
                  ~(uint32_t)EVENTRING_REQUEST_LINES;
  if (what == 0) return false;
  memcpy(path, asked->directory, sizeof path);
  int why = !may_be_asked() ? EPERM
            : what != EVENTRING_REQUEST_START ? EINVAL : check_directory(path);
  if (why != 0) introspection_reply(why);
  *directory = path;
  return why == 0;
}

void introspection_reply(int why) {
  struct eventring_request *asked = &introspection_request;
  __atomic_store_n(&asked->refused, (uint32_t)why, __ATOMIC_RELAXED);
  /* release, after `refused`: await_reply in eventring/tools/start.c loads `taken_up`
   * with acquire, from a copy of this memory, and then reads `refused` */
  __atomic_fetch_add(&asked->taken_up, 1, __ATOMIC_RELEASE);
}

uint64_t introspection_lines_until(void) {
  if (!__atomic_load_n(&introspection_request.allowed, __ATOMIC_RELAXED)) return 0;
  return __atomic_load_n(&introspection_request.lines_until, __ATOMIC_RELAXED);
}

void introspection_lines_seen(void) {
  __atomic_fetch_and(&introspection_request.word, ~(uint32_t)EVENTRING_REQUEST_LINES,
                     __ATOMIC_RELAXED);
}

/* ---- domains ------------------------------------------------------------- */

/* Number of slots in use. Relaxed: if an old value hides a free slot, a domain is not
 * shown to readers. */
static int taken;

void introspection_add(Domain *d) {
  __atomic_store_n(&introspection_request.allowed, may_be_asked(), __ATOMIC_RELAXED);
  d->introspection_slot = NO_SLOT;
  if (__atomic_load_n(&taken, __ATOMIC_RELAXED) >= SLOTS) return;
  for (int n = 0; n < SLOTS; n++) {
    Domain *none = NULL;
    if (__atomic_load_n(&domains[n], __ATOMIC_RELAXED) != NULL) continue;
    /* release: pairs with the acquire load in introspection_domain, which thus finds the
     * domain complete */
    if (!__atomic_compare_exchange_n(&domains[n], &none, d, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
      continue;
    d->introspection_slot = n;
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    return;
  }
}

static void clear_slot(int n) {
  __atomic_store_n(&domains[n], NULL, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&taken, 1, __ATOMIC_RELAXED);
}

void introspection_remove(Domain *d) {
  if (d->introspection_slot == NO_SLOT ||
      __atomic_load_n(&domains[d->introspection_slot], __ATOMIC_RELAXED) != d)
    return; /* a fork has removed it already */
  clear_slot(d->introspection_slot);
}

bool introspection_domain(unsigned n, Domain **d) {
  if (n >= SLOTS) return false;
  /* acquire: pairs with the release exchange in introspection_add, so that the domain is
   * complete */
  *d = __atomic_load_n(&domains[n], __ATOMIC_ACQUIRE);
  return true;
}

void introspection_keep_only(const Domain *d) {
  for (int n = 0; n < SLOTS; n++)
    if (__atomic_load_n(&domains[n], __ATOMIC_RELAXED) != NULL &&
        __atomic_load_n(&domains[n], __ATOMIC_RELAXED) != d)
      clear_slot(n);
}
