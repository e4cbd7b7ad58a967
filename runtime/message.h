/* SPDX-License-Identifier: MIT */
/* runtime/message.h: a value that is passed between domains.
 *
 * The bytes are written by vm/transfer_encode.c; only vm/transfer_decode.c can read them.
 * A message has one owner at a time: the sender, a channel, the receiver. Besides its
 * bytes it owns
 *   - a reference to each channel named in it; the reference belongs to no domain, since
 *     any domain may receive the message;
 *   - large strings, copied once, in the form in which the receiver's heap takes them
 *     over (heap.h: heap_large_detached).
 *
 * All memory of a message comes from malloc, and no collector counts it. Therefore a
 * sender can have a large message weighed: the message's bytes count in the MessageLoad
 * of the handle through which it was sent, until a domain frees the message.
 */
#ifndef SAROS_RUNTIME_MESSAGE_H
#define SAROS_RUNTIME_MESSAGE_H


#include "object.h"

struct Channel;
struct LargeHeader;

typedef struct MessageLoad {
  /* atomic: bytes of the weighed messages that are not freed yet; any thread */
  size_t bytes;
  /* atomic: one reference for each of these messages, and one of the creator */
  uint32_t references;
} MessageLoad;

typedef struct Message {
  struct Message *next;           /* next message, for the owner's use */
  struct Channel **channels;      /* malloc'ed */
  struct LargeHeader **large;     /* malloc'ed; entries that were taken over are NULL */
  uint32_t nchannels, nlarge;
  /* number of tables, functions and other objects that the bytes describe */
  uint32_t nobjects;
  uint32_t nvalues;
  /* number of modules that the receiver must load first */
  uint32_t nmodules;
  size_t modules_at;              /* offset of the modules' names in `bytes` */
  MessageLoad *load;              /* NULL if not weighed */
  size_t weight;
  size_t size;
  char bytes[];
} Message;

/* Allocates a message with `size` bytes. Returns NULL if out of memory. */
Message *message_new(size_t size);
void message_free(Message *message); /* NULL allowed */
/* Returns the bytes of the message, with its large strings. */
size_t message_weight(const Message *message);
/* Returns the bytes that malloc gave for the message. Sets *mapped to the bytes of its
 * large strings that have mappings of their own. */
size_t message_memory(const Message *message, size_t *mapped);

MessageLoad *message_load_new(void); /* NULL if there is no memory */
void message_load_release(MessageLoad *load); /* NULL allowed */
void message_weigh(Message *message, MessageLoad *load);

#endif
