/* SPDX-License-Identifier: MIT */
/* vm/main.c - the `saros` command: the stand-alone interpreter.
 *
 * Takes the options of the stand-alone Lua 5.4 interpreter (reference manual, chapter 7)
 * and --disassemble. The command line is first read as a whole, without a state; then
 * everything that touches the state runs inside one protected call, run_program.
 *
 * Exit status: 0, or 1 if an option is wrong, or if a chunk of the command line, the
 * script or the initialization failed. As in Lua, an error of a script that is read from
 * standard input without "-" does not count.
 *
 * Order: the recording starts, the state is made, the program runs, the state is closed,
 * and the last of the other domains ends. Then libeventring's exit handler ends the
 * recording. The handler knows the exit status also if os.exit ends the process. SIGTERM,
 * SIGHUP and SIGINT end the process in order, too (on_termination); the recording is then
 * kept as after an error. An error that ends the program is noted in the recording before
 * finalizers run, and a fatal signal before it ends the process (on_fatal_signal).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call_profile.h"
#include "disasm.h"
#include "domain.h"
#include "environment.h"
#include "eventring.h"
#include "eventring/stack.h"
#include "last_stack.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "peer.h"
#include "probes.h"
#include "program.h"
#include "thread.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1.0"
#endif

#define INIT_VARIABLE "LUA_INIT"

/* ------------------------------------------------------------- messages -- */

void program_message(const char *name, const char *message) {
  fflush(stdout);
  if (name != NULL)
    fprintf(stderr, "%s: ", name);
  fprintf(stderr, "%s\n", message);
  fflush(stderr);
}

static const char *error_text(lua_State *L) {
  const char *message = lua_tostring(L, -1);
  return message != NULL ? message : "(error message not a string)";
}

int program_report(lua_State *L, const char *name, int status) {
  if (status != LUA_OK) {
    program_message(name, error_text(L));
    lua_pop(L, 1);
  }
  return status;
}

/* Prints the name of the language and its authors: other programs search the line for
   these. */
void program_print_version(void) {
  printf("Saros %s (%s)  Lua is a language of Lua.org, PUC-Rio\n", PACKAGE_VERSION, LUA_VERSION);
  fflush(stdout);
}

static void print_options(FILE *out, const char *name) {
  fprintf(out,
          "usage: %s [options] [script [args]]\n"
          "Available options are:\n"
          "  -e stat   execute string 'stat'\n"
          "  -i        enter interactive mode after executing 'script'\n"
          "  -l mod    require library 'mod' into global 'mod'\n"
          "  -l g=mod  require library 'mod' into global 'g'\n"
          "  -v        show version information (also --version)\n"
          "  -E        ignore environment variables\n"
          "  -W        turn warnings on\n"
          "  --        stop handling options\n"
          "  -         stop handling options and execute stdin\n"
          "  -h        show this text (also --help)\n"
          "  --disassemble file  print the bytecode of 'file'\n"
          "  --compile [options] [files]  compile, as sarosc does\n",
          name);
}

/* Prints the options, also those beyond the reference's, and a hint about recordings: for
   --help. */
static void print_help(const char *name) {
  print_options(stdout, name);
  puts("\n"
       "SAROS_EVENTRING_START=1 in the environment records the program into the file\n"
       "PID.eventring, which `eventring stats PID' and other commands read, while it runs\n"
       "or afterwards (`eventring --help'). saros(1) has all variables.");
}

/* Prints the usage. `option` is the option that is wrong. */
static void print_usage(const char *name, const char *option) {
  char message[256];
  bool lacks_argument = option[1] == 'e' || option[1] == 'l' ||
                        strcmp(option, "--disassemble") == 0;
  snprintf(message, sizeof message,
           lacks_argument ? "'%s' needs argument" : "unrecognized option '%s'",
           option);
  program_message(name, message);
  print_options(stderr, name);
}

/* --------------------------------------------------------- command line -- */

