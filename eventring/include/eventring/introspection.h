/* SPDX-License-Identifier: MIT */
/* eventring/introspection.h: where a running process keeps the stacks of its programs, as
 * data that another process of the same user reads.
 *
 * A host (a language runtime) fills one `struct eventring_introspection`, which keeps its
 * address for the life of the process, and places EVENTRING_INTROSPECTION_NOTE(name) in
 * the same file. A reader (`eventring stack`) finds it through an ELF note of the
 * executable or the library, and reads the process's memory by process_vm_readv: without
 * stopping, signalling or slowing it. doc/INTROSPECTION.md has the layout by offset, what
 * makes it valid, the algorithm of the reader, and what the host must keep to.
 *
 * Offsets are bytes from the start of the structure named. Texts are ASCII, ended by a
 * NUL. C11 and C++11; no functions.
 */
#ifndef EVENTRING_INTROSPECTION_H
#define EVENTRING_INTROSPECTION_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EVENTRING_INTROSPECTION_MAGIC "evrstack"
enum { EVENTRING_INTROSPECTION_VERSION = 4 };

/* A place relative to a structure: at `offset` in it. If `through` is not EVENTRING_HERE,
   the structure has a pointer at `through`, and the place is at `offset` in the object
   that it points to. */
#define EVENTRING_HERE UINT32_MAX
struct eventring_location {
  uint32_t through, offset;
};

/* What a domain does. The first rule that holds decides; if none holds, the domain runs
   the program. */
enum eventring_activity {
  EVENTRING_ACTIVITY_RUNNING,
  EVENTRING_ACTIVITY_COLLECTING,
  EVENTRING_ACTIVITY_FINALIZING,
  EVENTRING_ACTIVITY_WAITING
};
enum { EVENTRING_MAX_RULES = 16, EVENTRING_RULE_TEXT = 32 };
struct eventring_rule {
  struct eventring_location where;   /* in the domain: an unsigned integer */
  uint32_t size; /* bytes of the integer: 1, 2, 4 or 8; 0 at the end of the rules */
  uint32_t mask, value;           /* holds if (integer & mask) == value ... */
  uint32_t differs;               /* ... or, if this is not 0, != value */
  uint32_t activity;              /* enum eventring_activity */
  /* with has_subject: uint32_t, the number of what the domain waits for */
  struct eventring_location subject;
  uint32_t has_subject;
  char text[EVENTRING_RULE_TEXT]; /* "receiving from channel" */
};

/* What a tag of a value means, and its payload. */
enum eventring_value_kind {
  EVENTRING_VALUE_UNKNOWN,
  EVENTRING_VALUE_NIL,
  EVENTRING_VALUE_FALSE,
  EVENTRING_VALUE_TRUE,
  EVENTRING_VALUE_INT,       /* int64_t */
  EVENTRING_VALUE_FLOAT,     /* double */
  EVENTRING_VALUE_STRING,    /* address of a string */
  EVENTRING_VALUE_TABLE,     /* address of a table */
  EVENTRING_VALUE_OBJECT,    /* an address, which is shown */
  EVENTRING_VALUE_THREAD,    /* address of a thread */
  EVENTRING_VALUE_FUNCTION,  /* address of a closure of the language */
  EVENTRING_VALUE_CCLOSURE,  /* address of a closure of a C function */
  /* address of a C function, or another address that represents one */
  EVENTRING_VALUE_CFUNCTION,
  EVENTRING_VALUE_KINDS
};
enum { EVENTRING_MAX_TAGS = 24, EVENTRING_TAG_TEXT = 14 };
struct eventring_tag {
  uint8_t tag, kind; /* enum eventring_value_kind; UNKNOWN at the end of the tags */
  char text[EVENTRING_TAG_TEXT]; /* "userdata" */
};

/* How a word of the line table holds a line: if (word & mask) == value, it is
   (word >> shift) & lines. */
enum { EVENTRING_MAX_LINE_FORMS = 4 };
struct eventring_line_form {
  uint32_t mask, value, shift, lines; /* `lines` is 0 at the end of the forms */
};

struct eventring_introspection {
  char magic[8];
  uint32_t version;
  uint32_t size;      /* sizeof(struct eventring_introspection) */
  uint64_t address;   /* address of this structure */
  char host[32];      /* "saros 1.0" */
  uint64_t request;   /* address of a struct eventring_request; 0 if there is none */
  uint64_t domains; /* address of an array of pointers to domains; NULL in a free place */
  uint32_t domain_places;

  struct {
    struct eventring_location id;     /* uint32_t */
    /* int32_t: its OS thread, by its own id; 0 if none */
    struct eventring_location thread;
    struct eventring_location name;   /* text, at most name_size bytes, ended by a NUL */
    uint32_t name_size;
    uint32_t current;              /* pointer: the thread that runs */
    uint32_t main;                 /* pointer: its main thread */
    uint32_t roots;                /* value: table with `modules`, a table of tables */
    char modules[16];              /* the fields of those name functions */
  } domain;

