/* SPDX-License-Identifier: MIT */
/* vm/repl_edit.c - lines for the prompt: edited, completed and remembered.
 *
 * At a terminal, libedit reads the lines if the program is built for it and it is
 * installed; anything else is read plainly, in lines of any length. The library is loaded
 * just before the first prompt: libedit and the libraries that it needs would be an
 * eighth of the resident memory of a program without a prompt.
 *
 * History. Each entry is appended to a file at once, so that parallel sessions do not
 * lose each other's entries, and a crash loses none. An entry is a line of the file, with
 * "\n" and "\\" for line breaks and backslashes. The file is the user's alone (mode
 * 0600). If it cannot be read or written, there is no message.
 *
 * SIGINT while a line is edited discards the line and the earlier lines of its statement.
 * The signal is blocked except while we wait for a key; its handler jumps out of the
 * wait, which then returns the end of the line. Without the jump, it would not be enough
 * to wait until the terminal is readable: with the signal, the terminal discards its
 * input, so the read after the wait may block.
 *
 * The characters typed are those of the user's locale, or UTF-8 if there is none. The C
 * locale of the program belongs to the guest and does not change: the thread uses the
 * user's locale while libedit works. (Libedit also reads the locale when it initializes
 * itself, at the first call.)
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "lua.h"
#include "program.h"

/* ---- plain lines --------------------------------------------------------- */

/* Returns a line in a block from malloc, without its line break, or NULL at the end.
 * Input that does not come from a terminal is echoed, so that the output reads like a
 * session at one. */
static char *read_plain_line(const char *prompt) {
  char *line = NULL;
  size_t capacity = 0;
  fputs(prompt, stdout);
  fflush(stdout);
  ssize_t length = getline(&line, &capacity, stdin);
  if (length < 0) {
    free(line);
    return NULL;
  }
  if (length > 0 && line[length - 1] == '\n')
    line[length - 1] = '\0';
  if (!isatty(STDIN_FILENO))
    puts(line);
  return line;
}

#ifdef HAVE_LIBEDIT
#include <dlfcn.h>
#include <editline/readline.h>

/* ---- the library --------------------------------------------------------- */

#define LIBRARY "libedit.so.2" /* the library whose interface the header describes */

/* The symbols of the library that are used, each as SYMBOL(name). */
#define SYMBOLS(SYMBOL) \
  SYMBOL(add_history) \
  SYMBOL(history_base) \
  SYMBOL(history_get) \
  SYMBOL(history_length) \
  SYMBOL(readline) \
  SYMBOL(rl_attempted_completion_function) \
  SYMBOL(rl_attempted_completion_over) \
  SYMBOL(rl_completer_word_break_characters) \
  SYMBOL(rl_completion_append_character) \
  SYMBOL(rl_completion_matches) \
  SYMBOL(rl_getc_function) \
  SYMBOL(rl_insert_text) \
  SYMBOL(rl_line_buffer) \
  SYMBOL(rl_readline_name) \
  SYMBOL(stifle_history) \
  SYMBOL(using_history)

static struct {
#define SYMBOL(name) __typeof__(name) *name;
  SYMBOLS(SYMBOL)
#undef SYMBOL
} edit;

static bool editing; /* input is a terminal, and `edit` is complete */

static bool load_library(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return false;
#define SYMBOL(name) && (edit.name = (__typeof__(edit.name))dlsym(library, #name)) != NULL
  return true SYMBOLS(SYMBOL);
#undef SYMBOL
}

/* The characters that end a word for completion: all but those of names, '.' and ':'. */
#define WORD_BREAKS " \t\n\"\\'`@$><=;|&{}()[]+-*/%^#~!?,"

/* ---- keys ---------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t waiting; /* wait_over is valid */
static sigjmp_buf wait_over;
static sigset_t mask_outside; /* signal mask while we wait for a key */

static void on_interrupt_at_prompt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
  if (waiting)
    siglongjmp(wait_over, 1);
}

/* Reads a byte with mask_outside as the signal mask; an interrupt ends the read with -1
 * and EINTR. A byte that is read at the moment of the interrupt is lost, but so is its
 * line. */
