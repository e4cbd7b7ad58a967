/* SPDX-License-Identifier: MIT */
/* recording.c: the file of a recording: created, mapped, calibrated, ended.
 *
 * Safety rules of this file:
 *  - the file is created with O_EXCL|O_NOFOLLOW; what is in its place is never
 *    opened for writing nor followed. A regular file of ours that no live
 *    process holds is what a dead process with our pid left: it is unlinked;
 *  - space is reserved before it is used (space.h; for rings: ring.c);
 *  - were the file cut short all the same, the process goes on (guard.c);
 *  - at the end the file is unlinked only when the name still means our inode.
 */
#include "producer/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/control.h"
#include "format/error.h"
#include "format/process.h"
#include "producer/classes.h"
#include "producer/space.h"

enum {
  CALIBRATION_LEAD_MS = 100, /* a new clock segment begins this much later */
  CALIBRATION_MIN_US = 50,   /* least time between the first two readings */
  /* of the front part, at the start: one page of the domain table */
  FRONT_FIRST = FORMAT_DOMAINS_OFFSET + 4096
};

/* ---- The place of the file ---------------------------------------------------- */

/* `<pid>.eventring`. (By hand: snprintf, called for the first time, takes longer than
   making the file.) */
static void name_file(char *name, pid_t pid) {
  char digits[12];
  size_t count = 0;
  do digits[count++] = (char)('0' + pid % 10);
  while (pid /= 10);
  while (count) *name++ = digits[--count];
  memcpy(name, EVENTRING_SUFFIX, sizeof EVENTRING_SUFFIX);
}

/* False: too long. */
static bool join_path(char *path, size_t room, const char *directory, const char *name) {
  size_t length = strlen(directory), size = strlen(name) + 1;
  bool slash = directory[1] != 0; /* "/" has it already */
  if (length + slash + size > room) return false;
  memcpy(path, directory, length);
  if (slash) path[length++] = '/';
  memcpy(path + length, name, size);
  return true;
}

/* Opens the directory and makes the absolute path of the file. */
static int find_place(struct evr_recording *r, const char *directory,
                      struct eventring_error *error) {
  char absolute[PATH_MAX];
  if (!directory || !directory[0]) directory = ".";
  name_file(r->name, getpid());
  r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (r->directory < 0) {
    int code = errno == EACCES ? EVENTRING_E_PERMISSION : EVENTRING_E_DIRECTORY;
    return evr_fail(error, code, errno, "cannot use the directory \"%.200s\"",
                    directory);
  }
  if (!realpath(directory, absolute))
    return evr_fail(error, EVENTRING_E_DIRECTORY, errno,
                    "cannot use the directory \"%.200s\"", directory);
  if (!join_path(r->path, sizeof r->path, absolute, r->name))
    return evr_fail(error, EVENTRING_E_DIRECTORY, ENAMETOOLONG,
                    "cannot use the directory \"%.200s\"", directory);
  return EVENTRING_OK;
}

static int in_the_way(const struct evr_recording *r, struct eventring_error *error,
                      const char *what) {
  return evr_fail(error, EVENTRING_E_EXISTS, 0, "%.300s is %s", r->path, what);
}

