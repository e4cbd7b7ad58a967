/* SPDX-License-Identifier: MIT */
/* stdlib/string_pack.c: string.pack, packsize and unpack.
 *
 * A format is a sequence of options. Reader walks it; next_item returns one option at a
 * time as an Item: its kind, its size in bytes, and the bytes of padding that align it at
 * its offset. pack, packsize and unpack differ only in what they do with an item.
 *
 * Integers of any size from 1 to INTEGER_SIZE_MAX are written byte by byte in the order
 * wanted; integers of the machine's own sizes use the compiler's loads and stores.
 */
#include "lauxlib.h"
#include "string_pack.h"
#include "string_position.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INTEGER_SIZE_MAX 16
#define LUA_INTEGER_SIZE ((int)sizeof(lua_Integer))

/* A type with the strictest alignment of all C types that options stand for. */
typedef union Aligned {
  double d;
  void *p;
  lua_Integer i;
  long l;
} Aligned;
#define NATIVE_ALIGNMENT ((int)_Alignof(Aligned))

/* The largest result of packsize, and the bound of the sizes in formats. */
#define SIZE_LIMIT ((size_t)INT_MAX)

static const bool machine_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

typedef struct Reader {
  lua_State *L;
  const char *p; /* rest of the format, which ends with a 0 */
  bool little;
  int alignment_max;
} Reader;

typedef enum ItemKind {
  ITEM_INTEGER,
  ITEM_UNSIGNED,
  ITEM_FLOAT,
  ITEM_DOUBLE,
  ITEM_BYTES,         /* c: fixed size */
  ITEM_COUNTED,       /* s: the size is the size of the count */
  ITEM_TERMINATED,    /* z */
  ITEM_PADDING,       /* x */
  ITEM_ALIGNMENT,     /* X */
  ITEM_NOTHING        /* a blank, or a change of order or alignment */
} ItemKind;

/* The meaning of an option, without its offset. It is small enough to be returned in
   registers. */
typedef struct Option {
  ItemKind kind;
  uint32_t size; /* at most SIZE_LIMIT */
} Option;

typedef struct Item {
  ItemKind kind;
  size_t size;
  size_t padding; /* number of bytes of padding before the item */
} Item;

/* ---- reading the format -------------------------------------------------- */

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns a decimal number, or `otherwise` if there is none. Stops early, and leaves
 * digits, rather than overflow. */
static size_t read_number(Reader *r, size_t otherwise) {
  if (!is_digit(*r->p)) return otherwise;
  const size_t limit = (SIZE_LIMIT - 9) / 10;
  size_t n = 0;
  do n = n * 10 + (size_t)(*r->p++ - '0');
  while (is_digit(*r->p) && n <= limit);
  return n;
}

/* Returns the size of an integer, or an alignment. */
static int read_size(Reader *r, int otherwise) {
  int size = (int)read_number(r, (size_t)otherwise);
  if (size < 1 || size > INTEGER_SIZE_MAX)
    luaL_error(r->L, "integral size (%d) out of limits [1,%d]", size, INTEGER_SIZE_MAX);
  return size;
}

static inline Option make_option(ItemKind kind, size_t size) {
  return (Option){.kind = kind, .size = (uint32_t)size};
}

static Option read_bytes_option(Reader *r) {
  size_t size = read_number(r, SIZE_MAX);
  if (size == SIZE_MAX) luaL_error(r->L, "missing size for format option 'c'");
  return make_option(ITEM_BYTES, size);
}

static Option read_option(Reader *r) {
  char letter = *r->p++;
  switch (letter) {
    case 'b': return make_option(ITEM_INTEGER, sizeof(char));
    case 'B': return make_option(ITEM_UNSIGNED, sizeof(char));
    case 'h': return make_option(ITEM_INTEGER, sizeof(short));
    case 'H': return make_option(ITEM_UNSIGNED, sizeof(short));
    case 'i': return make_option(ITEM_INTEGER, (size_t)read_size(r, sizeof(int)));
    case 'I': return make_option(ITEM_UNSIGNED, (size_t)read_size(r, sizeof(int)));
    case 'l': return make_option(ITEM_INTEGER, sizeof(long));
    case 'L': return make_option(ITEM_UNSIGNED, sizeof(long));
    case 'j': return make_option(ITEM_INTEGER, sizeof(lua_Integer));
    case 'J': return make_option(ITEM_UNSIGNED, sizeof(lua_Integer));
    case 'T': return make_option(ITEM_UNSIGNED, sizeof(size_t));
    case 'f': return make_option(ITEM_FLOAT, sizeof(float));
    case 'n':
    case 'd': return make_option(ITEM_DOUBLE, sizeof(double));
    case 's': return make_option(ITEM_COUNTED, (size_t)read_size(r, sizeof(size_t)));
    case 'c': return read_bytes_option(r);
    case 'z': return make_option(ITEM_TERMINATED, 0);
    case 'x': return make_option(ITEM_PADDING, 1);
    case 'X': return make_option(ITEM_ALIGNMENT, 0);
    case ' ': break;
    case '<': r->little = true; break;
    case '>': r->little = false; break;
    case '=': r->little = machine_is_little; break;
    case '!': r->alignment_max = read_size(r, NATIVE_ALIGNMENT); break;
    default: luaL_error(r->L, "invalid format option '%c'", letter);
  }
  return make_option(ITEM_NOTHING, 0);
}

