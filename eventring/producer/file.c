/* file.c: the file of a recording: created, mapped, extended, ended.
 *
 * Safety rules of this file:
 *  - the file is created with O_EXCL|O_NOFOLLOW; what is in its place is never
 *    opened for writing nor followed. A regular file of ours that no live
 *    process holds is what a dead process with our pid left: it is unlinked;
 *  - no page is touched through a mapping before its disk space is reserved, so
 *    that a full disk is an error here and not SIGBUS later; a file-size limit
 *    is looked at first, so that it is not SIGXFSZ;
 *  - on a disk the space of a domain's rings is reserved at once, and their pages are
 *    made ready (of rings larger than the default, the rest when the first round comes
 *    to it: evr_recording_grow). On tmpfs, where reserving is most of the price, space is
 *    only looked for, and blocks are made ready in parts: those that a short program
 *    uses at the start, the others in the first round. Should it have filled up by
 *    then, the domain is not recorded any further, and its host is told;
 *  - were the file cut short all the same, the process goes on (guard.c);
 *  - pages are made present and writable before probes get them;
 *  - at the end the file is unlinked only when the name still means our inode.
 */
#include "producer/producer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL */
#endif

enum {
  CALIBRATION_LEAD_MS = 100, /* a new clock segment begins this much later */
  CALIBRATION_MIN_US = 50,   /* least time between the first two readings */
  /* of the front part, at the start: one page of the domain table */
  FRONT_FIRST = FORMAT_DOMAINS_OFFSET + 4096,
  SLOTS_PER_PAGE = 4096 / sizeof(struct format_domain),
  /* blocks of a ring that are made ready at the start, on tmpfs and elsewhere, and later
     at once at most */
  READY_FIRST = 1,
  READY_FIRST_ON_DISK = 64,
  READY_MOST = 16
};

/* ---- Disk space and pages ---------------------------------------------------- */

static int check_file_size(uint64_t end) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur ? EFBIG : 0;
}

/* Has the disk room for so much more? */
static int check_free(const struct statfs *fs, uint64_t bytes) {
  bool known = fs->f_blocks > 0 && fs->f_bsize > 0;
  return known && fs->f_bavail < bytes / (uint64_t)fs->f_bsize ? ENOSPC : 0;
}

static int reserve_by_call(int fd, uint64_t offset, uint64_t bytes) {
  int failure;
  do failure = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
  while (failure == EINTR);
  return failure;
}