typedef struct CommandLine {
  char **argv;
  int argc;
  const char *name;       /* name of this program, for messages */
  const char *wrong;      /* the option that is wrong, or NULL */
  const char *disassemble; /* file to disassemble, or NULL */
  int script;             /* index of the script; argc if there is none */
  bool interactive;       /* -i */
  bool show_version;      /* -v, or -i */
  bool show_help;         /* -h, --help; nothing is run in this case */
  bool only_version;      /* --version; nothing is run in this case */
  bool has_chunks;        /* -e */
  bool ignore_environment; /* -E */
} CommandLine;

/* Reads the option at index `i`. Returns the index of the last argument that it takes, or
 * -1 if it is wrong. */
static int read_option(CommandLine *line, int i) {
  const char *option = line->argv[i];
  bool alone = option[2] == '\0';
  switch (option[1]) {
    case 'E': line->ignore_environment = true; return alone ? i : -1;
    case 'W': return alone ? i : -1;
    case 'h': line->show_help = alone; return alone ? i : -1;
    case 'i': line->interactive = true; /* fall through */
    case 'v': line->show_version = true; return alone ? i : -1;
    case 'e': line->has_chunks = true; /* fall through */
    case 'l':
      if (!alone)
        return i;
      if (i + 1 >= line->argc || line->argv[i + 1][0] == '-')
        return -1;
      return i + 1;
    default: return -1;
  }
}

/* Reads the long option at index `i`; "--disassemble" takes the next argument. Nothing is
   read behind a long option. Returns false if the option is wrong. */
static bool read_long_option(CommandLine *line, int i) {
  const char *option = line->argv[i];
  line->show_help = line->show_help || strcmp(option, "--help") == 0;
  line->only_version = strcmp(option, "--version") == 0;
  if (line->show_help || line->only_version)
    return true;
  if (strcmp(option, "--disassemble") != 0 || i + 1 >= line->argc)
    return false;
  line->disassemble = line->argv[i + 1];
  return true;
}

static CommandLine read_command_line(int argc, char **argv) {
  CommandLine line = {.argv = argv, .argc = argc, .name = "saros",
                      .script = argc};
  if (argc > 0 && argv[0][0] != '\0')
    line.name = argv[0];
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i];
    if (argument[0] != '-' || argument[1] == '\0') { /* a file, or stdin */
      line.script = i;
      return line;
    }
    if (strcmp(argument, "--") == 0) {
      line.script = i + 1;
      return line;
    }
    if (argument[1] == '-') {
      if (!read_long_option(&line, i))
        line.wrong = argument;
      return line;
    }
    i = read_option(&line, i);
    if (i < 0) {
      line.wrong = argument;
      return line;
    }
  }
  return line;
}

/* Sets the global `arg`: the script at 0, its arguments from 1 on, the rest below. */
static void make_arg_table(lua_State *L, const CommandLine *line) {
  int zero = line->script < line->argc ? line->script : 0;
  int count = line->argc - (zero + 1);
  lua_createtable(L, count > 0 ? count : 0, zero + 1);
  for (int i = 0; i < line->argc; i++) {
    lua_pushstring(L, line->argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

/* ------------------------------------------------------ protected calls -- */

/* SIGINT becomes an error of the Lua code that the main domain runs or in which it waits.
 * The handler makes a request to the domain (runtime/peer.h). Other domains' threads
 * block the signal. */

static Domain *interruptible; /* written before the handler is set */

static void set_handler(int signal_number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, NULL);
}

#define TERMINATION_PATIENCE 300 /* ms, for domains to end */

/* Ends the domains, closes the recording, and then ends the process by this signal, which
 * its parent sees. Domains cannot end if the main thread was interrupted while it held
 * the mutex of libeventring. */
static void on_termination(int signal_number) {
  if (eventring_defer_signal(signal_number)) return;
  peer_cancel_all_in_handler();
  peer_wait_in_handler(TERMINATION_PATIENCE);
  probes_stop_in_handler(signal_number);
  signal(signal_number, SIG_DFL);
  raise(signal_number); /* delivered when the handler has returned */
}

/* Sets the handler of the signals that mean an end and not a crash. A signal that the
 * parent has switched off stays off. */
static void set_termination_handlers(void) {
  static const int signals[] = {SIGTERM, SIGHUP, SIGINT};
  struct sigaction now;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
      set_handler(signals[i], on_termination);
}

/* Notes the signal in the recording, and ends the process as it would end without this
 * handler: the same signal with the same information is delivered again, for the default
 * action, when the handler has returned. So a core dump shows where the signal struck. */
static void on_fatal_signal(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  probes_note_signal(signal_number);
  signal(signal_number, SIG_DFL);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal_number, info) != 0)
    raise(signal_number);
}

