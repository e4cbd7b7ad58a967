/* runtime/message.h: a value on its way between domains.
 *
 * The bytes are written by vm/transfer.c, the only one that can read them. A
 * message has one owner at a time: the sender, a channel, the receiver. Besides
 * its bytes it owns
 *   - a reference to each channel named in it, which counts as held by nobody
 *     and by anybody: it may yet be received;
 *   - large strings, copied once, into the shape that the receiver's heap
 *     takes over as they are (heap.h: heap_large_detached).
 */
#ifndef SAROS_RUNTIME_MESSAGE_H
#define SAROS_RUNTIME_MESSAGE_H

#include "object.h"

struct Channel;
struct LargeHeader;

typedef struct Message {
  struct Message *next;           /* for whoever owns it */
  struct Channel **channels;      /* malloc'ed */
  struct LargeHeader **large;     /* malloc'ed; NULL entries were taken over */
  uint32_t nchannels, nlarge;
  uint32_t nobjects;              /* tables, functions ... that its bytes describe */
  uint32_t nvalues;
  uint32_t nmodules;              /* that the receiver must have loaded first */
  size_t modules_at;              /* where their names are in `bytes` */
  size_t size;
  char bytes[];
} Message;

/* NULL: no memory. */
Message *message_new(size_t size);
void message_free(Message *message); /* NULL allowed */

#endif
