/* SPDX-License-Identifier: MIT */
/* top_screen.c: shows the screen of `eventring top`, with ncurses.
 *
 * The loop waits for three things: a key, the text of a child (top_detail.c, or a command
 * that a key has started), and the next refresh. Signals are blocked except while it
 * waits, so none is missed: SIGINT, SIGTERM and SIGHUP end the loop, SIGWINCH comes as a
 * key, and ncurses handles SIGTSTP and SIGCONT and gives the terminal back while the
 * command is stopped. However the command ends, except by SIGKILL, the terminal is
 * restored (also when out of memory: `restore` runs at exit).
 *
 * The screen is a list of lines, made anew each time: the table of processes, or for one
 * process its row and its parts. ncurses writes only differences. Each text is written by
 * `put`, which never passes on anything that a terminal would act on.
 *
 * A key that changes a process runs `eventring control`, whose output becomes the message
 * in the last line.
 */
#include "top_screen.h"

#ifndef HAVE_NCURSES

#include "tool.h"

int top_screen(struct top_list *list, uint64_t limit_ns) {
  (void)list, (void)limit_ns;
  complain("this was built without ncurses, so it prints lines (--interval N; Ctrl-C ends)");
  return STATUS_GO_ON;
}

#else

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ncurses.h>

#include "analysis/figures.h"
#include "format/now.h"
#include "reader.h"
#include "text_table.h"
#include "top_detail.h"
#include "top_terminal.h"

enum { LEAST_LINES = 6, LEAST_COLUMNS = 30, MESSAGE = 512 };
#define LEAST_INTERVAL_NS UINT64_C(250000000)
#define MOST_INTERVAL_NS UINT64_C(64000000000)
#define MESSAGE_NS UINT64_C(10000000000) /* how long a message is shown */

enum over { OVER_NOTHING, OVER_HELP, OVER_CLASSES, OVER_FILTER }; /* what gets the keys */

struct lines { /* lines to be drawn */
  char **text;
  int *attributes;
  size_t count, of_attributes;
};

struct screen {
  struct top_list *list;
  uint64_t interval_ns, due_ns, end_ns;
  bool frozen, quits, is_detail, draws;
  enum over over;
  struct top_process *chosen;  /* a process of the list; NULL if none is chosen */
  size_t row;                  /* index of the chosen process in the list */
  size_t first, detail_first;  /* number of the first row, or first line, on the screen */
  struct top_detail detail;
  struct top_child action;     /* a command that a key has started */
  char doing[TOP_TARGET + 32]; /* what this command does */
  char said[PATH_MAX + 32];    /* message after its success; if "", the command's own text
                                  is shown */
  char message[MESSAGE];
  uint64_t message_ns;         /* when the message came; 0 if there is none */
  /* the previous filter, while another filter is typed */
  char before[sizeof ((struct top_list *)0)->filter];
};

static bool is_open; /* ncurses has the terminal */

static void restore(void) {
  if (is_open) endwin();
  is_open = false;
}

/* ---- Lines -------------------------------------------------------------------- */

static void add_line(struct lines *lines, const char *text, size_t size, int attribute) {
  char *line = need_zeroed(size + 1, 1);
  memcpy(line, text, size);
  *NEED_NEXT(lines->text, lines->count) = line;
  *NEED_NEXT(lines->attributes, lines->of_attributes) = attribute;
}

static void add_text(struct lines *lines, const char *text) {
  for (size_t size; *text; text += size + (text[size] == '\n')) {
    size = strcspn(text, "\n");
    add_line(lines, text, size, A_NORMAL);
  }
}

static void free_lines(struct lines *lines) {
  for (size_t i = 0; i < lines->count; i++) free(lines->text[i]);
  free(lines->text);
  free(lines->attributes);
  *lines = (struct lines){0};
}

