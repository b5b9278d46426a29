#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "files.h"

enum { PIECE = 32 * 1024, BACKLOG = 128 };

struct connection {
  struct channel channel;
  struct watch watch;
  bool connecting;     // CONNECT has not been answered yet
  bool readable;       // there may be something to read
  bool sent_all;       // COMMIT was sent: the other end of the socket said no more
  bool got_all;        // COMMIT came
  struct buffer in;    // for the socket
};

struct listener {
  struct channel channel;
  struct watch watch;
};

static const struct channel_kind connection_kind;

static void set_events(struct agent *agent, struct connection *c) {
  uint32_t events = c->connecting || buffer_size(&c->in) > 0 ? EPOLLOUT : 0;
  // What is there to be read and may not be sent yet needs no further telling.
  if (!c->sent_all && !c->readable && !c->connecting) events |= EPOLLIN;
  watch_set(agent, &c->watch, events);
}

static void end_if_over(struct agent *agent, struct connection *c) {
  if (c->sent_all && c->got_all && buffer_size(&c->in) == 0) channel_end(agent, &c->channel, 0, NULL);
}

static void write_socket(struct agent *agent, struct connection *c) {
  while (buffer_size(&c->in) > 0) {
    ssize_t size = send(c->watch.fd, buffer_at(&c->in), buffer_size(&c->in), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) {
      channel_end(agent, &c->channel, errno, NULL);
      return;
    }
    buffer_drop(&c->in, (size_t)size);
    channel_used(agent, &c->channel, (size_t)size);
  }
  if (c->got_all && buffer_size(&c->in) == 0) {
    shutdown(c->watch.fd, SHUT_WR);
    if (c->sent_all) {
      end_if_over(agent, c);
      return;
    }
  }
  set_events(agent, c);
}

static void connected(struct agent *agent, struct connection *c) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  c->connecting = false;
  if (error != 0) {
    reply_error(&agent->out, c->channel.id, error, NULL);
    channel_close(agent, &c->channel);
    return;
  }
  reply(&agent->out, c->channel.id, (struct bytes){0});
  set_events(agent, c);
}

static void connection_ready(struct agent *agent, void *owner, uint32_t events) {
  struct connection *c = owner;
  if (c->connecting) {
    connected(agent, c);
    return;
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) c->readable = true;
  write_socket(agent, c);
}

static bool connection_pump(struct agent *agent, struct channel *channel) {
  struct connection *c = (struct connection *)channel;
  uint8_t piece[PIECE];
  if (!c->readable || c->sent_all || channel->may_send == 0) return false;
  size_t most = channel->may_send < PIECE ? (size_t)channel->may_send : PIECE;
  ssize_t size = recv(c->watch.fd, piece, most, 0);
  if (size < 0 && errno == EINTR) return true;
  if (size < 0 && errno == EAGAIN) {
    c->readable = false;
    set_events(agent, c);
    return false;
  }
  if (size < 0) {
    channel_end(agent, channel, errno, NULL);
    return true;
  }
  if (size == 0) {
    c->sent_all = true;
    frame_send(&agent->out, COMMIT, channel->id, (struct bytes){0});
    set_events(agent, c);
    end_if_over(agent, c);
    return true;
  }
  frame_send(&agent->out, DATA, channel->id, (struct bytes){.at = piece, .size = (size_t)size});
  channel->may_send -= (uint64_t)size;
  return true;
}

static void connection_data(struct agent *agent, struct channel *channel, struct bytes bytes) {
  struct connection *c = (struct connection *)channel;
  if (c->got_all || c->connecting) {
    break_off(agent);
    return;
  }
  buffer_add(&c->in, bytes.at, bytes.size);
  write_socket(agent, c);
}

static void connection_commit(struct agent *agent, struct channel *channel) {
  struct connection *c = (struct connection *)channel;
  c->got_all = true;
  if (!c->connecting) write_socket(agent, c);
}

static void connection_free(struct agent *agent, struct channel *channel) {
  struct connection *c = (struct connection *)channel;
  // What was not sent is not to be waited for.
  const struct linger cut = {.l_onoff = !(c->sent_all && c->got_all), .l_linger = 0};
  setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &cut, sizeof cut);
  watch_close(agent, &c->watch);
  buffer_free(&c->in);
  free(c);
}

static const struct channel_kind connection_kind = {.pump = connection_pump,
                                                    .data = connection_data,
                                                    .commit = connection_commit,
                                                    .cancel = end_whole,
                                                    .free = connection_free};

static struct connection *open_connection(struct agent *agent, uint32_t id, int fd) {
  struct connection *c = must_alloc(sizeof *c);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  c->watch = (struct watch){.fd = fd, .ready = connection_ready, .owner = c};
  channel_open(agent, &c->channel, id, &connection_kind);
  return c;
}

static void listener_ready(struct agent *agent, void *owner, uint32_t events) {
  struct listener *listener = owner;
  (void)events;
  int fd = accept4(listener->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  if (agent->channel_count >= MAX_CHANNELS) {
    close(fd);
    return;
  }
  uint32_t id = agent->next_of_agent;
  agent->next_of_agent += 1;
  struct connection *c = open_connection(agent, id, fd);
  uint8_t of[4];
  put_u32(of, listener->channel.id);
  frame_send(&agent->out, ACCEPT, id, (struct bytes){.at = of, .size = sizeof of});
  set_events(agent, c);
}

static void listener_free(struct agent *agent, struct channel *channel) {
  struct listener *listener = (struct listener *)channel;
  watch_close(agent, &listener->watch);
  free(listener);
}

static const struct channel_kind listener_kind = {.cancel = end_whole, .free = listener_free};

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

void net_listen(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint16_t port = read_u16(&r);
  if (!whole(agent, &r)) return;
  struct sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  const int yes = 1;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  // A port whose last connections linger is free; one that somebody listens on is not.
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
    reply_error(&agent->out, id, errno, NULL);
    if (fd >= 0) close(fd);
    return;
  }
  struct listener *listener = must_alloc(sizeof *listener);
  listener->watch = (struct watch){.fd = fd, .ready = listener_ready, .owner = listener};
  channel_open(agent, &listener->channel, id, &listener_kind);
  uint8_t answer[2];
  put_u16(answer, ntohs(address.sin_port));
  reply(&agent->out, id, (struct bytes){.at = answer, .size = sizeof answer});
  watch_set(agent, &listener->watch, EPOLLIN);
}

void net_connect(struct agent *agent, uint32_t id, struct bytes payload) {
  struct reader r = reader_of(payload);
  uint16_t port = read_u16(&r);
  if (!whole(agent, &r)) return;
  struct sockaddr_in address = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int done = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
  if (done != 0 && (fd < 0 || errno != EINPROGRESS)) {
    reply_error(&agent->out, id, errno, NULL);
    if (fd >= 0) close(fd);
    return;
  }
  struct connection *c = open_connection(agent, id, fd);
  c->connecting = true;
  set_events(agent, c);
}
