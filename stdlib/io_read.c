/* SPDX-License-Identifier: MIT */
/* stdlib/io_read.c: reading one item of a file, for io.read, file:read and lines.
 *
 * Each of the read_ functions pushes what it read and returns whether it succeeded; what
 * it pushes when it fails is ignored. */
#define LUA_LIB

#include "arguments.h"
#include "io_file.h"
#include "io_span.h"
#include "object.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Longest numeral that is read. */
enum { NUMERAL_MAX = 200 };

/* A numeral that is being read. `c` is the next character of the file. */
typedef struct Numeral {
  FILE *file;
  int c;
  int length;
  char text[NUMERAL_MAX + 1];
} Numeral;

/* Takes `c` into the text. A numeral that gets too long is made invalid, and takes
 * nothing more. */
static int take_char(Numeral *num) {
  if (l_unlikely(num->length >= NUMERAL_MAX)) {
    num->text[0] = '\0';
    return 0;
  }
  num->text[num->length++] = (char)num->c;
  num->c = getc_unlocked(num->file);
  return 1;
}

/* Takes the next character if it is a or b. */
static int take_either(Numeral *num, char a, char b) {
  return (num->c == a || num->c == b) && take_char(num);
}

static int take_digits(Numeral *num, int hexadecimal) {
  int count = 0;
  while (((unsigned)num->c - '0' < 10 || (hexadecimal && isxdigit(num->c))) && take_char(num))
    count++;
  return count;
}

/* Takes the longest run that could begin a numeral; the conversion that follows decides
 * whether it is one. */
static void take_numeral(Numeral *num) {
  int hexadecimal = 0, digits = 0;
  take_either(num, '-', '+');
  if (take_either(num, '0', '0')) {
    if (take_either(num, 'x', 'X'))
      hexadecimal = 1;
    else
      digits = 1;
  }
  digits += take_digits(num, hexadecimal);
  if (num->c != '\n' && num->c != ' ' &&
      (take_either(num, '.', '.') || take_either(num, lua_getlocaledecpoint(), '.')))
    digits += take_digits(num, hexadecimal);
  if (digits > 0 && (hexadecimal ? take_either(num, 'p', 'P')
                                 : take_either(num, 'e', 'E'))) {
    take_either(num, '-', '+');
    take_digits(num, 0);
  }
}

static int read_number(lua_State *L, const luaL_Stream *handle) {
  FILE *f = open_stream(L, handle);
  Numeral num = {.file = f};
  size_t spaces = 0;
  bool recorded = PROBE_ENABLED(L->domain, READ);
  if (recorded)
    io_read_begins(L->domain, f);
  flockfile(f);
  while (isspace(num.c = getc_unlocked(f)))
    spaces++;
  take_numeral(&num);
  ungetc(num.c, f);
  funlockfile(f);
  if (recorded)
    io_read_ends(L->domain, spaces + (size_t)num.length);
  num.text[num.length] = '\0';
  if (l_likely(lua_stringtonumber(L, num.text) != 0))
    return 1;
  lua_pushnil(L);
  return 0;
}

/* Reads nothing; succeeds unless the file is at its end. */
static int read_nothing(lua_State *L, const luaL_Stream *handle) {
  FILE *f = open_stream(L, handle);
  bool recorded = PROBE_ENABLED(L->domain, READ);
  if (recorded)
    io_read_begins(L->domain, f);
  int c = getc(f);
  ungetc(c, f);
  if (recorded)
    io_read_ends(L->domain, 0);
  lua_pushliteral(L, "");
  return c != EOF;
}

/* Returns the number of bytes that the C library has read ahead of the stream, which is
 * locked. (getc_unlocked reads the same pointers in place.) */
#ifdef __GLIBC__
static inline size_t bytes_ahead(const FILE *f) {
  return f->_IO_read_ptr < f->_IO_read_end ? (size_t)(f->_IO_read_end - f->_IO_read_ptr) : 0;
}
#define AHEAD(f) ((f)->_IO_read_ptr)
#define PASS(f, n) ((f)->_IO_read_ptr += (n))
#else
#define bytes_ahead(f) ((size_t)0)
#define AHEAD(f) ""
#define PASS(f, n) ((void)(n))
#endif

