// The agent of a box: process 1, at the other end of one byte stream. What goes over it: ../PROTOCOL.md.
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "command.h"
#include "files.h"
#include "keeper.h"
#include "net.h"

enum { VERSION = 1, READ_AT_ONCE = 128 * 1024, QUEUE_LOW = 256 * 1024, QUEUE_HIGH = 8 * 1024 * 1024 };
enum { BROKEN_EXIT = 65 };

static const uint32_t FIRST_OF_AGENT = 0x80000000u;

// ---- Time

uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t now_ms(void) { return now_us() / 1000u; }

// ---- What is watched

void watch_set(struct agent *agent, struct watch *watch, uint32_t events) {
  if (watch->fd < 0 || watch->events == events) return;
  struct epoll_event event = {.events = events, .data.ptr = watch};
  // One that is not wanted is taken out: its hang-up would be told again and again.
  int how = events == 0 ? EPOLL_CTL_DEL : watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(agent->epoll, how, watch->fd, &event) == 0) watch->events = events;
}

void watch_close(struct agent *agent, struct watch *watch) {
  if (watch->fd < 0) return;
  watch_set(agent, watch, 0);
  close(watch->fd);
  watch->fd = -1;
}

// ---- Channels

void channel_open(struct agent *agent, struct channel *channel, uint32_t id, const struct channel_kind *kind) {
  channel->id = id;
  channel->kind = kind;
  channel->may_send = FIRST_CREDIT;
  channel->may_receive = FIRST_CREDIT;
  channel->used = 0;
  // Behind the others, so that each has its turn.
  struct channel **end = &agent->channels;
  while (*end != NULL) end = &(*end)->next;
  channel->next = NULL;
  *end = channel;
  struct channel **bucket = &agent->buckets[id % BUCKETS];
  channel->next_in_bucket = *bucket;
  *bucket = channel;
  agent->channel_count += 1;
}

struct channel *channel_find(struct agent *agent, uint32_t id) {
  struct channel *channel = agent->buckets[id % BUCKETS];
  while (channel != NULL && channel->id != id) channel = channel->next_in_bucket;
  return channel;
}

void channel_close(struct agent *agent, struct channel *channel) {
  struct channel **place = &agent->channels;
  while (*place != channel) place = &(*place)->next;
  *place = channel->next;
  place = &agent->buckets[channel->id % BUCKETS];
  while (*place != channel) place = &(*place)->next_in_bucket;
  *place = channel->next_in_bucket;
  agent->channel_count -= 1;
  channel->kind->free(agent, channel);
}

void channel_end(struct agent *agent, struct channel *channel, int error, const char *text) {
  send_end(&agent->out, channel->id, error, text);
  channel_close(agent, channel);
}

void channel_used(struct agent *agent, struct channel *channel, size_t size) {
  channel->used += size;
  if (channel->used < FIRST_CREDIT / 4) return;
  uint8_t bytes[4];
  put_u32(bytes, (uint32_t)channel->used);
  frame_send(&agent->out, CREDIT, channel->id, (struct bytes){.at = bytes, .size = sizeof bytes});
  channel->may_receive += channel->used;
  channel->used = 0;
}

void break_off(struct agent *agent) { agent->over = true; }

// ---- Frames of the host

static void ping(struct agent *agent, uint32_t id, struct bytes payload) {
  if (payload.size > 64) break_off(agent);
  else reply(&agent->out, id, payload);
}

typedef void request(struct agent *agent, uint32_t id, struct bytes payload);

static request *request_of(uint8_t type) {
  switch (type) {
    case EXEC: return command_start;
    case ATTACH: return command_attach;
    case STDIN: return command_stdin;
    case SIGNAL: return command_signal;
    case KILL: return command_kill;
    case RESIZE: return command_resize;
    case RELEASE: return command_release;
    case READ: return file_read;
    case WRITE: return file_write;
    case STAT: return file_stat;
    case LIST: return file_list;
    case MKDIR: return file_mkdir;
    case REMOVE: return file_remove;
    case MOVE: return file_move;
    case UNPACK: return archive_unpack;
    case PACK: return archive_pack;
    case LISTEN: return net_listen;
    case CONNECT: return net_connect;
    case PING: return ping;
    default: return NULL;
  }
}