/* Returns the alignment for option X, from the option behind it, which has no other
   use. */
static size_t read_alignment(Reader *r) {
  Option model = *r->p == '\0' ? make_option(ITEM_NOTHING, 0) : read_option(r);
  if (model.kind == ITEM_BYTES || model.size == 0)
    luaL_argerror(r->L, 1, "invalid next option for option 'X'");
  return model.size;
}

static bool is_aligned_kind(ItemKind kind) {
  return kind <= ITEM_DOUBLE || kind == ITEM_COUNTED || kind == ITEM_ALIGNMENT;
}

static inline void next_item(Reader *r, size_t offset, Item *it) {
  Option option = read_option(r);
  it->kind = option.kind;
  it->size = option.size;
  it->padding = 0;
  size_t alignment = it->kind == ITEM_ALIGNMENT ? read_alignment(r) : it->size;
  if (alignment <= 1 || !is_aligned_kind(it->kind)) return;
  if (alignment > (size_t)r->alignment_max) alignment = (size_t)r->alignment_max;
  if ((alignment & (alignment - 1)) != 0)
    luaL_argerror(r->L, 1, "format asks for alignment not power of 2");
  it->padding = (alignment - offset) & (alignment - 1);
}

static Reader start_reading(lua_State *L) {
  return (Reader){
      .L = L, .p = luaL_checkstring(L, 1), .little = machine_is_little, .alignment_max = 1};
}

/* ---- numbers to and from bytes ------------------------------------------- */

/* Writes the low bytes of `n`; bytes beyond those of a lua_Integer are `fill`. */
static void put_integer(char *out, lua_Unsigned n, int size, bool little, unsigned char fill) {
  if (machine_is_little && little && size <= LUA_INTEGER_SIZE) {
    memcpy(out, &n, (size_t)size);
    return;
  }
  for (int i = 0; i < size; i++) {
    unsigned char byte = i < LUA_INTEGER_SIZE ? (unsigned char)(n >> (8 * i)) : fill;
    out[little ? i : size - 1 - i] = (char)byte;
  }
}

static unsigned char byte_at(const char *in, int size, bool little, int significance) {
  return (unsigned char)in[little ? significance : size - 1 - significance];
}

/* Checks that the bytes beyond those of a lua_Integer only extend its sign. */
static void check_excess_bytes(lua_State *L, const char *in, int size, bool little,
                               unsigned char expected) {
  for (int i = LUA_INTEGER_SIZE; i < size; i++)
    if (byte_at(in, size, little, i) != expected)
      luaL_error(L, "%d-byte integer does not fit into Lua Integer", size);
}

static lua_Integer get_integer(lua_State *L, const char *in, int size, bool little,
                               bool is_signed) {
  int used = size < LUA_INTEGER_SIZE ? size : LUA_INTEGER_SIZE;
  lua_Unsigned n = 0;
  if (machine_is_little && little)
    memcpy(&n, in, (size_t)used);
  else
    for (int i = used - 1; i >= 0; i--) n = n << 8 | byte_at(in, size, little, i);
  if (size < LUA_INTEGER_SIZE) {
    if (!is_signed) return (lua_Integer)n;
    lua_Unsigned sign = (lua_Unsigned)1 << (size * 8 - 1);
    return (lua_Integer)((n ^ sign) - sign);
  }
  check_excess_bytes(L, in, size, little, is_signed && (lua_Integer)n < 0 ? 0xff : 0);
  return (lua_Integer)n;
}

/* Copies a number between memory and data in the given order. */
static void copy_ordered(char *out, const void *in, size_t size, bool little) {
  const char *from = in;
  for (size_t i = 0; i < size; i++) out[i] = from[little == machine_is_little ? i : size - 1 - i];
}