/* Returns the text in a form that is safe for this terminal. */
static char *safe_text(const char *text) {
  const bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const size_t size = strlen(text), room = 4 * size + 1;
  char *safe = need_zeroed(room, 1), *to = safe;
  for (size_t at = 0; at < size;) {
    const struct eventring_character c = eventring_character_at(text + at, size - at);
    if (c.printable && (c.size == 1 || is_utf8)) {
      memcpy(to, text + at, c.size);
      to += c.size;
    } else {
      *to++ = '?';
    }
    at += c.size;
  }
  return safe;
}

/* Writes a line of the screen, cut at its edge. */
static void put(int y, const char *text, int attribute) {
  char *safe = safe_text(text);
  const int size = (int)table_cut(safe, (size_t)COLS);
  move(y, 0);
  attrset(attribute);
  addnstr(safe, size);
  if (attribute & A_REVERSE)
    for (int x = getcurx(stdscr), i = x; getcury(stdscr) == y && i < COLS; i++) addch(' ');
  attrset(A_NORMAL);
  free(safe);
}

/* ---- The list ----------------------------------------------------------------- */

/* Returns the table of some rows, one line each, below its titles. */
static char *table_of(void (*rows)(struct view_to *to, const void *row), const void *row) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) no_memory();
  struct view_to to = {.out = out, .is_screen = true};
  table_set_page((size_t)COLS);
  view_table(&to, &top_process_view, rows, row, 0);
  if (fclose(out) != 0) no_memory();
  return text;
}

static void one_row(struct view_to *to, const void *process) { view_row(to, process); }

/* Finds the row of the chosen process; if the process is gone, chooses the process in its
   place. */
static void find_chosen(struct screen *s) {
  const struct top_list *list = s->list;
  for (size_t i = 0; i < list->shown; i++)
    if (list->all[i] == s->chosen) {
      s->row = i;
      return;
    }
  if (s->row >= list->shown) s->row = list->shown ? list->shown - 1 : 0;
  s->chosen = list->shown ? list->all[s->row] : NULL;
}

static bool is_listed(const struct screen *s) {
  for (size_t i = 0; i < s->list->count; i++)
    if (s->list->all[i] == s->chosen) return true;
  return false;
}

static void choose(struct screen *s, size_t row) {
  s->row = row;
  s->chosen = row < s->list->shown ? s->list->all[row] : NULL;
}

static void draw_head(const struct screen *s) {
  enum { DATE = 11, TO_THE_SECOND = 19 };
  char text[512], wall[EVA_FIGURE];
  eva_wall_text(wall, s->list->wall_ns)[TO_THE_SECOND] = '\0';
  snprintf(text, sizeof text, "eventring top  %s%s  %s%s%s  by %s%s  each %s", wall + DATE,
           s->frozen ? "  FROZEN" : "", top_list_text(s->list),
           s->list->filter[0] ? "  filter " : "", s->list->filter, top_order_names[s->list->order],
           s->list->reversed ? ", least first" : "", eva_duration(s->interval_ns));
  put(0, text, A_BOLD);
}

static void draw_foot(const struct screen *s) {
  char text[TOP_TARGET + MESSAGE];
  if (s->over == OVER_FILTER)
    snprintf(text, sizeof text, "filter: %s_   (Enter: keep, Esc: as before)", s->list->filter);
  else if (s->action.pid)
    snprintf(text, sizeof text, "%s ...", s->doing);
  else if (s->message_ns)
    snprintf(text, sizeof text, "%s", s->message);
  else if (s->is_detail)
    snprintf(text, sizeof text,
             "h help  q quit  Esc back  arrows scroll  1-%d one part  0 all  space freeze",
             TOP_PARTS);
  else
    snprintf(
        text, sizeof text,
        "h help  q quit  Enter one process  s sort  f filter  space freeze  c classes  p pause");
  put(LINES - 1, text, A_REVERSE);
}