static void take_request(struct agent *agent, request *begin, const struct frame *frame) {
  // Numbers go upwards, so that one that has ended is known from one that never was.
  if (frame->channel <= agent->last_of_host || frame->channel >= FIRST_OF_AGENT) {
    break_off(agent);
    return;
  }
  agent->last_of_host = frame->channel;
  if (agent->channel_count >= MAX_CHANNELS) {
    reply_error(&agent->out, frame->channel, EAGAIN, "too much is open at once");
  } else {
    begin(agent, frame->channel, frame->payload);
  }
}

static void take_data(struct agent *agent, struct channel *channel, struct bytes bytes) {
  if (channel->kind->data == NULL || bytes.size > channel->may_receive) {
    break_off(agent);
    return;
  }
  channel->may_receive -= bytes.size;
  channel->kind->data(agent, channel, bytes);
}

static void take_credit(struct agent *agent, struct channel *channel, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint32_t bytes = read_u32(&r);
  if (!whole(agent, &r)) return;
  channel->may_send += bytes;
}

static bool was_there(const struct agent *agent, uint32_t id) {
  return id >= FIRST_OF_AGENT ? id < agent->next_of_agent : id <= agent->last_of_host && id != 0;
}

static void take_further(struct agent *agent, const struct frame *frame) {
  struct channel *channel = channel_find(agent, frame->channel);
  if (channel == NULL) {
    if (!was_there(agent, frame->channel)) break_off(agent);
    return;
  }
  switch (frame->type) {
    case DATA: take_data(agent, channel, frame->payload); return;
    case CREDIT: take_credit(agent, channel, frame->payload); return;
    case COMMIT:
      if (channel->kind->commit == NULL) break_off(agent);
      else channel->kind->commit(agent, channel);
      return;
    default:
      if (channel->kind->cancel == NULL) break_off(agent);
      else channel->kind->cancel(agent, channel);
  }
}

static void take_lease(struct agent *agent, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint64_t ms = read_u64(&r);
  if (!whole(agent, &r)) return;
  agent->lease_until = ms == 0 || ms > UINT64_MAX / 2 ? 0 : now_ms() + ms;
}

static void take_frame(struct agent *agent, const struct frame *frame) {
  request *begin = request_of(frame->type);
  if (begin != NULL) {
    take_request(agent, begin, frame);
  } else if (frame->type >= DATA && frame->type <= COMMIT) {
    take_further(agent, frame);
  } else if (frame->type == LEASE && frame->channel == 0) {
    take_lease(agent, frame->payload);
  } else {
    // STOP, or what is none of these.
    break_off(agent);
  }
}

static void take_frames(struct agent *agent) {
  while (!agent->over) {
    const struct bytes there = {.at = buffer_at(&agent->incoming), .size = buffer_size(&agent->incoming)};
    struct frame frame;
    size_t used = 0;
    enum parsed parsed = parse_frame(there, &frame, &used);
    if (parsed == PARSED_MORE) return;
    if (parsed == PARSED_BROKEN) break_off(agent);
    else take_frame(agent, &frame);
    buffer_drop(&agent->incoming, used);
  }
}

static void input_ready(struct agent *agent, void *owner, uint32_t events) {
  (void)owner;
  (void)events;
  uint8_t *at = buffer_grow(&agent->incoming, READ_AT_ONCE);
  ssize_t size = read(agent->input.fd, at, READ_AT_ONCE);
  agent->incoming.end -= READ_AT_ONCE - (size > 0 ? (size_t)size : 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    break_off(agent);
    return;
  }
  take_frames(agent);
}

// ---- What goes to the host

// Lets each channel send a piece in its turn until enough waits to be written. Answers whether there may be more.
static bool pump(struct agent *agent) {
  for (bool sent = true; sent && buffer_size(&agent->out.queue) < QUEUE_LOW;) {
    sent = false;
    for (struct channel *channel = agent->channels, *next; channel != NULL; channel = next) {
      next = channel->next;
      uint32_t after = next == NULL ? 0 : next->id;
      if (channel->kind->pump != NULL && channel->kind->pump(agent, channel)) sent = true;
      // The end of one may take another one with it.
      if (next != NULL && channel_find(agent, after) != next) break;
      if (buffer_size(&agent->out.queue) >= QUEUE_LOW) return true;
    }
  }
  return buffer_size(&agent->out.queue) >= QUEUE_LOW;
}

