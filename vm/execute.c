/* SPDX-License-Identifier: MIT */
/* vm/execute.c: the interpreter loop.  One function by nature, hence its length.
 *
 * State. L, own, ci, base, k and pc are locals. `own` is the running frame, the same as
 * ci, but kept in one register of the machine for all of the loop (gcc would reload ci
 * from the stack at most uses). base and k are derived from the frame, which keeps the
 * constants of its function (u.lua.k) so that a return finds them at once; base, k and pc
 * are reloaded whenever the frame changes or the stack may have moved. `dispatch` is the
 * handler table in force (watch.c): it is reread from L at returns, at safepoints and
 * after anything that may run other code, so that a hook set from elsewhere takes effect
 * at once and costs nothing while there is none. (A call of a Lua function in place need
 * not reread it: no other code has run since.)
 *
 * Watching. L->instrumented says what watches the thread (watch.h). The general paths
 * into and out of a call test it and call vm_call_entered and vm_call_left. The fast
 * handlers of calls and returns do not test it: while it is not 0, `dispatch` is a table
 * without these handlers.
 *
 * State that only fast paths keep. A watch may begin or end while a program runs. So if
 * one path leaves some state in a frame or in code, the other path must leave it as well,
 * or mark it as unknown. The list below has all such state; an addition to a fast path
 * adds a row and an assertion.
 *
 *  Position of `next`. TFORCALL keeps it in the scratch of the control variable R[A+2],
 *    so that it need not search for the key. It is the position of the key R[A+2] in the
 *    table R[A+1], or unknown: then the key is searched for. A watched TFORCALL calls
 *    `next` and leaves the position unknown; so does debug.setlocal of R[A], R[A+1] or
 *    R[A+2] (debug_local_changed), in any coroutine. Errors and breaks leave the loop;
 *    TFORPREP sets it again. A stack moves with its scratch. The collector leaves
 *    positions unchanged; rehashing does not, but a program may not add keys to a table
 *    that it traverses. (check_position)
 *  Iterator of ipairs. Its only state is the control variable, which is the index.
 *  Numeric loops. Both paths, and pairs of instructions, keep the count in R[A+1].
 *  Inline caches (aux). They say where to look first; the key found there is compared. So
 *    the collector and rehashing may leave them stale. Both paths use the same words.
 *  QUICK instructions. Each checks its operands and falls back to its base. A watch runs
 *    the first of a FUSED pair alone: it must not become a QUICK one, which would end the
 *    pair (QUICKEN).
 *  GETASSUMED. It replaces a pair of GETTABUP and GETFIELD, and sets the same register;
 *    the word that says where GETTABUP looks then holds the number of the assumption. A
 *    watch that runs instructions one by one turns it back into the pair (split_assumed).
 *  FUSED pairs. The first instruction passes values to the second in C variables. Nothing
 *    can run between the two: there is no safepoint, or dispatch is compared after it.
 *  CALL_x flags. Both ways into a call set them, for native frames as well. Activating a
 *    frame clears them; an operation that waited clears its own flag (NEGATE, CLOSING,
 *    UNWIND, HOOK_YIELDED).
 *  CallInfo.u2. A hook that stores there (transfer) does so when nothing else is kept in
 *    it: at the entry, and at the end, after variables were closed.
 *  L->old_pc. Only line hooks use it; they expect that it may be stale.
 *  L->npcalls. A pcall in the loop increments it, and restores it from its frame.
 *
 * Leaving the fast path.  An instruction that may raise, allocate, or call
 * does so between SAVE and RELOAD: SAVE stores pc in the frame (for messages
 * and line numbers) and puts L->top above all registers; RELOAD fetches base
 * and dispatch again.  While a slow operation runs, the frame's pc points just
 * behind the instruction word (at its aux word or jump, if any).
 *
 * Safepoints. There is a SAFE_POINT at every back-edge and tail call, where a program
 * that runs for long checks for requests from elsewhere. A request that reaches the
 * domain's own thread (of peer.h, or a hook set by a signal handler) has put another
 * table into L->dispatch, and op_each handles it before the next instruction; a recording
 * is started by a word of its file (runtime/probes.h). No results are open there and all
 * registers are below L->ci->top. Loops that count their rounds have a safepoint in each
 * 32nd round, and at their start, so that nested loops of few rounds have them as well.
 * (Calls and returns only read L->dispatch: a program that does nothing but call would
 * lose 2 % of its time by a safepoint at every call.)
 *
 * Metamethods.  A slow operation either completes, or leaves a function with its
 * arguments above the frame (meta_prepare_*).  Then the function is called like any
 * other, with CALL_SPECIAL in its frame, and the frame below waits inside its
 * instruction.  When the function returns, the table op_finish says how that instruction
 * continues with the result, which is used where it is. RETURN0, RETURN1 and C functions
 * jump directly to this code (metamethod_done), all else through `place_results`. So
 * metamethods do not grow the C stack, may yield, and cost little more than calls.
 *
 * Returning.  A frame without CALL_FRESH, CALL_SPECIAL and CALL_VARARG was
 * called by a Lua frame's CALL: its results are placed and the caller continues.
 * Otherwise `frame_done` checks what waits below: the C caller of this loop (FRESH), an
 * interrupted instruction, or a native frame: pcall, a coroutine's resumer, or a C
 * function with a continuation.
 *
 * Collections happen only in GC_CHECK. Instructions that make an object put it into the
 * highest register in use (the compiler ensures that). At the GC_CHECK, L->top is just
 * above that register, or at that register if the object is yet to be made. Elsewhere
 * L->top is above all registers of the frame. Registers that are not live may hold old
 * values: each collection marks or clears every slot, so they are never dangling.
 */
#include "execute.h"

#include <math.h>
#include <string.h>

#include "call.h"
#include "check_instruction.h"
#include "contexts.h"
#include "coroutine.h"
#include "debug_error.h"
#include "domain.h"
#include "func.h"
#include "gc.h"
#include "gc_inline.h"
#include "hook.h"
#include "known_names.h"
#include "library_fields.h"
#include "meta.h"
#include "noting.h"
#include "number.h"
#include "opcodes.h"
#include "opinfo.h"
#include "primitives.h"
#include "probes.h"
#include "safe_point.h"
#include "str.h"
#include "table.h"
#include "thread.h"
#include "watch.h"

#define MAX_PCALLS 1000
/* rounds between two safepoints of a loop that counts its rounds; a power of two */
#define LOOP_CHECK 32

const void *const *vm_dispatch_normal;
static const void *dispatch_calls[OP_COUNT], *dispatch_each[OP_COUNT], *dispatch_noting[OP_COUNT];
/* handlers that run an instruction alone, not in a pair; alone_calls is for a watch of
   calls */
static const void *alone_plain[OP_COUNT], *alone_calls[OP_COUNT];
const void *const *const vm_dispatch_calls = dispatch_calls;
const void *const *const vm_dispatch_each = dispatch_each;
const void *const *const vm_dispatch_noting = dispatch_noting;

/* Declares a variable of the loop that seldom changes, and keeps it in a register that
 * calls preserve. Otherwise gcc 12 moves these variables between registers and stack
 * slots at the end of almost every instruction. (For pc and base gcc does better without
 * this macro.) Naming a register has this effect only if the compiler obeys the name
 * outside of asm statements, too, as gcc does. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define IN_REGISTER(declaration, name) register declaration __asm__(name)
#else
#define IN_REGISTER(declaration, name) declaration
#endif

void vm_dispatch_init(void) {
  if (vm_dispatch_normal == NULL) vm_execute(NULL, NULL, ENTER_CALL, NULL, 0);
}

/* Handlers that are only in the tables for watched threads. */
typedef struct Ways {
  const void *each, *call, *tail_call, *return0, *return1, *note, *note_often, *split;
} Ways;

/* Makes the tables for noting. All pairs are split: each of their instructions is
   noted. */
