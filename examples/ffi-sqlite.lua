-- SPDX-License-Identifier: MIT
-- SQLite through the module saros.ffi: an index of the words of text files.
--
--   saros ffi-sqlite.lua FILE...
--
-- Reads the files into a table (in memory) with a prepared statement in one
-- transaction, then asks which words occur most often: once with a callback for
-- each row, once with a prepared statement that is stepped through, and shows that
-- both answer the same. (Debian package: libsqlite3-0)

local ffi = require "saros.ffi"

ffi.cdef [[
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
enum { SQLITE_OK = 0, SQLITE_ROW = 100, SQLITE_DONE = 101 };
int sqlite3_open(const char *filename, sqlite3 **db);
int sqlite3_close(sqlite3 *db);
const char *sqlite3_errmsg(sqlite3 *db);
int sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *context, int n, char **values, char **names),
                 void *context, char **error);
void sqlite3_free(void *);
int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **statement, const char **tail);
int sqlite3_bind_text(sqlite3_stmt *, int index, const char *text, int size, void (*destructor)(void *));
int sqlite3_bind_int64(sqlite3_stmt *, int index, int64_t value);
int sqlite3_step(sqlite3_stmt *);
int sqlite3_reset(sqlite3_stmt *);
int sqlite3_finalize(sqlite3_stmt *);
int64_t sqlite3_column_int64(sqlite3_stmt *, int column);
const unsigned char *sqlite3_column_text(sqlite3_stmt *, int column);
]]

local sqlite = ffi.load "libsqlite3.so.0"

-- ---- The library, as a program would want it --------------------------------

local function open(path)
  local handle = ffi.new "sqlite3 *[1]"
  local status = sqlite.sqlite3_open(path, handle)
  local db = ffi.gc(handle[0], sqlite.sqlite3_close)
  if status ~= ffi.C.SQLITE_OK then error(ffi.string(sqlite.sqlite3_errmsg(db))) end
  return db
end

local function check(db, status)
  if status ~= ffi.C.SQLITE_OK then error(ffi.string(sqlite.sqlite3_errmsg(db)), 2) end
end

-- Runs statements; `each` (or nil) is called with a table of column = text a row.
local function execute(db, sql, each)
  local message = ffi.new "char *[1]"
  local callback = each and ffi.cast("int (*)(void *, int, char **, char **)", function(_, n, values, names)
    local row = {}
    for i = 0, n - 1 do
      if values[i] ~= ffi.nullptr then row[ffi.string(names[i])] = ffi.string(values[i]) end
    end
    each(row)
    return 0
  end)
  local ok, status = pcall(sqlite.sqlite3_exec, db, sql, callback, nil, message)
  if callback then callback:free() end
  if not ok then error(status, 0) end -- from `each`
  if status ~= ffi.C.SQLITE_OK then
    local text = ffi.string(message[0])
    sqlite.sqlite3_free(message[0])
    error(text, 2)
  end
end

local function prepare(db, sql)
  local statement = ffi.new "sqlite3_stmt *[1]"
  check(db, sqlite.sqlite3_prepare_v2(db, sql, #sql, statement, nil))
  return ffi.gc(statement[0], sqlite.sqlite3_finalize)
end

local function finalize(statement) sqlite.sqlite3_finalize(ffi.gc(statement, nil)) end

-- ---- The index ------------------------------------------------------------------

if #arg == 0 then
  io.stderr:write "usage: ffi-sqlite.lua FILE...\n"
  os.exit(2)
end

local db = open ":memory:"
execute(db, "CREATE TABLE words (word TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL)")

local inserted = 0
execute(db, "BEGIN")
local insert = prepare(db, "INSERT INTO words VALUES (?1, ?2, ?3)")
for _, path in ipairs(arg) do
  local number = 0
  for line in assert(io.open(path)):lines() do
    number = number + 1
    for word in line:gmatch "%a%a+" do
      word = word:lower()
      check(db, sqlite.sqlite3_bind_text(insert, 1, word, #word, nil)) -- (a string stays put while it is alive)
      check(db, sqlite.sqlite3_bind_text(insert, 2, path, #path, nil))
      check(db, sqlite.sqlite3_bind_int64(insert, 3, number))
      if sqlite.sqlite3_step(insert) ~= ffi.C.SQLITE_DONE then check(db, -1) end
      sqlite.sqlite3_reset(insert)
      inserted = inserted + 1
    end
  end
end
finalize(insert)
execute(db, "COMMIT")

local question = "SELECT word, count(*) AS n, max(line) AS last FROM words GROUP BY word ORDER BY n DESC, word LIMIT 10"
local by_callback = {}
execute(db, question, function(row) by_callback[#by_callback + 1] = ("%s %s %s"):format(row.word, row.n, row.last) end)

local by_statement = {}
local statement = prepare(db, question)
while sqlite.sqlite3_step(statement) == ffi.C.SQLITE_ROW do
  by_statement[#by_statement + 1] = ("%s %d %d"):format(ffi.string(sqlite.sqlite3_column_text(statement, 0)),
    sqlite.sqlite3_column_int64(statement, 1), sqlite.sqlite3_column_int64(statement, 2))
end
finalize(statement)

print(("%d words; the most frequent ones (how often, last line):"):format(inserted))
for i, text in ipairs(by_statement) do
  assert(text == by_callback[i])
  print("  " .. text)
end
assert(#by_statement == #by_callback)

local ok, message = pcall(execute, db, "SELECT nonsense")
assert(not ok)
print("an error reads: " .. message)
local rows = 0
ok, message = pcall(execute, db, "SELECT word FROM words", function() rows = rows + 1 if rows == 3 then error("enough", 0) end end)
assert(not ok and message == "enough" and rows == 3)
