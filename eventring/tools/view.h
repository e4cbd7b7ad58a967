/* SPDX-License-Identifier: MIT */
/* view.h: prints views, by one table for each.
 *
 * A view is a static table with a line per column: {key, title, form, where its value
 * is}. The text of a terminal (text_table.h), JSON, CSV, `eventring COMMAND
 * --json-schema` and the lists of members in the documentation
 * (testsuite/tools/_members.py) are made from it. So what a column says is written once.
 *
 * A column with a key is a member of the row's JSON object, one with a title is a column
 * of the table (the signs before a title are those of text_table.h); most have both. A
 * column's value is a member of the row (ROW, which knows its type), or computed
 * (VIEW_GET). The column's form tells how: a duration is "1.234 ms" in text and
 * nanoseconds in JSON. A number that has a unit in text has the unit in its JSON key.
 *
 * Views nest: VIEW_INCLUDE puts the columns of another view in its place, VIEW_OBJECT is
 * a member that is an object, VIEW_ROWS is an array of rows, VIEW_MAP is an object of
 * rows with names. The function `rows` of VIEW_ROWS and VIEW_MAP puts each row with
 * view_row (or view_named_row); the same function fills the table of the text.
 *
 * How a command prints:
 *
 * 1. It has a struct for the row (most have one), and `static VIEW(name, struct row,
 *    {"key", "title", VIEW_NS, ROW(member)}, ...)`. The order is that of the text, and of
 *    JSON. A member that may be left out is VIEW_MAYBE, one that may be null is not;
 *    `.known` or `.has` says when.
 * 2. It has a view of the whole answer (not static, `command_view`): query_view or the
 *    like included, then VIEW_ROWS. VIEW_SPECS adds --json, --csv and --json-schema to
 *    the options; `version` is added by the engine. A command that prints various objects
 *    chains them by `other`.
 * 3. For text, it prints headings and sentences by itself (table_say); view_table prints
 *    the rows below them, view_lines a row as `label value` lines.
 * 4. doc/commands/NAME.md lists the members; `make check`
 *    (testsuite/tools/test_members.sh) compares it with the schema.
 *
 * Errors stay in the stream (ferror). A view_to is used by one thread at a time.
 */
#ifndef EVENTRING_TOOL_VIEW_H
#define EVENTRING_TOOL_VIEW_H

#include <stddef.h>

#include "analysis/json.h"
#include "eventring/read.h"
#include "text_table.h"
#include "tool.h"

/* The type of a stored value. */
enum view_type {
  VIEW_NONE, /* there is no value */
  VIEW_BOOL, VIEW_UINT, VIEW_INT, VIEW_DOUBLE, VIEW_TEXT,
  VIEW_U8, VIEW_U16, VIEW_U32, VIEW_I32, VIEW_CHARS /* only in rows */
};

/* The meaning of a value. The comments show it in text; JSON has the number, or the
   name. */
enum view_form {
  VIEW_PLAIN,  /* unchanged: an id, a text */
  VIEW_COUNT,  /* "1,234,567" */
  VIEW_NS,     /* "1.234 ms" */
  VIEW_MOMENT, /* time on the recording's clock: "12.345678 s" after its start, "-" if
                  0 */
  VIEW_WALL,   /* "2024-05-01 12:00:00.123" */
  VIEW_BYTES,  /* "1.25 MiB"; with a sign, if it may be negative */
  VIEW_WORDS,  /* number of words of 8 bytes: "1.25 MiB" */
  VIEW_SHARE,  /* fraction: "12.3 %" */
  VIEW_CHANGE, /* change as a fraction: "+12.3 %" */
  VIEW_DEF, VIEW_RING, VIEW_CLASS, /* the name of a definition, a ring, a class */
  VIEW_LIVENESS, VIEW_STATE, VIEW_DEF_KIND, VIEW_PAYLOAD, VIEW_MEASURE, VIEW_QUANTITY,
  VIEW_INCLUDE, VIEW_OBJECT, VIEW_ROWS, VIEW_MAP
};

