/* SPDX-License-Identifier: MIT */
/* activity.c: finds what a domain does: the first of the host's rules that holds.
 *
 * Each rule is about a word, which is at a location in the domain or behind a pointer in
 * it. The values of these pointers are kept, so that all words can be read at once. The
 * same system call reads the pointers first, then the words. If a pointer has changed, or
 * anything cannot be read, the rules are tried one by one.
 */
#include "remote/activity.h"

#include <string.h>

static size_t count_rules(const struct eventring_introspection *at) {
  size_t count = 0;
  while (count < EVENTRING_MAX_RULES && at->rules[count].size != 0) count++;
  return count;
}

static bool holds(const struct eventring_rule *rule, uint64_t value) {
  bool equal = (value & rule->mask) == rule->value;
  return rule->differs ? !equal : equal;
}

static struct iovec range(uint64_t address, size_t size) {
  return (struct iovec){.iov_base = (void *)(uintptr_t)address, .iov_len = size};
}

/* ---- all at once --------------------------------------------------------- */

static bool find_bases(struct remote_host *host, struct remote_activity *kept, uint64_t domain,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct eventring_location *where = &host->at.rules[i].where;
    kept->bases[i] = domain;
    if (where->through != EVENTRING_HERE &&
        !remote_read_pointer(&host->memory, domain + where->through, &kept->bases[i]))
      return false;
  }
  return true;
}

/* Reads the words of all rules at once. Returns false if some cannot be read, or the
   pointers differ from the kept ones. */
static bool read_words(struct remote_host *host, const struct remote_activity *kept,
                       uint64_t domain, size_t count, uint64_t words[EVENTRING_MAX_RULES]) {
  struct iovec ranges[2 * EVENTRING_MAX_RULES];
  unsigned char bytes[16 * EVENTRING_MAX_RULES], *at = bytes;
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    const struct eventring_location *where = &host->at.rules[i].where;
    if (where->through != EVENTRING_HERE) ranges[used++] = range(domain + where->through, 8);
  }
  for (size_t i = 0; i < count; i++)
    ranges[used++] = range(kept->bases[i] + host->at.rules[i].where.offset, host->at.rules[i].size);
  if (used > 0 && !remote_read_ranges(&host->memory, ranges, used, bytes)) return false;
  for (size_t i = 0; i < count; i++) {
    if (host->at.rules[i].where.through == EVENTRING_HERE) continue;
    if (remote_word(at, 8) != kept->bases[i]) return false;
    at += 8;
  }
  for (size_t i = 0; i < count; i++) {
    words[i] = remote_word(at, host->at.rules[i].size);
    at += host->at.rules[i].size;
  }
  return true;
}

static bool read_at_once(struct remote_host *host, struct remote_activity *kept, uint64_t domain,
                         size_t count, uint64_t words[EVENTRING_MAX_RULES]) {
  if (!kept->known && !find_bases(host, kept, domain, count)) return false;
  return kept->known = read_words(host, kept, domain, count, words);
}

/* ---- one by one ---------------------------------------------------------- */

static bool read_word(struct remote_host *host, const struct eventring_rule *rule,
                      uint64_t domain, uint64_t *word) {
  uint64_t address;
  *word = 0;
  return remote_locate(host, domain, rule->where, &address) &&
         remote_read(&host->memory, address, word, rule->size);
}

void remote_activity_read(struct remote_host *host, struct remote_activity *kept,
                          struct remote_domain *about) {
  const size_t count = count_rules(&host->at);
  uint64_t words[EVENTRING_MAX_RULES], address;
  const bool at_once =
      kept != NULL && read_at_once(host, kept, about->address, count, words);
  about->activity = EVENTRING_ACTIVITY_RUNNING;
  about->text = "";
  about->has_subject = false;
  for (size_t i = 0; i < count; i++) {
    const struct eventring_rule *rule = &host->at.rules[i];
    if (!at_once && !read_word(host, rule, about->address, &words[i])) continue;
    if (!holds(rule, words[i])) continue;
    about->activity = rule->activity;
    about->text = rule->text;
    about->has_subject = rule->has_subject &&
                         remote_locate(host, about->address, rule->subject, &address) &&
                         remote_read_u32(&host->memory, address, &about->subject);
    return;
  }
}
