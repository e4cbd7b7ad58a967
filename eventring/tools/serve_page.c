/* SPDX-License-Identifier: MIT */
/* serve_page.c: see serve_page.h. */
#ifdef HAVE_MICROHTTPD
#include "serve_page.h"

#include <stdlib.h>
#include <string.h>

#include "serve_child.h"

/* ---- The page ----------------------------------------------------------------- */

/* serve_page.html, in the build directory, in which some lines are placeholders. */
__asm__(".pushsection .rodata\n"
        ".globl serve_page_begin, serve_page_end\n"
        "serve_page_begin:\n"
        ".incbin \"eventring/tools/serve_page.made\"\n"
        "serve_page_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char serve_page_begin[], serve_page_end[];

static void put_html(FILE *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '<') fputs("&lt;", out);
    else if (*c == '&') fputs("&amp;", out);
    else if (*c == '"') fputs("&quot;", out);
    else fputc(*c, out);
  }
}

/* Writes the links of a process. Without `pid`, writes templates that the script of the
   page completes for new processes. */
static void put_links(FILE *out, long pid) {
  static const struct { const char *path, *text; } links[] = {
      {"view", "page"}, {"debug/pprof/profile", "profile of 30 s"},
      {"debug/pprof/heap", "heap"}, {"debug/pprof/allocs", "allocations"},
      {"debug/pprof/coroutines", "coroutines"}, {"snapshot", "copy"}};
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    fprintf(out, "%s<a href=\"%s?pid=", i ? ", " : "", links[i].path);
    if (pid) fprintf(out, "%ld", pid);
    fprintf(out, "\">%s</a>", links[i].text);
  }
}

static void put_process(FILE *out, const struct live_process *p) {
  char program[4 * EVENTRING_MAX_PROGRAM + 1];
  eventring_printable(program, sizeof program, p->info.program, strlen(p->info.program));
  fprintf(out, "<tr><td class=\"text\">%ld</td><td class=\"text\">", (long)p->pid);
  put_html(out, program);
  fputs("</td><td class=\"text\">", out);
  put_links(out, (long)p->pid);
  fputs("</td></tr>\n", out);
}

/* Writes the page from *at up to the line `mark`, and moves *at behind it. */
static void put_up_to(FILE *out, const char **at, const char *mark) {
  const char *found = strstr(*at, mark);
  const char *end = found ? found : serve_page_end;
  fwrite(*at, 1, (size_t)(end - *at), out);
  *at = found ? found + strlen(mark) : end;
}

void serve_page_put(FILE *out, const struct live_processes *live) {
  const char *at = serve_page_begin;
  put_up_to(out, &at, "@ROWS@\n");
  for (size_t i = 0; i < live->count; i++)
    if (live_records(&live->list[i])) put_process(out, &live->list[i]);
  put_up_to(out, &at, "@LINKS@\n");
  put_links(out, 0);
  fwrite(at, 1, (size_t)(serve_page_end - at), out);
}

/* ---- The stream --------------------------------------------------------------- */

enum {
  STREAMS = 8,
  BLOCK = 16 << 10,
  MOST_ADDED = 8 /* most bytes written for one byte of the command's output */
};

struct events {
  struct serve_stream command;
  unsigned *streams;
  const bool *stop;
  bool began, within_line;
  size_t used, at;   /* number of bytes in `text`, and of those that were sent */
  char text[BLOCK];
};

/* Writes events: each line of the command, one for each refresh, becomes an event.
   Returns the number of bytes. */
static size_t put_events(struct events *e, char *to, size_t room) {
  size_t size = 0;
  for (; e->at < e->used && room - size >= MOST_ADDED; e->at++) {
    if (!e->within_line) size += (size_t)sprintf(to + size, "data: ");
    e->within_line = e->text[e->at] != '\n';
    to[size++] = e->text[e->at];
    if (!e->within_line) to[size++] = '\n';
  }
  return size;
}

/* Reads events; the thread of the connection calls it repeatedly. A stream ends after
   five minutes; a browser then opens another one. */
static ssize_t read_events(void *context, uint64_t position, char *to, size_t room) {
  static const char *const words[] = {"top", "--json", "--interval", "1", "--seconds", "300", NULL};
  struct events *e = context;
  (void)position;
  if (room < MOST_ADDED) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (!e->began && !serve_stream_begin(&e->command, words))
    return MHD_CONTENT_READER_END_WITH_ERROR;
  e->began = true;
  if (e->at == e->used) {
    e->at = 0;
    e->used = serve_stream_read(&e->command, e->text, BLOCK, e->stop);
    if (!e->used) return MHD_CONTENT_READER_END_OF_STREAM;
  }
  return (ssize_t)put_events(e, to, room);
}

static void free_events(void *context) {
  struct events *e = context;
  serve_stream_end(&e->command);
  __atomic_sub_fetch(e->streams, 1, __ATOMIC_RELAXED);
  free(e);
}

struct MHD_Response *serve_events(unsigned *streams, const bool *stop) {
  struct MHD_Response *response = NULL;
  struct events *e = NULL;
  if (__atomic_add_fetch(streams, 1, __ATOMIC_RELAXED) <= STREAMS) e = malloc(sizeof *e);
  if (e) {
    memset(e, 0, offsetof(struct events, text));
    e->streams = streams;
    e->stop = stop;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_events, e,
                                                 free_events);
  }
  if (response) return response;
  free(e);
  __atomic_sub_fetch(streams, 1, __ATOMIC_RELAXED);
  return NULL;
}

#endif /* HAVE_MICROHTTPD */
