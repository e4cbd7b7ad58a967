/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_record.c: declarations of structs and unions. */
#include "ffi_parser.h"
#include "str.h"

#include <string.h>

/* Fields are collected in a list until their number is known. */
typedef struct FieldNode {
  Field field;
  struct FieldNode *next;
  CPosition position;
} FieldNode;

typedef struct FieldList {
  FieldNode *first, **last;
  uint32_t n;
  bool is_union;
} FieldList;

static Field *add_field(CParser *c, FieldList *list, String *name, CType *type,
                        CPosition position) {
  CLexer *x = &c->x;
  for (FieldNode *n = list->first; name != NULL && n != NULL; n = n->next)
    if (n->field.name != NULL && string_equal(n->field.name, name))
      clexer_error_at(x, position, "member '%s' twice", name->data);
  FieldNode *node = ffi_memory(x->L, x->ffi, sizeof *node);
  node->field.name = ffi_keep_string(x->L, x->ffi, name);
  node->field.type = type;
  node->position = position;
  *list->last = node;
  list->last = &node->next;
  list->n++;
  return &node->field;
}

/* ---- members ------------------------------------------------------------- */

static void bit_field(CParser *c, FieldList *list, const Declarator *d, CType *t, Attributes *a) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  if (!is_integer_type(t))
    clexer_error_at(x, d->position, "bit-field of a type that is no integer");
  size_t most = t->kind == CKIND_BOOL ? 1 : t->size * 8;
  size_t width = cparser_count(c, most, "width of a bit-field");
  if (width == 0 && d->name != NULL)
    clexer_error_at(x, position, "bit-field '%s' has no bits", d->name->data);
  cparser_attributes(c, a);
  Field *f = add_field(c, list, d->name, t, d->position);
  f->is_bits = 1;
  f->bits = (uint8_t)width;
  f->packed = a->packed;
  f->align = a->align;
}

static void check_member(CParser *c, const Declarator *d, const CType *t) {
  CLexer *x = &c->x;
  if (t->kind == CKIND_FUNCTION) clexer_error_at(x, d->position, "member is a function");
  if (t->kind == CKIND_VOID || (t->size == SIZE_UNKNOWN && t->kind != CKIND_ARRAY))
    clexer_error_at(x, d->position, "member has an incomplete type");
}

static void parse_member(CParser *c, FieldList *list, const Specifiers *s) {
  CLexer *x = &c->x;
  Declarator d;
  if (x->token == ':') { /* bits without a name */
    memset(&d, 0, sizeof d);
    d.position = clexer_position(x);
  } else {
    cparser_declarator(c, &d, NAME_REQUIRED);
  }
  CType *t = cparser_declared_type(c, &d, s);
  Attributes a = s->attributes;
  if (d.attributes.packed) a.packed = true;
  if (d.attributes.align > a.align) a.align = d.attributes.align;
  if (clexer_accept(x, ':')) {
    bit_field(c, list, &d, t, &a);
  } else {
    check_member(c, &d, t);
    Field *f = add_field(c, list, d.name, t, d.position);
    f->packed = a.packed;
    f->align = a.align;
  }
}

/* Parses `static const T name = value, ...;`. */
static void parse_constants(CParser *c, FieldList *list, const Specifiers *s) {
  CLexer *x = &c->x;
  do {
    Declarator d;
    cparser_declarator(c, &d, NAME_REQUIRED);
    CType *t = cparser_declared_type(c, &d, s);
    if (!is_integer_type(t) || !(t->quals & QUAL_CONST))
      clexer_error_at(x, d.position, "only integer constants may be static");
    clexer_expect(x, '=');
    int64_t value = (int64_t)cparser_expression(c).value;
    Field *f = add_field(c, list, d.name, t, d.position);
    f->is_const = 1;
    f->value = value;
  } while (clexer_accept(x, ','));
}

static void declare_members(CParser *c, FieldList *list) {
  CLexer *x = &c->x;
  Specifiers s;
  CPosition position = clexer_position(x);
  cparser_specifiers(c, &s);
  if (s.storage == STORAGE_STATIC) {
    parse_constants(c, list, &s);
  } else if (s.storage != STORAGE_NONE) {
    clexer_error_at(x, position, "a member has no storage class");
  } else if (x->token == ';') {
    if (s.type->kind == CKIND_RECORD && s.type->record->complete && s.type->record->anonymous)
      /* its members are members of the outer record */
      add_field(c, list, NULL, s.type, position)->align = s.attributes.align;
    else if (!s.is_definition) clexer_error(x, "name expected");
  } else {
    do parse_member(c, list, &s);
    while (clexer_accept(x, ','));
  }
  clexer_expect(x, ';');
}

/* ---- whole records ------------------------------------------------------- */

/* Checks that only the last member of a struct has no known size. (A struct that ends
 * with such a member may be a member itself, as for gcc; it has no room for elements
 * then.) */
