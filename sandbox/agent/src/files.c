#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper.h"

enum { PIECE = 32 * 1024, NO_MODE = -1 };

// ---- Entries and paths

static uint8_t kind_of(mode_t mode) {
  if (S_ISREG(mode)) return 1;
  if (S_ISDIR(mode)) return 2;
  return S_ISLNK(mode) ? 3 : 4;
}

static void add_number(struct buffer *to, uint64_t value, size_t size) {
  uint8_t *at = buffer_grow(to, size);
  for (size_t i = 0; i < size; i += 1) at[i] = (uint8_t)(value >> (8 * i));
}

static void add_text(struct buffer *to, const char *text) {
  size_t size = strlen(text);
  add_number(to, size, 4);
  buffer_add(to, text, size);
}

void add_entry(struct buffer *to, const struct stat *facts, const char *name, const char *link_target) {
  add_number(to, kind_of(facts->st_mode), 1);
  add_number(to, facts->st_mode & 07777, 4);
  add_number(to, facts->st_uid, 4);
  add_number(to, facts->st_gid, 4);
  add_number(to, S_ISREG(facts->st_mode) ? (uint64_t)facts->st_size : 0, 8);
  add_number(to, (uint64_t)facts->st_mtim.tv_sec, 8);
  add_number(to, (uint64_t)facts->st_mtim.tv_nsec, 4);
  add_text(to, name);
  add_text(to, link_target == NULL ? "" : link_target);
}

const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

// Takes slashes from the end: "/a/b/" is "/a/b".
static void trim(char *path) {
  size_t size = strlen(path);
  while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
}

char *read_path(struct reader *r) {
  char *path = read_text(r);
  if (path != NULL && path[0] != '/') {
    free(path);
    r->broken = true;
    return NULL;
  }
  if (path != NULL) trim(path);
  return path;
}

bool whole(struct agent *agent, const struct reader *r) {
  if (!r->broken && r->left == 0) return true;
  break_off(agent);
  return false;
}

static void link_text(int directory, const char *name, const struct stat *facts, char *to, size_t size) {
  ssize_t length = S_ISLNK(facts->st_mode) ? readlinkat(directory, name, to, size - 1) : 0;
  to[length < 0 ? 0 : length] = '\0';
}

static void reply_entry(struct agent *agent, uint32_t id, const char *path, const struct stat *facts) {
  struct buffer entry = {0};
  char target[PATH_MAX];
  link_text(AT_FDCWD, path, facts, target, sizeof target);
  add_entry(&entry, facts, name_of(path), target);
  reply(&agent->out, id, (struct bytes){.at = buffer_at(&entry), .size = buffer_size(&entry)});
  buffer_free(&entry);
}

bool find_owner(const char *user, struct owner *owner) {
  *owner = (struct owner){.uid = -1, .gid = -1};
  if (user[0] == '\0') return true;
  const struct user found = find_user(user);
  if (found.uid < 0) return false;
  // Its own is what it makes anyway.
  if ((uid_t)found.uid != getuid()) *owner = (struct owner){.uid = found.uid, .gid = found.gid};
  return true;
}

int make_directories(const char *path, mode_t mode, const struct owner *owner, bool *made) {
  char *copy = must_copy(path);
  int error = 0;
  *made = false;
  for (char *at = copy + 1; error == 0; at += 1) {
    bool last = *at == '\0';
    if (*at != '/' && !last) continue;
    *at = '\0';
    if (mkdir(copy, 0755) == 0) {
      *made = last;
      if (owner->uid >= 0 && lchown(copy, (uid_t)owner->uid, (gid_t)owner->gid) != 0) error = errno;
      if (last && chmod(copy, mode) != 0) error = errno;
    } else {
      struct stat facts;
      int why = errno;
      if (stat(copy, &facts) != 0) {
        error = why == EEXIST ? ELOOP : why;
      } else if (!S_ISDIR(facts.st_mode)) {
        error = last ? EEXIST : ENOTDIR;
      }
    }
    if (last) break;
    *at = '/';
  }
  free(copy);
  return error;
}

// ---- READ

struct reading {
  struct channel channel;
  int fd;
  uint64_t at;
  uint64_t left;  // before it is too large
};

