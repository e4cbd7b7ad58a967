/* SPDX-License-Identifier: MIT */
/* sample.c: samples the stacks of live processes.
 *
 * Every period the stack of each domain of each process is read (remote/stack_read.h) and
 * counted in a tree of that domain. The processes are not stopped, and execute no code
 * for the sampler. Time in the collector or in a wait is a node of its own, below the
 * function in which it happens.
 *
 * A sampler that gets no processor in time is late, mostly while the processes run and
 * compete for the processor. If it left out the periods for which it was late, the
 * processes would seem to sleep. So a sample counts for all the time since the sample
 * before, once for each period that has passed. A stack that could not be read (torn)
 * counts nowhere.
 *
 * Ten times a second the processes and their domains are listed again. Children are
 * listed a hundred times a second if the kernel has their list
 * (/proc/PID/task/TID/children), because many live only briefly. What was seen of a
 * process stays after its end. A process that cannot be read is tried again at each
 * listing: a new program maps its libraries first.
 */
#include "sample.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "analysis/figures.h"
#include "format/now.h"
#include "line_notes.h"
#include "parents.h"
#include "reader.h"
#include "remote/stack_read.h"
#include "remote/tasks.h"
#include "sample_tree.h"

enum {
  AGAIN_MS = 100,
  CHILDREN_AGAIN_MS = 10, MOST_DEPTH = 64,
  EARLY_MS = 1000, EARLY_AGAIN_MS = 5,
  MOST_LIVES = 4096,    /* most domains; further ones are counted in the last tree */
  MOST_PROCESSES = 1024 /* most processes sampled at once */
};

/* A domain, and what was counted for it. */
struct life {
  pid_t pid;
  struct remote_domain about;
  struct sample_tree tree;
};

struct sampled_domain {
  struct remote_domain about;
  struct remote_reader *reader;
  struct remote_task task;
  uint32_t life;
  bool seen;  /* the domain is in the latest list */
  bool known; /* the domain existed at the last sample */
};

struct sampled_process {
  pid_t pid;
  bool open, seen;
  bool sampled; /* the process was sampled at least once */
  struct remote_host host;
  struct remote_functions functions; /* not freed, because trees refer to the functions */
  struct sampled_domain *domains;
  size_t domain_count;
  struct line_notes notes;
};

struct sampling {
  struct sample_options options;
  pid_t root;
  struct sampled_process **processes; /* the root and all other processes that were ever
                                         opened */
  size_t process_count;
  struct life *lives;
  uint32_t life_count;
  struct remote_stack stack;
  uint64_t listed_ns, start_ns, end_ns;
  uint64_t children_ns; /* when children were last listed */
  bool lists_children;  /* the kernel lists children */
  bool found;       /* the root was found to run Saros at some time */
  int64_t start_wall_ns;
  uint64_t samples; /* number of periods counted in trees */
  uint64_t late;    /* number of these periods for which a later stack counts */
  uint64_t moving;  /* number of stacks that lack the innermost frames */
  uint64_t torn;
  /* with options.lines, number of samples of processes that did not note each
     instruction */
  uint64_t coarse;
  uint64_t reads, changed; /* number of stacks that were read, and of those that changed
                              at the first try */
};

static int64_t wall_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Domains ------------------------------------------------------------------ */

static uint32_t begin_life(struct sampling *s, pid_t pid, const struct remote_domain *about) {
  if (s->life_count == MOST_LIVES) return MOST_LIVES - 1;
  struct life *life = NEED_NEXT(s->lives, s->life_count);
  *life = (struct life){.pid = pid, .about = *about};
  sample_tree_open(&life->tree);
  return s->life_count - 1;
}

