/* SPDX-License-Identifier: MIT */
/* ending.c: how a recording ended, in words. */
#include "analysis/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct eva_ending eva_ending_of(const struct eventring_info *info) {
  return (struct eva_ending){info->liveness, info->end_reason, info->end_detail,
                             info->error_text};
}

struct eva_ending eva_ending_of_found(const struct eventring_found *found) {
  return (struct eva_ending){found->liveness, found->end_reason, found->end_detail,
                             found->error_text};
}

struct eva_ending eva_ending_of_process(const struct eventring_process *process) {
  return (struct eva_ending){process->liveness, process->end_reason, process->end_detail,
                             process->error_text};
}

static bool asks_for_end(uint32_t number) {
  return number == 0 || number == SIGTERM || number == SIGINT || number == SIGHUP;
}

bool eva_ended_badly(const struct eva_ending *ending) {
  if (ending->error[0] || ending->liveness == EVENTRING_DEAD) return true;
  if (ending->reason == EVENTRING_END_SIGNAL) return !asks_for_end(ending->detail);
  return ending->reason == EVENTRING_END_EXIT && ending->detail != 0;
}

bool eva_ended_unusually(const struct eva_ending *ending) {
  return eva_ended_badly(ending) || ending->reason == EVENTRING_END_SIGNAL;
}

/* Returns the name of a signal without SIG (glibc has sigabbrev_np, other libraries have
 * no such function). Returns NULL for signals that programs use among themselves, and for
 * a number that is no signal. */
static const char *signal_name(uint32_t signal) {
  static const char *const names[] = {
      [SIGHUP] = "HUP", [SIGINT] = "INT", [SIGQUIT] = "QUIT", [SIGILL] = "ILL", [SIGTRAP] = "TRAP",
      [SIGABRT] = "ABRT", [SIGBUS] = "BUS", [SIGFPE] = "FPE", [SIGKILL] = "KILL",
      [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE",
      [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD",
      [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
      [SIGTTOU] = "TTOU", [SIGURG] = "URG", [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
      [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH", [SIGPOLL] = "POLL",
      [SIGPWR] = "PWR", [SIGSYS] = "SYS"};
  return signal < sizeof names / sizeof names[0] ? names[signal] : NULL;
}

char *eva_ending_text(char *text, const struct eva_ending *ending) {
  const char *name;
  text[0] = 0;
  switch (ending->reason) {
    case EVENTRING_END_STOPPED:
      strcpy(text, "stopped");
      break;
    case EVENTRING_END_EXIT:
      snprintf(text, EVA_ENDING, "exit status %u", ending->detail);
      break;
    case EVENTRING_END_SIGNAL:
      name = signal_name(ending->detail);
      if (name && asks_for_end(ending->detail))
        snprintf(text, EVA_ENDING, "terminated by SIG%s", name);
      else if (name) snprintf(text, EVA_ENDING, "SIG%s", name);
      else snprintf(text, EVA_ENDING, ending->detail ? "signal %u" : "a signal", ending->detail);
      break;
    case EVENTRING_END_DELETED:
      strcpy(text, "file deleted, goes on in another");
      break;
    case EVENTRING_END_UNKNOWN:
      if (ending->liveness == EVENTRING_DEAD) strcpy(text, "killed");
      break;
  }
  return text;
}

const char *eva_ending_name(const struct eva_ending *ending) {
  switch (ending->reason) {
    case EVENTRING_END_STOPPED: return "stopped";
    case EVENTRING_END_EXIT: return "exit";
    case EVENTRING_END_SIGNAL: return "signal";
    case EVENTRING_END_DELETED: return "deleted";
    case EVENTRING_END_UNKNOWN: break;
  }
  return ending->liveness == EVENTRING_DEAD ? "killed" : NULL;
}
