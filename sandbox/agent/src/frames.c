#include "frames.h"

#include <string.h>

static uint32_t u32_at(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

enum parsed parse_frame(struct bytes from, struct frame *frame, size_t *used) {
  if (from.size < HEAD_BYTES) return PARSED_MORE;
  uint32_t size = u32_at(from.at);
  uint8_t type = from.at[4];
  if (from.at[5] != 0 || from.at[6] != 0 || from.at[7] != 0) return PARSED_BROKEN;
  if (size > (type == EXEC ? MAX_EXEC_PAYLOAD : MAX_PAYLOAD)) return PARSED_BROKEN;
  if (from.size < HEAD_BYTES + (size_t)size) return PARSED_MORE;
  *frame = (struct frame){
      .type = type,
      .channel = u32_at(from.at + 8),
      .payload = {.at = from.at + HEAD_BYTES, .size = size},
  };
  *used = HEAD_BYTES + (size_t)size;
  return PARSED_FRAME;
}

uint8_t *frame_begin(struct outgoing *out, uint8_t type, uint32_t channel, size_t size) {
  uint8_t *head = buffer_grow(&out->queue, HEAD_BYTES + size);
  put_u32(head, (uint32_t)size);
  put_u32(head + 4, type);
  put_u32(head + 8, channel);
  return head + HEAD_BYTES;
}

void frame_send(struct outgoing *out, uint8_t type, uint32_t channel, struct bytes payload) {
  uint8_t *at = frame_begin(out, type, channel, payload.size);
  if (payload.size > 0) memcpy(at, payload.at, payload.size);
}

void reply(struct outgoing *out, uint32_t channel, struct bytes payload) {
  uint8_t *at = frame_begin(out, REPLY, channel, 4 + payload.size);
  put_u32(at, 0);
  if (payload.size > 0) memcpy(at + 4, payload.at, payload.size);
}

static void send_error(struct outgoing *out, uint8_t type, uint32_t channel, int error, const char *text) {
  size_t size = text == NULL ? 0 : strlen(text);
  if (size > 1000) size = 1000;
  uint8_t *at = frame_begin(out, type, channel, 4 + size);
  put_u32(at, (uint32_t)error);
  if (size > 0) memcpy(at + 4, text, size);
}

void reply_error(struct outgoing *out, uint32_t channel, int error, const char *text) {
  send_error(out, REPLY, channel, error, text);
}

void send_end(struct outgoing *out, uint32_t channel, int error, const char *text) {
  send_error(out, END, channel, error, text);
}