enum { /* flags of a column */
  VIEW_MAYBE = 1,    /* without a value, JSON omits the member; without this flag, it is
                        null */
  VIEW_PART = 64,    /* JSON omits the member only if `known` or `has` says that there is
                        no value */
  VIEW_NO_0 = 2,     /* 0 is no value */
  VIEW_DASH_0 = 4,   /* 0 is no value in text, which shows "-" */
  VIEW_NOT_NEGATIVE = 8, /* a negative number is no value */
  VIEW_NO_MAX = 128, /* UINT64_MAX is no value */
  VIEW_POINTER = 16, /* for INCLUDE and OBJECT, the row holds a pointer to the nested
                        row */
  VIEW_TEXT_IF = 512, /* `known` and `has` are for text: JSON always has the value */
  VIEW_MAIN = 32,    /* the rows that --csv prints */
  VIEW_END = 256     /* in a table, a long text shows only its end */
};

struct view_value {
  enum view_type type; /* VIEW_NONE to VIEW_TEXT */
  union {
    bool b;
    uint64_t u;
    int64_t i;
    double d;
    const char *text;
  } is;
};
static inline struct view_value view_none(void) { return (struct view_value){VIEW_NONE, {0}}; }
static inline struct view_value view_uint(uint64_t u) {
  return (struct view_value){VIEW_UINT, {.u = u}};
}
static inline struct view_value view_bool(bool b) {
  return (struct view_value){VIEW_BOOL, {.b = b}};
}
static inline struct view_value view_int(int64_t i) {
  return (struct view_value){VIEW_INT, {.i = i}};
}
static inline struct view_value view_double(double d) {
  return (struct view_value){VIEW_DOUBLE, {.d = d}};
}
static inline struct view_value view_text(const char *text) {
  return (struct view_value){text ? VIEW_TEXT : VIEW_NONE, {.text = text}};
}

#define VIEW_BY "<+by"

enum { VIEW_MADE = 64 };
struct view_to;
struct view;
typedef const struct view *view_function(void); /* a view; see VIEW */
struct view_column {
  const char *key;   /* NULL: not in JSON */
  const char *title; /* NULL: not in text */
  enum view_form form;
  enum view_type type;
  /* offset in the row of the value, of the nested row, or of the argument of `get` */
  size_t offset;
  struct view_value (*get)(struct view_to *to, const void *row, const struct view_column *column);
  const char *help; /* what the key does not say */
  unsigned flags;
  uint32_t argument;             /* an argument for `get` */
  /* VIEW_IF: offset of a bool of the row; if it is false, there is no value */
  size_t known;
  bool (*has)(const void *row);  /* tells whether there is a value */
  view_function *view;           /* the nested view */
  /* makes the nested row, of at most VIEW_MADE bytes */
  void (*make)(void *made, const void *row);
  void (*rows)(struct view_to *to, const void *row);
};

struct view {
  const struct view_column *columns;
  size_t count;
  size_t keys;      /* number of columns that each part of the table repeats; 0 means 1 */
  bool has_version; /* the view has its own version member, so none is put before it */
  view_function *other; /* another view that the command may print; NULL: none */
};
/* Defines a view with these columns, for rows of a type; VIEW_WITH also sets other
   members: `(.keys = 2)`. (It is a function because the name of the row's type is local
   to it.) */
#define VIEW(name, row_type, ...) VIEW_WITH(name, row_type, (.keys = 1), __VA_ARGS__)
#define VIEW_WITH(name, row_type, members, ...)                                          \
  const struct view *name(void) {                                                        \
    typedef row_type view_row_type VIEW_UNUSED;                                          \
    static const struct view_column columns[] = {__VA_ARGS__};                           \
    static const struct view view = {                                                    \
        .columns = columns, .count = sizeof columns / sizeof columns[0], VIEW_MEMBERS members}; \
    return &view;                                                                        \
  }
#define VIEW_MEMBERS(...) __VA_ARGS__
#define VIEW_UNUSED __attribute__((unused))

#define VIEW_TYPE(pointer)                                                             \
  _Generic((pointer), bool *: VIEW_BOOL, uint8_t *: VIEW_U8, uint16_t *: VIEW_U16,     \
           uint32_t *: VIEW_U32, uint64_t *: VIEW_UINT, int32_t *: VIEW_I32,           \
           int64_t *: VIEW_INT, double *: VIEW_DOUBLE, char **: VIEW_TEXT,             \
           const char **: VIEW_TEXT, default: VIEW_CHARS)
/* For a column whose value is a member of the row. */
#define ROW(member)                                                                    \
  .type = VIEW_TYPE(&((view_row_type *)0)->member), .offset = offsetof(view_row_type, member)
