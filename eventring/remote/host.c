/* SPDX-License-Identifier: MIT */
/* host.c: finds the introspection of a process.
 *
 * The first pages of the executable and of each library, with the ELF header and the
 * program headers, are mapped. A program header of type NOTE leads to the note, and the
 * note to the structure, each relative to the address at which the file is mapped. So
 * this also works for programs that are stripped, relocated, deleted from disk, or in a
 * container with another file system.
 *
 * The structure is data of the process and may be damaged or hostile. Every offset and
 * size is bounded here, so that code that uses them need not check again. (Offsets, at
 * most 64 KiB, are only added to addresses, and the kernel checks every address that is
 * read.)
 */
#include "remote/host.h"

#include "remote/elf.h"
#include "remote/forbidden.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_OFFSET = 65536,    /* largest offset of a field in a structure, in bytes */
  MOST_FRAME = 4096,      /* most bytes of a frame, a thread's head, a prototype ... */
  MOST_NOTES = 65536,     /* bytes of a file's notes */
  MOST_FILES = 4096       /* mapped files to try */
};

static bool fail(struct remote_host *host, const char *text) {
  snprintf(host->error, sizeof host->error, "%s", text);
  return false;
}

/* ---- the note ------------------------------------------------------------ */

/* Finds the note in `size` bytes of notes, which come from `address`. */
static bool find_in_notes(const char *notes, size_t size, uint64_t address, uint64_t *found) {
  static const char name[] = "eventring";
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
    Elf64_Nhdr head;
    memcpy(&head, notes + at, sizeof head);
    size_t names = ((size_t)head.n_namesz + 3) & ~(size_t)3;
    size_t text = at + sizeof head, body = text + names;
    if (body > size || head.n_descsz > size - body) return false;
    if (head.n_namesz == sizeof name && head.n_descsz == 8 && head.n_type == 1 &&
        memcmp(notes + text, name, sizeof name) == 0) {
      *found = address + body + remote_word(notes + body, 8);
      return true;
    }
    at = body + (((size_t)head.n_descsz + 3) & ~(size_t)3);
  }
  return false;
}

static bool read_notes(struct remote_host *host, uint64_t address, uint64_t size,
                       uint64_t *found) {
  static char notes[MOST_NOTES];
  if (size > sizeof notes || !remote_read(&host->memory, address, notes, size)) return false;
  return find_in_notes(notes, size, address, found);
}

/* Searches the file whose first byte is mapped at `base`. */
static bool find_in_file(struct remote_host *host, uint64_t base, uint64_t *found) {
  struct remote_elf elf;
  if (!remote_elf_read(&host->memory, base, &elf)) return false;
  for (unsigned i = 0; i < elf.count; i++)
    if (elf.headers[i].p_type == PT_NOTE &&
        read_notes(host, elf.shift + elf.headers[i].p_vaddr, elf.headers[i].p_memsz, found))
      return true;
  return false;
}

/* ---- the structure ------------------------------------------------------- */

static bool is_sound(struct eventring_location at) {
  return at.offset < MOST_OFFSET &&
         (at.through == EVENTRING_HERE || at.through < MOST_OFFSET);
}

/* Tells whether a field of `bytes` bytes fits into a structure of `size` bytes. */
static bool fits(uint32_t offset, uint32_t bytes, uint32_t size) {
  return offset <= size && bytes <= size - offset;
}

static bool frames_are_sound(const struct eventring_introspection *at) {
  const uint32_t size = at->frame.size, head = at->thread.head;
  return size >= 8 && size <= MOST_FRAME && head >= 8 && head <= MOST_FRAME &&
         fits(at->frame.function, 8, size) && fits(at->frame.previous, 8, size) &&
         fits(at->frame.next, 8, size) && fits(at->frame.status, 4, size) &&
         fits(at->frame.identity, 8, size) && fits(at->frame.c_function, 8, size) &&
         fits(at->frame.pc, 8, size) && fits(at->frame.depth, 4, size) &&
         fits(at->frame.entries, 4, size) && fits(at->thread.frame, 8, head) &&
         fits(at->thread.resumer, 8, head) && fits(at->thread.status, 1, head) &&
         fits(at->thread.domain, 8, head) && fits(at->thread.stack, 8, head) &&
         fits(at->thread.stack_end, 8, head) && fits(at->thread.type, 1, head) &&
         at->thread.first_frame < MOST_OFFSET;
}

static bool functions_are_sound(const struct eventring_introspection *at) {
  const uint32_t size = at->prototype.size, local = at->prototype.local_size;
  return size >= 8 && size <= MOST_FRAME && local >= 8 && local <= MOST_FRAME &&
         fits(at->prototype.type, 1, size) && fits(at->prototype.identity, 8, size) &&
         fits(at->prototype.source, 8, size) && fits(at->prototype.name, 8, size) &&
         fits(at->prototype.code, 8, size) &&
         fits(at->prototype.code_count, 4, size) && fits(at->prototype.lines, 8, size) &&
         fits(at->prototype.line_count, 4, size) && fits(at->prototype.first_line, 4, size) &&
         fits(at->prototype.last_line, 4, size) && fits(at->prototype.locals, 8, size) &&
         fits(at->prototype.local_count, 4, size) && at->prototype.instruction >= 1 &&
         at->prototype.instruction <= 64 && fits(at->prototype.local_name, 8, local) &&
         fits(at->prototype.local_from, 4, local) && fits(at->prototype.local_to, 4, local) &&
         at->closure.prototype < MOST_OFFSET && at->closure.c_function < MOST_OFFSET;
}