static void add_domain(struct sampling *s, struct sampled_process *p, uint64_t address) {
  struct remote_domain about;
  if (!remote_domain_read(&p->host, address, &about)) return;
  for (size_t i = 0; i < p->domain_count; i++)
    if (p->domains[i].about.address == address && p->domains[i].about.id == about.id) {
      p->domains[i].seen = true;
      p->domains[i].about.notes = about.notes;
      return;
    }
  if (s->options.domain != UINT64_MAX && s->options.domain != about.id) return;
  struct sampled_domain *domain = NEED_NEXT(p->domains, p->domain_count);
  *domain = (struct sampled_domain){.about = about, .seen = true};
  domain->reader = remote_reader_open(&p->functions, address);
  if (!domain->reader) no_memory();
  domain->task = remote_task_find(p->pid, about.thread);
  domain->life = begin_life(s, p->pid, &about);
}

static void list_domains(struct sampling *s, struct sampled_process *p) {
  static uint64_t addresses[REMOTE_DOMAINS];
  size_t count = remote_domains(&p->host, addresses, REMOTE_DOMAINS), kept = 0;
  for (size_t i = 0; i < p->domain_count; i++) p->domains[i].seen = false;
  for (size_t i = 0; i < count; i++) add_domain(s, p, addresses[i]);
  for (size_t i = 0; i < p->domain_count; i++) {
    if (p->domains[i].seen) p->domains[kept++] = p->domains[i];
    else remote_reader_close(p->domains[i].reader);
  }
  p->domain_count = kept;
}

/* Makes domains note each instruction, if lines are wanted. Reads the flags of domains
   that do not do so yet. */
static void keep_notes(struct sampling *s, uint64_t now) {
  for (size_t i = 0; s->options.lines && i < s->process_count; i++) {
    struct sampled_process *p = s->processes[i];
    bool noted = true;
    for (size_t k = 0; k < p->domain_count; k++) {
      struct remote_domain *about = &p->domains[k].about;
      if (!about->notes) about->notes = remote_domain_notes(&p->host, about->address);
      noted &= about->notes;
    }
    if (p->domain_count > 0) line_notes_keep(&p->notes, &p->host, noted, now);
  }
}

static void end_notes(struct sampling *s) {
  for (size_t i = 0; i < s->process_count; i++)
    if (s->processes[i]->open) line_notes_end(&s->processes[i]->notes, &s->processes[i]->host);
}

/* ---- Processes ---------------------------------------------------------------- */

/* Tells whether another open process has the same memory. A child that shares its
   parent's memory (vfork, posix_spawn until exec, a search for leaks) shows the same
   domains, which belong to the process that was found first. */
static bool is_memory_known(const struct sampling *s, pid_t pid) {
  for (size_t i = 0; i < s->process_count; i++)
    if (s->processes[i]->open && remote_share_memory(pid, s->processes[i]->pid)) return true;
  return false;
}

static void try_process(struct sampling *s, pid_t pid) {
  size_t running = 0;
  for (size_t i = 0; i < s->process_count; i++) {
    struct sampled_process *p = s->processes[i];
    running += p->open;
    if (p->pid != pid || !p->open) continue;
    p->seen = true;
    return;
  }
  if (running == MOST_PROCESSES) return;
  struct sampled_process *p = need_zeroed(1, sizeof *p);
  p->pid = pid;
  p->open = remote_host_open(&p->host, pid);
  s->found |= pid == s->root && p->host.found;
  if (!p->open && (pid != s->root || s->process_count > 0)) {
    if (pid == s->root) s->processes[0]->host = p->host; /* keeps the latest error */
    free(p);
    return;
  }
  if (p->open && is_memory_known(s, pid)) {
    free(p);
    return;
  }
  remote_functions_open(&p->functions, &p->host);
  p->seen = true;
  *NEED_NEXT(s->processes, s->process_count) = p;
}

static void end_process(struct sampled_process *p) {
  for (size_t i = 0; i < p->domain_count; i++) remote_reader_close(p->domains[i].reader);
  p->domain_count = 0;
  p->open = false;
}

static bool descends(pid_t pid, pid_t root) {
  for (int depth = 0; pid > 1 && depth < MOST_DEPTH; depth++) {
    if (pid == root) return true;
    pid = process_parent(pid, NULL);
  }
  return false;
}

