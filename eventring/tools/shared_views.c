/* SPDX-License-Identifier: MIT */
/* shared_views.c: views that several commands include. */
#include "shared_views.h"

#include "analysis/ending.h"
#include "analysis/histogram.h"
#include "analysis/names.h"
#include "analysis/so_far.h"
#include "reader.h"

VIEW_GETTER(reason, struct eva_ending) { return view_text(eva_ending_name(row)); }

static bool has_detail(const void *row) {
  const struct eva_ending *ending = row;
  return ending->reason == EVENTRING_END_EXIT || ending->reason == EVENTRING_END_SIGNAL;
}

VIEW(ending_view, struct eva_ending,
    {"end_reason", NULL, VIEW_PLAIN, VIEW_GET(TEXT, reason),
     .help = "stopped, exit, signal or killed; null if it has not ended or does not say"},
    {"end_detail", NULL, VIEW_PLAIN, ROW(detail), .has = has_detail, .flags = VIEW_MAYBE,
     .help = "the exit status, or the number of the signal"},
    {"error_text", NULL, VIEW_PLAIN, ROW(error), .flags = VIEW_MAYBE | VIEW_NO_0})

struct view_value view_so_far(struct view_to *to, const void *row, const struct view_column *c) {
  (void)c;
  return view_text(eva_so_far_text(to->room, row));
}

struct view_value view_no_room(struct view_to *to, const void *row, const struct view_column *c) {
  (void)c;
  char text[EVA_NO_ROOM];
  if (!eva_no_room_text(text, row)[0]) return view_none();
  return view_printf(to, "%s", text);
}

struct view_value view_quantile(struct view_to *to, const void *row, const struct view_column *c) {
  (void)to;
  return view_uint(eva_histogram_quantile(row, c->argument));
}

VIEW(so_far_view, struct eva_so_far,
    {"so_far_ns", NULL, VIEW_NS, ROW(ns), VIEW_IF(known)},
    {"at_least", NULL, VIEW_PLAIN, ROW(at_least), .help = "it may have gone on"})

VIEW_GETTER(pid, struct eventring_info) { return view_int(pid_here(row)); }

static void make_ending(void *made, const void *row) {
  *(struct eva_ending *)made = eva_ending_of(row);
}

VIEW(head_view, struct eventring_info,
    {"program", NULL, VIEW_PLAIN, ROW(program)},
    {"path", NULL, VIEW_PLAIN, ROW(path)},
    {"pid", NULL, VIEW_PLAIN, VIEW_GET(I32, pid), .flags = VIEW_NO_0,
     .help = "as commands of this machine take it"},
    {"own_pid", NULL, VIEW_PLAIN, ROW(pid), .flags = VIEW_NO_0,
     .help = "in its own pid namespace"},
    {"liveness", NULL, VIEW_LIVENESS, ROW(liveness)},
    {.form = VIEW_INCLUDE, .make = make_ending, .view = &ending_view},
    {"no_room", NULL, VIEW_COUNT, ROW(no_room), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "rings that found no room on the disk for their next block"},
    {"no_room_ns", NULL, VIEW_MOMENT, ROW(no_room_ns), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "since when"},
    {"events_dropped", NULL, VIEW_COUNT, ROW(events_dropped), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "of rings that found no room for any block"})

VIEW(loss_view, struct eventring_totals,
    {"delivered", NULL, VIEW_COUNT, ROW(delivered)},
    {"missed", NULL, VIEW_COUNT, ROW(missed), .help = "overwritten before reading began"},
    {"lost", NULL, VIEW_COUNT, ROW(lost), .help = "overwritten since"},
    {"torn", NULL, VIEW_COUNT, ROW(torn), .help = "spans of which the begin or the end is missing"})