static void draw_list(struct screen *s) {
  const size_t room = (size_t)LINES - 3;
  struct lines lines = {0};
  find_chosen(s);
  if (s->row < s->first) s->first = s->row;
  if (s->row >= s->first + room) s->first = s->row - room + 1;
  if (s->first + room > s->list->shown)
    s->first = s->list->shown > room ? s->list->shown - room : 0;
  char *table = table_of(top_list_rows, s->list);
  add_text(&lines, table);
  if (lines.count) put(1, lines.text[0], A_UNDERLINE);
  else put(2, s->list->count ? "No process has that in its pid or program (f)."
                             : "No process records (eventring help control: --start).", A_NORMAL);
  for (size_t i = 0; i < room && s->first + i < s->list->shown; i++)
    put((int)i + 2, lines.text[1 + s->first + i], s->first + i == s->row ? A_REVERSE : A_NORMAL);
  free(table);
  free_lines(&lines);
}

/* ---- One process -------------------------------------------------------------- */

static void add_part(const struct screen *s, struct lines *lines, int part) {
  char heading[TOP_HEADING];
  top_detail_heading(heading, &s->detail, part);
  add_line(lines, heading, strlen(heading), A_BOLD | A_UNDERLINE);
  add_text(lines, top_detail_text(&s->detail, part));
  add_line(lines, "", 0, A_NORMAL);
}

static void draw_detail(struct screen *s) {
  enum { HEAD = 3 };
  const size_t room = (size_t)LINES - HEAD - 1;
  struct lines head = {0}, lines = {0};
  char *table = table_of(one_row, s->chosen);
  add_text(&head, table);
  for (size_t i = 0; i < head.count && i < HEAD - 1; i++)
    put((int)i + 1, head.text[i], i ? A_NORMAL : A_UNDERLINE);
  for (int i = 0; i < TOP_PARTS; i++)
    if (top_detail_shows(&s->detail, i)) add_part(s, &lines, i);
  if (s->detail_first + room > lines.count)
    s->detail_first = lines.count > room ? lines.count - room : 0;
  for (size_t i = 0; i < room && s->detail_first + i < lines.count; i++)
    put((int)i + HEAD, lines.text[s->detail_first + i], lines.attributes[s->detail_first + i]);
  free(table);
  free_lines(&head);
  free_lines(&lines);
}

/* ---- What is shown over the lines --------------------------------------------- */

static const char *const help[] = {
    "Up, Down, PgUp, PgDn, Home, End   choose a process; scroll what is shown of one",
    "Enter     show the process            Esc, Left   back to the list",
    "1 to 7    show one part alone         0           all of them",
    "s, S      sort by the next column, or the one before;  r  the least first",
    "f, /      only processes that have a text in their pid or program",
    "space     freeze; again: go on        +, -        refresh more often, less often",
    "",
    "What changes the process that is chosen (eventring help control):",
    "c         switch classes of events",
    "p         pause the recording, resume or start it",
    "m         sample allocations, or no longer",
    "l         keep a profile of calls, or no longer",
    "w         write a snapshot into this directory; its path is said",
    "",
    "CPU is of one processor, since the refresh before. GC, pause (the longest step",
    "of the collector) and alloc/s are of the last 10 s. heap is what the domains",
    "use; lost are events that were overwritten before they were read.",
    "",
    "h, ?  this    q  quit"};

static void draw_help(void) {
  for (size_t i = 0; i < sizeof help / sizeof help[0] && (int)i + 2 < LINES; i++)
    put((int)i + 1, help[i], A_NORMAL);
}

/* Finds the bits of the classes that can be switched, in the order of their letters.
   Returns how many there are. */
static size_t classes_of(const struct top_process *p, unsigned bits[EVENTRING_MAX_CLASSES]) {
  enum { LETTERS = 26 };
  size_t count = 0;
  for (unsigned bit = 0; bit < EVENTRING_MAX_CLASSES && count < LETTERS; bit++)
    if (p->info.classes_known >> bit & 1 && bit != EVENTRING_CLASS_LIFECYCLE) bits[count++] = bit;
  return count;
}

