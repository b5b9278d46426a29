// Memory of the agent. A box without memory for its agent is lost: nothing here answers NULL.
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>
#include <stdint.h>

// Zeroed memory.
void *must_alloc(size_t size);
void *must_realloc(void *old, size_t size);
char *must_copy(const char *text);

// Bytes that grow at their end and are used up from their start.
struct buffer {
  uint8_t *data;
  size_t start;
  size_t end;
  size_t room;
};

size_t buffer_size(const struct buffer *b);
const uint8_t *buffer_at(const struct buffer *b);
// Room for `size` more bytes, to be filled by the caller; they count from now on.
uint8_t *buffer_grow(struct buffer *b, size_t size);
void buffer_add(struct buffer *b, const void *data, size_t size);
// Uses up the first bytes.
void buffer_drop(struct buffer *b, size_t size);
void buffer_free(struct buffer *b);

#endif