static void make_noting_tables(const void *const *normal, const Ways *ways) {
  for (int op = 0; op < OP_COUNT; op++) dispatch_noting[op] = ways->note;
  dispatch_noting[OP_LOOP] = dispatch_noting[OP_FORLOOP] = dispatch_noting[OP_TFORLOOP] =
      dispatch_noting[OP_CALL] = dispatch_noting[OP_TAILCALL] = ways->note_often;
  memcpy(alone_plain, normal, sizeof alone_plain);
  /* a noted thread calls library functions with a frame */
  alone_plain[OP_CALL] = ways->call;
  alone_plain[OP_TAILCALL] = ways->tail_call;
  memcpy(alone_calls, dispatch_calls, sizeof alone_calls);
  alone_plain[OP_GETASSUMED] = alone_calls[OP_GETASSUMED] = ways->split;
#define OP(name, format, flags, uses, sets, text)
#define FUSED(base, next, format, flags, uses, sets) \
  alone_plain[OP_##base##_##next] = normal[OP_##base]; \
  alone_calls[OP_##base##_##next] = dispatch_calls[OP_##base];
#include "opcodes.def"
#undef OP
}


/* Makes the tables for watches. In dispatch_calls, a pair whose second instruction calls
   or returns is split. */
static void make_tables(const void *const *normal, const Ways *ways) {
  memcpy(dispatch_calls, normal, sizeof dispatch_calls);
  dispatch_calls[OP_CALL] = ways->call;
  dispatch_calls[OP_TAILCALL] = ways->tail_call;
  dispatch_calls[OP_RETURN0] = ways->return0;
  dispatch_calls[OP_RETURN1] = ways->return1;
#define OP(name, format, flags, uses, sets, text)
#define FUSED(base, next, format, flags, uses, sets) \
  if (dispatch_calls[OP_##next] != normal[OP_##next]) \
    dispatch_calls[OP_##base##_##next] = normal[OP_##base];
#include "opcodes.def"
#undef OP
  for (int op = 0; op < OP_COUNT; op++) dispatch_each[op] = ways->each;
  make_noting_tables(normal, ways);
  vm_dispatch_normal = normal;
}

/* ---- helpers out of line ------------------------------------------------- */

/* the most steps of __index or __newindex; after them meta.c continues, or detects the
   loop */
#define MAX_TABLE_CHAIN 100

/* Returns the node of a field, or NULL if there is none. Stores the node's index in the
 * aux word. If the node is in its main position, the hash is stored instead, which fits
 * tables of all sizes. */
ALWAYS_INLINE Node *find_field(const Table *t, const String *key, Instruction *aux) {
  Node *n = &t->node[key->hash & t->node_mask];
  if (likely(n->key.p == (const void *)key && n->key_tag == TAG_SHORT_STRING)) {
    *aux = AUX_KEY(*aux) | key->hash << 16;
    return n;
  }
  for (;;) {
    if (n->next == 0) return NULL;
    n += n->next;
    if (n->key.p == (const void *)key && n->key_tag == TAG_SHORT_STRING) break;
  }
  size_t index = (size_t)(n - t->node);
  if (index <= 0xffff) *aux = AUX_KEY(*aux) | (Instruction)index << 16;
  return n;
}

/* Reads a field that is not where the instruction says, from a table or its chain of
 * __index tables. Returns NULL, or a metamethod, like meta_prepare_get. (The frequent
 * paths call nothing, so that no registers are saved.) */
static NOINLINE TValue *get_field(lua_State *L, const TValue *o, const TValue *key,
                                  TValue *result, Instruction *aux) {
  const String *name = as_string(key);
  for (int loop = 0; loop < MAX_TABLE_CHAIN && is_table(o); loop++) {
    const Table *t = as_table(o);
    if (!table_lacks(t, name)) {
      const Node *node = find_field(t, name, aux);
      if (node != NULL && node->tag != TAG_NIL) {
        value_copy(result, node_value(node));
        return NULL;
      }
    }
    if (t->metatable == NULL) {
      set_nil(result);
      return NULL;
    }
    const TValue *handler = table_metamethod_in_place(L->domain, t->metatable, META_INDEX);
    if (handler == NULL) return meta_get_absent(L, o, key, result);
    if (is_function(handler)) return meta_push_call(L, handler, o, key);
    o = handler;
  }
  return meta_prepare_get(L, o, key, result);
}

/* Returns the value that the chain of __index tables of t has for an integer that t
 * itself does not have, or NULL if the chain has anything else than tables. */
static NOINLINE const TValue *index_through_tables(lua_State *L, const Table *t, int64_t index) {
  for (int loop = 0; loop < MAX_TABLE_CHAIN; loop++) {
    const TValue *handler = table_fast_metamethod(L->domain, t->metatable, META_INDEX);
    if (handler == NULL) return &table_absent;
    if (!is_table(handler)) return NULL;
    const TValue *slot = table_get_int(as_table(handler), index);
    if (!is_nil(slot)) return slot;
    t = as_table(handler);
  }
  return NULL;
}

/* Returns the class of a metatable, the table where methods usually are, or NULL if there
 * is none. (method_holder returns the table for an object: the object itself, its class,
 * or the functions for strings.) */
ALWAYS_INLINE const TValue *class_of(Domain *d, Table *mt) {
  const TValue *handler = table_fast_metamethod(d, mt, META_INDEX);
  return handler != NULL && is_table(handler) ? handler : NULL;
}
ALWAYS_INLINE Table *method_holder(Domain *d, const TValue *o, const String *key) {
  const TValue *class;
  if (likely(is_table(o))) {
    Table *t = as_table(o);
    if (t->metatable == NULL || !table_lacks(t, key)) return t;
    class = class_of(d, t->metatable);
  } else if (is_string(o)) {
    class = class_of(d, d->metatables[LUA_TSTRING]);
  } else {
    return NULL;
  }
  return class != NULL ? as_table(class) : NULL;
}

/* Returns a method that is not where it was last found in the class. Searches the class
 * and the classes that it inherits from; returns NULL if none has the method. */
static NOINLINE const TValue *inherited_method(Domain *d, Table *class, const String *key,
                                               Instruction *aux) {
  for (int level = 0; level < MAX_TABLE_CHAIN; level++) {
    if (!table_lacks(class, key)) {
      const Node *node = &class->node[AUX_SLOT(*aux) & class->node_mask];
      if (likely(node_holds(node, key))) return node_value(node);
      node = find_field(class, key, aux);
      if (node != NULL && node->tag != TAG_NIL) return node_value(node);
    }
    if (class->metatable == NULL) return NULL;
    const TValue *next = class_of(d, class->metatable);
    if (next == NULL) return NULL;
    class = as_table(next);
  }
  return NULL;
}

/* Stores into the slot where a lookup of a field ended, in a table that has no handler
   for the field. */
static TValue *store_field(lua_State *L, Table *t, const TValue *key, const TValue *slot,
                           const TValue *value) {
  if (slot == &table_absent) gc_make_room_to_grow(L, table_growth(t));
  table_finish_set(L, t, key, slot, value);
  return NULL;
}

/* Stores into a field that is not where the instruction says. Returns NULL, or a
   metamethod, like meta_prepare_set. */
static NOINLINE TValue *set_field(lua_State *L, const TValue *o, const TValue *key,
                                  const TValue *value, Instruction *aux) {
  const String *name = as_string(key);
  for (int loop = 0; loop < MAX_TABLE_CHAIN && is_table(o); loop++) {
    Table *t = as_table(o);
    const Table *mt = t->metatable;
    Node *node = table_lacks(t, name) ? NULL : find_field(t, name, aux);
    if (node != NULL && (node->tag != TAG_NIL || mt == NULL || (mt->flags & 1u << META_NEWINDEX))) {
      t->flags = 0;
      if (unlikely(node->assumed)) assumed_set(L->domain, node);
      value_copy(node_value(node), value);
      gc_barrier_table(L, t, node, value);
      return NULL;
    }
    const TValue *slot = node != NULL ? node_value(node) : &table_absent;
    if (mt == NULL || (mt->flags & 1u << META_NEWINDEX)) return store_field(L, t, key, slot, value);
    const TValue *handler = table_metamethod_in_place(L->domain, mt, META_NEWINDEX);
    if (handler == NULL) return meta_set_at(L, o, key, slot, value);
    if (is_function(handler)) return meta_push_call3(L, handler, o, key, value);
    o = handler;
  }
  return meta_prepare_set(L, o, key, value);
}

static NOINLINE TValue *set_int_key(lua_State *L, const TValue *o, int64_t key,
                                    const TValue *value) {
  TValue k;
  set_int(&k, key);
  if (!is_table(o)) return meta_prepare_set(L, o, &k, value);
  return meta_set_at(L, o, &k, table_get_int(as_table(o), key), value);
}

ALWAYS_INLINE bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/* Computes the limit of an integer loop as an integer; returns true if the loop does not
 * run. NaN is no limit for a loop that counts down, as in the reference. */
static bool for_limit(lua_State *L, int64_t init, const TValue *limit, int64_t *result,
                      int64_t step) {
  if (is_int(limit)) {
    *result = limit->v.i;
  } else {
    double n;
    if (!number_to_float(limit, &n)) error_for(L, limit, "limit");
    if (!number_float_to_int(n, result, step < 0 ? FLOAT_CEIL : FLOAT_FLOOR)) {
      if (n > 0) {
        if (step < 0) return true;
        *result = INT64_MAX;
      } else {
        if (step > 0) return true;
        *result = INT64_MIN;
      }
    }
  }
  return step > 0 ? init > *result : init < *result;
}

static double for_number(lua_State *L, const TValue *o, const char *what) {
  double n;
  if (!number_to_float(o, &n)) error_for(L, o, what);
  return n;
}

/* Prepares a numeric loop; returns true if it does not run at all. */
static NOINLINE bool for_prepare(lua_State *L, TValue *ra) {
  TValue *init = ra, *limit = ra + 1, *step = ra + 2;
  if (is_int(init) && is_int(step)) {
    int64_t last, start = init->v.i, by = step->v.i;
    if (by == 0) error_run(L, "'for' step is zero");
    value_copy(ra + 3, init);
    if (for_limit(L, start, limit, &last, by)) return true;
    uint64_t count = by > 0 ? ((uint64_t)last - (uint64_t)start) / (uint64_t)by
                            : ((uint64_t)start - (uint64_t)last) / ((uint64_t)(-(by + 1)) + 1u);
    set_int(limit, (int64_t)count);
    return false;
  }
  double flimit = for_number(L, limit, "limit");
  double fstep = for_number(L, step, "step");
  double finit = for_number(L, init, "initial value");
  if (fstep == 0) error_run(L, "'for' step is zero");
  if (fstep > 0 ? flimit < finit : finit < flimit) return true;
  set_float(limit, flimit);
  set_float(step, fstep);
  set_float(init, finit);
  set_float(ra + 3, finit);
  return false;
}

static bool for_float_step(TValue *ra) {
  double step = ra[2].v.n, limit = ra[1].v.n, index = ra[0].v.n + step;
  if (step > 0 ? !(index <= limit) : !(limit <= index)) return false;
  ra[0].v.n = index;
  set_float(ra + 3, index);
  return true;
}

/* Begins a round of a loop over the pairs of the table, from the position in the scratch
 * of the control variable: sets that position, the variable, the key and the value.
 * Returns the bits of the position that have changed; 0 at the end. */
static NOINLINE uint32_t next_pair_further(const Domain *d, Table *t, TValue *ra) {
  uint32_t before = ra[2].extra, position = table_iterate(d, t, before, ra + 4, ra + 5);
  if (position == 0) return 0;
  value_copy(ra + 2, ra + 4);
  ra[2].extra = position;
  return before ^ position;
}

/* Begins a round like next_pair_further. Most often the next pair is at the stored
 * position, or in one of the next nodes. (This is a function so that the interpreter loop
 * keeps its registers.) */
static NOINLINE uint32_t next_pair(const Domain *d, Table *t, TValue *ra) {
  uint32_t before = ra[2].extra, after = before + 1;
  if (before < t->array_size) {
    const TValue *slot = &t->array[before];
    if (unlikely(is_nil(slot))) return next_pair_further(d, t, ra);
    set_int(ra + 2, after);
    set_int(ra + 4, after);
    value_copy(ra + 5, slot);
  } else {
    if (unlikely(d->gc.phase == GC_PHASE_CLEAR)) return next_pair_further(d, t, ra);
    const Node *n = &t->node[before - t->array_size], *end = t->node + table_node_count(t);
    for (; n < end && n->tag == TAG_NIL; n++) after++;
    if (n >= end) return 0;
    ra[2].v = ra[4].v = n->key;
    ra[2].tag = ra[4].tag = n->key_tag;
    value_copy(ra + 5, node_value(n));
  }
  ra[2].extra = after;
  return before ^ after;
}

/* Tells whether the position of the loop is known, or can be found from its control
 * variable. (If the table does not have that key, `next` raises.) */
ALWAYS_INLINE bool is_position_known(const Table *t, TValue *ra) {
  if (unlikely(ra[2].extra == TABLE_POSITION_UNKNOWN))
    ra[2].extra = table_position_after(t, ra + 2);
  return likely(ra[2].extra != TABLE_POSITION_UNKNOWN);
}

/* Reads a number that is an integer or equal to one, for a bit operation. */
ALWAYS_INLINE bool integral_value(const TValue *o, int64_t *i) {
  if (is_int(o)) {
    *i = o->v.i;
    return true;
  }
  if (!is_float(o) || !(o->v.n >= -0x1p63 && o->v.n < 0x1p63)) return false;
  *i = (int64_t)o->v.n;
  return (double)*i == o->v.n;
}

/* Tells whether a float can have exactly the value of this integer; returns false also
   for some large integers that a float can have. */
ALWAYS_INLINE bool is_float_exactly(int64_t i) {
  const uint64_t limit = UINT64_C(1) << 53;
  return (uint64_t)i + limit <= 2 * limit;
}

/* Shifts like number_shift_left. */
ALWAYS_INLINE int64_t shift_left(int64_t a, int64_t b) {
  if (unlikely((uint64_t)b + 63 > 126)) return 0;
  return (int64_t)(b >= 0 ? (uint64_t)a << b : (uint64_t)a >> -b);
}

/* Sets the variables of a generic loop behind the first two to nil: the iterator returns
 * two values. */
static NOINLINE void clear_more_variables(TValue *ra, int wanted) {
  for (int i = 3; i <= wanted; i++) set_nil(ra + 3 + i);
}

static NOINLINE void new_closure(lua_State *L, Prototype *p, UpValue **enclosing, TValue *base,
                                 TValue *ra) {
  LuaClosure *cl = lua_closure_new(L, p);
  set_lua_closure(ra, cl);
  for (int i = 0; i < p->nupvalues; i++) {
    const UpvalueDesc *u = &p->upvalues[i];
    cl->upvalues[i] = u->in_stack ? upvalue_find(L, base + u->index) : enclosing[u->index];
  }
}

/* Shifts function and fixed parameters above the extra arguments. A collection may have
 * scanned the frame already, in a hook for the call or before a tail call took the frame
 * over. The slots that are now below its function were not scanned then. */
static NOINLINE void adjust_varargs(lua_State *L, CallInfo *ci, int nparams) {
  int actual = (int)(L->top - ci->func) - 1, extra = actual - nparams;
  ci->u.lua.nextra = (uint32_t)extra;
  if (extra == 0) return; /* nothing to keep apart */
  Prototype *p = frame_closure(ci)->p;
  if (stack_lacks(L, p->max_stack + 1)) stack_grow_or_collect(L, p->max_stack + 1);
  TValue *from = ci->func, *to = L->top;
  value_copy(to, from);
  for (int i = 1; i <= nparams; i++) {
    value_copy(to + i, from + i);
    set_nil(from + i);
  }
  ci->func = to;
  ci->top = to + 1 + p->max_stack;
  L->top = to + 1 + nparams;
  ci->status = (ci->status & ~(uint32_t)CALL_SCANNED) | CALL_VARARG;
}

static NOINLINE void copy_varargs(lua_State *L, CallInfo *ci, TValue *to, int wanted) {
  int extra = (int)ci->u.lua.nextra, i;
  if (wanted < 0) {
    ptrdiff_t off = stack_save(L, to);
    wanted = extra;
    L->top = to;
    stack_check(L, extra);
    to = stack_restore(L, off);
    L->top = to + extra;
  }
  for (i = 0; i < wanted && i < extra; i++) value_copy(to + i, ci->func - extra + i);
  for (; i < wanted; i++) set_nil(to + i);
}

static NOINLINE void set_list(lua_State *L, Table *t, const TValue *values, uint32_t offset,
                              int n) {
  uint64_t last = (uint64_t)offset + (uint64_t)n;
  if (last > t->array_size) table_resize(L, t, (uint32_t)last, table_node_count(t));
  for (int i = 0; i < n; i++) {
    TValue *slot = &t->array[offset + (uint32_t)i];
    value_copy(slot, &values[i]);
    gc_barrier_table(L, t, slot, &values[i]);
  }
}

/* Returns the original slot of a frame's function, before varargs were shifted away. */
ALWAYS_INLINE TValue *frame_result_slot(CallInfo *ci) {
  if (likely(!(ci->status & CALL_VARARG))) return ci->func;
  return ci->func - (ci->u.lua.nextra + frame_closure(ci)->p->nparams + 1);
}

/* Joins the rest of a CONCAT that waited for a metamethod. Returns the next metamethod,
 * or NULL if the concatenation needs none. */
static NOINLINE TValue *finish_concat(lua_State *L, TValue *ra, TValue *result) {
  ptrdiff_t off = stack_save(L, ra);
  /* number of operands below the two that were joined */
  int left = (int)(result - 1 - ra);
  value_copy(result - 2, result);
  L->top = result - 1;
  TValue *call = left > 1 ? meta_prepare_concat(L, left) : NULL;
  if (call == NULL) value_copy(stack_restore(L, off), L->top - 1);
  return call;
}

/* Tells whether a primitive that an instrumented thread calls runs in the loop as usual.
 * Under hooks it does not: hooks see it as a call. If the primitive yields in the loop,
 * this function also records that the coroutine is left. */
static COLD bool runs_in_loop(lua_State *L, const Run *run, const Primitive *prim) {
  if (L->instrumented & INSTRUMENT_HOOKS) return false;
  if (prim->id == PRIM_YIELD && L->run == run && L->ncalls_nonyieldable == 0) context_leave(L);
  return true;
}

/* Checks the nesting of pcalls in the loop. It is bounded (generously: the reference
 * allows 200), so that errors in handlers of errors, each again inside many pcalls, end
 * in reasonable time. */
ALWAYS_INLINE void check_pcalls(lua_State *L) {
  if (unlikely(L->npcalls >= MAX_PCALLS)) error_run(L, "C stack overflow (too many nested pcalls)");
}

ALWAYS_INLINE uint32_t pcall_bits(const lua_State *L) {
  return CALL_PCALL | (L->allow_hook ? CALL_ALLOWHOOK : 0);
}

ALWAYS_INLINE void count_pcall(lua_State *L, CallInfo *ci) {
  ci->u2.npcalls = L->npcalls++;
  ci->u.c.old_errfunc = L->errfunc;
}

/* Pushes the frame of a pcall or xpcall that runs in the loop. */
static CallInfo *push_pcall(lua_State *L, TValue *func, int nresults, uint32_t status) {
  check_pcalls(L);
  CallInfo *ci = vm_push_native(L, func, nresults, status | pcall_bits(L));
  count_pcall(L, ci);
  return ci;
}

/* Begins the protected part of a pcall; returns the function to call. (begin_xpcall does
   this for an xpcall.) */
ALWAYS_INLINE TValue *begin_pcall(lua_State *L, CallInfo *ci, TValue *func) {
  ci->u.c.ctx = 1;
  L->errfunc = 0;
  return func + 1;
}

ALWAYS_INLINE TValue *begin_xpcall(lua_State *L, CallInfo *ci, TValue *func) {
  TValue swap; /* the function goes above its handler */
  value_copy(&swap, func + 1);
  value_copy(func + 1, func + 2);
  value_copy(func + 2, &swap);
  ci->u.c.ctx = 2;
  L->errfunc = stack_save(L, func + 1);
  return func + 2;
}

/* Begins a pcall or xpcall under hooks. Until the call is reported to the hooks, its
 * frame catches no errors. Returns the function to call, or NULL for wrong arguments or
 * another primitive. */
static COLD TValue *begin_hooked_pcall(lua_State *L, const Primitive *prim, TValue *func,
                                       int nresults, uint32_t status) {
  const int n = (int)(L->top - func) - 1;
  const bool has_handler = prim->id == PRIM_XPCALL;
  if (prim->id != PRIM_PCALL && !has_handler) return NULL;
  if (has_handler ? n < 2 || !is_function(func + 2) : n < 1) return NULL;
  check_pcalls(L);
  CallInfo *ci = vm_push_native(L, func, nresults, status);
  vm_call_entered(L);
  ci->status |= pcall_bits(L);
  count_pcall(L, ci);
  func = ci->func; /* a hook may have moved the stack */
  return has_handler ? begin_xpcall(L, ci, func) : begin_pcall(L, ci, func);
}

/* Prepares an operation as meta_prepare_arith does, with the constant k as an operand
 * that may have been written on the left (opcodes.def). */
static NOINLINE TValue *prepare_arith_constant(lua_State *L, int op, const TValue *x,
                                               const TValue *k, TValue *result) {
  bool left = k->extra == CONSTANT_ON_LEFT;
  return meta_prepare_arith(L, op, left ? k : x, left ? x : k, result);
}

/* Copies a constant into a register as one 16-byte move: the constant was stored long
 * ago, so the load does not wait, as that of value_copy might. Overwrites the scratch of
 * the register, which is not in use: no loop's state and no variable to be closed lies in
 * a register that code assigns. */
ALWAYS_INLINE void load_constant(TValue *to, const TValue *constant) { *to = *constant; }

/* ---- the loop ------------------------------------------------------------ */

/* Returns INS_sJ, in the width of a pointer. In a loop of few instructions computing the
 * next pc takes longest, so each of its steps counts. (The compiler would shift first,
 * and widen then.) */
ALWAYS_INLINE ptrdiff_t jump_offset(Instruction jump) {
  ptrdiff_t wide = (int32_t)jump;
  __asm__("" : "+r"(wide));
  return wide >> 8;
}

/* Operands are read as bytes of the instruction word before pc: one load each, instead of
 * a copy, a shift and a mask of a register. */
#define BYTE_BEFORE_PC(n) (((const uint8_t *)pc)[-(n)])
#define OPCODE BYTE_BEFORE_PC(4)
#define ARG_A BYTE_BEFORE_PC(3)
#define ARG_B BYTE_BEFORE_PC(2)
#define ARG_C BYTE_BEFORE_PC(1)
#define ARG_sB ((int)ARG_B - 128)
#define ARG_sC ((int)ARG_C - 128)
#define ARG_Bx (((const uint16_t *)pc)[-1])
#define ARG_sBx (((const int16_t *)pc)[-1])
#define ARG_sJ jump_offset(pc[-1])
/* The halves of aux, when pc points to it. */
#define NEXT_KEY (((const uint16_t *)pc)[0])
#define NEXT_SLOT (((const uint16_t *)pc)[1])
#define RA (base + ARG_A)
#define RB (base + ARG_B)
#define RC (base + ARG_C)
#define KB (k + ARG_B)
#define KC (k + ARG_C)
#define CLOSURE_OF_FRAME as_lua_closure(base - 1)

#ifdef SAROS_DEBUG
#define CHECK_INSTRUCTION check_instruction(L, pc, base, k)
#define CHECK_POSITION(ra) check_position(ra)
#else
#define CHECK_INSTRUCTION ((void)0)
#define CHECK_POSITION(ra) ((void)0)
#endif
#define NEXT \
  do { \
    CHECK_INSTRUCTION; \
    unsigned op = *(const uint8_t *)pc; \
    pc++; \
    goto *dispatch[op]; \
  } while (0)
#define CASE(name) L_##name
#define SAVE do { own->u.lua.pc = pc; L->top = own->top; } while (0)
#define RELOAD (own = L->ci, base = own->func + 1, dispatch = L->dispatch)
/* Calls the metamethod that `expr` prepared, if any. */
#define WITH_META(expr) \
  do { SAVE; func = (expr); if (func != NULL) { nresults = 1; goto call_meta; } RELOAD; } while (0)
/* Calls the metamethod of a store, which may make a table larger. */
#define STORE_WITH_META(expr) \
  do { \
    SAVE; \
    func = (expr); \
    if (func != NULL) { \
      nresults = 0; \
      goto call_meta; \
    } \
    RELOAD; \
    GC_CHECK; \
  } while (0)
#ifdef SAROS_STRESS
#define GC_CHECK_IF(due, limit) \
  do { \
    own->u.lua.pc = pc; \
    L->top = (limit); \
    gc_step(L); \
    RELOAD; \
  } while (0)
#else
#define GC_CHECK_IF(due, limit) \
  do { if (unlikely(due)) { own->u.lua.pc = pc; L->top = (limit); gc_step(L); RELOAD; } } while (0)
#endif
/* where a new object is made */
#define GC_CHECK_BELOW(limit) GC_CHECK_IF(L->domain->gc.pending, limit)
#define GC_CHECK GC_CHECK_IF(L->domain->gc.pending == GC_DUE, L->ci->top)
#define SAFE_POINT \
  do { \
    own->u.lua.pc = pc; /* for readers in other processes: the line of a loop */ \
    dispatch = L->dispatch; \
    probes_safe_point(L->domain); \
  } while (0)
#define SAFE_POINT_IF(condition) do { if (unlikely(condition)) SAFE_POINT; } while (0)
#define TAKE_JUMP do { pc += jump_offset(*pc); pc++; NEXT; } while (0)
/* After a test: `cond` decides whether the JMP in the next word is taken. */
#define TEST_JUMP(cond) do { if ((cond) == ARG_C) TAKE_JUMP; pc++; NEXT; } while (0)

/* Turns the running instruction into a QUICK one, or back. */
#define BECOME(op) (((uint8_t *)pc)[-4] = (op))
/* Turns the running instruction into a QUICK one if it is `base`. A pair, of which the
   watched path runs the first instruction alone, stays a pair. */
#define QUICKEN(base) \
  do { if (((uint8_t *)pc)[-4] == OP_##base) BECOME(OP_##base##F); } while (0)

#define ARITH(b, c, int_op, float_op, if_floats, luaop, prepare) \
  { \
    const TValue *x = (b), *y = (c); \
    if (likely(is_int(x))) { \
      if (likely(is_int(y))) { int_op; NEXT; } \
      if (likely(is_float(y))) { double nx = (double)x->v.i, ny = y->v.n; float_op; NEXT; } \
    } else if (likely(is_float(x))) { \
      if (likely(is_float(y))) { double nx = x->v.n, ny = y->v.n; if_floats; float_op; NEXT; } \
      if (likely(is_int(y))) { double nx = x->v.n, ny = (double)y->v.i; float_op; NEXT; } \
    } \
    WITH_META(prepare(L, luaop, x, y, RA)); \
    NEXT; \
  }
/* Floored division and its remainder; a power of two needs no division. The functions
 * called here raise for 0. */
#define INT_MOD(m, a, b) \
  do { \
    if (is_power_of_two(b)) m = (a) & ((b) - 1); \
    else if (likely((b) > 0)) { m = (a) % (b); m += m >> 63 & (b); } \
    else { SAVE; m = number_int_mod(L, a, b); } \
  } while (0)
#define INT_DIV(q, a, b) \
  do { \
    if (is_power_of_two(b)) q = (a) >> __builtin_ctzll((uint64_t)(b)); \
    else { \
      SAVE; \
      q = number_int_div(L, a, b); \
    } \
  } while (0)
#define WRAP(op) set_int(RA, (int64_t)((uint64_t)x->v.i op (uint64_t)y->v.i))
#define FLOAT(expr) set_float(RA, (expr))
#define ARITH_BOTH(name, int_op, float_op, luaop) \
  CASE(name): ARITH(RB, RC, int_op, float_op, (void)0, luaop, meta_prepare_arith) \
  CASE(name##K): ARITH(RB, KC, int_op, float_op, (void)0, luaop, prepare_arith_constant)
/* Makes the handler of an operation on two floats. */
#define FLOATS(name, base_name, b, c, float_op) \
  CASE(name): { \
    const TValue *x = (b), *y = (c); \
    if (likely(is_float(x) && is_float(y))) { double nx = x->v.n, ny = y->v.n; float_op; NEXT; } \
    BECOME(OP_##base_name); \
    goto CASE(base_name); \
  }
#define ARITH_QUICK(name, int_op, float_op, luaop) \
  CASE(name): ARITH(RB, RC, int_op, float_op, QUICKEN(name), luaop, meta_prepare_arith) \
  CASE(name##K): \
    ARITH(RB, KC, int_op, float_op, QUICKEN(name##K), luaop, prepare_arith_constant) \
  FLOATS(name##F, name, RB, RC, float_op) \
  FLOATS(name##KF, name##K, RB, KC, float_op)

/* Bitwise: operands are integers or floats (strings) with an integer value. */
#define BITWISE(name, c, expr, luaop, prepare) \
  { \
    const TValue *x = RB, *y = (c); \
    int64_t a, b; \
    if (likely(is_int(x) && is_int(y))) { a = x->v.i; b = y->v.i; set_int(RA, (expr)); NEXT; } \
    if (integral_value(x, &a) && integral_value(y, &b)) { set_int(RA, (expr)); NEXT; } \
    WITH_META(prepare(L, luaop, x, y, RA)); \
    NEXT; \
  }
#define BITWISE_BOTH(name, expr, luaop) \
  CASE(name): BITWISE(name, RC, expr, luaop, meta_prepare_arith) \
  CASE(name##K): BITWISE(name##K, KC, expr, luaop, prepare_arith_constant)

#define COMPARE_IMMEDIATE(op, prepare, flip) \
  { \
    int64_t im = ARG_sB; \
    const TValue *x = RA; \
    if (likely(is_int(x))) TEST_JUMP(x->v.i op im); \
    if (likely(is_float(x))) TEST_JUMP(x->v.n op (double)im); \
    TValue imv; \
    bool cond; \
    set_int(&imv, im); \
    SAVE; \
    func = flip ? prepare(L, &imv, x, &cond) : prepare(L, x, &imv, &cond); \
    if (func != NULL) { nresults = 1; goto call_meta; } \
    TEST_JUMP(cond); \
  }

/* Pushes the frame of the Lua function at `callee`, with its arguments up to L->top, and
 * continues in it. (The test whether the thread is instrumented reads a register.) */
#define ENTER_LUA(callee, status_bits) \
  do { \
    const Prototype *p = as_lua_closure(callee)->p; \
    CallInfo *frame = L->ci->next; \
    base = callee + 1; \
    TValue *limit = base + p->max_stack; \
    if (stack_ends_before(L, limit)) { \
      ptrdiff_t off = stack_save(L, base); \
      stack_grow_or_collect(L, p->max_stack); \
      base = stack_restore(L, off); \
      limit = base + p->max_stack; \
      frame = L->ci->next; /* a collection may have freed unused frames */ \
    } \
    if (unlikely(frame == NULL)) frame = callinfo_extend(L); \
    frame->func = base - 1; \
    frame->top = limit; \
    frame->nresults = nresults; \
    frame->u.lua.k = k = p->k; \
    frame_set_status(frame, (status_bits)); \
    frame->entries++; \
    own = frame; \
    frame_publish(L, frame); \
    pc = p->code; \
    TValue *end = base + p->nparams; \
    while (unlikely(L->top < end)) { set_nil(L->top); L->top++; } \
    if (unlikely(dispatch != normal)) goto call_entered; /* instrumented */ \
    NEXT; \
  } while (0)

/* Continues in the Lua frame `frame` at its saved pc. */
#define RESUME_LUA(frame) \
  do { \
    own = (frame); \
    base = own->func + 1; \
    pc = own->u.lua.pc; \
    dispatch = L->dispatch; \
    k = own->u.lua.k; \
    NEXT; \
  } while (0)

#define BARRIER(t, slot, v) gc_barrier_table(L, t, slot, v)

/* Inline cache of a field: the node where the key was last found. */
#define CACHED_NODE(t) (&(t)->node[NEXT_SLOT & (t)->node_mask])

/* Sets the value of a node that has a short string as its key, and about which nothing is
 * assumed. Tags and mark are written together, as they are read: a load that is wider
 * than the store before it waits until the store has reached the cache. */
#define STORE_IN_NODE(node, payload, value_tag) \
  do { \
    (node)->v = (payload); \
    uint32_t tags = (uint32_t)((value_tag) | TAG_SHORT_STRING << 8); \
    memcpy(&(node)->tag, &tags, sizeof tags); \
  } while (0)

/* Copies the value of a node whose tags were loaded for node_tags_hold. */
#define COPY_FROM_NODE(to, node, tags) \
  do { TValue *target = (to); target->v = (node)->v; target->tag = (uint8_t)(tags); } while (0)

/* Tells whether the caller of this frame waits for it inside an instruction, for at most
   one value. */
ALWAYS_INLINE bool is_metamethod(const CallInfo *frame) {
  uint32_t status = frame->status & (CALL_FRESH | CALL_SPECIAL | CALL_VARARG | CALL_TOCLOSE);
  return status == CALL_SPECIAL && is_lua_frame(frame->prev);
}

/* Tells whether an instruction that is about to run takes the values up to L->top, or has
 * yet to set up its frame. */
ALWAYS_INLINE bool takes_open_values(Instruction i) {
  return ((op_info[INS_OP(i)].flags & OPFLAG_I) && INS_B(i) == 0) || op_base(i) == OP_VARARGPREP;
}

int vm_execute(Run *run, lua_State *thread, Entry entry, TValue *func, int nresults) {
  static const void *const normal[OP_COUNT] = {
#define OP(name, format, flags, uses, sets, text) &&L_##name,
#include "opcodes.def"
#undef OP
  };

  IN_REGISTER(lua_State *L, "r12") = thread;
  TValue *base;
  IN_REGISTER(const TValue *k, "r13");
  const Instruction *pc;
#ifdef SAROS_RBP_IS_FREE
  IN_REGISTER(const void *const *dispatch, "rbp");
#else
  const void *const *dispatch;
#endif
  /* the frame that base, k and pc belong to; equal to L->ci when an instruction begins */
  IN_REGISTER(CallInfo *own, "r15");
  CallInfo *ci; /* not kept from one instruction to the next, as L->ci is */
  uint32_t extra; /* status bits of the frame about to be pushed */
  lua_CFunction f; /* the C function about to be called */
  int n;
  TValue *first;

  if (L == NULL) { /* vm_dispatch_init */
    static const Ways ways = {&&op_each, &&watched_call, &&watched_tail_call, &&watched_return0,
                              &&watched_return1, &&op_note, &&op_note_often,
                              &&split_assumed};
    make_tables(normal, &ways);
    return 0;
  }

  dispatch = L->dispatch;
  own = NULL;
  base = NULL;
  k = NULL;
  pc = NULL;
  switch (entry) {
    case ENTER_CALL: extra = CALL_FRESH; goto call_value;
    case ENTER_RESUME: first = func; goto resume_here;
    case ENTER_DONE: first = func; n = (int)(L->top - first); goto frame_done;
    case ENTER_UNWIND: goto unwind;
  }

  /* ---- loads ---- */
  CASE(MOVE): value_copy(RA, RB); NEXT;
  CASE(LOADI): set_int(RA, ARG_sBx); NEXT;
  CASE(LOADF): set_float(RA, (double)ARG_sBx); NEXT;
  CASE(LOADK): load_constant(RA, &k[ARG_Bx]); NEXT;
  CASE(LOADKX): value_copy(RA, &k[*pc]); pc++; NEXT;
  CASE(LOADFALSE): RA->tag = TAG_FALSE; NEXT;
  CASE(LFALSESKIP): RA->tag = TAG_FALSE; pc++; NEXT;
  CASE(LOADTRUE): RA->tag = TAG_TRUE; NEXT;
  CASE(LOADNIL): {
    TValue *ra = RA;
    for (n = (int)ARG_B; n >= 0; n--) set_nil(ra++);
    NEXT;
  }
  CASE(GETUPVAL): value_copy(RA, CLOSURE_OF_FRAME->upvalues[ARG_B]->v); NEXT;
  CASE(SETUPVAL): {
    UpValue *uv = CLOSURE_OF_FRAME->upvalues[ARG_B];
    const TValue *ra = RA;
    value_copy(uv->v, ra);
    gc_barrier(L, (GCObject *)uv, ra);
    NEXT;
  }

  /* ---- table reads ---- */
#define GET_FIELD(o_expr) \
  { \
    const TValue *o = (o_expr); \
    String *key = as_string(&k[NEXT_KEY]); \
    if (likely(is_table(o))) { \
      Table *t = as_table(o); \
      const Node *node = CACHED_NODE(t); \
      uint32_t tags = node_tags(node); \
      if (likely(node_tags_hold(node, tags, key))) { COPY_FROM_NODE(RA, node, tags); pc++; NEXT; } \
      if (t->metatable == NULL && table_lacks(t, key)) { RA->tag = TAG_NIL; pc++; NEXT; } \
    } \
    WITH_META(get_field(L, o, &k[NEXT_KEY], RA, (Instruction *)pc)); \
    pc++; \
    NEXT; \
  }
  CASE(GETTABUP): GET_FIELD(CLOSURE_OF_FRAME->upvalues[ARG_B]->v)
  CASE(GETFIELD): GET_FIELD(RB)
  CASE(GETASSUMED): {
    const TValue *o = CLOSURE_OF_FRAME->upvalues[ARG_B]->v;
    const AssumedField *field = &L->domain->assumed.fields[NEXT_SLOT];
    if (likely(is_table(o) && as_table(o) == field->globals)) {
      set_primitive(RA, field->function);
      pc += 3; /* both aux words, and GETFIELD */
      NEXT;
    }
    /* the position of the library in the table is wrong, so the pair searches again */
    BECOME(OP_GETTABUP_GETFIELD);
    goto CASE(GETTABUP_GETFIELD);
  }
  /* runs for a pair whose GETTABUP has not found its field */
  CASE(FIND_LIBRARY):
    if (vm_assume_library_field(L, (Instruction *)pc - 1)) goto CASE(GETASSUMED);
    goto CASE(GETTABUP);
  split_assumed: BECOME(OP_GETTABUP_GETFIELD); goto CASE(GETTABUP);
  CASE(GETTABLE): {
    const TValue *o = RB, *key = RC;
    if (likely(is_table(o))) {
      Table *t = as_table(o);
      const TValue *slot = likely(is_int(key)) ? table_get_int(t, key->v.i) : table_get(t, key);
      if (likely(!is_nil(slot)) || t->metatable == NULL) { value_copy(RA, slot); NEXT; }
      WITH_META(meta_get_absent(L, o, key, RA));
      NEXT;
    }
    WITH_META(meta_prepare_get(L, o, key, RA));
    NEXT;
  }
  CASE(GETI): {
    const TValue *o = RB;
    if (likely(is_table(o))) {
      Table *t = as_table(o);
      const TValue *slot = table_get_int(t, ARG_C);
      if (likely(!is_nil(slot)) || t->metatable == NULL) { value_copy(RA, slot); NEXT; }
    }
    TValue key;
    set_int(&key, ARG_C);
    WITH_META((is_table(o) ? meta_get_absent : meta_prepare_get)(L, o, &key, RA));
    NEXT;
  }
  CASE(SELF): {
    const TValue *o = RB;
    String *key = as_string(&k[NEXT_KEY]);
    TValue *ra = RA;
    Table *holder = method_holder(L->domain, o, key);
    if (likely(holder != NULL)) {
      const Node *node = CACHED_NODE(holder);
      uint32_t tags = node_tags(node);
      if (likely(node_tags_hold(node, tags, key))) {
        value_copy(ra + 1, o); /* before ra, which may be o's register */
        COPY_FROM_NODE(ra, node, tags);
        pc++;
        NEXT;
      }
      const TValue *slot = inherited_method(L->domain, holder, key, (Instruction *)pc);
      if (likely(slot != NULL)) {
        value_copy(ra + 1, o);
        value_copy(ra, slot);
        pc++;
        NEXT;
      }
    }
    value_copy(ra + 1, o);
    o = ra + 1;
    WITH_META(get_field(L, o, &k[NEXT_KEY], RA, (Instruction *)pc));
    pc++;
    NEXT;
  }
  CASE(SELFK): {
    TValue *ra = RA;
    const TValue *key = RC;
    TValue name;
    value_copy(&name, key);
    value_copy(ra + 1, RB);
    WITH_META(meta_prepare_get(L, ra + 1, &name, RA));
    NEXT;
  }

  /* ---- table writes ---- */
#define SET_FIELD(o_expr, v_expr) \
  { \
    const TValue *o = (o_expr), *v = (v_expr); \
    String *key = as_string(&k[NEXT_KEY]); \
    if (likely(is_table(o))) { \
      Table *t = as_table(o); \
      Node *node = CACHED_NODE(t); \
      if (likely(node_may_be_set(node, key))) { \
        STORE_IN_NODE(node, v->v, v->tag); \
        BARRIER(t, node, v); \
        pc++; \
        NEXT; \
      } \
    } \
    STORE_WITH_META(set_field(L, o, &k[NEXT_KEY], v, (Instruction *)pc)); \
    pc++; \
    NEXT; \
  }
  CASE(SETTABUP): SET_FIELD(CLOSURE_OF_FRAME->upvalues[ARG_A]->v, RC)
  CASE(SETTABUPK): SET_FIELD(CLOSURE_OF_FRAME->upvalues[ARG_A]->v, KC)
  CASE(SETFIELD): SET_FIELD(RA, RC)
  CASE(SETFIELDK): SET_FIELD(RA, KC)
#define SET_TABLE(v_expr) \
  { \
    const TValue *o = RA, *key = RB, *v = (v_expr); \
    if (likely(is_table(o))) { \
      Table *t = as_table(o); \
      TValue *slot; \
      if (likely(is_int(key) && (uint64_t)key->v.i - 1 < t->array_size)) { \
        slot = &t->array[key->v.i - 1]; \
        if (likely(!is_nil(slot) || t->metatable == NULL)) { \
          value_copy(slot, v); \
          BARRIER(t, slot, v); \
          NEXT; \
        } \
      } else { \
        slot = (TValue *)(is_int(key)            ? table_get_int_hashed(t, key->v.i) \
                          : is_short_string(key) ? table_get_str(t, as_string(key)) \
                                                 : table_get(t, key)); \
        if (!is_nil(slot)) { \
          table_will_set(L->domain, t, key, slot); \
          value_copy(slot, v); \
          BARRIER(t, slot, v); \
          NEXT; \
        } \
      } \
      STORE_WITH_META(meta_set_at(L, o, key, slot, v)); \
      NEXT; \
    } \
    STORE_WITH_META(meta_prepare_set(L, o, key, v)); \
    NEXT; \
  }
  CASE(SETTABLE): SET_TABLE(RC)
  CASE(SETTABLEK): SET_TABLE(KC)
#define SET_INT(v_expr) \
  { \
    const TValue *o = RA, *v = (v_expr); \
    uint32_t index = ARG_B; \
    if (likely(is_table(o))) { \
      Table *t = as_table(o); \
      if (likely(index - 1 < t->array_size)) { \
        TValue *slot = &t->array[index - 1]; \
        if (likely(!is_nil(slot) || t->metatable == NULL)) { \
          value_copy(slot, v); \
          BARRIER(t, slot, v); \
          NEXT; \
        } \
      } \
    } \
    STORE_WITH_META(set_int_key(L, o, index, v)); \
    NEXT; \
  }
  CASE(SETI): SET_INT(RC)
  CASE(SETIK): SET_INT(KC)
  CASE(NEWTABLE): {
    uint32_t nhash = (1u << ARG_B) >> 1; /* 0 for 0 */
    /* collects before the table is made: the old value of the register is dead then, and
       the new table is not promoted at once */
    GC_CHECK_BELOW(RA);
    SAVE;
    Table *t = table_new(L, *pc, nhash);
    set_table(RA, t);
    pc++;
    dispatch = L->dispatch; /* callbacks of the sampler may be due (memprof_enqueue) */
    NEXT;
  }
  CASE(SETLIST): {
    TValue *ra = RA;
    n = (int)ARG_B;
    if (n == 0) n = (int)(L->top - ra) - 1;
    own->u.lua.pc = pc;
    L->top = ra + 1 + n;
    set_list(L, as_table(ra), ra + 1, *pc, n);
    pc++;
    dispatch = L->dispatch; /* callbacks of the sampler may be due, as at NEWTABLE */
    NEXT;
  }

  /* ---- arithmetic ---- */
  ARITH_QUICK(ADD, WRAP(+), FLOAT(nx + ny), LUA_OPADD)
  ARITH_QUICK(SUB, WRAP(-), FLOAT(nx - ny), LUA_OPSUB)
  ARITH_QUICK(MUL, WRAP(*), FLOAT(nx * ny), LUA_OPMUL)
  ARITH_BOTH(
      MOD,
      {
        int64_t m;
        INT_MOD(m, x->v.i, y->v.i);
        set_int(RA, m);
      },
      FLOAT(number_float_mod(nx, ny)), LUA_OPMOD)
  ARITH_BOTH(
      IDIV,
      {
        int64_t q;
        INT_DIV(q, x->v.i, y->v.i);
        set_int(RA, q);
      },
      FLOAT(floor(nx / ny)), LUA_OPIDIV)
  ARITH_BOTH(
      POW,
      FLOAT(y->v.i == 2 ? (double)x->v.i * (double)x->v.i : pow((double)x->v.i, (double)y->v.i)),
      FLOAT(ny == 2 ? nx * nx : pow(nx, ny)), LUA_OPPOW)
  ARITH_QUICK(DIV, FLOAT((double)x->v.i / (double)y->v.i), FLOAT(nx / ny), LUA_OPDIV)
  CASE(ADDI): {
    const TValue *x = RB;
    int im = ARG_sC;
    if (likely(is_int(x))) {
      set_int(RA, (int64_t)((uint64_t)x->v.i + (uint64_t)(int64_t)im));
      NEXT;
    }
    if (is_float(x)) { set_float(RA, x->v.n + im); NEXT; }
    TValue imv;
    set_int(&imv, im < 0 ? -(int64_t)im : im);
    WITH_META(meta_prepare_arith(L, im < 0 ? LUA_OPSUB : LUA_OPADD, x, &imv, RA));
    NEXT;
  }
  BITWISE_BOTH(BAND, a & b, LUA_OPBAND)
  BITWISE_BOTH(BOR, a | b, LUA_OPBOR)
  BITWISE_BOTH(BXOR, a ^ b, LUA_OPBXOR)
  BITWISE_BOTH(SHL, shift_left(a, b), LUA_OPSHL)
  BITWISE_BOTH(SHR, b == INT64_MIN ? 0 : shift_left(a, -b), LUA_OPSHR)
  CASE(UNM): {
    const TValue *x = RB;
    if (likely(is_int(x))) { set_int(RA, (int64_t)(0u - (uint64_t)x->v.i)); NEXT; }
    if (is_float(x)) { set_float(RA, -x->v.n); NEXT; }
    WITH_META(meta_prepare_arith(L, LUA_OPUNM, x, x, RA));
    NEXT;
  }
  CASE(BNOT): {
    const TValue *x = RB;
    int64_t a;
    if (likely(is_int(x))) { set_int(RA, ~x->v.i); NEXT; }
    if (integral_value(x, &a)) { set_int(RA, ~a); NEXT; }
    WITH_META(meta_prepare_arith(L, LUA_OPBNOT, x, x, RA));
    NEXT;
  }
  CASE(NOT): RA->tag = is_falsy(RB) ? TAG_TRUE : TAG_FALSE; NEXT;
  CASE(LEN): {
    const TValue *o = RB;
    if (likely(is_table(o) && as_table(o)->metatable == NULL)) {
      set_int(RA, (int64_t)table_border(as_table(o)));
      NEXT;
    }
    if (is_string(o)) {
      set_int(RA, (int64_t)string_len(as_string(o)));
      NEXT;
    }
    WITH_META(meta_prepare_length(L, o, RA));
    NEXT;
  }
  CASE(CONCAT): {
    L->ci->u.lua.pc = pc;
    L->top = RA + ARG_B;
    func = meta_prepare_concat(L, (int)ARG_B);
    RELOAD;
    if (func != NULL) { nresults = 1; goto call_meta; }
    TValue *ra = RA;
    GC_CHECK_BELOW(ra + 1);
    NEXT;
  }

  /* ---- jumps and tests ---- */
  CASE(JMP): pc += ARG_sJ; NEXT;
  CASE(LOOP):
    SAFE_POINT;
    pc += ARG_sJ;
    NEXT;
  CASE(CLOSE):
    SAVE;
    func = meta_prepare_close(L, RA, NULL);
    RELOAD;
    if (func != NULL) { nresults = 0; goto call_meta; }
    NEXT;
  CASE(TBC):
    SAVE;
    vm_new_tbc(L, RA);
    NEXT;
  CASE(EQ): {
    const TValue *x = RA, *y = RB;
    bool cond;
    if (likely(x->tag == y->tag)) {
      if (is_collected(x) && x->tag != TAG_SHORT_STRING) {
        if (x->v.gc == y->v.gc) cond = true;
        else if (is_table(x) && as_table(x)->metatable == NULL && as_table(y)->metatable == NULL)
          cond = false;
        else {
          SAVE;
          func = meta_prepare_equal(L, x, y, &cond);
          if (func != NULL) { nresults = 1; goto call_meta; }
        }
      } else if (x->tag == TAG_FLOAT) cond = x->v.n == y->v.n;
      else cond = x->tag <= TAG_FALSE || x->tag == TAG_TRUE || x->v.i == y->v.i;
    } else cond = is_number(x) && is_number(y) && vm_equal(NULL, x, y);
    TEST_JUMP(cond);
  }
#define COMPARE(name, op, prepare) \
  CASE(name): { \
    const TValue *x = RA, *y = RB; \
    if (likely(is_int(x) && is_int(y))) TEST_JUMP(x->v.i op y->v.i); \
    if (likely(is_float(x) && is_float(y))) { QUICKEN(name); TEST_JUMP(x->v.n op y->v.n); } \
    if (is_int(x) && is_float(y) && is_float_exactly(x->v.i)) TEST_JUMP((double)x->v.i op y->v.n); \
    if (is_float(x) && is_int(y) && is_float_exactly(y->v.i)) TEST_JUMP(x->v.n op (double)y->v.i); \
    bool cond; \
    SAVE; \
    func = prepare(L, x, y, &cond); \
    if (func != NULL) { nresults = 1; goto call_meta; } \
    TEST_JUMP(cond); \
  } \
  FLOATS(name##F, name, RA, RB, TEST_JUMP(nx op ny))
  COMPARE(LT, <, meta_prepare_less)
  COMPARE(LE, <=, meta_prepare_less_equal)
  CASE(EQK): {
    const TValue *x = RA, *y = &k[ARG_B];
    bool cond;
    if (x->tag == y->tag) {
      if (x->tag == TAG_FLOAT) cond = x->v.n == y->v.n;
      else if (x->tag == TAG_LONG_STRING) cond = string_equal(as_string(x), as_string(y));
      else cond = x->tag <= TAG_FALSE || x->tag == TAG_TRUE || x->v.i == y->v.i;
    } else cond = is_number(x) && is_number(y) && vm_equal(NULL, x, y);
    TEST_JUMP(cond);
  }
  CASE(EQI): {
    const TValue *x = RA;
    bool cond = is_int(x) ? x->v.i == ARG_sB : is_float(x) && x->v.n == (double)ARG_sB;
    TEST_JUMP(cond);
  }
  CASE(LTI): COMPARE_IMMEDIATE(<, meta_prepare_less, 0)
  CASE(LEI): COMPARE_IMMEDIATE(<=, meta_prepare_less_equal, 0)
  CASE(GTI): COMPARE_IMMEDIATE(>, meta_prepare_less, 1)
  CASE(GEI): COMPARE_IMMEDIATE(>=, meta_prepare_less_equal, 1)
  CASE(TEST): {
    bool cond = !is_falsy(RA);
    TEST_JUMP(cond);
  }
  CASE(TESTSET): {
    const TValue *rb = RB;
    if (!is_falsy(rb) == (ARG_C != 0)) {
      value_copy(RA, rb);
      TAKE_JUMP;
    }
    pc++;
    NEXT;
  }

  /* ---- loops ---- */
  CASE(FORPREP): {
    TValue *ra = RA;
    if (likely(is_int(ra) && is_int(ra + 1) && is_int(ra + 2) &&
               (ra[2].v.i == 1 || ra[2].v.i == -1))) {
      int64_t start = ra[0].v.i, last = ra[1].v.i;
      bool up = ra[2].v.i > 0;
      if (up ? start > last : start < last) { pc += ARG_Bx + 1; NEXT; }
      ra[1].v.i = (int64_t)(up ? (uint64_t)last - (uint64_t)start
                               : (uint64_t)start - (uint64_t)last);
      set_int(ra + 3, start);
      SAFE_POINT;
      NEXT;
    }
    SAVE;
    if (for_prepare(L, ra)) pc += ARG_Bx + 1;
    SAFE_POINT;
    NEXT;
  }
  CASE(FORLOOP): {
    TValue *ra = RA;
    if (likely(is_int(ra + 2))) {
      uint64_t count = (uint64_t)ra[1].v.i;
      if (likely(count > 0)) {
        int64_t index = (int64_t)((uint64_t)ra[0].v.i + (uint64_t)ra[2].v.i);
        ra[1].v.i = (int64_t)(count - 1);
        ra[0].v.i = index;
        set_int(ra + 3, index);
        pc -= ARG_Bx;
        SAFE_POINT_IF(count % LOOP_CHECK == 0);
      }
    } else if (for_float_step(ra)) {
      SAFE_POINT;
      pc -= ARG_Bx;
    }
    NEXT;
  }
  CASE(TFORPREP): {
    TValue *ra = RA;
    ra[2].extra = is_nil(ra + 2) ? 0 : TABLE_POSITION_UNKNOWN;
    SAVE;
    vm_new_tbc(L, ra + 3);
    pc += ARG_Bx;
    SAFE_POINT;
    NEXT;
  }
  CASE(TFORCALL): {
    TValue *ra = RA;
    if (likely(ra->tag == TAG_PRIMITIVE && is_table(ra + 1))) {
      Table *t = as_table(ra + 1);
      if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) {
        ra[2].extra = TABLE_POSITION_UNKNOWN;
        goto call_iterator;
      }
      if (ra->v.prim->id == PRIM_NEXT && is_position_known(t, ra)) {
        if (unlikely(ARG_C > 2)) clear_more_variables(ra, ARG_C);
        uint32_t passed = next_pair(L->domain, t, ra);
        /* reading it again is as fast as keeping it across the call */
        dispatch = L->dispatch;
        pc++; /* past TFORLOOP */
        if (passed == 0) NEXT;
        CHECK_POSITION(ra);
        pc -= ARG_Bx;
        SAFE_POINT_IF(passed >= LOOP_CHECK);
        NEXT;
      }
      if (ra->v.prim->id == PRIM_IPAIRS_STEP && is_int(ra + 2)) {
        int64_t index = (int64_t)((uint64_t)ra[2].v.i + 1);
        const TValue *slot = table_get_int(t, index);
        if (unlikely(is_nil(slot)) && t->metatable != NULL)
          slot = index_through_tables(L, t, index);
        if (likely(slot != NULL)) {
          if (unlikely(ARG_C > 2)) clear_more_variables(ra, ARG_C);
          pc++; /* past TFORLOOP */
          if (is_nil(slot)) NEXT;
          value_copy(ra + 5, slot);
          set_int(ra + 4, index);
          ra[2].v.i = index;
          pc -= ARG_Bx;
          SAFE_POINT_IF((uint64_t)index % LOOP_CHECK == 0);
          NEXT;
        }
      }
    }
  call_iterator:
    value_copy(ra + 4, ra);
    value_copy(ra + 5, ra + 1);
    value_copy(ra + 6, ra + 2);
    func = ra + 4;
    L->top = func + 3;
    L->ci->u.lua.pc = pc;
    nresults = (int)ARG_C;
    extra = 0;
    goto call_value;
  }
  CASE(TFORLOOP): {
    TValue *ra = RA;
    if (!is_nil(ra + 4)) {
      value_copy(ra + 2, ra + 4);
      CHECK_POSITION(ra);
      pc -= ARG_Bx;
      SAFE_POINT;
    }
    NEXT;
  }

  /* ---- functions ---- */
  CASE(CLOSURE): {
    Prototype *p = CLOSURE_OF_FRAME->p->p[ARG_Bx];
    SAVE;
    new_closure(L, p, CLOSURE_OF_FRAME->upvalues, base, RA);
    TValue *ra = RA;
    GC_CHECK_BELOW(ra + 1);
    NEXT;
  }
  CASE(VARARG):
    SAVE;
    copy_varargs(L, L->ci, RA, (int)ARG_C - 1);
    RELOAD;
    NEXT;
  CASE(VARARGPREP):
    L->ci->u.lua.pc = pc;
    adjust_varargs(L, L->ci, (int)ARG_A);
    RELOAD;
    NEXT;
  /* the fast path: a Lua function, a counted number of arguments, room on the stack, no
     watch */
  CASE(CALL): {
    func = RA;
    if (unlikely(!is_lua_closure(func))) goto call_direct;
    const Prototype *p = as_lua_closure(func)->p;
    CallInfo *caller = own, *frame = caller->next;
    TValue *limit = func + 1 + p->max_stack;
    uint32_t b = ARG_B;
    if (stack_ends_before(L, limit) || unlikely(frame == NULL) || unlikely(b == 0)) goto call;
    caller->u.lua.pc = pc;
    base = func + 1;
    frame->func = func;
    frame->top = limit;
    frame->nresults = (int)ARG_C - 1;
    frame->u.lua.k = k = p->k;
    frame_set_status(frame, 0);
    frame->entries++;
    own = frame;
    frame_publish(L, frame);
    TValue *top = func + b;
    for (; unlikely(b <= p->nparams); b++) set_nil(top++);
    L->top = top;
    pc = p->code;
    NEXT;
  }
  call_direct: { /* a function of a library, unwatched (primitives.c) */
    if (func->tag != TAG_PRIMITIVE) goto call;
    int passed = (int)ARG_B - 1;
    own->u.lua.pc = pc; /* for readers in other processes */
    if (unlikely(passed < 0)) passed = (int)(L->top - func) - 1;
    const int results = func->v.prim->direct(L, func, passed);
    if (likely(results == (int)ARG_C - 1)) NEXT;
    /* without this, gcc keeps addresses of operands across the call for rare cases */
    __asm__("" : "+r"(pc), "+r"(L));
    if (results == NOT_DIRECT) goto call;
    func = RA;
    n = results;
    if (ARG_C == 0) L->top = func + n;
    else while (n < (int)ARG_C - 1) set_nil(func + n++);
    NEXT;
  }
  call:
    func = RA;
    if (ARG_B != 0) L->top = func + ARG_B;
    L->ci->u.lua.pc = pc;
    nresults = (int)ARG_C - 1;
    if (likely(is_lua_closure(func))) ENTER_LUA(func, 0);
    extra = 0;
    if (likely(func->tag == TAG_C_FUNCTION)) goto call_c;
    goto call_value;

  call_meta: /* func: a metamethod above the frame; the instruction waits for it */
    if (likely(is_lua_closure(func))) ENTER_LUA(func, CALL_SPECIAL);
    extra = CALL_SPECIAL;
    goto call_value;

  call_value: /* calls the value at func for nresults; L->ci is the caller's frame */
    switch (func->tag) {
      case TAG_LUA_CLOSURE: goto call_lua;
      case TAG_C_FUNCTION: goto call_c;
      case TAG_C_CLOSURE: {
        CClosure *cc = as_c_closure(func);
        if (cc->f == wrapped_coroutine && likely(!(L->instrumented & INSTRUMENT_HOOKS)) &&
            vm_can_resume(L, as_thread(&cc->upvalues[0]), (int)(L->top - func) - 1)) {
          extra |= CALL_RESUME | CALL_WRAP;
          goto resume;
        }
        n = vm_enter_c(L, func, cc->f, nresults, extra);
        goto c_done;
      }
      case TAG_PRIMITIVE: {
        if (func->v.prim->id != PRIM_DIRECT) goto call_primitive;
        f = func->v.prim->fallback;
        goto call_c_function;
      }
      default:
        func = vm_try_call_meta(L, func);
        goto call_value;
    }

  call_lua:
    ENTER_LUA(func, extra);

  call_entered: /* the Lua function of L->ci has just been called */
    vm_call_entered(L);
    base = L->ci->func + 1;
    dispatch = L->dispatch;
    NEXT;

  call_c: f = func->v.f; /* light C function */
  call_c_function: { /* does the same as vm_enter_c, in place */
    if (stack_lacks(L, LUA_MINSTACK) || unlikely(L->instrumented & INSTRUMENT_WATCHED)) {
      n = vm_enter_c(L, func, f, nresults, extra);
      goto c_done;
    }
    CallInfo *frame = L->ci->next;
    if (unlikely(frame == NULL)) frame = callinfo_extend(L);
    frame->func = func;
    frame->top = L->top + LUA_MINSTACK;
    frame->nresults = nresults;
    frame->u.c.running = f;
    frame_set_status(frame, CALL_C | extra);
    frame->entries++;
    frame_publish(L, frame);
    n = f(L);
  }
  c_done: {
    CallInfo *frame = L->ci;
    first = L->top - n;
    if (unlikely((frame->status & (CALL_FRESH | CALL_SPECIAL | CALL_TOCLOSE)) != 0 ||
                 (L->instrumented & INSTRUMENT_WATCHED))) {
      if ((L->instrumented & INSTRUMENT_WATCHED) || !is_metamethod(frame)) goto frame_done;
      if (n == 0) set_nil(first);
      goto metamethod_done;
    }
    L->ci = frame->prev;
    if (likely(n == 1 && frame->nresults == 1)) {
      value_copy(frame->func, first);
      L->top = frame->func + 1;
    } else {
      vm_move_results(L, frame->func, first, n, frame->nresults);
    }
    RELOAD;
    NEXT;
  }

  /* the fast path: conditions as for CALL, and the frame has nothing to close and no
     extra arguments */
  CASE(TAILCALL): {
    CallInfo *frame = own;
    uint32_t b = ARG_B, i = 0;
    func = RA;
    if (unlikely(!is_lua_closure(func) || b == 0 || ARG_C || (frame->status & CALL_VARARG)))
      goto tail_direct;
    const Prototype *p = as_lua_closure(func)->p;
    TValue *to = frame->func, *limit = to + 1 + p->max_stack;
    if (stack_ends_before(L, limit)) goto tail_call;
    do value_copy(to + i, func + i); while (++i < b);
    for (; unlikely(i <= p->nparams); i++) set_nil(to + i);
    L->top = to + i;
    frame->top = limit;
    frame->status |= CALL_TAIL;
    frame->u.lua.k = k = p->k;
    frame->entries++;
    SAFE_POINT;
    pc = p->code;
    NEXT;
  }
  tail_direct: /* like call_direct; the RETURN that follows passes the results on */
    if (func->tag == TAG_PRIMITIVE && !ARG_C) {
      own->u.lua.pc = pc;
      n = func->v.prim->direct(L, func, ARG_B != 0 ? ARG_B - 1 : (int)(L->top - func) - 1);
      if (likely(n != NOT_DIRECT)) {
        L->top = func + n;
        NEXT;
      }
    }
  tail_call: {
    func = RA;
    if (ARG_B != 0) L->top = func + ARG_B;
    ci = L->ci;
    ci->u.lua.pc = pc;
    if (ARG_C) upvalue_close(L, base);
    nresults = LUA_MULTRET;
    extra = 0;
    while (unlikely(!is_function(func))) func = vm_try_call_meta(L, func);
    /* the RETURN that follows passes its results on */
    if (unlikely(!is_lua_closure(func))) goto call_value;
    Prototype *p = as_lua_closure(func)->p;
    if (stack_lacks(L, (ptrdiff_t)p->max_stack)) {
      ptrdiff_t off = stack_save(L, func);
      stack_grow_or_collect(L, p->max_stack);
      func = stack_restore(L, off);
    }
    TValue *to = frame_result_slot(ci);
    n = (int)(L->top - func);
    for (int j = 0; j < n; j++) value_copy(to + j, func + j);
    L->top = to + n;
    base = to + 1;
    ci->func = to;
    ci->top = base + p->max_stack;
    ci->status = (ci->status & ~(uint32_t)CALL_VARARG) | CALL_TAIL;
    for (TValue *limit = base + p->nparams; L->top < limit; L->top++) set_nil(L->top);
    ci->u.lua.k = k = p->k;
    ci->entries++;
    pc = p->code;
    SAFE_POINT;
    if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) goto call_entered;
    NEXT;
  }

  CASE(RETURN0): {
    CallInfo *frame = own;
    if (unlikely(frame->status & (CALL_FRESH | CALL_SPECIAL | CALL_VARARG))) {
      first = RA;
      n = 0;
      if (!is_metamethod(frame)) goto return_values;
      set_nil(first);
      goto metamethod_done;
    }
    TValue *res = frame->func;
    int wanted = frame->nresults;
    frame = frame->prev;
    L->ci = frame;
    L->top = res;
    for (; unlikely(wanted > 0); wanted--) set_nil(res++);
    RESUME_LUA(frame);
  }
  CASE(RETURN1): {
    CallInfo *frame = own;
    if (unlikely(frame->status & (CALL_FRESH | CALL_SPECIAL | CALL_VARARG))) {
      first = RA;
      n = 1;
      if (is_metamethod(frame)) goto metamethod_done;
      /* called from C */
      if ((frame->status & (CALL_SPECIAL | CALL_VARARG)) == 0 && frame->nresults == 1) {
        value_copy(frame->func, first);
        L->top = frame->func + 1;
        L->ci = frame->prev;
        return LUA_OK;
      }
      goto return_values;
    }
    int wanted = frame->nresults;
    /* copies even if no result is wanted: the slot is free then */
    value_copy(frame->func, RA);
    if (unlikely(wanted != 1)) {
      L->top = frame->func + 1;
      for (TValue *res = L->top; wanted > 1; wanted--) set_nil(res++);
    }
    frame = frame->prev;
    L->ci = frame;
    RESUME_LUA(frame);
  }
  CASE(RETURN): {
    ci = L->ci;
    first = RA;
    n = (int)ARG_B - 1;
    if (ci->status & CALL_CLOSING) { /* again, after a __close */
      n = ci->u2.nres;
      ci->status &= ~(uint32_t)CALL_CLOSING;
    } else if (n < 0) {
      n = (int)(L->top - first);
    }
    /* handlers run above the values and all variables that are still to be closed */
    if (ARG_C) {
      TValue *above = base + CLOSURE_OF_FRAME->p->max_stack;
      ci->u.lua.pc = pc;
      L->top = first + n > above ? first + n : above;
      ptrdiff_t off = stack_save(L, first);
      stack_check(L, EXTRA_STACK);
      func = meta_prepare_close(L, ci->func + 1, NULL);
      RELOAD;
      if (func != NULL) {
        ci->u2.nres = n;
        ci->status |= CALL_CLOSING;
        if (ci->top < L->top) ci->top = L->top;
        nresults = 0;
        goto call_meta;
      }
      first = stack_restore(L, off);
    }
    goto return_values;
  }

  /* the metamethod of the frame L->ci is done, with the value at first */
  metamethod_done:
    own = L->ci->prev;
    L->ci = own;
  /* `own` continues in its instruction, which waited for the value at first, or for
     none */
  resume_instruction:
    base = own->func + 1;
    k = own->u.lua.k;
    pc = own->u.lua.pc;
    dispatch = L->dispatch;
    switch ((OpFinish)op_finish[INS_OP(pc[-1])]) {
      case FINISH_VALUE: value_copy(RA, first); NEXT;
      case FINISH_VALUE_AUX: value_copy(RA, first); pc++; NEXT;
      case FINISH_STORE: NEXT;
      case FINISH_STORE_AUX: pc++; NEXT;
      case FINISH_TEST: {
        bool cond = !is_falsy(first);
        if (unlikely(own->status & CALL_NEGATE)) {
          own->status &= ~(uint32_t)CALL_NEGATE;
          cond = !cond;
        }
        TEST_JUMP(cond);
      }
      case FINISH_CONCAT: { /* the operands are below the function that was called */
        TValue *result = own->next->func;
        value_copy(result, first);
        func = finish_concat(L, RA, result);
        RELOAD;
        if (func == NULL) NEXT;
        nresults = 1;
        goto call_meta;
      }
      /* runs the instruction again, for the variables that are still to be closed */
      case FINISH_AGAIN: pc--; NEXT;
    }

  return_values: /* the Lua frame L->ci returns n values from first */
    ci = L->ci;
    if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) {
      ci->u.lua.pc = pc;
      L->top = first + n;
      first = vm_call_left(L, first, n);
    }
    if (ci->status & CALL_VARARG) ci->func = frame_result_slot(ci);
    goto place_results;

  frame_done: /* the native frame L->ci is complete with n values from first */
    ci = L->ci;
    if (unlikely(ci->status & CALL_TOCLOSE)) {
      n = vm_close_c_frame(L, n);
      first = L->top - n;
    }
    if (unlikely(L->instrumented & INSTRUMENT_WATCHED)) {
      L->top = first + n; /* another thread may have left values above them */
      first = vm_call_left(L, first, n);
    }
  place_results: {
    uint32_t status = ci->status;
    TValue *res = ci->func;
    int wanted = ci->nresults;
    ci = ci->prev;
    L->ci = ci;
    vm_move_results(L, res, first, n, wanted);
    if (status & CALL_FRESH) return LUA_OK;
    if (!(status & CALL_SPECIAL)) goto resume_lua;
    if (is_lua_frame(ci)) goto resume_meta;
    goto resume_native;
  }

  resume_lua: /* the Lua frame L->ci continues at its saved pc */
    RESUME_LUA(L->ci);

  /* the Lua frame L->ci waits inside an instruction, perhaps for the value on top */
  resume_meta:
    own = L->ci;
    first = L->top - 1;
    goto resume_instruction;

  /* the function that the native frame L->ci called has returned; its values are on
     top */
  resume_native:
    ci = L->ci;
    dispatch = L->dispatch;
    if (ci->status & (CALL_UNWIND | CALL_SPANS)) goto unwind_or_finish;
  resume_unmarked:
    /* a C function that has returned: a __close of its frame yielded */
    if (ci->status & CALL_CLOSING) {
      n = ci->u2.nres;
      first = L->top - n;
      goto frame_done;
    }
    if (ci->status & CALL_PCALL) {
      L->errfunc = ci->u.c.old_errfunc;
      L->npcalls = ci->u2.npcalls;
      first = ci->func + ci->u.c.ctx - 1;
      first->tag = TAG_TRUE;
      n = (int)(L->top - first);
      goto frame_done;
    }
    if (ci->status & CALL_BASE) { /* the coroutine L has ended */
      first = ci->func + 1;
      n = (int)(L->top - first);
      if (run->is_resume && L == run->jump.L) return LUA_OK;
      lua_State *co = L;
      L = co->resumer;
      vm_finish_coroutine(co);
      co->top = co->stack + 1; /* dead: nothing on its stack */
      first = vm_deliver(L, first, n, &n);
      goto frame_done;
    }
    goto continue_c;

  /* a C function that was left for a yield or an error continues in its continuation */
  continue_c: {
    int status = LUA_YIELD;
    ci = L->ci;
    if (ci->status & CALL_PROTECTED_C) {
      L->errfunc = ci->u.c.old_errfunc;
      if (CALL_RECOVERED(ci->status) != LUA_OK) status = CALL_RECOVERED(ci->status);
      ci->status &= ~(uint32_t)(CALL_PROTECTED_C | CALL_RECOVERED_MASK);
    }
    if (ci->top < L->top) ci->top = L->top;
    n = ci->u.c.k(L, status, ci->u.c.ctx);
    first = L->top - n;
    goto frame_done;
  }

  unwind_or_finish: /* for the native frame ci */
    if (ci->status & CALL_UNWIND) goto unwind;
    context_finish(L); /* the coroutine has ended */
    goto resume_unmarked;

  /* ci, a pcall, catches the error on top: what is pending above it is closed first */
  unwind: {
    ci = L->ci;
    dispatch = L->dispatch;
    ci->status |= CALL_UNWIND;
    first = ci->status & CALL_PCALL ? ci->func + ci->u.c.ctx : L->stack + ci->u2.func_index;
    func = meta_prepare_close(L, first, L->top - 1);
    if (func != NULL) {
      nresults = 0;
      extra = CALL_SPECIAL;
      goto call_value;
    }
    ci->status &= ~(uint32_t)CALL_UNWIND;
    L->allow_hook = (ci->status & CALL_ALLOWHOOK) != 0;
    if (ci->status & CALL_PROTECTED_C) {
      value_copy(first, L->top - 1);
      L->top = first + 1;
      gc_check_emergency(L);
      goto continue_c;
    }
    L->errfunc = ci->u.c.old_errfunc;
    L->npcalls = ci->u2.npcalls;
    first = ci->func;
    value_copy(first + 1, L->top - 1);
    set_bool(first, false);
    L->top = first + 2;
    n = 2;
    stack_shrink(L);
    gc_check_emergency(L);
    first = ci->func;
    goto frame_done;
  }

  call_primitive: {
    const Primitive *prim = func->v.prim;
    n = (int)(L->top - func) - 1;
    if (unlikely(L->instrumented & (INSTRUMENT_HOOKS | INSTRUMENT_SPANS)) &&
        !runs_in_loop(L, run, prim))
      goto hooked_primitive;
    switch (prim->id) {
      case PRIM_PCALL:
        if (n < 1) break;
        ci = push_pcall(L, func, nresults, extra);
        func = begin_pcall(L, ci, func);
        nresults = LUA_MULTRET;
        extra = CALL_SPECIAL;
        goto call_value;
      case PRIM_XPCALL:
        if (n < 2 || !is_function(func + 2)) break;
        ci = push_pcall(L, func, nresults, extra);
        func = begin_xpcall(L, ci, func);
        nresults = LUA_MULTRET;
        extra = CALL_SPECIAL;
        goto call_value;
      case PRIM_RESUME:
        if (n < 1 || !is_thread(func + 1) || !vm_can_resume(L, as_thread(func + 1), n - 1)) break;
        extra |= CALL_RESUME;
        goto resume;
      case PRIM_YIELD: {
        if (L->run != run || L->ncalls_nonyieldable != 0) break;
        bool to_c = run->is_resume && L == run->jump.L;
        if (to_c && stack_lacks(L, LUA_MINSTACK)) break; /* the C function makes room */
        ci = vm_push_native(L, func, nresults, extra | CALL_YIELD);
        L->status = LUA_YIELD;
        ci->u2.nyield = n;
        /* lua_resume: its caller may push as many arguments as a C function */
        if (to_c) {
          ci->top = L->top + LUA_MINSTACK;
          return LUA_YIELD;
        }
        lua_State *co = L;
        L = co->resumer;
        vm_finish_coroutine(co);
        co->top -= n; /* its frame does not keep them */
        first = vm_deliver(L, co->top, n, &n);
        goto frame_done;
      }
      default: break;
    }
    n = vm_enter_c(L, func, prim->fallback, nresults, extra);
    goto c_done;
  }

  /* runs a resumable coroutine in this loop; func is a wrap closure, or resume with the
     thread as its first argument */
  resume: {
    TValue *args = extra & CALL_WRAP ? func + 1 : func + 2;
    lua_State *co =
        extra & CALL_WRAP ? as_thread(&as_c_closure(func)->upvalues[0]) : as_thread(func + 1);
    n = (int)(L->top - args);
    thread_note_resumer(co, L->ci);
    vm_push_native(L, func, nresults, extra);
    for (int j = 0; j < n; j++) value_copy(co->top++, args + j);
    co->resumer = L;
    co->resume_depth = L->resume_depth + 1;
    co->run = run;
    co->ncalls_nonyieldable = 0;
    vm_set_current(L->domain, co);
    if (unlikely(co->gc & GC_CLEAN)) gc_thread_resumed(L, co);
    L = co;
    first = L->top - n;
  }
  resume_here: /* L was suspended (or is new): it receives the values from `first` on */
    ci = L->ci;
    dispatch = L->dispatch;
    if (L->status == LUA_OK) { /* new: the function is below its arguments */
      func = first - 1;
      nresults = LUA_MULTRET;
      extra = CALL_SPECIAL;
      goto call_value;
    }
    L->status = LUA_OK;
    /* release: readers in other processes see the status before a frame is gone. It pairs
       with the order of their reads (steps B and U in eventring/remote/coroutines.c); on
       x86-64 it is no instruction */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    n = (int)(L->top - first);
    if (is_lua_frame(ci)) { /* yielded inside a hook: the instruction has not run */
      ci->u.lua.pc--;
      L->top = first;
      goto resume_lua;
    }
    if (ci->u.c.k != NULL) goto continue_c;
    goto frame_done;

  /* ---- pairs ---- */

  /* FIRST_x runs the usual case of instruction x, and falls through with pc at the next
   * word; LAST_x runs it and continues. Rare cases are left to the handler of x, which
   * finds the state that it would have if it had been dispatched to. */
#define IF_NOT(name, condition) do { if (unlikely(!(condition))) goto CASE(name); } while (0)
#define THEN do { CHECK_INSTRUCTION; pc++; } while (0)

#define FIRST_MOVE value_copy(RA, RB);
#define FIRST_LOADI set_int(RA, ARG_sBx);
#define FIRST_LOADK load_constant(RA, &k[ARG_Bx]);
#define FIRST_GETUPVAL value_copy(RA, CLOSURE_OF_FRAME->upvalues[ARG_B]->v);
/* Loads a value; sets `source` to where the value was, and `loaded` to where it is
   now. */
#define LOAD_MOVE source = RB; loaded = RA; value_copy(RA, source);
#define LOAD_GETUPVAL \
  source = CLOSURE_OF_FRAME->upvalues[ARG_B]->v; loaded = RA; value_copy(RA, source);
#define LOAD_FIELD(name, o_expr) { \
    const TValue *o = (o_expr); \
    IF_NOT(name, is_table(o)); \
    const Table *t = as_table(o); \
    const Node *node = CACHED_NODE(t); \
    uint32_t tags = node_tags(node); \
    IF_NOT(name, node_tags_hold(node, tags, as_string(&k[NEXT_KEY]))); \
    source = node_value(node); \
    loaded = RA; \
    COPY_FROM_NODE(RA, node, tags); \
    pc++; \
  }
#define LOAD_GETTABUP LOAD_FIELD(FIND_LIBRARY, CLOSURE_OF_FRAME->upvalues[ARG_B]->v)
#define LOAD_GETFIELD LOAD_FIELD(GETFIELD, RB)
#define LOAD_ITEM(o_expr, key_expr) { \
    const TValue *o = (o_expr), *key = (key_expr); \
    IF_NOT(GETTABLE, is_table(o) && is_int(key)); \
    const Table *t = as_table(o); \
    uint64_t index = (uint64_t)key->v.i - 1; \
    IF_NOT(GETTABLE, index < t->array_size && !is_nil(&t->array[index])); \
    source = &t->array[index]; \
    loaded = RA; \
    value_copy(RA, source); \
  }
#define LOAD_GETTABLE LOAD_ITEM(RB, RC)
#define ALONE(load) { const TValue *source, *loaded; load (void)source; (void)loaded; }
#define FIRST_GETTABUP ALONE(LOAD_GETTABUP)
#define FIRST_GETFIELD ALONE(LOAD_GETFIELD)
#define FIRST_GETTABLE ALONE(LOAD_GETTABLE)
#define FIRST_SELF { \
    const TValue *o = RB; \
    const String *key = as_string(&k[NEXT_KEY]); \
    TValue *ra = RA; \
    const Table *holder = method_holder(L->domain, o, key); \
    IF_NOT(SELF, holder != NULL); \
    const Node *node = CACHED_NODE(holder); \
    uint32_t tags = node_tags(node); \
    IF_NOT(SELF, node_tags_hold(node, tags, key)); \
    value_copy(ra + 1, o); /* before ra, which may be o's register */ \
    COPY_FROM_NODE(ra, node, tags); \
    pc++; \
  }
#define FIRST_SETFIELD { \
    const TValue *o = RA, *v = RC; \
    IF_NOT(SETFIELD, is_table(o)); \
    Table *t = as_table(o); \
    Node *node = CACHED_NODE(t); \
    IF_NOT(SETFIELD, node_may_be_set(node, as_string(&k[NEXT_KEY]))); \
    STORE_IN_NODE(node, v->v, v->tag); \
    BARRIER(t, node, v); \
    pc++; \
  }
#define FIRST_SET(name, v_expr) { \
    const TValue *o = RA, *key = RB, *v = (v_expr); \
    IF_NOT(name, is_table(o) && is_int(key)); \
    Table *t = as_table(o); \
    uint64_t index = (uint64_t)key->v.i - 1; \
    IF_NOT(name, index < t->array_size && (!is_nil(&t->array[index]) || t->metatable == NULL)); \
    value_copy(&t->array[index], v); \
    BARRIER(t, &t->array[index], v); \
  }
#define FIRST_SETTABLE FIRST_SET(SETTABLE, RC)
#define FIRST_SETTABLEK FIRST_SET(SETTABLEK, KC)
#define ADDI_OF(b) { \
    const TValue *x = (b); \
    IF_NOT(ADDI, is_int(x)); \
    set_int(RA, (int64_t)((uint64_t)x->v.i + (uint64_t)(int64_t)ARG_sC)); \
  }
#define FIRST_ADDI ADDI_OF(RB)
#define ARITH_OF(name, op, b, c) { \
    const TValue *x = (b), *y = (c); \
    if (is_float(x)) { \
      IF_NOT(name, is_float(y)); \
      set_float(RA, x->v.n op y->v.n); \
    } else { \
      IF_NOT(name, is_int(x) && is_int(y)); \
      WRAP(op); \
    } \
  }
#define FIRST_ADD ARITH_OF(ADD, +, RB, RC)
#define FIRST_SUB ARITH_OF(SUB, -, RB, RC)
#define FIRST_LOOP SAFE_POINT; pc += ARG_sJ; if (unlikely(dispatch != normal)) NEXT;
#define FIRST_FORLOOP { \
    TValue *ra = RA; \
    uint64_t count = (uint64_t)ra[1].v.i; \
    /* neither the end nor a safepoint */ \
    IF_NOT(FORLOOP, is_int(ra + 2) && count % LOOP_CHECK != 0); \
    int64_t index = (int64_t)((uint64_t)ra[0].v.i + (uint64_t)ra[2].v.i); \
    ra[1].v.i = (int64_t)(count - 1); \
    ra[0].v.i = index; \
    set_int(ra + 3, index); \
    pc -= ARG_Bx; \
  }
/* Tests: the code that follows is for the jump that is not taken. */
#define FIRST_TEST_JUMP(cond) if ((cond) == ARG_C) TAKE_JUMP; pc++;
#define FIRST_TEST { \
    bool cond = !is_falsy(RA); \
    FIRST_TEST_JUMP(cond) \
  }
/* A string, boolean or nil, for which equality of the values is equality of the bits. */
#define FIRST_EQK { \
    const TValue *x = RA, *y = KB; \
    IF_NOT(EQK, !is_number(y) && y->tag != TAG_LONG_STRING); \
    bool cond = x->tag == y->tag && (!is_collected(y) || x->v.gc == y->v.gc); \
    FIRST_TEST_JUMP(cond) \
  }
#define FIRST_EQ { \
    const TValue *x = RA, *y = RB; \
    bool cond = x->tag == y->tag; \
    if (cond) { \
      IF_NOT(EQ, is_collected(x) ? is_short_string(x) || x->v.gc == y->v.gc \
                                 : x->tag != TAG_FLOAT); \
      cond = x->tag <= TAG_FALSE || x->tag == TAG_TRUE || x->v.i == y->v.i; \
    } else { \
      IF_NOT(EQ, !is_number(x) || !is_number(y)); \
    } \
    FIRST_TEST_JUMP(cond) \
  }
#define FIRST_EQI { \
    const TValue *x = RA; \
    IF_NOT(EQI, is_int(x)); \
    FIRST_TEST_JUMP(x->v.i == ARG_sB) \
  }
#define FIRST_COMPARE(name, op) { \
    const TValue *x = RA, *y = RB; \
    bool cond; \
    if (is_int(x)) { \
      IF_NOT(name, is_int(y)); \
      cond = x->v.i op y->v.i; \
    } else { \
      IF_NOT(name, is_float(x) && is_float(y)); \
      cond = x->v.n op y->v.n; \
    } \
    FIRST_TEST_JUMP(cond) \
  }
#define FIRST_LT FIRST_COMPARE(LT, <)
#define FIRST_LE FIRST_COMPARE(LE, <=)
#define FIRST_LTI { \
    const TValue *x = RA; \
    IF_NOT(LTI, is_int(x) || is_float(x)); \
    bool cond = is_int(x) ? x->v.i < ARG_sB : x->v.n < (double)ARG_sB; \
    FIRST_TEST_JUMP(cond) \
  }