static bool values_are_sound(const struct eventring_introspection *at) {
  const uint32_t value = at->value.size, node = at->table.node_size;
  return value >= 8 && value <= 64 && fits(at->value.payload, 8, value) &&
         fits(at->value.tag, 1, value) && node >= 8 && node <= 256 &&
         fits(at->table.node_value, 8, node) && fits(at->table.node_value_tag, 1, node) &&
         fits(at->table.node_key, 8, node) && fits(at->table.node_key_tag, 1, node) &&
         at->table.nodes < MOST_OFFSET && at->table.node_mask < MOST_OFFSET &&
         at->table.state < MOST_OFFSET && at->string.type < MOST_OFFSET &&
         at->string.short_length < MOST_OFFSET && at->string.long_length < MOST_OFFSET &&
         at->string.bytes < MOST_OFFSET;
}

static bool domains_are_sound(const struct eventring_introspection *at) {
  return is_sound(at->domain.id) && is_sound(at->domain.thread) && is_sound(at->domain.name) &&
         at->domain.name_size <= MOST_OFFSET && at->domain.current < MOST_OFFSET &&
         at->domain.main < MOST_OFFSET && at->domain.roots < MOST_OFFSET &&
         is_sound(at->heap.first) && at->heap.size <= (1u << 30) &&
         at->heap.used_from <= at->heap.size && at->heap.next < at->heap.size &&
         at->heap.step >= 8 && at->heap.step % 8 == 0 && at->thread.domain % 8 == 0;
}

static bool pieces_are_sound(const struct eventring_introspection *at) {
  const uint32_t line = at->coroutine.line_size;
  return is_sound(at->heap.scattered) && at->heap.pieces < MOST_OFFSET &&
         at->heap.piece < MOST_OFFSET && at->heap.piece_step >= 8 &&
         at->heap.piece_step < MOST_OFFSET &&
         (uint64_t)at->heap.pieces * at->heap.piece_step <= MOST_OFFSET &&
         at->heap.piece_size <= (1u << 30) && (line == 0 || at->heap.piece_size % line == 0);
}

static bool coroutines_are_sound(const struct eventring_introspection *at) {
  const uint32_t size = at->coroutine.size;
  return size >= 8 && size <= MOST_FRAME && at->thread.head <= size &&
         fits(at->coroutine.top, 8, size) && fits(at->coroutine.frames, 4, size) &&
         fits(at->coroutine.created_in, 8, size) && fits(at->coroutine.created_at, 4, size) &&
         fits(at->coroutine.resumed_in, 8, size) && fits(at->coroutine.resumed_at, 4, size) &&
         fits(at->coroutine.state, 1, size) && fits(at->coroutine.ran_after, 4, size) &&
         fits(at->coroutine.ran_before, 4, size) && is_sound(at->coroutine.looked) &&
         is_sound(at->coroutine.lives) && at->coroutine.lines < MOST_OFFSET &&
         (at->coroutine.line_size == 0 || at->coroutine.line_size >= 8) &&
         at->coroutine.ticks >= 1 && at->coroutine.bytes < MOST_OFFSET &&
         at->coroutine.spare_values < MOST_OFFSET && at->spans.id < MOST_OFFSET &&
         at->spans.count < MOST_OFFSET && at->spans.hidden < MOST_OFFSET &&
         at->spans.open < MOST_OFFSET && is_sound(at->lines.noted);
}

static bool rules_are_sound(const struct eventring_introspection *at) {
  for (int i = 0; i < EVENTRING_MAX_RULES && at->rules[i].size != 0; i++) {
    const struct eventring_rule *rule = &at->rules[i];
    if (!is_sound(rule->where) || (rule->has_subject && !is_sound(rule->subject)) ||
        rule->activity > EVENTRING_ACTIVITY_WAITING ||
        (rule->size != 1 && rule->size != 2 && rule->size != 4 && rule->size != 8))
      return false;
  }
  for (int i = 0; i < EVENTRING_MAX_LINE_FORMS; i++)
    if (at->prototype.forms[i].shift > 31) return false;
  return true;
}

