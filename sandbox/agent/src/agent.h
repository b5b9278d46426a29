// The agent: one loop over the stream to the host, what it opened, and the clock.
#ifndef AGENT_H
#define AGENT_H

#include <sys/types.h>

#include "frames.h"

struct agent;
struct channel;

// Something that becomes readable or writable.
struct watch {
  int fd;
  uint32_t events;  // 0: not watched now
  void (*ready)(struct agent *agent, void *owner, uint32_t events);
  void *owner;
};

// What a channel can do. A function that is NULL: such a frame breaks the rules.
struct channel_kind {
  // Sends the next piece, within credit; false where there is nothing to send now. The channel may end by it.
  bool (*pump)(struct agent *agent, struct channel *channel);
  void (*data)(struct agent *agent, struct channel *channel, struct bytes bytes);
  void (*commit)(struct agent *agent, struct channel *channel);
  void (*cancel)(struct agent *agent, struct channel *channel);
  void (*free)(struct agent *agent, struct channel *channel);
};

// The head of everything that has a number.
struct channel {
  uint32_t id;
  const struct channel_kind *kind;
  uint64_t may_send;     // bytes that the host still takes
  uint64_t may_receive;  // bytes that the host may still send
  uint64_t used;         // bytes received and used, for which no credit was given yet
  struct channel *next;
  struct channel *next_in_bucket;
};

enum { BUCKETS = 1024, MAX_CHANNELS = 8192 };

struct command;

struct agent {
  int in;
  int epoll;
  struct watch input;
  struct watch output;
  struct watch children;
  struct buffer incoming;
  struct outgoing out;
  struct channel *channels;
  struct channel *buckets[BUCKETS];
  size_t channel_count;
  uint32_t last_of_host;
  uint32_t next_of_agent;
  struct command *commands;
  uint64_t lease_until;  // 0: none
  bool over;             // the stream has ended, or a rule was broken
};

// Milliseconds of a clock that never goes back.
uint64_t now_ms(void);
uint64_t now_us(void);

void watch_set(struct agent *agent, struct watch *watch, uint32_t events);
// Ends watching and closes.
void watch_close(struct agent *agent, struct watch *watch);

// Adds a channel that its kind has allocated.
void channel_open(struct agent *agent, struct channel *channel, uint32_t id, const struct channel_kind *kind);
struct channel *channel_find(struct agent *agent, uint32_t id);
// Takes a channel out and frees it. It says nothing to the host.
void channel_close(struct agent *agent, struct channel *channel);
// Tells the host that it has ended, and closes it.
void channel_end(struct agent *agent, struct channel *channel, int error, const char *text);
// Counts bytes of the host as used up, and gives credit for them now and then.
void channel_used(struct agent *agent, struct channel *channel, size_t size);

// Ends everything: a rule was broken.
void break_off(struct agent *agent);

#endif