static void draw_classes(const struct screen *s) {
  unsigned bits[EVENTRING_MAX_CLASSES];
  const size_t count = classes_of(s->chosen, bits);
  char text[128];
  snprintf(text, sizeof text, "Classes of events of %ld: a letter switches one, Esc ends",
           (long)s->chosen->pid);
  put(1, text, A_BOLD);
  for (size_t i = 0; i < count && (int)i + 3 < LINES; i++) {
    const char *name = eventring_cursor_name(s->chosen->cursor, EVENTRING_NAME_CLASS, bits[i]);
    snprintf(text, sizeof text, "%c  %s  %s", (char)('a' + i),
             s->chosen->info.classes >> bits[i] & 1 ? "on " : "off", name ? name : "?");
    put((int)i + 2, text, A_NORMAL);
  }
}

static void draw(struct screen *s) {
  erase();
  if (LINES < LEAST_LINES || COLS < LEAST_COLUMNS) {
    put(0, "too small", A_NORMAL);
  } else {
    draw_head(s);
    if (s->over == OVER_HELP) draw_help();
    else if (s->over == OVER_CLASSES) draw_classes(s);
    else if (s->is_detail) draw_detail(s);
    else draw_list(s);
    draw_foot(s);
  }
  refresh();
  s->draws = false;
}

/* ---- Actions ------------------------------------------------------------------ */

static void say(struct screen *s, const char *text) {
  while (strncmp(text, "eventring: ", 11) == 0) text += 11;
  snprintf(s->message, sizeof s->message, "%.*s", (int)strcspn(text, "\n"), text);
  s->message_ns = now_ns();
  s->draws = true;
}

static void target_of(char target[TOP_TARGET], const struct top_process *p) {
  if (p->pid) snprintf(target, TOP_TARGET, "%ld", (long)p->pid);
  else snprintf(target, TOP_TARGET, "%s", p->info.path);
}

/* Runs a command on the chosen process. `said` is the message after its success. */
static void act(struct screen *s, const char *doing, const char *said, const char *const *words) {
  const char *all[TOP_CHILD_WORDS + 1];
  char target[TOP_TARGET];
  size_t count = 0;
  target_of(target, s->chosen);
  for (; words[count]; count++) all[count] = words[count];
  all[count] = target;
  all[count + 1] = NULL;
  snprintf(s->doing, sizeof s->doing, "%s of %s", doing, target);
  snprintf(s->said, sizeof s->said, "%s", said);
  if (!top_child_start(&s->action, all, sizeof s->message)) say(s, strerror(errno));
  s->draws = true;
}

#define ACT(s, doing, said, ...) act(s, doing, said, (const char *const[]){__VA_ARGS__, NULL})

static void end_action(struct screen *s) {
  if (s->action.status == STATUS_OK) say(s, s->said);
  else if (s->action.size) say(s, s->action.text);
  else say(s, "it has failed");
}

static void pause_or_resume(struct screen *s) {
  if (s->chosen->info.state == EVENTRING_RUNNING)
    ACT(s, "pause", "the recording pauses (p: it goes on)", "control", "--pause");
  else
    ACT(s, "resume", "it records", "control", "--resume");
}

static void switch_samples(struct screen *s) {
  if (s->chosen->info.sample_rate > 0)
    ACT(s, "samples", "allocations are no longer sampled", "control", "--memprof", "off");
  else
    ACT(s, "samples", "allocations are sampled (part 7)", "control", "--memprof", "on");
}

static void switch_profile(struct screen *s) {
  if (s->chosen->info.profile_asked)
    ACT(s, "profile", "no profile of calls is kept any more", "control", "--profile", "off");
  else
    ACT(s, "profile", "a profile of calls is kept (eventring profile PID)", "control", "--profile",
        "calls");
}

