/* SPDX-License-Identifier: MIT */
/* top_detail.c: runs the parts of the screen of one process.
 *
 * Each part is a command. It is run again when the interval is over, but not before it
 * has been idle for IDLE times as long as it took processor time. So a part takes at most
 * 1 / IDLE of a processor, however much there is to read. If another process is chosen, a
 * command that still runs ends by itself (and takes back any question to the process),
 * and its text is dropped.
 */
#include "top_detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/now.h"

enum { IDLE = 20 };

struct part_kind {
  const char *name;
  /* text that is shown unless the part is shown alone; the command has a cost for the
     process, so it runs only then. NULL for the other commands */
  const char *alone;
  const char *words[TOP_CHILD_WORDS]; /* the target follows */
};

/* The commands. (Samples are taken for a second, at a rate that is in step with nothing
   that programs do each second.) */
static const struct part_kind kinds[TOP_PARTS] = {
    {"functions", NULL, {"profile", "--hz", "97", "--seconds", "1", "--top", "8"}},
    {"lines",
     "2: shows them. The process notes each instruction then: a loop takes up to 1.5 times as long",
     {"profile", "--hz", "97", "--seconds", "1", "--by", "line", "--top", "8"}},
    {"pauses", NULL, {"pauses", "--last", "10", "--top", "5"}},
    {"spans", NULL, {"spans", "--last", "60", "--top", "5"}},
    {"domains", NULL, {"stack"}},
    {"coroutines", NULL, {"coroutines", "--top", "5"}},
    {"allocation", NULL, {"heap", "--by", "line", "--top", "8"}}};

static void words_of(const struct top_detail *d, int part, const char *words[TOP_CHILD_WORDS + 1]) {
  int count = 0;
  for (; kinds[part].words[count]; count++) words[count] = kinds[part].words[count];
  words[count] = d->target;
  words[count + 1] = NULL;
}

char *top_detail_heading(char text[TOP_HEADING], const struct top_detail *d, int part) {
  const char *words[TOP_CHILD_WORDS + 1];
  size_t used =
      (size_t)snprintf(text, TOP_HEADING, "%d %s   eventring", part + 1, kinds[part].name);
  words_of(d, part, words);
  for (int i = 0; words[i] && used < TOP_HEADING; i++)
    used += (size_t)snprintf(text + used, TOP_HEADING - used, " %s", words[i]);
  return text;
}

void top_detail_show(struct top_detail *d, const char *target) {
  snprintf(d->target, sizeof d->target, "%s", target);
  d->is_over = false;
  for (int i = 0; i < TOP_PARTS; i++) {
    struct top_part *part = &d->parts[i];
    free(part->text);
    part->text = NULL;
    part->due_ns = 0;
    if (part->child.pid) part->child.is_unwanted = true;
  }
}

const char *top_detail_text(const struct top_detail *d, int part) {
  if (kinds[part].alone && d->only != part) return kinds[part].alone;
  return d->parts[part].text ? d->parts[part].text : "...";
}

static bool is_due(const struct top_detail *d, int part, uint64_t now) {
  if (!d->target[0] || d->is_over || d->parts[part].child.pid || now < d->parts[part].due_ns)
    return false;
  return kinds[part].alone ? d->only == part : top_detail_shows(d, part);
}

static void start(struct top_detail *d, int i, uint64_t interval_ns) {
  const char *words[TOP_CHILD_WORDS + 1];
  struct top_part *part = &d->parts[i];
  words_of(d, i, words);
  part->due_ns = now_ns() + interval_ns;
  /* if this fails, it is tried again at the next due time */
  top_child_start(&part->child, words, d->columns);
}

/* Takes the text of an ended child. Returns false if it is about another process. */
static bool take(struct top_part *part) {
  const uint64_t idle = part->child.cpu_ns * IDLE;
  if (part->child.is_unwanted) return false;
  if (part->due_ns < part->child.ended_ns + idle) part->due_ns = part->child.ended_ns + idle;
  free(part->text);
  part->text = part->child.text;
  part->child.text = NULL;
  return true;
}

bool top_detail_go_on(struct top_detail *d, uint64_t interval_ns) {
  bool news = false;
  for (int i = 0; i < TOP_PARTS; i++) {
    if (top_child_read(&d->parts[i].child)) news |= take(&d->parts[i]);
    if (is_due(d, i, now_ns())) start(d, i, interval_ns);
  }
  return news;
}

uint64_t top_detail_due(const struct top_detail *d) {
  uint64_t due = UINT64_MAX;
  for (int i = 0; i < TOP_PARTS; i++)
    if (is_due(d, i, UINT64_MAX) && d->parts[i].due_ns < due) due = d->parts[i].due_ns;
  return due;
}

void top_detail_end(struct top_detail *d) {
  for (int i = 0; i < TOP_PARTS; i++) {
    top_child_end(&d->parts[i].child);
    free(d->parts[i].text);
  }
}
