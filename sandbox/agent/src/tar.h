// The format of a tar: heads of 512 bytes, and records of pax.
#ifndef TAR_H
#define TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum { TAR_BLOCK = 512 };

// One entry as its head, and what stood before it, tell. Texts are owned.
struct tar_entry {
  char type;
  uint32_t mode;
  uint64_t size;
  int64_t modified;
  char *name;
  char *link;
};

// What heads before an entry said of it.
struct tar_ahead {
  char *name;
  char *link;
  bool has_size;
  uint64_t size;
  bool has_modified;
  int64_t modified;
};

void tar_ahead_clear(struct tar_ahead *ahead);
void tar_entry_clear(struct tar_entry *entry);

// Reads a head. False: it is none (a wrong sum, a number that is none). A head of zeros has type 0 and no name.
bool tar_read_head(const uint8_t block[TAR_BLOCK], struct tar_entry *entry);
// Reads records of a pax head; false where they are none.
bool tar_read_pax(const uint8_t *records, size_t size, struct tar_ahead *ahead);
// Adds a head, and a pax head before it where ustar does not reach.
void tar_add_head(struct buffer *to, const struct tar_entry *entry);
// How many bytes fill up the last block.
size_t tar_padding(uint64_t size);

#endif
