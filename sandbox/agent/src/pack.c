#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "files.h"
#include "tar.h"

enum { PIECE = 32 * 1024 };

// A directory that is being gone through.
struct level {
  char *path;  // relative to the root, with a slash behind it; "" of the root
  char **names;
  size_t count;
  size_t at;
  struct level *above;
};

struct packing {
  struct channel channel;
  int root;
  uint64_t most_bytes;
  uint64_t most_entries;
  uint64_t bytes;
  uint64_t entries;
  struct level *level;
  struct buffer waiting;
  int fd;         // of the file whose content comes next
  uint64_t left;  // of it
  size_t padding;
  bool over;
};

static char *joined(const char *above, const char *name, const char *behind) {
  size_t size = strlen(above) + strlen(name) + strlen(behind) + 1;
  char *path = must_alloc(size);
  snprintf(path, size, "%s%s%s", above, name, behind);
  return path;
}

static void enter(struct packing *p, int fd, char *path) {
  DIR *directory = fdopendir(fd);
  struct level *level = must_alloc(sizeof *level);
  level->path = path;
  level->above = p->level;
  if (directory != NULL) {
    level->names = names_in(directory, &level->count);
    closedir(directory);
  }
  p->level = level;
}

static void leave(struct packing *p) {
  struct level *level = p->level;
  p->level = level->above;
  for (size_t i = level->at; i < level->count; i += 1) free(level->names[i]);
  free(level->names);
  free(level->path);
  free(level);
}

static int add_file(struct packing *p, int fd, const char *path, const struct stat *facts) {
  p->bytes += (uint64_t)facts->st_size;
  if (p->bytes > p->most_bytes) {
    close(fd);
    return EFBIG;
  }
  const struct tar_entry entry = {.type = '0',
                                  .mode = facts->st_mode & 07777,
                                  .size = (uint64_t)facts->st_size,
                                  .modified = facts->st_mtim.tv_sec,
                                  .name = (char *)path,
                                  .link = (char *)""};
  tar_add_head(&p->waiting, &entry);
  p->fd = fd;
  p->left = entry.size;
  p->padding = tar_padding(entry.size);
  return 0;
}

static int add_link(struct packing *p, const char *path, const struct stat *facts) {
  char target[PATH_MAX];
  ssize_t size = readlinkat(p->root, path, target, sizeof target - 1);
  if (size < 0) return errno;
  target[size] = '\0';
  const struct tar_entry entry = {
      .type = '2', .mode = 0777, .modified = facts->st_mtim.tv_sec, .name = (char *)path, .link = target};
  tar_add_head(&p->waiting, &entry);
  return 0;
}

static int add_directory(struct packing *p, char *path, const struct stat *facts) {
  const struct tar_entry entry = {.type = '5',
                                  .mode = facts->st_mode & 07777,
                                  .modified = facts->st_mtim.tv_sec,
                                  .name = path,
                                  .link = (char *)""};
  int fd = openat(p->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    int error = errno;
    free(path);
    return error;
  }
  tar_add_head(&p->waiting, &entry);
  enter(p, fd, path);
  return 0;
}

// What is neither a file, a directory nor a link has no content to be kept: it is left out.
static int add_path(struct packing *p, const char *above, const char *name) {
  char *path = joined(above, name, "");
  struct stat facts;
  int error = 0;
  if (fstatat(p->root, path, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    // It may have gone since its directory was read.
    error = errno == ENOENT ? 0 : errno;
  } else if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode) && !S_ISLNK(facts.st_mode)) {
    error = 0;
  } else if (++p->entries > p->most_entries) {
    error = EFBIG;
  } else if (S_ISLNK(facts.st_mode)) {
    error = add_link(p, path, &facts);
  } else if (S_ISDIR(facts.st_mode)) {
    error = add_directory(p, joined(above, name, "/"), &facts);
  } else {
    int fd = openat(p->root, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      error = errno;
    } else {
      error = fstat(fd, &facts) != 0 ? errno : add_file(p, fd, path, &facts);
    }
  }
  free(path);
  return error;
}

