/* SPDX-License-Identifier: MIT */
/* cmd_view.c: `eventring view`: makes a page that shows a run.
 *
 *  1. The recording is opened, and the file of the page is made, as FILE.partial.
 *  2. The parts begin (view_parts.def); some take samples of a live process from then on.
 *  3. The recording is read once (view/events.c).
 *  4. The parts finish, and their sections are made until they fit (view/page.c).
 *  5. The page is written and gets its name.
 *
 * The process of a PID is watched for some seconds, a PROGRAM to its end; SIGINT ends the
 * watching. At any other time SIGINT ends the command and leaves no file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump_format.h"
#include "new_file.h"
#include "query.h"
#include "reader.h"
#include "view/lists.h"
#include "view_page.h"

#define PART(name) extern const struct page_part page_part_##name;
#include "view_parts.def"

enum parts {
#define PART(name) PART_##name,
#include "view_parts.def"
  PARTS
};

static const struct page_part *const parts[] = {
#define PART(name) &page_part_##name,
#include "view_parts.def"
};

static const size_t order[] = {
#define LESS(name) PART_##name,
#include "view_parts.def"
};

enum {
  NAME_ROOM = 200,
  WATCHED_NS = 1000 * 1000 * 1000,
  WATCHED_SECONDS = 10,
  PAGE_LIMIT = 1 << 20
};
#define NOT_SAID UINT64_MAX

struct view_command {
  struct query q;
  const char *output;
  uint64_t size;
  bool full, no_source, open, cpu, wall;
  char *command_line, *target; /* as in struct page_run */
  char *all; /* path of a recording of all processes of a PROGRAM; NULL if only the
                recording that was read is shown */
  struct page_run run;
  struct page page;
  struct page_events events;
};

/* ---- Words -------------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words,
                      struct view_command *v, struct operands *operands) {
  const struct option_spec specs[] = {
      {"output", 'o', OPTION_TEXT, &v->output, "FILE",
       "write to FILE, which must not exist (NAME.html); -: standard output"},
      {"open", 0, OPTION_FLAG, &v->open, NULL, "show the page in the browser"},
      {"seconds", 's', OPTION_SECONDS, &v->q.limit_ns, "N",
       "watch a process for N seconds (10); 0: only what is recorded already"},
      {"wall", 0, OPTION_FLAG, &v->wall, NULL, "samples: count all (default)"},
      {"cpu", 0, OPTION_FLAG, &v->cpu, NULL, "samples: of threads that run"},
      {"size", 0, OPTION_SIZE, &v->size, "N", "a page of at most N bytes (1M)"},
      {"full", 0, OPTION_FLAG, &v->full, NULL, "all spans, whatever size the page gets"},
      {"no-source", 0, OPTION_FLAG, &v->no_source, NULL, "without the source of the program"},
      TIME_WINDOW_SPECS(&v->q.window),
      DOMAIN_SPEC(&v->q.domain),
      ENV_PREFIX_SPEC(&v->q.prefix)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = time_window_check(self, &v->q.window);
  if (goes_on(status) && v->open && v->output && is_standard_output(v->output))
    status = usage_error(self, "--open cannot be combined with `-o -': there is no file to open");
  if (goes_on(status) && v->wall && v->cpu) status = usage_error(self, "only one of --wall, --cpu");
  if (goes_on(status) && v->full && v->size)
    status = usage_error(self, "--full and --size cannot be combined");
  if (goes_on(status) && v->size && v->size < page_text_size() + 4096)
    status = usage_error(self, "--size: the page itself takes %zu bytes", page_text_size());
  return goes_on(status) ? require_target(self, operands, true) : status;
}

/* Writes a word as a shell reads it. */
static void put_word(FILE *out, const char *word) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                              "%+,-./:=@_";
  if (word[0] && !word[strspn(word, plain)]) {
    fputs(word, out);
    return;
  }
  fputc('\'', out);
  for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
  fputc('\'', out);
}

/* Returns a command line, or a part of one, for the page: `first` ("": none), then the
   words. */
static char *line_of(const char *first, size_t count, char *const *words) {
  char *line = NULL;
  size_t size;
  FILE *out = open_memstream(&line, &size);
  if (!out) no_memory();
  fputs(first, out);
  for (size_t i = 0; i < count; i++) {
    if (i || first[0]) fputc(' ', out);
    put_word(out, words[i]);
  }
  if (fclose(out) != 0) no_memory();
  return line;
}

static char *target_of(const struct operands *operands) {
  char **program = command_line()->program;
  size_t count = 0;
  while (program && program[count]) count++;
  return count ? line_of("--", count, program) : line_of("", operands->count, operands->words);
}

/* ---- Reading ------------------------------------------------------------------ */

/* Returns a grid from the oldest event to the newest. For a recording that goes on, a
   cell has one millisecond at first. */
