/* SPDX-License-Identifier: MIT */
/* vm/retain_walk.h: the state of a walk, shared by retain*.c. */
#ifndef SAROS_VM_RETAIN_WALK_H
#define SAROS_VM_RETAIN_WALK_H

#include "frame.h"
#include "retain.h"
#include "thread.h"

/* An object that was visited. The queue of the walk is the list of all visited objects,
 * in the order of their distance from the roots. The queue also has the paths (parent,
 * edge). */
typedef struct Visited {
  uint64_t object_shape; /* address / 8, then the number of its shape */
  uint32_t parent;       /* position in the queue, or NO_PARENT for a root */
  /* the edge by which the object was found in its parent (retain_edge.c) */
  uint32_t edge;
} Visited;

#define NO_PARENT UINT32_MAX
#define SHAPE_BITS 18
#define MOST_SHAPES (1u << SHAPE_BITS)
_Static_assert(MOST_SHAPES == RETAIN_SHAPES, "both say how many there are");

ALWAYS_INLINE GCObject *visited_object(const Visited *v) {
  return (GCObject *)(uintptr_t)(v->object_shape >> SHAPE_BITS << 3);
}
ALWAYS_INLINE uint32_t visited_shape(const Visited *v) {
  return (uint32_t)v->object_shape & (MOST_SHAPES - 1);
}

/* How one object refers to another, as far as the shapes of paths distinguish steps. */
typedef enum StepKind {
  STEP_ROOT,      /* `of` is the name, a C string */
  STEP_FIELD,     /* `of` is the key, a String */
  STEP_ANY,       /* some element of a table */
  STEP_KEY,       /* as a key of a table */
  STEP_METATABLE,
  STEP_UPVALUE,   /* `of` is its name, a String, or NULL */
  STEP_USER_VALUE,
  STEP_LOCAL,     /* `of` is its name, a String; `in` is the function */
  STEP_TEMPORARY, /* `in` is the function, or NULL */
  STEP_CODE,      /* constants, functions and names in code */
  STEP_VALUE,     /* value of an upvalue, which is no step in paths that are shown */
  STEP_MORE       /* steps beyond those that are distinguished */
} StepKind;

typedef struct Step {
  StepKind kind;
  const void *of, *in;
} Step;

/* Paths of one shape: a node of a tree. */
typedef struct Shape {
  Step step;
  uint32_t parent; /* 0 if there is none; shape 0 is not used */
  uint16_t depth;
  bool repeated;   /* the step stands for one or more equal steps in succession */
} Shape;

/* The kinds of objects that are distinguished. */
typedef enum ObjectKind {
  KIND_NONE,
  KIND_STRING,
  KIND_NAMED_TABLE,  /* `of` is the name in its metatable */
  KIND_TABLE,        /* `of` is a hash of its fields */
  KIND_USERDATA,     /* `of` is the name, or 0 */
  KIND_FUNCTION,     /* `of` is its prototype */
  KIND_C_FUNCTION,   /* `of` is its address */
  KIND_THREAD,
  KIND_UPVALUE,
  KIND_CODE,
  KIND_OTHER         /* if there are too many kinds */
} ObjectKind;

typedef struct KindKey {
  ObjectKind kind;
  uint64_t of;
} KindKey;

typedef struct Kind {
  KindKey key;
  RetainAmount amount;
  uint32_t first; /* position in the queue of the first object */
  uint32_t first_way, nways; /* the ways of the kind, as a range of group_order */
} Kind;

/* Objects of one kind and one shape. */
typedef struct Group {
  uint32_t kind, shape;
  uint32_t first; /* position in the queue of the first object */
  RetainAmount amount;
} Group;

enum {
  MOST_KINDS = 4096,
  MOST_GROUPS = 1 << 18,
  MOST_WINDOWS = 1 << 14, /* a window is 1 MiB of addresses */
  WINDOW_SHIFT = 20,
  WINDOW_BYTES = 1 << (WINDOW_SHIFT - 6), /* a bit for each 8 bytes */
  MOST_DEPTH = 12,        /* number of steps by which shapes are distinguished */
  MOST_LATER = 1 << 18    /* number of tables with weak keys, and threads */
};

