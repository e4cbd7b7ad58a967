/* SPDX-License-Identifier: MIT */
/* pages.h: the ways to ask the system which pages take memory (pages.c). */
#ifndef EVENTRING_PRODUCER_PAGES_H
#define EVENTRING_PRODUCER_PAGES_H

/* Values of eventring_pages.how, the best way first. */
enum evr_pages_how {
  EVR_PAGES_SCAN,    /* PAGEMAP_SCAN, since Linux 6.7 */
  EVR_PAGES_ENTRIES, /* the words of /proc/self/pagemap */
  EVR_PAGES_MINCORE  /* used if /proc cannot be read: pages of zeros count, too */
};

#endif /* EVENTRING_PRODUCER_PAGES_H */
