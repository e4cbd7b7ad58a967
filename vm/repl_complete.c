/* SPDX-License-Identifier: MIT */
/* vm/repl_complete.c - which names can follow the text typed at the prompt.
 *
 * A word is a chain of names, "a.b.c" or "a.b:c". All but the last name lead from the
 * globals to a value. The last name is completed with the names of the value's fields,
 * and of the fields that it gets from tables in __index.
 *
 * Completion must not change anything: fields are read raw and no metamethod is called,
 * so the results of functions in __index are not offered.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lua.h"
#include "lauxlib.h"
#include "program.h"

/* Tables in a chain of __index that are searched. */
#define MAX_CHAIN 20

static const char *const reserved_words[] = {
#define WORD(id, text) text,
#define SYMBOL(id, text)
#define CLASS(id, text)
#include "tokens.def"
#undef WORD
#undef SYMBOL
#undef CLASS
};

#define RESERVED_WORDS (sizeof reserved_words / sizeof reserved_words[0])

typedef struct Search {
  const char *word;    /* as typed */
  const char *name;    /* the name to complete: the end of word */
  bool methods;        /* after ':': only values that can be called */
  char **found;        /* words from malloc */
  size_t count, capacity;
} Search;

/* ---------------------------------------------------------------- names -- */

static bool is_reserved(const char *name) {
  for (size_t i = 0; i < RESERVED_WORDS; i++)
    if (strcmp(name, reserved_words[i]) == 0)
      return true;
  return false;
}

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

/* Tells whether the string can be written as a name. */
static bool is_name(const char *text, size_t length) {
  if (length == 0 || (text[0] >= '0' && text[0] <= '9'))
    return false;
  for (size_t i = 0; i < length; i++)
    if (!is_name_byte(text[i]))
      return false;
  return !is_reserved(text);
}

/* Tells whether a name continues the word. Names that begin with '_' are offered only if
   the word begins with it. */
static bool continues_word(const Search *search, const char *name) {
  const char *typed = search->name;
  return strncmp(name, typed, strlen(typed)) == 0 &&
         (name[0] != '_' || typed[0] == '_');
}

/* Adds the word that ends with `name`; drops it if memory is short. */
static void add_completion(Search *search, const char *name) {
  if (search->count + 1 >= search->capacity) { /* one element is for the end mark */
    size_t capacity = search->capacity * 2 + 16;
    char **larger = realloc(search->found, capacity * sizeof *larger);
    if (larger == NULL)
      return;
    search->found = larger;
    search->capacity = capacity;
  }
  size_t before = (size_t)(search->name - search->word);
  char *word = malloc(before + strlen(name) + 1);
  if (word == NULL)
    return;
  memcpy(word, search->word, before);
  strcpy(word + before, name);
  search->found[search->count++] = word;
}

/* --------------------------------------------------------------- values -- */

static bool is_callable(lua_State *L, int index) {
  if (lua_isfunction(L, index))
    return true;
  bool has_call = luaL_getmetafield(L, index, "__call") != LUA_TNIL;
  if (has_call)
    lua_pop(L, 1);
  return has_call;
}

/* Replaces the value on top with its __index. Returns false, and pops the value, if it
 * has no __index. */
static bool follow_index(lua_State *L) {
  bool has_index = luaL_getmetafield(L, -1, "__index") != LUA_TNIL;
  lua_remove(L, has_index ? -2 : -1);
  return has_index;
}

/* Replaces the value on top with its field, or with nil if it has none. */
static void to_field(lua_State *L, const char *name, size_t length) {
  for (int i = 0; i < MAX_CHAIN; i++) {
    if (lua_istable(L, -1)) {
      lua_pushlstring(L, name, length);
      if (lua_rawget(L, -2) != LUA_TNIL) {
        lua_remove(L, -2);
        return;
      }
      lua_pop(L, 1);
    }
    if (!follow_index(L)) {
      lua_pushnil(L);
      return;
    }
  }
}

/* Offers the fields of the table on top. */
static void add_fields(lua_State *L, Search *search) {
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      size_t length;
      const char *name = lua_tolstring(L, -2, &length);
      if (is_name(name, length) && continues_word(search, name) &&
          (!search->methods || is_callable(L, -1)))
        add_completion(search, name);
    }
    lua_pop(L, 1);
  }
}

/* Offers the fields of the value on top and of its chain; pops it. */
static void add_all_fields(lua_State *L, Search *search) {
  for (int i = 0; i < MAX_CHAIN; i++) {
    if (lua_istable(L, -1))
      add_fields(L, search);
    if (!follow_index(L))
      return;
  }
  lua_pop(L, 1);
}

/* Searches for names, in protected mode; its argument is the Search. */
static int search_names(lua_State *L) {
  Search *search = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_pushglobaltable(L);
  for (const char *from = search->word;;) {
    size_t length = strcspn(from, ".:");
    search->name = from;
    if (from[length] == '\0')
      break;
    search->methods = from[length] == ':';
    to_field(L, from, length);
    from += length + 1;
  }
  add_all_fields(L, search);
  return 0;
}

/* ----------------------------------------------------------------- offer -- */

static int compare_words(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the list, drops duplicates, and ends it with NULL. */
static char **finish_list(Search *search) {
  char **list = search->found;
  size_t kept = 0;
  if (list == NULL)
    return NULL;
  qsort(list, search->count, sizeof *list, compare_words);
  for (size_t i = 0; i < search->count; i++) {
    if (kept > 0 && strcmp(list[kept - 1], list[i]) == 0)
      free(list[i]);
    else
      list[kept++] = list[i];
  }
  list[kept] = NULL;
  return list;
}

char **repl_complete(lua_State *L, const char *word) {
  Search search = {.word = word, .name = word};
  int top = lua_gettop(L);
  if (word[0] == '.' || word[0] == ':')
    return NULL; /* the word is the field of something that is not a chain of names */
  lua_pushcfunction(L, search_names);
  lua_pushlightuserdata(L, &search);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) /* out of memory: offers the words found so far */
    lua_settop(L, top);
  if (search.name == word)
    for (size_t i = 0; i < RESERVED_WORDS; i++)
      if (continues_word(&search, reserved_words[i]))
        add_completion(&search, reserved_words[i]);
  return finish_list(&search);
}
