/* SPDX-License-Identifier: MIT */
/* directory.c: see directory.h. Walks the path component by component. Each component is
 * opened in the directory before it and checked through its descriptor, so nobody can
 * exchange it after the check. (With fs.protected_symlinks the kernel makes such checks,
 * but only in sticky directories.) */
#include "format/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, OPEN = O_PATH | O_NOFOLLOW | O_CLOEXEC };

struct walk {
  int at;              /* descriptor of the directory reached so far */
  unsigned links;
  char rest[PATH_MAX]; /* the rest of the path */
  bool make;
};

static int refuse(int error) {
  errno = error;
  return -1;
}

/* Puts the target of the link before the rest. Always closes the link's descriptor. */
static int follow(struct walk *w, int link) {
  char target[PATH_MAX], rest[PATH_MAX];
  struct stat st;
  bool trusted = fstat(link, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
  ssize_t size = trusted && ++w->links <= MOST_LINKS ? readlinkat(link, "", target, PATH_MAX) : -1;
  close(link);
  if (size < 0) return refuse(ELOOP);
  int length = snprintf(rest, sizeof rest, "%.*s/%s", (int)size, target, w->rest);
  if (length >= (int)sizeof rest) return refuse(ENAMETOOLONG);
  memcpy(w->rest, rest, (size_t)length + 1);
  if (rest[0] != '/') return 0;
  close(w->at);
  w->at = open("/", OPEN | O_DIRECTORY);
  return w->at < 0 ? -1 : 0;
}

/* Enters the directory of this name, or follows the link of this name. */
static int step(struct walk *w, const char *name, bool last) {
  struct stat st;
  int fd = openat(w->at, name, OPEN);
  if (fd < 0 && errno == ENOENT && last && w->make &&
      (mkdirat(w->at, name, 0700) == 0 || errno == EEXIST))
    fd = openat(w->at, name, OPEN);
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) return follow(w, fd);
  close(w->at);
  w->at = fd;
  return S_ISDIR(st.st_mode) ? 0 : refuse(ENOTDIR);
}

/* Takes the next component out of the rest; returns false if there is none. */
static bool take(struct walk *w, char name[NAME_MAX + 1]) {
  const char *from = w->rest + strspn(w->rest, "/");
  size_t size = strcspn(from, "/");
  if (!size || size > NAME_MAX) return false;
  memcpy(name, from, size);
  name[size] = '\0';
  from += size;
  from += strspn(from, "/");
  memmove(w->rest, from, strlen(from) + 1);
  return true;
}

int evr_open_directory(const char *path, bool make) {
  struct walk w = {.make = make};
  char name[NAME_MAX + 1];
  int status = 0;
  if (snprintf(w.rest, sizeof w.rest, "%s", path) >= (int)sizeof w.rest)
    return refuse(ENAMETOOLONG);
  w.at = open(path[0] == '/' ? "/" : ".", OPEN | O_DIRECTORY);
  if (w.at < 0) return -1;
  while (status == 0 && take(&w, name)) status = step(&w, name, !w.rest[0]);
  if (status == 0 && w.rest[strspn(w.rest, "/")]) status = refuse(ENAMETOOLONG);
  if (status == 0) return w.at;
  int error = errno;
  if (w.at >= 0) close(w.at);
  return refuse(error);
}