/* Reads up to `space` characters of a line into `out`. Returns their number; `*last` is
 * the character that ended the run: a line break, EOF, or neither when space ran out. */
ALWAYS_INLINE size_t take_line_part(FILE *f, char *out, size_t space, int *last) {
  size_t n = 0, ahead;
  int c = 0;
  flockfile(f);
  while (n < space) {
    if ((ahead = bytes_ahead(f)) > 0) {
      if (ahead > space - n) ahead = space - n;
      const char *line_break = memchr(AHEAD(f), '\n', ahead);
      size_t taken = line_break != NULL ? (size_t)(line_break - AHEAD(f)) : ahead;
      memcpy(out + n, AHEAD(f), taken);
      n += taken;
      PASS(f, taken + (line_break != NULL));
      if (line_break != NULL) {
        c = '\n';
        break;
      }
    } else {
      if ((c = getc_unlocked(f)) == EOF || c == '\n') break;
      out[n++] = (char)c;
    }
  }
  funlockfile(f);
  *last = c;
  return n;
}

COLD static size_t record_line_part(Domain *d, FILE *f, char *out, size_t space, int *last) {
  io_read_begins(d, f);
  size_t n = take_line_part(f, out, space, last);
  io_read_ends(d, n + (*last == '\n'));
  return n;
}

static size_t read_line_part(lua_State *L, FILE *f, char *out, size_t space, int *last) {
  return likely(!PROBE_ENABLED(L->domain, READ))
             ? take_line_part(f, out, space, last)
             : record_line_part(L->domain, f, out, space, last);
}

/* Reads a line whose first `n` characters, in `first`, have been read. */
static int read_long_line(lua_State *L, const luaL_Stream *handle, const char *first, size_t n,
                          int keep_break) {
  luaL_Buffer B;
  int last;
  luaL_buffinitsize(L, &B, 4 * n);
  luaL_addlstring(&B, first, n);
  do {
    char *out = luaL_prepbuffer(&B);
    size_t space = B.size - B.n;
    FILE *f = open_stream(L, handle);
    luaL_addsize(&B, read_line_part(L, f, out, space, &last));
  } while (last != EOF && last != '\n');
  if (keep_break && last == '\n')
    luaL_addchar(&B, '\n');
  luaL_pushresult(&B);
  return 1;
}

static int read_line(lua_State *L, const luaL_Stream *handle, int keep_break) {
  char line[LUAL_BUFFERSIZE + 1];
  int last;
  size_t n = read_line_part(L, open_stream(L, handle), line, LUAL_BUFFERSIZE, &last);
  if (last != EOF && last != '\n')
    return read_long_line(L, handle, line, n, keep_break);
  int is_line = last == '\n' || n > 0;
  if (keep_break && last == '\n')
    line[n++] = '\n';
  result_string(L, line, n);
  return is_line;
}

/* Takes `count` bytes if they were read ahead. */
ALWAYS_INLINE int take_ahead(FILE *f, char *out, size_t count) {
  flockfile(f);
  int taken = bytes_ahead(f) >= count;
  if (taken) {
    memcpy(out, AHEAD(f), count);
    PASS(f, count);
  }
  funlockfile(f);
  return taken;
}

ALWAYS_INLINE size_t take_bytes(FILE *f, char *out, size_t count) {
  return take_ahead(f, out, count) ? count : fread(out, 1, count, f);
}

COLD static size_t record_bytes(Domain *d, FILE *f, char *out, size_t count) {
  io_read_begins(d, f);
  size_t n = take_bytes(f, out, count);
  io_read_ends(d, n);
  return n;
}

/* Reads up to `count` bytes into `out` and returns their number. */
ALWAYS_INLINE size_t read_bytes(lua_State *L, const luaL_Stream *handle, char *out, size_t count) {
  FILE *f = open_stream(L, handle);
  return likely(!PROBE_ENABLED(L->domain, READ)) ? take_bytes(f, out, count)
                                                 : record_bytes(L->domain, f, out, count);
}

/* Returns the number of bytes from the file's position to its end, or 0 if it is not
 * known. */
static size_t bytes_left(FILE *f) {
  struct stat status;
  if (fstat(fileno(f), &status) != 0 || !S_ISREG(status.st_mode))
    return 0;
  off_t position = ftello(f);
  return position >= 0 && position < status.st_size
           ? (size_t)(status.st_size - position) : 0;
}

