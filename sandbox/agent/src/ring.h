// The newest bytes of an output, addressed by their offset from its start.
#ifndef RING_H
#define RING_H

#include <stddef.h>
#include <stdint.h>

struct ring {
  uint8_t *data;
  size_t room;
  size_t limit;   // most bytes kept
  uint64_t head;  // offset behind the newest byte
  uint64_t tail;  // offset of the oldest byte kept
};

void ring_add(struct ring *ring, const uint8_t *data, size_t size);
// Copies up to `size` bytes from an offset that is kept; answers how many.
size_t ring_read(const struct ring *ring, uint64_t offset, uint8_t *to, size_t size);
void ring_free(struct ring *ring);

#endif
