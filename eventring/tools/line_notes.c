/* SPDX-License-Identifier: MIT */
/* line_notes.c: makes a process note each instruction while its lines are sampled.
 *
 * An interpreter keeps the running instruction in a register. A frame has only the last
 * instruction that was stored there, at a call or a turn of a loop. So the time of
 * straight code would be counted for a wrong line. A request in the memory of the process
 * (struct eventring_request, lines_until) makes it store each instruction up to a given
 * moment. A sampler postpones this moment while it works, so a sampler that is killed
 * leaves nothing behind.
 *
 * The domains see the request when the word that their safepoints test is not 0. This is
 * a word of the request, or of the control page while the process records. Each domain
 * sets a flag when it notes its instructions. The word is raised until all domains have
 * set the flag, but only for part of the time: safepoints cost more while it is raised,
 * and a domain that is asleep in C reaches none.
 */
#include "line_notes.h"

#include <stddef.h>

#include "eventring.h"
#include "eventring/tools.h"

#define SECOND_NS UINT64_C(1000000000)
#define AHEAD_NS (3 * SECOND_NS)
#define RENEW_NS (2 * SECOND_NS) /* the moment is postponed when less than this time is
                                    left */
#define RAISED_NS UINT64_C(100000000) /* most time for which the word is raised */
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

/* Sets only the byte of EVENTRING_REQUEST_LINES (little-endian): the other bytes belong
   to other requests. */
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