static void write_snapshot(struct screen *s) {
  char directory[PATH_MAX], path[PATH_MAX + 64], said[PATH_MAX + 96];
  if (!getcwd(directory, sizeof directory)) {
    say(s, strerror(errno));
    return;
  }
  snprintf(path, sizeof path, "%s/%ld-%lld.eventring", directory,
           (long)(s->chosen->pid ? s->chosen->pid : s->chosen->info.pid), (long long)time(NULL));
  snprintf(said, sizeof said, "snapshot: %s", path);
  ACT(s, "snapshot", said, "snapshot", "-o", path);
}

static void switch_class(struct screen *s, int key) {
  unsigned bits[EVENTRING_MAX_CLASSES];
  const size_t count = classes_of(s->chosen, bits);
  if (key < 'a' || (size_t)(key - 'a') >= count) return;
  const unsigned bit = bits[key - 'a'];
  const char *name = eventring_cursor_name(s->chosen->cursor, EVENTRING_NAME_CLASS, bit);
  const bool is_on = s->chosen->info.classes >> bit & 1;
  char said[128];
  if (!name) return;
  snprintf(said, sizeof said, "class %s is %s", name, is_on ? "off" : "on");
  ACT(s, "classes", said, "control", is_on ? "--disable" : "--enable", name);
}

/* ---- Keys --------------------------------------------------------------------- */

enum { KEY_ESCAPE = 27 };

/* Handles a key for the chosen process. Returns false if the key is no such key. */
static bool take_action_key(struct screen *s, int key) {
  if (!strchr("pmlwc", key) || !key) return false;
  if (!s->chosen) return true;
  if (s->chosen->gone_ns) say(s, "the process has ended");
  else if (s->action.pid) say(s, "the command before has not ended yet");
  else if (key == 'c') s->over = OVER_CLASSES;
  else if (key == 'p') pause_or_resume(s);
  else if (key == 'm') switch_samples(s);
  else if (key == 'l') switch_profile(s);
  else write_snapshot(s);
  return true;
}

static void set_interval(struct screen *s, uint64_t interval) {
  if (interval < LEAST_INTERVAL_NS || interval > MOST_INTERVAL_NS) return;
  s->interval_ns = interval;
  s->due_ns = now_ns();
}

static void begin_filter(struct screen *s) {
  s->over = OVER_FILTER;
  memcpy(s->before, s->list->filter, sizeof s->before);
}

static void sort_by(struct screen *s, int step) {
  s->list->order = (enum top_order)(((int)s->list->order + step + TOP_ORDERS) % TOP_ORDERS);
  top_list_sort(s->list);
}

static bool take_common_key(struct screen *s, int key) {
  if (key == 'q') s->quits = true;
  else if (key == 'h' || key == '?') s->over = OVER_HELP;
  else if (key == ' ') s->frozen = !s->frozen, s->due_ns = now_ns();
  else if (key == '+') set_interval(s, s->interval_ns / 2);
  else if (key == '-') set_interval(s, s->interval_ns * 2);
  else if (key == 'L' - 64) clearok(stdscr, TRUE);
  else return false;
  return true;
}

static void show_chosen(struct screen *s) {
  char target[TOP_TARGET];
  if (!s->chosen) return;
  target_of(target, s->chosen);
  s->is_detail = true;
  s->detail_first = 0;
  s->detail.only = -1;
  top_detail_show(&s->detail, target);
}

static void leave_detail(struct screen *s) {
  s->is_detail = false;
  top_detail_show(&s->detail, "");
}

