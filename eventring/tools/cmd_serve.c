/* SPDX-License-Identifier: MIT */
/* cmd_serve.c: `eventring serve`: metrics, profiles, copies and pages of live processes
 * over HTTP.
 *
 * libmicrohttpd accepts the connections and gives each a thread of its own, so a slow
 * client or a profile of half a minute delays no other. There are at most CONNECTIONS,
 * each with a small stack. Metrics are gathered by the thread that answers, one at a
 * time, and are valid for CACHE_NS, so many requests at once cost no more than one. For
 * all other requests, a command answers in a process of its own (serve_child.h), at most
 * CHILDREN at a time. The command that keeps a page up to date (serve_page.h) also runs
 * in a process of its own.
 *
 * Who may ask: on a Unix socket, processes of the same user and of root, whatever the
 * mode of the socket is; on a TCP port of the loopback interface, every process on this
 * machine, but no web page of another site. If another site has led a browser here, the
 * request shows it: in Sec-Fetch-Site, or in Host, which is the name by which the browser
 * has found this address and must be one of the loopback interface. No request changes a
 * process.
 */
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "options.h"

#ifdef HAVE_MICROHTTPD
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "export/text_write.h"
#include "format/now.h"
#include "reader.h"
#include "serve_child.h"
#include "serve_page.h"

enum {
  PORT = 9464, /* the usual port of OpenTelemetry's exporters for Prometheus */
  CONNECTIONS = 128,
  TIMEOUT = 10,                 /* seconds without progress of a connection */
  CONNECTION_MEMORY = 16 << 10, /* bytes, for the head of a request */
  STACK = 256 << 10,
  CHILDREN = 4,
  MOST_SECONDS = 300, /* longest profile, in seconds */
  DEFAULT_SECONDS = 30,
  MORE_SECONDS = 60 /* seconds that a command may take beyond the seconds of the
                       profile */
};
#define CACHE_NS UINT64_C(100000000)
#define FORMATS 2

struct server {
  pthread_mutex_t mutex; /* guards the fields up to `texts` */
  struct live_processes live;
  struct metrics *metrics;
  struct text { char *bytes; size_t size; uint64_t made_at; } texts[FORMATS];
  bool is_unix;
  bool stops; /* atomic */
  unsigned children, streams; /* atomic */
};

