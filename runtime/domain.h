/* runtime/domain.h: the state of a domain (an isolate: heap, collector,
 * globals, rings) and of a thread of it (a coroutine: lua_State).
 *
 * Only the OS thread that runs a domain touches its Domain and lua_States.
 */
#ifndef SAROS_RUNTIME_DOMAIN_H
#define SAROS_RUNTIME_DOMAIN_H

#include <setjmp.h>
#include "object.h"
#include "heap.h"
#include "gc.h"

typedef enum Metamethod {
#define METAMETHOD(id, name) META_##id,
#include "metamethods.def"
#undef METAMETHOD
  META_COUNT
} Metamethod;

typedef enum Name {
#define TYPE_NAME(type, text) NAME_##type,
#define NAME(id, text) NAME_##id,
#include "names.def"
#undef NAME
#undef TYPE_NAME
  NAME_COUNT
} Name;

/* What the environment says of the seed of the hashes. A fixed one makes the hashes of each run
 * the same, and a counter of instructions the counts; not for programs that get input from others. */
typedef enum HashSeed { HASH_SEED_RANDOM, HASH_SEED_FIXED, HASH_SEED_INVALID } HashSeed;

/* Reads SAROS_HASH_SEED; *seed is set where the answer is HASH_SEED_FIXED. From any thread. */
HashSeed domain_fixed_seed(uint64_t *seed);

/* Slots of a new thread: what its host may push without asking (LUA_MINSTACK), and the function.
 * A Lua function that calls functions of Lua and yields has room enough. */
#define BASIC_STACK_SIZE 24
#define CALLING_STACK_SIZE 40 /* of one that has grown: functions of C need LUA_MINSTACK more */
#define EXTRA_STACK 8        /* slots beyond stack_last, for calls of metamethods without a check */
/* Slots that a stack may grow to. (LUAI_MAXSTACK itself is part of the ABI.) */
#ifdef SAROS_STRESS
#define STACK_LIMIT 40000
#define STACK_WINDOW 16
#else
#define STACK_LIMIT LUAI_MAXSTACK
#define STACK_WINDOW 1024    /* slots beyond those in use that stack_last is away, at least */
#endif
#define MAX_C_CALLS 200      /* nested C calls, parser levels and resumes */

/* Bits of CallInfo.status: CALL_STATUS(name, meaning) */
#define CALL_STATUSES(CALL_STATUS) \
  CALL_STATUS(C, "a C function (or a native frame), not a Lua function") \
  CALL_STATUS(FRESH, "the interpreter loop was entered from C for this frame: leave it on return") \
  CALL_STATUS(HOOKED, "running a debug hook") \
  CALL_STATUS(TAIL, "was tail-called") \
  CALL_STATUS(PROTECTED_C, "C frame of lua_pcallk with a continuation (yieldable pcall)") \
  CALL_STATUS(FINALIZER, "running a finalizer") \
  CALL_STATUS(TRANSFER, "hook has transfer information") \
  CALL_STATUS(CLOSING, "the function (Lua's or C's) closes to-be-closed variables on a return") \
  CALL_STATUS(PCALL, "native frame of pcall/xpcall run inside the loop") \
  CALL_STATUS(RESUME, "native frame of coroutine.resume / wrap run inside the loop") \
  CALL_STATUS(YIELD, "native frame of a yield") \
  CALL_STATUS(BASE, "first frame of a coroutine") \
  CALL_STATUS(ALLOWHOOK, "original value of allow_hook, saved by pcall") \
  CALL_STATUS(WRAP, "with CALL_RESUME: errors propagate") \
  CALL_STATUS(SPECIAL, "on return there is more to do than to place the results: the caller is a native frame, or waits inside an instruction for a metamethod, or this frame's func was shifted (varargs)") \
  CALL_STATUS(UNWIND, "CALL_PCALL frame that closes variables after an error") \
  CALL_STATUS(TOCLOSE, "C frame with pending to-be-closed slots") \
  CALL_STATUS(VARARG, "func was shifted up over the extra arguments") \
  CALL_STATUS(SCANNED, "not active since a minor collection scanned the stack (gc_thread.c); whoever activates a frame sets its status anew") \
  CALL_STATUS(HOOK_YIELDED, "a hook of this Lua frame yielded: its instruction is traced no second time") \
  CALL_STATUS(NEGATE, "waits for a __lt in place of __le: its answer counts the other way round")

enum {
#define CALL_STATUS(name, meaning) CALL_BIT_##name,
  CALL_STATUSES(CALL_STATUS)
#undef CALL_STATUS
  CALL_BITS
};
enum {
#define CALL_STATUS(name, meaning) CALL_##name = 1 << CALL_BIT_##name,
  CALL_STATUSES(CALL_STATUS)
#undef CALL_STATUS
};
_Static_assert(CALL_BITS <= 24, "the status in which a frame recovers follows");