/* ---- pack ---------------------------------------------------------------- */

static void pack_integer(Reader *r, luaL_Buffer *b, const Item *it, int arg) {
  lua_Integer n = luaL_checkinteger(r->L, arg);
  int size = (int)it->size;
  if (size < LUA_INTEGER_SIZE) {
    lua_Integer limit = (lua_Integer)1 << (size * 8 - 1);
    luaL_argcheck(r->L, -limit <= n && n < limit, arg, "integer overflow");
  }
  put_integer(luaL_prepbuffsize(b, it->size), (lua_Unsigned)n, size, r->little, n < 0 ? 0xff : 0);
  luaL_addsize(b, it->size);
}

static void pack_unsigned(Reader *r, luaL_Buffer *b, const Item *it, int arg) {
  lua_Unsigned n = (lua_Unsigned)luaL_checkinteger(r->L, arg);
  int size = (int)it->size;
  if (size < LUA_INTEGER_SIZE)
    luaL_argcheck(r->L, n < (lua_Unsigned)1 << (size * 8), arg, "unsigned overflow");
  put_integer(luaL_prepbuffsize(b, it->size), n, size, r->little, 0);
  luaL_addsize(b, it->size);
}

static void pack_float(Reader *r, luaL_Buffer *b, const Item *it, int arg) {
  double wide = luaL_checknumber(r->L, arg);
  float narrow = (float)wide;
  const void *value = it->kind == ITEM_FLOAT ? (const void *)&narrow : &wide;
  copy_ordered(luaL_prepbuffsize(b, it->size), value, it->size, r->little);
  luaL_addsize(b, it->size);
}

static void add_zeros(luaL_Buffer *b, size_t count) {
  if (count == 0) return;
  memset(luaL_prepbuffsize(b, count), 0, count);
  luaL_addsize(b, count);
}

static void pack_bytes(Reader *r, luaL_Buffer *b, const Item *it, int arg) {
  size_t length;
  const char *s = luaL_checklstring(r->L, arg, &length);
  luaL_argcheck(r->L, length <= it->size, arg, "string longer than given size");
  luaL_addlstring(b, s, length);
  add_zeros(b, it->size - length);
}

/* Packs a string with its count. Returns the number of bytes that it takes, which depends
   on the string. */
static size_t pack_counted(Reader *r, luaL_Buffer *b, const Item *it, int arg) {
  size_t length;
  const char *s = luaL_checklstring(r->L, arg, &length);
  bool fits = it->size >= sizeof(size_t) || length < (size_t)1 << (it->size * 8);
  luaL_argcheck(r->L, fits, arg, "string length does not fit in given size");
  put_integer(luaL_prepbuffsize(b, it->size), length, (int)it->size, r->little, 0);
  luaL_addsize(b, it->size);
  luaL_addlstring(b, s, length);
  return it->size + length;
}

static size_t pack_terminated(Reader *r, luaL_Buffer *b, int arg) {
  size_t length;
  const char *s = luaL_checklstring(r->L, arg, &length);
  luaL_argcheck(r->L, strlen(s) == length, arg, "string contains zeros");
  luaL_addlstring(b, s, length + 1); /* with the 0 that ends each string */
  return length + 1;
}

/* Adds one item. If the item takes an argument, it takes argument *arg. Returns its
   size. */
static size_t pack_item(Reader *r, luaL_Buffer *b, const Item *it, int *arg) {
  add_zeros(b, it->padding);
  switch (it->kind) {
    case ITEM_INTEGER: pack_integer(r, b, it, ++*arg); return it->size;
    case ITEM_UNSIGNED: pack_unsigned(r, b, it, ++*arg); return it->size;
    case ITEM_FLOAT:
    case ITEM_DOUBLE: pack_float(r, b, it, ++*arg); return it->size;
    case ITEM_BYTES: pack_bytes(r, b, it, ++*arg); return it->size;
    case ITEM_COUNTED: return pack_counted(r, b, it, ++*arg);
    case ITEM_TERMINATED: return pack_terminated(r, b, ++*arg);
    case ITEM_PADDING: add_zeros(b, 1); return 1;
    case ITEM_ALIGNMENT:
    case ITEM_NOTHING: break;
  }
  return 0;
}

