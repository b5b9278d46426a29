#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "keeper.h"
#include "ring.h"
#include "tree.h"

enum { PIECE = 32 * 1024, DATA_HEAD = 9, DRAIN_MS = 250, FIRST_RETRY_MS = 2, LAST_RETRY_MS = 64, MAX_STDIN_WAITING = 16 * 1024 * 1024 };

// One of a command's outputs.
struct output {
  struct watch watch;
  struct command *command;
  struct ring ring;
  uint64_t written;
  bool truncated;
};

// Bytes for standard input, in the order in which they came.
struct input_piece {
  uint32_t request;  // whom to answer; 0: nobody
  bool last;
  struct buffer bytes;
  uint32_t taken;
  struct input_piece *next;
};

// Who asked for the tree's end.
struct killer {
  uint32_t request;
  struct killer *next;
};

struct command {
  struct channel channel;
  struct command *next;
  struct agent *agent;
  struct command_spec spec;
  pid_t keeper;
  pid_t leader;
  bool keeper_gone;
  struct watch report;
  bool started;
  bool exited;   // its own process has
  bool told;     // EXIT can be told
  bool released;
  struct watch in;
  struct input_piece *pieces;
  size_t waiting_bytes;
  bool input_closed;
  struct output outputs[2];
  struct reader_of_command *readers;
  uint8_t reason;
  int status;
  uint64_t started_us;
  uint64_t ended_us;
  uint64_t cpu_us;
  uint32_t leftover;
  uint64_t timeout_at;
  uint64_t drained_by;
  uint64_t kill_at;
  uint64_t retry_ms;
  struct killer *killers;
  uint32_t killed;
};

// Somebody who reads a command's output.
struct reader_of_command {
  struct channel channel;
  struct command *command;
  uint64_t at[2];
  bool cancelled;
  struct reader_of_command *next;
};

static const struct channel_kind command_kind;

static const char *const UNKNOWN = "no such command";

static struct command *find_command(struct agent *agent, uint32_t id) {
  struct channel *channel = channel_find(agent, id);
  return channel != NULL && channel->kind == &command_kind ? (struct command *)channel : NULL;
}

// ---- Output

static uint64_t oldest_wanted(const struct command *command, int which) {
  uint64_t oldest = UINT64_MAX;
  for (struct reader_of_command *r = command->readers; r != NULL; r = r->next)
    if (!r->cancelled && r->at[which] < oldest) oldest = r->at[which];
  return oldest;
}

// How much may be read now without dropping what a reader waits for.
static size_t may_read(const struct command *command, int which) {
  const struct output *output = &command->outputs[which];
  if (!(command->spec.flags & FLAG_HOLD)) return PIECE;
  uint64_t oldest = oldest_wanted(command, which);
  if (oldest >= output->ring.head) return PIECE;
  uint64_t behind = output->ring.head - oldest;
  uint64_t room = behind >= output->ring.limit ? 0 : output->ring.limit - behind;
  return room < PIECE ? (size_t)room : PIECE;
}

static void hold_or_read(struct command *command, int which) {
  struct output *output = &command->outputs[which];
  if (output->watch.fd < 0) return;
  uint32_t wanted = command->told || may_read(command, which) > 0 ? EPOLLIN : 0;
  if (wanted != output->watch.events) watch_set(command->agent, &output->watch, wanted);
}

static void begin_kill(struct command *command, uint8_t reason, uint64_t grace_ms);
static void end_reader(struct reader_of_command *reader, int error);

static void take_output(struct command *command, int which, const uint8_t *data, size_t size) {
  struct output *output = &command->outputs[which];
  uint64_t before = output->written;
  output->written += size;
  uint64_t cap = command->spec.cap;
  if (cap != 0 && output->written > cap) {
    output->truncated = true;
    if (command->spec.overflow == KILL_ABOVE && !command->exited) begin_kill(command, OUTPUT_LIMIT, 0);
    if (command->spec.overflow != KEEP_TAIL) size = before >= cap ? 0 : (size_t)(cap - before);
  }
  ring_add(&output->ring, data, size);
}

