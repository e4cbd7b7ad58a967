/* vm/debug.c: debug interface: frames, functions, locals, upvalues, hooks.
 *
 * A frame's pc points behind the word of the instruction that it runs, so the
 * current instruction is the word before it; a frame that has just been
 * entered counts as being at its first.  lua_Debug.i_ci is the frame itself:
 * frames are reused but never moved, and the manual allows a lua_Debug only as
 * long as its frame is active.
 *
 * Hooks.  While a thread has a hook its interpreter runs through the hooked
 * dispatch table (vm_update_dispatch).  Line and count events come from
 * debug_trace_instruction, before each instruction; the others from the places
 * that call and return.  A hook that yields leaves the frame at the instruction
 * that it was about to run, marked CALL_HOOK_YIELDED so that the hook is not
 * called again for it.
 */
#include "api.h"

#include <string.h>

#include "call.h"
#include "debuginfo.h"
#include "opinfo.h"

/* ---- where a frame stands ------------------------------------------------------ */

static int frame_pc(const CallInfo *ci) {
  ptrdiff_t pc = ci->u.lua.pc - frame_closure(ci)->p->code - 1;
  return pc > 0 ? (int)pc : 0;
}

static int line_of(const Prototype *p, int pc) {
  return (uint32_t)pc < p->nlines ? (int)p->lines[pc] : -1;
}

int frame_current_line(CallInfo *ci) {
  return is_lua_frame(ci) ? line_of(frame_closure(ci)->p, frame_pc(ci)) : -1;
}

int lua_getstack(lua_State *L, int level, lua_Debug *ar) {
  if (level < 0) return 0;
  CallInfo *ci = L->ci;
  for (; level > 0 && ci != &L->base_ci; level--) ci = ci->prev;
  if (ci == &L->base_ci) return 0;
  ar->i_ci = ci;
  return 1;
}

/* ---- names of chunks -------------------------------------------------------------- */

#define ELLIPSIS "..."

static char *append(char *out, const char *s, size_t len) {
  memcpy(out, s, len);
  return out + len;
}

/* "=name": as it stands, cut at its end. */
static void literal_id(char *out, const char *name, size_t len) {
  if (len > LUA_IDSIZE - 1) len = LUA_IDSIZE - 1;
  *append(out, name, len) = '\0';
}

/* "@file": cut at its start, where a path says least. */
static void file_id(char *out, const char *name, size_t len) {
  size_t room = LUA_IDSIZE - 1;
  if (len > room) {
    room -= strlen(ELLIPSIS);
    out = append(out, ELLIPSIS, strlen(ELLIPSIS));
    name += len - room;
    len = room;
  }
  *append(out, name, len) = '\0';
}

/* Source text: its first line, between quotes. */
static void text_id(char *out, const char *text, size_t len) {
  static const char before[] = "[string \"", after[] = "\"]";
  size_t room = LUA_IDSIZE - sizeof before - strlen(ELLIPSIS) - strlen(after);
  const char *line_end = memchr(text, '\n', len);
  out = append(out, before, strlen(before));
  if (line_end == NULL && len < room + 1) {
    out = append(out, text, len);
  } else {
    if (line_end != NULL) len = (size_t)(line_end - text);
    if (len > room) len = room;
    out = append(out, text, len);
    out = append(out, ELLIPSIS, strlen(ELLIPSIS));
  }
  memcpy(out, after, sizeof after);
}

const char *chunk_id(char *out, const char *source, size_t len) {
  switch (*source) {
    case '=': literal_id(out, source + 1, len - 1); break;
    case '@': file_id(out, source + 1, len - 1); break;
    default: text_id(out, source, len); break;
  }
  return out;
}

/* ---- lua_getinfo --------------------------------------------------------------------- */

static const Prototype *prototype_of(const TValue *func) {
  return is_lua_closure(func) ? as_lua_closure(func)->p : NULL;
}

/* 'S' */
static void describe_source(lua_Debug *ar, const Prototype *p) {
  if (p == NULL) {
    ar->source = "=[C]";
    ar->srclen = strlen(ar->source);
    ar->linedefined = ar->lastlinedefined = -1;
    ar->what = "C";
  } else {
    ar->source = p->source != NULL ? p->source->data : "=?";
    ar->srclen = p->source != NULL ? string_len(p->source) : strlen(ar->source);
    ar->linedefined = (int)p->line_defined;
    ar->lastlinedefined = (int)p->last_line_defined;
    ar->what = p->line_defined == 0 ? "main" : "Lua";
  }
  chunk_id(ar->short_src, ar->source, ar->srclen);
}