/* Reads to the end of the file, and puts the bytes in `first` before what it reads. */
static void read_to_end(lua_State *L, const luaL_Stream *handle, const char *first,
                        size_t first_n) {
  luaL_Buffer B;
  size_t n, space;
  luaL_buffinitsize(L, &B, first_n + LUAL_BUFFERSIZE);
  luaL_addlstring(&B, first, first_n);
  do {
    char *out = luaL_prepbuffer(&B);
    space = B.size - B.n; /* the space grows with the file */
    n = read_bytes(L, handle, out, space);
    luaL_addsize(&B, n);
  } while (n == space);
  luaL_pushresult(&B);
}

/* The most bytes that are read into a string at once, because the size that is requested,
 * or expected to be left, may be more than the file has. */
#define MOST_AT_ONCE ((size_t)64 << 20)

static int read_all(lua_State *L, const luaL_Stream *handle) {
  char start[LUAL_BUFFERSIZE];
  int at = lua_gettop(L) + 1;
  size_t n = read_bytes(L, handle, start, sizeof start);
  if (n < sizeof start)
    return result_string(L, start, n); /* the empty string is a result, too */
  size_t rest = bytes_left(handle->f);
  if (rest == 0 || rest > MOST_AT_ONCE) {
    read_to_end(L, handle, start, n);
    return 1;
  }
  Result all;
  char *out = begin_result(L, &all, n + rest);
  memcpy(out, start, n);
  n += read_bytes(L, handle, out + n, rest);
  int c = n == all.length ? getc(handle->f) : EOF;
  if (n == all.length && c == EOF)
    return finish_result(L, &all);
  if (c != EOF)
    ungetc(c, handle->f); /* the file has grown */
  read_to_end(L, handle, out, n);
  lua_remove(L, at);
  return 1;
}

static int read_chars(lua_State *L, const luaL_Stream *handle,
                      size_t count) {
  size_t n;
  if (count <= MOST_AT_ONCE) {
    Result result;
    char *out = begin_result(L, &result, count);
    n = read_bytes(L, handle, out, count);
    if (n == count)
      return finish_result(L, &result);
    result_string(L, out, n); /* there was less than expected */
    if (result.made != NULL)
      lua_remove(L, -2);
    return n > 0;
  }
  luaL_Buffer B;
  char *out = luaL_buffinitsize(L, &B, count);
  n = read_bytes(L, handle, out, count);
  luaL_pushresultsize(&B, n);
  return n > 0;
}

static int read_by_name(lua_State *L, const luaL_Stream *handle, int arg) {
  size_t length;
  const char *format = argument_string(L, arg, &length);
  if (*format == '*')
    format++; /* skips the '*' that older versions required */
  switch (*format) {
    case 'n': return read_number(L, handle);
    case 'l': return read_line(L, handle, 0);
    case 'L': return read_line(L, handle, 1);
    case 'a': return read_all(L, handle);
    default: return luaL_argerror(L, arg, "invalid format");
  }
}

static int read_item(lua_State *L, const luaL_Stream *handle, int arg) {
  if (!is_number(argument(L, arg)))
    return read_by_name(L, handle, arg);
  size_t count = (size_t)argument_integer(L, arg);
  return count == 0 ? read_nothing(L, handle) : read_chars(L, handle, count);
}

int io_read_items(lua_State *L, const luaL_Stream *handle, int first,
                  int last) {
  int top = lua_gettop(L);
  int ok = 1;
  FILE *f = open_stream(L, handle);
  if (feof_unlocked(f) || ferror_unlocked(f))
    clearerr(f);
  errno = 0;
  if (last < first) {
    ok = read_line(L, handle, 0);
  } else {
    luaL_checkstack(L, last - first + 1 + LUA_MINSTACK, "too many arguments");
    for (int arg = first; arg <= last && ok; arg++)
      ok = read_item(L, handle, arg);
  }
  if (ferror_unlocked(open_stream(L, handle)))
    return luaL_fileresult(L, 0, NULL);
  if (!ok) {
    lua_pop(L, 1);
    luaL_pushfail(L);
  }
  return lua_gettop(L) - top;
}
