/* SPDX-License-Identifier: MIT */
/* cmd_clean.c: `eventring clean`: removes what dead processes left behind.
 *
 * It removes only what the library calls dead: a regular file of this user, named
 * *.eventring, that reads as a recording and whose process is gone (it was killed, or it
 * ended with an error). --ended also removes files kept on purpose (preserved by their
 * configuration), --all-users those of other users; nothing removes saved copies. The
 * library checks the file again when it removes it, so no live process loses its file.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figures.h"
#include "analysis/names.h"
#include "eventring/conditions.h"
#include "eventring/tools.h"
#include "options.h"
#include "search_path.h"

struct cleaning {
  const struct search_path *where;
  bool dry_run, ended, all_users;
  unsigned removed;
  uint64_t bytes;
  bool failed;
};

static unsigned removal_flags(const struct cleaning *cleaning) {
  return (cleaning->ended ? EVENTRING_REMOVE_ENDED : 0) |
         (cleaning->all_users ? EVENTRING_REMOVE_ANY_OWNER : 0);
}

static void count_removed(void *context, const char *path, uint64_t bytes) {
  struct cleaning *cleaning = context;
  printf(cleaning->dry_run ? "would remove " : "removed ");
  print_foreign_text(stdout, path);
  putchar('\n');
  cleaning->removed++;
  cleaning->bytes += bytes;
}

static void remove_one(struct cleaning *cleaning, const char *path,
                       uint64_t bytes) {
  struct eventring_error error;
  if (!cleaning->dry_run &&
      eventring_remove(path, removal_flags(cleaning), &error) < 0) {
    complain("%s", error.text);
    cleaning->failed = true;
    return;
  }
  count_removed(cleaning, path, bytes);
}

static bool is_wanted(const struct cleaning *cleaning, enum eventring_liveness liveness,
                      bool preserved) {
  return (liveness == EVENTRING_DEAD || liveness == EVENTRING_ENDED) &&
         (cleaning->ended || !preserved);
}

/* Tells whether the user may remove a file. (Discovery shows root the files of all users.
   The library checks again.) */
static bool may_go(const struct cleaning *cleaning, const char *path) {
  struct stat st;
  return cleaning->all_users || (lstat(path, &st) == 0 && st.st_uid == geteuid());
}

/* Handles a file that was found: removes it if the options allow that and it lies in one
   of the given directories. (eventring_discover also finds files of live processes
   elsewhere, and such a process may have died since.) */
static int clean_found(void *context, const struct eventring_found *found) {
  struct cleaning *cleaning = context;
  if (found->status == 0 && is_wanted(cleaning, found->liveness, found->preserved) &&
      search_path_holds(cleaning->where, found->path) && may_go(cleaning, found->path))
    remove_one(cleaning, found->path, found->disk_size);
  return 0;
}

/* Removes a file that was given by name. If it must not be removed, that is an error. */
static void clean_named(struct cleaning *cleaning, const char *path) {
  eventring_cursor *cursor;
  struct eventring_error error;
  struct eventring_info info = {.size = sizeof info};
  if (eventring_open_path(&cursor, path, 0, &error) < 0) {
    complain("%s", error.text);
    cleaning->failed = true;
    return;
  }
  eventring_cursor_info(cursor, &info);
  eventring_close(cursor);
  if (!may_go(cleaning, path)) {
    complain("%s: not removed: another user's file (--all-users removes it)", path);
    cleaning->failed = true;
  } else if (is_wanted(cleaning, info.liveness, info.preserved)) {
    remove_one(cleaning, path, info.disk_size);
  } else {
    complain("%s: not removed: %s", path,
             info.liveness == EVENTRING_LIVE    ? "its process is alive"
             : info.liveness == EVENTRING_ENDED ? "preserved at an orderly end "
                                                  "(--ended removes it)"
                                                : "a saved copy");
    cleaning->failed = true;
  }
}

static int clean(struct cleaning *cleaning) {
  const struct search_path *where = cleaning->where;
  for (size_t i = 0; i < where->file_count; i++)
    clean_named(cleaning, where->files[i]);
  if (where->count > 0) {
    int found = search_path_discover(where, clean_found, cleaning);
    if (found < 0) {
      complain("cannot look for recordings: %s", eventring_strerror(found));
      cleaning->failed = true;
    }
    /* incomplete copies whose makers have died; a directory that cannot be read was
       reported before, or has none */
    for (size_t i = 0; i < where->count; i++)
      eventring_remove_parts(where->directories[i], cleaning->dry_run, count_removed, cleaning);
  }
  printf("%u file%s%s, %s\n", cleaning->removed, cleaning->removed == 1 ? "" : "s",
         cleaning->dry_run ? " would go" : " removed", eva_bytes(cleaning->bytes));
  return cleaning->failed ? STATUS_WRONG : STATUS_OK;
}

int command_clean(const struct command *self, int count, char **words) {
  struct operands operands;
  struct search_path where;
  struct cleaning cleaning = {.where = &where};
  const struct option_spec specs[] = {
      {"dry-run", 'n', OPTION_FLAG, &cleaning.dry_run, NULL,
       "say what would be removed, remove nothing"},
      {"ended", 0, OPTION_FLAG, &cleaning.ended, NULL,
       "also files preserved at an orderly end"},
      {"all-users", 0, OPTION_FLAG, &cleaning.all_users, NULL,
       "also files of other users, where the system allows that"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (operands.command) return usage_error(self, "cannot launch a command");
  status = search_path_take(&where, operands.words, operands.count, true);
  if (goes_on(status)) status = clean(&cleaning);
  search_path_free(&where);
  return status;
}