#define LAST_MOVE FIRST_MOVE NEXT;
#define LAST_LOADI FIRST_LOADI NEXT;
#define LAST_GETUPVAL FIRST_GETUPVAL NEXT;
#define LAST_GETFIELD FIRST_GETFIELD NEXT;
#define LAST_GETTABLE FIRST_GETTABLE NEXT;
#define LAST_SELF FIRST_SELF NEXT;
#define LAST_SETFIELD FIRST_SETFIELD NEXT;
#define LAST_SETTABLEK FIRST_SETTABLEK NEXT;
#define LAST_ADDI FIRST_ADDI NEXT;
#define LAST_ADD FIRST_ADD NEXT;
#define LAST_SUB FIRST_SUB NEXT;
#define LAST_JMP goto CASE(JMP);
#define LAST_FORLOOP FIRST_FORLOOP NEXT;
#define LAST_TEST FIRST_TEST NEXT;
#define LAST_EQK FIRST_EQK NEXT;
#define LAST_EQ FIRST_EQ NEXT;
#define LAST_LT FIRST_LT NEXT;
#define LAST_LE FIRST_LE NEXT;
#define LAST_LOOP goto CASE(LOOP);
#define LAST_CALL goto CASE(CALL);
#define LAST_RETURN0 goto CASE(RETURN0);
#define LAST_RETURN1 goto CASE(RETURN1);
#define LAST_MODK goto CASE(MODK);

