/* SPDX-License-Identifier: MIT */
/* ending.c: how a recording ends, and whether its file is kept.
 *
 * The status page says how the process ends; records of kind ENDINGS say with which
 * error. These records have blocks of their own, which are set aside at the start:
 * nothing overwrites them, and even an error about a full disk or too little memory finds
 * room.
 *
 * A recording that is preserved on error is kept when an error was noted, when the exit
 * status is not 0, and when a signal ends the process: a user who kills or restarts a
 * service that hangs wants to know what it did.
 */
#include "producer/recording.h"

#include <string.h>

#include "format/text.h"

void evr_recording_set_preserve(struct evr_recording *r, unsigned preserve) {
  static const uint32_t in_file[] = {[EVENTRING_PRESERVE_NEVER] = FORMAT_PRESERVE_NEVER,
                                     [EVENTRING_PRESERVE_ALWAYS] = FORMAT_PRESERVE_ALWAYS,
                                     [EVENTRING_PRESERVE_ON_ERROR] = FORMAT_PRESERVE_ON_ERROR};
  r->preserve = (uint8_t)preserve;
  __atomic_store_n(&evr_status(r)->preserve, in_file[preserve], __ATOMIC_RELAXED);
}

bool evr_recording_note_error_locked(struct evr_recording *r, const char *text, size_t size) {
  struct {
    struct format_ending head;
    char text[(EVENTRING_MAX_END_TEXT + 7) / 8 * 8];
  } ending = {0};
  uint64_t record[sizeof ending / 8];
  size_t bytes = eventring_text_fit(text, size, EVENTRING_MAX_END_TEXT);
  uint32_t whole = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  ending.head = (struct format_ending){.first = format_record(0, 1, whole),
                                       .ticks = evr_clock_ticks(r->clock), .bytes = bytes};
  if (bytes) memcpy(ending.text, text, bytes); /* `text` may be NULL if there is none */
  evr_text_clean_lines(ending.text, bytes);
  memcpy(record, &ending, sizeof ending);
  r->failed = true;
  unsigned words = (unsigned)(sizeof ending.head / 8) + format_text_words(bytes);
  return evr_records_append_locked(&r->records, FORMAT_ENDINGS, record, words) == EVR_APPENDED;
}

void evr_recording_note_signal(struct evr_recording *r, uint32_t number) {
  struct format_status *status = evr_status(r);
  __atomic_store_n(&r->signal, number, __ATOMIC_RELAXED);
  __atomic_store_n(&status->end_detail, number, __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the number of the signal */
  __atomic_store_n(&status->end_reason, (uint32_t)FORMAT_END_SIGNAL, __ATOMIC_RELEASE);
}

struct evr_end evr_recording_end_of(const struct evr_recording *r, struct evr_end end) {
  uint32_t number = __atomic_load_n(&r->signal, __ATOMIC_RELAXED);
  bool goes_on = end.reason == FORMAT_END_DELETED;
  return number && !goes_on ? (struct evr_end){FORMAT_END_SIGNAL, number} : end;
}

static bool is_orderly(struct evr_end end) {
  switch (end.reason) {
    case FORMAT_END_EXIT:
      return end.detail == 0;
    case FORMAT_END_SIGNAL: /* 0 if the host has not said which signal; this counts as
                               orderly */
      return end.detail == 0;
    default:
      return true;
  }
}

bool evr_recording_is_kept(const struct evr_recording *r, struct evr_end end) {
  if (r->preserve != EVENTRING_PRESERVE_ON_ERROR)
    return r->preserve == EVENTRING_PRESERVE_ALWAYS;
  /* a recording that stands by holds nothing but an error */
  return r->failed || (r->slots > 0 && !is_orderly(end));
}