/* ---- Answers ------------------------------------------------------------------ */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                               const char *type, struct MHD_Response *response) {
  if (!response) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

/* A text that is written to a stream in memory. */
struct answer {
  char *bytes;
  size_t size;
  FILE *out; /* NULL: out of memory */
};

static void answer_begin(struct answer *a) {
  a->bytes = NULL;
  a->out = open_memstream(&a->bytes, &a->size);
}

static enum MHD_Result answer_end(struct answer *a, struct MHD_Connection *connection,
                                  unsigned status, const char *type) {
  if (fclose(a->out) != 0) {
    free(a->bytes);
    return MHD_NO;
  }
  return respond(connection, status, type,
                 MHD_create_response_from_buffer(a->size, a->bytes, MHD_RESPMEM_MUST_FREE));
}

/* Sends plain text, made printable, with a newline behind it. */
static enum MHD_Result say(struct MHD_Connection *connection, unsigned status,
                           const char *text) {
  struct answer a;
  answer_begin(&a);
  if (!a.out) return MHD_NO;
  export_write_text(a.out, text, "", "");
  fputc('\n', a.out);
  return answer_end(&a, connection, status, "text/plain; charset=utf-8");
}

static const char *argument(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- Metrics ------------------------------------------------------------------ */

static void make_text(struct server *server, enum metrics_format format) {
  struct text *text = &server->texts[format];
  free(text->bytes);
  text->bytes = NULL;
  FILE *out = open_memstream(&text->bytes, &text->size);
  if (!out) no_memory();
  live_refresh(&server->live);
  gather_metrics(&server->live, server->metrics, out, format, false);
  if (fclose(out) != 0) no_memory();
  text->made_at = now_ns();
}

static enum MHD_Result answer_metrics(struct server *server, struct MHD_Connection *connection) {
  const char *accepts = header(connection, MHD_HTTP_HEADER_ACCEPT);
  const bool is_open = accepts && strstr(accepts, "application/openmetrics-text");
  const enum metrics_format format = is_open ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
  struct text *text = &server->texts[format];
  pthread_mutex_lock(&server->mutex);
  if (!text->bytes || now_ns() - text->made_at >= CACHE_NS) make_text(server, format);
  struct MHD_Response *response =
      MHD_create_response_from_buffer(text->size, text->bytes, MHD_RESPMEM_MUST_COPY);
  pthread_mutex_unlock(&server->mutex);
  return respond(connection, MHD_HTTP_OK,
                 is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8", response);
}

/* ---- The page ----------------------------------------------------------------- */

static enum MHD_Result answer_page(struct server *server, struct MHD_Connection *connection) {
  struct answer a;
  answer_begin(&a);
  if (!a.out) return MHD_NO;
  pthread_mutex_lock(&server->mutex);
  live_refresh(&server->live);
  serve_page_put(a.out, &server->live);
  pthread_mutex_unlock(&server->mutex);
  return answer_end(&a, connection, MHD_HTTP_OK, "text/html; charset=utf-8");
}

static enum MHD_Result answer_events(struct server *server, struct MHD_Connection *connection) {
  struct MHD_Response *response = serve_events(&server->streams, &server->stops);
  if (!response)
    return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
               "as many streams as may be are being read: try again");
  MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* for nginx */
  return respond(connection, MHD_HTTP_OK, "text/event-stream", response);
}

/* ---- What other commands answer ----------------------------------------------- */

struct endpoint {
  const char *path;
  const char *type;
  const char *suffix;  /* suffix of a file for saving; NULL: shown in the browser */
  bool has_seconds;    /* the request takes seconds= */
  const char *words[8]; /* the command; "SECONDS" is replaced by the number */
};

static const struct endpoint endpoints[] = {
    {"/debug/pprof/profile", "application/octet-stream", "profile.pb", true,
     {"profile", "--hz", "100", "--seconds", "SECONDS", "--to", "pprof"}},
    {"/debug/pprof/heap", "application/octet-stream", "heap.pb", false,
     {"heap", "--live", "--to", "pprof"}},
    {"/debug/pprof/allocs", "application/octet-stream", "allocs.pb", false,
     {"heap", "--allocated", "--to", "pprof"}},
    {"/debug/pprof/coroutines", "application/octet-stream", "coroutines.pb", false,
     {"coroutines", "--to", "pprof"}},
    {"/view", "text/html; charset=utf-8", NULL, false, {"view", "--seconds", "0"}},
    {"/snapshot", "application/octet-stream", "copy.eventring", false, {"snapshot"}}};

/* Returns the process of ?pid=, or the only one that records. Returns 0 after it has sent
   an answer, with the outcome in *result. */
static pid_t find_process(struct server *server, struct MHD_Connection *connection,
                          enum MHD_Result *result) {
  const char *text = argument(connection, "pid");
  pid_t pid = 0;
  unsigned count = 0;
  bool named = false;
  if (text && !read_process_number(text, &pid)) {
    *result = say(connection, MHD_HTTP_BAD_REQUEST, "pid= takes the number of a process");
    return 0;
  }
  pthread_mutex_lock(&server->mutex);
  live_refresh(&server->live);
  for (size_t i = 0; i < server->live.count; i++) {
    const struct live_process *p = &server->live.list[i];
    if (!live_records(p)) continue;
    count++;
    named |= p->pid == pid;
    if (!text) pid = p->pid;
  }
  pthread_mutex_unlock(&server->mutex);
  if (text && named) return pid;
  if (!text && count == 1) return pid;
  *result = text ? say(connection, MHD_HTTP_NOT_FOUND, "this process does not record")
            : count ? say(connection, MHD_HTTP_BAD_REQUEST,
                          "several processes record: pid=N says which one is meant (/ lists them)")
                    : say(connection, MHD_HTTP_NOT_FOUND, "no process records");
  return 0;
}

static bool read_seconds(const char *text, unsigned *seconds) {
  char *end;
  *seconds = DEFAULT_SECONDS;
  if (!text) return true;
  double number = strtod(text, &end);
  if (end == text || *end || !(number >= 1 && number <= MOST_SECONDS)) return false;
  *seconds = (unsigned)number;
  return true;
}

/* Opens a file without a name, on disk, since a copy may be as long as a stream. */
static int open_answer(void) {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd >= 0 ? fd : memfd_create("eventring-serve", MFD_CLOEXEC);
}

/* Runs the command of an endpoint. Returns the file with what it has written, or -1
   (errno) if it could not be run. */
static int run_endpoint(const struct server *server, const struct endpoint *q, pid_t pid,
                        unsigned seconds, struct serve_child *child) {
  const char *words[16];
  char number[24], process[24];
  int count = 0;
  snprintf(number, sizeof number, "%u", seconds);
  snprintf(process, sizeof process, "%ld", (long)pid);
  for (; q->words[count]; count++)
    words[count] = strcmp(q->words[count], "SECONDS") == 0 ? number : q->words[count];
  words[count++] = "-o";
  words[count++] = "-";
  words[count++] = process;
  words[count] = NULL;
  const uint64_t limit_s = (q->has_seconds ? seconds : 0) + MORE_SECONDS;
  const int fd = open_answer();
  if (fd < 0 || serve_child_run(child, words, fd, limit_s * 1000000000, &server->stops)) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Sends the message with which the command failed: the recording does not have what was
   asked for (the message names what switches it on), or inspecting the process is not
   permitted. */
static enum MHD_Result say_why_not(struct MHD_Connection *connection,
                                   const struct serve_child *child) {
  if (child->late) return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "it took too long");
  return say(connection, MHD_HTTP_NOT_FOUND,
             child->message[0] ? child->message : "the command that answers this has failed");
}

static enum MHD_Result answer_file(struct MHD_Connection *connection, const struct endpoint *q,
                                   pid_t pid, int fd) {
  struct stat st;
  char name[96];
  if (fstat(fd, &st) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return MHD_NO;
  }
  struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
  if (!response) {
    close(fd);
    return MHD_NO;
  }
  if (q->suffix) {
    snprintf(name, sizeof name, "attachment; filename=\"%ld-%s\"", (long)pid, q->suffix);
    MHD_add_response_header(response, "Content-Disposition", name);
  }
  return respond(connection, MHD_HTTP_OK, q->type, response);
}

static enum MHD_Result answer_endpoint(struct server *server, struct MHD_Connection *connection,
                                       const struct endpoint *q) {
  enum MHD_Result result = MHD_NO;
  struct serve_child child = {0};
  unsigned seconds;
  if (!read_seconds(q->has_seconds ? argument(connection, "seconds") : NULL, &seconds))
    return say(connection, MHD_HTTP_BAD_REQUEST, "seconds= takes a number from 1 to 300");
  const pid_t pid = find_process(server, connection, &result);
  if (!pid) return result;
  if (__atomic_add_fetch(&server->children, 1, __ATOMIC_RELAXED) > CHILDREN) {
    __atomic_sub_fetch(&server->children, 1, __ATOMIC_RELAXED);
    return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
               "as many requests of this kind as may be are being answered: try again");
  }
  int fd = run_endpoint(server, q, pid, seconds, &child);
  const int error = errno;
  __atomic_sub_fetch(&server->children, 1, __ATOMIC_RELAXED);
  if (fd < 0) return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(error));
  if (child.status == STATUS_OK) return answer_file(connection, q, pid, fd);
  close(fd);
  return say_why_not(connection, &child);
}