/* Runs two arithmetic operations. The second takes the result of the first from a machine
 * register: passing the result through its slot in memory would take twice as long as the
 * operation. (A branch chooses the operand, because it is predicted; selecting one of two
 * values would wait for both.) */
#define SIGN_ADD +
#define SIGN_SUB -
#define SIGN_MUL *
#define SIGN_ADDK +
#define SIGN_MULK *
#define C_OF_ADD RC
#define C_OF_SUB RC
#define C_OF_MUL RC
#define C_OF_ADDK KC
#define C_OF_MULK KC
#define ARITH_PAIR(name, next) { \
    const TValue *x = RB, *y = C_OF_##name, *result = RA; \
    if (likely(is_float(x))) { \
      IF_NOT(name, is_float(y)); \
      double value = x->v.n SIGN_##name y->v.n; \
      set_float(RA, value); \
      THEN; \
      x = RB; \
      y = C_OF_##next; \
      if (x == result) { \
        IF_NOT(next, is_float(y)); \
        set_float(RA, value SIGN_##next y->v.n); \
      } else if (y == result) { \
        IF_NOT(next, is_float(x)); \
        set_float(RA, x->v.n SIGN_##next value); \
      } else { \
        IF_NOT(next, is_float(x) && is_float(y)); \
        set_float(RA, x->v.n SIGN_##next y->v.n); \
      } \
    } else { \
      IF_NOT(name, is_int(x) && is_int(y)); \
      WRAP(SIGN_##name); \
      THEN; \
      x = RB; \
      y = C_OF_##next; \
      IF_NOT(next, is_int(x) && is_int(y)); \
      WRAP(SIGN_##next); \
    } \
    NEXT; \
  }

/* Reads a value that was just loaded. It is read from `source`, the slot that it was
 * loaded from: reading it from its new slot would have to wait for the store. */
#define TAKEN(operand) \
  ({ \
    const TValue *taken = (operand); \
    if (taken == loaded) { taken = source; __asm__("" : "+r"(taken)); } \
    taken; \
  })
/* Runs a GETFIELD that takes the value that was just loaded (op_fuse makes no other pairs
   with it). */
#define TAKING_GETFIELD { rt_assert(RB == loaded); LOAD_FIELD(GETFIELD, source) }
#define TAKING_GETTABLE { \
    const TValue *table = TAKEN(RB), *item = TAKEN(RC); \
    LOAD_ITEM(table, item) \
  }
#define TAKING_ADDI ADDI_OF(TAKEN(RB))
#define TAKING_ADD ARITH_OF(ADD, +, TAKEN(RB), TAKEN(RC))
#define TAKING_MUL ARITH_OF(MUL, *, TAKEN(RB), TAKEN(RC))
#define LOAD_PAIR(name, next) \
  { \
    const TValue *source, *loaded; \
    LOAD_##name THEN; \
    (void)loaded; \
    TAKING_##next NEXT; \
  }

/* Store or return a number that was just computed. (Numbers need no write barrier.) */
#define STORE_SETFIELD(set, value) STORE_IN_TABLE(SETFIELD, RA, set, value)
#define STORE_SETTABUP(set, value) \
  STORE_IN_TABLE(SETTABUP, CLOSURE_OF_FRAME->upvalues[ARG_A]->v, set, value)
#define STORE_RETURN1(set, value) { \
    CallInfo *frame = own; \
    IF_NOT(RETURN1, !(frame->status & (CALL_FRESH | CALL_SPECIAL | CALL_VARARG))); \
    IF_NOT(RETURN1, frame->nresults == 1 && RA == result); \
    set(frame->func, value); \
    frame = frame->prev; \
    L->ci = frame; \
    RESUME_LUA(frame); \
  }
#define STORE_IN_TABLE(next, o_expr, set, value) { \
    const TValue *o = (o_expr); \
    IF_NOT(next, is_table(o) && RC == result); \
    const Table *t = as_table(o); \
    Node *node = CACHED_NODE(t); \
    IF_NOT(next, node_may_be_set(node, as_string(&k[NEXT_KEY]))); \
    TValue number; \
    set(&number, value); \
    STORE_IN_NODE(node, number.v, number.tag); \
    pc++; \
  }
#define STORE_PAIR_ADDI(next) { \
    const TValue *x = RB, *result = RA; \
    IF_NOT(ADDI, is_int(x)); \
    int64_t value = (int64_t)((uint64_t)x->v.i + (uint64_t)(int64_t)ARG_sC); \
    set_int(RA, value); \
    THEN; \
    STORE_##next(set_int, value) \
    NEXT; \
  }
