/* SPDX-License-Identifier: MIT */
/* pages.h: how the system is asked which pages take memory (pages.c). */
#ifndef EVENTRING_PRODUCER_PAGES_H
#define EVENTRING_PRODUCER_PAGES_H

/* From the best way to the last one; struct eventring_pages.how. */
enum evr_pages_how {
  EVR_PAGES_SCAN,    /* PAGEMAP_SCAN, since Linux 6.7 */
  EVR_PAGES_ENTRIES, /* the words of /proc/self/pagemap */
  EVR_PAGES_MINCORE  /* where /proc cannot be read: pages of zeros count, too */
};

#endif /* EVENTRING_PRODUCER_PAGES_H */