static struct page_grid grid_of(const struct query *q, bool goes_on) {
  enum { FIRST_CELL_NS = 1000 * 1000 };
  uint64_t oldest = UINT64_MAX, newest = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) {
    struct eventring_ring_info ring = {.size = sizeof ring};
    if (eventring_cursor_ring(q->reader.cursor, i / EVENTRING_RINGS,
                              (enum eventring_ring)(i % EVENTRING_RINGS), &ring) < 0)
      continue;
    if (ring.oldest_ns && ring.oldest_ns < oldest) oldest = ring.oldest_ns;
    if (ring.newest_ns > newest) newest = ring.newest_ns;
  }
  if (oldest == UINT64_MAX) oldest = q->info.start_ns;
  if (q->window.since) oldest = q->window.since;
  if (q->window.until < newest) newest = q->window.until;
  struct page_grid grid = page_grid_over(oldest, newest);
  if (goes_on && grid.cell_ns < FIRST_CELL_NS) grid.cell_ns = FIRST_CELL_NS;
  return grid;
}

static void describe_run(struct view_command *v) {
  struct query *q = &v->q;
  const bool lives = eventring_cursor_liveness(q->reader.cursor) == EVENTRING_LIVE;
  const bool watches = q->reader.launched || (lives && q->limit_ns);
  v->run = (struct page_run){
      .cursor = q->reader.cursor, .info = q->info, .since = q->window.since,
      .until = q->window.until, .domain = q->domain, .no_source = v->no_source, .cpu = v->cpu,
      .limit = v->full ? 0 : v->size ? v->size : PAGE_LIMIT, .target = v->target,
      .prefix = q->prefix, .command_line = v->command_line, .seconds_ns = q->limit_ns,
      .live = watches ? pid_here(&q->info) : 0, .print_value = dump_value,
      .launch = q->reader.launched ? &q->reader.launch : NULL,
      .grid = grid_of(q, watches), .lists = page_lists_new(q->reader.cursor)};
  if (!v->run.lists) no_memory();
}

/* Begins the parts. */
static void begin_parts(struct view_command *v) {
  struct page *page = &v->page;
  page->run = &v->run;
  page->count = PARTS;
  page->made = need_zeroed(PARTS, sizeof *page->made);
  page->order = order;
  page->steps = sizeof order / sizeof order[0];
  v->run.events = &v->events;
  if (page_events_begin(&v->events, &v->run, page) < 0) no_memory();
  for (size_t i = 0; i < page->count; i++) {
    page->made[i].part = parts[i];
    if (!(page->made[i].state = parts[i]->begin(&v->run))) no_memory();
    v->events.classes |= parts[i]->classes;
  }
}

static void read_recording(struct view_command *v) {
  struct query *q = &v->q;
  const struct reading reading = {.callbacks = &page_events_callbacks, .context = &v->events,
                                  .follow = v->run.live != 0, .limit_ns = q->limit_ns,
                                  .until = q->window.until};
  /* (with `until`, reading ends at an event, and its batch could hold later ones) */
  if (q->window.until == UINT64_MAX &&
      eventring_cursor_batches(q->reader.cursor, 0, page_events_batch, &v->events) ==
          EVENTRING_E_MEMORY)
    no_memory();
  eventring_cursor_switches(q->reader.cursor, page_events_switch, &v->events);
  reader_read(&q->reader, &reading);
}

static void finish_parts(struct view_command *v) {
  struct page *page = &v->page;
  if (page_events_finish(&v->events) == EVENTRING_E_MEMORY) no_memory();
  for (size_t i = 0; i < page->count; i++)
    if (parts[i]->finish && parts[i]->finish(page->made[i].state) == EVENTRING_E_MEMORY)
      no_memory();
  if (page_lists_fill(v->run.lists) < 0) no_memory();
}

static void free_parts(struct view_command *v) {
  page_free(&v->page);
  for (size_t i = 0; i < v->page.count; i++)
    if (parts[i]->free) parts[i]->free(v->page.made[i].state);
  free(v->page.made);
  page_events_free(&v->events);
}

/* ---- Writing ------------------------------------------------------------------ */

/* Makes the sections. Returns false after a message. */
static bool make_page(struct view_command *v) {
  v->page.head = view_head;
  const int status = page_make(&v->page);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status == EVENTRING_E_LIMIT)
    return complain("a page of %llu bytes cannot have the names of this recording: --size N",
                    (unsigned long long)v->run.limit);
  return true;
}

static bool write_page(const struct view_command *v, int fd, const char *path) {
  FILE *out = fdopen(dup(fd), "w");
  if (!out) return complain("cannot write %s: %s", path, strerror(errno));
  page_put_begin(out);
  page_put_sections(&v->page, out);
  page_put_end(out);
  int error = fflush(out) != 0 || ferror(out) ? errno : 0;
  if (fclose(out) != 0 && !error) error = errno;
  return error ? complain("cannot write %s: %s", path, strerror(error)) : true;
}

