#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { FIRST_ROOM = 4096 };

// Makes room by doubling, up to the limit: most commands say little.
static void make_room(struct ring *ring, size_t wanted) {
  if (wanted > ring->limit) wanted = ring->limit;
  if (wanted <= ring->room) return;
  size_t room = ring->room < FIRST_ROOM ? FIRST_ROOM : ring->room;
  while (room < wanted) room *= 2;
  if (room > ring->limit) room = ring->limit;
  uint8_t *data = must_alloc(room);
  size_t kept = ring_read(ring, ring->tail, data, (size_t)(ring->head - ring->tail));
  // The byte at an offset lies at offset modulo room.
  uint8_t *placed = must_alloc(room);
  for (size_t done = 0; done < kept;) {
    size_t at = (size_t)((ring->tail + done) % room);
    size_t piece = kept - done < room - at ? kept - done : room - at;
    memcpy(placed + at, data + done, piece);
    done += piece;
  }
  free(data);
  free(ring->data);
  ring->data = placed;
  ring->room = room;
}

void ring_add(struct ring *ring, const uint8_t *data, size_t size) {
  if (size > ring->limit) {
    ring->head += size - ring->limit;
    ring->tail = ring->head;
    data += size - ring->limit;
    size = ring->limit;
  }
  make_room(ring, (size_t)(ring->head - ring->tail) + size);
  for (size_t done = 0; done < size;) {
    size_t at = (size_t)(ring->head % ring->room);
    size_t piece = size - done < ring->room - at ? size - done : ring->room - at;
    memcpy(ring->data + at, data + done, piece);
    ring->head += piece;
    done += piece;
  }
  if (ring->head - ring->tail > ring->room) ring->tail = ring->head - ring->room;
}

size_t ring_read(const struct ring *ring, uint64_t offset, uint8_t *to, size_t size) {
  if (offset >= ring->head) return 0;
  uint64_t there = ring->head - offset;
  if (size > there) size = (size_t)there;
  for (size_t done = 0; done < size;) {
    size_t at = (size_t)((offset + done) % ring->room);
    size_t piece = size - done < ring->room - at ? size - done : ring->room - at;
    memcpy(to + done, ring->data + at, piece);
    done += piece;
  }
  return size;
}

void ring_free(struct ring *ring) {
  free(ring->data);
  ring->data = NULL;
  ring->room = 0;
  ring->tail = ring->head;
}