static ssize_t read_interruptibly(int fd, unsigned char *byte) {
  sigset_t blocked;
  /* the jump has restored the mask of this function */
  if (sigsetjmp(wait_over, 1) != 0) {
    waiting = 0;
    errno = EINTR;
    return -1;
  }
  waiting = 1;
  pthread_sigmask(SIG_SETMASK, &mask_outside, &blocked);
  ssize_t length = read(fd, byte, 1);
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  waiting = 0;
  errno = error;
  return length;
}

/* Returns the next byte of the terminal, -1 at the end, -2 after an interrupt. */
static int read_byte(int fd) {
  unsigned char byte;
  while (!interrupted) {
    ssize_t length = read_interruptibly(fd, &byte);
    if (length == 1)
      return byte;
    if (length == 0 || errno != EINTR)
      return -1;
  }
  return -2;
}

/* Reads a character for libedit; -1 is the end of input. */
static int read_key(FILE *input) {
  mbstate_t state = {0};
  for (;;) {
    int byte = read_byte(fileno(input));
    if (byte == -2) {
      fputs("^C", stdout);
      fflush(stdout);
      return '\n';
    }
    if (byte < 0)
      return -1;
    wchar_t character;
    char c = (char)byte;
    size_t length = mbrtowc(&character, &c, 1, &state);
    if (length == (size_t)-2)
      continue; /* more bytes belong to the character */
    if (length == (size_t)-1)
      return '?'; /* invalid in this locale */
    return (int)character;
  }
}

/* ---- locale -------------------------------------------------------------- */

static locale_t typed; /* the locale of the characters typed, or 0 */

/* Returns the user's locale; one that knows only ASCII does not count. */
static locale_t choose_locale(void) {
  locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (locale != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, locale), "ANSI_X3.4-1968") != 0)
    return locale;
  if (locale != (locale_t)0)
    freelocale(locale);
  return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Switches to the locale `typed` for calls of libedit; returns the locale to switch back
   to. */
static locale_t enter_locale(void) {
  return typed != (locale_t)0 ? uselocale(typed) : (locale_t)0;
}

static void leave_locale(locale_t usual) {
  if (typed != (locale_t)0)
    uselocale(usual);
}

/* ---- completion ---------------------------------------------------------- */

static lua_State *completing; /* the state whose globals are offered */
static char **offers;         /* the words that are not yet handed over to libedit */

static char *next_offer(const char *word, int first) {
  static char **list;
  if (first == 0)
    list = offers = repl_complete(completing, word);
  if (offers != NULL && *offers != NULL)
    return *offers++;
  free(list);
  list = offers = NULL;
  return NULL;
}

/* Handles Tab; at the start of a line it indents. */
static char **complete_line(const char *word, int start, int end) {
  (void)end;
  *edit.rl_attempted_completion_over = 1; /* no names of files */
  if (strspn(*edit.rl_line_buffer, " \t") >= (size_t)start && word[0] == '\0') {
    edit.rl_insert_text("  ");
    return NULL;
  }
  return edit.rl_completion_matches(word, next_offer);
}

/* ---- history ------------------------------------------------------------- */

/* The number of entries that are remembered. When the file has become twice as long, only
   this many are kept in it. */
#define HISTORY_LIMIT 2000

static char *history_file; /* or NULL if nothing is kept */

static void choose_history_file(void) {
  const char *chosen = secure_getenv("SAROS_HISTORY"), *home = secure_getenv("HOME");
  if (chosen != NULL)
    history_file = chosen[0] != '\0' ? strdup(chosen) : NULL;
  else if (home == NULL || asprintf(&history_file, "%s/.saros_history", home) < 0)
    history_file = NULL;
}

/* Converts an entry from the file's form to the chunk, in place. */
static void decode_entry(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0' && *from != '\n'; from++) {
    if (*from == '\\' && from[1] != '\0')
      *to++ = *++from == 'n' ? '\n' : *from;
    else
      *to++ = *from;
  }
  *to = '\0';
}