static void exit_if_drained(struct command *command);

static void output_ready(struct agent *agent, void *owner, uint32_t events) {
  struct output *output = owner;
  struct command *command = output->command;
  int which = output == &command->outputs[1];
  static uint8_t piece[PIECE];
  (void)events;
  // What it left running may write on, to nobody: a closed pipe would end it.
  size_t most = command->told ? PIECE : may_read(command, which);
  if (most == 0) {
    hold_or_read(command, which);
    return;
  }
  ssize_t size = read(output->watch.fd, piece, most);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) {
    if (!command->told) take_output(command, which, piece, (size_t)size);
    hold_or_read(command, which);
    return;
  }
  // At its end; a terminal says so by EIO.
  watch_close(agent, &output->watch);
  exit_if_drained(command);
}

// ---- Input

static void answer_stdin(struct agent *agent, const struct input_piece *piece, bool closed) {
  if (piece->request == 0) return;
  uint8_t answer[5];
  put_u32(answer, piece->taken);
  answer[4] = closed;
  reply(&agent->out, piece->request, (struct bytes){.at = answer, .size = sizeof answer});
}

static void drop_piece(struct command *command, bool closed) {
  struct input_piece *piece = command->pieces;
  answer_stdin(command->agent, piece, closed);
  command->waiting_bytes -= buffer_size(&piece->bytes);
  command->pieces = piece->next;
  buffer_free(&piece->bytes);
  free(piece);
}

static void close_input(struct command *command) {
  command->input_closed = true;
  watch_close(command->agent, &command->in);
  while (command->pieces != NULL) drop_piece(command, true);
}

// The end of a terminal's input is a character.
static void end_input(struct command *command) {
  static const uint8_t end = 4;
  if (command->spec.flags & FLAG_TTY) {
    while (write(command->in.fd, &end, 1) < 0 && errno == EINTR) {
    }
    command->input_closed = true;
    watch_close(command->agent, &command->in);
  } else {
    close_input(command);
  }
}

static void write_input(struct command *command) {
  while (command->pieces != NULL && command->in.fd >= 0) {
    struct input_piece *piece = command->pieces;
    size_t size = buffer_size(&piece->bytes);
    if (size > 0) {
      ssize_t taken = write(command->in.fd, buffer_at(&piece->bytes), size);
      if (taken < 0 && errno == EINTR) continue;
      if (taken < 0 && errno == EAGAIN) break;
      if (taken < 0) {
        close_input(command);
        return;
      }
      buffer_drop(&piece->bytes, (size_t)taken);
      piece->taken += (uint32_t)taken;
      command->waiting_bytes -= (size_t)taken;
      continue;
    }
    bool last = piece->last;
    drop_piece(command, false);
    if (last) {
      end_input(command);
      return;
    }
  }
  if (command->in.fd >= 0) watch_set(command->agent, &command->in, command->pieces == NULL ? 0 : EPOLLOUT);
}

static void input_ready(struct agent *agent, void *owner, uint32_t events) {
  (void)agent;
  (void)events;
  write_input(owner);
}

static void add_input(struct command *command, struct input_piece piece, struct bytes bytes) {
  struct input_piece *added = must_alloc(sizeof *added);
  *added = piece;
  buffer_add(&added->bytes, bytes.at, bytes.size);
  command->waiting_bytes += bytes.size;
  struct input_piece **end = &command->pieces;
  while (*end != NULL) end = &(*end)->next;
  *end = added;
}

// ---- The end

static void answer_killers(struct command *command) {
  uint8_t count[4];
  put_u32(count, command->killed);
  while (command->killers != NULL) {
    struct killer *killer = command->killers;
    reply(&command->agent->out, killer->request, (struct bytes){.at = count, .size = sizeof count});
    command->killers = killer->next;
    free(killer);
  }
}