/* Sets the handler of the signals that end a process by default and are not an orderly
 * end; for programs that are recorded. libeventring must catch SIGBUS first
 * (eventring_repair_fault), so this is done before the recording is started. A C library
 * that catches such a signal replaces this handler, as it would replace the default
 * action. A thread that has overrun its stack dies without being noted. */
static void set_fatal_handlers(void) {
  static const int signals[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                                SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2,
                                SIGXCPU, SIGXFSZ, SIGSYS};
  struct sigaction now, action = {.sa_sigaction = on_fatal_signal,
                                  .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (sigaction(signals[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL)
      sigaction(signals[i], &action, NULL);
}

/* whether SIGINT has come during the present protected call */
static volatile sig_atomic_t interrupted;

/* Handles SIGINT: requests the interruption of the domain. A second SIGINT ends the
   process. */
static void on_interrupt(int signal_number) {
  set_handler(signal_number, on_termination);
  interrupted = 1;
  peer_ask_in_handler(interruptible->peer, ATTENTION_INTERRUPT);
}

/* Handles an error: adds a traceback to a string; other values become the text that their
 * __tostring returns, or a text that names their type. */
static int add_traceback(lua_State *L) {
  peer_obey_stop(L->domain->peer);
  last_stack_note(L->domain, EVENTRING_STACK_ERROR, 0);
  const char *message = lua_tostring(L, 1);
  if (message == NULL) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
      return 1;
    message = lua_pushfstring(L, "(error object is a %s value)",
                              luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

int program_call(lua_State *L, int nargs, int nresults) {
  int handler = lua_gettop(L) - nargs;
  lua_pushcfunction(L, add_traceback);
  lua_insert(L, handler);
  interruptible = L->domain;
  interrupted = 0;
  set_handler(SIGINT, on_interrupt);
  int status = lua_pcall(L, nargs, nresults, handler);
  set_handler(SIGINT, on_termination);
  /* the request came too late for this call */
  peer_withdraw(interruptible->peer, ATTENTION_INTERRUPT);
  lua_remove(L, handler);
  return status;
}

/* Reports an error that ends the program, in the recording too. An error that a SIGINT
 * has raised is an orderly end. */
static int report_end(lua_State *L, const CommandLine *line, int status) {
  if (status != LUA_OK) {
    peer_obey_stop(L->domain->peer);
    const char *text = error_text(L);
    if (interrupted && strstr(text, INTERRUPTED_TEXT) != NULL)
      probes_note_signal(SIGINT);
    else
      probes_note_error(text);
  }
  return program_report(L, line->name, status);
}

/* --------------------------------------------------------------- chunks -- */

/* Runs the chunk on top, if it was loaded, and reports a failure. */
static int run_chunk(lua_State *L, const CommandLine *line, int status) {
  if (status == LUA_OK)
    status = program_call(L, 0, 0);
  return report_end(L, line, status);
}

static int run_file(lua_State *L, const CommandLine *line,
                    const char *filename) {
  return run_chunk(L, line, luaL_loadfile(L, filename));
}

static int run_text(lua_State *L, const CommandLine *line, const char *text,
                    const char *chunkname) {
  return run_chunk(L, line,
                   luaL_loadbuffer(L, text, strlen(text), chunkname));
}

/* Runs option -l: "mod" or "name=mod". A version mark ("mod-v2") is not part of the
 * global's name. */
static int run_library_option(lua_State *L, const CommandLine *line,
                              const char *text) {
  const char *equals = strchr(text, '=');
  const char *module = equals != NULL ? equals + 1 : text;
  size_t length = equals != NULL ? (size_t)(equals - text) : strcspn(text, "-");
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  int status = program_call(L, 1, 1);
  if (status == LUA_OK) {
    const char *global = lua_pushlstring(L, text, length);
    lua_insert(L, -2);
    lua_setglobal(L, global);
    lua_pop(L, 1);
  }
  return report_end(L, line, status);
}

/* Runs the options -e and -l, and -W, in their order. Stops at the first that fails. */
static int run_options(lua_State *L, const CommandLine *line) {
  int end = line->script;
  for (int i = 1; i < end; i++) {
    const char *option = line->argv[i];
    char letter = option[1];
    if (letter == 'W') {
      lua_warning(L, "@on", 0);
    } else if (letter == 'e' || letter == 'l') {
      const char *text = option[2] != '\0' ? option + 2 : line->argv[++i];
      int status = letter == 'e'
        ? run_text(L, line, text, "=(command line)")
        : run_library_option(L, line, text);
      if (status != LUA_OK)
        return status;
    }
  }
  return LUA_OK;
}

/* Runs the text or "@file" that the environment gives. */
static int run_initialization(lua_State *L, const CommandLine *line) {
  const char *chunkname = "=" INIT_VARIABLE LUA_VERSUFFIX;
  const char *text = secure_getenv(chunkname + 1);
  if (text == NULL) {
    chunkname = "=" INIT_VARIABLE;
    text = secure_getenv(chunkname + 1);
  }
  if (text == NULL)
    return LUA_OK;
  if (text[0] == '@')
    return run_file(L, line, text + 1);
  return run_text(L, line, text, chunkname);
}

/* Pushes the elements of global `arg` from 1 on; returns their number. */
static int push_script_arguments(lua_State *L) {
  if (lua_getglobal(L, "arg") != LUA_TTABLE)
    luaL_error(L, "'arg' is not a table");
  int count = (int)luaL_len(L, -1);
  luaL_checkstack(L, count + 3, "too many arguments to script");
  for (int i = 1; i <= count; i++)
    lua_rawgeti(L, -i, i);
  lua_remove(L, -(count + 1));
  return count;
}

/* Runs the script. "-" is standard input, unless it comes after "--". */
static int run_script(lua_State *L, const CommandLine *line) {
  const char *filename = line->argv[line->script];
  if (strcmp(filename, "-") == 0 &&
      strcmp(line->argv[line->script - 1], "--") != 0)
    filename = NULL;
  int status = luaL_loadfile(L, filename);
  if (status == LUA_OK) {
    int count = push_script_arguments(L);
    status = program_call(L, count, LUA_MULTRET);
  }
  return report_end(L, line, status);
}

static int disassemble_file(lua_State *L, const CommandLine *line) {
  const char *filename = line->disassemble;
  int status =
    luaL_loadfile(L, strcmp(filename, "-") == 0 ? NULL : filename);
  if (status != LUA_OK)
    return report_end(L, line, status);
  const LuaClosure *function = lua_topointer(L, -1);
  disassemble(stdout, function->p, true);
  lua_pop(L, 1);
  if (fflush(stdout) == 0 && !ferror(stdout))
    return LUA_OK;
  program_message(line->name, "cannot write the disassembly");
  return LUA_ERRRUN;
}

/* ---------------------------------------------------------- the program -- */

static void prepare_state(lua_State *L, const CommandLine *line) {
  luaL_checkversion(L);
  if (line->ignore_environment) {
    lua_pushboolean(L, 1); /* the libraries check this */
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  luaL_openlibs(L);
  make_arg_table(L, line);
  lua_gc(L, LUA_GCRESTART);
  lua_gc(L, LUA_GCGEN, 0, 0);
}

/* Runs the main part, after the options: the script, or standard input. */
static bool run_main_part(lua_State *L, const CommandLine *line) {
  bool has_script = line->script < line->argc;
  if (has_script && run_script(L, line) != LUA_OK)
    return false;
  if (line->interactive) {
    repl_run(L);
  } else if (!has_script && !line->has_chunks && !line->show_version) {
    if (isatty(STDIN_FILENO)) {
      program_print_version();
      repl_run(L);
    } else {
      run_file(L, line, NULL);
    }
  }
  return true;
}

/* Runs the program in protected mode. Its argument is the command line, its result
 * whether all went well. */
static int run_program(lua_State *L) {
  const CommandLine *line = lua_touserdata(L, 1);
  bool ok;
  if (line->show_version)
    program_print_version();
  prepare_state(L, line);
  if (line->disassemble != NULL)
    ok = disassemble_file(L, line) == LUA_OK;
  else
    ok = (line->ignore_environment ||
          run_initialization(L, line) == LUA_OK) &&
         run_options(L, line) == LUA_OK && run_main_part(L, line);
  lua_pushboolean(L, ok);
  return 1;
}

static int run_in_new_state(CommandLine *line) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    static const char text[] = "cannot create state: not enough memory";
    probes_note_error(text);
    program_message(line->name, text);
    return EXIT_FAILURE;
  }
  lua_gc(L, LUA_GCSTOP); /* until the libraries are there */
  lua_pushcfunction(L, run_program);
  lua_pushlightuserdata(L, line);
  int status = lua_pcall(L, 1, 1, 0);
  bool ok = status == LUA_OK && lua_toboolean(L, -1);
  report_end(L, line, status);
  peer_begin_end(!ok);
  lua_close(L);
  peer_end_all(!ok); /* a program that failed does not wait for its domains */
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ------------------------------------------------------------ recording -- */

static void start_recording(const CommandLine *line) {
  probes_begin(line->script < line->argc ? line->argv[line->script] : line->name, line->name);
}

static void check_hash_seed(const CommandLine *line) {
  uint64_t seed;
  if (domain_fixed_seed(&seed) == HASH_SEED_INVALID)
    fprintf(stderr, "%s: warning: SAROS_HASH_SEED is not a number below 2^64; the seed is random\n",
            line->name);
}

/* bytes of addresses that malloc reserves for an arena, on 64-bit systems */
#define ARENA_ADDRESSES ((rlim_t)64 << 20)
#define ARENAS_SHARE 8 /* arenas get at most 1 / ARENAS_SHARE of all addresses */

/* Limits the number of malloc's arenas. Each thread that allocates gets one: a few
 * domains would take all the addresses that a limit leaves (ulimit -v). The environment
 * may override this. */
static void limit_arenas(void) {
#ifdef M_ARENA_MAX
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      getenv("MALLOC_ARENA_MAX") != NULL)
    return;
  rlim_t arenas = limit.rlim_cur / ARENAS_SHARE / ARENA_ADDRESSES;
  if (arenas < INT_MAX)
    mallopt(M_ARENA_MAX, arenas > 0 ? (int)arenas : 1);
#endif
}

/* Prints the text of --help or --version. Returns the exit status; a text that cannot be
 * written is an error. */
static int show_and_end(const CommandLine *line) {
  if (line->show_help)
    print_help(line->name);
  else
    program_print_version();
  if (fflush(stdout) == 0 && !ferror(stdout))
    return EXIT_SUCCESS;
  program_message(line->name, "cannot write to standard output");
  return EXIT_FAILURE;
}

/* Returns how many arguments precede the arguments of the compiler, or 0 if the compiler
 * is not called. It is called if the program's name is sarosc (or luac5.4, its name with
 * --with-lua-names), or if --compile is the first argument. */
static int compiler_arguments(int argc, char **argv) {
  if (argc == 0) return 0;
  const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
  if (strcmp(name, "sarosc") == 0 || strcmp(name, "luac5.4") == 0) return 1;
  return argc > 1 && strcmp(argv[1], "--compile") == 0 ? 2 : 0;
}

int main(int argc, char **argv) {
  int skip = compiler_arguments(argc, argv);
  if (skip > 0) return program_compile(argc - skip, argv + skip, argv[0]);
  CommandLine line = read_command_line(argc, argv);
  if (line.wrong != NULL) {
    print_usage(line.name, line.wrong);
    return EXIT_FAILURE;
  }
  if (line.show_help || line.only_version)
    return show_and_end(&line);
  check_hash_seed(&line);
  warn_of_variables(line.name);
  limit_arenas();
  set_termination_handlers();
  probes_before_start = set_fatal_handlers;
  call_profile_begin_process(line.name);
  start_recording(&line);
  return run_in_new_state(&line);
}
