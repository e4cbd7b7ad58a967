/* SPDX-License-Identifier: MIT */
/* header.h: what all writers put into the header of a file. */
#ifndef EVENTRING_HEADER_H
#define EVENTRING_HEADER_H

#include <string.h>

#include "format/format.h"

/* Sets the fields that all files of this version have in common; the others stay. */
static inline void evr_header_set_constants(struct format_header *h) {
  memcpy(h->magic, FORMAT_MAGIC, sizeof h->magic);
  h->version = FORMAT_VERSION;
  h->byte_order = FORMAT_BYTE_ORDER;
  h->front_bytes = FORMAT_FRONT_BYTES;
  h->block_bytes = FORMAT_BLOCK_BYTES;
  h->max_domains = EVENTRING_MAX_DOMAINS;
  h->rings_per_domain = EVENTRING_RINGS;
  h->domain_bytes = sizeof(struct format_domain);
  h->status_offset = FORMAT_STATUS_OFFSET;
  h->control_offset = FORMAT_CONTROL_OFFSET;
  h->domains_offset = FORMAT_DOMAINS_OFFSET;
  h->blocks_offset = FORMAT_BLOCKS_OFFSET;
}

#endif /* EVENTRING_HEADER_H */
