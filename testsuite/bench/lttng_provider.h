/* SPDX-License-Identifier: MIT */
/* lttng_provider.h: the tracepoints that lttng_loop.c compares with: the begin and the
 * end of a span, without payload, and one that no session enables. The library requires
 * it to be included several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER saros_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(saros_bench, span_begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(saros_bench, span_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(saros_bench, not_enabled, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif
#include <lttng/tracepoint-event.h>
