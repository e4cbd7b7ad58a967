/* vm/disasm.c: bytecode as text.  Operands come from the formats in
 * opcodes.def; which of them is a constant is read off the description there. */
#include "disasm.h"

#include <inttypes.h>
#include <string.h>

#include "opinfo.h"
#include "str.h"

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

/* The word to which an instruction may jump, or -1. */
static int64_t jump_target(const Prototype *p, uint32_t pc) {
  Instruction i = p->code[pc];
  switch (INS_OP(i)) {
    case OP_JMP: case OP_LOOP: return (int64_t)pc + 1 + INS_sJ(i);
    case OP_FORPREP: return (int64_t)pc + 2 + INS_Bx(i);
    case OP_TFORPREP: return (int64_t)pc + 1 + INS_Bx(i);
    case OP_FORLOOP: case OP_TFORLOOP: return (int64_t)pc + 1 - INS_Bx(i);
    default: return -1;
  }
}

static void show_operands(FILE *out, Instruction i) {
  switch (op_info[INS_OP(i)].format) {
    case FORMAT_ABC: fprintf(out, "%3u %3u %3u", INS_A(i), INS_B(i), INS_C(i)); break;
    case FORMAT_ABx: fprintf(out, "%3u %5u  ", INS_A(i), INS_Bx(i)); break;
    case FORMAT_AsBx: fprintf(out, "%3u %5d  ", INS_A(i), INS_sBx(i)); break;
    case FORMAT_sJ: fprintf(out, "%7d    ", INS_sJ(i)); break;
  }
}

static void show_upvalue(FILE *out, const Prototype *p, uint32_t index) {
  if (index < p->nupvalues) fprintf(out, " %s", name_or(p->upvalues[index].name));
}

static void show_notes(FILE *out, const Prototype *p, uint32_t pc) {
  Instruction i = p->code[pc];
  uint32_t references = op_references(INS_OP(i));
  const char *text = op_info[INS_OP(i)].text;
  if (references & REFERS_UPVALUE_A) show_upvalue(out, p, INS_A(i));
  if (references & REFERS_UPVALUE_B) show_upvalue(out, p, INS_B(i));
  if (references & REFERS_K_AUX) show_constant(out, p, op_key_index(INS_OP(i), p->code[pc + 1]));
  if (references & (REFERS_K_B | REFERS_K_C | REFERS_K_Bx)) show_constant(out, p, op_constant_index(references, i));
  if (strstr(text, "sB)")) fprintf(out, " %d", INS_sB(i));
  if (strstr(text, "sC")) fprintf(out, " %d", INS_sC(i));
  int64_t target = jump_target(p, pc);
  if (target >= 0) fprintf(out, " to %" PRId64, target);
  if ((references & REFERS_PROTO_Bx) && INS_Bx(i) < p->nprotos) fprintf(out, " line %" PRIu32, p->p[INS_Bx(i)]->line_defined);
}

int disassemble_instruction(FILE *out, const Prototype *p, uint32_t pc) {
  Instruction i = p->code[pc];
  fprintf(out, "%5" PRIu32 " ", pc);
  if (p->nlines) fprintf(out, "[%" PRIu32 "]", p->lines[pc]);
  if (INS_OP(i) >= OP_COUNT) {
    fprintf(out, "\t? %08" PRIx32 "\n", i);
    return 1;
  }
  const OpInfo *info = &op_info[INS_OP(i)];
  bool has_aux = (info->flags & OPFLAG_X) && pc + 1 < p->ncode;
  fprintf(out, "\t%-10s ", info->name);
  show_operands(out, i);
  if (has_aux) fprintf(out, " aux %" PRIu32, p->code[pc + 1]);
  fputs("\t;", out);
  if (has_aux || !(info->flags & OPFLAG_X)) show_notes(out, p, pc);
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
    fprintf(out, "  local %s %" PRIu32 "..%" PRIu32 "\n", name_or(p->locals[i].name), p->locals[i].start_pc, p->locals[i].end_pc);
  for (uint32_t i = 0; i < p->nupvalues; i++) {
    const UpvalueDesc *u = &p->upvalues[i];
    fprintf(out, "  upvalue %s %s %u kind %u\n", name_or(u->name), u->in_stack ? "register" : "upvalue", u->index, u->kind);
  }
}

void disassemble(FILE *out, const Prototype *p, bool nested) {
  fprintf(out, "%s %s:%" PRIu32 "-%" PRIu32 " (%u%s parameters, %u registers, %" PRIu32 " words)\n", p->line_defined ? "function" : "main",
          name_or(p->source), p->line_defined, p->last_line_defined, p->nparams, p->is_vararg ? "+" : "", p->max_stack, p->ncode);
  for (uint32_t pc = 0; pc < p->ncode;) pc += (uint32_t)disassemble_instruction(out, p, pc);
  show_lists(out, p);
  for (uint32_t i = 0; nested && i < p->nprotos; i++) disassemble(out, p->p[i], true);
}