#define VIEW_GET(value_type, function) .type = VIEW_##value_type, .get = function
/* For a column with a condition. (Only a bool member compiles: a count that is read as a
   bool may be 256.) */
#define VIEW_IF(member)                                                                \
  .known = _Generic(&((view_row_type *)0)->member, bool *: 1) + offsetof(view_row_type, member)

/* Begins a function for VIEW_GET; `{ return view_...; }` follows. Its parameters are
   `to`, `row` (with its type) and `column`. */
#define VIEW_GETTER(name, row_type)                                                          \
  static struct view_value name##_of(struct view_to *to, const row_type *row,                \
                                     const struct view_column *column);                      \
  static struct view_value name(struct view_to *to, const void *row,                         \
                                const struct view_column *column) {                          \
    return name##_of(to, row, column);                                                       \
  }                                                                                          \
  static inline struct view_value name##_of(VIEW_UNUSED struct view_to *to,                  \
                                            VIEW_UNUSED const row_type *row,                 \
                                            VIEW_UNUSED const struct view_column *column)

/* How a command must print: its options. */
struct view_choice {
  bool json, csv;
};
#define VIEW_SPECS(choice, view, what)                                                   \
  {"json", 'j', OPTION_FLAG, &(choice)->json, NULL, what},                               \
  {"csv", 0, OPTION_FLAG, &(choice)->csv, NULL, "its rows, separated by commas"},        \
  {"json-schema", 0, OPTION_SCHEMA, (void *)&(view), NULL, "what --json writes, as JSON Schema"}
static inline bool view_wants_text(const struct view_choice *choice) {
  return !choice->json && !choice->csv;
}

/* Where views are printed. The caller fills the first members. */
struct view_to {
  FILE *out;
  eventring_cursor *cursor; /* cursor for names, or NULL */
  uint64_t start_ns;        /* time from which moments count */
  const void *context;      /* argument of `get` and `rows` */
  struct view_choice as;
  bool is_screen;           /* tables are for a screen (text_table.h) */
  const char *by;           /* the title, with its signs, of the column with VIEW_BY */
  /* used by the engine */
  bool are_lines;           /* each row is a JSON object on a line of its own */
  struct eva_json json;
  size_t csv_cells;         /* number of cells of the present line */
  struct table *table;      /* table whose cells the rows are; NULL if they are JSON or
                               CSV */
  view_function *view;  /* view of the rows that are being put */
  char room[1024];          /* room for a text made by `get`, which is valid until the
                               next one */
  union {
    max_align_t aligned;
    char bytes[VIEW_MADE];
  } made; /* room for a row made by `make`, one at a time */
};

/* Returns a text, which is stored in `to`. */
struct view_value view_printf(struct view_to *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the whole answer as one object on a line, or, with --csv, its main rows. */
void view_object(struct view_to *to, view_function *view, const void *row);
/* Writes the members of a view that needs no cursor, into an object that the caller has
   opened. */
void view_members(struct eva_json *json, view_function *view, const void *row);
/* Puts a row; called by `rows` functions. */
void view_row(struct view_to *to, const void *row);
void view_named_row(struct view_to *to, const char *name, const void *row);
/* Prints rows as a table in lines of the terminal. */
void view_table(struct view_to *to, view_function *view,
                void (*rows)(struct view_to *to, const void *row), const void *row, int indent);
/* Prints rows as a table under a heading, if there are rows, indented by 2. */
void view_section(struct view_to *to, const char *heading, view_function *view,
                  void (*rows)(struct view_to *to, const void *row), const void *row);
/* Prints rows that are the whole answer: as a table, as CSV, or as a JSON object on a
   line each. */
void view_list(struct view_to *to, view_function *view,
               void (*rows)(struct view_to *to, const void *row), const void *row);
/* Prints the columns with a title as lines of `label value`; leaves out those without a
   value. */
void view_lines(struct view_to *to, view_function *view, const void *row);
/* Tells whether the rows are for a table. */
static inline bool view_is_text(const struct view_to *to) { return to->table != NULL; }

/* Writes two members into an open object of `json`. `columns` has an object for each
   column of the rows to which `path` leads in the answer ("rows", "total.spans"); `rows`
   has these rows, as view_object writes them. */
void view_data(struct view_to *to, struct eva_json *json, view_function *view, const char *path,
               const void *row);

/* Writes the JSON Schema of what view_object writes. */
void view_schema(view_function *view, const char *command, FILE *out);

#endif
