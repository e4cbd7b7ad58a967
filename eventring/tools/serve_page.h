/* SPDX-License-Identifier: MIT */
/* serve_page.h: makes the page of `eventring serve`, and the stream of events that keeps
   it up to date. */
#ifndef EVENTRING_TOOL_SERVE_PAGE_H
#define EVENTRING_TOOL_SERVE_PAGE_H

#include <stdio.h>

#include <microhttpd.h>

#include "live_processes.h"

/* Writes the page, with a row for each recording process. */
void serve_page_put(FILE *out, const struct live_processes *live);

/* Returns the response that sends the rows of the page as Server-Sent Events, one refresh
   of `eventring top --json' a second. The command runs in a process of its own, from the
   first read of the response to its end, or until `*stop' is true. *streams counts the
   responses. Returns NULL if there are as many as allowed, or no memory. Any thread; the
   thread that reads the response must be allowed to wait. */
struct MHD_Response *serve_events(unsigned *streams, const bool *stop);

#endif