static bool reading_pump(struct agent *agent, struct channel *channel) {
  struct reading *reading = (struct reading *)channel;
  uint8_t piece[PIECE];
  if (channel->may_send == 0) return false;
  size_t most = channel->may_send < PIECE ? (size_t)channel->may_send : PIECE;
  ssize_t size = pread(reading->fd, piece, most, (off_t)reading->at);
  // What cannot be read at a place is read from where it stands.
  if (size < 0 && errno == ESPIPE) size = read(reading->fd, piece, most);
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) {
    channel_end(agent, channel, size < 0 ? errno : 0, NULL);
    return true;
  }
  if ((uint64_t)size > reading->left) {
    channel_end(agent, channel, EFBIG, "more bytes than asked for");
    return true;
  }
  frame_send(&agent->out, DATA, channel->id, (struct bytes){.at = piece, .size = (size_t)size});
  channel->may_send -= (uint64_t)size;
  reading->at += (uint64_t)size;
  reading->left -= (uint64_t)size;
  return true;
}

void end_whole(struct agent *agent, struct channel *channel) { channel_end(agent, channel, 0, NULL); }

static void reading_free(struct agent *agent, struct channel *channel) {
  (void)agent;
  close(((struct reading *)channel)->fd);
  free(channel);
}

static const struct channel_kind reading_kind = {.pump = reading_pump, .cancel = end_whole, .free = reading_free};

// Opens a regular file without ever waiting for somebody at its other end. Answers -1 with errno.
static int open_regular(const char *path, struct stat *facts) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENXIO) errno = EINVAL;
    return -1;
  }
  if (fstat(fd, facts) == 0 && S_ISREG(facts->st_mode)) return fd;
  int error = S_ISDIR(facts->st_mode) ? EISDIR : EINVAL;
  close(fd);
  errno = error;
  return -1;
}

void file_read(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint64_t offset = read_u64(&r);
  uint64_t most = read_u64(&r);
  char *path = read_path(&r);
  if (!whole(agent, &r)) {
    free(path);
    return;
  }
  struct stat facts;
  int fd = open_regular(path, &facts);
  if (fd < 0) {
    reply_error(&agent->out, id, errno, NULL);
  } else if ((uint64_t)facts.st_size > offset && (uint64_t)facts.st_size - offset > most) {
    close(fd);
    reply_error(&agent->out, id, EFBIG, "the file is larger than asked for");
  } else {
    struct reading *reading = must_alloc(sizeof *reading);
    reading->fd = fd;
    reading->at = offset;
    reading->left = most;
    reply_entry(agent, id, path, &facts);
    channel_open(agent, &reading->channel, id, &reading_kind);
  }
  free(path);
}

// ---- WRITE

struct writing {
  struct channel channel;
  int fd;
  int error;
  char *target;
  char *beside;  // the file of another name that is renamed at the end
  mode_t mode;
  struct owner owner;
};

static void writing_data(struct agent *agent, struct channel *channel, struct bytes bytes) {
  struct writing *writing = (struct writing *)channel;
  for (size_t done = 0; writing->error == 0 && done < bytes.size;) {
    ssize_t size = write(writing->fd, bytes.at + done, bytes.size - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) writing->error = errno;
    if (size > 0) done += (size_t)size;
  }
  channel_used(agent, channel, bytes.size);
}

static int finish(struct writing *writing, struct stat *facts) {
  if (writing->error != 0) return writing->error;
  if (writing->owner.uid >= 0 && fchown(writing->fd, (uid_t)writing->owner.uid, (gid_t)writing->owner.gid) != 0) return errno;
  if (fchmod(writing->fd, writing->mode) != 0) return errno;
  if (rename(writing->beside, writing->target) != 0) return errno;
  free(writing->beside);
  writing->beside = NULL;
  return fstat(writing->fd, facts) != 0 ? errno : 0;
}

static void writing_commit(struct agent *agent, struct channel *channel) {
  struct writing *writing = (struct writing *)channel;
  struct stat facts;
  int error = finish(writing, &facts);
  if (error != 0) {
    reply_error(&agent->out, channel->id, error, NULL);
  } else {
    reply_entry(agent, channel->id, writing->target, &facts);
  }
  channel_close(agent, channel);
}

static void writing_free(struct agent *agent, struct channel *channel) {
  struct writing *writing = (struct writing *)channel;
  (void)agent;
  close(writing->fd);
  if (writing->beside != NULL) unlink(writing->beside);
  free(writing->beside);
  free(writing->target);
  free(writing);
}

