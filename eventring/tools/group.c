/* SPDX-License-Identifier: MIT */
/* group.c: records several processes at once.
 *
 * The thread of the command looks for new recordings, notices the end of others and shows
 * the progress. Only its own thread may ask a recorder, so the thread of each member
 * publishes what is shown every few milliseconds. */
#include "group.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analysis/figures.h"
#include "file_names.h"
#include "output.h"
#include "parents.h"
#include "record_summary.h"
#include "format/now.h"

enum {
  /* how often new recordings of a PROGRAM are searched for */
  LAUNCHED_LOOK_NS = 2 * 1000 * 1000,
  ATTACHED_LOOK_NS = 20 * 1000 * 1000,  /* how often new recordings of the children of a
                                           PID are searched for */
  /* a directory that is unchanged for this long is quiet */
  QUIET_LOOK_NS = 50 * 1000 * 1000,
  PROGRESS_NS = 1000 * 1000 * 1000,
  PATIENCE_NS = 1000 * 1000 * 1000,
  MOST_ANCESTORS = 256, /* a longer chain is a loop, due to numbers that were reused */
  MOST_TRIES = 100      /* attempts to open a file, which may still be incomplete */
};

/* A process that is recorded. Its thread owns the reader and the recorder. */
struct member {
  struct group *group;
  struct reader reader;
  struct recorder_options options;
  struct recorder *recorder;
  pthread_t thread;
  char *path, *file;  /* path of the requested file, and of the last file written */
  char *directory;    /* where the process writes its own files */
  dev_t device;       /* identity of the file of the process */
  ino_t inode;
  pid_t pid;
  int switched; /* number of the group's switches that this member has done */
  struct recorder_result result;
  int is_done; /* atomic; stored by run_member, loaded by collect */
  bool is_collected;
  /* published for the group under its lock */
  struct eventring_saver_info info;
  uint64_t bytes;
};

/* A file that was seen in a directory. In the directory of a PROGRAM no file is removed,
   but an old file may get another name. Elsewhere the inode of a removed file may be used
   again. */
struct candidate {
  dev_t device;
  ino_t inode;
  char *name; /* NULL in the directory of a PROGRAM */
  unsigned tries; /* number of failed tries; at MOST_TRIES no more will follow */
};

struct group {
  struct group_options options;
  struct launch *launch; /* NULL if PIDs and FILEs are recorded */
  struct member **members;
  unsigned count;
  struct candidate *seen;
  unsigned seen_count;
  bool some_failed;   /* some files could not be opened in the last search */
  struct timespec changed; /* mtime of the directory at the last search */
  pthread_mutex_t lock;
  int stop;           /* atomic: max_bytes is reached */
  uint64_t ended;     /* when the PROGRAM ended; 0: it has not */
  bool said;          /* it was printed that other processes are awaited */
  uint64_t began, next_look, next_progress, last_bytes;
  bool failed;
};

/* ---- A member, in its thread -------------------------------------------------- */

static void publish(struct member *m) {
  struct eventring_saver_info info;
  recorder_info(m->recorder, &info);
  pthread_mutex_lock(&m->group->lock);
  m->info = info;
  m->bytes = recorder_bytes(m->recorder);
  pthread_mutex_unlock(&m->group->lock);
}

static void attend_member(void *context) {
  struct member *m = context;
  int asked = __atomic_load_n(m->group->options.switch_signals, __ATOMIC_RELAXED);
  for (; m->switched != asked; m->switched++) recorder_switch(m->recorder);
  if (__atomic_load_n(&m->group->stop, __ATOMIC_RELAXED)) recorder_stop(m->recorder);
  publish(m);
}