// Reads the next piece of the file; what it has lost since its head was written becomes zeros.
static void add_content(struct packing *p) {
  size_t most = p->left < PIECE ? (size_t)p->left : PIECE;
  uint8_t *at = buffer_grow(&p->waiting, most);
  ssize_t size = most == 0 ? 0 : read(p->fd, at, most);
  if (size < 0) size = 0;
  if ((size_t)size < most) memset(at + size, 0, most - (size_t)size);
  p->left -= most;
  if (p->left > 0) return;
  memset(buffer_grow(&p->waiting, p->padding), 0, p->padding);
  close(p->fd);
  p->fd = -1;
}

// Goes on by one entry, or one piece of one.
static int go_on(struct packing *p) {
  if (p->fd >= 0) {
    add_content(p);
    return 0;
  }
  if (p->level == NULL) {
    memset(buffer_grow(&p->waiting, 2 * (size_t)TAR_BLOCK), 0, 2 * (size_t)TAR_BLOCK);
    p->over = true;
    return 0;
  }
  struct level *level = p->level;
  if (level->at == level->count) {
    leave(p);
    return 0;
  }
  char *name = level->names[level->at++];
  int error = add_path(p, level->path, name);
  free(name);
  return error;
}

static bool packing_pump(struct agent *agent, struct channel *channel) {
  struct packing *p = (struct packing *)channel;
  if (channel->may_send == 0) return false;
  while (!p->over && buffer_size(&p->waiting) < PIECE) {
    int error = go_on(p);
    if (error != 0) {
      channel_end(agent, channel, error, error == EFBIG ? "more than asked for" : NULL);
      return true;
    }
  }
  size_t size = buffer_size(&p->waiting);
  if (size == 0) {
    channel_end(agent, channel, 0, NULL);
    return true;
  }
  if (size > PIECE) size = PIECE;
  if (size > channel->may_send) size = (size_t)channel->may_send;
  frame_send(&agent->out, DATA, channel->id, (struct bytes){.at = buffer_at(&p->waiting), .size = size});
  buffer_drop(&p->waiting, size);
  channel->may_send -= size;
  return true;
}

static void packing_free(struct agent *agent, struct channel *channel) {
  struct packing *p = (struct packing *)channel;
  (void)agent;
  while (p->level != NULL) leave(p);
  if (p->fd >= 0) close(p->fd);
  close(p->root);
  buffer_free(&p->waiting);
  free(p);
}

static const struct channel_kind packing_kind = {.pump = packing_pump, .cancel = end_whole, .free = packing_free};

void archive_pack(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint64_t most_bytes = read_u64(&r);
  uint64_t most_entries = read_u64(&r);
  char *path = read_path(&r);
  if (!whole(agent, &r)) {
    free(path);
    return;
  }
  struct stat facts;
  int error = stat(path, &facts) != 0 ? errno : 0;
  if (error == 0 && !S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode)) error = EINVAL;
  struct packing *p = must_alloc(sizeof *p);
  p->fd = -1;
  p->root = -1;
  p->most_bytes = most_bytes;
  p->most_entries = most_entries;
  if (error == 0 && S_ISREG(facts.st_mode)) {
    // One file: its name alone, in the directory where it lies.
    char *real = realpath(path, NULL);
    char *parent = must_copy(real == NULL ? path : real);
    *(strrchr(parent, '/') + 1) = '\0';
    p->root = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = p->root < 0 ? errno : add_path(p, "", name_of(real == NULL ? path : real));
    free(parent);
    free(real);
  } else if (error == 0) {
    p->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = p->root < 0 ? -1 : openat(p->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
      error = errno;
    } else {
      enter(p, fd, must_copy(""));
    }
  }
  free(path);
  if (error != 0) {
    reply_error(&agent->out, id, error, NULL);
    packing_free(agent, &p->channel);
    return;
  }
  channel_open(agent, &p->channel, id, &packing_kind);
  reply(&agent->out, id, (struct bytes){0});
}
