/* SPDX-License-Identifier: MIT */
/* control.h: the control page. */
#ifndef EVENTRING_CONTROL_H
#define EVENTRING_CONTROL_H

#include <stdbool.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

enum evr_gate_change { EVR_PAUSE, EVR_RESUME, EVR_ADD, EVR_REMOVE };

/* Changes the word `wanted`, then the gate, and logs the classes that are switched on.
   Ignores classes that are not `named`. Returns `wanted` as it was before. Lock-free, any
   process. */
uint64_t evr_control_change(struct format_control *control, enum format_clock clock,
                            uint64_t named, enum evr_gate_change change, uint64_t classes);
/* Brings the gate in line with the classes wanted. Returns true if the gate had to be
   changed. Any process. */
bool evr_control_settle(struct format_control *control, enum format_clock clock);
/* Tells whether the word `wanted` has only bits of classes that have a name. */
bool evr_wanted_valid(uint64_t wanted, uint64_t named);
/* Replaces an invalid word `wanted`. Returns false when the word has already changed. */
bool evr_control_repair(struct format_control *control, enum format_clock clock,
                        uint64_t bad, uint64_t good);
/* Reads entry n of the log. Returns false when the entry is not yet written, or was
   replaced. */
bool evr_control_entry(const struct format_control *control, uint32_t n,
                       struct format_switch *entry);

/* Entries of the log, in their order. If entries are gone, the first one here stands for
   them; its number is 0. */
struct evr_switches {
  unsigned count;
  struct format_switch entry[FORMAT_LOG_ENTRIES + 1];
};
/* Reads entries `from` to `now` - 1. Returns the number of the first of them that is not
   complete yet, and so is to be read again later, or `now`. `now` was loaded with
   acquire. */
uint32_t evr_control_switches(const struct format_control *control, uint32_t from, uint32_t now,
                              struct evr_switches *switches);
/* Returns the classes that have a name in a header's table of them. */
uint64_t evr_named_classes(
    const char names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1]);

/* Replaces the text of a list (at most FORMAT_LIST_BYTES; NULL for an empty list). Any
   process. */
void evr_control_write_list(struct format_list *list, const char *text);
/* Copies the text of a list, FORMAT_LIST_BYTES, and its version. Returns the size of the
   text, or -1 while it is being changed. */
int evr_control_read_list(const struct format_list *list, char *text, uint32_t *version);

/* Sets bits of `requests`, which hosts test at their safepoints, and wakes all waiters
   of that word. Any process. */
void evr_control_request(struct format_control *control, uint32_t bits);
/* Asks for a profile of calls, or, with `on` false, for its end. Any process. */
void evr_control_profile(struct format_control *control, bool on);
/* Asks all domains for their stacks, or (`on` false) ends that. Wakes the waiters. */
void evr_control_ask_stacks(struct format_control *control, bool on);
/* Asks domains to read the request for lines in their memory
   (<eventring/introspection.h>), or, with `on` false, ends that. */
void evr_control_ask_lines(struct format_control *control, bool on);
/* Sleeps while the word is still `seen`, for `ns` or until somebody wakes its waiters;
   may return early. Returns false when the system cannot wait in this way. */
bool evr_control_await_change(const uint32_t *word, uint32_t seen, uint64_t ns);

#pragma GCC visibility pop

#endif /* EVENTRING_CONTROL_H */