static void take_list_key(struct screen *s, int key) {
  const size_t page = LINES > 4 ? (size_t)LINES - 4 : 1,
               last = s->list->shown ? s->list->shown - 1 : 0;
  if (key == KEY_DOWN || key == 'j') choose(s, s->row < last ? s->row + 1 : last);
  else if (key == KEY_UP || key == 'k') choose(s, s->row ? s->row - 1 : 0);
  else if (key == KEY_NPAGE) choose(s, s->row + page < last ? s->row + page : last);
  else if (key == KEY_PPAGE) choose(s, s->row > page ? s->row - page : 0);
  else if (key == KEY_HOME) choose(s, 0);
  else if (key == KEY_END) choose(s, last);
  else if (key == '\r' || key == '\n' || key == KEY_ENTER || key == KEY_RIGHT) show_chosen(s);
  else if (key == 's') sort_by(s, 1);
  else if (key == 'S') sort_by(s, -1);
  else if (key == 'r') s->list->reversed = !s->list->reversed, top_list_sort(s->list);
  else if (key == 'f' || key == '/') begin_filter(s);
}

static void take_detail_key(struct screen *s, int key) {
  const size_t page = LINES > 6 ? (size_t)LINES - 6 : 1, first = s->detail_first;
  /* `draw_detail` limits it to the text */
  if (key == KEY_DOWN || key == 'j') s->detail_first++;
  else if (key == KEY_UP || key == 'k') s->detail_first = first ? first - 1 : 0;
  else if (key == KEY_NPAGE) s->detail_first += page;
  else if (key == KEY_PPAGE) s->detail_first = first > page ? first - page : 0;
  else if (key == KEY_HOME) s->detail_first = 0;
  else if (key == KEY_END) s->detail_first = SIZE_MAX / 2;
  else if (key == KEY_ESCAPE || key == KEY_LEFT || key == KEY_BACKSPACE) leave_detail(s);
  else if (key >= '0' && key <= '0' + TOP_PARTS) s->detail.only = key - '1', s->detail_first = 0;
}

static void take_filter_key(struct screen *s, int key) {
  char *filter = s->list->filter;
  const size_t size = strlen(filter);
  if (key == KEY_ESCAPE) memcpy(filter, s->before, sizeof s->before);
  if (key == KEY_ESCAPE || key == '\r' || key == '\n' || key == KEY_ENTER) s->over = OVER_NOTHING;
  else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && size) filter[size - 1] = '\0';
  else if (key >= ' ' && key < 127 && size + 1 < sizeof s->list->filter)
    filter[size] = (char)key, filter[size + 1] = '\0';
  top_list_sort(s->list);
}

static void take_class_key(struct screen *s, int key) {
  if (key == KEY_ESCAPE || key == 'q' || key == KEY_LEFT) s->over = OVER_NOTHING;
  else if (s->action.pid) say(s, "the command before has not ended yet");
  else switch_class(s, key);
}

static void take_key(struct screen *s, int key) {
  s->draws = true;
  s->message_ns = 0;
  if (key == KEY_RESIZE) s->detail.columns = (size_t)COLS;
  else if (s->over == OVER_HELP) s->over = OVER_NOTHING;
  else if (s->over == OVER_FILTER) take_filter_key(s, key);
  else if (s->over == OVER_CLASSES) take_class_key(s, key);
  else if (take_common_key(s, key) || (key < 128 && take_action_key(s, key))) return;
  else if (s->is_detail) take_detail_key(s, key);
  else take_list_key(s, key);
}

/* ---- The loop ----------------------------------------------------------------- */

static void refresh_when_due(struct screen *s) {
  const uint64_t now = now_ns();
  if (now < s->due_ns) return;
  s->due_ns = now + s->interval_ns;
  s->draws = true;
  if (s->message_ns && now - s->message_ns > MESSAGE_NS) s->message_ns = 0;
  if (s->frozen) return;
  top_list_refresh(s->list);
  if (!is_listed(s)) {
    if (s->is_detail) leave_detail(s);
    if (s->over == OVER_CLASSES) s->over = OVER_NOTHING;
  }
  find_chosen(s);
  s->detail.is_over = s->is_detail && s->chosen && s->chosen->gone_ns;
}