static void flush(struct agent *agent) {
  struct buffer *queue = &agent->out.queue;
  while (buffer_size(queue) > 0) {
    ssize_t size = write(agent->output.fd, buffer_at(queue), buffer_size(queue));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) {
      break_off(agent);
      return;
    }
    buffer_drop(queue, (size_t)size);
  }
  watch_set(agent, &agent->output, buffer_size(queue) > 0 ? EPOLLOUT : 0);
  // A host that does not read is asked for nothing more.
  watch_set(agent, &agent->input, buffer_size(queue) < QUEUE_HIGH ? EPOLLIN : 0);
}

static void output_ready(struct agent *agent, void *owner, uint32_t events) {
  (void)agent;
  (void)owner;
  (void)events;
}

// ---- Children

static void children_ready(struct agent *agent, void *owner, uint32_t events) {
  (void)owner;
  (void)events;
  struct signalfd_siginfo told;
  while (read(agent->children.fd, &told, sizeof told) > 0) {
  }
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) command_reaped(agent, pid, status);
}

// ---- The loop

static void say_hello(struct agent *agent) {
  char uid[16];
  snprintf(uid, sizeof uid, "%u", getuid());
  const struct user self = find_user(uid);
  const char *home = self.home[0] == '\0' ? "/" : self.home;
  size_t size = strlen(home);
  uint8_t *at = frame_begin(&agent->out, HELLO, 0, 18 + size);
  memcpy(at, "TSBX", 4);
  put_u16(at + 4, VERSION);
  put_u32(at + 6, getuid());
  put_u32(at + 10, getgid());
  put_u32(at + 14, (uint32_t)size);
  memcpy(at + 18, home, size);
}

static int wait_ms(const struct agent *agent, uint64_t due, uint64_t now) {
  if (agent->lease_until != 0 && agent->lease_until < due) due = agent->lease_until;
  if (due == UINT64_MAX) return -1;
  if (due <= now) return 0;
  return due - now > INT_MAX ? INT_MAX : (int)(due - now);
}

static void loop(struct agent *agent) {
  while (!agent->over) {
    uint64_t now = now_ms();
    if (agent->lease_until != 0 && now >= agent->lease_until) return;
    uint64_t due = command_timers(agent, now);
    bool more = pump(agent);
    flush(agent);
    if (agent->over) return;
    more = more && buffer_size(&agent->out.queue) < QUEUE_LOW;
    // One at a time: what one event ends, another one that was told together with it may have meant.
    struct epoll_event event;
    if (epoll_wait(agent->epoll, &event, 1, more ? 0 : wait_ms(agent, due, now)) <= 0) continue;
    struct watch *watch = event.data.ptr;
    watch->ready(agent, watch->owner, event.events);
  }
}

static void set_up(struct agent *agent) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  signal(SIGPIPE, SIG_IGN);
  // The stream's end is what ends the agent, nothing that a terminal or a process of the box sends.
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  umask(0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  agent->epoll = epoll_create1(EPOLL_CLOEXEC);
  agent->next_of_agent = FIRST_OF_AGENT;
  // Commands never see the stream: it lies above what they get, and closes when they begin.
  agent->input = (struct watch){.fd = fcntl(0, F_DUPFD_CLOEXEC, 10), .ready = input_ready};
  agent->output = (struct watch){.fd = fcntl(1, F_DUPFD_CLOEXEC, 10), .ready = output_ready};
  agent->children = (struct watch){.fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC), .ready = children_ready};
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 2; fd += 1) {
    if (null >= 0) dup2(null, fd);
  }
  fcntl(agent->input.fd, F_SETFL, fcntl(agent->input.fd, F_GETFL) | O_NONBLOCK);
  fcntl(agent->output.fd, F_SETFL, fcntl(agent->output.fd, F_GETFL) | O_NONBLOCK);
  watch_set(agent, &agent->children, EPOLLIN);
}

int main(void) {
  struct agent *agent = must_alloc(sizeof *agent);
  set_up(agent);
  if (agent->input.fd < 0 || agent->output.fd < 0 || agent->children.fd < 0 || agent->epoll < 0) return BROKEN_EXIT;
  say_hello(agent);
  loop(agent);
  command_kill_all(agent);
  return 0;
}
