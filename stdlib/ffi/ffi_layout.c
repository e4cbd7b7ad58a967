/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_layout.c: sizes and offsets of structs and unions, as gcc lays them out
 * on 64-bit Linux.
 *
 * An ordinary member goes to the next multiple of its alignment. A bit-field goes to the
 * next bit, unless it would then span more units of its type's alignment than the type
 * itself does; a packed bit-field may do that. A width of 0 advances to a multiple of the
 * alignment of its type, also where members are packed. A named bit-field contributes its
 * type's alignment to the alignment of the struct. But if it fills an aligned unit of 1,
 * 2, 4 or 8 bytes at its offset, it contributes the unit's alignment, which is larger if
 * a typedef lowers the type's alignment. An unnamed bit-field contributes its type's
 * alignment on arm64, and nothing on x86-64. Packed members have alignment 1, members
 * with the attribute `aligned` at least the alignment that it says.
 *
 * Bits are read and written in a unit of 1, 2, 4 or 8 bytes that lies inside the struct
 * and holds them; if there is no such unit for a packed field, in the 1 to 9 bytes that
 * hold its bits.
 */
#include "ffi_core.h"

typedef struct Layout {
  uint64_t bits;   /* the end of what has been laid out so far */
  uint64_t most;   /* largest member of a union, in bits */
  uint32_t align;
  bool is_union, packed;
  uint32_t pack;
} Layout;

#define LAYOUT_LIMIT ((uint64_t)1 << 58) /* bits */

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static uint32_t limited(const Layout *l, uint32_t align) {
  return l->pack != 0 && align > l->pack ? l->pack : align;
}

static uint32_t member_align(const Layout *l, const Field *f) {
  uint32_t align = f->packed || l->packed ? 1 : f->type->align;
  if (f->align > align) align = f->align;
  return limited(l, align);
}

static void raise_align(Layout *l, uint32_t align) {
  if (align > l->align) l->align = align;
}

static void lay_out_member(Layout *l, Field *f) {
  uint32_t align = member_align(l, f);
  size_t size = f->type->kind == CKIND_ARRAY && f->type->count == COUNT_UNKNOWN ? 0 : f->type->size;
  uint64_t at = l->is_union ? 0 : round_up(l->bits, (uint64_t)align * 8);
  raise_align(l, align);
  f->offset = at / 8;
  l->bits = size > LAYOUT_LIMIT / 8 ? LAYOUT_LIMIT : at + (uint64_t)size * 8;
}

#ifdef __aarch64__
#define UNNAMED_BITS_ALIGN 1
#else
#define UNNAMED_BITS_ALIGN 0
#endif

static bool spans_too_many(const CType *t, uint64_t start, uint64_t bits) {
  uint64_t align = (uint64_t)t->align * 8;
  return (start % align + bits + align - 1) / align > (uint64_t)t->size * 8 / align;
}

bool clayout_fills_unit(const Field *f, uint64_t at) {
  uint32_t bits = f->bits;
  return bits >= 8 && (bits & (bits - 1)) == 0 && at % bits == 0 && (bits == 8 || !f->packed);
}

static void lay_out_bits(Layout *l, Field *f, uint64_t *at) {
  uint64_t start = l->is_union ? 0 : l->bits, boundary = (uint64_t)f->type->align * 8;
  if (l->packed) f->packed = 1;
  /* gcc decides this before the field's own `aligned` moves the field */
  bool fills_unit = clayout_fills_unit(f, start);
  if (f->bits == 0) {
    start = round_up(start, boundary);
    if (UNNAMED_BITS_ALIGN) raise_align(l, f->type->align);
  } else {
    if (f->align != 0) start = round_up(start, (uint64_t)limited(l, f->align) * 8);
    if (!f->packed && l->pack == 0 && !fills_unit && spans_too_many(f->type, start, f->bits))
      start = round_up(start, boundary);
    if (f->name != NULL || UNNAMED_BITS_ALIGN) {
      raise_align(l, f->packed && l->pack == 0 ? 1 : limited(l, f->type->align));
      raise_align(l, limited(l, f->align));
      if (fills_unit && f->name != NULL) raise_align(l, limited(l, f->bits / 8));
    }
  }
  *at = start;
  l->bits = start + f->bits;
}

/* Chooses the unit of a bit-field: the 1, 2, 4 or 8 bytes within `size` bytes that hold
 * the bits at `at` or, if there are none, the bytes that the bits are in. */
static void choose_unit(Field *f, uint64_t at, uint64_t size) {
  uint64_t offset = at / 8;
  uint32_t unit = (uint32_t)(at % 8 + f->bits + 7) / 8;
  for (uint32_t n = 1; n <= 8; n *= 2) {
    uint64_t aligned = at / 8 / n * n;
    if (aligned + n > size) aligned = size >= n ? size - n : 0;
    bool holds = aligned + n <= size && at >= aligned * 8 && at + f->bits <= (aligned + n) * 8;
    if (!holds && (offset + n > size || at + f->bits > (offset + n) * 8)) continue;
    if (holds) offset = aligned;
    unit = n;
    break;
  }
  f->offset = offset;
  f->unit = (uint8_t)unit;
  f->shift = (uint8_t)(at - offset * 8);
}

/* Lays out all fields. The bit where a bit-field begins is kept in `value` until the size
   is known. */
static void lay_out_all(Layout *l, Record *r) {
  for (uint32_t i = 0; i < r->nfields && l->bits < LAYOUT_LIMIT; i++) {
    Field *f = &r->fields[i];
    if (f->is_const) continue;
    uint64_t at = 0;
    if (f->is_bits) lay_out_bits(l, f, &at);
    else lay_out_member(l, f);
    if (f->is_bits) f->value = (int64_t)at;
    if (l->bits > l->most) l->most = l->bits;
  }
}

static bool ends_flexible(const Record *r) {
  if (r->nfields == 0) return false;
  const CType *last = r->fields[r->nfields - 1].type;
  return last->kind == CKIND_ARRAY && last->count == COUNT_UNKNOWN;
}

const char *clayout_record(CType *t, bool packed, uint32_t pack, uint32_t align) {
  Record *r = t->record;
  Layout l = {.align = 1, .is_union = r->is_union, .packed = packed, .pack = pack};
  lay_out_all(&l, r);
  if (l.bits >= LAYOUT_LIMIT) return "struct is too large";
  raise_align(&l, align);
  uint64_t size = round_up(round_up(l.is_union ? l.most : l.bits, 8) / 8, l.align);
  for (uint32_t i = 0; i < r->nfields; i++) {
    Field *f = &r->fields[i];
    if (!f->is_bits || f->bits == 0) continue;
    uint64_t at = (uint64_t)f->value;
    f->value = 0;
    choose_unit(f, at, size);
  }
  t->align = l.align;
  t->size = size;
  if (ends_flexible(r)) t->flags |= CTYPE_FLEXIBLE | CTYPE_VLS;
  return NULL;
}