/* 'u' */
static void describe_upvalues(lua_Debug *ar, const TValue *func, const Prototype *p) {
  ar->nups = 0;
  if (func->tag == TAG_C_CLOSURE) ar->nups = as_c_closure(func)->nupvalues;
  if (p != NULL) ar->nups = as_lua_closure(func)->nupvalues;
  ar->isvararg = p == NULL || p->is_vararg;
  ar->nparams = p == NULL ? 0 : p->nparams;
}

const char *debug_name_of_call(lua_State *L, CallInfo *caller, const char **name) {
  if (caller->status & CALL_HOOKED) {
    *name = "?";
    return "hook";
  }
  if (caller->status & CALL_FINALIZER) {
    *name = "__gc";
    return "metamethod";
  }
  if (!is_lua_frame(caller)) return NULL;
  return varinfo_of_call(L, frame_closure(caller)->p, frame_pc(caller), name);
}

/* 'n' */
static void describe_name(lua_State *L, lua_Debug *ar, CallInfo *ci) {
  const char *kind = NULL;
  if (ci != NULL && !(ci->status & CALL_TAIL)) kind = debug_name_of_call(L, ci->prev, &ar->name);
  ar->namewhat = kind != NULL ? kind : "";
  if (kind == NULL) ar->name = NULL;
}

/* 'r' */
static void describe_transfer(lua_Debug *ar, const CallInfo *ci) {
  bool known = ci != NULL && (ci->status & CALL_TRANSFER);
  ar->ftransfer = known ? ci->u2.transfer.first : 0;
  ar->ntransfer = known ? ci->u2.transfer.count : 0;
}

/* 'L': pushes a table whose keys are the lines with code, or nil. The first
 * instruction of a vararg function belongs to no line of it. */
static void push_active_lines(lua_State *L, const Prototype *p) {
  if (p == NULL) {
    lua_pushnil(L);
    return;
  }
  Table *lines = table_new(L, 0, 0);
  set_table(L->top, lines);
  api_note_write(L);
  api_push(L);
  TValue active;
  set_bool(&active, true);
  uint32_t last = UINT32_MAX;
  for (uint32_t pc = p->is_vararg ? 1 : 0; pc < p->nlines; pc++) {
    if (p->lines[pc] == last) continue;
    last = p->lines[pc];
    table_set_int(L, lines, last, &active);
  }
}

/* Fills in what option asks for; false when there is no such option. */
static bool describe(lua_State *L, char option, lua_Debug *ar, const TValue *func, CallInfo *ci) {
  const Prototype *p = prototype_of(func);
  switch (option) {
    case 'S': describe_source(ar, p); return true;
    case 'l': ar->currentline = ci != NULL ? frame_current_line(ci) : -1; return true;
    case 'u': describe_upvalues(ar, func, p); return true;
    case 't': ar->istailcall = ci != NULL && (ci->status & CALL_TAIL); return true;
    case 'n': describe_name(L, ar, ci); return true;
    case 'r': describe_transfer(ar, ci); return true;
    case 'f': case 'L': return true; /* pushed at the end, in this order */
    default: return false;
  }
}

int lua_getinfo(lua_State *L, const char *what, lua_Debug *ar) {
  CallInfo *ci = NULL;
  TValue func;
  if (*what == '>') {
    what++;
    value_copy(&func, --L->top); /* nothing collects before it is pushed again or done with */
    rt_assert(is_function(&func));
  } else {
    ci = ar->i_ci;
    value_copy(&func, ci->func);
  }
  int known = 1;
  for (const char *option = what; *option != '\0'; option++)
    if (!describe(L, *option, ar, &func, ci)) known = 0;
  if (strchr(what, 'f') != NULL) api_push_value(L, &func);
  if (strchr(what, 'L') != NULL) {
    push_active_lines(L, prototype_of(&func));
    gc_check(L);
  }
  return known;
}

/* ---- locals ---------------------------------------------------------------------------- */

/* Extra argument n = -1, -2, ... of a vararg function: they lie below the frame's function. */
static const char *find_vararg(const CallInfo *ci, int n, TValue **slot) {
  if (!frame_closure(ci)->p->is_vararg) return NULL;
  int extra = (int)ci->u.lua.nextra;
  if (n < -extra) return NULL;
  *slot = ci->func - extra - (n + 1);
  return "(vararg)";
}

