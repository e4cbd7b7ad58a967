/* SPDX-License-Identifier: MIT */
/* vm/disasm.c: bytecode as text. The meaning of operands comes from opcodes.def. */
#include "disasm.h"

#include <inttypes.h>

#include "debuginfo.h"
#include "number.h"
#include "opcodes.h"
#include "opinfo.h"

#define LONGEST_SHOWN 40 /* bytes of a string constant */

static void show_string(FILE *out, const String *s) {
  size_t length = string_len(s), shown = length > LONGEST_SHOWN ? LONGEST_SHOWN : length;
  fputc('"', out);
  for (size_t i = 0; i < shown; i++) {
    unsigned char c = (unsigned char)s->data[i];
    if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
    else if (c == '\n') fputs("\\n", out);
    else if (c < ' ' || c >= 0x7f) fprintf(out, "\\%03u", c);
    else fputc(c, out);
  }
  fputs(shown < length ? "\"..." : "\"", out);
}

static void show_constant(FILE *out, const Prototype *p, uint32_t index) {
  if (index >= p->nconstants) {
    fprintf(out, " K%" PRIu32 "?", index);
    return;
  }
  fputc(' ', out);
  const TValue *k = &p->k[index];
  switch (k->tag) {
    case TAG_NIL: fputs("nil", out); break;
    case TAG_FALSE: fputs("false", out); break;
    case TAG_TRUE: fputs("true", out); break;
    case TAG_INT: fprintf(out, "%" PRId64, k->v.i); break;
    case TAG_FLOAT: {
      char text[NUMBER_TEXT_MAX];
      fprintf(out, "%.*s", (int)number_to_text(k, text), text);
      break;
    }
    default: show_string(out, as_string(k));
  }
}

static const char *name_or(const String *name) {
  return name ? name->data : "-";
}

static void show_operands(FILE *out, Instruction i) {
  switch (op_info[op_base(i)].format) {
    case FORMAT_ABC: fprintf(out, "%3u %3u %3u", INS_A(i), INS_B(i), INS_C(i)); break;
    case FORMAT_ABx: fprintf(out, "%3u %5u  ", INS_A(i), INS_Bx(i)); break;
    case FORMAT_AsBx: fprintf(out, "%3u %5d  ", INS_A(i), INS_sBx(i)); break;
    case FORMAT_sJ: fprintf(out, "%7d    ", INS_sJ(i)); break;
  }
}

static void show_upvalue(FILE *out, const Prototype *p, uint32_t index) {
  if (index < p->nupvalues) fprintf(out, " %s", name_or(p->upvalues[index].name));
}

/* Writes the notes behind an instruction. aux is its second word, or 0. */
static void show_notes(FILE *out, const Prototype *p, uint32_t pc, uint32_t aux) {
  Instruction i = p->code[pc];
  const OpInfo *info = &op_info[op_base(i)];
  int upvalue = op_upvalue(i), constant = op_constant(i);
  int64_t key = op_key(i, aux), target = op_jump_target(i, pc);
  if (upvalue >= 0) show_upvalue(out, p, (uint32_t)upvalue);
  if (key >= 0) show_constant(out, p, (uint32_t)key);
  if (constant >= 0) show_constant(out, p, (uint32_t)constant);
  if (info->flags & OPFLAG_S) fprintf(out, " %d", info->flags & OPFLAG_T ? INS_sB(i) : INS_sC(i));
  if (target >= 0 && !(info->flags & OPFLAG_T) && INS_OP(i) != OP_LFALSESKIP)
    fprintf(out, " to %" PRId64, target);
  if ((info->uses & OPERAND_PBx) && INS_Bx(i) < p->nprotos)
    fprintf(out, " line %" PRIu32, p->p[INS_Bx(i)]->line_defined);
}

int disassemble_instruction(FILE *out, const Prototype *p, uint32_t pc) {
  Instruction i = p->code[pc];
  fprintf(out, "%5" PRIu32 " ", pc);
  int line, column;
  if (debuginfo_position(p, (int)pc, &line, &column)) {
    if (line != prototype_line(p, (int)pc)) fprintf(out, "[%d, ", prototype_line(p, (int)pc));
    else fputc('[', out);
    fprintf(out, "%d:%d]", line, column);
  }
  if (INS_OP(i) >= OP_COUNT) {
    fprintf(out, "\t? %08" PRIx32 "\n", i);
    return 1;
  }
  const OpInfo *info = &op_info[op_base(i)];
  bool has_aux = (info->flags & OPFLAG_X) && pc + 1 < p->ncode;
  fprintf(out, "\t%-10s ", info->name);
  show_operands(out, i);
  if (has_aux) fprintf(out, " aux %" PRIu32, p->code[pc + 1]);
  fputs("\t;", out);
  if (has_aux || !(info->flags & OPFLAG_X)) show_notes(out, p, pc, has_aux ? p->code[pc + 1] : 0);
  fputc('\n', out);
  return has_aux ? 2 : 1;
}

static void show_lists(FILE *out, const Prototype *p) {
  for (uint32_t i = 0; i < p->nconstants; i++) {
    fprintf(out, "  K%" PRIu32, i);
    show_constant(out, p, i);
    fputc('\n', out);
  }
  for (uint32_t i = 0; i < p->nlocals; i++)
    fprintf(out, "  local %s %" PRIu32 "..%" PRIu32 "\n", name_or(p->locals[i].name),
            p->locals[i].start_pc, p->locals[i].end_pc);
  for (uint32_t i = 0; i < p->nupvalues; i++) {
    const UpvalueDesc *u = &p->upvalues[i];
    fprintf(out, "  upvalue %s %s %u kind %u\n", name_or(u->name),
            u->in_stack ? "register" : "upvalue", u->index, u->kind);
  }
}

void disassemble(FILE *out, const Prototype *p, bool nested) {
  fprintf(out, "%s %s:%" PRIu32 "-%" PRIu32 " (%u%s parameters, %u registers, %" PRIu32 " words)\n",
          p->line_defined ? "function" : "main", name_or(p->source), p->line_defined,
          p->last_line_defined, p->nparams, p->is_vararg ? "+" : "", p->max_stack, p->ncode);
  for (uint32_t pc = 0; pc < p->ncode;) pc += (uint32_t)disassemble_instruction(out, p, pc);
  show_lists(out, p);
  for (uint32_t i = 0; nested && i < p->nprotos; i++) disassemble(out, p->p[i], true);
}