static void forget_if_over(struct command *command) {
  if (!command->keeper_gone || !command->released || command->readers != NULL) return;
  channel_close(command->agent, &command->channel);
}

static void exit_if_drained(struct command *command) {
  if (!command->exited || command->told) return;
  // While a tree is ended its end is not told: whoever reads TIMEOUT finds nothing alive.
  if (command->kill_at != 0 && !command->keeper_gone) return;
  bool open = command->outputs[0].watch.fd >= 0 || command->outputs[1].watch.fd >= 0;
  if (open && now_ms() < command->drained_by) return;
  command->told = true;
  command->drained_by = 0;
  for (int i = 0; i < 2; i += 1) hold_or_read(command, i);
  close_input(command);
  bool alone = command->leftover == 0 || command->keeper_gone;
  command->leftover = alone ? 0 : (uint32_t)tree_signal(command->keeper, 0);
}

static void command_exited(struct command *command, int status, uint64_t at_us) {
  command->exited = true;
  command->status = status;
  command->ended_us = at_us;
  command->timeout_at = 0;
  command->drained_by = now_ms() + DRAIN_MS;
  if (command->reason == 0) command->reason = WIFSIGNALED(status) ? SIGNALLED : EXITED;
  exit_if_drained(command);
}

static void not_started(struct command *command, int error) {
  reply_error(&command->agent->out, command->channel.id, error, NULL);
  // Some may have been attached before it was known.
  while (command->readers != NULL) end_reader(command->readers, error);
  command->released = command->keeper_gone = true;
  channel_close(command->agent, &command->channel);
}

static void began(struct command *command, pid_t leader) {
  struct agent *agent = command->agent;
  command->started = true;
  command->leader = leader;
  uint8_t pid[4];
  put_u32(pid, (uint32_t)leader);
  reply(&agent->out, command->channel.id, (struct bytes){.at = pid, .size = sizeof pid});
  for (int i = 0; i < 2; i += 1)
    if (command->outputs[i].watch.fd >= 0) watch_set(agent, &command->outputs[i].watch, EPOLLIN);
  write_input(command);
}

static void report_ready(struct agent *agent, void *owner, uint32_t events) {
  struct command *command = owner;
  struct keeper_report report;
  (void)events;
  ssize_t size = read(command->report.fd, &report, sizeof report);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size != (ssize_t)sizeof report) {
    watch_close(agent, &command->report);
    // Somebody killed the keeper: the kernel gave its children to process 1, which ends them.
    if (!command->started) {
      not_started(command, EIO);
    } else if (!command->exited) {
      command_exited(command, SIGKILL, now_us());
    }
    return;
  }
  if (report.kind == 1) {
    if (report.error != 0) {
      not_started(command, report.error);
      return;
    }
    began(command, report.pid);
    return;
  }
  command->cpu_us = report.cpu_us;
  command->leftover = report.others;
  command_exited(command, report.status, report.ended_at_us);
}

static void begin_kill(struct command *command, uint8_t reason, uint64_t grace_ms) {
  if (command->keeper_gone) return;
  uint64_t now = now_ms();
  if (command->reason == 0 && !command->exited) command->reason = reason;
  if (grace_ms == 0) {
    command->kill_at = now;
  } else if (command->kill_at == 0 || command->kill_at > now + grace_ms) {
    tree_signal(command->keeper, SIGTERM);
    command->kill_at = now + grace_ms;
  }
}

static void kill_now(struct command *command, uint64_t now) {
  size_t count = tree_signal(command->keeper, SIGKILL);
  if (count > command->killed) command->killed = (uint32_t)count;
  command->retry_ms = command->retry_ms == 0 ? FIRST_RETRY_MS : command->retry_ms * 2;
  if (command->retry_ms > LAST_RETRY_MS) command->retry_ms = LAST_RETRY_MS;
  command->kill_at = now + command->retry_ms;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return b != 0 && b < a ? b : a; }