static void *run_member(void *context) {
  struct member *m = context;
  recorder_run(m->recorder, &m->result);
  publish(m);
  /* pairs with the acquire load in collect: the result is visible there */
  __atomic_store_n(&m->is_done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* ---- Adding ------------------------------------------------------------------- */

/* Closes a member: after the end of a process, no file, thread or mapping of it stays,
   since there may be many short ones. */
static void close_member(struct member *m) {
  recorder_free(m->recorder);
  if (m->reader.cursor) eventring_close(m->reader.cursor);
  m->recorder = NULL;
  m->reader.cursor = NULL;
}

static void free_member(struct member *m) {
  close_member(m);
  free(m->path);
  free(m->file);
  free(m->directory);
  free(m);
}

/* Returns the path for the recording of a process. Several recordings of one process, as
   after exec, are numbered. */
static char *path_of(const struct group *g, pid_t pid) {
  unsigned before = 0;
  for (unsigned i = 0; i < g->count; i++) before += g->members[i]->pid == pid;
  return file_name_of_process(g->options.recorder.path, pid, before + 1);
}

/* Sets the options of a member; time and size are limited by the group. Returns false if
   the time is up. */
static bool set_options(struct member *m) {
  const struct group *g = m->group;
  struct recorder_options *o = &m->options;
  uint64_t spent = now_ns() - g->began;
  *o = g->options.recorder;
  o->path = m->path;
  o->attend = attend_member;
  o->progress = NULL;
  o->context = m;
  if (o->limit_ns && o->limit_ns <= spent) return false;
  if (o->limit_ns) o->limit_ns -= spent;
  return true;
}

static bool start_member(struct member *m) {
  sigset_t ours, before;
  sigfillset(&ours);
  sigdelset(&ours, SIGBUS); /* the library reads through mappings */
  pthread_sigmask(SIG_SETMASK, &ours, &before);
  int error = pthread_create(&m->thread, NULL, run_member, m);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) complain("cannot record process %ld: %s", (long)m->pid, strerror(error));
  return error == 0;
}

static bool is_recorded(const struct group *g, const struct member *m) {
  bool found = false;
  for (unsigned i = 0; i < g->count && m->inode; i++)
    found |= g->members[i]->device == m->device && g->members[i]->inode == m->inode &&
             !g->members[i]->is_collected && !g->launch;
  return found;
}

/* Adds a member with this cursor, and takes ownership of the cursor in any case. */
static void add_member(struct group *g, eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  struct member *m = need_zeroed(1, sizeof *m);
  m->group = g;
  m->reader.cursor = cursor;
  m->switched = __atomic_load_n(g->options.switch_signals, __ATOMIC_RELAXED);
  eventring_cursor_info(cursor, &info);
  m->pid = pid_here(&info);
  m->path = path_of(g, m->pid);
  struct stat st;
  if (stat(info.path, &st) == 0) m->device = st.st_dev, m->inode = st.st_ino;
  m->directory = need_copy(dirname(info.path));
  if (is_recorded(g, m)) {
    complain("%s is named twice", info.path);
    g->failed = true;
    free_member(m);
    return;
  }
  bool has_time = set_options(m);
  if (has_time && (m->recorder = recorder_new(&m->reader, &m->options)) && start_member(m)) {
    *NEED_NEXT(g->members, g->count) = m;
    return;
  }
  g->failed |= has_time;
  free_member(m);
}

/* ---- Looking for children ----------------------------------------------------- */

static bool is_member(const struct group *g, pid_t pid) {
  for (unsigned i = 0; i < g->count; i++)
    if (g->members[i]->pid == pid) return true;
  return false;
}

static bool is_descendant(const struct group *g, pid_t pid) {
  for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++) {
    pid = process_parent(pid, NULL);
    if (is_member(g, pid)) return true;
  }
  return false;
}

enum wanted { WANTED, NOT_WANTED, ASK_AGAIN };

/* Tells whether a further recording of a member is wanted: the recording of a process
   after exec is, once the recording before it has ended. */
static enum wanted is_wanted_of_member(const struct group *g, pid_t pid, const struct stat *st) {
  enum wanted wanted = WANTED;
  for (unsigned i = 0; i < g->count; i++) {
    const struct member *m = g->members[i];
    if (m->device == st->st_dev && m->inode == st->st_ino) return NOT_WANTED;
    if (m->pid == pid && !m->is_collected) wanted = ASK_AGAIN;
  }
  return wanted;
}

/* Tells whether a recording is wanted. All recordings in the directory of a PROGRAM are
   wanted, even those that have ended. */
static enum wanted is_wanted(const struct group *g, eventring_cursor *cursor,
                             const struct stat *st) {
  struct eventring_info info = {.size = sizeof info};
  if (g->launch) return WANTED;
  if (eventring_cursor_liveness(cursor) != EVENTRING_LIVE) return NOT_WANTED;
  eventring_cursor_info(cursor, &info);
  pid_t pid = pid_here(&info);
  if (is_member(g, pid)) return is_wanted_of_member(g, pid, st);
  return is_descendant(g, pid) ? WANTED : NOT_WANTED;
}

static struct candidate *candidate_of(struct group *g, const char *path, const struct stat *st) {
  for (unsigned i = 0; i < g->seen_count; i++) {
    struct candidate *c = &g->seen[i];
    bool same = c->inode == st->st_ino && c->device == st->st_dev;
    if (same && (!c->name || strcmp(c->name, path) == 0)) return c;
  }
  struct candidate *candidate = NEED_NEXT(g->seen, g->seen_count);
  *candidate = (struct candidate){st->st_dev, st->st_ino, g->launch ? NULL : need_copy(path), 0};
  return candidate;
}

/* Handles a file in the directory. (A file without its magic is still incomplete.)
   Returns false, so that it is called for all files. */
