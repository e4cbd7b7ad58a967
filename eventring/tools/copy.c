/* SPDX-License-Identifier: MIT */
/* copy.c: copies a recording. */
#include "copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/figures.h"
#include "new_file.h"
#include "reader.h"

struct copy {
  int fd;
  struct new_file file;
  FILE *gathered; /* file that gathers a copy to standard output, or NULL */
};

bool copy_write(struct copy *copy, eventring_saver *saver, bool is_last) {
  struct eventring_error error;
  bool more = true;
  while (more) {
    if (eventring_saver_write(saver, copy->fd, copy->file.path, is_last, &more, &error) < 0) {
      complain("%s", error.text);
      return false;
    }
    if (more && reader_is_stopped()) {
      complain("interrupted; %s is removed", copy->file.path);
      return false;
    }
  }
  return true;
}

/* ---- All of it ---------------------------------------------------------------- */

/* Returns a file without a name, to which a copy for standard output is written first,
   because a saver writes the front of a recording last. Returns -1 after a message. */
static int gather(struct copy *copy) {
  copy->file.path = shown_path("-");
  if (!standard_output_takes("a recording")) return -1;
  copy->gathered = tmpfile();
  if (copy->gathered) return fileno(copy->gathered);
  complain("cannot make a temporary file: %s", strerror(errno));
  return -1;
}

static bool pass_on(struct copy *copy) {
  char bytes[1 << 16];
  size_t size = 0;
  rewind(copy->gathered);
  while ((size = fread(bytes, 1, sizeof bytes, copy->gathered)) > 0)
    if (fwrite(bytes, 1, size, stdout) != size) break;
  bool failed = ferror(copy->gathered);
  if (failed) complain("cannot read a temporary file: %s", strerror(errno));
  fclose(copy->gathered);
  return !failed; /* errors of standard output are reported at the end */
}

struct copy *copy_begin(const char *path) {
  struct copy *copy = need_zeroed(1, sizeof *copy);
  copy->fd = is_standard_output(path) ? gather(copy) : new_file_create(&copy->file, path);
  if (copy->fd < 0) {
    free(copy);
    return NULL;
  }
  return copy;
}

bool copy_end(struct copy *copy, bool done) {
  if (copy->gathered) {
    if (done) done = pass_on(copy);
    else fclose(copy->gathered);
    free(copy);
    return done;
  }
  if (close(copy->fd) != 0 && done) {
    complain("cannot write %s: %s", copy->file.path, strerror(errno));
    done = false;
  }
  if (done) done = new_file_keep(&copy->file);
  else new_file_drop(&copy->file);
  free(copy);
  return done;
}

static bool write_file(const struct copy_options *options, eventring_saver *saver) {
  struct copy *copy = options->begun ? options->begun : copy_begin(options->path);
  return copy && copy_end(copy, copy_write(copy, saver, true));
}

bool report_damage(eventring_cursor *cursor) {
  if (eventring_cursor_damage(cursor) == EVENTRING_OK) return false;
  complain("%s", eventring_cursor_error(cursor)->text);
  return true;
}

/* Prints how much was copied, and what the copy lacks. */
static void print_copy(const char *path, const struct eventring_saver_info *info,
                       uint64_t bytes) {
  char events[EVA_FIGURE], size[EVA_FIGURE];
  complain("%s: %s events, %s", path, eva_count_text(events, info->saved),
           eva_bytes_text(size, bytes));
  if (info->missed)
    complain("%s events before them are not there", eva_count_text(events, info->missed));
  if (info->lost)
    complain("%s events among them are lost", eva_count_text(events, info->lost));
}

int copy_recording(eventring_cursor *cursor, const struct copy_options *options) {
  struct eventring_error error;
  struct eventring_saver_options of_copy = options->saver_options;
  struct eventring_saver_info info;
  eventring_saver *saver;
  of_copy.checked = of_copy.copy = true;
  if (eventring_saver_open(&saver, cursor, &of_copy, &error) < 0) {
    if (options->begun) copy_end(options->begun, false);
    return wrong("%s", error.text);
  }
  reader_catch_signals(true);
  bool done = write_file(options, saver);
  reader_catch_signals(false);
  eventring_saver_info(saver, &info);
  uint64_t bytes = eventring_saver_size(saver);
  eventring_saver_close(saver);
  if (!done) return STATUS_WRONG;
  bool damaged = report_damage(cursor);
  if (info.damaged) complain_damaged(info.damaged);
  if (!options->quiet) print_copy(shown_path(options->path), &info, bytes);
  return damaged || info.damaged ? STATUS_WRONG : STATUS_OK;
}

int copy_target(const struct command *self, const struct operands *operands,
                const struct copy_options *options) {
  struct reader reader;
  int status = require_target(self, operands, false);
  if (!goes_on(status)) return status;
  if (!options->path) return usage_error(self, "no -o FILE given");
  status = reader_open_target(&reader, operands->words[0], EVENTRING_OPEN_FOLLOW);
  return goes_on(status) ? reader_close(&reader, copy_recording(reader.cursor, options)) : status;
}