const char *debug_find_local(lua_State *L, CallInfo *ci, int n, TValue **slot) {
  TValue *base = ci->func + 1;
  const TValue *limit = ci == L->ci ? L->top : ci->next->func; /* whatever a chunk says of its variables */
  const char *name = NULL;
  if (n < 0 && is_lua_frame(ci)) return find_vararg(ci, n, slot);
  if (n <= 0 || limit - base < n) return NULL;
  if (is_lua_frame(ci)) name = local_name(frame_closure(ci)->p, n, (uint32_t)frame_pc(ci));
  if (name == NULL) name = is_lua_frame(ci) ? "(temporary)" : "(C temporary)";
  *slot = base + (n - 1);
  return name;
}

const char *lua_getlocal(lua_State *L, const lua_Debug *ar, int n) {
  TValue *slot;
  if (ar == NULL) { /* parameters of the function on top */
    const Prototype *p = prototype_of(L->top - 1);
    return p != NULL ? local_name(p, n, 0) : NULL;
  }
  const char *name = debug_find_local(L, ar->i_ci, n, &slot);
  if (name != NULL) api_push_value(L, slot);
  return name;
}

const char *lua_setlocal(lua_State *L, const lua_Debug *ar, int n) {
  TValue *slot;
  const char *name = debug_find_local(L, ar->i_ci, n, &slot);
  if (name != NULL) {
    value_copy(slot, --L->top);
    gc_frame_changed(L, ar->i_ci);
  }
  return name;
}

/* ---- upvalues ----------------------------------------------------------------------------- */

typedef struct UpvalueRef {
  TValue *value;
  GCObject *owner; /* what the write barrier is for */
  const char *name;
} UpvalueRef;

static bool find_upvalue(const TValue *func, int n, UpvalueRef *ref) {
  if (func->tag == TAG_C_CLOSURE) {
    CClosure *c = as_c_closure(func);
    if (n < 1 || n > c->nupvalues) return false;
    *ref = (UpvalueRef){&c->upvalues[n - 1], (GCObject *)c, ""};
    return true;
  }
  if (!is_lua_closure(func)) return false;
  LuaClosure *f = as_lua_closure(func);
  if (n < 1 || n > f->p->nupvalues) return false;
  UpValue *u = f->upvalues[n - 1];
  const String *name = f->p->upvalues[n - 1].name;
  *ref = (UpvalueRef){u->v, (GCObject *)u, name != NULL ? name->data : "(no name)"};
  return true;
}

const char *lua_getupvalue(lua_State *L, int funcindex, int n) {
  UpvalueRef ref;
  if (!find_upvalue(api_slot(L, funcindex), n, &ref)) return NULL;
  api_push_value(L, ref.value);
  return ref.name;
}

const char *lua_setupvalue(lua_State *L, int funcindex, int n) {
  UpvalueRef ref;
  api_check_values(L, 1);
  if (!find_upvalue(api_slot(L, funcindex), n, &ref)) return NULL;
  value_copy(ref.value, --L->top);
  gc_barrier(L, ref.owner, ref.value);
  return ref.name;
}

static UpValue **upvalue_cell(const TValue *func, int n) {
  rt_assert(is_lua_closure(func));
  LuaClosure *f = as_lua_closure(func);
  return n >= 1 && n <= f->p->nupvalues ? &f->upvalues[n - 1] : NULL;
}

void *lua_upvalueid(lua_State *L, int fidx, int n) {
  const TValue *func = api_slot(L, fidx);
  if (is_lua_closure(func)) {
    UpValue **cell = upvalue_cell(func, n);
    return cell != NULL ? *cell : NULL;
  }
  UpvalueRef ref;
  return find_upvalue(func, n, &ref) ? ref.value : NULL;
}

