// The stream's frames: those that come are cut out of the bytes, those that go are queued.
#ifndef FRAMES_H
#define FRAMES_H

#include "memory.h"
#include "wire.h"

struct frame {
  uint8_t type;
  uint32_t channel;
  struct bytes payload;
};

enum parsed { PARSED_FRAME, PARSED_MORE, PARSED_BROKEN };

// The next whole frame at the front of the bytes; its payload lies in them. `used` is what it takes up.
enum parsed parse_frame(struct bytes from, struct frame *frame, size_t *used);

// What waits to be written to the host.
struct outgoing {
  struct buffer queue;
};

// Begins a frame and answers where its payload of that size goes.
uint8_t *frame_begin(struct outgoing *out, uint8_t type, uint32_t channel, size_t size);
void frame_send(struct outgoing *out, uint8_t type, uint32_t channel, struct bytes payload);
// A REPLY without error and the payload behind it.
void reply(struct outgoing *out, uint32_t channel, struct bytes payload);
// A REPLY, or an END, with an error and a text that tells more.
void reply_error(struct outgoing *out, uint32_t channel, int error, const char *text);
void send_end(struct outgoing *out, uint32_t channel, int error, const char *text);

#endif