static const struct channel_kind writing_kind = {
    .data = writing_data, .commit = writing_commit, .cancel = end_whole, .free = writing_free};

// Where a path leads, links followed, so that a link stays one; the path itself where nothing is there.
static char *where_it_leads(const char *path, int *error) {
  struct stat facts;
  char *real = lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode) ? realpath(path, NULL) : must_copy(path);
  *error = real == NULL ? errno : 0;
  return real;
}

static int may_replace(const char *path, mode_t *mode, bool keep_mode) {
  struct stat facts;
  if (stat(path, &facts) != 0) return errno == ENOENT ? 0 : errno;
  if (S_ISDIR(facts.st_mode)) return EISDIR;
  if (!S_ISREG(facts.st_mode)) return EINVAL;
  if (keep_mode) *mode = facts.st_mode & 07777;
  return access(path, W_OK) != 0 ? errno : 0;
}

static int open_beside(struct writing *writing, uint32_t id) {
  char *parent = must_copy(writing->target);
  *strrchr(parent, '/') = '\0';
  bool made;
  int error = parent[0] == '\0' ? 0 : make_directories(parent, 0755, &writing->owner, &made);
  if (error == EEXIST) error = ENOTDIR;
  size_t size = strlen(parent) + 64;
  writing->beside = must_alloc(size);
  snprintf(writing->beside, size, "%s/.touchstone-%d-%u", parent, (int)getpid(), id);
  free(parent);
  if (error != 0) return error;
  writing->fd = open(writing->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return writing->fd < 0 ? errno : 0;
}

void file_write(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint32_t mode = read_u32(&r);
  char *user = read_text(&r);
  char *path = read_path(&r);
  struct writing *writing = must_alloc(sizeof *writing);
  writing->fd = -1;
  if (!whole(agent, &r) || (mode > 07777 && mode != UINT32_MAX)) {
    break_off(agent);
    free(writing);
    free(user);
    free(path);
    return;
  }
  int error = find_owner(user, &writing->owner) ? 0 : EINVAL;
  const char *text = error == 0 ? NULL : "no such user";
  writing->mode = mode == UINT32_MAX ? 0644 : mode;
  if (error == 0) writing->target = where_it_leads(path, &error);
  if (error == 0) error = may_replace(writing->target, &writing->mode, mode == UINT32_MAX);
  if (error == 0) error = open_beside(writing, id);
  free(user);
  free(path);
  if (error != 0) {
    reply_error(&agent->out, id, error, text);
    free(writing->beside);
    free(writing->target);
    free(writing);
    return;
  }
  channel_open(agent, &writing->channel, id, &writing_kind);
  reply(&agent->out, id, (struct bytes){0});
}

// ---- STAT, LIST

void file_stat(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint8_t follow = read_u8(&r);
  char *path = read_path(&r);
  if (whole(agent, &r)) {
    struct stat facts;
    if ((follow ? stat(path, &facts) : lstat(path, &facts)) != 0) {
      reply_error(&agent->out, id, errno, NULL);
    } else {
      reply_entry(agent, id, path, &facts);
    }
  }
  free(path);
}

struct listing {
  struct channel channel;
  struct buffer entries;
};

static bool listing_pump(struct agent *agent, struct channel *channel) {
  struct listing *listing = (struct listing *)channel;
  size_t size = buffer_size(&listing->entries);
  if (size == 0) {
    channel_end(agent, channel, 0, NULL);
    return true;
  }
  if (size > PIECE) size = PIECE;
  if (size > channel->may_send) size = (size_t)channel->may_send;
  if (size == 0) return false;
  frame_send(&agent->out, DATA, channel->id, (struct bytes){.at = buffer_at(&listing->entries), .size = size});
  buffer_drop(&listing->entries, size);
  channel->may_send -= size;
  return true;
}

static void listing_free(struct agent *agent, struct channel *channel) {
  (void)agent;
  buffer_free(&((struct listing *)channel)->entries);
  free(channel);
}

static const struct channel_kind listing_kind = {.pump = listing_pump, .cancel = end_whole, .free = listing_free};

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **names_in(DIR *directory, size_t *count) {
  char **names = NULL;
  size_t room = 0;
  *count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (*count == room) {
      room = room == 0 ? 64 : room * 2;
      names = must_realloc(names, room * sizeof *names);
    }
    names[(*count)++] = must_copy(entry->d_name);
  }
  if (*count > 0) qsort(names, *count, sizeof *names, by_bytes);
  return names;
}