static void try_children(struct sampling *s) {
  DIR *processes = opendir("/proc");
  struct dirent *entry;
  while (processes && (entry = readdir(processes)) != NULL) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid != s->root && descends(pid, s->root)) try_process(s, pid);
  }
  if (processes) closedir(processes);
}

static void try_descendants(struct sampling *s, pid_t pid, int depth);

/* Tries the processes in a file that lists the children of a thread. */
static void try_listed(struct sampling *s, FILE *list, int depth) {
  long child;
  while (fscanf(list, "%ld", &child) == 1) {
    try_process(s, (pid_t)child);
    try_descendants(s, (pid_t)child, depth + 1);
  }
}

static void try_descendants(struct sampling *s, pid_t pid, int depth) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  DIR *threads = depth < MOST_DEPTH ? opendir(path) : NULL;
  struct dirent *entry;
  while (threads && (entry = readdir(threads)) != NULL) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, entry->d_name);
    FILE *list = fopen(path, "re");
    if (!list) continue;
    s->lists_children = true;
    try_listed(s, list, depth);
    fclose(list);
  }
  if (threads) closedir(threads);
}

/* Lists new children, and their domains. */
static void list_children(struct sampling *s, uint64_t now) {
  const size_t before = s->process_count;
  try_descendants(s, s->root, 0);
  for (size_t i = before; i < s->process_count; i++)
    if (s->processes[i]->open) list_domains(s, s->processes[i]);
  s->children_ns = now;
}

/* Tells whether a process still runs the same program. */
static bool is_same_program(struct sampled_process *p) {
  char magic[sizeof p->host.at.magic];
  return remote_read(&p->host.memory, p->host.at.address, magic, sizeof magic) &&
         memcmp(magic, p->host.at.magic, sizeof magic) == 0;
}

static void list_all(struct sampling *s, uint64_t now) {
  for (size_t i = 0; i < s->process_count; i++) s->processes[i]->seen = false;
  try_process(s, s->root);
  if (s->options.children) try_children(s);
  for (size_t i = 0; i < s->process_count; i++) {
    struct sampled_process *p = s->processes[i];
    if (p->open && !p->seen) end_process(p);
    if (p->open) list_domains(s, p);
    if (p->open && p->domain_count == 0 && !is_same_program(p)) end_process(p);
  }
  s->listed_ns = now;
}

/* ---- Sampling ----------------------------------------------------------------- */

/* Returns a constant text for the key of a node. */
static const char *activity_text(struct sampled_process *p, const struct remote_domain *about) {
  for (int i = 0; i < EVENTRING_MAX_RULES; i++)
    if (about->text == p->host.at.rules[i].text) return p->host.at.rules[i].text;
  return NULL;
}

/* Counts a stack for `periods`, the first of which was due at `due`. */
static void count_stack(struct sampling *s, struct sampled_process *p,
                        struct sampled_domain *domain, uint64_t due, uint64_t periods) {
  const struct remote_stack *stack = &s->stack;
  struct sample_tree *tree = &s->lives[domain->life].tree;
  uint32_t node = 0;
  for (size_t i = stack->count; i-- > 0;) {
    const struct remote_frame *frame = &stack->frames[i];
    node = sample_tree_child(
        tree, node, (struct sample_key){.function = frame->function, .line = frame->line});
  }
  if (domain->about.activity == EVENTRING_ACTIVITY_COLLECTING ||
      domain->about.activity == EVENTRING_ACTIVITY_WAITING)
    node = sample_tree_child(tree, node,
                             (struct sample_key){.text = activity_text(p, &domain->about)});
  tree->nodes[node].here += periods;
  p->sampled = true;
  s->samples += periods;
  s->late += periods - 1;
  if (s->options.lines && stack->count > 0 && stack->frames[0].line_noted)
    s->coarse += periods;
  s->moving += stack->moving;
  if (s->options.on_sample)
    s->options.on_sample(s->options.context,
                         &(struct sample_moment){domain->life, node, due, periods});
}

