/* SPDX-License-Identifier: MIT */
/* vm/transfer.h: values into messages and back (design: top of transfer_encode.c). */
#ifndef SAROS_VM_TRANSFER_H
#define SAROS_VM_TRANSFER_H

#include "object.h"
#include "message.h"

/* The contents of a message. A value is a token, followed by:
 *  count  unsigned, seven bits a byte, lowest first, the highest bit set but in the last
 *  text   count of bytes, bytes
 * "new" tokens number the objects of the message, from 0 on, in their order. */
typedef enum Token {
  TOKEN_NIL,
  TOKEN_FALSE,
  TOKEN_TRUE,
  TOKEN_INT,       /* count: the zigzag number */
  TOKEN_FLOAT,     /* 8 bytes */
  TOKEN_SHORT,     /* text: an interned string */
  TOKEN_LONG,      /* new; text */
  TOKEN_LARGE,     /* new; count: index among the message's large strings */
  TOKEN_TABLE,     /* new; body: see transfer_encode.c */
  /* new; byte 0 and a new prototype (4 bytes size, binary chunk), or byte 1 and count:
     the number of a prototype that came before */
  TOKEN_FUNCTION,
  TOKEN_UPVALUE,   /* new; only where a function lists its upvalues */
  TOKEN_OBJECT,    /* count: the number of an object that came before */
  TOKEN_GLOBALS,   /* the receiver's table of globals */
  TOKEN_CHANNEL,   /* count: index among the message's channels */
  TOKEN_MODULE,    /* count: index among the message's modules */
  TOKEN_MEMBER,    /* count: index of the module; text: the name of its field */
  TOKEN_NATIVE,    /* 8 bytes: a C function of this program, without upvalues */
  TOKEN_PRIMITIVE, /* 8 bytes */
  TOKEN_AGREED     /* text: name of a metatable (metatables only) */
} Token;

/* Puts the `n` values on top into a message, and leaves them on the stack. `root` names
 * the values in the error about one that cannot be sent: "arg" gives arg.list[3] or, if n
 * > 1, arg[2].list[3]. `function` says that the first value is the function of a new
 * domain. Raises. */
Message *transfer_encode(lua_State *L, int n, const char *root, bool function);
/* Puts values into a message without raising: returns NULL on failure, with the text of
 * the error, of at most `size` bytes, in *text. */
Message *transfer_try_encode(lua_State *L, int n, const char *root, bool function, char *text,
                             size_t size);
/* Pushes the values of a message and frees it, also if it raises; returns their number.
 * Loads modules, so it may run guest code. */
int transfer_decode(lua_State *L, Message *m);

#endif