static int reserve_by_writing(int fd, uint64_t offset, uint64_t bytes) {
  static const uint8_t zeros[65536];
  while (bytes) {
    ssize_t done = pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros,
                          (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    offset += (uint64_t)done;
    bytes -= (uint64_t)done;
  }
  return 0;
}

/* Reserves disk space. On a disk by writing zeros: the file system keeps room for
   what it has taken, makes larger pages than for a fresh allocation, and a file that
   is gone before it gets to the disk costs nothing (with extents allocated its last
   close takes milliseconds). tmpfs allocates pages without copying into them. */
static int reserve(const struct evr_recording *r, uint64_t offset, uint64_t bytes) {
  int failure = check_file_size(offset + bytes);
  if (failure) return failure;
  return r->in_memory ? reserve_by_call(r->fd, offset, bytes)
                      : reserve_by_writing(r->fd, offset, bytes);
}

/* Makes pages present and writable. */
static void touch_ahead(uint8_t *map, size_t bytes) {
  if (madvise(map, bytes, MADV_POPULATE_WRITE) == 0) return;
  for (size_t i = 0; i < bytes; i += 4096)
    __atomic_fetch_or((uint64_t *)(map + i), 0, __ATOMIC_RELAXED);
}

int evr_recording_make_ready(const struct evr_recording *r, uint8_t *map,
                             uint64_t offset, uint64_t bytes) {
  int failure = reserve(r, offset, bytes);
  if (!failure) touch_ahead(map, bytes);
  return failure;
}

/* Address space of this process in bytes; 0: not known. */
static uint64_t address_space_used(void) {
  char text[64];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Under a limit on address space at most a quarter of what is left goes into the
   recording: it must not take from the program what that needs to run. */
static bool leaves_room(uint64_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  uint64_t used = address_space_used();
  return limit.rlim_cur > used && (limit.rlim_cur - used) / 4 >= bytes;
}

/* Guarded: were the file cut short, anonymous memory takes the place of all
   mappings of the recording (guard.c). */
static uint8_t *map_file(const struct evr_recording *r, uint64_t offset,
                         uint64_t bytes) {
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
                   (off_t)offset);
  if (map == MAP_FAILED) return NULL;
  if (evr_guard_add(map, bytes, PROT_READ | PROT_WRITE, r)) return map;
  munmap(map, bytes);
  errno = ENOMEM;
  return NULL;
}

static void unmap(uint8_t *map, uint64_t bytes) {
  if (!map) return;
  evr_guard_remove(map);
  munmap(map, bytes);
}

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
  if (!leaves_room(FORMAT_FRONT_BYTES + FORMAT_CATALOGUE_BYTES + first_rings))
    return evr_fail(error, EVENTRING_E_LIMIT, 0, "cannot map %.300s: the limit on "
                    "address space leaves too little for it", r->path);
  struct statfs fs;
  if (fstatfs(r->fd, &fs) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "%.300s", r->path);
  r->in_memory = fs.f_type == TMPFS_MAGIC;
  int failure = check_free(&fs, FRONT_FIRST + first_rings);
  if (!failure) failure = reserve(r, 0, FRONT_FIRST);
  if (failure)
    return evr_fail(error, evr_code_of_errno(failure), failure,
                    "no room for %.300s", r->path);
  r->front = map_file(r, 0, FORMAT_RINGS_OFFSET);
  if (!r->front)
    return evr_fail(error, EVENTRING_E_LIMIT, errno, "cannot map %.300s", r->path);
  r->catalogue = r->front + FORMAT_CATALOGUE_OFFSET;
  touch_ahead(r->front, FRONT_FIRST);
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
  for (unsigned i = 0; i < r->laid_out; i++) unmap(r->slot[i].map, stride);
  unmap(r->front, FORMAT_RINGS_OFFSET);
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
  if (status == EVENTRING_OK) {
    status = evr_catalogue_publish_locked(r, error);
  }
  if (status != EVENTRING_OK) {
    unlink_own(r);
    return status;
  }
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
  return EVENTRING_OK;
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

/* ---- Slots ------------------------------------------------------------------------------ */

/* Room in the file for the rings of slot number laid_out (on tmpfs a hole as yet),
   and for its entry in the domain table. */
static int extend(const struct evr_recording *r, uint64_t end) {
  struct statfs fs;
  int failure = check_file_size(end);
  if (!failure && r->laid_out > 0 && r->laid_out % SLOTS_PER_PAGE == 0) {
    uint64_t at = FORMAT_DOMAINS_OFFSET + r->laid_out * sizeof(struct format_domain);
    failure = evr_recording_make_ready(r, r->front + at, at, 4096);
  }
  if (!failure && r->laid_out > 0 && fstatfs(r->fd, &fs) == 0) /* make_front did */
    failure = check_free(&fs, r->header.domain_stride);
  if (!failure && ftruncate(r->fd, (off_t)end) != 0) failure = errno;
  if (!failure && !r->in_memory)
    failure = reserve(r, end - r->header.domain_stride, r->header.domain_stride);
  return failure;
}

static int no_room(const struct evr_recording *r, int failure,
                   struct eventring_error *error) {
  return evr_fail(error, evr_code_of_errno(failure), failure,
                  "no room for the rings of a domain in %.250s", r->path);
}

int evr_recording_lay_out_locked(struct evr_recording *r, unsigned slot,
                                 struct eventring_error *error) {
  if (r->slot[slot].map) return EVENTRING_OK;
  uint64_t bytes = r->header.domain_stride;
  uint64_t offset = FORMAT_RINGS_OFFSET + slot * bytes;
  if (!leaves_room(bytes))
    return evr_fail(error, EVENTRING_E_LIMIT, 0,
                    "cannot map the rings of a domain in %.250s: the limit on "
                    "address space leaves too little for them", r->path);
  int failure = slot < r->laid_out ? 0 : extend(r, offset + bytes);
  if (failure) return no_room(r, failure, error);
  uint8_t *map = map_file(r, offset, bytes);
  if (!map)
    return evr_fail(error, EVENTRING_E_LIMIT, errno,
                    "cannot map the rings of a domain in %.250s", r->path);
  /* release: pairs with the acquire load by cursors of this process */
  __atomic_store_n(&r->slot[slot].map, map, __ATOMIC_RELEASE);
  if (slot >= r->laid_out) {
    r->laid_out = slot + 1;
    __atomic_store_n(&evr_status(r)->laid_out, slot + 1, __ATOMIC_RELEASE);
  }
  return EVENTRING_OK;
}

int evr_recording_grow(struct evr_recording *r, unsigned slot, enum eventring_ring ring,
                       struct eventring_error *error) {
  struct evr_slot *s = &r->slot[slot];
  uint32_t blocks = format_ring_blocks(r->header.wsize), from = s->ready[ring];
  uint32_t count = r->in_memory ? READY_FIRST : READY_FIRST_ON_DISK;
  if (from) count = from < READY_MOST ? from : READY_MOST;
  if (count > blocks - from) count = blocks - from;
  uint64_t at = ring * r->header.ring_bytes + from * (uint64_t)FORMAT_BLOCK_BYTES;
  uint64_t bytes = count * (uint64_t)FORMAT_BLOCK_BYTES;
  uint64_t offset = FORMAT_RINGS_OFFSET + slot * r->header.domain_stride + at;
  int failure = r->in_memory ? reserve(r, offset, bytes) : 0;
  if (failure) return no_room(r, failure, error);
  touch_ahead(s->map + at, bytes);
  s->ready[ring] = from + count;
  return EVENTRING_OK;
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