int strlib_pack(lua_State *L) {
  Reader r = start_reading(L);
  int arg = 1;
  size_t offset = 0;
  luaL_Buffer b;
  /* separates the arguments from the buffer: a missing argument reads as nil */
  lua_pushnil(L);
  luaL_buffinit(L, &b);
  while (*r.p != '\0') {
    Item it;
    next_item(&r, offset, &it);
    offset += it.padding + pack_item(&r, &b, &it, &arg);
  }
  luaL_pushresult(&b);
  return 1;
}

int strlib_packsize(lua_State *L) {
  Reader r = start_reading(L);
  size_t total = 0;
  while (*r.p != '\0') {
    Item it;
    next_item(&r, total, &it);
    luaL_argcheck(L, it.kind != ITEM_COUNTED && it.kind != ITEM_TERMINATED, 1,
                  "variable-length format");
    size_t size = it.padding + it.size;
    luaL_argcheck(L, size <= SIZE_LIMIT && total <= SIZE_LIMIT - size, 1,
                  "format result too large");
    total += size;
  }
  lua_pushinteger(L, (lua_Integer)total);
  return 1;
}

/* ---- unpack -------------------------------------------------------------- */

/* The data, and the position up to which it has been read. */
typedef struct Data {
  const char *bytes;
  size_t length;
  size_t offset;
} Data;

static void require_bytes(lua_State *L, const Data *data, size_t count) {
  luaL_argcheck(L, count <= data->length - data->offset, 2, "data string too short");
}

static void unpack_float(Reader *r, const char *at, const Item *it) {
  char bytes[sizeof(double)];
  copy_ordered(bytes, at, it->size, r->little);
  double wide;
  float narrow;
  if (it->kind == ITEM_FLOAT) {
    memcpy(&narrow, bytes, sizeof narrow);
    wide = narrow;
  } else {
    memcpy(&wide, bytes, sizeof wide);
  }
  lua_pushnumber(r->L, wide);
}

/* Pushes the string. Returns its size without the count. */
static size_t unpack_counted(Reader *r, const Data *data, const char *at, const Item *it) {
  size_t length = (size_t)get_integer(r->L, at, (int)it->size, r->little, false);
  luaL_argcheck(r->L, length <= data->length - data->offset - it->size, 2,
                "data string too short");
  lua_pushlstring(r->L, at + it->size, length);
  return length;
}

static size_t unpack_terminated(Reader *r, const Data *data, const char *at) {
  const char *end = memchr(at, '\0', data->length - data->offset);
  luaL_argcheck(r->L, end != NULL, 2, "unfinished string for format 'z'");
  lua_pushlstring(r->L, at, (size_t)(end - at));
  return (size_t)(end - at) + 1;
}

/* Pushes the value of the item, if it has one, and moves behind the item. */
static int unpack_item(Reader *r, Data *data, const Item *it) {
  require_bytes(r->L, data, it->padding);
  data->offset += it->padding;
  require_bytes(r->L, data, it->size);
  const char *at = data->bytes + data->offset;
  size_t size = it->size;
  switch (it->kind) {
    case ITEM_INTEGER:
    case ITEM_UNSIGNED:
      lua_pushinteger(r->L, get_integer(r->L, at, (int)it->size, r->little,
                                        it->kind == ITEM_INTEGER));
      break;
    case ITEM_FLOAT:
    case ITEM_DOUBLE: unpack_float(r, at, it); break;
    case ITEM_BYTES: lua_pushlstring(r->L, at, it->size); break;
    case ITEM_COUNTED: size += unpack_counted(r, data, at, it); break;
    case ITEM_TERMINATED: size = unpack_terminated(r, data, at); break;
    case ITEM_PADDING:
    case ITEM_ALIGNMENT:
    case ITEM_NOTHING: data->offset += size; return 0;
  }
  data->offset += size;
  return 1;
}

/* The number of stack slots that are requested before each result. If the stack cannot
 * grow, the slots that are left are room for the error message. */
#define RESULT_HEADROOM 8

int strlib_unpack(lua_State *L) {
  Reader r = start_reading(L);
  Data data;
  int results = 0;
  data.bytes = luaL_checklstring(L, 2, &data.length);
  data.offset = position_start(luaL_optinteger(L, 3, 1), data.length) - 1;
  luaL_argcheck(L, data.offset <= data.length, 3, "initial position out of string");
  while (*r.p != '\0') {
    Item it;
    next_item(&r, data.offset, &it);
    luaL_checkstack(L, RESULT_HEADROOM, "too many results");
    results += unpack_item(&r, &data, &it);
  }
  lua_pushinteger(L, (lua_Integer)data.offset + 1);
  return results + 1;
}