/* Error status with which a CALL_PROTECTED_C frame recovers, in bits 24-27. */
#define CALL_RECOVERED_MASK 0x0f000000u
#define CALL_RECOVERED(status) ((int)((status) >> 24 & 0xf))
#define CALL_SET_RECOVERED(err) ((uint32_t)(err) << 24)

/* One activation.  Frames form a doubly linked list that is kept for reuse;
 * each is a heap part owned by the thread. */
struct CallInfo {
  TValue *func;  /* the function's slot; registers start at func + 1 */
  TValue *top;   /* limit of the registers (Lua) or of what a C function may push */
  CallInfo *prev, *next;
  union {
    struct {                   /* Lua functions */
      const Instruction *pc;   /* next instruction to run */
      const TValue *k;         /* constants of the function */
      uint32_t nextra;         /* number of extra (vararg) arguments */
    } lua;
    struct {                   /* C functions and native frames */
      lua_KFunction k;         /* continuation, or NULL */
      lua_KContext ctx;
      ptrdiff_t old_errfunc;
    } c;
  } u;
  union {
    uint32_t func_index;  /* yieldable pcall: stack index of the called function */
    uint32_t npcalls;     /* CALL_PCALL: pcalls in progress below it */
    int32_t nyield;       /* values yielded */
    int32_t nres;         /* values being returned while closing variables */
    struct { uint16_t first, count; } transfer; /* call/return hooks */
  } u2;
  int32_t nresults;  /* results wanted by the caller, -1: all */
  uint32_t status;   /* CALL_* */
  uint32_t depth;    /* place in the list, base_ci being 0 */
};

#define is_lua_frame(ci) (!((ci)->status & CALL_C))
#define frame_closure(ci) as_lua_closure((ci)->func)

/* A point to which an error unwinds the C stack. */
typedef struct ErrorJump {
  struct ErrorJump *prev;
  volatile int status; /* LUA_OK until an error arrives */
  struct CallInfo *searched; /* of a Run: the frames inside this one do not catch the error; NULL: not known */
  jmp_buf buf;
} ErrorJump;

/* A thread (coroutine).  LUA_EXTRASPACE bytes lie before it. */
struct lua_State {
  GCHEADER;
  uint8_t status;        /* LUA_OK, LUA_YIELD or an error: the coroutine's own */
  uint8_t allow_hook;
  uint32_t hook_mask;
  TValue *top;           /* first free slot */
  Domain *domain;
  CallInfo *ci;          /* current activation */
  TValue *stack_last;    /* up to where the stack is used without asking, EXTRA_STACK slots more
                            not counted; all beyond is nil. In a large stack that is less than
                            stack_end: so a collection need not look at the rest */
  TValue *stack_end;     /* limit of the stack: EXTRA_STACK slots follow */
  TValue *stack;
  UpValue *open_upvalues;
  TValue *tbc_list;      /* highest slot with a pending to-be-closed variable; `extra` of each holds the distance to the one below */
  lua_State *resumer;    /* who resumed this coroutine; NULL when not running */
  const void *const *dispatch; /* table of the interpreter's handlers in force (hooks on or off); volatile in effect: reread at every back-edge */
  ptrdiff_t errfunc;     /* stack offset of the message handler in force; 0: none */
  lua_Hook hook;
  int base_hook_count, hook_count;
  uint32_t ncalls_nonyieldable; /* C calls in progress that cannot be yielded across */
  uint32_t npcalls;      /* nested pcall frames run in the loop */
  uint32_t nci;          /* frames in the list */
  uint32_t unscanned;    /* slot from which on a piece of a minor collection has left some; 0: it has not */
  uint32_t reach;        /* slots that C frames may use without asking (gc_thread.c) */
  uint32_t resume_depth; /* coroutines nested below this one, itself included */
  struct Run *run;       /* activation of the interpreter loop that resumed this coroutine (vm/call.c); NULL when suspended */
  int old_pc;            /* last instruction traced by a line hook */
  lua_State *next_remembered; /* in Gc.remembered_threads */
  CallInfo base_ci;      /* the frame of the C host */
};

/* The intern table grows and shrinks bucket by bucket (linear hashing; design in
 * str.c): no moment in which all of it is rehashed. */
#define STRING_SEGMENT_BITS 9
#define STRING_SEGMENT (1u << STRING_SEGMENT_BITS)
typedef struct StringTable {
  StringLink **segments; /* directory of segments of STRING_SEGMENT buckets each */
  uint32_t directory;  /* room in it */
  uint32_t size;       /* buckets in use: mask / 2 < size <= mask + 1 */
  uint32_t mask;       /* a power of two less one */
  uint32_t used;       /* strings */
} StringTable;

ALWAYS_INLINE StringLink *string_bucket(const StringTable *table, uint32_t index) {
  return &table->segments[index >> STRING_SEGMENT_BITS][index & (STRING_SEGMENT - 1)];
}
/* The bucket that a hash belongs to at the present size. */
ALWAYS_INLINE uint32_t string_bucket_index(const StringTable *table, uint32_t hash) {
  uint32_t index = hash & table->mask;
  return index < table->size ? index : index & table->mask >> 1;
}

