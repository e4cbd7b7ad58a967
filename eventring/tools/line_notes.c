/* SPDX-License-Identifier: MIT */
/* line_notes.c: makes a process note each instruction while its lines are sampled.
 *
 * An interpreter keeps the running instruction in a register: what a frame has is the
 * last instruction that was stored there, at a call or a turn of a loop. So the time of
 * straight code would be counted for a wrong line. A request in the memory of the process
 * (struct eventring_request, lines_until) makes it store each instruction, up to a moment
 * that is put off as long as a sampler is at work; a sampler that is killed leaves
 * nothing behind.
 *
 * The domains see the request when the word that their safepoints test is not 0: that of
 * the request, or, while the process records, of the control page. Each domain has a flag
 * that says that it notes. The word is raised until all have the flag, but only for a
 * part of the time, because safepoints cost more during that time, and a domain that is
 * asleep in C comes to none.
 */
#include "line_notes.h"

#include <stddef.h>

#include "eventring.h"
#include "eventring/tools.h"

#define SECOND_NS UINT64_C(1000000000)
#define AHEAD_NS (3 * SECOND_NS)
#define RENEW_NS (2 * SECOND_NS) /* at the latest, before the moment comes */
#define RAISED_NS UINT64_C(100000000) /* at most */
#define AGAIN_NS UINT64_C(500000000)

static bool write_until(struct remote_host *host, uint64_t until) {
  return remote_write(&host->memory,
                      host->at.request + offsetof(struct eventring_request, lines_until), &until,
                      sizeof until);
}

static bool may_be_asked(struct remote_host *host) {
  uint32_t allowed = 0;
  return host->at.request != 0 &&
         remote_read(&host->memory, host->at.request + offsetof(struct eventring_request, allowed),
                     &allowed, sizeof allowed) &&
         allowed != 0;
}

/* Sets the byte of EVENTRING_REQUEST_LINES alone (little-endian): the others belong to
   requests for other things. */
static void set_words(struct line_notes *notes, struct remote_host *host, bool on) {
  const uint8_t byte = on;
  eventring_cursor *cursor;
  remote_write(&host->memory, host->at.request + offsetof(struct eventring_request, word) + 1,
               &byte, sizeof byte);
  if (eventring_open_pid(&cursor, host->memory.pid, EVENTRING_OPEN_NOW, NULL) == EVENTRING_OK) {
    eventring_cursor_control(cursor, EVENTRING_CHANGE(LINES, .on = on), NULL);
    eventring_close(cursor);
  }
  notes->raised = on;
}

void line_notes_keep(struct line_notes *notes, struct remote_host *host, bool noted, uint64_t now) {
  if (notes->until_ns == 0) notes->impossible = !may_be_asked(host);
  if (notes->impossible) return;
  if (now + RENEW_NS > notes->until_ns) {
    notes->until_ns = now + AHEAD_NS;
    notes->impossible = !write_until(host, notes->until_ns);
  }
  if (notes->raised) {
    if (noted || now - notes->raised_ns >= RAISED_NS) set_words(notes, host, false);
  } else if (!noted && now - notes->raised_ns >= AGAIN_NS) {
    set_words(notes, host, true);
    notes->raised_ns = now;
  }
}

void line_notes_end(struct line_notes *notes, struct remote_host *host) {
  if (notes->until_ns == 0 || notes->impossible) return;
  write_until(host, 0);
  if (notes->raised) set_words(notes, host, false);
}