static void write_entry(FILE *file, const char *chunk) {
  for (; *chunk != '\0'; chunk++) {
    if (*chunk == '\n')
      fputs("\\n", file);
    else if (*chunk == '\\')
      fputs("\\\\", file);
    else
      putc(*chunk, file);
  }
  putc('\n', file);
}

static FILE *open_history(const char *name, int flags, const char *mode) {
  int fd = open(name, O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  FILE *file = fd >= 0 ? fdopen(fd, mode) : NULL;
  if (file == NULL && fd >= 0)
    close(fd);
  return file;
}

/* Writes the remembered entries into a new file, which replaces the old one. */
static void rewrite_history(void) {
  char *name;
  if (asprintf(&name, "%s.new", history_file) < 0)
    return;
  FILE *file = open_history(name, O_WRONLY | O_EXCL, "w");
  if (file != NULL) {
    for (int i = 0; i < *edit.history_length; i++)
      write_entry(file, edit.history_get(*edit.history_base + i)->line);
    bool complete = !ferror(file);
    if (fclose(file) != 0 || !complete || rename(name, history_file) != 0)
      unlink(name);
  }
  free(name);
}

static void load_history(void) {
  char *line = NULL;
  size_t capacity = 0;
  int entries = 0;
  edit.using_history();
  edit.stifle_history(HISTORY_LIMIT);
  choose_history_file();
  FILE *file = history_file != NULL ? fopen(history_file, "re") : NULL;
  if (file == NULL)
    return;
  for (; getline(&line, &capacity, file) > 0; entries++) {
    decode_entry(line);
    edit.add_history(line);
  }
  free(line);
  fclose(file);
  if (entries > 2 * HISTORY_LIMIT)
    rewrite_history();
}

static void save_entry(const char *chunk) {
  FILE *file = open_history(history_file, O_WRONLY | O_APPEND, "a");
  if (file == NULL)
    return;
  write_entry(file, chunk);
  fclose(file);
}

static bool repeats_last_entry(const char *chunk) {
  const HIST_ENTRY *last = *edit.history_length > 0
    ? edit.history_get(*edit.history_base + *edit.history_length - 1) : NULL;
  return last != NULL && strcmp(last->line, chunk) == 0;
}

/* ---- lines --------------------------------------------------------------- */

static char *edit_line(const char *prompt, bool *discarded) {
  struct sigaction handler = {.sa_handler = on_interrupt_at_prompt}, before;
  sigset_t blocked;
  sigemptyset(&handler.sa_mask);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_outside);
  sigaction(SIGINT, &handler, &before);
  interrupted = 0;
  locale_t usual = enter_locale();
  char *line = edit.readline(prompt);
  leave_locale(usual);
  *discarded = interrupted != 0;
  sigaction(SIGINT, &before, NULL);
  pthread_sigmask(SIG_SETMASK, &mask_outside, NULL);
  return line;
}

void repl_edit_start(lua_State *L) {
  completing = L;
  editing = isatty(STDIN_FILENO) && load_library();
  if (!editing)
    return;
  *edit.rl_readline_name = "saros";
  *edit.rl_getc_function = read_key;
  *edit.rl_completer_word_break_characters = WORD_BREAKS;
  *edit.rl_attempted_completion_function = complete_line;
  *edit.rl_completion_append_character = '\0';
  typed = choose_locale();
  locale_t usual = enter_locale();
  load_history();
  leave_locale(usual);
}

char *repl_edit_read(const char *prompt, bool *discarded) {
  *discarded = false;
  return editing ? edit_line(prompt, discarded) : read_plain_line(prompt);
}

void repl_edit_remember(const char *chunk) {
  if (chunk[0] == '\0' || !editing || repeats_last_entry(chunk))
    return;
  edit.add_history(chunk);
  if (history_file != NULL)
    save_entry(chunk);
}

#else

void repl_edit_start(lua_State *L) { (void)L; }

char *repl_edit_read(const char *prompt, bool *discarded) {
  *discarded = false;
  return read_plain_line(prompt);
}

void repl_edit_remember(const char *chunk) { (void)chunk; }

#endif