static uint64_t next_ns(const struct screen *s) {
  uint64_t next = s->due_ns;
  if (s->is_detail && !s->frozen && top_detail_due(&s->detail) < next)
    next = top_detail_due(&s->detail);
  return s->end_ns < next ? s->end_ns : next;
}

/* Waits for a key, a signal, the text of a child, or the time of the next step. */
static void wait_for_news(const struct screen *s, const sigset_t *open) {
  struct pollfd fds[2 + TOP_PARTS] = {{.fd = STDIN_FILENO, .events = POLLIN}};
  const uint64_t now = now_ns(), next = next_ns(s);
  uint64_t ns = next > now ? next - now : 0;
  nfds_t count = 1;
  bool waits = false; /* set while a child has closed its pipe and is about to end */
  for (int i = 0; i <= TOP_PARTS; i++) {
    const struct top_child *child = i < TOP_PARTS ? &s->detail.parts[i].child : &s->action;
    if (child->pid && child->fd >= 0)
      fds[count++] = (struct pollfd){.fd = child->fd, .events = POLLIN};
    waits |= child->pid && child->fd < 0;
  }
  if (waits && ns > 1000000) ns = 1000000;
  const struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000u),
                                   .tv_nsec = (long)(ns % 1000000000u)};
  ppoll(fds, count, &timeout, open);
}

/* Handles a limited number of keys at a time, so that other work continues however much
   is typed or pasted. */
static void take_keys(struct screen *s) {
  enum { MOST = 256 };
  for (int i = 0, key; i < MOST && (key = getch()) != ERR; i++) take_key(s, key);
}

/* Tells whether the terminal is gone, so that no more keys will come. */
static bool is_terminal_gone(void) {
  struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
  return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static void show(struct screen *s, const sigset_t *open) {
  while (!s->quits && !reader_is_stopped() && now_ns() < s->end_ns) {
    refresh_when_due(s);
    if (top_child_read(&s->action)) end_action(s), s->due_ns = now_ns();
    if (!s->frozen || !s->is_detail)
      s->draws |= top_detail_go_on(&s->detail, s->interval_ns) && s->is_detail;
    if (s->draws) draw(s);
    wait_for_news(s, open);
    take_keys(s);
    if (is_terminal_gone()) s->quits = true;
  }
}

/* Opens the terminal. Returns false, after a message, if it cannot move its cursor. */
static bool open_terminal(void) {
  const char *name = getenv("TERM");
  if (!top_terminal_moves() || !newterm(NULL, stdout, stdin))
    return complain("the terminal `%s' can show no screen, so this prints lines (Ctrl-C ends)",
                    name ? name : "");
  is_open = true;
  atexit(restore);
  cbreak();
  noecho();
  nonl();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(25);
  curs_set(0);
  return true;
}

int top_screen(struct top_list *list, uint64_t limit_ns) {
  static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
  const uint64_t now = now_ns();
  struct screen s = {.list = list, .interval_ns = 1000000000, .due_ns = now + LEAST_INTERVAL_NS,
                     .end_ns = limit_ns ? now + limit_ns : UINT64_MAX, .draws = true};
  sigset_t held, before;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) sigaddset(&held, ours[i]);
  reader_catch_signals(true);
  if (!open_terminal()) return STATUS_GO_ON;
  sigprocmask(SIG_BLOCK, &held, &before);
  s.detail.columns = (size_t)COLS;
  s.detail.only = -1;
  top_list_refresh(list); /* with what is known now; the processor time follows in a
                             moment */
  show(&s, &before);
  top_child_end(&s.action);
  top_detail_end(&s.detail);
  restore();
  table_set_page(0);
  sigprocmask(SIG_SETMASK, &before, NULL);
  reader_catch_signals(false);
  return list->status;
}

#endif