/* Tells whether the domain is in a wanted state. */
static bool wanted(struct sampling *s, struct sampled_process *p, struct sampled_domain *domain) {
  if (!s->options.cpu && !s->options.idle) return true;
  remote_task_read(p->pid, &domain->task);
  bool runs = domain->about.activity != EVENTRING_ACTIVITY_WAITING && domain->task.state == 'R';
  return runs == s->options.cpu;
}

/* Reads a stack. If it changes while it is read, it lacks its innermost frames. Where
   such changes are rare, functions take long, and a moment later is as good, so the stack
   is read again. Where they are common, functions are short, and reading again would
   favour the longer functions. */
static enum remote_result read_stack(struct sampling *s, struct sampled_domain *domain,
                                     uint64_t now) {
  enum { RARE = 20 };
  enum remote_result result = remote_stack_read(domain->reader, &s->stack, &domain->about, now);
  s->reads++;
  if (result != REMOTE_READ || !s->stack.moving) return result;
  if (RARE * ++s->changed > s->reads) return result;
  return remote_stack_read(domain->reader, &s->stack, &domain->about, now);
}

/* Samples a domain. A domain that did not exist at the last sample counts for one
   period. */
static void sample_domain(struct sampling *s, struct sampled_process *p,
                          struct sampled_domain *domain, uint64_t now, uint64_t due,
                          uint64_t periods) {
  enum remote_result result = read_stack(s, domain, now);
  if (!domain->known) due = now, periods = 1;
  domain->known = true;
  if (result == REMOTE_GONE) s->listed_ns = 0;
  else if (!wanted(s, p, domain)) return;
  else if (result == REMOTE_TORN) s->torn++;
  else count_stack(s, p, domain, due, periods);
}

static void sample_all(struct sampling *s, uint64_t now, uint64_t due, uint64_t periods) {
  for (size_t i = 0; i < s->process_count; i++) {
    struct sampled_process *p = s->processes[i];
    for (size_t k = 0; k < p->domain_count; k++)
      sample_domain(s, p, &p->domains[k], now, due, periods);
  }
}

/* Tells whether anything is left to sample. */
static bool is_left(const struct sampling *s, struct launch *launch) {
  /* pairs with the release store in stop of view_figures.c (the stopping thread passes no
     other data through `stop`) */
  if (s->options.stop) return !__atomic_load_n(s->options.stop, __ATOMIC_ACQUIRE);
  if (launch) {
    launch_check(launch);
    return !launch->ended;
  }
  for (size_t i = 0; i < s->process_count; i++)
    if (s->processes[i]->domain_count > 0) return true;
  return kill(s->root, 0) == 0 || errno == EPERM;
}

