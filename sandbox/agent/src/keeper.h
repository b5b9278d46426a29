// Starts a command below a process of its own that keeps its whole tree.
#ifndef KEEPER_H
#define KEEPER_H

#include <sys/types.h>

#include "command.h"

// What a keeper tells through its pipe, each at once.
struct keeper_report {
  uint32_t kind;  // 1 started or not, 2 the command's own process has exited
  int32_t error;  // 1: why it could not be started; 0: it was
  int32_t pid;
  int32_t status;       // 2: as wait() tells it
  uint32_t others;      // 2: the tree may have others left
  uint64_t cpu_us;      // 2
  uint64_t ended_at_us; // 2: now_us() then
};

// The ends that the agent holds of a command's pipes; -1: none.
struct keeper_ends {
  int in;
  int out;
  int err;
  int report;
};

// The user of a name or number, as the box's own /etc/passwd has it; uid -1 where there is none.
struct user {
  int64_t uid;
  int64_t gid;
  char name[64];  // empty: no entry
  char home[1024];
};
struct user find_user(const char *name);

// Answers the keeper's pid, or -1 with errno. What becomes of the command is told by the report.
pid_t keeper_start(const struct command_spec *spec, struct keeper_ends *ends);

#endif
