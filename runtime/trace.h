/* runtime/trace.h: how the runtime records events (events.def). */
#ifndef SAROS_RUNTIME_TRACE_H
#define SAROS_RUNTIME_TRACE_H

#include "domain.h"

typedef enum EventId {
#define EVENT(id, name, kind, class, unit, doc) EV_##id,
#include "events.def"
#undef EVENT
  EVENT_COUNT
} EventId;

#define TRACE_BEGIN(d, id) ((void)(d))
#define TRACE_END(d, id) ((void)(d))
#define TRACE_COUNTER(d, id, value) ((void)(d), (void)(value))
#define TRACE_LIFECYCLE(d, id, value) ((void)(d), (void)(value))

#endif
