/* SPDX-License-Identifier: MIT */
/* share.h: divides room among many who need it.
 *
 * Pure functions: no errors, any thread. */
#ifndef EVENTRING_VIEW_SHARE_H
#define EVENTRING_VIEW_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* A user that needs room. */
struct page_need {
  double weight;    /* above 0 */
  uint64_t bytes;   /* the bytes that it needs */
  uint64_t allowed; /* result: what it needs, or less in proportion to its weight */
};

/* Divides `room`: what one user does not need goes to the others. */
void page_share(struct page_need *needs, size_t count, uint64_t room);

#endif