static bool check(struct remote_host *host, uint64_t address) {
  struct eventring_introspection *at = &host->at;
  if (memcmp(at->magic, EVENTRING_INTROSPECTION_MAGIC, sizeof at->magic) != 0)
    return fail(host, "its introspection is not one (no \"" EVENTRING_INTROSPECTION_MAGIC "\")");
  if (at->version != EVENTRING_INTROSPECTION_VERSION || at->size != sizeof *at) {
    snprintf(host->error, sizeof host->error,
             "its introspection has version %" PRIu32 ", which this eventring does not know",
             at->version);
    return false;
  }
  if (at->address != address) return fail(host, "its introspection is damaged (address)");
  if (!frames_are_sound(at)) return fail(host, "its introspection is damaged (frames)");
  if (!functions_are_sound(at)) return fail(host, "its introspection is damaged (functions)");
  if (!values_are_sound(at)) return fail(host, "its introspection is damaged (values)");
  if (!pieces_are_sound(at)) return fail(host, "its introspection is damaged (heap)");
  if (!domains_are_sound(at)) return fail(host, "its introspection is damaged (domains)");
  if (!coroutines_are_sound(at)) return fail(host, "its introspection is damaged (coroutines)");
  if (!rules_are_sound(at)) return fail(host, "its introspection is damaged (rules)");
  for (int i = 0; i < EVENTRING_MAX_TAGS && at->value.tags[i].kind != EVENTRING_VALUE_UNKNOWN; i++)
    if (at->value.tags[i].kind < EVENTRING_VALUE_KINDS)
      host->kinds[at->value.tags[i].tag] = at->value.tags[i].kind;
  return true;
}

/* Makes a text of the host safe: ends it with a NUL, and replaces all but printable ASCII
   by '?'. */
static void make_printable(char *text, size_t room) {
  text[room - 1] = '\0';
  for (; *text != '\0'; text++)
    if (*text < ' ' || *text > '~') *text = '?';
}

static void make_texts_printable(struct eventring_introspection *at) {
  make_printable(at->host, sizeof at->host);
  for (int i = 0; i < EVENTRING_MAX_RULES; i++)
    make_printable(at->rules[i].text, sizeof at->rules[i].text);
  for (int i = 0; i < EVENTRING_MAX_TAGS; i++)
    make_printable(at->value.tags[i].text, sizeof at->value.tags[i].text);
}

/* ---- opening ------------------------------------------------------------- */

static bool say_errno(struct remote_host *host, int number) {
  if (number == ESRCH || number == ENOENT) return fail(host, "no such process");
  host->forbidden = number == EPERM || number == EACCES;
  if (!host->forbidden) {
    snprintf(host->error, sizeof host->error, "its memory cannot be read: %s", strerror(number));
    return false;
  }
  struct remote_rights rights;
  remote_rights_of(host->memory.pid, &rights);
  remote_forbidden_text(&rights, host->error, sizeof host->error);
  return false;
}

/* Searches the mapped files. Returns 1 if it is found, 0 if no file has it, and -1 if the
   process is unreadable. */
static int search_maps(struct remote_host *host, FILE *maps, uint64_t *found) {
  char line[4352];
  int files = 0;
  uint64_t last = 0;
  while (files < MOST_FILES && fgets(line, sizeof line, maps)) {
    uint64_t start, offset;
    char rights[5], path[2];
    if (sscanf(line, "%" SCNx64 "-%*x %4s %" SCNx64 " %*s %*s %1s", &start, rights, &offset,
               path) != 4)
      continue;
    if (offset != 0 || rights[0] != 'r' || path[0] != '/' || start == last) continue;
    files++;
    last = start;
    host->memory.error = 0;
    if (find_in_file(host, start, found)) return 1;
    if (host->memory.error == EPERM || host->memory.error == ESRCH) return -1;
  }
  return 0;
}

bool remote_host_open(struct remote_host *host, pid_t pid) {
  char path[64];
  uint64_t address;
  *host = (struct remote_host){.memory = {.pid = pid}};
  snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  FILE *maps = fopen(path, "re");
  if (!maps) return say_errno(host, errno);
  errno = 0;
  int found = search_maps(host, maps, &address);
  int failure = ferror(maps) ? errno : 0;
  fclose(maps);
  if (failure != 0) return say_errno(host, failure);
  if (found < 0) return say_errno(host, host->memory.error);
  if (found == 0)
    return fail(host, "it does not run Saros, or one from before there was an introspection");
  host->found = true;
  if (!remote_read(&host->memory, address, &host->at, sizeof host->at))
    return fail(host, "its introspection cannot be read");
  make_texts_printable(&host->at);
  return check(host, address);
}

size_t remote_domains(struct remote_host *host, uint64_t *domains, size_t room) {
  size_t count = host->at.domain_places, used = 0;
  if (count > room) count = room;
  if (!remote_read(&host->memory, host->at.domains, domains, count * sizeof *domains)) return 0;
  for (size_t i = 0; i < count; i++)
    if (domains[i] != 0) domains[used++] = domains[i];
  return used;
}

bool remote_locate(struct remote_host *host, uint64_t base, struct eventring_location at,
                   uint64_t *address) {
  if (at.through != EVENTRING_HERE &&
      (!remote_read_pointer(&host->memory, base + at.through, &base) || base == 0))
    return false;
  *address = base + at.offset;
  return true;
}
