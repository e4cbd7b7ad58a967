/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_types.c: the type table of the foreign function interface: making and
 * interning types, and their names (design: ffi_core.h). */
#include "ffi_core.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory that stays --------------------------------------------------- */

#define BLOCK_SIZE 8000

static void note(Ffi *ffi, JournalNote made) {
  Journal *j = ffi->journal;
  if (j == NULL || j->incomplete) return;
  if (j->count == j->room) {
    const size_t room = j->room == 0 ? 32 : j->room * 2;
    JournalNote *grown = realloc(j->notes, room * sizeof *grown);
    if (grown == NULL) {
      j->incomplete = true;
      return;
    }
    j->notes = grown;
    j->room = room;
  }
  j->notes[j->count++] = made;
}

/* Sets a link from a type that stays, or from a bucket, to another type. */
static void set_link(Ffi *ffi, CType **link, CType *t) {
  note(ffi, (JournalNote){.link = link, .former = *link});
  *link = t;
}

void ffi_journal_begin(Ffi *ffi, Journal *j) {
  rt_assert(ffi->journal == NULL);
  *j = (Journal){.block = ffi->block, .block_left = ffi->block_left};
  ffi->journal = j;
}

/* Frees the objects of a failed text. Clears their memory, because ffi_memory returns
   zeroed memory. */
static void give_back(lua_State *L, Ffi *ffi, const Journal *j) {
  TValue none;
  set_nil(&none);
  for (size_t i = j->count; i-- > 0;) {
    const JournalNote *n = &j->notes[i];
    if (n->link != NULL) *n->link = n->former;
    else table_set(L, ffi->kept, &n->kept, &none);
  }
  ffi->block = j->block;
  ffi->block_left = j->block_left;
  if (j->block_left > 0) memset(j->block, 0, j->block_left);
}

void ffi_journal_end(lua_State *L, Ffi *ffi, bool failed) {
  Journal *j = ffi->journal;
  ffi->journal = NULL;
  if (failed && !j->incomplete) give_back(L, ffi, j);
  free(j->notes);
}

void ffi_keep(lua_State *L, Ffi *ffi, const TValue *value) {
  TValue yes;
  if (ffi->journal != NULL && table_get(ffi->kept, value)->tag == TAG_NIL)
    note(ffi, (JournalNote){.kept = *value});
  set_bool(&yes, true);
  table_set(L, ffi->kept, value, &yes);
}

static char *new_block(lua_State *L, Ffi *ffi, size_t size) {
  TValue block;
  set_userdata(&block, userdata_new(L, size, 0));
  ffi_keep(L, ffi, &block);
  char *p = userdata_payload(as_userdata(&block));
  memset(p, 0, size);
  return p;
}

void *ffi_memory(lua_State *L, Ffi *ffi, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (size > BLOCK_SIZE / 4) return new_block(L, ffi, size);
  if (size > ffi->block_left) {
    ffi->block = new_block(L, ffi, BLOCK_SIZE);
    ffi->block_left = BLOCK_SIZE;
  }
  char *p = ffi->block;
  ffi->block += size;
  ffi->block_left -= size;
  return p;
}

String *ffi_keep_string(lua_State *L, Ffi *ffi, String *s) {
  if (s == NULL) return NULL;
  TValue key;
  set_string(&key, s);
  ffi_keep(L, ffi, &key);
  return s;
}

void *ffi_lookup(Table *t, String *name) {
  TValue key;
  set_string(&key, name);
  const TValue *found = table_get(t, &key);
  return found->tag == TAG_LIGHTUSERDATA ? found->v.p : NULL;
}

void ffi_define(lua_State *L, Table *t, String *name, void *what) {
  TValue key, value;
  set_string(&key, name);
  if (what != NULL) set_light(&value, what);
  else set_nil(&value);
  table_set(L, t, &key, &value);
}

/* ---- making types -------------------------------------------------------- */

CType *ctype_new(lua_State *L, Ffi *ffi, CKind kind, CAccess access, size_t size, uint32_t align) {
  CType *t = ffi_memory(L, ffi, sizeof *t);
  t->kind = (uint8_t)kind;
  t->access = (uint8_t)access;
  t->size = size;
  t->align = align;
  t->plain = t;
  t->count = COUNT_UNKNOWN;
  t->ffi = ffi;
  return t;
}

static String *kept_text(lua_State *L, Ffi *ffi, const char *text) {
  return ffi_keep_string(L, ffi, string_from_c(L, text));
}