  struct {                   /* a thread of the language: a coroutine or a main thread */
    uint32_t head;           /* bytes from its start that hold all members below */
    uint32_t frame;          /* pointer: its innermost frame */
    uint32_t resumer;        /* pointer: the thread that waits for it; NULL if none */
    uint32_t status;         /* uint8_t */
    uint32_t suspended;      /* the status of a suspended thread */
    uint32_t domain;         /* pointer: its domain */
    uint32_t stack;          /* pointer: its first value */
    uint32_t stack_end;      /* pointer: after its last value */
    uint32_t type, is_type;  /* uint8_t, and its value in every thread */
    uint32_t first_frame;    /* offset of the host's frame, which is the outermost */
  } thread;

  struct {
    uint32_t size;
    uint32_t function;       /* pointer: value, the running function, then variables */
    uint32_t previous;       /* pointer: the frame that called it */
    uint32_t next;           /* pointer: the frame to be used next, or NULL */
    uint32_t status;         /* uint32_t */
    uint32_t c_mask;         /* status & mask: a C function runs in it */
    uint32_t finalizer_mask; /* status & mask: it called a finalizer, which runs in the
                                next frame */
    uint32_t tail_mask;      /* status & mask: its function was called by a tail call */
    uint32_t identity; /* word: identity of the prototype that runs (not with c_mask) */
    uint32_t c_function;     /* word: the C function (with c_mask); 0 if not known */
    uint32_t pc; /* pointer: after the last instruction noted (not with c_mask) */
    uint32_t depth;          /* uint32_t: number of frames below it */
    uint32_t entries;        /* uint32_t: changes when another function runs in it */
  } frame;

  struct {
    uint32_t size, payload, tag; /* offsets of 8 bytes and of one */
    struct eventring_tag tags[EVENTRING_MAX_TAGS];
  } value;

  struct {
    uint32_t prototype;      /* pointer, in a closure of the language */
    uint32_t c_function;     /* pointer, in a closure of a C function */
  } closure;

  struct {
    uint32_t size;
    uint32_t type, is_type;  /* uint8_t, and its value in every prototype */
    uint32_t identity;       /* word, different in each prototype */
    uint32_t source; /* pointer: string "@FILE", "=TEXT" or source; NULL if unknown */
    uint32_t name; /* pointer: string, the name by which it is defined; NULL if none */
    uint32_t code, code_count;   /* pointer; uint32_t */
    uint32_t instruction;    /* bytes of an instruction */
    uint32_t lines, line_count;  /* pointer to uint32_t, one an instruction; uint32_t */
    struct eventring_line_form forms[EVENTRING_MAX_LINE_FORMS];
    uint32_t first_line, last_line; /* uint32_t; 0 for the main chunk */
    uint32_t locals, local_count;   /* pointer; uint32_t */
    uint32_t local_size;     /* bytes of a local variable, which has: */
    uint32_t local_name;     /* pointer: string */
    uint32_t local_from, local_to; /* uint32_t: instructions, from and up to which it
                                      exists */
  } prototype;

  struct {
    uint32_t type, is_short; /* uint8_t; its value where the length is a byte */
    uint32_t short_length;   /* uint8_t */
    uint32_t long_length;    /* uint64_t */
    uint32_t bytes;
  } string;

  struct {
    uint32_t nodes;          /* pointer: entries with keys */
    uint32_t node_mask;      /* uint32_t: number of nodes less one */
    uint32_t state, half_more; /* uint8_t; state & half_more: half as many more */
    uint32_t node_size, node_value, node_value_tag, node_key, node_key_tag;
  } table;

  struct {                   /* for the search of suspended threads */
    struct eventring_location first; /* in the domain, pointer: a chunk, or NULL */
    uint32_t next;           /* pointer in a chunk: the next chunk, or NULL */
    uint32_t size;           /* bytes of a chunk */
    /* offset in a chunk of the first place at which a thread may begin */
    uint32_t used_from;
    uint32_t step;           /* threads begin at multiples of this */
    /* in the domain, pointer: the first of a list of chunks whose memory does not follow
       them but is in pieces; NULL, or the chunk at `first`. The list goes on by `next`.
       Since version 4 */
    struct eventring_location scattered;
    uint32_t pieces;         /* offset in such a chunk */
    uint32_t piece;          /* pointer: the first piece; NULL if it has no memory */
    uint32_t piece_step;     /* bytes to the pointer to the next piece */
    uint32_t piece_size;     /* bytes of each piece */
  } heap;