static void sleep_until(uint64_t ns) {
  struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                           .tv_nsec = (long)(ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Makes the thread wake on time: by default the kernel may add 50 us, half of the
   shortest period. */
static void wake_on_time(void) { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

static void sample(struct sampling *s, struct launch *launch) {
  const uint64_t period = 1000000000u / s->options.hz;
  const uint64_t end = s->options.seconds_ns ? s->start_ns + s->options.seconds_ns : UINT64_MAX;
  const uint64_t children_again = CHILDREN_AGAIN_MS * UINT64_C(1000000);
  uint64_t due = s->start_ns, now = s->start_ns;
  while (!reader_is_stopped() && now < end && is_left(s, launch)) {
    /* at first, searches more often for a program that was just started */
    bool early = s->life_count == 0 && now - s->start_ns < EARLY_MS * UINT64_C(1000000);
    uint64_t again = (early ? EARLY_AGAIN_MS : AGAIN_MS) * UINT64_C(1000000);
    if (now - s->listed_ns >= again) list_all(s, now);
    else if (s->options.children && now - s->children_ns >= children_again) list_children(s, now);
    keep_notes(s, now);
    if (now >= due) {
      const uint64_t periods = (now - due) / period + 1;
      sample_all(s, now, due, periods);
      due += periods * period;
    }
    uint64_t wake = due < end ? due : end; /* to notice the end, and children, soon: */
    uint64_t most = now + (s->options.children && again > children_again ? children_again : again);
    sleep_until(wake < most ? wake : most);
    now = now_ns();
  }
}

static int check(const struct sampling *s, const struct launch *launch) {
  if (s->life_count > 0 || s->processes[0]->open) return STATUS_GO_ON;
  if (s->processes[0]->host.forbidden) return SAMPLE_FORBIDDEN;
  if (s->options.stop) return STATUS_WRONG;
  const char *hint = launch && !s->options.children ? " (its children: --children)" : "";
  if (launch && launch->ended) /* then the last error of reading does not matter */
    return wrong("%s ended after %s, before a sample was taken of it%s%s", launch->command,
                 eva_duration(s->end_ns - s->start_ns),
                 s->found ? "" : ": it does not run Saros, or was too short", hint);
  return wrong("%ld: %s%s", (long)s->root, s->processes[0]->host.error, hint);
}

int sample_process(struct sampling **sampling, pid_t pid, struct launch *launch,
                   const struct sample_options *options) {
  struct sampling *s = *sampling = need_zeroed(1, sizeof *s);
  s->options = *options;
  s->root = pid;
  s->start_ns = now_ns();
  s->start_wall_ns = wall_ns();
  list_all(s, s->start_ns);
  if (s->processes[0]->host.forbidden || (!launch && !options->children)) {
    int status = check(s, launch);
    if (!goes_on(status)) return status;
  }
  if (!launch && !s->options.stop) reader_catch_signals(true);
  wake_on_time();
  sample(s, launch);
  s->end_ns = now_ns();
  end_notes(s);
  return check(s, launch);
}

const char *sample_why_not(const struct sampling *s) { return s->processes[0]->host.error; }

/* ---- The result --------------------------------------------------------------- */

static void count_processes(const struct sampling *s, struct time_profile *profile) {
  for (size_t i = 0; i < s->process_count; i++) {
    const struct sampled_process *p = s->processes[i];
    profile->processes += p->host.found;
    profile->unsampled += p->host.found && !p->sampled;
  }
  profile->unseen_ms = s->lists_children ? CHILDREN_AGAIN_MS : AGAIN_MS;
}

void sample_profile(const struct sampling *s, enum sample_detail detail,
                    struct time_profile *profile) {
  *profile = (struct time_profile){
      .sampled = true, .pid = s->root, .period_ns = 1000000000u / s->options.hz,
      .samples = s->samples, .moving = s->moving, .torn = s->torn, .late = s->late,
      .exact_lines = s->options.lines, .coarse = s->coarse,
      .start_wall_ns = s->start_wall_ns};
  snprintf(profile->program, sizeof profile->program, "%ld", (long)s->root);
  if (s->options.children) count_processes(s, profile);
  for (uint32_t i = 0; i < s->life_count; i++) {
    const struct life *life = &s->lives[i];
    struct eventring_profile *p = sample_tree_add(&life->tree, detail, profile);
    p->slot = life->about.id;
    p->start_ns = s->start_ns;
    p->written_ns = s->end_ns;
    if (s->options.children)
      snprintf(p->domain, sizeof p->domain, "%.30s of %ld", life->about.name, (long)life->pid);
    else
      snprintf(p->domain, sizeof p->domain, "%.40s", life->about.name);
  }
}

const struct sample_tree *sample_life(const struct sampling *s, uint32_t life,
                                      const struct remote_domain **about) {
  if (life >= s->life_count) return NULL;
  *about = &s->lives[life].about;
  return &s->lives[life].tree;
}

void sample_free(struct sampling *s) {
  for (uint32_t i = 0; i < s->life_count; i++) sample_tree_close(&s->lives[i].tree);
  for (size_t i = 0; i < s->process_count; i++) {
    end_process(s->processes[i]);
    remote_functions_close(&s->processes[i]->functions);
    free(s->processes[i]->domains);
    free(s->processes[i]);
  }
  free(s->processes);
  free(s->lives);
  free(s);
}