/* Returns the name of the page: "server.html" for "/tmp/server.eventring",
   "server.lua-4711.html" for a process. */
static char *name_of(const struct query *q) {
  static const char suffix[] = ".eventring";
  char *name = NULL, text[NAME_ROOM];
  pid_t pid;
  const bool is_file = q->target && !read_process_number(q->target, &pid);
  const char *path = is_file ? q->target : q->info.program, *slash = strrchr(path, '/');
  snprintf(text, sizeof text, "%.*s", NAME_ROOM - 1, slash ? slash + 1 : path);
  const size_t size = strlen(text), end = sizeof suffix - 1;
  if (size > end && strcmp(text + size - end, suffix) == 0) text[size - end] = '\0';
  for (char *c = text; *c; c++)
    if ((unsigned char)*c <= ' ' || *c == 0x7f || (*c == '.' && c == text)) *c = '_';
  const int made = is_file ? asprintf(&name, "%s.html", text)
                           : asprintf(&name, "%s-%ld.html", text, (long)pid_here(&q->info));
  if (made < 0) no_memory();
  return name;
}

/* Shows the page in the browser. Returns a status. */
static int open_page(const char *path) {
  char *words[] = {(char *)"xdg-open", (char *)(uintptr_t)path, NULL};
  int status = 0;
  pid_t pid = fork();
  if (pid == 0) {
    execvp(words[0], words);
    _exit(127);
  }
  if (pid < 0) return wrong("--open: %s", strerror(errno));
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return wrong("--open: there is no xdg-open (Debian package: xdg-utils); open %s in a browser",
                 path);
  if (status != 0) return wrong("--open: xdg-open failed; open %s in a browser", path);
  return STATUS_OK;
}

/* ---- The command -------------------------------------------------------------- */

static bool is_interrupted(const struct view_command *v) {
  return !v->run.live && reader_is_stopped();
}

static bool make_and_write(struct view_command *v, int fd, const char *path) {
  begin_parts(v);
  read_recording(v);
  v->all = reader_merge(&v->q.reader);
  bool done = !is_interrupted(v) && !v->all;
  if (is_interrupted(v)) complain("interrupted; %s is removed", path);
  /* the next signal interrupts */
  if (v->run.live && !v->run.launch) reader_catch_signals(true);
  finish_parts(v);
  done = done && make_page(v) && write_page(v, fd, path);
  free_parts(v);
  return done;
}

static int view(struct view_command *v) {
  char *made = v->output ? NULL : name_of(&v->q);
  const char *path = v->output ? v->output : made;
  struct new_file file;
  describe_run(v);
  const bool catches = !v->run.launch;
  if (catches) reader_catch_signals(true); /* before a file is created */
  int fd = new_file_create(&file, path);
  bool done = fd >= 0 && make_and_write(v, fd, file.path);
  if (fd >= 0 && close(fd) != 0 && done)
    done = complain("cannot write %s: %s", path, strerror(errno));
  if (fd >= 0 && done) done = new_file_keep(&file);
  else if (fd >= 0) new_file_drop(&file);
  if (catches) reader_catch_signals(false);
  if (done && !v->output) print_foreign_text(stdout, path), putchar('\n');
  int status = done ? STATUS_OK : v->all ? run_of_file(v->all) : STATUS_WRONG;
  free(v->all);
  if (done && v->open) status = open_page(path);
  page_lists_free(v->run.lists);
  free(made);
  return status;
}

/* Tells whether a file can be created. Called before the program is run, so that it is
   not run in vain. */
static bool can_be_created(const char *path) {
  struct new_file file;
  int fd = new_file_create(&file, path);
  if (fd < 0) return false;
  close(fd);
  new_file_drop(&file);
  return true;
}

int command_view(const struct command *self, int count, char **words) {
  struct view_command v = {.q = QUERY_NEW(0)};
  struct operands operands;
  v.q.limit_ns = NOT_SAID;
  v.command_line = line_of("eventring", (size_t)command_line()->count, command_line()->words);
  int status = read_words(self, count, words, &v, &operands);
  if (goes_on(status) && !page_can_compress())
    status = wrong("view: this eventring was built without zlib (Debian package: zlib1g-dev)");
  if (goes_on(status) && v.q.limit_ns == NOT_SAID)
    v.q.limit_ns = operands.command ? 0 : (uint64_t)WATCHED_SECONDS * WATCHED_NS;
  if (goes_on(status) && operands.command) launch_set_sibling(v.q.prefix, "MEMPROF", "on", false);
  if (goes_on(status) && operands.command && v.output && !can_be_created(v.output))
    status = STATUS_WRONG;
  if (goes_on(status)) v.target = target_of(&operands);
  if (goes_on(status)) status = query_open(&v.q, &operands);
  if (goes_on(status)) status = reader_close(&v.q.reader, view(&v));
  free(v.command_line);
  free(v.target);
  return status;
}
