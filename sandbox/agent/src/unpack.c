#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "files.h"
#include "tar.h"

enum { MOST_AHEAD = 1024 * 1024 };

// What a directory is to be when everything in it is there.
struct later {
  char *name;
  mode_t mode;
  int64_t modified;
  struct later *next;
};

struct unpacking {
  struct channel channel;
  int root;
  struct owner owner;
  uint64_t most_bytes;
  uint64_t most_entries;
  uint64_t bytes;
  uint64_t entries;
  int error;
  char text[256];
  struct buffer block;       // a head that is not whole yet
  struct tar_ahead ahead;
  struct buffer ahead_bytes; // of a head that says something of the next
  char ahead_type;
  uint64_t left;             // of the entry's content
  size_t padding;
  int fd;                    // where the content goes; -1: nowhere
  int64_t modified;
  bool over;                 // its end was seen
  struct later *later;
};

static void fail(struct unpacking *u, int error, const char *name) {
  if (u->error != 0) return;
  u->error = error;
  snprintf(u->text, sizeof u->text, "%.200s", name);
}

// The directory in which a name is to be made, its parents made on the way, and its last element. No link is gone through.
// Answers -1 with errno. The leaf is "" for the target directory itself.
static int parent_of(struct unpacking *u, const char *name, const char **leaf) {
  if (name[0] == '/') {
    errno = EXDEV;
    return -1;
  }
  int directory = dup(u->root);
  const char *at = name;
  *leaf = "";
  while (directory >= 0) {
    while (*at == '/') at += 1;
    const char *end = strchrnul(at, '/');
    size_t size = (size_t)(end - at);
    const char *next = end;
    while (*next == '/') next += 1;
    if (size == 0) return directory;
    if (size == 2 && at[0] == '.' && at[1] == '.') {
      close(directory);
      errno = EXDEV;
      return -1;
    }
    if (size == 1 && at[0] == '.') {
      at = next;
      continue;
    }
    if (*next == '\0') {
      *leaf = at;
      return directory;
    }
    char element[256];
    if (size >= sizeof element) {
      close(directory);
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(element, at, size);
    element[size] = '\0';
    if (mkdirat(directory, element, 0755) == 0 && u->owner.uid >= 0 &&
        fchownat(directory, element, (uid_t)u->owner.uid, (gid_t)u->owner.gid, AT_SYMLINK_NOFOLLOW) != 0) {
      int error = errno;
      close(directory);
      errno = error;
      return -1;
    }
    int below = openat(directory, element, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = errno == ELOOP || errno == ENOTDIR ? EXDEV : errno;
    close(directory);
    if (below < 0) {
      errno = error;
      return -1;
    }
    directory = below;
    at = next;
  }
  return -1;
}

// A leaf without the slashes of a directory's name.
static bool bare_leaf(const char *leaf, char to[256]) {
  size_t size = strcspn(leaf, "/");
  if (size >= 256) return false;
  memcpy(to, leaf, size);
  to[size] = '\0';
  return true;
}

static int own(struct unpacking *u, int directory, const char *leaf) {
  if (u->owner.uid < 0) return 0;
  return fchownat(directory, leaf, (uid_t)u->owner.uid, (gid_t)u->owner.gid, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
}

static int make_directory(struct unpacking *u, int directory, const char *leaf, const struct tar_entry *entry) {
  if (leaf[0] != '\0') {
    struct stat facts;
    if (mkdirat(directory, leaf, 0700) == 0) {
      int error = own(u, directory, leaf);
      if (error != 0) return error;
    } else if (fstatat(directory, leaf, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(facts.st_mode)) {
      return EEXIST;
    }
    // Its mode may forbid what is still to be made in it.
    struct later *later = must_alloc(sizeof *later);
    *later = (struct later){
        .name = must_copy(entry->name), .mode = entry->mode & 01777, .modified = entry->modified, .next = u->later};
    u->later = later;
  }
  return 0;
}

static int make_file(struct unpacking *u, int directory, const char *leaf, const struct tar_entry *entry) {
  if (unlinkat(directory, leaf, 0) != 0 && errno != ENOENT) return errno;
  u->fd = openat(directory, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (u->fd < 0) return errno;
  int error = own(u, directory, leaf);
  if (error == 0 && fchmod(u->fd, entry->mode & 0777) != 0) error = errno;
  u->modified = entry->modified;
  return error;
}

static int make_link(struct unpacking *u, int directory, const char *leaf, const struct tar_entry *entry) {
  if (unlinkat(directory, leaf, 0) != 0 && errno != ENOENT) return errno;
  if (entry->type == '2') {
    if (symlinkat(entry->link, directory, leaf) != 0) return errno;
    return own(u, directory, leaf);
  }
  const char *of;
  char bare[256];
  int from = parent_of(u, entry->link, &of);
  if (from < 0) return errno;
  int error = of[0] == '\0' || !bare_leaf(of, bare) ? EXDEV : 0;
  if (error == 0 && linkat(from, bare, directory, leaf, 0) != 0) error = errno;
  close(from);
  return error;
}

static int make_entry(struct unpacking *u, const struct tar_entry *entry) {
  const char *leaf;
  char bare[256];
  if (strchr("01257", entry->type) == NULL) return EPERM;
  int directory = parent_of(u, entry->name, &leaf);
  if (directory < 0) return errno;
  int error = 0;
  if (!bare_leaf(leaf, bare)) {
    error = ENAMETOOLONG;
  } else if (entry->type == '5') {
    error = make_directory(u, directory, bare, entry);
  } else if (bare[0] == '\0') {
    error = EISDIR;
  } else if (entry->type == '1' || entry->type == '2') {
    error = make_link(u, directory, bare, entry);
  } else {
    error = make_file(u, directory, bare, entry);
  }
  close(directory);
  return error;
}

// What heads before it said of an entry holds for it, once.
static void apply_ahead(struct unpacking *u, struct tar_entry *entry) {
  struct tar_ahead *ahead = &u->ahead;
  if (ahead->name != NULL) {
    free(entry->name);
    entry->name = must_copy(ahead->name);
  }
  if (ahead->link != NULL) {
    free(entry->link);
    entry->link = must_copy(ahead->link);
  }
  if (ahead->has_size) entry->size = ahead->size;
  if (ahead->has_modified) entry->modified = ahead->modified;
  tar_ahead_clear(ahead);
}

static void begin_entry(struct unpacking *u, struct tar_entry *entry) {
  bool ahead = strchr("xLK", entry->type) != NULL;
  if (ahead || entry->type == 'g') {
    if (entry->size > MOST_AHEAD) {
      fail(u, EFBIG, "a head of the archive is too long");
      return;
    }
    u->ahead_type = entry->type;
    u->left = entry->size;
    u->padding = tar_padding(entry->size);
    return;
  }
  apply_ahead(u, entry);
  bool file = entry->type == '0' || entry->type == '7';
  u->entries += 1;
  if (file) u->bytes += entry->size;
  if (u->entries > u->most_entries || u->bytes > u->most_bytes) {
    fail(u, EFBIG, "the archive has more than is taken");
    return;
  }
  int error = make_entry(u, entry);
  if (error != 0) {
    fail(u, error, entry->name);
    return;
  }
  // Links and directories have no content, whatever their size says.
  u->left = file ? entry->size : 0;
  u->padding = file ? tar_padding(entry->size) : 0;
}

static void end_ahead(struct unpacking *u) {
  size_t size = buffer_size(&u->ahead_bytes);
  if (u->ahead_type == 'x') {
    if (!tar_read_pax(buffer_at(&u->ahead_bytes), size, &u->ahead)) fail(u, EINVAL, "a pax head is broken");
  } else if (u->ahead_type != 'g') {
    char *text = must_alloc(size + 1);
    if (size > 0) memcpy(text, buffer_at(&u->ahead_bytes), size);
    char **place = u->ahead_type == 'L' ? &u->ahead.name : &u->ahead.link;
    free(*place);
    *place = text;
  }
  buffer_free(&u->ahead_bytes);
  u->ahead_type = 0;
}

static void end_file(struct unpacking *u) {
  if (u->fd < 0) return;
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = u->modified}};
  futimens(u->fd, times);
  close(u->fd);
  u->fd = -1;
}

static void end_content(struct unpacking *u) {
  if (u->ahead_type != 0) {
    end_ahead(u);
  } else {
    end_file(u);
  }
}

static size_t take_content(struct unpacking *u, const uint8_t *at, size_t size) {
  if (size > u->left) size = (size_t)u->left;
  if (u->ahead_type != 0) {
    buffer_add(&u->ahead_bytes, at, size);
  } else {
    for (size_t done = 0; u->fd >= 0 && u->error == 0 && done < size;) {
      ssize_t written = write(u->fd, at + done, size - done);
      if (written < 0 && errno != EINTR) fail(u, errno, "a file of the archive");
      if (written > 0) done += (size_t)written;
    }
  }
  u->left -= size;
  if (u->left == 0) end_content(u);
  return size;
}

static size_t take_head(struct unpacking *u, const uint8_t *at, size_t size) {
  size_t missing = TAR_BLOCK - buffer_size(&u->block);
  if (size > missing) size = missing;
  buffer_add(&u->block, at, size);
  if (buffer_size(&u->block) < TAR_BLOCK) return size;
  struct tar_entry entry;
  if (!tar_read_head(buffer_at(&u->block), &entry)) {
    fail(u, EINVAL, "this is no tar");
  } else if (entry.type == 0) {
    u->over = true;
  } else {
    begin_entry(u, &entry);
    if (u->error == 0 && u->left == 0) end_content(u);
  }
  tar_entry_clear(&entry);
  buffer_drop(&u->block, TAR_BLOCK);
  return size;
}

static void unpacking_data(struct agent *agent, struct channel *channel, struct bytes bytes) {
  struct unpacking *u = (struct unpacking *)channel;
  for (size_t done = 0; u->error == 0 && !u->over && done < bytes.size;) {
    const uint8_t *at = bytes.at + done;
    size_t size = bytes.size - done;
    if (u->left > 0) {
      done += take_content(u, at, size);
    } else if (u->padding > 0) {
      size_t piece = size < u->padding ? size : u->padding;
      u->padding -= piece;
      done += piece;
    } else {
      done += take_head(u, at, size);
    }
  }
  channel_used(agent, channel, bytes.size);
}

static void set_directories(struct unpacking *u) {
  for (struct later *later = u->later; later != NULL && u->error == 0; later = later->next) {
    const char *leaf;
    char bare[256];
    int directory = parent_of(u, later->name, &leaf);
    if (directory < 0) continue;
    if (bare_leaf(leaf, bare) && bare[0] != '\0') {
      const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = later->modified}};
      int fd = openat(directory, bare, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd >= 0) {
        futimens(fd, times);
        if (fchmod(fd, later->mode) != 0) fail(u, errno, later->name);
        close(fd);
      }
    }
    close(directory);
  }
}

static void unpacking_commit(struct agent *agent, struct channel *channel) {
  struct unpacking *u = (struct unpacking *)channel;
  if (u->left > 0 || buffer_size(&u->block) > 0 || u->ahead_type != 0) fail(u, EINVAL, "the archive is cut");
  set_directories(u);
  if (u->error != 0) {
    reply_error(&agent->out, channel->id, u->error, u->text);
  } else {
    uint8_t answer[16];
    put_u64(answer, u->entries);
    put_u64(answer + 8, u->bytes);
    reply(&agent->out, channel->id, (struct bytes){.at = answer, .size = sizeof answer});
  }
  channel_close(agent, channel);
}

static void unpacking_free(struct agent *agent, struct channel *channel) {
  struct unpacking *u = (struct unpacking *)channel;
  (void)agent;
  end_file(u);
  close(u->root);
  buffer_free(&u->block);
  buffer_free(&u->ahead_bytes);
  tar_ahead_clear(&u->ahead);
  while (u->later != NULL) {
    struct later *next = u->later->next;
    free(u->later->name);
    free(u->later);
    u->later = next;
  }
  free(u);
}

static const struct channel_kind unpacking_kind = {
    .data = unpacking_data, .commit = unpacking_commit, .cancel = end_whole, .free = unpacking_free};

void archive_unpack(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint64_t most_bytes = read_u64(&r);
  uint64_t most_entries = read_u64(&r);
  char *user = read_text(&r);
  char *path = read_path(&r);
  struct owner owner = {.uid = -1, .gid = -1};
  if (whole(agent, &r)) {
    bool made;
    int error = find_owner(user, &owner) ? make_directories(path, 0755, &owner, &made) : EINVAL;
    int root = error != 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (error == 0 && root < 0) error = errno;
    if (error != 0) {
      reply_error(&agent->out, id, error, NULL);
    } else {
      struct unpacking *u = must_alloc(sizeof *u);
      u->root = root;
      u->owner = owner;
      u->most_bytes = most_bytes;
      u->most_entries = most_entries;
      u->fd = -1;
      channel_open(agent, &u->channel, id, &unpacking_kind);
      reply(&agent->out, id, (struct bytes){0});
    }
  }
  free(user);
  free(path);
}
