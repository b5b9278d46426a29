#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct reader reader_of(struct bytes payload) {
  return (struct reader){.at = payload.at, .left = payload.size, .broken = false};
}

static const uint8_t *take(struct reader *r, size_t size) {
  if (r->broken || r->left < size) {
    r->broken = true;
    return NULL;
  }
  const uint8_t *at = r->at;
  r->at += size;
  r->left -= size;
  return at;
}

static uint64_t number(struct reader *r, size_t size) {
  const uint8_t *at = take(r, size);
  uint64_t value = 0;
  for (size_t i = 0; at != NULL && i < size; i += 1) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

uint8_t read_u8(struct reader *r) { return (uint8_t)number(r, 1); }
uint16_t read_u16(struct reader *r) { return (uint16_t)number(r, 2); }
uint32_t read_u32(struct reader *r) { return (uint32_t)number(r, 4); }
uint64_t read_u64(struct reader *r) { return number(r, 8); }

char *read_text(struct reader *r) {
  uint32_t size = read_u32(r);
  const uint8_t *at = take(r, size);
  if (at == NULL || memchr(at, 0, size) != NULL) {
    r->broken = true;
    return NULL;
  }
  char *text = must_alloc((size_t)size + 1);
  memcpy(text, at, size);
  text[size] = '\0';
  return text;
}

struct bytes read_rest(struct reader *r) {
  struct bytes rest = {.at = r->at, .size = r->left};
  r->at += r->left;
  r->left = 0;
  return rest;
}

static void put(uint8_t *at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; i += 1) at[i] = (uint8_t)(value >> (8 * i));
}

void put_u16(uint8_t *at, uint16_t value) { put(at, value, 2); }
void put_u32(uint8_t *at, uint32_t value) { put(at, value, 4); }
void put_u64(uint8_t *at, uint64_t value) { put(at, value, 8); }
