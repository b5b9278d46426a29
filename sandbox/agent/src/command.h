// Commands: a process tree each, its input, its output in rings, and those who read it.
#ifndef COMMAND_H
#define COMMAND_H

#include "agent.h"

// What EXEC asks for; owned until it is freed.
struct command_spec {
  uint8_t flags;
  uint8_t overflow;
  uint16_t columns;
  uint16_t rows;
  uint64_t cap;
  uint32_t ring_bytes;
  uint64_t timeout_ms;
  uint32_t grace_ms;
  char *cwd;
  char *user;
  char **argv;
  char **env;
  struct bytes stdin_bytes;  // lies in the payload
};

enum { FLAG_TTY = 1, FLAG_MERGE = 2, FLAG_STDIN_OPEN = 4, FLAG_HOLD = 8 };
enum { KEEP_HEAD = 0, KEEP_TAIL = 1, KILL_ABOVE = 2 };

// False where the payload breaks the rules.
bool read_command_spec(struct bytes payload, struct command_spec *spec);
void free_command_spec(struct command_spec *spec);

void command_start(struct agent *agent, uint32_t id, struct bytes payload);
void command_attach(struct agent *agent, uint32_t id, struct bytes payload);
void command_stdin(struct agent *agent, uint32_t id, struct bytes payload);
void command_signal(struct agent *agent, uint32_t id, struct bytes payload);
void command_kill(struct agent *agent, uint32_t id, struct bytes payload);
void command_resize(struct agent *agent, uint32_t id, struct bytes payload);
void command_release(struct agent *agent, uint32_t id, struct bytes payload);

// A child of this process has gone.
void command_reaped(struct agent *agent, pid_t pid, int status);
// Does what is due; answers when something will be due next, in ms of now_ms(), or UINT64_MAX.
uint64_t command_timers(struct agent *agent, uint64_t now);
// Every process of every command is killed.
void command_kill_all(struct agent *agent);

#endif