static void add_listed(struct buffer *to, int directory, const char *name) {
  struct stat facts;
  // It may have gone since it was read.
  if (fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return;
  char target[PATH_MAX];
  link_text(directory, name, &facts, target, sizeof target);
  struct buffer entry = {0};
  add_entry(&entry, &facts, name, target);
  add_number(to, buffer_size(&entry), 4);
  buffer_add(to, buffer_at(&entry), buffer_size(&entry));
  buffer_free(&entry);
}

void file_list(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  char *path = read_path(&r);
  if (!whole(agent, &r)) {
    free(path);
    return;
  }
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (directory == NULL) {
    reply_error(&agent->out, id, errno, NULL);
    if (fd >= 0) close(fd);
  } else {
    struct listing *listing = must_alloc(sizeof *listing);
    size_t count;
    char **names = names_in(directory, &count);
    for (size_t i = 0; i < count; i += 1) {
      add_listed(&listing->entries, fd, names[i]);
      free(names[i]);
    }
    free(names);
    closedir(directory);
    reply(&agent->out, id, (struct bytes){0});
    channel_open(agent, &listing->channel, id, &listing_kind);
  }
  free(path);
}

// ---- MKDIR, REMOVE, MOVE

void file_mkdir(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint32_t mode = read_u32(&r);
  char *path = read_path(&r);
  if (whole(agent, &r)) {
    const struct owner nobody = {.uid = -1, .gid = -1};
    bool made;
    int error = make_directories(path, mode & 07777, &nobody, &made);
    uint8_t existed = !made;
    if (error != 0) {
      reply_error(&agent->out, id, error, NULL);
    } else {
      reply(&agent->out, id, (struct bytes){.at = &existed, .size = 1});
    }
  }
  free(path);
}

// Removes what is in a directory; never follows a link. Takes over the descriptor.
static int remove_in(int fd) {
  DIR *directory = fdopendir(fd);
  if (directory == NULL) {
    int error = errno;
    close(fd);
    return error;
  }
  int error = 0;
  for (struct dirent *entry; error == 0 && (entry = readdir(directory)) != NULL;) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) {
      error = errno;
      break;
    }
    int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    error = below < 0 ? errno : remove_in(below);
    if (error == 0 && unlinkat(fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) error = errno;
  }
  closedir(directory);
  return error;
}

static int remove_path(const char *path, bool recursive, bool *nothing) {
  struct stat facts;
  *nothing = lstat(path, &facts) != 0;
  if (*nothing) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
  if (!S_ISDIR(facts.st_mode)) return unlink(path) != 0 ? errno : 0;
  if (recursive) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 ? errno : remove_in(fd);
    if (error != 0) return error;
  }
  return rmdir(path) != 0 ? errno : 0;
}

void file_remove(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint8_t recursive = read_u8(&r);
  char *path = read_path(&r);
  if (whole(agent, &r)) {
    bool nothing;
    int error = remove_path(path, recursive != 0, &nothing);
    uint8_t answer = nothing;
    if (error != 0) {
      reply_error(&agent->out, id, error, NULL);
    } else {
      reply(&agent->out, id, (struct bytes){.at = &answer, .size = 1});
    }
  }
  free(path);
}

static int move_path(const char *source, const char *target, bool overwrite) {
  struct stat facts;
  if (lstat(source, &facts) != 0) return errno;
  bool directory = S_ISDIR(facts.st_mode);
  if (lstat(target, &facts) == 0 && (!overwrite || directory || S_ISDIR(facts.st_mode))) return EEXIST;
  char *parent = must_copy(target);
  *strrchr(parent, '/') = '\0';
  const struct owner nobody = {.uid = -1, .gid = -1};
  bool made;
  int error = parent[0] == '\0' ? 0 : make_directories(parent, 0755, &nobody, &made);
  free(parent);
  if (error != 0) return error == EEXIST ? ENOTDIR : error;
  return rename(source, target) != 0 ? errno : 0;
}

void file_move(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint8_t overwrite = read_u8(&r);
  char *source = read_path(&r);
  char *target = read_path(&r);
  if (whole(agent, &r)) {
    int error = move_path(source, target, overwrite != 0);
    if (error != 0) {
      reply_error(&agent->out, id, error, NULL);
    } else {
      reply(&agent->out, id, (struct bytes){0});
    }
  }
  free(source);
  free(target);
}