static bool look_at(void *context, const char *path) {
  struct group *g = context;
  eventring_cursor *cursor;
  struct eventring_error error;
  struct stat st;
  if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  struct candidate *candidate = candidate_of(g, path, &st);
  if (candidate->tries == MOST_TRIES) return false;
  if (eventring_open_path(&cursor, path, 0, &error) < 0) {
    g->some_failed |= ++candidate->tries < MOST_TRIES;
    if (candidate->tries == MOST_TRIES && g->launch) {
      complain("%s", error.text);
      g->failed = true;
    }
    return false;
  }
  enum wanted wanted = is_wanted(g, cursor, &st);
  if (wanted != ASK_AGAIN) candidate->tries = MOST_TRIES;
  if (wanted == WANTED) add_member(g, cursor);
  else eventring_close(cursor);
  return false;
}

/* Tells whether nothing has changed since the last call. */
static bool is_quiet(struct group *g, const char *directory) {
  struct stat st;
  struct timespec now;
  if (stat(directory, &st) != 0) return false;
  clock_gettime(CLOCK_REALTIME, &now);
  bool same = st.st_mtim.tv_sec == g->changed.tv_sec && st.st_mtim.tv_nsec == g->changed.tv_nsec;
  int64_t age = (int64_t)(now.tv_sec - st.st_mtim.tv_sec) * 1000000000 +
                (now.tv_nsec - st.st_mtim.tv_nsec);
  g->changed = st.st_mtim;
  return same && !g->some_failed && age > QUIET_LOOK_NS;
}

/* Looks for the recordings of children. They write to the same directory as their
   parents, because they inherit the environment. */
static void look_for_children(struct group *g) {
  unsigned targets = g->count;
  g->some_failed = false;
  if (g->launch) {
    each_recording(g->launch->directory, look_at, g);
    return;
  }
  for (unsigned i = 0; i < targets; i++) {
    const char *directory = g->members[i]->directory;
    bool is_new = !g->members[i]->is_collected;
    for (unsigned k = 0; is_new && k < i; k++)
      is_new = g->members[k]->is_collected || strcmp(g->members[k]->directory, directory) != 0;
    if (is_new) each_recording(directory, look_at, g);
  }
}

/* Looks for children if it is time. `last` is true if the PROGRAM has ended. */
static void look_if_due(struct group *g, uint64_t now, bool last) {
  if (!g->options.children || (now < g->next_look && !last)) return;
  g->next_look = now + (g->launch ? LAUNCHED_LOOK_NS : ATTACHED_LOOK_NS);
  if (!g->launch || last || !is_quiet(g, g->launch->directory)) look_for_children(g);
}

/* ---- Progress ----------------------------------------------------------------- */

static void add_up(struct group *g, struct eventring_saver_info *sum, uint64_t *bytes) {
  *sum = (struct eventring_saver_info){0};
  *bytes = 0;
  pthread_mutex_lock(&g->lock);
  for (unsigned i = 0; i < g->count; i++) {
    const struct eventring_saver_info *info = &g->members[i]->info;
    sum->saved += info->saved;
    sum->lost += info->lost;
    sum->missed += info->missed;
    if (info->fullest > sum->fullest) sum->fullest = info->fullest;
    *bytes += g->members[i]->bytes;
  }
  pthread_mutex_unlock(&g->lock);
}

static void show_group(struct group *g, uint64_t now, unsigned live) {
  struct eventring_saver_info sum;
  uint64_t bytes, since = now - (g->next_progress - PROGRESS_NS);
  add_up(g, &sum, &bytes);
  double rate = (double)(bytes - g->last_bytes) * 1e9 / (double)since;
  show_progress("%u of %u processes, %s events, %s, %s/s, %s lost", live, g->count,
                eva_count(sum.saved), eva_bytes(bytes), eva_bytes((uint64_t)rate),
                eva_count(sum.lost));
  g->last_bytes = bytes;
  g->next_progress = now + PROGRESS_NS;
}

/* ---- The loop ----------------------------------------------------------------- */

/* Handles the members that have ended. Returns how many still record. */
static unsigned collect(struct group *g) {
  unsigned live = 0;
  for (unsigned i = 0; i < g->count; i++) {
    struct member *m = g->members[i];
    if (m->is_collected) continue;
    /* pairs with the release store in run_member: the result is visible here */
    if (!__atomic_load_n(&m->is_done, __ATOMIC_ACQUIRE)) {
      live++;
      continue;
    }
    pthread_join(m->thread, NULL);
    m->is_collected = true;
    m->file = need_copy(recorder_file(m->recorder));
    if (g->options.summary)
      print_record_summary(m->reader.cursor, m->recorder, &m->result);
    if (g->options.json)
      put_record_summary(m->reader.cursor, m->recorder, &m->result, stdout);
    close_member(m);
  }
  return live;
}

