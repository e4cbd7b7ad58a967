/* SPDX-License-Identifier: MIT */
/* runtime/message.h: a value that is passed between domains.
 *
 * The bytes are written by vm/transfer_encode.c; only vm/transfer_decode.c can read them. A
 * message has one owner at a time: the sender, a channel, the receiver. Besides
 * its bytes it owns
 *   - a reference to each channel named in it, which belongs to no domain in particular:
 *   any may receive it;
 *   - large strings, copied once, into the shape that the receiver's heap
 *     takes over as they are (heap.h: heap_large_detached).
 *
 * All that is malloc'ed, unknown to any collector. So a sender can have a large one
 * weighed: its bytes count in the MessageLoad of the handle that it went through until a
 * domain frees the message.
 */
#ifndef SAROS_RUNTIME_MESSAGE_H
#define SAROS_RUNTIME_MESSAGE_H

#include <stdatomic.h>

#include "object.h"

struct Channel;
struct LargeHeader;

typedef struct MessageLoad {
  /* of the messages that were weighed and are not freed yet; any thread */
  _Atomic size_t bytes;
  _Atomic uint32_t references;  /* of these messages, and one of its maker */
} MessageLoad;

typedef struct Message {
  struct Message *next;           /* for its owner */
  struct Channel **channels;      /* malloc'ed */
  struct LargeHeader **large;     /* malloc'ed; NULL entries were taken over */
  uint32_t nchannels, nlarge;
  uint32_t nobjects;              /* tables, functions ... that its bytes describe */
  uint32_t nvalues;
  uint32_t nmodules;              /* that the receiver must have loaded first */
  size_t modules_at;              /* where their names are in `bytes` */
  MessageLoad *load;              /* NULL: not weighed */
  size_t weight;
  size_t size;
  char bytes[];
} Message;

/* NULL: no memory. */
Message *message_new(size_t size);
void message_free(Message *message); /* NULL allowed */
/* Bytes that it takes, large strings included. */
size_t message_weight(const Message *message);
/* Bytes that malloc gave for it, and, apart, those of mappings of their own that large
 * strings have. */
size_t message_memory(const Message *message, size_t *mapped);

MessageLoad *message_load_new(void); /* NULL: no memory */
void message_load_release(MessageLoad *load); /* NULL allowed */
void message_weigh(Message *message, MessageLoad *load);

#endif