/* ---- Who may ask -------------------------------------------------------------- */

/* Tells whether a host is "localhost", "127.0.0.1" or "[::1]", with a port or without. */
static bool is_loopback_name(const char *host) {
  static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const size_t size = strlen(names[i]);
    if (strncasecmp(host, names[i], size) == 0 && (host[size] == '\0' || host[size] == ':'))
      return true;
  }
  return false;
}

static bool is_own_peer(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  struct ucred peer;
  socklen_t size = sizeof peer;
  return info && getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

/* Returns NULL if the client may ask, else the reason why not. */
static const char *refusal(const struct server *server, struct MHD_Connection *connection) {
  const char *site = header(connection, "Sec-Fetch-Site"), *host = header(connection, "Host");
  if (server->is_unix)
    return is_own_peer(connection) ? NULL : "this socket is for processes of its user";
  if (host && !is_loopback_name(host))
    return "the name in Host is none of the loopback interface (a proxy must set it)";
  if (site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0)
    return "not for pages of other sites";
  return NULL;
}

static enum MHD_Result route(struct server *server, struct MHD_Connection *connection,
                             const char *url) {
  const char *why_not = refusal(server, connection);
  if (why_not) return say(connection, MHD_HTTP_FORBIDDEN, why_not);
  if (strcmp(url, "/metrics") == 0) return answer_metrics(server, connection);
  if (strcmp(url, "/") == 0) return answer_page(server, connection);
  if (strcmp(url, "/events") == 0) return answer_events(server, connection);
  for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
    if (strcmp(url, endpoints[i].path) == 0)
      return answer_endpoint(server, connection, &endpoints[i]);
  return say(connection, MHD_HTTP_NOT_FOUND, "there is /metrics, /debug/pprof/profile, .../heap, "
             ".../allocs, .../coroutines, /view, /snapshot, /events, and / with links to them");
}

/* Handles a request. Called once when the head of the request was read, then for each
   part of a body, then once more. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **seen) {
  static char mark;
  (void)version, (void)upload;
  const bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
  if (!*seen) {
    *seen = &mark;
    return reads ? MHD_YES
                 : say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "nothing can be changed here");
  }
  if (*upload_size) { /* a body, which is ignored */
    *upload_size = 0;
    return MHD_YES;
  }
  return route(context, connection, url);
}

