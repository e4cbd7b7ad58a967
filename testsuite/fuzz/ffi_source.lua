-- SPDX-License-Identifier: MIT
-- The C library of ffi_program.lua: reports sizes and offsets, fills records, and says what
-- its functions were given, and what a callback returned, in `got`.

local source = {}

source.head = [[
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
%s
unsigned char got[65536];
int got_size;
static unsigned char *const masks[];
static const int sizes[];

static void note(const void *p, int size) {
  memcpy(got + got_size, p, size);
  got_size += size;
}

/* The bits of a record that are values; the others are padding. */
void mask_copy(int record, void *to, const void *from) {
  for (int i = 0; i < sizes[record]; i++)
    ((unsigned char *)to)[i] = ((const unsigned char *)from)[i] & masks[record][i];
}

static void note_record(int record, const void *p) {
  mask_copy(record, got + got_size, p);
  got_size += sizes[record];
}

static int64_t next_value(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return (int64_t)(*seed >> 8) - (1 << 23);
}
]]

local function put(leaf)
  local s = leaf.scalar
  local cast = s.is_pointer and ("(%s)(uintptr_t)"):format(s.c) or ("(%s)"):format(s.c)
  return ("p->%s = %sv; return;"):format(leaf.path, cast)
end

local function get(leaf)
  local cast = leaf.scalar.is_pointer and "(uintptr_t)" or ""
  return ("return (int64_t)%sp->%s;"):format(cast, leaf.path)
end

local function cases(leaves, of)
  local lines = {}
  for k, leaf in ipairs(leaves) do lines[k] = ("    case %d: %s\n"):format(k, of(leaf)) end
  return table.concat(lines)
end

local function mask_leaf(r, leaf)
  if leaf.bits then return ("  m->%s = (%s)-1;\n"):format(leaf.path, leaf.scalar.c) end
  local size = leaf.scalar.is_long_double and "10" or ("sizeof(%s)"):format(leaf.scalar.c)
  return ("  memset((char *)m + offsetof(%s, %s), 0xff, %s);\n"):format(r.c, leaf.path, size)
end

-- mask_N, which is made when the library is loaded; layout_N, put_N, get_N, fill_N
function source.record(r)
  local n, layout, mask = r.n, {}, {}
  for i, member in ipairs(r.members) do layout[i] = (", offsetof(%s, %s)"):format(r.c, member) end
  for i, leaf in ipairs(r.leaves) do mask[i] = mask_leaf(r, leaf) end
  return table.concat {
    r.text,
    ("long layout_%d[] = {sizeof(%s), _Alignof(%s)%s};\n")
      :format(n, r.c, r.c, table.concat(layout)),
    ("static unsigned char mask_%d[sizeof(%s) + 16] __attribute__((aligned(64)));\n")
      :format(n, r.c),
    ("__attribute__((constructor)) static void make_mask_%d(void) {\n  %s *m = (void *)mask_%d;\n")
      :format(n, r.c, n), table.concat(mask), "}\n",
    ("void put_%d(%s *p, int k, int64_t v) {\n  switch (k) {\n%s  }\n}\n")
      :format(n, r.c, cases(r.leaves, put)),
    ("int64_t get_%d(%s *p, int k) {\n  switch (k) {\n%s  }\n  return 0;\n}\n")
      :format(n, r.c, cases(r.leaves, get)),
    ("void fill_%d(%s *p, unsigned seed) {\n  memset(p, 0, sizeof *p);\n"):format(n, r.c),
    ("  for (int k = 1; k <= %d; k++) put_%d(p, k, next_value(&seed));\n}\n"):format(#r.leaves, n),
  }
end

function source.tables(count)
  local masks, sizes = {}, {}
  for i = 1, count do
    masks[i], sizes[i] = ", mask_" .. i, (", sizeof mask_%d - 16"):format(i)
  end
  return ("static unsigned char *const masks[] = {0%s};\nstatic const int sizes[] = {0%s};\n")
    :format(table.concat(masks), table.concat(sizes))
end

-- The type of a parameter or result
function source.type_of(p)
  if not p then return "void" end
  return p.record and p.record.c or p.scalar.c
end

function source.parameters(f)
  local list = {}
  for i, p in ipairs(f.parameters) do list[i] = source.type_of(p) .. " a" .. i end
  return table.concat(list, ", ")
end

-- What both sides declare of a function
function source.prototypes(f)
  local n, result, list = f.record.n, source.type_of(f.result), source.parameters(f)
  return ("%s take_%d(%s);\nvoid call_%d(%s (*f)(%s));\nvoid more_%d(%s, ...);\n")
    :format(result, n, list, n, result, list, n, list)
end

local function note(p, name)
  if p.record then return ("  note_record(%d, &%s);\n"):format(p.record.n, name) end
  local size = p.scalar.is_long_double and "10" or "sizeof " .. name
  return ("  note(&%s, %s);\n"):format(name, size)
end

local function make(p, name)
  if p.record then
    return ("  %s %s; fill_%d(&%s, %d);\n"):format(p.record.c, name, p.record.n, name, p.seed)
  end
  local cast = p.scalar.is_pointer and "(void *)" or ""
  return ("  %s %s = %s%d;\n"):format(p.scalar.c, name, cast, p.value)
end

local function notes(f)
  local lines = {"  got_size = 0;\n"}
  for i, p in ipairs(f.parameters) do lines[i + 1] = note(p, "a" .. i) end
  return table.concat(lines)
end

-- take_N notes its arguments; more_N those behind them too; call_N passes its own to a
-- callback, and notes the result.
function source.functions(f)
  local n, list, result = f.record.n, source.parameters(f), source.type_of(f.result)
  local made, names, more = {}, {}, {}
  for i, p in ipairs(f.parameters) do made[i], names[i] = make(p, "a" .. i), "a" .. i end
  for i, p in ipairs(f.more) do
    more[i] = ("  %s m%d = va_arg(ap, %s); note(&m%d, 8);\n"):format(p.scalar.c, i, p.scalar.c, i)
  end
  return table.concat {
    ("%s take_%d(%s) {\n"):format(result, n, list), notes(f), make(f.result, "r"),
    "  return r;\n}\n",
    ("void call_%d(%s (*f)(%s)) {\n"):format(n, result, list), table.concat(made),
    ("  %s r = f(%s);\n  got_size = 0;\n"):format(result, table.concat(names, ", ")),
    note(f.result, "r"), "}\n",
    ("void more_%d(%s, ...) {\n  va_list ap;\n  va_start(ap, a%d);\n")
      :format(n, list, #f.parameters),
    notes(f), table.concat(more), "  va_end(ap);\n}\n",
  }
end

return source