#define STORE_PAIR_OF(name, next) { \
    const TValue *x = RB, *y = RC, *result = RA; \
    if (is_float(x)) { \
      IF_NOT(name, is_float(y)); \
      double value = x->v.n SIGN_##name y->v.n; \
      set_float(RA, value); \
      THEN; \
      STORE_##next(set_float, value) \
    } else { \
      IF_NOT(name, is_int(x) && is_int(y)); \
      int64_t value = (int64_t)((uint64_t)x->v.i SIGN_##name (uint64_t)y->v.i); \
      set_int(RA, value); \
      THEN; \
      STORE_##next(set_int, value) \
    } \
    NEXT; \
  }
#define STORE_PAIR_ADD(next) STORE_PAIR_OF(ADD, next)
#define STORE_PAIR_SUB(next) STORE_PAIR_OF(SUB, next)
#define STORE_PAIR_MUL(next) STORE_PAIR_OF(MUL, next)

#define OP(name, format, flags, uses, sets, text)
#define FUSED_LOAD(base, next, format, flags, uses, sets) CASE(base##_##next): LOAD_PAIR(base, next)
#define FUSED_STORE(base, next, format, flags, uses, sets) \
  CASE(base##_##next) : STORE_PAIR_##base(next)
#define FUSED_ARITH(base, next, format, flags, uses, sets) \
  CASE(base##_##next) : ARITH_PAIR(base, next)
#define FUSED(base, next, format, flags, uses, sets) \
  CASE(base##_##next) : FIRST_##base THEN; \
  LAST_##next
#include "opcodes.def"
#undef OP

  /* runs before each instruction while hooks want that, while there is a request, or when
     a collection is due */
  op_each:
    if (L->instrumented == LUA_MASKCOUNT && L->hook_count > 1 && op_base(pc[-1]) != OP_VARARGPREP &&
        !vm_is_asked(L->domain) && !gc_is_wanted(L->domain)) {
      L->hook_count--; /* as hook_before_instruction does */
      goto single_instruction;
    }
    if (vm_is_asked(L->domain)) {
      TValue *top = L->top; /* the instruction may take the values below it */
      SAVE;
      vm_take_up(L);
      L->top = top;
    }
    if (unlikely(gc_is_wanted(L->domain)) && !takes_open_values(pc[-1])) GC_CHECK;
    ci = L->ci;
    if (L->instrumented & INSTRUMENT_STEPS) {
      ci->u.lua.pc = pc;
      if (!takes_open_values(pc[-1])) L->top = ci->top;
      hook_before_instruction(L, pc - 1);
      base = ci->func + 1;
    } else {
      vm_update_dispatch(L);
    }
    dispatch = L->dispatch;
  single_instruction: /* pairs are split: their first instruction runs */
    goto *alone_calls[OPCODE];

  /* runs before calls and loop ends while lines are sampled from outside */
  op_note_often:
    if (unlikely(--L->domain->noting_left == 0)) {
      vm_noting_check(L);
      dispatch = L->dispatch;
    }
  op_note:
    own->u.lua.pc = pc;
    if (unlikely(L->instrumented & INSTRUMENT_GENERAL)) goto *alone_calls[OPCODE];
    goto *alone_plain[OPCODE];

  hooked_primitive: { /* from call_primitive */
    TValue *called = begin_hooked_pcall(L, func->v.prim, func, nresults, extra);
    if (called == NULL) {
      n = vm_enter_c(L, func, func->v.prim->fallback, nresults, extra);
      goto c_done;
    }
    func = called;
    nresults = LUA_MULTRET;
    extra = CALL_SPECIAL;
    goto call_value;
  }

  watched_call: goto call;
  watched_tail_call: goto tail_call;
  watched_return0: first = RA; n = 0; goto return_values;
  watched_return1: first = RA; n = 1; goto return_values;
}