/* ---- Listening ---------------------------------------------------------------- */

struct listening {
  int fd;
  const char *path;  /* path of a Unix socket, or NULL */
  char shown[160];   /* the address, for people */
};

/* Tells whether a killed server has left a socket, which may be replaced. */
static bool is_left_over(const struct sockaddr_un *address) {
  struct stat st;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool refused = fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
                 st.st_uid == geteuid() &&
                 connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                 errno == ECONNREFUSED;
  if (fd >= 0) close(fd);
  return refused;
}

static int listen_at_path(struct listening *l, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return wrong("%s: the path of a socket has at most %zu bytes", path,
                 sizeof address.sun_path - 1);
  strcpy(address.sun_path, path);
  if (is_left_over(&address)) unlink(path);
  l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const mode_t mask = umask(0177);
  bool bound = l->fd >= 0 && bind(l->fd, (struct sockaddr *)&address, sizeof address) == 0;
  const int error = errno;
  umask(mask);
  if (!bound) return wrong("%s: %s", path, strerror(error));
  l->path = path;
  snprintf(l->shown, sizeof l->shown, "unix:%s", path);
  return STATUS_OK;
}

static int listen_at_port(struct listening *l, bool is_6, uint16_t port) {
  struct sockaddr_in address4 = {.sin_family = AF_INET, .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 address6 = {.sin6_family = AF_INET6, .sin6_port = htons(port),
                                  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  struct sockaddr *address = is_6 ? (struct sockaddr *)&address6 : (struct sockaddr *)&address4;
  socklen_t size = is_6 ? sizeof address6 : sizeof address4;
  const int on = 1;
  l->fd = socket(is_6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (l->fd >= 0) setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (l->fd < 0 || bind(l->fd, address, size) != 0 || getsockname(l->fd, address, &size) != 0)
    return wrong("%s:%u: %s", is_6 ? "[::1]" : "127.0.0.1", port, strerror(errno));
  snprintf(l->shown, sizeof l->shown, "http://%s:%u/", is_6 ? "[::1]" : "127.0.0.1",
           ntohs(is_6 ? address6.sin6_port : address4.sin_port));
  return STATUS_OK;
}

/* Starts to listen. Returns STATUS_GO_ON, or the exit status after a message. */
static int start_listening(const struct command *self, struct listening *l, const char *where) {
  static const struct { const char *name; bool is_6; } hosts[] = {
      {"127.0.0.1:", false}, {"localhost:", false}, {"[::1]:", true}};
  l->fd = -1;
  if (strncmp(where, "unix:", 5) == 0 && where[5]) {
    int status = listen_at_path(l, where + 5);
    return status == STATUS_OK && listen(l->fd, CONNECTIONS) != 0 ? wrong("%s: %s", where,
                                                                         strerror(errno))
           : status == STATUS_OK ? STATUS_GO_ON : status;
  }
  for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
    const size_t size = strlen(hosts[i].name);
    char *end;
    if (strncmp(where, hosts[i].name, size) != 0) continue;
    unsigned long port = strtoul(where + size, &end, 10);
    if (where[size] < '0' || where[size] > '9' || *end || port > UINT16_MAX) break;
    int status = listen_at_port(l, hosts[i].is_6, (uint16_t)port);
    if (status == STATUS_OK && listen(l->fd, CONNECTIONS) != 0)
      return wrong("%s: %s", where, strerror(errno));
    return status == STATUS_OK ? STATUS_GO_ON : status;
  }
  return usage_error(self,
                     "--listen: `%s' is none of 127.0.0.1:PORT, [::1]:PORT and unix:PATH: for "
                     "other machines put a proxy in front, which asks who they are",
                     where);
}

static void stop_listening(struct listening *l) {
  if (l->path) unlink(l->path);
}

/* ---- Running ------------------------------------------------------------------ */

static int serve(struct server *server, struct listening *l) {
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL,
      NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
      MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK, MHD_OPTION_END);
  if (!daemon) return wrong("%s: %s", l->shown, strerror(errno));
  printf("serving on %s\n", l->shown);
  if (fflush(stdout) != 0) output_errno = errno;
  while (!reader_is_stopped()) {
    const struct timespec tick = {.tv_nsec = 100000000};
    nanosleep(&tick, NULL); /* or until a signal comes */
  }
  __atomic_store_n(&server->stops, true, __ATOMIC_RELAXED);
  MHD_stop_daemon(daemon);
  return STATUS_OK;
}

static int run(const struct command *self, struct server *server, const char *where,
               uint64_t most_names) {
  struct listening listening = {.fd = -1};
  int status = start_listening(self, &listening, where);
  server->is_unix = listening.path != NULL;
  server->metrics = metrics_new((unsigned)most_names);
  if (!server->metrics) no_memory();
  if (goes_on(status)) {
    signal(SIGPIPE, SIG_IGN);
    reader_catch_signals(true);
    status = serve(server, &listening);
    reader_catch_signals(false);
    stop_listening(&listening);
  } else if (listening.fd >= 0) {
    close(listening.fd);
  }
  for (int i = 0; i < FORMATS; i++) free(server->texts[i].bytes);
  metrics_free(server->metrics);
  live_free(&server->live);
  return status;
}
#endif /* HAVE_MICROHTTPD */

int command_serve(const struct command *self, int count, char **words) {
  struct operands operands;
  const char *where = "127.0.0.1:9464";
  uint64_t most_names = METRICS_NAMES;
  const struct option_spec specs[] = {
      {"listen", 'l', OPTION_TEXT, &where, "ADDRESS",
       "127.0.0.1:PORT, [::1]:PORT (0: any that is free) or unix:PATH (127.0.0.1:9464)"},
      {"max-series", 0, OPTION_BETWEEN, BETWEEN(&most_names, 0, EVENTRING_MAX_EVENTS), "N",
       "at most N names of a process have series of their own (1000)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (operands.command || operands.count) return usage_error(self, "takes no operands");
#ifdef HAVE_MICROHTTPD
  struct server server = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  return run(self, &server, where, most_names);
#else
  return wrong(
      "this eventring was built without libmicrohttpd (Debian package: libmicrohttpd-dev)");
#endif
}