void lua_upvaluejoin(lua_State *L, int fidx1, int n1, int fidx2, int n2) {
  const TValue *func = api_slot(L, fidx1);
  UpValue **to = upvalue_cell(func, n1), **from = upvalue_cell(api_slot(L, fidx2), n2);
  rt_assert(to != NULL && from != NULL);
  *to = *from;
  gc_barrier_object(L, as_lua_closure(func), *from);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

/* Only stores, in an order in which the interpreter can meet them half done:
 * it may be called by a signal handler on the thread that runs L. */
void lua_sethook(lua_State *L, lua_Hook func, int mask, int count) {
  if (func == NULL || mask == 0) {
    func = NULL;
    mask = 0;
  }
  L->hook = func;
  L->base_hook_count = L->hook_count = count;
  L->hook_mask = (uint32_t)mask;
  vm_update_dispatch(L);
}

lua_Hook lua_gethook(lua_State *L) { return L->hook; }
int lua_gethookmask(lua_State *L) { return (int)L->hook_mask; }
int lua_gethookcount(lua_State *L) { return L->base_hook_count; }

static uint32_t mask_of_event(int event) {
  return event == LUA_HOOKTAILCALL ? LUA_MASKCALL : 1u << event;
}

/* Calls the hook for an event of the current frame, if it is wanted. The stack
 * below L->top and the registers of a Lua frame stay as they are; hooks are off
 * while it runs. */
void vm_hook(lua_State *L, int event, int line, int first_transfer, int ntransfer) {
  lua_Hook hook = L->hook;
  if (hook == NULL || !L->allow_hook || !(L->hook_mask & mask_of_event(event))) return;
  CallInfo *ci = L->ci;
  ptrdiff_t top = stack_save(L, L->top), ci_top = stack_save(L, ci->top);
  uint32_t mark = CALL_HOOKED;
  lua_Debug ar;
  ar.event = event;
  ar.currentline = line;
  ar.i_ci = ci;
  if (ntransfer != 0) {
    mark |= CALL_TRANSFER;
    ci->u2.transfer.first = (uint16_t)first_transfer;
    ci->u2.transfer.count = (uint16_t)ntransfer;
  }
  if (is_lua_frame(ci) && L->top < ci->top) L->top = ci->top; /* all registers are live */
  stack_check(L, LUA_MINSTACK);
  if (ci->top < L->top + LUA_MINSTACK) ci->top = L->top + LUA_MINSTACK;
  L->allow_hook = 0;
  ci->status |= mark;
  hook(L, &ar);
  L->allow_hook = 1;
  ci->top = stack_restore(L, ci_top);
  L->top = stack_restore(L, top);
  ci->status &= ~mark;
}

/* Is the instruction at pc, for hooks, still part of the one at old_pc? */
static bool continues_step(const Prototype *p, int old_pc, int pc) {
  switch (op_base(p->code[pc])) {
    case OP_LOOP: /* a test that jumps to it goes on at the start of the loop */
      return (op_info[INS_OP(p->code[old_pc])].flags & OPFLAG_T) && pc != old_pc + 2;
    case OP_TFORCALL: return op_base(p->code[old_pc]) == OP_TFORPREP;
    case OP_CLOSE: case OP_RETURN: return pc == old_pc; /* once more, after a __close */
    default: return false;
  }
}

/* The program came to a new line, or back to the start of a line. */
static void trace_line(lua_State *L, const Prototype *p, int pc) {
  int old_pc = (uint32_t)L->old_pc < p->ncode ? L->old_pc : 0;
  if (continues_step(p, old_pc, pc)) return;
  if (pc <= old_pc || line_of(p, pc) != line_of(p, old_pc)) vm_hook(L, LUA_HOOKLINE, line_of(p, pc), 0, 0);
  L->old_pc = pc;
}

/* The thread stays at this instruction, which runs when it is resumed; until then
 * the frame's pc is behind it, as ever. */
_Noreturn static void yield_from_hook(lua_State *L, const Instruction *pc, bool counted) {
  if (counted) L->hook_count = 1; /* the count event is due again */
  L->ci->u.lua.pc = pc + 1;
  L->ci->status |= CALL_HOOK_YIELDED;
  error_throw(L, LUA_YIELD);
}

static NOINLINE void trace_events(lua_State *L, const Instruction *pc, int mask, bool counted) {
  CallInfo *ci = L->ci;
  const Prototype *p = frame_closure(ci)->p;
  if (counted) L->hook_count = L->base_hook_count;
  if (ci->status & CALL_HOOK_YIELDED) {
    ci->status &= ~(uint32_t)CALL_HOOK_YIELDED;
    return;
  }
  if (counted) vm_hook(L, LUA_HOOKCOUNT, -1, 0, 0);
  if (mask & LUA_MASKLINE) trace_line(L, p, (int)(pc - p->code));
  if (unlikely(L->status == LUA_YIELD)) yield_from_hook(L, pc, counted);
}

void debug_trace_instruction(lua_State *L, const Instruction *pc) {
  if (INS_OP(*pc) == OP_VARARGPREP) { /* part of the call: what follows begins a line */
    L->old_pc = 1;
    return;
  }
  int mask = L->hook_mask; /* what a hook asks for holds from the next instruction on */
  bool counted = (mask & LUA_MASKCOUNT) && --L->hook_count == 0;
  if (!counted && !(mask & LUA_MASKLINE)) return;
  trace_events(L, pc, mask, counted);
}