uint64_t command_timers(struct agent *agent, uint64_t now) {
  uint64_t due = UINT64_MAX;
  for (struct command *command = agent->commands, *next; command != NULL; command = next) {
    next = command->next;
    if (command->timeout_at != 0 && now >= command->timeout_at) {
      command->timeout_at = 0;
      begin_kill(command, TIMED_OUT, command->spec.grace_ms);
    }
    if (command->kill_at != 0 && now >= command->kill_at) kill_now(command, now);
    if (command->drained_by != 0 && now >= command->drained_by) exit_if_drained(command);
    due = earlier(due, command->timeout_at);
    due = earlier(due, command->kill_at);
    due = earlier(due, command->drained_by);
  }
  return due;
}

static bool is_keeper(const void *of, pid_t pid) {
  for (const struct command *command = ((const struct agent *)of)->commands; command != NULL; command = command->next)
    if (command->keeper == pid) return true;
  return false;
}

void command_reaped(struct agent *agent, pid_t pid, int status) {
  struct command *command = agent->commands;
  while (command != NULL && (command->keeper != pid || command->keeper_gone)) command = command->next;
  if (command == NULL) return;
  // What the keeper said last may not have been read yet; a command that did not start goes by it.
  uint32_t id = command->channel.id;
  while ((command = find_command(agent, id)) != NULL && command->report.fd >= 0) report_ready(agent, command, 0);
  if (WIFSIGNALED(status)) kill_strays(is_keeper, agent);
  if (command == NULL) return;
  command->keeper_gone = true;
  command->kill_at = 0;
  exit_if_drained(command);
  answer_killers(command);
  forget_if_over(command);
}

void command_kill_all(struct agent *agent) {
  (void)agent;
  for (int i = 0; i < 20 && tree_signal(getpid(), SIGKILL) > 0; i += 1) {
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    usleep(1000);
  }
}

// ---- Readers

static void send_output(struct agent *agent, struct reader_of_command *reader, int which, size_t size) {
  uint8_t *at = frame_begin(&agent->out, DATA, reader->channel.id, DATA_HEAD + size);
  at[0] = (uint8_t)which;
  put_u64(at + 1, reader->at[which]);
  ring_read(&reader->command->outputs[which].ring, reader->at[which], at + DATA_HEAD, size);
  reader->at[which] += size;
  reader->channel.may_send -= DATA_HEAD + size;
}

static void send_exit(struct agent *agent, const struct reader_of_command *reader) {
  const struct command *command = reader->command;
  uint8_t *at = frame_begin(&agent->out, EXIT, reader->channel.id, 44);
  bool signalled = WIFSIGNALED(command->status);
  at[0] = command->reason;
  at[1] = signalled;
  put_u32(at + 2, (uint32_t)(signalled ? WTERMSIG(command->status) : WEXITSTATUS(command->status)));
  put_u64(at + 6, command->outputs[0].written);
  put_u64(at + 14, command->outputs[1].written);
  at[22] = command->outputs[0].truncated;
  at[23] = command->outputs[1].truncated;
  put_u64(at + 24, command->ended_us - command->started_us);
  put_u64(at + 32, command->cpu_us);
  put_u32(at + 40, command->leftover);
}

static void send_gap(struct agent *agent, struct reader_of_command *reader) {
  uint8_t *at = frame_begin(&agent->out, GAP, reader->channel.id, 16);
  for (int i = 0; i < 2; i += 1) {
    uint64_t tail = reader->command->outputs[i].ring.tail;
    if (reader->at[i] < tail) reader->at[i] = tail;
    put_u64(at + 8 * i, reader->at[i]);
  }
}

