/* SPDX-License-Identifier: MIT */
/* vm/sarosc.c - `sarosc`, also `saros --compile`: the compiler by itself, with the
 * options of the reference's luac.
 *
 * All files are loaded first, so that nothing is written if one of them is wrong. Several
 * files become one chunk: a main function that calls empty functions in turn is compiled,
 * and the empty functions are then replaced with the main functions of the files. Nothing
 * is collected during this.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "disasm.h"
#include "lauxlib.h"
#include "object.h"
#include "program.h"

#define DEFAULT_OUTPUT "luac.out"
#define CALL_ONE "(function()end)();"

typedef struct Options {
  const char *name;    /* name of the program, for messages */
  const char *output;  /* "-": standard output */
  bool list, parse_only, strip, show_version, show_help;
  const char *wrong;   /* the first word that is not an option, or lacks its argument */
  char **files;
  int count;
} Options;

static void print_usage(FILE *out, const char *name) {
  fprintf(out,
          "usage: %s [options] [filenames]\n"
          "Available options are:\n"
          "  -l       list the bytecode\n"
          "  -o name  output to file 'name' (default is \"" DEFAULT_OUTPUT "\")\n"
          "  -p       parse only\n"
          "  -s       strip debug information\n"
          "  -v       show version information (also --version)\n"
          "  --       stop handling options\n"
          "  -        stop handling options and process stdin\n"
          "  -h       show this text (also --help)\n",
          name);
}

/* Reads the option at index `i`. Returns the index of the last argument that it takes. */
static int read_option(Options *o, char **argv, int argc, int i) {
  const char *option = argv[i];
  if (strcmp(option, "-l") == 0) o->list = true;
  else if (strcmp(option, "-p") == 0) o->parse_only = true;
  else if (strcmp(option, "-s") == 0) o->strip = true;
  else if (strcmp(option, "-v") == 0 || strcmp(option, "--version") == 0) o->show_version = true;
  else if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0) o->show_help = true;
  else if (strcmp(option, "-o") == 0 && i + 1 < argc && argv[i + 1][0] != '\0' &&
           (argv[i + 1][0] != '-' || argv[i + 1][1] == '\0'))
    o->output = argv[++i];
  else
    o->wrong = option;
  return i;
}

static Options read_options(int argc, char **argv, const char *name) {
  Options o = {.name = name, .output = DEFAULT_OUTPUT};
  int i = 0;
  for (; i < argc && o.wrong == NULL && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    if (strcmp(argv[i], "--") == 0) {
      i++;
      break;
    }
    i = read_option(&o, argv, argc, i);
  }
  o.files = argv + i;
  o.count = argc - i;
  return o;
}

/* ------------------------------------------------------------ compiling -- */

static Prototype *prototype_at(lua_State *L, int index) {
  return ((const LuaClosure *)lua_topointer(L, index))->p;
}

/* Replaces the main functions of `count` files on the stack with one that calls each. */
static void combine(lua_State *L, int count) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (int i = 0; i < count; i++) luaL_addstring(&text, CALL_ONE);
  luaL_pushresult(&text);
  size_t size;
  const char *calls = lua_tolstring(L, -1, &size);
  if (luaL_loadbufferx(L, calls, size, "=(sarosc)", "t") != LUA_OK) lua_error(L);
  Prototype *main = prototype_at(L, -1);
  for (int i = 0; i < count; i++) {
    Prototype *one = prototype_at(L, i - count - 2);
    main->p[i] = one;
    /* _ENV: the main function has it as its first upvalue, too */
    if (one->nupvalues > 0) {
      one->upvalues[0].in_stack = 0;
      one->upvalues[0].index = 0;
    }
  }
}

static int write_piece(lua_State *L, const void *piece, size_t size, void *file) {
  (void)L;
  return size > 0 && fwrite(piece, size, 1, file) != 1;
}

static void fail_to_write(lua_State *L, const char *what, const Options *o) {
  luaL_error(L, "cannot %s %s: %s", what, o->output, strerror(errno));
}

static bool is_plain_file(const char *name) {
  struct stat is;
  return lstat(name, &is) == 0 && S_ISREG(is.st_mode);
}

/* Writes the chunk; removes a file that could not be written completely. */
static void write_chunk(lua_State *L, const Options *o) {
  bool to_stdout = strcmp(o->output, "-") == 0;
  FILE *file = to_stdout ? stdout : fopen(o->output, "wb");
  if (file == NULL) fail_to_write(L, "open", o);
  int failed = lua_dump(L, write_piece, file, o->strip) != 0 || fflush(file) != 0;
  int error = errno;
  if (!to_stdout) {
    failed |= fclose(file) != 0;
    if (failed && is_plain_file(o->output)) remove(o->output);
  }
  if (!failed) return;
  errno = error;
  fail_to_write(L, "write", o);
}

/* Compiles the files, in protected mode; its argument is the options. */
static int compile(lua_State *L) {
  const Options *o = lua_touserdata(L, 1);
  lua_settop(L, 0);
  luaL_checkstack(L, o->count + LUA_MINSTACK, "too many input files");
  for (int i = 0; i < o->count; i++) {
    const char *file = strcmp(o->files[i], "-") == 0 ? NULL : o->files[i];
    if (luaL_loadfile(L, file) != LUA_OK) return lua_error(L);
  }
  if (o->count > 1) combine(L, o->count);
  if (o->list) disassemble(stdout, prototype_at(L, -1), true);
  if (!o->parse_only) write_chunk(L, o);
  return 0;
}

static int run(const Options *o) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    program_message(o->name, "cannot create state: not enough memory");
    return EXIT_FAILURE;
  }
  lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, compile);
  lua_pushlightuserdata(L, (void *)o);
  int status = program_report(L, o->name, lua_pcall(L, 1, 0, 0));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int flush_output(const Options *o, int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  program_message(o->name, "cannot write to standard output");
  return EXIT_FAILURE;
}

int program_compile(int argc, char **argv, const char *name) {
  Options o = read_options(argc, argv, name);
  if (o.show_help) {
    print_usage(stdout, name);
    return flush_output(&o, EXIT_SUCCESS);
  }
  if (o.show_version) program_print_version();
  if (o.wrong == NULL && o.count == 0 && !o.show_version) {
    program_message(name, "no input files given");
    print_usage(stderr, name);
    return EXIT_FAILURE;
  }
  if (o.wrong != NULL) {
    char message[256];
    snprintf(message, sizeof message, strcmp(o.wrong, "-o") == 0 ? "'%s' needs argument"
                                                                  : "unrecognized option '%s'",
             o.wrong);
    program_message(name, message);
    print_usage(stderr, name);
    return EXIT_FAILURE;
  }
  return flush_output(&o, o.count > 0 ? run(&o) : EXIT_SUCCESS);
}