static void check_size(struct group *g) {
  struct eventring_saver_info sum;
  uint64_t bytes;
  if (!g->options.recorder.max_bytes || g->stop) return;
  add_up(g, &sum, &bytes);
  if (bytes < g->options.recorder.max_bytes) return;
  complain("--max-size is reached");
  __atomic_store_n(&g->stop, 1, __ATOMIC_RELAXED);
}

/* Tells whether recording may end. For a PROGRAM, all processes that it left behind must
   have ended, too, since they may begin to record at any time. After the PROGRAM has
   ended, signals are for this command. */
static bool may_end(struct group *g, uint64_t now) {
  if (!g->launch) return true;
  bool ended = g->launch->ended, any = launch_reap_all(g->launch);
  if (g->launch->ended && !ended) {
    reader_catch_signals(true);
    g->ended = now;
  }
  if (g->ended && !g->said && any && now - g->ended > PATIENCE_NS && g->options.summary) {
    complain("%s has ended; what it started is recorded until it ends (or this is interrupted)",
             g->launch->command);
    g->said = true;
  }
  return ended && !any;
}

static bool is_stopped(const struct group *g) {
  uint64_t limit = g->options.recorder.limit_ns;
  return reader_is_stopped() || g->stop || (limit && now_ns() - g->began >= limit);
}

static void run(struct group *g) {
  const struct timespec tick = {.tv_nsec = 1000 * 1000};
  for (;;) {
    uint64_t now = now_ns();
    bool ends = may_end(g, now);
    if (!is_stopped(g)) look_if_due(g, now, ends && g->launch);
    unsigned live = collect(g);
    if (!live && (ends || is_stopped(g))) break;
    check_size(g);
    if (g->options.progress && now >= g->next_progress) show_group(g, now, live);
    nanosleep(&tick, NULL);
  }
  hide_progress();
}

/* ---- From outside ------------------------------------------------------------- */

static bool is_incomplete(const struct group *g) {
  for (unsigned i = 0; i < g->count; i++) {
    const struct eventring_saver_info *info = &g->members[i]->info;
    if (info->lost || (g->launch && info->missed)) return true;
  }
  return false;
}

static void finish(struct group *g, struct group_result *result) {
  struct eventring_saver_info sum;
  add_up(g, &sum, &result->bytes);
  result->processes = g->count;
  result->saved = sum.saved;
  result->lost = sum.lost;
  result->incomplete = is_incomplete(g);
  result->failed = g->failed;
  result->files = need_zeroed(g->count + 1, sizeof *result->files);
  for (unsigned i = 0; i < g->count; i++) {
    result->failed |= g->members[i]->result.failed || g->members[i]->info.damaged;
    result->files[i] = need_copy(g->members[i]->file);
    free_member(g->members[i]);
  }
  for (unsigned i = 0; i < g->seen_count; i++) free(g->seen[i].name);
  free(g->members);
  free(g->seen);
  pthread_mutex_destroy(&g->lock);
}

static struct group group_of(const struct group_options *options, struct launch *launch) {
  uint64_t now = now_ns();
  return (struct group){.options = *options, .launch = launch, .began = now,
                        .next_progress = now + PROGRESS_NS, .lock = PTHREAD_MUTEX_INITIALIZER};
}

int group_record(const struct group_options *options, char **targets, size_t count,
                 struct group_result *result) {
  struct group g = group_of(options, NULL);
  reader_catch_signals(true);
  for (size_t i = 0; i < count; i++) {
    struct reader reader;
    if (goes_on(reader_open_target(&reader, targets[i], EVENTRING_OPEN_FOLLOW)))
      add_member(&g, reader.cursor);
    else
      g.failed = true;
  }
  bool any = g.count != 0;
  if (any) run(&g);
  reader_catch_signals(false);
  finish(&g, result);
  return any ? STATUS_GO_ON : STATUS_WRONG;
}

int group_launch(const struct group_options *options, char **command, const char *prefix,
                 struct group_result *result, int *theirs) {
  struct launch launch;
  launch_adopt();
  int status = launch_start(&launch, command, prefix, true);
  if (!goes_on(status)) return status;
  struct group g = group_of(options, &launch);
  run(&g);
  /* before the PROGRAM has ended, signals are for it, and this command waits for it */
  if (g.ended) reader_catch_signals(false);
  if (!g.count) {
    complain("%s recorded nothing", launch.command);
    g.failed = true;
  }
  finish(&g, result);
  *theirs = launch_finish(&launch);
  return STATUS_GO_ON;
}

void group_result_free(struct group_result *result) {
  for (unsigned i = 0; i < result->processes; i++) free(result->files[i]);
  free(result->files);
}