static bool reader_pump(struct agent *agent, struct channel *channel) {
  struct reader_of_command *reader = (struct reader_of_command *)channel;
  struct command *command = reader->command;
  if (reader->cancelled) {
    channel_end(agent, channel, 0, NULL);
    return true;
  }
  bool left = false;
  for (int i = 0; i < 2; i += 1) {
    const struct ring *ring = &command->outputs[i].ring;
    if (reader->at[i] < ring->tail) {
      send_gap(agent, reader);
      return true;
    }
    uint64_t there = ring->head > reader->at[i] ? ring->head - reader->at[i] : 0;
    left = left || there > 0;
    size_t size = there < PIECE ? (size_t)there : PIECE;
    if (channel->may_send <= DATA_HEAD) size = 0;
    else if (size > channel->may_send - DATA_HEAD) size = (size_t)channel->may_send - DATA_HEAD;
    if (size == 0) continue;
    send_output(agent, reader, i, size);
    hold_or_read(command, i);
    return true;
  }
  if (left || !command->told) return false;
  send_exit(agent, reader);
  channel_end(agent, channel, 0, NULL);
  return true;
}

static void end_reader(struct reader_of_command *reader, int error) {
  channel_end(reader->command->agent, &reader->channel, error, NULL);
}

static void reader_cancel(struct agent *agent, struct channel *channel) {
  (void)agent;
  ((struct reader_of_command *)channel)->cancelled = true;
}

static void reader_free(struct agent *agent, struct channel *channel) {
  struct reader_of_command *reader = (struct reader_of_command *)channel;
  struct command *command = reader->command;
  (void)agent;
  if (command != NULL) {
    struct reader_of_command **place = &command->readers;
    while (*place != reader) place = &(*place)->next;
    *place = reader->next;
    for (int i = 0; i < 2; i += 1) hold_or_read(command, i);
    forget_if_over(command);
  }
  free(reader);
}

static const struct channel_kind reader_kind = {.pump = reader_pump, .cancel = reader_cancel, .free = reader_free};

static void command_free(struct agent *agent, struct channel *channel) {
  struct command *command = (struct command *)channel;
  struct command **place = &agent->commands;
  while (*place != command) place = &(*place)->next;
  *place = command->next;
  close_input(command);
  for (int i = 0; i < 2; i += 1) {
    watch_close(agent, &command->outputs[i].watch);
    ring_free(&command->outputs[i].ring);
  }
  watch_close(agent, &command->report);
  answer_killers(command);
  free_command_spec(&command->spec);
  free(command);
}

static const struct channel_kind command_kind = {.free = command_free};

// ---- Requests

static struct watch watch_of(int fd, void (*ready)(struct agent *, void *, uint32_t), void *owner) {
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return (struct watch){.fd = fd, .ready = ready, .owner = owner};
}

void command_start(struct agent *agent, uint32_t id, struct bytes payload) {
  struct command_spec spec;
  if (!read_command_spec(payload, &spec)) {
    break_off(agent);
    return;
  }
  struct keeper_ends ends;
  uint64_t started = now_us();
  pid_t keeper = keeper_start(&spec, &ends);
  if (keeper < 0) {
    reply_error(&agent->out, id, errno, "no process can be made");
    free_command_spec(&spec);
    return;
  }
  struct command *command = must_alloc(sizeof *command);
  command->agent = agent;
  command->spec = spec;
  command->keeper = keeper;
  command->started_us = started;
  command->timeout_at = spec.timeout_ms == 0 ? 0 : started / 1000 + spec.timeout_ms;
  command->report = watch_of(ends.report, report_ready, command);
  command->in = watch_of(ends.in, input_ready, command);
  size_t limit = spec.overflow == KEEP_TAIL && spec.cap != 0 && spec.cap < spec.ring_bytes ? (size_t)spec.cap : spec.ring_bytes;
  const int fds[] = {ends.out, ends.err};
  for (int i = 0; i < 2; i += 1) {
    command->outputs[i].command = command;
    command->outputs[i].watch = watch_of(fds[i], output_ready, &command->outputs[i]);
    command->outputs[i].ring.limit = limit;
  }
  bool open = spec.flags & FLAG_STDIN_OPEN;
  if (spec.stdin_bytes.size > 0 || (!open && (spec.flags & FLAG_TTY)))
    add_input(command, (struct input_piece){.last = !open}, spec.stdin_bytes);
  // It lies in a payload that goes.
  command->spec.stdin_bytes = (struct bytes){0};
  command->next = agent->commands;
  agent->commands = command;
  channel_open(agent, &command->channel, id, &command_kind);
  watch_set(agent, &command->report, EPOLLIN);
}

