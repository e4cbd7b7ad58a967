/* SPDX-License-Identifier: MIT */
/* flat.c: flat calls: calls on paths for which a full trie has no room.
 *
 * A flat node lies in the table and the array of nodes like any other. It has no parent,
 * and no path leads on from it: what a flat call calls is flat. A full trie stays full,
 * so flat nodes come after all others.
 *
 * While a flat node is current, time goes through `charge` to the lost time of the
 * nearest function that is not flat, because the inclusive time of that function must
 * include it at any moment. The flat node gets its time when another node becomes current
 * or somebody reads it (evc_settle): what `charge` has grown since `settled` was noted.
 * So the sums of flat times and of lost times agree. Entry and exit of a flat call take
 * the slow path: the `last` of a flat node is never the callee, and the base of the stack
 * is the frame of the call.
 */
#include "calls/inside.h"

void evc_settle(const eventring_calls *calls) {
  if (evc_is_flat(calls->current))
    calls->current->exclusive += *calls->charge - calls->inside->settled;
  evc_begin_settling(calls);
}

/* Returns the number of flat nodes of functions. */
static size_t nodes_of(const eventring_calls *calls) {
  size_t nodes = calls->inside->nodes.used / sizeof(struct eventring_calls_node);
  return nodes - eventring_calls_count(calls);
}

static bool has_others(const eventring_calls *calls) {
  const struct eventring_calls_inside *in = calls->inside;
  evc_settle(calls);
  return in->nowhere.count || in->rest_of_nowhere.open || in->nowhere.exclusive;
}

size_t evc_flat_count(const eventring_calls *calls) {
  return nodes_of(calls) + has_others(calls);
}

const struct eventring_calls_node *eventring_calls_flat_at(const eventring_calls *calls,
                                                           size_t number) {
  const struct eventring_calls_inside *in = calls->inside;
  if (number >= evc_flat_count(calls)) return NULL;
  return number < nodes_of(calls) ? evc_node(in, in->path_room + number) : &in->nowhere;
}