#define STRING_ADDRESS_BITS 48 /* of a StringLink; more than user addresses have on Linux, unless asked for */

ALWAYS_INLINE String *string_at(StringLink link) {
  return (String *)(uintptr_t)(link & ((UINT64_C(1) << STRING_ADDRESS_BITS) - 1));
}
/* Which bit of a link says that a string with such a hash may follow. Of the hash, it takes what
 * the index of a bucket does not. */
ALWAYS_INLINE uint32_t string_filter_bit(uint32_t hash) { return STRING_ADDRESS_BITS | hash >> 28; }
ALWAYS_INLINE bool string_may_follow(StringLink link, uint32_t hash) { return link >> string_filter_bit(hash) & 1; }
/* Puts the string before the rest of its chain; answers the link to it. */
ALWAYS_INLINE StringLink string_chain(String *s, StringLink rest) {
  StringLink address = (uintptr_t)s, known = rest >> STRING_ADDRESS_BITS << STRING_ADDRESS_BITS;
  rt_assert(address >> STRING_ADDRESS_BITS == 0);
  s->u.next = rest;
  return (known | address) | UINT64_C(1) << string_filter_bit(s->hash);
}

/* What lower layers need from upper ones; filled by the vm before use. */
typedef struct RuntimeHooks {
  /* Calls a finalizer: function and argument are on top of the stack; must not
   * raise (the vm turns errors into warnings). */
  void (*call_finalizer)(lua_State *L);
  /* Raises LUA_ERRRUN with the message, prefixed by "chunk:line:" when the current
   * function is Lua, after the message handler in force; does not return. */
  void (*raise_message)(lua_State *L, const char *msg);
  /* Reads or writes a number or boolean in a userdata of kind USERDATA_CDATA, without
   * allocating or raising; false: not one of these, its metamethod has to do it. NULL
   * until there is such userdata. */
  bool (*cdata_get)(const Userdata *u, const TValue *key, TValue *result);
  bool (*cdata_set)(const Userdata *u, const TValue *key, const TValue *value);
  /* Makes the interpreter look at what is asked of the domain (isolate.h) before the next
   * instruction of L, the domain's running thread. Async-signal-safe. */
  void (*interrupt)(lua_State *L);
  /* Before the panic function: closes the variables pending on the thread, whose
   * error is on top; answers the status of the error that is then its only value. */
  int (*reset_thread)(lua_State *L, int status);
  /* Frees, after the last finalizer, what module ffi has outside the heap; NULL until it
   * is opened. */
  void (*close_ffi)(void *ffi);
  void *ffi;
} RuntimeHooks;

struct Channel;
struct Isolate;

/* What passing values to other domains needs; filled by the library of domains. The
 * tables are in the registry, too. */
typedef struct Sharing {
  Table *loaded;            /* package.loaded */
  Table *metatables;        /* agreed on: metatable -> name, name -> metatable */
  Table *channel_metatable; /* of the userdata that are handles of channels */
  void (*push_channel)(lua_State *L, struct Channel *channel); /* this domain's handle; raises */
} Sharing;

struct Domain {
  Heap heap;
  Gc gc;
  StringTable strings;
  uint32_t seed;           /* of string hashes */
  uint32_t ncalls;         /* C calls nested (all threads) */
  lua_State *main_thread;
  lua_State *current;      /* the thread that runs */
  ErrorJump *error_jump;   /* innermost protected point */
  TValue registry;
  Table *metatables[LUA_NUMTYPES]; /* of the basic types */
  String *meta_names[META_COUNT];
  String *names[NAME_COUNT];
  String *memory_error;    /* preallocated message */
  TValue nil;              /* a read-only nil */
  lua_CFunction panic;
  lua_WarnFunction warnf;
  void *warn_ud;
  lua_Alloc allocf;        /* as given to lua_newstate; used for nothing but lua_getallocf */
  void *alloc_ud;
  void *compile_spare;     /* memory kept for the next compilation (vm/arena.c), or NULL */
  RuntimeHooks hooks;
  struct eventring_domain *trace; /* its rings; not NULL between trace_domain_start and _stop (trace.h) */
  Sharing sharing;
  struct Isolate *isolate; /* what others see of the domain; not NULL once it is complete */
  bool trace_waits;        /* the recorder stood by when the domain began, and was not started since (runtime/trace.c) */
  uint32_t id;
};

/* ---- errors (error.c): the one way to raise -------------------------------- */

/* Unwinds to the innermost protected point; the error value is on top of the
 * stack (or, for LUA_ERRMEM, is the preallocated message). */
_Noreturn void error_throw(lua_State *L, int status);
/* Raises LUA_ERRRUN with a printf-formatted message, prefixed with the current position. */
_Noreturn void error_run(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void error_memory(lua_State *L);

#include "gc_inline.h" /* heap_alloc, gc_check, write barriers */

#endif