/* Takes away what a dead process with our pid left behind. */
static int remove_stale(struct evr_recording *r, struct eventring_error *error) {
  struct stat st;
  if (fstatat(r->directory, r->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? EVENTRING_OK
                           : evr_fail(error, evr_code_of_errno(errno), errno,
                                      "cannot look at %.300s", r->path);
  if (S_ISLNK(st.st_mode)) return in_the_way(r, error, "a symbolic link");
  if (!S_ISREG(st.st_mode)) return in_the_way(r, error, "not a regular file");
  if (st.st_uid != geteuid()) return in_the_way(r, error, "another user's file");
  int fd = openat(r->directory, r->name,
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  int locked = fd >= 0 ? evr_file_locked(fd) : 0;
  if (fd >= 0) close(fd);
  if (locked > 0) return in_the_way(r, error, "in use by another process");
  if (unlinkat(r->directory, r->name, 0) != 0 && errno != ENOENT)
    return evr_fail(error, evr_code_of_errno(errno), errno, "cannot remove %.300s",
                    r->path);
  return EVENTRING_OK;
}

static int create_file(struct evr_recording *r, struct eventring_error *error) {
  for (int attempt = 0; attempt < 3; attempt++) {
    r->fd = openat(r->directory, r->name,
                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (r->fd >= 0) break;
    if (errno != EEXIST) {
      int code = errno == ENOENT ? EVENTRING_E_DIRECTORY : evr_code_of_errno(errno);
      return evr_fail(error, code, errno, "cannot create %.300s", r->path);
    }
    int status = remove_stale(r, error);
    if (status != EVENTRING_OK) return status;
  }
  if (r->fd < 0) return in_the_way(r, error, "created again and again by another");
  struct stat st;
  if (fstat(r->fd, &st) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "%.300s", r->path);
  r->device = st.st_dev;
  r->inode = st.st_ino;
  r->locked = evr_lock_file(r->fd) == 0;
  return EVENTRING_OK;
}

/* ---- Front part ----------------------------------------------------------------- */

static void name_program(struct format_header *h, const char *program) {
  const char *name = program;
  if (!name) {
    const char *path = (const char *)getauxval(AT_EXECFN); /* never moves */
    const char *slash = path ? strrchr(path, '/') : NULL;
    name = slash ? slash + 1 : path ? path : "";
  }
  size_t size = strlen(name);
  memcpy(h->program, name, size < sizeof h->program ? size : sizeof h->program - 1);
}

static void fill_header(struct evr_recording *r,
                        const struct eventring_config *config) {
  struct format_header *h = &r->header;
  memcpy(h->magic, FORMAT_MAGIC, sizeof h->magic);
  h->version = FORMAT_VERSION;
  h->byte_order = FORMAT_BYTE_ORDER;
  h->front_bytes = FORMAT_FRONT_BYTES;
  h->block_bytes = FORMAT_BLOCK_BYTES;
  h->layout = FORMAT_FLIGHT_RECORDER;
  h->max_domains = EVENTRING_MAX_DOMAINS;
  h->rings_per_domain = EVENTRING_RINGS;
  h->wsize = config->wsize;
  h->ring_bytes = format_ring_bytes(config->wsize);
  h->domain_stride = format_domain_stride(config->wsize);
  h->rings_offset = FORMAT_RINGS_OFFSET;
  h->catalogue_offset = FORMAT_CATALOGUE_OFFSET;
  h->catalogue_blocks = FORMAT_CATALOGUE_BLOCKS;
  h->definition_bytes = sizeof(struct format_definition);
  h->status_offset = FORMAT_STATUS_OFFSET;
  h->control_offset = FORMAT_CONTROL_OFFSET;
  h->domains_offset = FORMAT_DOMAINS_OFFSET;
  h->pid = getpid();
  h->clock = r->clock;
  /* without locks pid and start time must do; asking takes 20 us, at times 3 ms */
  h->process_start = r->locked ? 0 : evr_process_start(h->pid);
  h->start_ticks = r->origin.ticks;
  h->start_ns = r->origin.ns;
  h->start_wall_ns = evr_wall_ns() - (int64_t)(evr_monotonic_ns() - r->origin.ns);
  name_program(h, config->program);
  memcpy(h->classes, evr_class_names, sizeof h->classes);
}

static int make_front(struct evr_recording *r, struct eventring_error *error) {
  uint64_t first_rings = r->header.domain_stride;
  if (!evr_space_leaves_room(FORMAT_FRONT_BYTES + FORMAT_CATALOGUE_BYTES + first_rings))
    return evr_fail(error, EVENTRING_E_LIMIT, 0, "cannot map %.300s: the limit on "
                    "address space leaves too little for it", r->path);
  struct statfs fs;
  if (fstatfs(r->fd, &fs) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "%.300s", r->path);
  r->in_memory = fs.f_type == TMPFS_MAGIC;
  int failure = evr_space_check_free(&fs, FRONT_FIRST + first_rings);
  if (!failure) failure = evr_space_reserve(r->fd, r->in_memory, 0, FRONT_FIRST);
  if (failure)
    return evr_fail(error, evr_code_of_errno(failure), failure,
                    "no room for %.300s", r->path);
  r->front = evr_space_map(r->fd, 0, FORMAT_RINGS_OFFSET, r);
  if (!r->front)
    return evr_fail(error, EVENTRING_E_LIMIT, errno, "cannot map %.300s", r->path);
  r->catalogue = r->front + FORMAT_CATALOGUE_OFFSET;
  evr_space_touch_ahead(r->front, FRONT_FIRST);
  return EVENTRING_OK;
}

/* ---- Clock ------------------------------------------------------------------------ */

static void publish_segment(struct evr_recording *r, struct format_segment segment) {
  struct format_status *status = evr_status(r);
  uint32_t n = r->conversion.segments;
  r->conversion.segment[n] = segment;
  r->conversion.segments = n + 1;
  evr_store_words(&status->segment[n], &segment, sizeof segment);
  /* release: pairs with the acquire load in evr_recording_conversion and its
     like in foreign readers */
  __atomic_store_n(&status->segments, n + 1, __ATOMIC_RELEASE);
}

static uint64_t ticks_of_ms(const struct evr_recording *r, uint64_t ms) {
  uint64_t multiplier = r->conversion.segment[r->conversion.segments - 1].multiplier;
  return (uint64_t)(((unsigned __int128)ms * 1000000u << FORMAT_CLOCK_SHIFT) /
                    multiplier);
}

/* When to measure again, by the number of segments there are. */
static void plan_calibration(struct evr_recording *r) {
  static const uint64_t after_ms[FORMAT_CLOCK_SEGMENTS] = {0, 20, 1000, 60000};
  uint32_t n = r->conversion.segments;
  bool done = n == FORMAT_CLOCK_SEGMENTS || r->clock == FORMAT_CLOCK_MONOTONIC;
  uint64_t at = done ? UINT64_MAX : r->origin.ticks + ticks_of_ms(r, after_ms[n]);
  __atomic_store_n(&r->recalibrate_at, at, __ATOMIC_RELAXED);
}

/* The first segment: as the processor states, or measured over the start. */
static void calibrate_first(struct evr_recording *r) {
  uint64_t multiplier = evr_clock_nominal(r->clock);
  struct evr_pair now = evr_clock_pair(r->clock);
  while (!multiplier) {
    if (now.ns - r->origin.ns >= CALIBRATION_MIN_US * 1000u)
      multiplier = evr_clock_measured(r->origin, now);
    now = evr_clock_pair(r->clock);
  }
  publish_segment(r, (struct format_segment){.from_ticks = r->origin.ticks,
                                             .from_ns = r->origin.ns,
                                             .multiplier = multiplier});
  plan_calibration(r);
}

void evr_recording_recalibrate_locked(struct evr_recording *r) {
  if (evr_clock_ticks(r->clock) < r->recalibrate_at) return;
  for (int attempt = 0; attempt < 4; attempt++) {
    struct evr_pair now = evr_clock_pair(r->clock);
    uint64_t multiplier = evr_clock_measured(r->origin, now);
    uint64_t lead = ticks_of_ms(r, CALIBRATION_LEAD_MS);
    struct format_segment segment = {.from_ticks = now.ticks + lead,
                                     .multiplier = multiplier};
    segment.from_ns = evr_to_ns(&r->conversion, segment.from_ticks);
    /* were we held up, the segment would change times already delivered */
    if (!multiplier || evr_clock_ticks(r->clock) - now.ticks > lead / 2) continue;
    publish_segment(r, segment);
    break;
  }
  plan_calibration(r);
}

/* ---- Creation ------------------------------------------------------------------------ */

static void destroy(struct evr_recording *r) {
  uint64_t stride = format_domain_stride(r->header.wsize);
  for (unsigned i = 0; i < r->laid_out; i++) {
    evr_space_unmap(r->slot[i].map, stride);
    free(r->slot[i].ring);
  }
  evr_space_unmap(r->front, FORMAT_RINGS_OFFSET);
  if (r->fd >= 0) close(r->fd);
  if (r->directory >= 0) close(r->directory);
  free(r);
}

/* Unlinks the file if its name still means it. */
static void unlink_own(const struct evr_recording *r) {
  struct stat st;
  if (fstatat(r->directory, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      st.st_dev == r->device && st.st_ino == r->inode)
    unlinkat(r->directory, r->name, 0);
}

/* As wanted, such that the gate is well formed (control.c). */
static uint32_t first_classes(const struct evr_recording *r,
                              const struct eventring_config *config) {
  uint32_t classes = config->classes == EVENTRING_CLASSES_DEFAULT
                         ? evr_default_classes() : config->classes;
  return (classes & evr_named_classes(r->header.classes)) |
         EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
}

static int build(struct evr_recording *r, const struct eventring_config *config,
                 struct eventring_error *error) {
  int status = find_place(r, config->directory, error);
  if (status == EVENTRING_OK) status = create_file(r, error);
  if (status != EVENTRING_OK) return status;
  fill_header(r, config);
  status = make_front(r, error);
  if (status != EVENTRING_OK) unlink_own(r);
  return status;
}

int evr_recording_create(struct evr_recording **recording,
                         const struct eventring_config *config,
                         struct eventring_error *error) {
  struct evr_recording *r = calloc(1, sizeof *r);
  if (!r)
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the recorder");
  r->fd = r->directory = -1;
  r->references = 1;
  r->preserve = config->preserve;
  r->clock = evr_clock_kind();
  r->origin = evr_clock_pair(r->clock);
  int status = build(r, config, error);
  if (status != EVENTRING_OK) {
    destroy(r);
    return status;
  }
  *recording = r;
  return EVENTRING_OK;
}

void evr_recording_discard(struct evr_recording *r) {
  unlink_own(r);
  destroy(r);
}

void evr_recording_show(struct evr_recording *r, const struct eventring_config *config) {
  calibrate_first(r);
  uint64_t classes = first_classes(r, config);
  r->gate = classes << 32 | (config->start == EVENTRING_START_ON ? classes : 0);
  __atomic_store_n(&evr_control(r)->gate, r->gate, __ATOMIC_RELAXED);
  __atomic_store_n(&evr_status(r)->state, FORMAT_RECORDING, __ATOMIC_RELAXED);
  /* the magic last: until then readers find no recording here */
  struct format_header *h = (struct format_header *)r->front;
  memcpy((uint8_t *)h + 8, (uint8_t *)&r->header + 8, sizeof *h - 8);
  uint64_t magic;
  memcpy(&magic, r->header.magic, sizeof magic);
  __atomic_store_n((uint64_t *)h, magic, __ATOMIC_RELEASE);
}

int evr_recording_make_ready(const struct evr_recording *r, uint8_t *map,
                             uint64_t offset, uint64_t bytes) {
  int failure = evr_space_reserve(r->fd, r->in_memory, offset, bytes);
  if (!failure) evr_space_touch_ahead(map, bytes);
  return failure;
}

/* ---- Gate ---------------------------------------------------------------------------------- */

void evr_recording_check_gate(struct evr_recording *r) {
  uint64_t gate = __atomic_load_n(&evr_control(r)->gate, __ATOMIC_RELAXED);
  uint64_t good = __atomic_load_n(&r->gate, __ATOMIC_RELAXED);
  if (gate == good) return;
  if (evr_gate_valid(gate, evr_named_classes(r->header.classes)))
    __atomic_store_n(&r->gate, gate, __ATOMIC_RELAXED);
  else if (evr_control_repair(evr_control(r), r->clock, gate, good))
    __atomic_fetch_add(&evr_status(r)->rejected, 1, __ATOMIC_RELAXED);
}

uint64_t evr_recording_change_gate_locked(struct evr_recording *r,
                                          enum evr_gate_change change,
                                          uint32_t classes) {
  uint32_t named = evr_named_classes(r->header.classes);
  uint64_t before = evr_control_change(evr_control(r), r->clock, named, change, classes);
  evr_recording_check_gate(r);
  return before;
}

/* ---- End ----------------------------------------------------------------------------------- */

void evr_recording_end_locked(struct evr_recording *r) {
  struct format_status *status = evr_status(r);
  r->ended = true;
  __atomic_store_n(&status->end_ticks, evr_clock_ticks(r->clock), __ATOMIC_RELAXED);
  /* release: pairs with the acquire load of the state by readers; who sees the
     end finds all that this thread wrote, and all of stopped domains */
  __atomic_store_n(&status->state, FORMAT_ENDED, __ATOMIC_RELEASE);
  if (!r->preserve) unlink_own(r);
}

bool evr_recording_is_lost(const struct evr_recording *r) {
  return __atomic_load_n((const uint64_t *)r->front, __ATOMIC_RELAXED) == 0;
}

void evr_recording_disown(struct evr_recording *r) {
  if (r->fd >= 0) close(r->fd);
  if (r->directory >= 0) close(r->directory);
  r->fd = r->directory = -1;
}

void evr_recording_hold_locked(struct evr_recording *r) { r->references++; }

void evr_recording_release_locked(struct evr_recording *r) {
  if (--r->references == 0) destroy(r);
}
