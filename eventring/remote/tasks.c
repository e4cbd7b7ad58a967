/* SPDX-License-Identifier: MIT */
/* tasks.c: reads what the system reports about the OS threads of a process. */
#include "remote/tasks.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eventring/tools.h"

bool remote_share_memory(pid_t pid, pid_t other) {
  return syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

static bool read_file(const char *path, char *text, size_t room) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  size_t n = fread(text, 1, room - 1, file);
  fclose(file);
  text[n] = '\0';
  return n > 0;
}

/* Returns the number of a task in its innermost pid namespace: the last one of NSpid, or
   0 if it is not known. */
static pid_t own_number(pid_t pid, pid_t tid) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/status", (long)pid, (long)tid);
  if (!read_file(path, text, sizeof text)) return 0;
  const char *line = strstr(text, "\nNSpid:");
  if (!line) return tid;
  long number = 0;
  line += strlen("\nNSpid:");
  for (char *end; *line == ' ' || *line == '\t'; line = end) {
    long next = strtol(line, &end, 10);
    if (end == line) break;
    number = next;
  }
  return (pid_t)number;
}

/* Tells whether a task is the thread of libeventring. */
static bool is_helper(pid_t pid, pid_t tid) {
  char path[64], text[32];
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/comm", (long)pid, (long)tid);
  return read_file(path, text, sizeof text) && strcmp(text, EVENTRING_HELPER_NAME "\n") == 0;
}

struct remote_task remote_task_find(pid_t pid, pid_t own_tid) {
  char path[64];
  struct remote_task task = {0};
  struct dirent *entry;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  DIR *tasks = opendir(path);
  if (!tasks) return task;
  pid_t only = 0;
  int count = 0;
  while (task.tid == 0 && (entry = readdir(tasks)) != NULL) {
    pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (tid <= 0) continue;
    if (own_number(pid, tid) == own_tid) task.tid = tid;
    if (is_helper(pid, tid)) continue;
    count++;
    only = tid;
  }
  closedir(tasks);
  /* a forked child: its domain has the number from before the fork */
  if (task.tid == 0 && count == 1) task.tid = only;
  if (task.tid != 0) remote_task_read(pid, &task);
  return task;
}

bool remote_task_read(pid_t pid, struct remote_task *task) {
  char path[64], text[1024];
  unsigned long long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)task->tid);
  if (!read_file(path, text, sizeof text)) return false;
  const char *after = strrchr(text, ')'); /* the name before it may contain any text */
  if (!after || sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                       &task->state, &user, &system) != 3)
    return false;
  long hz = sysconf(_SC_CLK_TCK);
  task->cpu_ns = (uint64_t)(user + system) * (1000000000u / (uint64_t)(hz > 0 ? hz : 100));
  return true;
}

/* Reads the number behind a word of proc_pid_status(5). Returns false if there is
   none. */
static bool status_number(const char *status, const char *word, uint64_t *number) {
  const char *line = strstr(status, word);
  return line && sscanf(line + strlen(word), "%" SCNu64, number) == 1;
}

bool remote_task_switches(pid_t pid, pid_t tid, uint64_t *switches) {
  /* the numbers come last, after the groups of the user */
  char path[64], text[16384];
  uint64_t own_will, others;
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/status", (long)pid, (long)tid);
  if (!read_file(path, text, sizeof text) ||
      !status_number(text, "\nvoluntary_ctxt_switches:", &own_will) ||
      !status_number(text, "\nnonvoluntary_ctxt_switches:", &others))
    return false;
  *switches = own_will + others;
  return true;
}

const char *remote_task_text(const struct remote_task *task) {
  switch (task->state) {
    case 'R': return "on a processor, or waits for one";
    case 'S': return "sleeps";
    case 'D': return "waits for a device";
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a debugger";
    case 'Z': case 'X': return "has ended";
    default: return "";
  }
}
