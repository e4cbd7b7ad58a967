/* SPDX-License-Identifier: MIT */
/* forbidden.c: finds why the kernel does not let this process read the memory of another
 * one.
 *
 * The kernel returns EPERM or EACCES without a reason. Its rules, in order (ptrace(2),
 * "Ptrace access mode checking"): with CAP_SYS_PTRACE nearly everything is allowed.
 * Without it, all three users of the other process must be ours, it must be dumpable, and
 * Yama must agree. Yama decides about reading memory, but not about /proc/PID/maps. Other
 * reasons are filters of system calls and other security modules, which cannot be
 * queried.
 */
#include "remote/forbidden.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAPABILITY_PTRACE = 19 };

/* Finds the value of a line "NAME:\t..." of a file in /proc. Returns false if there is
   none. */
static bool find_line(const char *path, const char *name, char *value, size_t room) {
  char line[256];
  bool found = false;
  size_t size = strlen(name);
  FILE *file = fopen(path, "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    found = strncmp(line, name, size) == 0 && line[size] == ':';
    if (found) snprintf(value, room, "%s", line + size + 1);
  }
  if (file) fclose(file);
  return found;
}

static bool has_capability(void) {
  char value[64];
  unsigned long long set = 0;
  return find_line("/proc/self/status", "CapEff", value, sizeof value) &&
         sscanf(value, "%llx", &set) == 1 && (set >> CAPABILITY_PTRACE & 1);
}

static int ptrace_scope(void) {
  int scope = 0;
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (!file) return 0;
  if (fscanf(file, "%d", &scope) != 1) scope = 0;
  fclose(file);
  return scope;
}

void remote_rights_of(pid_t pid, struct remote_rights *rights) {
  char path[64], value[128];
  struct stat st;
  *rights = (struct remote_rights){
      .own_user = geteuid(), .may_trace_all = has_capability(), .scope = ptrace_scope()};
  snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
  rights->known = find_line(path, "Uid", value, sizeof value) &&
                  sscanf(value, "%u %u %u", &rights->users[0], &rights->users[1],
                         &rights->users[2]) == 3;
  /* if the process is not dumpable, all but the folder itself belongs to root, else to
     its user */
  rights->closed = rights->known && stat(path, &st) == 0 && st.st_uid == 0 &&
                   rights->users[1] != 0;
}

static bool is_foreign(const struct remote_rights *rights, uid_t *user) {
  for (int i = 0; i < 3 && rights->known; i++) {
    *user = rights->users[i];
    if (*user != rights->own_user) return true;
  }
  return false;
}

static void scope_text(int scope, char *text, size_t room) {
  const char *what = scope == 1 ? "lets its ancestors alone read its memory: set it to 0, let "
                                  "eventring start the program, start it with "
                                  "SAROS_EVENTRING_REMOTE=allow, or run this as root"
                   : scope == 2 ? "lets root alone read its memory: set it to 0, or run this as "
                                  "root"
                                : "lets nobody read its memory until the machine starts anew";
  snprintf(text, room, "kernel.yama.ptrace_scope is %d, which %s", scope, what);
}

void remote_forbidden_text(const struct remote_rights *rights, char *text, size_t room) {
  uid_t user;
  if (!rights->may_trace_all && is_foreign(rights, &user))
    snprintf(text, room, "it runs as user %u: run this as that user, or as root", user);
  else if (!rights->may_trace_all && rights->closed)
    snprintf(text, room, "it is not dumpable, so root alone may read its memory: have it call "
             "prctl(PR_SET_DUMPABLE, 1), or run this as root");
  else if (rights->scope > 2 || (rights->scope > 0 && !rights->may_trace_all))
    scope_text(rights->scope, text, room);
  else
    snprintf(text, room, "the kernel does not let its memory be read: neither its user nor "
             "kernel.yama.ptrace_scope is why, so a filter of system calls or a security module "
             "(in a container: add CAP_SYS_PTRACE)");
}