static void check_flexible(CParser *c, const FieldList *list) {
  for (const FieldNode *n = list->first; n != NULL; n = n->next) {
    const CType *t = n->field.type;
    bool flexible = t->kind == CKIND_ARRAY && t->count == COUNT_UNKNOWN;
    if (flexible && (n->next != NULL || list->is_union))
      clexer_error_at(&c->x, n->position, "a member of unknown size must be the last of a struct");
  }
}

static const char *unsupported_in(const CType *t) {
  while (t->kind == CKIND_ARRAY) t = t->element;
  return t->kind == CKIND_RECORD ? t->record->unsupported : NULL;
}

static void parse_body(CParser *c, CType *t) {
  CLexer *x = &c->x;
  FieldList list = {NULL, NULL, 0, t->record->is_union};
  list.last = &list.first;
  cparser_enter(c);
  clexer_expect(x, '{');
  while (x->token != '}') {
    if (x->token == CT_END) clexer_error(x, "'}' expected");
    if (!clexer_accept(x, ';')) declare_members(c, &list);
  }
  cparser_leave(c);
  check_flexible(c, &list);
  Record *r = t->record;
  r->fields = ffi_memory(x->L, x->ffi, (list.n + 1) * sizeof *r->fields);
  r->nfields = 0;
  for (const FieldNode *n = list.first; n != NULL; n = n->next) {
    r->fields[r->nfields++] = n->field;
    if (r->unsupported == NULL) r->unsupported = unsupported_in(n->field.type);
  }
}

/* Returns the number of entries of the hash table that a record's members need, anonymous
   parts included. */
static size_t names_in(const Record *r) {
  size_t n = 0;
  for (uint32_t i = 0; i < r->nfields; i++) {
    const Field *f = &r->fields[i];
    if (f->name != NULL) n++;
    else if (f->type->kind == CKIND_RECORD) n += names_in(f->type->record);
  }
  return n;
}

static void enter_names(CParser *c, Record *to, const Record *from, size_t offset, uint8_t quals) {
  lua_State *L = c->x.L;
  for (uint32_t i = 0; i < from->nfields; i++) {
    const Field *f = &from->fields[i];
    if (f->name == NULL) {
      if (f->type->kind == CKIND_RECORD)
        enter_names(c, to, f->type->record, offset + f->offset, quals | f->type->quals);
      continue;
    }
    uint32_t at = (uint32_t)((uintptr_t)f->name >> 4) & to->lookup_mask;
    while (to->lookup[at].name != NULL) {
      if (string_equal(to->lookup[at].name, f->name))
        clexer_error(&c->x, "member '%s' twice", f->name->data);
      at = (at + 1) & to->lookup_mask;
    }
    to->lookup[at] = *f;
    to->lookup[at].offset += offset;
    to->lookup[at].type = ctype_qualified(L, f->type, quals);
  }
}

static void make_lookup(CParser *c, Record *r) {
  size_t size = 4;
  while (size < 2 * names_in(r)) size *= 2;
  r->lookup = ffi_memory(c->x.L, c->x.ffi, size * sizeof *r->lookup);
  r->lookup_mask = (uint32_t)size - 1;
  enter_names(c, r, r, 0, 0);
}

static CType *tagged_type(CParser *c, String *tag, CPosition position, bool is_union) {
  CLexer *x = &c->x;
  CType *t = ffi_lookup(x->ffi->tags, tag);
  if (t == NULL) {
    t = ctype_record(x->L, x->ffi, is_union, tag);
    cparser_define(c, x->ffi->tags, tag, t);
  } else if (t->kind != CKIND_RECORD || t->record->is_union != is_union) {
    clexer_error_at(x, position, "'%s' is no %s", tag->data, is_union ? "union" : "struct");
  }
  return t;
}

CType *cparser_record(CParser *c, bool is_union) {
  CLexer *x = &c->x;
  Attributes a = {.align = 0};
  cparser_attributes(c, &a);
  CPosition position = clexer_position(x);
  CType *t = NULL;
  if (x->token == CT_NAME) {
    String *tag = x->name;
    clexer_next(x);
    t = tagged_type(c, tag, position, is_union);
  } else if (x->token == CT_TYPE && x->type->kind == CKIND_RECORD) {
    t = x->type;
    clexer_next(x);
  }
  if (x->token != '{') {
    if (t == NULL) clexer_error(x, "'{' expected");
    return t;
  }
  if (t == NULL) t = ctype_record(x->L, x->ffi, is_union, NULL);
  if (t->record->complete || t->record->fields != NULL)
    clexer_error_at(x, position, "'%s' redefined", t->name->data);
  cparser_note_record(c, t);
  parse_body(c, t);
  uint32_t pack = x->pack;
  clexer_next(x); /* the brace */
  cparser_attributes(c, &a);
  const char *problem = clayout_record(t, a.packed, pack, a.align);
  if (problem != NULL) clexer_error_at(x, position, "%s", problem);
  make_lookup(c, t->record);
  t->record->complete = 1;
  ctype_completed(t);
  return t;
}
