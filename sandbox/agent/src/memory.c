#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_OF_MEMORY_EXIT = 71, LEAST_ROOM = 4096 };

static void *checked(void *memory) {
  if (memory == NULL) _exit(OUT_OF_MEMORY_EXIT);
  return memory;
}

void *must_alloc(size_t size) { return checked(calloc(1, size == 0 ? 1 : size)); }

void *must_realloc(void *old, size_t size) { return checked(realloc(old, size == 0 ? 1 : size)); }

char *must_copy(const char *text) { return checked(strdup(text)); }

size_t buffer_size(const struct buffer *b) { return b->end - b->start; }

const uint8_t *buffer_at(const struct buffer *b) { return b->data + b->start; }

uint8_t *buffer_grow(struct buffer *b, size_t size) {
  if (b->end + size > b->room && b->start > 0) {
    memmove(b->data, b->data + b->start, b->end - b->start);
    b->end -= b->start;
    b->start = 0;
  }
  if (b->end + size > b->room) {
    size_t room = b->room < LEAST_ROOM ? LEAST_ROOM : b->room;
    while (room < b->end + size) room *= 2;
    b->data = must_realloc(b->data, room);
    b->room = room;
  }
  uint8_t *at = b->data + b->end;
  b->end += size;
  return at;
}

void buffer_add(struct buffer *b, const void *data, size_t size) {
  if (size > 0) memcpy(buffer_grow(b, size), data, size);
}

void buffer_drop(struct buffer *b, size_t size) {
  b->start += size;
  if (b->start == b->end) b->start = b->end = 0;
}

void buffer_free(struct buffer *b) {
  free(b->data);
  *b = (struct buffer){0};
}