void command_attach(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  uint64_t at[2];
  at[0] = read_u64(&r);
  at[1] = read_u64(&r);
  uint32_t credit = read_u32(&r);
  if (r.broken || r.left > 0) {
    break_off(agent);
    return;
  }
  if (command == NULL || command->released) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
    return;
  }
  struct reader_of_command *reader = must_alloc(sizeof *reader);
  reader->command = command;
  reader->next = command->readers;
  command->readers = reader;
  for (int i = 0; i < 2; i += 1) {
    uint64_t head = command->outputs[i].ring.head;
    reader->at[i] = at[i] > head ? head : at[i];
  }
  channel_open(agent, &reader->channel, id, &reader_kind);
  reader->channel.may_send = credit;
  reply(&agent->out, id, (struct bytes){0});
}

void command_stdin(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  uint8_t flags = read_u8(&r);
  struct bytes bytes = read_rest(&r);
  if (r.broken || flags > 1) {
    break_off(agent);
    return;
  }
  if (command == NULL) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
    return;
  }
  struct input_piece piece = {.request = id, .last = flags == 1};
  if (command->input_closed || command->in.fd < 0) {
    answer_stdin(agent, &piece, true);
    return;
  }
  if (command->waiting_bytes + bytes.size > MAX_STDIN_WAITING) {
    break_off(agent);
    return;
  }
  add_input(command, piece, bytes);
  if (command->started) write_input(command);
}

void command_signal(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  uint8_t number = read_u8(&r);
  uint8_t tree = read_u8(&r);
  if (r.broken || r.left > 0 || number == 0 || number > 64 || tree > 1) {
    break_off(agent);
    return;
  }
  if (command == NULL) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
    return;
  }
  uint8_t exited = command->exited;
  if (tree) {
    if (!command->keeper_gone) tree_signal(command->keeper, number);
  } else if (!exited) {
    kill(command->leader, number);
  }
  reply(&agent->out, id, (struct bytes){.at = &exited, .size = 1});
}

void command_kill(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  uint8_t reason = read_u8(&r);
  uint32_t grace_ms = read_u32(&r);
  if (r.broken || r.left > 0 || reason < SIGNALLED || reason > OUTPUT_LIMIT) {
    break_off(agent);
    return;
  }
  if (command == NULL) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
    return;
  }
  struct killer *killer = must_alloc(sizeof *killer);
  *killer = (struct killer){.request = id, .next = command->killers};
  command->killers = killer;
  if (command->keeper_gone) {
    answer_killers(command);
  } else {
    begin_kill(command, reason, grace_ms);
  }
}

void command_resize(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  struct winsize size = {.ws_col = read_u16(&r)};
  size.ws_row = read_u16(&r);
  if (r.broken || r.left > 0) {
    break_off(agent);
  } else if (command == NULL) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
  } else if (!(command->spec.flags & FLAG_TTY)) {
    reply_error(&agent->out, id, ENOTTY, "the command has no terminal");
  } else {
    if (command->outputs[0].watch.fd >= 0) ioctl(command->outputs[0].watch.fd, TIOCSWINSZ, &size);
    reply(&agent->out, id, (struct bytes){0});
  }
}

void command_release(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  struct command *command = find_command(agent, read_u32(&r));
  if (r.broken || r.left > 0) {
    break_off(agent);
  } else if (command == NULL) {
    reply_error(&agent->out, id, ESRCH, UNKNOWN);
  } else if (!command->told) {
    reply_error(&agent->out, id, EBUSY, "the command runs");
  } else {
    command->released = true;
    for (int i = 0; i < 2; i += 1) ring_free(&command->outputs[i].ring);
    reply(&agent->out, id, (struct bytes){0});
    forget_if_over(command);
  }
}