void ctype_open(lua_State *L, Ffi *ffi) {
#define BASIC(id, text, kind_, access_, c, flags_) \
  { \
    CType *t = ctype_new(L, ffi, CKIND_##kind_, ACCESS_##access_, sizeof(c), _Alignof(c)); \
    t->name = kept_text(L, ffi, text); \
    t->flags = flags_; \
    ffi->basic[BASIC_##id] = t; \
  }
#include "ffi_basic.def"
#undef BASIC
  ffi->basic[BASIC_VOID]->size = SIZE_UNKNOWN;
  if (CHAR_MIN == 0) {
    ffi->basic[BASIC_CHAR]->access = ACCESS_U8;
    ffi->basic[BASIC_CHAR]->flags |= CTYPE_UNSIGNED;
  }
}

CType *ctype_pointer(lua_State *L, CType *to) {
  if (to->pointer_to == NULL) {
    CType *t =
        ctype_new(L, to->ffi, CKIND_POINTER, ACCESS_POINTER, sizeof(void *), _Alignof(void *));
    t->element = to;
    t->flags = CTYPE_UNSIGNED;
    set_link(to->ffi, &to->pointer_to, t);
  }
  return to->pointer_to;
}

CType *ctype_reference(lua_State *L, CType *to) {
  if (to->kind == CKIND_REFERENCE) return to;
  if (to->reference_to == NULL) {
    CType *t =
        ctype_new(L, to->ffi, CKIND_REFERENCE, ACCESS_REFERENCE, sizeof(void *), _Alignof(void *));
    t->element = to;
    set_link(to->ffi, &to->reference_to, t);
  }
  return to->reference_to;
}

/* ---- interning of derived types ------------------------------------------ */

static size_t mix_hash(size_t hash, const void *p) {
  return (hash ^ (uintptr_t)p >> 4) * (size_t)0x9e3779b97f4a7c15u;
}

static CType **derived_bucket(Ffi *ffi, size_t hash) {
  return &ffi->derived[(hash >> 40) % DERIVED_BUCKETS];
}

CType *ctype_array(lua_State *L, CType *element, size_t count, uint8_t flags) {
  Ffi *ffi = element->ffi;
  CType **head = derived_bucket(ffi, mix_hash(mix_hash(count, element), ffi));
  for (CType *t = *head; t != NULL; t = t->next)
    if (t->kind == CKIND_ARRAY && t->element == element && t->count == count && t->flags == flags)
      return t;
  size_t size;
  if (count == COUNT_UNKNOWN || __builtin_mul_overflow(count, element->size, &size))
    size = SIZE_UNKNOWN;
  CType *t = ctype_new(L, ffi, CKIND_ARRAY, ACCESS_AGGREGATE, size, element->align);
  t->element = element;
  t->count = count;
  t->flags = flags;
  t->next = *head;
  set_link(ffi, head, t);
  return t;
}

static bool same_signature(const CType *t, CType *result, CType *const *params, uint32_t n,
                           bool variadic) {
  if (t->kind != CKIND_FUNCTION || t->element != result) return false;
  const Signature *s = t->signature;
  return s->nparams == n && s->variadic == variadic &&
         memcmp(s->params, params, n * sizeof *params) == 0;
}

CType *ctype_function(lua_State *L, CType *result, CType *const *params, uint32_t n,
                      bool variadic) {
  Ffi *ffi = result->ffi;
  size_t hash = mix_hash(variadic, result);
  for (uint32_t i = 0; i < n; i++) hash = mix_hash(hash, params[i]);
  CType **head = derived_bucket(ffi, hash);
  for (CType *t = *head; t != NULL; t = t->next)
    if (same_signature(t, result, params, n, variadic)) return t;
  CType *t = ctype_new(L, ffi, CKIND_FUNCTION, ACCESS_NONE, SIZE_UNKNOWN, 1);
  Signature *s = ffi_memory(L, ffi, sizeof *s + n * sizeof *params);
  s->nparams = n;
  s->variadic = variadic;
  if (n > 0) memcpy(s->params, params, n * sizeof *params);
  t->element = result;
  t->signature = s;
  t->next = *head;
  set_link(ffi, head, t);
  return t;
}

CType *ctype_qualified(lua_State *L, CType *t, uint8_t quals) {
  if (t->kind == CKIND_ARRAY)
    return ctype_array(L, ctype_qualified(L, t->element, quals), t->count, t->flags);
  if (t->kind == CKIND_FUNCTION || t->kind == CKIND_REFERENCE) return t;
  CType *plain = t->plain;
  quals |= t->quals;
  if (quals == 0) return plain;
  if (plain->qualified[quals] == NULL) {
    CType *q = ffi_memory(L, t->ffi, sizeof *q);
    *q = *plain;
    q->quals = quals;
    q->pointer_to = q->reference_to = q->next = NULL;
    memset(q->qualified, 0, sizeof q->qualified);
    set_link(t->ffi, &plain->qualified[quals], q);
  }
  return plain->qualified[quals];
}

/* ---- types with names of their own --------------------------------------- */

static String *tagged_name(lua_State *L, Ffi *ffi, const char *keyword, String *tag) {
  char text[CTYPE_NAME_MAX];
  if (tag == NULL) snprintf(text, sizeof text, "%s", keyword);
  else snprintf(text, sizeof text, "%s %s", keyword, tag->data);
  return kept_text(L, ffi, text);
}

CType *ctype_record(lua_State *L, Ffi *ffi, bool is_union, String *tag) {
  CType *t = ctype_new(L, ffi, CKIND_RECORD, ACCESS_AGGREGATE, SIZE_UNKNOWN, 1);
  t->record = ffi_memory(L, ffi, sizeof *t->record);
  t->record->is_union = is_union;
  t->record->anonymous = tag == NULL;
  t->record->type = t;
  t->name = tagged_name(L, ffi, is_union ? "union" : "struct", tag);
  return t;
}

CType *ctype_opaque(lua_State *L, Ffi *ffi, const char *name, size_t size, uint32_t align,
                    const char *what) {
  CType *t = ctype_record(L, ffi, false, NULL);
  t->name = kept_text(L, ffi, name);
  t->size = size;
  t->align = align;
  t->record->anonymous = 0;
  t->record->complete = 1;
  t->record->unsupported = what;
  return t;
}

CType *ctype_enum(lua_State *L, Ffi *ffi, String *tag) {
  CType *t = ctype_new(L, ffi, CKIND_ENUM, ACCESS_U32, SIZE_UNKNOWN, 4);
  t->element = ffi->basic[BASIC_UINT];
  t->name = tagged_name(L, ffi, "enum", tag);
  return t;
}

/* Returns a type like t with another alignment: __attribute__((aligned)) of a typedef. */
CType *ctype_aligned(lua_State *L, CType *t, uint32_t align) {
  if (t->align == align) return t;
  CType *copy = ffi_memory(L, t->ffi, sizeof *copy);
  *copy = *t->plain;
  copy->plain = copy;
  copy->align = align;
  copy->pointer_to = copy->reference_to = copy->next = NULL;
  memset(copy->qualified, 0, sizeof copy->qualified);
  return ctype_qualified(L, copy, t->quals);
}

void ctype_completed(CType *t) {
  for (unsigned quals = 1; quals < 4; quals++) {
    CType *q = t->qualified[quals];
    if (q == NULL) continue;
    q->size = t->size;
    q->align = t->align;
    q->access = t->access;
    q->flags = t->flags;
    q->element = t->element;
  }
}

const Field *ctype_field(const CType *t, String *name) {
  const Record *r = t->record;
  if (r->lookup == NULL) return NULL;
  for (uint32_t i = (uint32_t)((uintptr_t)name >> 4) & r->lookup_mask;;
       i = (i + 1) & r->lookup_mask) {
    const Field *f = &r->lookup[i];
    if (f->name == name) return f;
    if (f->name == NULL) break;
  }
  if (name->type == TYPE_SHORT_STRING) return NULL;
  /* compares the text, since long strings are not interned */
  for (uint32_t i = 0; i <= r->lookup_mask; i++)
    if (r->lookup[i].name != NULL && string_equal(r->lookup[i].name, name)) return &r->lookup[i];
  return NULL;
}

/* Returns the number of bytes of one element of the flexible part, or 0 if there is
   none. */
static size_t flexible_unit(const CType *t) {
  if (t->kind == CKIND_ARRAY) return t->flags & (CTYPE_VLA | CTYPE_FLEXIBLE) ? t->element->size : 0;
  if (t->kind != CKIND_RECORD || !(t->flags & CTYPE_FLEXIBLE)) return 0;
  const Record *r = t->record;
  return r->fields[r->nfields - 1].type->element->size;
}

size_t ctype_size_of(const CType *t, size_t n) {
  size_t unit = flexible_unit(t), fixed = 0, variable, total;
  if (unit == 0) return t->size;
  if (t->kind == CKIND_RECORD) fixed = t->record->fields[t->record->nfields - 1].offset;
  if (__builtin_mul_overflow(n, unit, &variable) ||
      __builtin_add_overflow(fixed, variable, &total) || total > PTRDIFF_MAX / 2)
    return SIZE_UNKNOWN;
  if (t->kind == CKIND_ARRAY) return total;
  total = (total + t->align - 1) / t->align * t->align;
  return total < t->size ? t->size : total;
}

/* ---- names --------------------------------------------------------------- */

/* The text of a type. Declarators grow to both sides of the name. */
typedef struct Text {
  char bytes[2 * CTYPE_NAME_MAX];
  size_t head, tail; /* bytes [head, tail) */
} Text;

static void prepend_text(Text *text, const char *s) {
  size_t n = strlen(s);
  if (n > text->head) return; /* text that does not fit is left out */
  text->head -= n;
  memcpy(text->bytes + text->head, s, n);
}

static void append_text(Text *text, const char *s) {
  size_t n = strlen(s);
  if (n > sizeof text->bytes - text->tail) return;
  memcpy(text->bytes + text->tail, s, n);
  text->tail += n;
}

static void prepend_quals(Text *text, uint8_t quals) {
  if (quals == 0) return;
  if (text->head < text->tail) prepend_text(text, " ");
  if (quals & QUAL_VOLATILE) prepend_text(text, quals & QUAL_CONST ? " volatile" : "volatile");
  if (quals & QUAL_CONST) prepend_text(text, "const");
}

static void write_parameters(Text *text, const Signature *s, unsigned depth);

static void write_name(Text *text, const CType *t, unsigned depth) {
  char number[32];
  bool was_pointer = false;
  for (;; t = t->element) {
    switch (t->kind) {
      case CKIND_POINTER: case CKIND_REFERENCE:
        prepend_quals(text, t->quals);
        prepend_text(text, t->kind == CKIND_POINTER ? "*" : "&");
        was_pointer = true;
        continue;
      case CKIND_ARRAY:
        if (was_pointer) prepend_text(text, "("), append_text(text, ")");
        if (t->flags & CTYPE_VLA) snprintf(number, sizeof number, "[?]");
        else if (t->count == COUNT_UNKNOWN) snprintf(number, sizeof number, "[]");
        else snprintf(number, sizeof number, "[%zu]", t->count);
        append_text(text, number);
        was_pointer = false;
        continue;
      case CKIND_FUNCTION:
        if (was_pointer) prepend_text(text, "("), append_text(text, ")");
        write_parameters(text, t->signature, depth);
        was_pointer = false;
        continue;
      default:
        if (text->head < text->tail) prepend_text(text, " ");
        prepend_text(text, t->name->data);
        prepend_quals(text, t->quals);
        return;
    }
  }
}

static void write_parameters(Text *text, const Signature *s, unsigned depth) {
  append_text(text, "(");
  for (uint32_t i = 0; i < s->nparams; i++) {
    if (i > 0) append_text(text, ", ");
    if (depth >= 3) {
      append_text(text, "?");
      continue;
    }
    Text inner = {.head = CTYPE_NAME_MAX, .tail = CTYPE_NAME_MAX};
    write_name(&inner, s->params[i], depth + 1);
    if (inner.tail < sizeof inner.bytes) inner.bytes[inner.tail] = '\0';
    else inner.bytes[sizeof inner.bytes - 1] = '\0';
    append_text(text, inner.bytes + inner.head);
  }
  if (s->variadic) append_text(text, s->nparams > 0 ? ", ..." : "...");
  append_text(text, ")");
}

const char *ctype_name(const CType *t, char *buffer) {
  Text text = {.head = CTYPE_NAME_MAX, .tail = CTYPE_NAME_MAX};
  write_name(&text, t, 0);
  size_t n = text.tail - text.head;
  if (n >= CTYPE_NAME_MAX) n = CTYPE_NAME_MAX - 1;
  memcpy(buffer, text.bytes + text.head, n);
  buffer[n] = '\0';
  return buffer;
}

const char *ctype_push_name(lua_State *L, const CType *t) {
  char name[CTYPE_NAME_MAX];
  return lua_pushstring(L, ctype_name(t, name));
}

/* ---- ctype objects ------------------------------------------------------- */

void ctype_push(lua_State *L, CType *t) {
  Ffi *ffi = t->ffi;
  TValue key, object;
  set_light(&key, t);
  const TValue *found = table_get(ffi->objects, &key);
  if (is_nil(found)) {
    Userdata *u = userdata_new(L, sizeof(CtypeObject), 0);
    u->kind = USERDATA_CTYPE;
    u->metatable = ffi->ctype_metatable;
    gc_barrier_object(L, u, ffi->ctype_metatable);
    ((CtypeObject *)userdata_payload(u))->type = t;
    set_userdata(&object, u);
    table_set(L, ffi->objects, &key, &object);
    found = &object;
  }
  value_copy(L->top, found);
  L->top++;
}