  struct eventring_rule rules[EVENTRING_MAX_RULES];

  struct {                   /* a thread as a coroutine that may wait; since version 3 */
    uint32_t size;           /* bytes from its start that hold all members below */
    uint32_t new_status;     /* thread.status of a thread that has not begun: it has only
                                first_frame, and its function is its second value */
    uint32_t top;            /* pointer: after its last value in use */
    uint32_t frames;         /* uint32_t: number of frames that it keeps */
    uint32_t created_in; /* pointer: the prototype that created it; NULL if not known */
    /* uint32_t: index in that prototype of the instruction after the call */
    uint32_t created_at;
    uint32_t resumed_in; /* pointer: the prototype that resumed it last; NULL if none */
    uint32_t resumed_at;     /* uint32_t: as created_at */
    uint32_t state, settled_mask; /* uint8_t; state & mask: the next two hold */
    uint32_t ran_after, ran_before; /* uint32_t, ticks: it ran last between these */
    struct eventring_location looked; /* in the domain, uint32_t, ticks: a thread without
                                         the mask ran, or was created, after this */
    uint32_t young_mask;     /* state & mask: exists only if ran_before is at least */
    struct eventring_location lives; /* in the domain, uint32_t, modulo 2^32 */
    uint32_t lines, line_size; /* in a chunk of the heap: one byte for each line_size
                                  bytes from its start, or of piece after piece; a thread
                                  without the mask exists only if none of the bytes that
                                  it covers is 0. line_size 0: there are none */
    uint32_t ticks;          /* ticks of CLOCK_MONOTONIC in a second, modulo 2^32 */
    uint32_t bytes;          /* bytes that a thread takes besides its values and frames */
    uint32_t spare_values;   /* values after stack_end */
  } coroutine;

  struct {                   /* a thread's open spans in the recording; since version 3 */
    uint32_t tag;            /* tag of the thread's first value where it has any spans */
    uint32_t id;             /* in the object of that value: uint64_t, the context */
    uint32_t count;          /* uint16_t: how many ids there are */
    uint32_t hidden;         /* uint32_t: number of spans that enclose these */
    uint32_t open;           /* uint16_t each: ids, the outermost first */
  } spans;

  struct {                   /* since version 4 */
    struct eventring_location noted; /* in the domain, uint8_t: not 0 while each
                                        instruction is noted in its frame (frame.pc)
                                        before it runs */
  } lines;
};

/* A request, which other processes of the same user write; the host obeys it at its next
   safepoint (doc/INTROSPECTION.md, "Requests"). */
enum {
  EVENTRING_REQUEST_START = 1, /* to record; in the lowest byte */
  EVENTRING_REQUEST_LINES = 256, /* to read lines_until; alone in the second byte */
  EVENTRING_REQUEST_PATH = 1024
};
struct eventring_request {
  /* EVENTRING_REQUEST_x, or 0 for none; each byte is written after the members that it
     refers to */
  uint32_t word;
  uint32_t refused;  /* written by the host: 0, or the errno of the last refusal */
  uint32_t taken_up; /* number of requests that the host has obeyed or refused */
  uint32_t allowed;  /* 0 if the host ignores requests */
  /* directory of the file; "" for that of the environment */
  char directory[EVENTRING_REQUEST_PATH];
  /* note each instruction until this time, in ns of CLOCK_MONOTONIC */
  uint64_t lines_until;
};

/* Compares two names by which modules have a C function, to find the name to show: the
   name with fewer dots ("table.insert" before "pl.List.push"), the shorter one, the first
   in the order of bytes. Host and readers use it, so that a function has one name.
   Returns less than 0 if it is `a`, more if it is `b`, 0 if they are the same. Any
   thread. */
static inline int eventring_compare_names(const char *a, const char *b) {
  int dots = 0;
  const char *at;
  for (at = a; *at; at++) dots += *at == '.';
  const long a_length = (long)(at - a);
  for (at = b; *at; at++) dots -= *at == '.';
  const long b_length = (long)(at - b);
  if (dots) return dots;
  return a_length != b_length ? (a_length < b_length ? -1 : 1) : strcmp(a, b);
}

/* The ELF note by which readers find the structure `name`, which has external linkage:
   its name is "eventring", its type 1, its descriptor the distance from the descriptor to
   the structure, 8 bytes. */
#define EVENTRING_INTROSPECTION_NOTE(name)                                       \
  __asm__(".pushsection .note.eventring, \"a\", %note\n"                         \
          ".balign 4\n"                                                          \
          ".long 10, 8, 1\n"                                                     \
          ".asciz \"eventring\"\n"                                               \
          ".balign 4\n"                                                          \
          ".quad " #name " - .\n"                                                \
          ".popsection\n")

#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_INTROSPECTION_H */
