/* SPDX-License-Identifier: MIT */
/* serve_page.h: the page of `eventring serve`, and the stream of events that keeps it up
   to date. */
#ifndef EVENTRING_TOOL_SERVE_PAGE_H
#define EVENTRING_TOOL_SERVE_PAGE_H

#include <stdio.h>

#include <microhttpd.h>

#include "live_processes.h"

/* Writes the page, with a row for each of the processes that record. */
void serve_page_put(FILE *out, const struct live_processes *live);

/* Returns the response that sends these rows as Server-Sent Events: one refresh of
   `eventring top --json' a second, by that command in a process of its own, which
   begins with the first bytes that are asked for and ends with the response, or when
   `*stop' is true. Counts in *streams how many there are. Returns NULL if there are as
   many as allowed, or no memory. Any thread; the response must be read by a thread
   that may wait. */
struct MHD_Response *serve_events(unsigned *streams, const bool *stop);

#endif