struct RetainWalk {
  Domain *d;
  const Table *globals, *loaded; /* _G and package.loaded, or NULL */
  RetainEnd end;
  uint64_t deadline; /* time of monotonic_ns; 0 if there is none */
  RetainAmount total;
  Visited *queue;
  uint32_t n, most, next;
  uint64_t *windows;       /* by hash, base / 1 MiB + 1, or 0 for a free slot */
  uint8_t *window_bits;    /* WINDOW_BYTES for each window */
  uint32_t last_window;
  Shape *shapes;
  uint32_t nshapes;
  /* 2 * MOST_SHAPES entries by hash; an entry is a number, or 0 if it is free */
  uint32_t *shape_index;
  Kind *kinds;
  uint32_t nkinds;
  /* 2 * MOST_KINDS entries by hash; an entry is a number + 1, or 0 if it is free */
  uint32_t *kind_index;
  uint32_t *kind_order;    /* numbers of kinds, most bytes first */
  Group *groups;
  uint32_t ngroups;
  /* 2 * MOST_GROUPS entries by hash; an entry is a number + 1, or 0 if it is free */
  uint32_t *group_index;
  uint32_t *group_order;   /* numbers of groups, by kind, most bytes first */
  /* entries of the queue that are to be followed later (once more) */
  uint32_t *later;
  uint32_t nlater;
  char *memory;            /* the mapping that holds all arrays of the walk */
  size_t memory_bytes;
};

/* ---- edges (retain_edge.c) ----------------------------------------------- */

/* Returns the number of the shape of paths with one step behind `shape`. */
uint32_t retain_shape(RetainWalk *w, uint32_t shape, Step step);
/* Reaches an object, unless it was visited. `edge` is 0 for a root. */
void retain_reach(RetainWalk *w, GCObject *o, uint32_t parent, uint32_t edge, uint32_t shape);
/* Reaches all objects that queue entry i refers to. */
void retain_follow(RetainWalk *w, uint32_t i);
/* Continues when the queue has been followed to its end. Follows the values of weak keys
 * that were visited; if none of these values is new, follows the temporaries on stacks.
 * Returns false if nothing is new. */
bool retain_follow_later(RetainWalk *w);
bool retain_was_visited(RetainWalk *w, const GCObject *o);
/* Marks an object as visited (retain.c). Returns false if it was visited before, or if
   there is no room. */
bool retain_visit(RetainWalk *w, const GCObject *o);

/* Returns the frame that has slot `edge` of a thread, or NULL if there is none. */
const CallInfo *retain_frame_of(const lua_State *co, uint32_t edge);
/* Returns the step for the variable in the slot of a frame; its `of` is NULL if it has no
   name. */
Step retain_slot_step(const lua_State *co, const CallInfo *ci, const TValue *slot);

/* ---- order (retain_order.c) ------------------------------------------------ */

/* Tells whether entry a comes before entry b. The order is total. */
typedef bool RetainBefore(const void *context, uint32_t a, uint32_t b);
/* Fills `order` with the numbers 0 to n - 1, sorted by `before`. */
void retain_order(uint32_t *order, uint32_t n, RetainBefore *before, const void *context);

/* ---- kinds and texts (retain_kind.c, retain_text.c) ------------------------ */

KindKey retain_kind_of(const RetainWalk *w, const GCObject *o);
/* A text of at most size - 1 bytes, without control characters. */
typedef struct Text {
  char *at;
  size_t used, size;
} Text;
void text_add(Text *t, const char *s);
void text_add_bytes(Text *t, const char *s, size_t n, size_t most);
void text_add_int(Text *t, int64_t i);
void text_add_function(Text *t, const Prototype *p);
void retain_name_kind(const RetainWalk *w, const Kind *kind, Text *t);
void retain_write_path(const RetainWalk *w, uint32_t i, Text *t);
void retain_write_shape(const RetainWalk *w, uint32_t shape, Text *t);
uint32_t retain_steps(const RetainWalk *w, uint32_t i);

/* Returns the String in a raw field of a metatable, or NULL. */
const String *retain_meta_string(const Domain *d, const Table *metatable, int event);

#endif
