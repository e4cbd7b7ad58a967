/* SPDX-License-Identifier: MIT */
/* view_source.c: makes section `source` of a page: the text of the program's files whose
 * functions are on the stacks.
 *
 * A page is given to others, and a recording may name any file. So only programs are
 * read: files called *.lua, and scripts whose first line names an interpreter of Lua.
 * Their times must show that they have not changed since the run began, or the lines
 * would be wrong.
 *
 * A relative name is relative to the directory of the process while that lives, else to
 * the directory of this command. Each level of reduction removes half of the bytes: the
 * files with the smallest shares of all figures. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view_figures.h"

enum {
  LEVELS = 6, MOST_FILE = 1 << 20, MOST_ALL = 8 << 20, MOST_PATH = 4096,
  SMALL = 16 << 10 /* bytes that stay at each level */
};

struct file {
  const char *path; /* path as functions have it */
  double weight;
  char *text;
  size_t size;
};

struct source {
  const struct page_run *run;
  struct file *files; /* the greatest weight first */
  uint32_t count;
  size_t bytes;
};

static void *begin(struct page_run *run) {
  struct source *s = calloc(1, sizeof *s);
  if (s) s->run = run;
  return s;
}

/* ---- Reading ------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), length = strlen(end);
  return size >= length && strcmp(text + size - length, end) == 0;
}

static bool is_program(const char *path, const char *text, size_t size) {
  const char *end = memchr(text, '\n', size);
  char line[256];
  if (memchr(text, '\0', size)) return false;
  if (ends_with(path, ".lua")) return true;
  snprintf(line, sizeof line, "%.*s", (int)((end ? end : text + size) - text), text);
  return strncmp(line, "#!", 2) == 0 && (strstr(line, "lua") || strstr(line, "saros"));
}

/* Tells whether a file has not changed since a time. (A change of its name or its owner
   also changes st_ctim.) */
static bool is_older(const struct stat *st, int64_t ns) {
  const struct timespec times[] = {st->st_mtim, st->st_ctim};
  for (int i = 0; i < 2; i++)
    if ((int64_t)times[i].tv_sec * 1000000000 + times[i].tv_nsec >= ns) return false;
  return true;
}

static bool is_readable(int fd, const struct page_run *run, size_t *size) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > MOST_FILE)
    return false;
  *size = (size_t)st.st_size;
  return is_older(&st, run->info.start_wall_ns);
}

static bool read_whole(int fd, char *text, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = read(fd, text + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static int open_file(const struct page_run *run, const char *path) {
  char full[MOST_PATH];
  const bool of_process = run->live && !run->launch && path[0] != '/';
  int size = of_process ? snprintf(full, sizeof full, "/proc/%ld/cwd/%s", (long)run->live, path)
                        : snprintf(full, sizeof full, "%s", path);
  if (size < 0 || size >= (int)sizeof full) return -1;
  return open(full, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Returns the text of a file, or NULL if it must not be shown. */
static char *text_of(const struct page_run *run, const char *path, size_t *size) {
  char *text = NULL;
  int fd = open_file(run, path);
  if (fd < 0) return NULL;
  if (is_readable(fd, run, size)) {
    text = need_zeroed(*size + 1, 1);
    if (!read_whole(fd, text, *size) || !is_program(path, text, *size)) {
      free(text);
      text = NULL;
    }
  }
  close(fd);
  return text;
}

/* ---- Files -------------------------------------------------------------------- */

static bool is_path(const void *context, uintptr_t value, const void *key) {
  return strcmp(((const struct source *)context)->files[value - 1].path, key) == 0;
}

static struct file *file_of(struct source *s, struct evr_table *table, const char *path) {
  uintptr_t *number = evr_table_take(table, evr_hash_text(evr_hash_seed(), path), is_path, s, path);
  if (!number) no_memory();
  if (!*number) {
    *NEED_NEXT(s->files, s->count) = (struct file){.path = path};
    *number = s->count;
  }
  return &s->files[*number - 1];
}

static void find_files(struct source *s, const struct page_stacks *stacks) {
  struct evr_table table = {0};
  double *weights = page_function_weights(stacks);
  for (uint32_t i = 0; i < stacks->function_count; i++) {
    const struct page_function *f = &stacks->functions[i];
    if (!f->is_c && f->source[0]) file_of(s, &table, f->source)->weight += weights[i];
  }
  free(weights);
  evr_table_free(&table);
}

static int compare(const void *left, const void *right) {
  const struct file *a = left, *b = right;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return strcmp(a->path, b->path);
}

/* Reads the files; those that cannot be read are left out. */
static int finish(void *state) {
  struct source *s = state;
  uint32_t kept = 0;
  if (s->run->no_source) return EVENTRING_OK;
  find_files(s, page_all_stacks());
  if (s->count) qsort(s->files, s->count, sizeof *s->files, compare);
  for (uint32_t i = 0; i < s->count && s->bytes < MOST_ALL; i++) {
    struct file *file = &s->files[i];
    file->text = text_of(s->run, file->path, &file->size);
    if (!file->text) continue;
    s->bytes += file->size;
    s->files[kept++] = *file;
  }
  s->count = kept;
  return EVENTRING_OK;
}

static bool write_source(void *state, struct eva_json *json, unsigned level,
                         struct page_left *left) {
  const struct source *s = state;
  const size_t most = s->bytes >> level > SMALL || !level ? s->bytes >> level : SMALL;
  size_t bytes = 0, kept = 0;
  if (!s->count) return false;
  eva_json_open_object(json);
  eva_json_key(json, "files");
  eva_json_open_array(json);
  for (uint32_t i = 0; i < s->count; i++) {
    const struct file *file = &s->files[i];
    if (bytes + file->size > most) continue;
    bytes += file->size, kept++;
    eva_json_open_object(json);
    eva_json_string_at(json, "path", file->path);
    eva_json_key(json, "text");
    eva_json_text(json, file->text, file->size);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
  if (kept < s->count)
    *left = (struct page_left){.what = "source files", .kept = kept, .of = s->count};
  return kept > 0;
}

static void free_source(void *state) {
  struct source *s = state;
  for (uint32_t i = 0; i < s->count; i++) free(s->files[i].text);
  free(s->files);
  free(s);
}

const struct page_part page_part_source = {
    .name = "source", .levels = LEVELS, .begin = begin, .finish = finish, .write = write_source,
    .free = free_source};
