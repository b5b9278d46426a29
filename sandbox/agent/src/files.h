// Files of the box: what READ, WRITE, STAT, LIST, MKDIR, REMOVE and MOVE do.
#ifndef FILES_H
#define FILES_H

#include <dirent.h>
#include <sys/stat.h>

#include "agent.h"

// Who is to own what is made; uid -1: whoever makes it.
struct owner {
  int64_t uid;
  int64_t gid;
};
// False where there is no such user. Empty: nobody in particular.
bool find_owner(const char *user, struct owner *owner);

void file_read(struct agent *agent, uint32_t id, struct bytes payload);
void file_write(struct agent *agent, uint32_t id, struct bytes payload);
void file_stat(struct agent *agent, uint32_t id, struct bytes payload);
void file_list(struct agent *agent, uint32_t id, struct bytes payload);
void file_mkdir(struct agent *agent, uint32_t id, struct bytes payload);
void file_remove(struct agent *agent, uint32_t id, struct bytes payload);
void file_move(struct agent *agent, uint32_t id, struct bytes payload);

// Adds the entry of a path: its facts, its name, and where it points.
void add_entry(struct buffer *to, const struct stat *facts, const char *name, const char *link_target);
// The names in a directory, `.` and `..` left out, in byte order; freed by the caller, each and all.
char **names_in(DIR *directory, size_t *count);
// What END answers to CANCEL.
void end_whole(struct agent *agent, struct channel *channel);
// An absolute path, freed by the caller; NULL where the payload breaks the rules.
char *read_path(struct reader *r);
// Whether a request was whole; else it breaks the rules.
bool whole(struct agent *agent, const struct reader *r);
// The last element of a path; "/" of the root.
const char *name_of(const char *path);
// Makes a directory and what is missing above it. Answers 0 or an error; `*made` tells whether it was made now.
int make_directories(const char *path, mode_t mode, const struct owner *owner, bool *made);

#endif
